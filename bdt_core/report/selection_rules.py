"""Rules of selection: how categories are named, and a line on each rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.fairness.metric_results import group_name
from bdt_core.report.printed import AnyDocument, printed

if TYPE_CHECKING:
    from bdt_core.fairness.local_law_144 import CategoryImpact, ImpactTable
    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.fairness.uniform_guidelines import GroupImpact


def category(one: CategoryImpact) -> str:
    """A category by its values."""
    return group_name(one.category)


def lowest(table: ImpactTable) -> CategoryImpact | None:
    """The category with the lowest impact ratio; None where there are not two to compare."""
    known = [one for one in table.categories if one.impact_ratio is not None]
    return min(known, key=lambda one: one.impact_ratio or 0.0) if len(known) > 1 else None


def below(found: SelectionRules, p_value: float | None) -> bool:
    """Whether a difference from the highest rate is significant."""
    return p_value is not None and p_value <= 1.0 - found.confidence


def flagged(groups: tuple[GroupImpact, ...]) -> list[GroupImpact]:
    """Groups that the four-fifths rule names, the lowest ratio first."""
    named = [one for one in groups if one.below_four_fifths and not one.small_share]
    return sorted(named, key=lambda one: one.ratio or 0.0)


def rule_lines(document: AnyDocument) -> Iterator[str]:
    """A line per table of a rule, for a terminal: the group with the lowest ratio."""
    found = printed(document).selection_rules
    if found is None:
        return
    for table in found.ll144:
        one = lowest(table)
        told = "no two categories to compare"
        if one is not None:
            told = f"lowest impact ratio {words.number(one.impact_ratio)}, {category(one)} ({words.percent(one.rate)})"
        unknown = f"; {words.count(table.unknown)} unknown" if table.unknown else ""
        yield f"Local Law 144, {table.rate_kind} by {' & '.join(table.columns)}: {told}{unknown}"
    for rule in found.four_fifths:
        named = flagged(rule.rule.groups)
        told = "no group is below 4/5" if rule.rule.adverse_impact is not None else "nobody is selected"
        if named:
            several = [f"{one.group} {words.number(one.ratio)} ({words.p_value(one.p_value)})" for one in named]
            told = f"below 4/5 of {rule.rule.reference}: {words.listing(several)}"
        yield f"Four-fifths rule by {' & '.join(rule.columns)}: {told}"
