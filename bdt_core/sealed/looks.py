"""Looks at the same people: which came before this one, and what was changed since each.

Nobody is accused: a look that came before, and a limit that was moved since, are facts that a reader should know, for
whoever looks often enough finds a table, a limit or a seed with which an audit passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from bdt_core.result import Part
from bdt_core.said import AsItIs, Column, Text, joined, say
from bdt_core.sealed.canonical import digest
from bdt_core.sealed.ledger import Chain, Event
from bdt_core.sealed.people import Overlap, overlap
from bdt_core.sealed.plan import changes_between
from bdt_core.table.people import PeopleFingerprint
from bdt_core.words import count, percent

Door = Literal["audit", "gate", "dagster", "page"]
_NEARLY_ALL = 0.98
"""Shares in common are estimates: from so much on they are all."""
_HALF = 0.5
NOT_LOOKED_AT = -1
"""Values of a column that an audit leaves alone."""
_LOOKS_ON_PAGE_1, _CHANGES_ON_PAGE_1, _COLUMNS_LISTED = 3, 4, 5


class EarlierLook(Part):
    """A look that came before.

    Attributes
    ----------
    time : str
    name : str
        Of the audit.
    door : str
    version : str
        Of the software.
    verdict : str
    in_common : float or None
        Share of the people of this look whom it looked at; None where the columns do not tell.
    changes : tuple of Text
        What was changed from it to the next look.
    """

    time: str
    name: str
    door: str
    version: str
    verdict: str
    in_common: float | None
    changes: tuple[Text, ...]


class Looks(Part):
    """What the ledger tells of this look.

    Attributes
    ----------
    earlier : tuple of EarlierLook
        Looks at some of these people; and looks of this audit of whom nobody can tell whether they were. The first
        comes first.
    stopped : int
        Looks of this audit that ended without an answer.
    false_alarms : float
        The chance that looks like this one and the earlier ones name anybody where all are treated alike, at most.
    problems : tuple of Text
        What does not fit in the ledger, or why this look does not stand in it.
    """

    earlier: tuple[EarlierLook, ...] = ()
    stopped: int = 0
    false_alarms: float
    problems: tuple[Text, ...] = ()

    @property
    def tells(self) -> bool:
        """Whether there is anything to tell; the report of a first look is that of the table and the plan alone."""
        return bool(self.earlier or self.stopped or self.problems)

    def beside(self, problem: Text | None) -> Looks:
        """The same, with one more problem where there is one."""
        return self if problem is None else self.model_copy(update={"problems": (*self.problems, problem)})

    @property
    def number(self) -> int:
        """Which look at these people it is."""
        return _number(self.earlier)

    @property
    def is_told(self) -> bool:
        """Whether the columns tell of each earlier look that it was at some of these people."""
        return all(one.in_common is not None for one in self.earlier)


@dataclass(frozen=True)
class LookFacts:
    """What is compared of two looks.

    Attributes
    ----------
    name, version : str
    plan : mapping
    people : PeopleFingerprint or None
    rows, audited : int
        Rows of the table, and those with an outcome.
    columns : mapping of str to int or None
        Distinct values of each column of the table; None is more than were counted, `NOT_LOOKED_AT` of a column that
        the audit leaves alone.
    fingerprint : str
        Of the columns that are used, outcomes too.
    """

    name: str
    version: str
    plan: Mapping[str, Any]
    people: PeopleFingerprint | None
    rows: int
    audited: int
    columns: Mapping[str, int | None]
    fingerprint: str

    @classmethod
    def of_events(cls, begun: Event, ended: Event) -> LookFacts:
        """Of two lines of a ledger."""
        people = ended["people"]
        return cls(
            name=begun["name"],
            version=begun["version"],
            plan=begun["plan"],
            people=None if people is None else PeopleFingerprint.from_dict(people),
            rows=ended["rows"],
            audited=ended["audited"],
            columns=ended["columns"],
            fingerprint=ended["fingerprint"],
        )

    @property
    def same_answer(self) -> str:
        """The same for all looks that have the same answer: at this table, by this plan, with this software."""
        rows = {"rows": self.rows, "audited": self.audited, "fingerprint": self.fingerprint}
        return digest({"name": self.name, "version": self.version, "plan": self.plan, "columns": self.columns, **rows})

    def in_line(self) -> dict[str, Any]:
        """What of them stands in the line of a look that has ended."""
        return {
            "people": None if self.people is None else self.people.to_dict(),
            "rows": self.rows,
            "audited": self.audited,
            "columns": dict(self.columns),
            "fingerprint": self.fingerprint,
        }


def looks_before(chain: Chain, look: str, facts: LookFacts, alpha: float) -> Looks:
    """What a ledger tells of a look that is about to end.

    The same table by the same plan has the same answer however often it is asked for. So of looks that have the same
    answer the first counts: a later one is no further look, and is told what the first was told.

    Parameters
    ----------
    chain : Chain
        With the line that says that it began.
    look : str
        Its id.
    facts : LookFacts
    alpha : float
        Level of the tests of this look.
    """
    entries = [entry for entry in _entries(chain, facts) if entry.look != look]
    mine = next((entry.look for entry in entries if entry.facts.same_answer == facts.same_answer), look)
    until = list(takewhile(lambda event: (event["event"], event["look"]) != ("ended", mine), chain.events))
    had = {event["look"] for event in until if event["event"] == "ended"}
    firsts = {entry.facts.same_answer: entry for entry in reversed(entries) if entry.look in had}
    before = [entry for entry in entries if entry in firsts.values() and entry.is_before(facts)]
    followed = [*(entry.facts for entry in before), facts][1:]
    earlier = tuple(entry.as_told(following) for entry, following in zip(before, followed, strict=True))
    answered = {event["look"] for event in chain.events if event["event"] == "ended"}
    stopped = sum(
        event["event"] == "begun" and _stopped_before(event, facts) and event["look"] not in {look, *answered}
        for event in until
    )
    false_alarms = 1.0 - (1.0 - alpha) ** _number(earlier)
    return Looks(earlier=earlier, stopped=stopped, false_alarms=false_alarms, problems=chain.problems)


def _number(earlier: Sequence[EarlierLook]) -> int:
    """Which look it is, of those that most of these people were in; who cannot be told may have been."""
    return 1 + sum(entry.in_common is None or entry.in_common >= _HALF for entry in earlier)


class LimitOfLook(Part):
    """A limit and what was said of it."""

    check: str
    verdict: str


class LookOfHistory(Part):
    """A look, as a history tells it.

    Attributes
    ----------
    began : str
    ended : str or None
        None where it was stopped, or still runs.
    name, door, version : str
    verdict : str or None
    limits : tuple of str
        Each limit with its verdict.
    rows : int or None
    report : str or None
        SHA-256 of its report.json.
    changes : tuple of Text
        What was changed since the look at the same people before it.
    """

    began: str
    ended: str | None
    name: str
    door: str
    version: str
    verdict: str | None
    limits: tuple[LimitOfLook, ...]
    rows: int | None
    report: str | None
    changes: tuple[Text, ...]


class LookHistory(Part):
    """All looks of a ledger, or those of one audit.

    Attributes
    ----------
    name : str or None
    looks : tuple of LookOfHistory
        The first comes first.
    lines : int
        Of the ledger.
    head : str
        Hash of its last line.
    problems : tuple of Text
        What does not fit in it.
    batches : tuple of Text
        What all batches of the audit show together, where its history was read, too.
    """

    name: str | None
    looks: tuple[LookOfHistory, ...]
    lines: int
    head: str
    problems: tuple[Text, ...]
    batches: tuple[Text, ...] = ()


def history_of_looks(chain: Chain, name: str | None = None) -> LookHistory:
    """All looks of a ledger, or those of one audit, with what was changed from each to the next at the same people."""
    ended = {event["look"]: event for event in chain.events if event["event"] == "ended"}
    looks: list[LookOfHistory] = []
    before: list[LookFacts] = []
    for begun in chain.events:
        if begun["event"] != "begun" or (name is not None and begun.get("name") != name):
            continue
        with suppress(KeyError, TypeError, ValueError):  # a line that was edited; the chain says so
            end = ended.get(begun["look"])
            facts = None if end is None else LookFacts.of_events(begun, end)
            looks.append(_as_history(begun, end, () if facts is None else _since(before, facts)))
            before += [] if facts is None else [facts]
    return LookHistory(name=name, looks=tuple(looks), lines=chain.lines, head=chain.head, problems=chain.problems)


def _as_history(begun: Event, end: Event | None, changes: tuple[Text, ...]) -> LookOfHistory:
    answer = {} if end is None else end
    return LookOfHistory(
        began=begun["time"],
        ended=answer.get("time"),
        name=begun["name"],
        door=begun["door"],
        version=begun["version"],
        verdict=answer.get("verdict"),
        limits=tuple(LimitOfLook.model_validate(limit) for limit in answer.get("limits", ())),
        rows=answer.get("rows"),
        report=answer.get("report"),
        changes=changes,
    )


def _since(before: Sequence[LookFacts], facts: LookFacts) -> tuple[Text, ...]:
    """What was changed since the last look at some of the same people; or of the same audit, if nobody can tell."""
    for earlier in reversed(before):
        common = _in_common(facts, earlier)
        if earlier.name == facts.name if common is None else common.is_any:
            return tuple(_changes(earlier, facts))
    return ()


@dataclass(frozen=True)
class _Entry:
    """A look that has ended, as a ledger has it, and the people that it has in common with another."""

    look: str
    time: str
    door: str
    verdict: str
    facts: LookFacts
    common: Overlap | None

    def is_before(self, facts: LookFacts) -> bool:
        """Whether it was at some of the same people; or of the same audit, where the columns do not tell."""
        return self.facts.name == facts.name if self.common is None else self.common.is_any

    def as_told(self, following: LookFacts) -> EarlierLook:
        return EarlierLook(
            time=self.time,
            name=self.facts.name,
            door=self.door,
            version=self.facts.version,
            verdict=self.verdict,
            in_common=None if self.common is None else round(self.common.of_these, 3),
            changes=tuple(_changes(self.facts, following)),
        )


def _stopped_before(begun: Event, facts: LookFacts) -> bool:
    """Whether a look was of this audit by another plan.

    One by this plan is this look begun again, or that of another file of the same inbox, which may still run: how many
    of these there are depends on the moment, and no answer may.
    """
    return begun.get("name") == facts.name and begun.get("plan") != facts.plan


def _entries(chain: Chain, facts: LookFacts) -> Iterator[_Entry]:
    begun = {event["look"]: event for event in chain.events if event["event"] == "begun"}
    ended = {event["look"]: event for event in chain.events if event["event"] == "ended"}
    for look, event in begun.items():
        if look in ended:
            end = ended[look]
            with suppress(KeyError, TypeError, ValueError):  # a line that was edited; the chain says so
                before = LookFacts.of_events(event, end)
                yield _Entry(look, end["time"], event["door"], end["verdict"], before, _in_common(facts, before))


def _in_common(facts: LookFacts, other: LookFacts) -> Overlap | None:
    if facts.people is None or other.people is None:
        return None
    return overlap(facts.people, other.people)


def _changes(before: LookFacts, after: LookFacts) -> Iterator[Text]:
    """What was changed from one look to the next, in neutral words."""
    yield from changes_between(before.plan, after.plan)
    if before.name != after.name:
        yield say("The audit was called {name} before.", name=AsItIs(before.name))
    if before.columns.keys() != after.columns.keys():
        yield from _changes_of_columns(before, after)
    yield from _changes_of_rows(before, after)
    if before.version != after.version:
        now, then = AsItIs(after.version), AsItIs(before.version)
        yield say("Version {now} of the software took the place of version {then}.", now=now, then=then)


def _changes_of_columns(before: LookFacts, after: LookFacts) -> Iterator[Text]:
    gone = [one for one in before.columns if one not in after.columns]
    new = [one for one in after.columns if one not in before.columns]
    if len(gone) == len(new) and _are_the_same(before, after):
        yield say("Columns have other names: {now} for {then}.", now=_listed(new), then=_listed(gone))
        return
    if gone:
        yield say("No longer in the table: {columns}.", columns=_listed(gone))
    if new:
        yield say("Added to the table: {columns}.", columns=_listed(new))


def _listed(columns: Sequence[str]) -> Text:
    return joined([Column(one) for one in columns[:_COLUMNS_LISTED]], ", ")


def _are_the_same(before: LookFacts, after: LookFacts) -> bool:
    """Whether these are the same people, with the same values in all features."""
    return before.people is not None and after.people is not None and before.people.content == after.people.content


def _changes_of_rows(before: LookFacts, after: LookFacts) -> Iterator[Text]:
    common = _in_common(after, before)
    known = say("{now} outcomes are known, and {then} were.", now=count(after.audited), then=count(before.audited))
    if _are_the_same(before, after):
        if before.audited != after.audited:
            yield known
        elif before.fingerprint != after.fingerprint:
            yield say("The outcomes of the same people are other ones.")
        return
    if common is not None and common.of_those < _NEARLY_ALL:
        yield say("{share} of the people are no longer in the table.", share=percent(1.0 - common.of_those))
    if common is not None and common.of_these < _NEARLY_ALL:
        yield say("{share} of the people are new.", share=percent(1.0 - common.of_these))
    if before.rows != after.rows:
        yield say("The table has {now} rows, and had {then}.", now=count(after.rows), then=count(before.rows))
    elif before.audited != after.audited:
        yield known
    for column, values in before.columns.items():
        now = after.columns.get(column, values)
        if now is None or now == NOT_LOOKED_AT:
            continue
        if (values is None or now < _HALF * values) and after.rows >= _HALF * before.rows:
            had = say("more than 65,536") if values is None else count(values)
            named = Column(column)
            yield say("The column {column} has {now} values, and had {then}.", column=named, now=count(now), then=had)


def said_looks(looks: Looks) -> tuple[Text, ...]:
    """The sentences of page 1: which look this is, what was changed since earlier ones, and what does not fit."""
    changed = [(number, one.changes) for number, one in enumerate(looks.earlier, 1) if one.changes]
    return (*_counted(looks), *_said_changes(changed), *_doubts(looks))


def _counted(looks: Looks) -> Iterator[Text]:
    before = len(looks.earlier)
    if not before:
        yield say("No look at these people before this one is recorded.")
    elif not looks.is_told:
        yield say(
            "{N} looks of this audit came before; whether at the same people, the columns do not tell.", N=count(before)
        )
    elif before == 1:
        yield say("One look at these people, or some of them, came before this one.")
    else:
        yield say("{N} looks at these people, or some of them, came before this one.", N=count(before))
    if looks.stopped == 1:
        yield say("One more was stopped before it had an answer.")
    elif looks.stopped:
        yield say("{N} more were stopped before they had an answer.", N=count(looks.stopped))
    if before and not any(one.changes for one in looks.earlier):
        yield say("Nothing was changed since.")


def _said_changes(changed: Sequence[tuple[int, Sequence[Text]]]) -> Iterator[Text]:
    for number, changes in changed[-_LOOKS_ON_PAGE_1:]:
        listed = list(changes[:_CHANGES_ON_PAGE_1])
        if more := len(changes) - len(listed):
            listed.append(say("One more change.") if more == 1 else say("{N} more changes.", N=count(more)))
        yield say("After look {N}: {what}", N=count(number), what=joined(listed, " "))
    if len(changed) > _LOOKS_ON_PAGE_1:
        yield say("The annex lists the changes after earlier looks.")


def _doubts(looks: Looks) -> Iterator[Text]:
    if len(looks.earlier) > 0:
        yield say(
            "So often looked at, people who are all treated alike are called worse off with a chance of up to {share}.",
            share=percent(looks.false_alarms),
        )
    if looks.problems:
        yield say("The record of looks is not whole: {what}.", what=joined(looks.problems[:_CHANGES_ON_PAGE_1], "; "))
