"""Problems, from the checks and failures of runs, and those new among them, so that nobody is told twice.

Parts of the data that have no order, as files of an inbox, are problems of their own. Parts that follow each other in
time share one: it begins with the first part in which it is found, goes on while later parts have it as well, and is
over when the newest part that had it, or a later one, has it no more. An earlier part that is audited late ends
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bdt_core.spec import AlertSeverity

SEVEREST_FIRST: tuple[AlertSeverity, ...] = ("critical", "high", "medium", "low")
_LONGEST = 600
_MOST_PARTS = 5


@dataclass(frozen=True)
class Problem:
    """One check that does not pass, or a run that broke; or that it is over.

    Attributes
    ----------
    key : str
        The same for the same problem in later runs.
    title : str
    severity : {"low", "medium", "high", "critical"}
    state : str
        Somebody is told again when it changes.
    sentence : str
        What was found.
    recommendation : str
        What to do about it.
    over : bool
    parts : tuple of str
        Parts of the data that it was found in, the newest last; empty where all data is one.
    beside : tuple of str
        Other checks of the same run that are told with it. Somebody is told again when there is one more.
    """

    key: str
    title: str
    severity: AlertSeverity
    state: str
    sentence: str
    recommendation: str
    over: bool = False
    parts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Problem:
        """The problem that was kept as its fields."""
        return cls(**{**values, **{name: tuple(values.get(name, ())) for name in ("parts", "beside")}})

    @property
    def news(self) -> str:
        """State, and what is told beside it: the same for what has been told."""
        return f"{'; '.join(self.beside)}; {self.state}" if self.beside else self.state

    @property
    def heading(self) -> str:
        """Title, and the newest parts.

        Examples
        --------
        >>> gate = Problem("gate", "gate", "low", "warned", "", "", parts=("01", "02", "03", "04", "05", "06"))
        >>> gate.heading
        'gate (02, 03, 04, 05, 06 and 1 before)'
        """
        if not self.parts:
            return self.title
        before = len(self.parts) - _MOST_PARTS
        named = ", ".join(self.parts[-_MOST_PARTS:])
        return f"{self.title} ({named}{f' and {before} before' if before > 0 else ''})"


def of_check(
    name: str,
    *,
    passed: bool,
    error: bool,
    blocking: bool,
    description: str | None,
    metadata: Mapping[str, Any],
    part: str | None,
    in_time: bool = False,
) -> Problem:
    """What a check's evaluation says.

    Parameters
    ----------
    name : str
        Asset and check.
    passed, error, blocking : bool
        The result, whether its severity is ERROR, and whether it stops what is downstream.
    description : str, optional
    metadata : mapping
        A "severity" and a "recommendation" in it are taken over; an error is never less than medium, however little
        is missing to its limit, because it stops something or says that something is wrong for certain.
    part : str, optional
        The part of the data.
    in_time : bool
        Parts follow each other in time, in the order of their names, and share one problem.
    """
    given = str(metadata.get("severity", ""))
    default: AlertSeverity = ("critical" if blocking else "high") if error else "low"
    severity = next((one for one in SEVEREST_FIRST if one == given), default)
    if error and severity == "low":
        severity = "medium"
    return Problem(
        key=_key(name, part, in_time),
        title=name,
        severity=severity,
        state="passed" if passed else f"{'failed' if error else 'warned'}, {severity}",
        sentence=_short(description or ("The check passes." if passed else "The check does not pass.")),
        recommendation=_short(str(metadata.get("recommendation", ""))) or _what_to_do(error, blocking),
        over=passed,
        parts=_parts(part),
    )


def of_failure(
    what: str,
    title: str,
    *,
    run_id: str,
    reason: str,
    part: str | None,
    in_time: bool = False,
    over: bool = False,
    recommendation: str | None = None,
) -> Problem:
    """A step that broke, or a run that died; or that it went well.

    Parameters
    ----------
    what : str
        What broke: the same in every job.
    title, run_id, reason : str
    part : str, optional
        The part of the data.
    in_time : bool
        As for `of_check`.
    over : bool
        It went well.
    recommendation : str, optional
        What to do, where the run says so.
    """
    return Problem(
        key=_key(f"run of {what}", part, in_time),
        title=title,
        severity="high",
        state="failed",
        sentence=_short(reason) or "The run failed.",
        recommendation=recommendation
        or f"Look at run {run_id} in Dagster, mend what it names, and run the audit again.",
        over=over,
        parts=_parts(part),
    )


def with_others(first: Problem, limits: Sequence[Problem], others: Sequence[Problem] = ()) -> Problem:
    """A check that does not pass, with what others of the same run say: nobody is told of them a second time.

    Parameters
    ----------
    first : Problem
    limits : sequence of Problem
        What `first`, a gate, holds as well.
    others : sequence of Problem
        What it does not hold, but what has the same cause, as drift on a day on which the gate fails. What is the
        severest decides the tone.

    Examples
    --------
    >>> gate, drift = (Problem(name, name, how, f"warned, {how}", name, "r") for name, how in
    ...                (("gate", "low"), ("drift", "high")))
    >>> both = with_others(gate, [], [drift])
    >>> both.key, both.severity, both.sentence, both.beside
    ('gate', 'high', 'gate drift', ('drift',))
    """
    also = [one.sentence for one in (*limits, *others) if one.sentence != first.sentence]
    severest = min([first, *others], key=lambda one: SEVEREST_FIRST.index(one.severity))
    return replace(
        first,
        severity=severest.severity,
        state=severest.state,
        recommendation=severest.recommendation,
        sentence=_short(" ".join([first.sentence, *also]), _LONGEST * (1 + bool(others))),
        beside=tuple(sorted(one.key for one in others)),
    )


def follow(problems: Iterable[Problem], known: Mapping[str, Problem]) -> tuple[list[Problem], dict[str, Problem]]:
    """What happened since the last look, and the problems that are there now.

    Parameters
    ----------
    problems : iterable of Problem
        In the order in which they happened.
    known : mapping of str to Problem
        Problems that were there before, by key.

    Returns
    -------
    happened : list of Problem
        `problems` without ends of what was not there, and without those by a part older than the newest that has it.
    known : dict of str to Problem
        Without those that are over.

    Examples
    --------
    >>> def day(part, passed):
    ...     result = {"passed": passed, "error": True, "blocking": True, "description": "", "metadata": {}}
    ...     return of_check("gate", **result, part=part, in_time=True)
    >>> _, known = follow([day("2026-01-02", False), day("2026-01-01", True)], {})
    >>> list(known), follow([day("2026-01-03", True)], known)[1]
    (['gate'], {})
    """
    now, happened = dict(known), []
    for problem in problems:
        before = now.get(problem.key)
        if not problem.over:
            parts = _together(before.parts if before else (), problem.parts)
            joined = replace(problem, beside=_together(before.beside if before else (), problem.beside))
            now[problem.key] = replace(joined, parts=parts[-_MOST_PARTS:])
            happened.append(joined)
        elif before is not None and before.parts[-1:] <= problem.parts[-1:]:
            del now[problem.key]
            happened.append(_end(before, problem))
    return happened, now


def news(
    problems: Iterable[Problem], sent: Mapping[str, str], least: AlertSeverity
) -> tuple[list[Problem], dict[str, str]]:
    """What somebody must be told now, and the state that has been told then.

    Parameters
    ----------
    problems : iterable of Problem
        In the order in which they happened. One that came and went is told, with its end.
    sent : mapping of str to str
        State by key, as told before.
    least : str
        Milder problems are left out.

    Returns
    -------
    news : list of Problem
        As `in_short` puts it; the end of a problem that was told is news too.
    sent : dict of str to str

    Examples
    --------
    >>> gate = of_check(
    ...     "report: gate", passed=False, error=True, blocking=True, description="x", metadata={}, part=None
    ... )
    >>> first, told = news([gate], {}, "low")
    >>> len(first), news([gate], told, "low")[0]
    (1, [])
    """
    after, fresh = dict(sent), []
    new: set[tuple[str, str]] = set()
    for problem in problems:
        if problem.over:
            if after.pop(problem.key, None) is not None:
                fresh.append(problem)
        elif SEVEREST_FIRST.index(problem.severity) <= SEVEREST_FIRST.index(least):
            if after.get(problem.key) != problem.news:
                new.add((problem.key, problem.news))
            if (problem.key, problem.news) in new:  # the same in further parts: they are named beside the first
                fresh.append(problem)
            after[problem.key] = problem.news
    return in_short(fresh), after


def in_short(problems: Iterable[Problem]) -> list[Problem]:
    """Each state of a problem once, with all its parts, and its end where it ended: the severest first, ends last."""
    by_key: dict[str, list[Problem]] = {}
    for problem in problems:
        by_key.setdefault(problem.key, []).append(problem)
    short = []
    for same in by_key.values():
        states: dict[str, Problem] = {}
        for problem in same:
            if not problem.over:
                before = states.get(problem.news, problem)
                states[problem.news] = replace(problem, parts=_together(before.parts, problem.parts))
        short += [*states.values(), *(one for one in same[-1:] if one.over)]
    return sorted(short, key=lambda one: (one.over, SEVEREST_FIRST.index(one.severity), one.key))


def message(audit: str, fresh: list[Problem]) -> tuple[str, str]:
    """Title and text of one message on all news."""
    totals = [(word, sum(one.severity == word and not one.over for one in fresh)) for word in SEVEREST_FIRST]
    counted = [f"{n} {word}" for word, n in totals if n]
    over = sum(one.over for one in fresh)
    if over:
        counted.append(f"{over} over")
    lines = []
    for problem in fresh:
        if problem.over:
            lines += [f"OVER: {problem.heading}", f"  {problem.sentence}", ""]
        else:
            heading = f"{problem.severity.upper()}: {problem.heading}"
            lines += [heading, f"  {problem.sentence}", f"  To do: {problem.recommendation}", ""]
    return f"Bias audit {audit}: {', '.join(counted)}", "\n".join(lines).rstrip()


def _end(problem: Problem, passed: Problem) -> Problem:
    """The end of a problem; by a later part it leaves what was found in the earlier ones as it is."""
    if problem.parts[-1:] < passed.parts[-1:]:
        stays = (
            f" What was found in {problem.parts[-1]} stays until that part is audited again." if problem.parts else ""
        )
        passed = replace(passed, sentence=f"{passed.sentence}{stays}")
    return replace(passed, title=problem.title)


def _key(name: str, part: str | None, in_time: bool) -> str:
    return name if part is None or in_time else f"{name} ({part})"


def _parts(part: str | None) -> tuple[str, ...]:
    return () if part is None else (part,)


def _together(some: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*some, *more}))


def _what_to_do(error: bool, blocking: bool) -> str:
    if not error:
        return "Nothing is stopped. Look at the report, and collect more rows if it could not tell."
    stopped = "What comes after the gate was stopped. " if blocking else ""
    return f"{stopped}Look at the report's groups and limits before the model is used further."


def _short(text: str, longest: int = _LONGEST) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 4] + " ..."
