"""The two metrics that counts cannot give, on a large table: AUC from histograms, the flip test on drawn rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Threshold, code_column, column, numbers, smallest_unsigned
from bdt_core.fairness.confusion import Positive, favourable
from bdt_core.fairness.counting import code_groups
from bdt_core.fairness.counts import OUTSIDE, CountTable, Group
from bdt_core.fairness.from_rows import measured_from_rows
from bdt_core.fairness.measured import Measured, measured
from bdt_core.inference.auc import area_under_curve_of_counts
from bdt_core.table.source_blocks import SourceBlocks

STEPS = 65_535
"""Scores are rounded to so many steps of their range, which keeps scores of four decimals from 0 to 1 apart."""
FLIP_ROWS = 50_000
"""The flip test is made on so many rows: its time grows with more than their number."""
_GROUPS_AT_ONCE = 8


@dataclass(frozen=True)
class _Scored:
    """Whose scores are counted, and how."""

    table: CountTable
    groups: tuple[Group, ...]
    positive: Positive
    thresholds: Mapping[str, Threshold]
    low: float
    high: float


@dataclass(frozen=True)
class ScoreCounts:
    """How often each score occurs in a group, by label.

    Attributes
    ----------
    negative, positive : ndarray of int64, shape (scores,)
        Rows with the lowest score, the next one, and so on.
    """

    negative: NDArray[np.int64]
    positive: NDArray[np.int64]


def count_scores(
    source: SourceBlocks,
    table: CountTable,
    *,
    positive: Positive = 1,
    thresholds: Mapping[str, Threshold] | None = None,
) -> list[ScoreCounts]:
    """Count the scores of each group of a large table.

    Parameters
    ----------
    source : SourceBlocks
    table : CountTable
        Of its known rows, with a score and a label.
    positive, thresholds
        As in `bdt_core.fairness.area_under_curve.auc_by_group`.

    Returns
    -------
    list of ScoreCounts
        One per group. Scores are rounded to 65,535 steps from 0 to 1, or of their own range where that is wider:
        those of no more than four decimals from 0 to 1 stay as they are.
    """
    assert table.score is not None
    head = replace(table, groups=(), **table.each_sum(lambda array: array[:0]))  # the counts are of no use there
    low, high = 0.0, 1.0
    if table.counts[..., OUTSIDE].any():
        spans = source.map_source_blocks(partial(_span, score=table.score))
        low, high = min(0.0, *(one for one, _ in spans)), max(1.0, *(one for _, one in spans))
    found = []
    for first in range(0, len(table.groups), _GROUPS_AT_ONCE):
        groups = table.groups[first : first + _GROUPS_AT_ONCE]
        asked = _Scored(head, groups, positive, thresholds or {}, low, high)
        total = np.zeros((len(groups), 2, STEPS + 1), dtype=np.int64)
        for block in source.map_source_blocks(partial(_histograms, asked=asked)):
            total += block
        for negative, good in total:
            occur = negative + good > 0
            found.append(ScoreCounts(negative[occur], good[occur]))
    return found


def auc_of_counts(several: Sequence[ScoreCounts], alpha: float) -> Measured:
    """Chance that a row with a positive label scores above one with a negative label, inside each group.

    Returns
    -------
    Measured
        One entry per group, as `bdt_core.fairness.area_under_curve.auc_by_group` gives it for the rounded scores.
    """
    found = [area_under_curve_of_counts(one.positive, one.negative, alpha=alpha) for one in several]
    reasons = []
    for one in found:
        missing = "positive" if not one.n_a else "negative" if not one.n_b else None
        reasons.append(None if missing is None else f"nobody with a {missing} label and a score")
    areas = [[np.nan if x is None else x for x in (one.auc, one.low, one.high)] for one in found]
    estimate, low, high = np.array(areas, dtype=np.float64).reshape(-1, 3).T
    n, events = np.array([(one.n_a + one.n_b, one.n_a) for one in found], dtype=np.float64).reshape(-1, 2).T
    return measured(estimate, (low, high), reasons, n, events)


def flip_columns(table: CountTable, features: Sequence[str]) -> list[str]:
    """Columns that the flip test reads."""
    named = (*table.facets, table.label, table.prediction, table.stratum, *features)
    return [name for name in named if name is not None]


def flip_tests_on(
    drawn: pd.DataFrame,
    table: CountTable,
    features: Sequence[str],
    *,
    positive: Positive = 1,
    alpha: float = 0.05,
    thresholds: Mapping[str, Threshold] | None = None,
) -> dict[str, Measured]:
    """The flip test of each group on drawn rows, for `bdt_core.fairness.metrics_from_counts`.

    Parameters
    ----------
    drawn : DataFrame
    table : CountTable
        Of all rows.
    features : sequence of str
        Columns that make rows similar.
    """
    return measured_from_rows(
        drawn,
        replace(table, score=None),
        positive_prediction=positive,
        features=features,
        alpha=alpha,
        thresholds=thresholds,
    )


def _span(frame: pd.DataFrame, score: str) -> tuple[float, float]:
    """Smallest and largest finite score."""
    values = numbers(column(frame, score), score)
    values = values[np.isfinite(values)]
    return float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))


def _histograms(frame: pd.DataFrame, asked: _Scored) -> NDArray[np.unsignedinteger]:
    """Rows of some groups, by label and rounded score; shape (groups, 2, steps + 1)."""
    table, cuts = asked.table, asked.thresholds
    if table.score is None or table.label is None:
        raise DataError("The area under the curve needs a score and a label.")
    scores = numbers(column(frame, table.score), table.score)
    label = code_column(frame, table.label, cuts.get(table.label))
    good = favourable(label.levels, asked.positive)[label.codes]
    known = column(frame, table.label).notna().to_numpy() & np.isfinite(scores)
    for name in (table.prediction, table.stratum):
        if name is not None:
            known &= column(frame, name).notna().to_numpy()
    occurring, codes, _ = code_groups(frame, table.facets, cuts)
    index = {group: i for i, group in enumerate(asked.groups)}
    place = np.array([index.get(group, -1) for group in occurring] or [-1], dtype=np.int64)
    group = place[codes]
    known &= group >= 0
    step = np.rint((scores[known] - asked.low) / (asked.high - asked.low) * STEPS).astype(np.int64)
    cell = (2 * group[known] + good[known]) * (STEPS + 1) + step
    shape = (len(asked.groups), 2, STEPS + 1)
    counts = np.bincount(cell, minlength=shape[0] * shape[1] * shape[2]).reshape(shape)
    return counts.astype(smallest_unsigned(int(counts.max(initial=0)) + 1))
