"""The audit's stage for declared groups: each one's bias variable against that of everybody else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bdt_core.declared.outcomes import DeclaredFacet, DeclaredGroup, DeclaredOutcomes
from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.counts import Group
from bdt_core.fairness.group_summaries import Grouped, PersonsByGroup, persons_by_group, summaries_by_group
from bdt_core.fairness.metric_results import group_name
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.inference import (
    Comparison,
    adjust_p_values,
    compare_samples,
    compare_summaries,
    drawing_needs_rows,
    interval_at_once,
)
from bdt_core.inference.persons import PersonSums, compare_persons, interval_of_mean
from bdt_core.inference.summaries import ValueCounts
from bdt_core.said import Column, Numeral, say
from bdt_core.spec import AuditSpec
from bdt_core.spec.wording import wording
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import rests_of, summarise_bias_variable, ways

MOST_LEVELS = 100


def compare_declared_groups(table: Rows, spec: AuditSpec) -> DeclaredOutcomes:
    """Compare the bias variable of every declared group with that of everybody else.

    Parameters
    ----------
    table : Rows
        All rows, train and test.
    spec : AuditSpec
        ``protected``, ``groups.facets``, ``groups.thresholds``, ``significance`` and ``split.key``.

    Returns
    -------
    DeclaredOutcomes
        Exact for tables of any size: blocks of rows are summarised and the summaries added up. Two-valued outcomes are
        tested by mid-p, others by Welch or, where they are few or skewed, by permutation (beyond ``large_rows`` rows
        only of outcomes with at most 2,000 values). Intervals of rates are Wilson's and of differences Newcombe's, of
        means Student's and Welch's; where persons have several rows all of them count persons.
    """
    settings = spec.significance
    everybody, how = summarise_bias_variable(table), ways(table, [BIAS_VARIABLE])[BIAS_VARIABLE]
    cuts = {name: Threshold(value) for name, value in spec.groups.thresholds.items()}
    reasons = {columns: _reason(columns, table, cuts) for columns in spec.declared_groupings}
    usable = [columns for columns, reason in reasons.items() if reason is None]
    grouped = dict(zip(usable, summaries_by_group(table, usable, cuts, how), strict=True)) if usable else {}
    orders = [list(one.groups) for one in grouped.values()]
    persons = persons_by_group(table, usable, cuts, how, orders) if usable else None
    facets = [
        _Facet(columns, one, table, cuts, persons, number)
        for number, (columns, one) in enumerate(grouped.items())
    ]  # fmt: skip
    compared = [comparison for facet in facets for comparison in facet.comparisons]
    tested = [one for one in compared if one is not None]
    p_values = iter(adjust_p_values([one.p_value for one in tested], "holm").tolist())
    results = {
        facet.columns: DeclaredFacet(
            facet.columns,
            tuple(facet.groups(p_values, len(tested), settings.alpha)),
            facet.grouped.unknown.rows,
        )
        for facet in facets
    }  # fmt: skip
    return DeclaredOutcomes(
        measured=wording(spec.bias_variable).name,
        is_rate=isinstance(everybody, ValueCounts) and set(everybody.present.tolist()) <= {0.0, 1.0},
        better=spec.bias_variable.better,
        alpha=settings.alpha,
        min_rows=settings.min_rows,
        key=spec.split.key,
        mean=0.0 if spec.bias_variable.query else everybody.mean,  # of each list they are 0, but for the last digit
        rows=everybody.rows,
        comparisons=len(tested),
        facets=tuple(
            results[columns] if reason is None else DeclaredFacet(columns, (), reason=reason)
            for columns, reason in reasons.items()
        ),
    )


def _reason(columns: tuple[str, ...], table: Rows, cuts: Mapping[str, Threshold]) -> str | None:
    """Why some columns make no groups."""
    known = {one.name: one for one in table.columns if one.role in ("feature", "protected")}
    for name in columns:
        column = known.get(name)
        if column is None:
            return say("{name} is neither a feature nor protected", name=Column(name))
        if column.kind == "numeric" and name not in cuts:
            return say("{name} holds numbers and groups.thresholds does not cut it in two", name=Column(name))
        if name not in cuts and (column.distinct is None or column.distinct > MOST_LEVELS):
            return say("{name} has more than {N} values", name=Column(name), N=Numeral(MOST_LEVELS))
    return None


class _Facet:
    """One grouping while it is compared."""

    def __init__(
        self,
        columns: tuple[str, ...],
        grouped: Grouped,
        table: Rows,
        cuts: Mapping[str, Threshold],
        persons: PersonsByGroup | None,
        number: int,
    ) -> None:
        self.columns, self.grouped = columns, grouped
        self._table, self._settings, self._cuts = table, table.spec.significance, cuts
        self._persons, self._number = persons, number
        self._rests = rests_of([*grouped.groups.values(), grouped.unknown])[:-1]
        self._rows = sum(one.rows for one in grouped.groups.values()) + grouped.unknown.rows
        self.comparisons = [self._compared(i, group) for i, group in enumerate(grouped.groups)]

    def groups(self, p_values: Iterator[float], tests: int, alpha: float) -> Iterator[DeclaredGroup]:
        """The groups with what was found; takes the corrected p-value of each comparison in turn."""
        for i, (group, summary) in enumerate(self.grouped.groups.items()):
            comparison, sums = self.comparisons[i], self._sums(i)
            compared = DeclaredGroup(
                group=group_name(group),
                values=tuple(one for one in group if one is not None),
                conditions=self._conditions(group),
                rows=summary.rows,
                persons=None if sums is None else sums.persons,
                share=summary.rows / self._rows,
            )
            numbers: dict[str, Any] = {}
            if min(summary.rows, summary.rows if sums is None else sums.persons) >= self._settings.min_rows:
                steps = None if self._persons is None else self._persons.steps
                low, high = interval_of_mean(summary, sums, steps, alpha)
                numbers |= {"mean": summary.mean, "low": low, "high": high}
            if comparison is not None:
                p_adjusted, interval = next(p_values), interval_at_once(comparison, tests)
                if interval is not None and comparison.difference is not None and not math.isnan(p_adjusted):
                    numbers |= {
                        "mean": comparison.mean_a, "mean_others": comparison.mean_b,
                        "difference": comparison.difference, "difference_low": interval[0],
                        "difference_high": interval[1], "p_adjusted": p_adjusted, "significant": p_adjusted <= alpha,
                    }  # fmt: skip
            yield DeclaredGroup(**(vars(compared) | numbers))

    def _compared(self, place: int, group: Group) -> Comparison | None:
        """A group against everybody else; None where either side has too few rows, or nothing differs."""
        inside, outside, settings = self.grouped.groups[group], self._rests[place], self._settings
        if min(inside.rows, outside.rows) < settings.min_rows:
            return None
        seed = self._table.spec.split.random_state
        if drawing_needs_rows(inside, outside) and not self._table.is_large:
            rows = self._table.in_memory()
            within = members(rows.audited, self._conditions(group))
            comparison = compare_samples(
                rows.y[within], rows.y[~within], alpha=settings.alpha, min_rows=settings.min_rows, random_state=seed
            )
        else:
            comparison = compare_summaries(
                inside, outside, alpha=settings.alpha, min_rows=settings.min_rows, random_state=seed
            )
        sums = self._sums(place)
        if sums is not None and self._persons is not None:
            others, steps = self._persons.everybody - sums, self._persons.steps
            comparison = compare_persons(comparison, sums, others, steps, min_rows=settings.min_rows)
        return comparison if comparison.status == "tested" else None

    def _sums(self, place: int) -> PersonSums | None:
        return None if self._persons is None else self._persons.group(self._number, place)

    def _conditions(self, group: Group) -> tuple[GroupCondition, ...]:
        return tuple(
            GroupCondition.of_level(name, value, self._cuts.get(name))
            for name, value in zip(self.columns, group, strict=True)
        )
