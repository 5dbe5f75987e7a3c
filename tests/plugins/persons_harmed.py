"""A kind of limit as another package adds it: how many people may be harmed beyond what everybody else is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from bdt_core import words
from bdt_core.said import AsItIs, of_ours, say
from bdt_core.spec import AuditSpec, GateLimit, WorstGroupSearch
from bdt_core.verdict import AuditResults, Evidence, LimitKind, LimitOutcome, Tolerated, judge, register
from bdt_core.verdict.words import clauses


class HarmedLimit(GateLimit):
    """A limit on the people of a confirmed group who are harmed and would not be, were they treated like others."""

    kind = "persons_harmed"
    results = ("worst_groups",)

    check: Literal["persons_harmed"] = Field("persons_harmed", description="persons_harmed: people, not shares.")
    max_people: int = Field(50, ge=0, description="Most people who may be harmed beyond what everybody else is.")

    def question(self, spec: AuditSpec) -> str:
        """Whether so many are."""
        return f"Are at most {self.max_people} people of a group harmed beyond others?"

    def searches(self) -> dict[str, WorstGroupSearch]:  # type: ignore[override]
        """The groups."""
        return {"worst_groups": WorstGroupSearch()}


@dataclass(frozen=True, kw_only=True)
class HarmedOutcome(LimitOutcome):
    """What the limit says: at least `low` people of the group are harmed beyond what everybody else is."""

    kind: Literal["persons_harmed"]
    check: Literal["persons_harmed"]
    group: str | None
    maximum: int
    value: float | None

    @property
    def who(self) -> str | None:
        """The group."""
        return self.group


class HarmedLimits(LimitKind[HarmedLimit, HarmedOutcome]):
    """The entry."""

    limit, outcome = HarmedLimit, HarmedOutcome
    unit = "{n} people"
    about = "the people who are harmed"
    compared = ("People harmed beyond others", "The groups of two reports may be different people.")
    published = frozenset({"maximum"})
    translations = {  # noqa: RUF012 - as the entries of the product have it
        "nl": {
            "{n} people": "{n} mensen",
            "People harmed beyond others": "Mensen extra benadeeld",
            "{rule}: {N} people are harmed beyond others, at least {Nleast}": (
                "{rule}: {N} mensen zijn extra benadeeld, minstens {Nleast}"
            ),
            "at most {N} people is allowed": "toegestaan is hoogstens {N} mensen",
        }
    }

    def judge(self, limit: HarmedLimit, results: AuditResults) -> HarmedOutcome:
        searched = results.worst_groups
        tolerated = Tolerated(maximum=limit.max_people)
        known = [
            Evidence(group, round(group.rows * abs(group.difference)), math.floor(group.rows * low), group.rows)
            for group in (searched.groups if searched else ())
            if (low := searched.at_least(group)) is not None
        ]  # fmt: skip
        shared = {"kind": "persons_harmed", "check": limit.check, "maximum": limit.max_people}
        if not known:
            return HarmedOutcome.of(
                limit, "not_testable", "Nobody is confirmed.", None, **shared, group=None, value=None
            )
        judged = judge(known, tolerated, nearest="bound")
        decides = judged.decides
        sentence = clauses(
            say(
                "{rule}: {N} people are harmed beyond others, at least {Nleast}",
                rule=of_ours(decides.of.words),
                N=words.count(decides.value),
                Nleast=words.count(decides.low),
            ),
            say("at most {N} people is allowed", N=words.count(limit.max_people)),
        )
        return HarmedOutcome.of(
            limit, judged.verdict, sentence, judged, **shared, group=decides.of.words, value=decides.value
        )

    def title(self, outcome: HarmedOutcome) -> str:
        return say("People harmed beyond others")

    def row(self, outcome: HarmedOutcome, report: object):  # type: ignore[no-untyped-def]
        row = super().row(outcome, report)
        return row._replace(on_note=say("decisive: {people}", people=of_ours(outcome.group or AsItIs(""))))


register(HarmedLimits())
