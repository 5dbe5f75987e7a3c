"""What is wrong, from the checks and failures of a run; and what is new in it, so that nobody is told twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bdt_core.spec import AlertSeverity

SEVEREST_FIRST: tuple[AlertSeverity, ...] = ("critical", "high", "medium", "low")
_LONGEST = 600


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
    """

    key: str
    title: str
    severity: AlertSeverity
    state: str
    sentence: str
    recommendation: str
    over: bool = False


def of_check(
    name: str,
    *,
    passed: bool,
    error: bool,
    blocking: bool,
    description: str | None,
    metadata: Mapping[str, Any],
    part: str | None,
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
        A "severity" and a "recommendation" in it are taken over.
    part : str, optional
        The part of the data, where each part is a problem of its own.
    """
    told = str(metadata.get("severity", ""))
    default: AlertSeverity = ("critical" if blocking else "high") if error else "low"
    severity = next((one for one in SEVEREST_FIRST if one == told), default)
    where = name if part is None else f"{name} ({part})"
    return Problem(
        key=where,
        title=where,
        severity=severity,
        state="passed" if passed else f"{'failed' if error else 'warned'}, {severity}",
        sentence=_short(description or ("The check passes." if passed else "The check does not pass.")),
        recommendation=_short(str(metadata.get("recommendation", ""))) or _what_to_do(error, blocking),
        over=passed,
    )


def of_failure(job: str, run_id: str, reason: str, part: str | None) -> Problem:
    """A run that did not get to its end."""
    where = job if part is None else f"{job} ({part})"
    return Problem(
        key=f"run of {where}",
        title=f"Run of {where}",
        severity="high",
        state="failed",
        sentence=_short(reason) or "The run failed.",
        recommendation=f"Look at run {run_id} in Dagster, mend what it names, and run the audit again.",
    )


def news(
    found: Iterable[Problem], told: Mapping[str, str], least: AlertSeverity
) -> tuple[list[Problem], dict[str, str]]:
    """What somebody must be told now, and the state that has been told then.

    Parameters
    ----------
    found : iterable of Problem
        In the order in which they happened; only the last state of each counts.
    told : mapping of str to str
        State by key, as told before.
    least : str
        Milder problems are left out.

    Returns
    -------
    news : list of Problem
        The severest first; the end of a problem that was told is news too.
    told : dict of str to str

    Examples
    --------
    >>> gate = of_check(
    ...     "report: gate", passed=False, error=True, blocking=True, description="x", metadata={}, part=None
    ... )
    >>> first, told = news([gate], {}, "low")
    >>> len(first), news([gate], told, "low")[0]
    (1, [])
    """
    last = {one.key: one for one in found}
    after = dict(told)
    fresh = []
    for key, one in last.items():
        if one.over:
            if after.pop(key, None) is not None:
                fresh.append(one)
        elif after.get(key) != one.state and SEVEREST_FIRST.index(one.severity) <= SEVEREST_FIRST.index(least):
            after[key] = one.state
            fresh.append(one)
    return sorted(fresh, key=lambda one: (one.over, SEVEREST_FIRST.index(one.severity), one.key)), after


def message(audit: str, fresh: list[Problem]) -> tuple[str, str]:
    """Title and text of one message on all news."""
    totals = [(word, sum(one.severity == word and not one.over for one in fresh)) for word in SEVEREST_FIRST]
    counted = [f"{n} {word}" for word, n in totals if n]
    over = sum(one.over for one in fresh)
    if over:
        counted.append(f"{over} over")
    lines = []
    for one in fresh:
        if one.over:
            lines += [f"OVER: {one.title}", f"  {one.sentence}", ""]
        else:
            lines += [f"{one.severity.upper()}: {one.title}", f"  {one.sentence}", f"  To do: {one.recommendation}", ""]
    return f"Bias audit {audit}: {', '.join(counted)}", "\n".join(lines).rstrip()


def _what_to_do(error: bool, blocking: bool) -> str:
    if not error:
        return "Nothing is stopped. Look at the report, and collect more rows if it could not tell."
    stopped = "What stands behind the gate was stopped. " if blocking else ""
    return f"{stopped}Look at the report's groups and limits before the model is used further."


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 4] + " ..."
