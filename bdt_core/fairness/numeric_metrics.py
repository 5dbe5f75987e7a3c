"""Metrics of label and prediction that are numbers, for declared groups: means, medians and errors with intervals.

Each group has limits of its own: Student's of a mean, Wilson's of a share, ranks of a median, which no distribution is
assumed for. Differences and ratios of two groups are made of these limits (MOVER, Zou & Donner 2008; MOVER-R, Donner &
Zou 2012): one way for all metrics, which of shares is Newcombe's interval. At a stricter level they hold for all groups
at once: Bonferroni's for the groups themselves, Šidák's for their differences and ratios.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.errors import SpecError
from bdt_core.fairness.coding import Value
from bdt_core.fairness.comparisons import IS_REFERENCE
from bdt_core.fairness.counts import Group
from bdt_core.fairness.from_counts import EVERYBODY_ELSE, metrics_of_values, place_of_reference
from bdt_core.fairness.measured import MetricValues, first, measured, where
from bdt_core.fairness.medians import Ranked, middle, middle_ranks, values_at_ranks
from bdt_core.fairness.metric_results import BiasMetrics, group_name
from bdt_core.fairness.numeric_sums import GroupedNumbers, NumericColumns, cells_of, cells_per_amount, sum_numbers
from bdt_core.fairness.simultaneous import contrasts_critical_value, ratio_limits
from bdt_core.inference import difference_limits
from bdt_core.inference.order_statistics import median_ranks
from bdt_core.inference.persons import PersonSums, interval_of_mean
from bdt_core.inference.summaries import Summary
from bdt_core.metrics import NumericMetric
from bdt_core.said import say
from bdt_core.table.source_blocks import SourceBlocks
from bdt_core.table.summaries import rests_of
from bdt_core.words import count

Floats = NDArray[np.float64]


class NumericFacet(NamedTuple):
    """The metrics of one grouping, and how many rows and persons each group has."""

    metrics: BiasMetrics
    groups: tuple[Group, ...]
    rows: tuple[int, ...]
    persons: tuple[int, ...] | None


def compare_by_numbers(
    source: SourceBlocks,
    asked: NumericColumns,
    reference_of: Callable[[tuple[Group, ...]], Value | tuple[Value, ...]],
    *,
    alpha: float = 0.05,
    min_rows: int = 30,
    by_person: bool = False,
) -> tuple[NumericFacet, ...]:
    """Compute every metric of numbers for every group.

    Parameters
    ----------
    source : SourceBlocks
    asked : NumericColumns
    reference_of : callable
        From the groups of a grouping to what they are compared with: a group, "largest group" or "everybody else".
    alpha : float
        Intervals have confidence 1 - alpha.
    min_rows : int
        Groups with fewer rows, or persons, do not count among those that limits hold for at once.
    by_person : bool
        Whether blocks have the hash of each row's person: what says how sure metrics are then counts persons. Rows of a
        person count as all alike for limits of medians.

    Returns
    -------
    tuple of NumericFacet
        One per grouping. Rows without a facet, a label or a prediction are in no metric.

    Raises
    ------
    DataError
        A column is missing or no numbers.
    SpecError
        alpha out of range, or a reference that is no group.

    References
    ----------
    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702. Donner, A., Zou, G. Y. (2012). Statistical
    Methods in Medical Research 21, 347-359.
    """
    if not 0.0 < alpha < 1.0:
        raise SpecError(f"alpha must lie between 0 and 1; found {alpha}.")
    grouped = sum_numbers(source, asked, by_person=by_person)
    facets = [_Facet(one, asked, reference_of(one.groups), alpha, min_rows) for one in grouped]
    orders = [one.groups for one in grouped]
    amounts = tuple(dict.fromkeys(asked.amounts[one.name] for one in asked.metrics if one.is_median))
    before = {name: i * cells_per_amount(orders) for i, name in enumerate(amounts)}
    ranked = list(dict.fromkeys(one for facet in facets for one in facet.ranked(before)))
    cells = partial(cells_of, asked=asked, orders=orders, amounts=amounts)
    values = dict(zip(ranked, values_at_ranks(source, cells, ranked).tolist(), strict=True)) if ranked else {}
    return tuple(facet.measured(before, values) for facet in facets)


class _Side(NamedTuple):
    """Some rows of a grouping: a group, or everybody but a group."""

    summaries: dict[str, Summary]
    sums: dict[str, PersonSums] | None
    cell: int
    without: int

    @property
    def rows(self) -> int:
        return next(iter(self.summaries.values())).rows

    @property
    def worth(self) -> float | None:
        """Rows of different persons that these are worth; None where each is of another one."""
        return None if self.sums is None else next(iter(self.sums.values())).rows_worth


class _Limits(NamedTuple):
    """A metric on several sides, with limits at one level."""

    value: Floats
    low: Floats
    high: Floats


class _Facet:
    """One grouping while its metrics are computed."""

    def __init__(
        self,
        grouped: GroupedNumbers,
        asked: NumericColumns,
        reference: Value | tuple[Value, ...],
        alpha: float,
        min_rows: int,
    ) -> None:
        self.grouped, self._asked, self._alpha = grouped, asked, alpha
        self._sides = list(self._of_groups())
        self._reference = place_of_reference(grouped.columns, grouped.groups, grouped.sizes, reference)
        self._others = (
            list(self._of_rests()) if self._reference is None else [self._sides[self._reference]] * len(self._sides)
        )
        sizes = self.persons or grouped.sizes
        judged = max(sum(n >= min_rows for n in sizes), 1)
        groups = len(self._sides)
        contrasts = groups - 1 if self._reference is not None else groups if groups > 2 else 1
        critical = contrasts_critical_value(contrasts, 1.0 - alpha)
        self._together, self._contrasts = alpha / judged, 2.0 * float(special.ndtr(-critical))

    @property
    def persons(self) -> tuple[int, ...] | None:
        """Persons of each group."""
        if self.grouped.persons is None:
            return None
        return tuple(next(iter(one.sums.values())).persons for one in self._sides if one.sums is not None)

    def ranked(self, before: dict[str, int]) -> Iterator[Ranked]:
        """The values whose ranks the medians and their limits have."""
        others = self._others if self._reference is None else []
        for first_cell in before.values():
            for side in (*self._sides, *others):
                for rank in middle_ranks(side.rows):
                    yield _ranked(side, first_cell, rank)
                for alpha in (self._alpha, self._together, self._contrasts):
                    for rank in median_ranks(side.rows, alpha, side.worth) or ():
                        yield _ranked(side, first_cell, rank)

    def measured(self, before: dict[str, int], values: dict[Ranked, float]) -> NumericFacet:
        """All metrics, in the order of the report."""
        grouped = self.grouped
        of_groups: dict[str, MetricValues] = {}
        together: list[tuple[Floats, Floats]] = []
        differences: dict[str, MetricValues] = {}
        differences_together: list[tuple[Floats, Floats]] = []
        ratios: dict[str, MetricValues] = {}
        ratios_together: list[tuple[Floats, Floats]] = []
        n = np.array(grouped.sizes, dtype=np.float64)
        for metric in self._asked.metrics:
            limits = partial(self._limits, metric, before, values)
            own, strict, at_once = (limits(self._sides, x) for x in (self._alpha, self._together, self._contrasts))
            other, other_at_once = (limits(self._others, x) for x in (self._alpha, self._contrasts))
            events = own.value * n if metric.is_share else n
            few: list[str | None] = [None] * n.size
            of_groups[metric.name] = measured(own.value, (own.low, own.high), few, n, events)
            together.append((strict.low, strict.high))
            itself = where(np.arange(n.size) == (-1 if self._reference is None else self._reference), IS_REFERENCE)
            alone = where([one.rows == 0 for one in self._others], "no rows in the reference")
            reasons = first(itself, alone)
            name = f"{metric.name}_difference"
            differences[name] = measured(own.value - other.value, difference_limits(*own, *other), reasons, n, events)
            differences_together.append(difference_limits(*at_once, *other_at_once))
            if metric.signed:
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                quotient = own.value / other.value
            below = where(np.full(n.size, self._low(metric) < 0.0), "some values are below 0")
            neither = where((own.value == 0.0) & (other.value == 0.0), "0 in the group and in the reference")
            name = f"{metric.name}_ratio"
            ratios[name] = measured(quotient, ratio_limits(*own, *other), first(reasons, below, neither), n, events)
            ratios_together.append(ratio_limits(*at_once, *other_at_once))
        compared = {
            one.name: one
            for one in (
                *metrics_of_values("difference", grouped.groups, differences, together=differences_together),
                *metrics_of_values("ratio", grouped.groups, ratios, together=ratios_together),
            )
        }
        in_order = [f"{one.name}_{kind}" for one in self._asked.metrics for kind in ("difference", "ratio")]
        known = sum(grouped.sizes)
        left_out = grouped.rows - known
        message = "{N} of {Nall} rows lack a facet, a label or a prediction and are in no metric."
        return NumericFacet(
            BiasMetrics(
                facets=grouped.columns,
                label=self._asked.label,
                prediction=self._asked.prediction,
                group=None,
                score=None,
                weight=None,
                positive=(),
                confidence=1.0 - self._alpha,
                reference=EVERYBODY_ELSE if self._reference is None else group_name(grouped.groups[self._reference]),
                rows=grouped.rows,
                missing=grouped.missing,
                rows_seen=known,
                rows_seen_with={},
                notes=(say(message, N=count(left_out), Nall=count(grouped.rows)),) if left_out else (),
                metrics=(
                    *metrics_of_values("rate", grouped.groups, of_groups, together=together),
                    *(compared[name] for name in in_order if name in compared),
                ),
            ),
            grouped.groups,
            grouped.sizes,
            self.persons,
        )

    def _of_groups(self) -> Iterator[_Side]:
        persons = self.grouped.persons
        for i in range(len(self.grouped.groups)):
            sums = None if persons is None else {name: persons.sums(name, i) for name in persons.steps}
            summaries = {name: one[i] for name, one in self.grouped.summaries.items()}
            yield _Side(summaries, sums, self.grouped.first + i, -1)

    def _of_rests(self) -> Iterator[_Side]:
        """Of each group, everybody else."""
        persons = self.grouped.persons
        everybody = None if persons is None else {name: persons.sums(name, None) for name in persons.steps}
        rests = {name: rests_of(one) for name, one in self.grouped.summaries.items()}
        for i, side in enumerate(self._sides):
            sums = None
            if everybody is not None and side.sums is not None:
                sums = {name: one - side.sums[name] for name, one in everybody.items()}
            summaries = {name: one[i] for name, one in rests.items()}
            yield _Side(summaries, sums, self.grouped.everybody, self.grouped.first + i)

    def _low(self, metric: NumericMetric) -> float:
        """The smallest amount of any row."""
        return self.grouped.lows[self._asked.amounts[metric.name]]

    def _limits(
        self,
        metric: NumericMetric,
        before: dict[str, int],
        values: dict[Ranked, float],
        sides: Sequence[_Side],
        alpha: float,
    ) -> _Limits:
        of_side: dict[int, tuple[float, float, float]] = {}
        for side in sides:
            if id(side) not in of_side:
                of_side[id(side)] = self._of_side(metric, before, values, side, alpha)
        return _Limits(*np.array([of_side[id(one)] for one in sides], dtype=np.float64).reshape(-1, 3).T)

    def _of_side(
        self,
        metric: NumericMetric,
        before: dict[str, int],
        values: dict[Ranked, float],
        side: _Side,
        alpha: float,
    ) -> tuple[float, float, float]:
        """The metric on one side, with its limits; NaN where there is none."""
        amount = self._asked.amounts[metric.name]
        if side.rows == 0:
            return math.nan, math.nan, math.nan
        if metric.is_median:
            at = [values[_ranked(side, before[amount], rank)] for rank in middle_ranks(side.rows)]
            ranks = median_ranks(side.rows, alpha, side.worth)
            low, high = (
                (math.nan, math.nan)
                if ranks is None
                else (values[_ranked(side, before[amount], rank)] for rank in ranks)
            )
            return float(middle(np.array(at))), low, high
        summary = side.summaries[amount]
        if summary.is_constant and not metric.is_share:
            # Rows that are all alike say nothing about how far others could be off.
            return metric.change(summary.mean), math.nan, math.nan
        persons = self.grouped.persons
        sums = None if side.sums is None else side.sums[amount]
        low, high = interval_of_mean(summary, sums, None if persons is None else persons.steps[amount], alpha)
        if self._low(metric) >= 0.0:
            low = max(low, 0.0)
        return metric.change(summary.mean), metric.change(low), metric.change(high)


def _ranked(side: _Side, first_cell: int, rank: int) -> Ranked:
    return Ranked(first_cell + side.cell, rank, -1 if side.without < 0 else first_cell + side.without)
