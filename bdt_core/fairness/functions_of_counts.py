"""Metrics that are no proportion: functions of the four counts, or of labels and predictions, with drawn intervals.

The shares of true and false positives and negatives in a group are drawn from their posterior under Jeffreys' prior
(half a row more of each), which is Rubin's Bayesian bootstrap of the group's rows with that half row added: it does not
fall together where a group makes no error at all. Percentiles of the metric over the draws are its interval, those of
differences and ratios of draws the intervals of comparisons. Draws depend on the counts and the order of groups alone,
so that blocks, shards and threads give the same numbers.

References
----------
Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9(1), 130-134.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import SpecError
from bdt_core.fairness.comparisons import IS_REFERENCE, AgainstReference
from bdt_core.fairness.confusion import Cells, Confusion, Floats
from bdt_core.fairness.measured import MetricValues, first, measured, where
from bdt_core.fairness.simultaneous import contrasts_critical_value
from bdt_core.metrics import METRICS, SCORES, FunctionOfRows, ScoreMetric, function_metrics
from bdt_core.said import of_ours, say

_DRAWS, _DRAWS_OF_ROWS = 4000, 1000
_MOST_ROWS = 5000
"""In larger groups a function of rows is drawn by its linear part: it would be called with all rows for every draw."""
_WEIGHTED_ROWS = 100_000
"""Rows that stand for weighted ones where a function takes rows: shares are exact to 1 / 100,000."""
_SEED = 7919


class DrawnValues(NamedTuple):
    """A metric of each group, and draws of it, shape (draws, groups); NaN where the metric is undefined."""

    value: Floats
    draws: Floats


def named_functions(own: FunctionOfRows | Mapping[str, FunctionOfRows] | None) -> tuple[ScoreMetric, ...]:
    """The metrics of the registry that are such functions, and a user's own.

    Raises
    ------
    SpecError
        The name of a user's metric is taken.
    """
    known = tuple(SCORES[name] for name in function_metrics())
    if own is None:
        return known
    given = own if isinstance(own, Mapping) else {getattr(own, "__name__", "metric"): own}
    if taken := [name for name in given if name in METRICS]:
        raise SpecError(f"metrics: {taken[0]} is there already. Leave it out, or give yours another name.")
    return *known, *(ScoreMetric(name=name, words=name, of_rows=one) for name, one in given.items())


def drawn_functions(metrics: Iterable[ScoreMetric], cells: Cells) -> dict[str, DrawnValues]:
    """Metrics that are such functions, with their draws."""
    return {one.name: _drawn(one, cells, stream=0) for one in metrics}


def function_values(metric: ScoreMetric, cells: Cells, drawn: DrawnValues, alpha: float) -> MetricValues:
    """The metric of each group with its interval."""
    limits = _percentiles(drawn.draws, alpha)
    return measured(drawn.value, limits, _reasons(metric, cells, drawn), cells.rows.n, cells.rows.positives)


def function_comparisons(
    metric: ScoreMetric, cells: Cells, own: DrawnValues, reference: int | None, alpha: float
) -> AgainstReference:
    """Differences and ratios of the metric, against the group at a position or everybody else (None).

    The limits for all groups at once widen those of each by Šidák's critical value.
    """
    groups = own.value.size
    if reference is None:
        rest = cells.total() - cells
        other = _drawn(metric, rest, stream=1)
    else:
        rest = cells[np.full(groups, reference)]
        other = DrawnValues(np.full(groups, own.value[reference]), own.draws[:, [reference] * groups])
    itself = where(np.arange(groups) == (-1 if reference is None else reference), IS_REFERENCE)
    of_rest: list[str | None] = [
        None if one is None else say("{who} in the reference", who=of_ours(one))
        for one in _reasons(metric, rest, other)
    ]
    lacking = first(itself, _reasons(metric, cells, own), of_rest)
    comparisons = max(lacking.count(None), 1)
    wider = contrasts_critical_value(comparisons, 1.0 - alpha) / contrasts_critical_value(1, 1.0 - alpha)
    rows = (cells.rows.n, cells.rows.positives)
    gap, gap_limits = own.value - other.value, _percentiles(own.draws - other.draws, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient, quotients = own.value / other.value, own.draws / other.draws
    # A ratio over what may as well be 0 can be anything.
    crosses = (other.draws > 0).any(axis=0) & (other.draws < 0).any(axis=0)
    low, high = _percentiles(quotients, alpha)
    ratio_limits = np.where(crosses, -np.inf, low), np.where(crosses, np.inf, high)
    no_ratio = first(lacking, where(other.value == 0, "0 in the reference"))
    return AgainstReference(
        difference=measured(gap, gap_limits, lacking, *rows),
        difference_together=_widened(gap, gap_limits, wider),
        ratio=measured(quotient, ratio_limits, no_ratio, *rows),
        ratio_together=_widened(quotient, ratio_limits, wider),
    )


def _widened(value: Floats, limits: tuple[Floats, Floats], by: float) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore"):
        low, high = (value + by * (limit - value) for limit in limits)
    return np.minimum(low, value), np.maximum(high, value)


def _percentiles(draws: Floats, alpha: float) -> tuple[Floats, Floats]:
    """NaN for groups in which the metric is undefined."""
    limits = np.full((2, draws.shape[1]), np.nan)
    defined = ~np.isnan(draws)
    # The draws in which a metric is defined say nothing of how far it goes where most are not.
    usable = defined.mean(axis=0) > 1.0 - alpha / 2
    if usable.any():
        with np.errstate(invalid="ignore"):  # between infinite ratios
            limits[:, usable] = np.nanquantile(draws[:, usable], (alpha / 2, 1.0 - alpha / 2), axis=0)
    return limits[0], limits[1]


def _reasons(metric: ScoreMetric, cells: Cells, drawn: DrawnValues) -> list[str | None]:
    return first(where(cells.rows.n == 0, "no rows"), where(np.isnan(drawn.value), metric.undefined))


def _drawn(metric: ScoreMetric, cells: Cells, *, stream: int) -> DrawnValues:
    """The metric of each group and its draws.

    `stream` keeps the draws of two sides that are compared independent.
    """
    groups = cells.rows.n.size
    counts = _stacked(cells.weights)
    rows = counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = counts / rows
    whole = metric.of_rows is not None and cells.weighted and cells.persons is None
    value = _evaluate(metric, _whole(shares, np.full(groups, _WEIGHTED_ROWS)) if whole else counts)
    slopes = _slopes(metric, counts, value)
    effective = _effective_rows(cells, slopes, shares)
    size = _DRAWS if metric.of_rows is None else _DRAWS_OF_ROWS
    draws = np.full((size, groups), np.nan)
    for group in np.flatnonzero(~np.isnan(value)):
        rng = np.random.default_rng([_SEED, stream, int(group)])
        gammas = rng.standard_gamma(shares[:, group] * effective[group] + 0.5, size=(size, 4)).T
        drawn = gammas / gammas.sum(axis=0)
        n = effective[group]
        if metric.of_rows is None:
            draws[:, group] = _evaluate(metric, drawn * n)
        elif n <= _MOST_ROWS:
            draws[:, group] = _evaluate(metric, _whole(drawn, np.full(size, max(round(float(n)), 1))))
        else:
            draws[:, group] = value[group] + slopes[:, group] @ (drawn - shares[:, [group]])
    return DrawnValues(value, draws)


def _slopes(metric: ScoreMetric, counts: Floats, value: Floats) -> Floats:
    """How the metric changes with each count's share, shape (4, groups): by what one row more of it does."""
    rows = counts.sum(axis=0)
    more = [_evaluate(metric, counts + one[:, None]) for one in np.eye(4)]
    slopes: Floats = np.nan_to_num((np.array(more) - value) * (rows + 1.0), nan=0.0, posinf=0.0, neginf=0.0)
    return slopes


def _effective_rows(cells: Cells, slopes: Floats, shares: Floats) -> Floats:
    """Rows of each group as far as they say how sure the metric is: Kish's with weights, fewer where persons have
    several."""
    if cells.persons is not None:
        centred = slopes - np.nansum(slopes * shares, axis=0)
        spread = np.nansum(shares * centred**2, axis=0)
        return cells.rows.n / cells.persons.shrink_of(cells.rows.n, centred.T, spread)
    return cells.effective_rows


def _stacked(counts: Confusion) -> Floats:
    return np.array([counts.tp, counts.fp, counts.fn, counts.tn])


def _whole(shares: Floats, rows: NDArray[np.int64]) -> Floats:
    """Whole counts in these shares that add up to the rows, by largest remainders, shape (4, tables)."""
    exact = np.nan_to_num(shares) * rows
    counts = np.floor(exact)
    left = (rows - counts.sum(axis=0)).astype(np.int64)
    rank = np.argsort(np.argsort(counts - exact, axis=0, kind="stable"), axis=0)
    return np.asarray(np.where(rank < left, counts + 1.0, counts) * ~np.isnan(shares).any(axis=0))


def _evaluate(metric: ScoreMetric, counts: Floats) -> Floats:
    """The metric of tables of counts, shape (4, tables); NaN where it is undefined or infinite."""
    if metric.of_counts is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.broadcast_to(np.asarray(metric.of_counts(Confusion(*counts)), dtype=np.float64), counts.shape[1])
    else:
        assert metric.of_rows is not None
        tables, where_found = np.unique(np.rint(counts), axis=1, return_inverse=True)
        values = [_of_rows(metric.of_rows, table) for table in tables.T]
        value = np.array(values)[where_found.reshape(-1)]
    return np.where(np.isfinite(value) & (counts.sum(axis=0) > 0), value, np.nan)


def _of_rows(function: FunctionOfRows, table: Floats) -> float:
    rows = table.astype(np.int64)
    if not rows.sum():
        return float("nan")
    label, prediction = (np.repeat(np.array(one), rows) for one in ([1, 0, 1, 0], [1, 1, 0, 0]))
    return float(function(label, prediction))
