"""Limits on any group of people: whom a search could have found, or who are declared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.said import of_ours, say
from bdt_core.spec import WorstGroupLimit
from bdt_core.spec.wording import compared_with, factors_compared
from bdt_core.verdict.calibration import DEFAULT_GAP, gap_ruled_out_for, judge_calibration
from bdt_core.verdict.declared_group import facets_of, judge_declared_group
from bdt_core.verdict.kinds import WORST_GROUP_COMPARED, AuditResults, PeopleLimitKind, Row, default_difference
from bdt_core.verdict.scope import Scope, scope_of, width_of
from bdt_core.verdict.words import sentences
from bdt_core.verdict.worst_group import WorstGroupLimitResult, judge_worst_group, ruled_out_for, settled_limit

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import WorstGroups


class WorstGroupLimits(PeopleLimitKind[WorstGroupLimit, WorstGroupLimitResult]):
    """Limits on groups of people, whom a search could have found or who are declared."""

    limit, outcome = WorstGroupLimit, WorstGroupLimitResult
    about = "the worst group"
    compared = WORST_GROUP_COMPARED
    published = frozenset({"min_share"})

    def judge(self, limit: WorstGroupLimit, results: AuditResults) -> WorstGroupLimitResult:
        """By all findings of who fares worse; of a score that is off, by the search for that alone."""
        if limit.of != "calibration":
            return super().judge(limit, results)
        own, scope = judge_calibration(limit, results.calibration), self._scope_of_score(limit, results)
        return replace(own, scope=scope, sentence=sentences(own.sentence, scope.sentence))

    def _scope_of_score(self, limit: WorstGroupLimit, results: AuditResults) -> Scope:
        ruled_out = gap_ruled_out_for(limit, results.calibration)
        most = DEFAULT_GAP if limit.max_difference is None else limit.max_difference
        shared = self.shared_scope(limit, most, results)
        return scope_of(
            "scored",
            **shared | {"measured": "calibration", "better": None, "width": width_of(most, None)},
            min_share=limit.min_share,
            conditions=ruled_out.max_conditions if ruled_out else None,
            ruled_out_from=ruled_out.min_share if ruled_out else None,
        )

    def by_its_own_search(self, limit: WorstGroupLimit, results: AuditResults) -> WorstGroupLimitResult:
        default = default_difference(results)
        if limit.check == "declared_group":
            return judge_declared_group(limit, results.declared, default)
        return judge_worst_group(
            limit, _searched(limit, results), default, compared_with(limit.of, results.outcome.spec)
        )

    def settled(self, limit: WorstGroupLimit, results: AuditResults) -> float | None:
        return None if limit.check == "declared_group" else settled_limit(limit, _searched(limit, results))

    def scope_in(self, limit: WorstGroupLimit, most: float, results: AuditResults) -> Scope:
        shared = self.shared_scope(limit, most, results) | {"min_share": limit.min_share}
        if limit.check == "declared_group":
            columns = dict.fromkeys(name for facet in facets_of(limit, results.declared) for name in facet.columns)
            return scope_of("declared", **shared, columns=tuple(columns))
        alike = factors_compared(limit.of, results.outcome.spec)
        ruled_out = ruled_out_for(limit, _searched(limit, results))
        return scope_of(
            "groups",
            **shared,
            of="remaining" if alike else "raw",
            alike=alike,
            conditions=ruled_out.max_conditions if ruled_out else None,
            ruled_out_from=ruled_out.min_share if ruled_out else None,
        )

    def unit_of(self, outcome: WorstGroupLimitResult, unit: words.Unit) -> str:
        return "rate" if outcome.is_of_score else unit

    def title(self, outcome: WorstGroupLimitResult) -> str:
        if outcome.is_of_score:
            return say("The score, for any group of conditions")
        return say("Any group of conditions") if outcome.check == "worst_group" else say("Any declared group")

    def subject(self, outcome: WorstGroupLimitResult, measured: str) -> str:
        if outcome.is_of_score:
            return say("How far the score is off for any group that conditions describe")
        if outcome.check == "worst_group":
            return say("Difference in {measure} of any group that conditions describe", measure=of_ours(measured))
        return say("Difference in {measure} of any declared group", measure=of_ours(measured))

    def judged_by(self, outcome: WorstGroupLimitResult) -> str:
        return "" if outcome.group is None else say("decisive: {people}", people=of_ours(outcome.group))

    def row(self, outcome: WorstGroupLimitResult, report: Any) -> Row:
        """One-sided bounds, which are no interval: of the group that decides, and of any group."""
        row = super().row(outcome, report)
        if outcome.broken_by is not None or outcome.difference is None or outcome.high is None:
            return row
        unit = self.unit_of(outcome, report.bias_variable.unit)
        difference, low = (words.size(x, unit) for x in (outcome.difference, outcome.low))
        high = words.size_at_most(outcome.high, unit)
        if outcome.group is None:
            who = _ruled_out(outcome)
            return row._replace(value=say("{who} by at most {size}", who=who, size=high), value_note="")
        bounds = say("at least {least}, {who} at most {most}", least=low, who=_ruled_out(outcome), most=high)
        value = say("{size} off" if outcome.is_of_score else "{size} worse", size=difference)
        return row._replace(value=value, value_note=bounds)


def _ruled_out(outcome: WorstGroupLimitResult) -> str:
    """Of whom the upper bound is; all declared groups are judged."""
    share = outcome.scope.ruled_out_from if outcome.scope else None
    return say("any group") if share is None else say("any group of at least {N} of the people", N=words.percent(share))


def _searched(limit: WorstGroupLimit, results: AuditResults) -> WorstGroups | None:
    """The search that a limit is on: with the legitimate factors, or without them."""
    searched = results.worst_groups
    raw = searched.raw if searched is not None and limit.of == "raw" else None
    return raw or searched
