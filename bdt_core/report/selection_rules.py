"""Rules of selection: how categories are named, and a line on each rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.fairness.metric_results import group_in_words, group_name
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.said import Column, joined, of_ours, say

if TYPE_CHECKING:
    from bdt_core.fairness.local_law_144 import CategoryImpact, ImpactTable
    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.fairness.uniform_guidelines import FourFifths, GroupImpact


def category(impact: CategoryImpact) -> str:
    """A category by its values."""
    return group_name(impact.category)


def lowest(table: ImpactTable) -> CategoryImpact | None:
    """The category with the lowest impact ratio; None where there are not two to compare."""
    known = [one for one in table.categories if one.impact_ratio is not None]
    return min(known, key=lambda one: one.impact_ratio or 0.0) if len(known) > 1 else None


def below(rules: SelectionRules, p_value: float | None) -> bool:
    """Whether a difference from the highest rate is significant."""
    return p_value is not None and p_value <= 1.0 - rules.confidence


def flagged(groups: tuple[GroupImpact, ...]) -> list[GroupImpact]:
    """Groups that the four-fifths rule names, the lowest ratio first."""
    named = [one for one in groups if one.below_four_fifths and not one.small_share]
    return sorted(named, key=lambda one: one.ratio or 0.0)


def rule_lines(document: AnyDocument) -> Iterator[str]:
    """A line per table of a rule, for a terminal: the group with the lowest ratio."""
    rules = printed(document).selection_rules
    if rules is None:
        return
    for table in rules.ll144:
        line: str = say(
            "Local Law 144, {kind} by {name}: {what}",
            kind=of_ours(table.rate_kind),
            name=_columns(table.columns),
            what=_lowest_in_words(table),
        )
        yield joined([line, say("{N} unknown", N=words.count(table.unknown))], "; ") if table.unknown else line
    for rule in rules.four_fifths:
        yield say("Four-fifths rule by {name}: {what}", name=_columns(rule.columns), what=_below_in_words(rule.rule))


def _lowest_in_words(table: ImpactTable) -> str:
    impact = lowest(table)
    if impact is None:
        return say("no two categories to compare")
    return say(
        "lowest impact ratio {N}, {group} ({rate})",
        N=words.number(impact.impact_ratio),
        group=group_in_words(table.columns, impact.category),
        rate=words.percent(impact.rate),
    )


def _below_in_words(rule: FourFifths) -> str:
    named = flagged(rule.groups)
    if not named:
        return say("nobody is selected" if rule.adverse_impact is None else "no group is below 4/5")
    groups = [
        say("{group} {N} ({p})", group=one.group, N=words.number(one.ratio), p=words.p_value(one.p_value))
        for one in named
    ]
    return say("below 4/5 of {reference}: {list}", reference=str(rule.reference), list=words.listing(groups))


def _columns(columns: Sequence[str]) -> str:
    return joined([Column(one) for one in columns], " & ")
