"""Area under the ROC curve per group, from how often each score occurs: a metric that needs the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import Threshold, code_column, column, numbers
from bdt_core.fairness.counting import code_groups
from bdt_core.fairness.counts import OUTSIDE, CountTable
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.fairness.measured import MetricValues, measured
from bdt_core.inference.auc import AreaSpread, area_under_curve_of_counts
from bdt_core.inference.persons import Persons, PersonSums, PlacedSums, area_spread, placement_steps
from bdt_core.said import say
from bdt_core.table.audit_table import KEY
from bdt_core.table.source_blocks import SourceBlocks

STEPS = 65_535
"""Scores are rounded to so many steps of their range, which keeps scores of four decimals from 0 to 1 apart."""
_ALL_STEPS: NDArray[Any] = np.arange(STEPS + 1, dtype=np.uint16)


@dataclass(frozen=True)
class ScoreCounts:
    """How often each score occurs in a group, by label.

    Attributes
    ----------
    scores : ndarray of float64 or uint16, shape (scores,)
        Those that occur, rising; numbers of steps where they are rounded.
    negative, positive : ndarray of int64, shape (scores,)
        Rows with each score.
    by_persons : AreaSpread or None
        Where persons have several rows: how sure they make the area.
    """

    scores: NDArray[Any]
    negative: NDArray[np.int64]
    positive: NDArray[np.int64]
    by_persons: AreaSpread | None = None


@dataclass(frozen=True)
class _Scoring:
    """Whose scores are counted, and from where to where they are rounded, if they are."""

    table: CountTable
    positive: Positive
    thresholds: Mapping[str, Threshold]
    span: tuple[float, float] | None


def count_scores(
    source: SourceBlocks,
    table: CountTable,
    *,
    rounded: bool,
    positive: Positive = 1,
    thresholds: Mapping[str, Threshold] | None = None,
    persons: Persons | None = None,
) -> list[ScoreCounts]:
    """Count the scores of each group.

    Parameters
    ----------
    source : SourceBlocks
        The rows that `table` counted.
    table : CountTable
        Of its known rows, with a score and a label.
    rounded : bool
        Whether scores are rounded, so that there are not too many, to 65,535 steps from 0 to 1, or of their own range
        where that is wider: those of no more than four decimals from 0 to 1 stay as they are.
    positive : value, values or Threshold
        Favourable labels.
    thresholds : mapping of column to Threshold, optional
        As given to `count_rows`.
    persons : Persons, optional
        Who is in the source, whose blocks then have `KEY`.

    Returns
    -------
    list of ScoreCounts
        One per group of the table. Weights are not used.
    """
    assert table.score is not None
    span = None
    if rounded:
        span = (0.0, 1.0)
        if table.counts[..., OUTSIDE].any():
            spans = source.map_source_blocks(partial(_span, score=table.score))
            span = min(0.0, *(low for low, _ in spans)), max(1.0, *(high for _, high in spans))
    head = replace(table, **table.each_sum(lambda array: array[:0]))  # the counts are of no use to the blocks
    scoring = _Scoring(head, positive, thresholds or {}, span)
    blocks = source.map_source_blocks(partial(_count_block, scoring=scoring))
    counts = [_added(several) for several in zip(*blocks, strict=True)]
    if persons is None:
        return counts
    placed = source.map_source_blocks(partial(_place_block, scoring=scoring, counts=counts, persons=persons))
    spreads = reduce(add, placed).spreads(len(counts), persons.size)
    return [replace(one, by_persons=spread) for one, spread in zip(counts, spreads, strict=True)]


def auc_by_group(counts: Sequence[ScoreCounts], alpha: float) -> MetricValues:
    """Chance that a row with a positive label scores above one with a negative label, inside each group.

    Parameters
    ----------
    counts : sequence of ScoreCounts
    alpha : float
        Intervals have confidence 1 - alpha.

    Returns
    -------
    MetricValues
        One entry per group, in [0, 1]; .5 tells nothing.
    """
    of_groups = [
        area_under_curve_of_counts(one.positive, one.negative, alpha=alpha, by_persons=one.by_persons) for one in counts
    ]
    reasons: list[str | None] = []
    for area in of_groups:
        if not area.n_a:
            reasons.append(say("nobody with a positive label and a score"))
        else:
            reasons.append(None if area.n_b else say("nobody with a negative label and a score"))
    areas = [[np.nan if x is None else x for x in (one.auc, one.low, one.high)] for one in of_groups]
    estimate, low, high = np.array(areas, dtype=np.float64).reshape(-1, 3).T
    n, events = np.array([(one.n_a + one.n_b, one.n_a) for one in of_groups], dtype=np.float64).reshape(-1, 2).T
    return measured(estimate, (low, high), reasons, n, events)


def _span(frame: pd.DataFrame, score: str) -> tuple[float, float]:
    """Smallest and largest finite score."""
    values = numbers(column(frame, score), score)
    values = values[np.isfinite(values)]
    return float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))


def _count_block(frame: pd.DataFrame, scoring: _Scoring) -> list[ScoreCounts]:
    """Scores of a block, group by group."""
    scores, good, groups = _scored(frame, scoring)
    return [_tallied(scores[rows], ~good[rows], good[rows]) for rows in groups]


class _Placed(PlacedSums):
    """Rows of persons, and the sums of the shares of rows with the other label below them, in steps.

    Places are (person * groups + group) * 2, and 1 for rows with a positive label.
    """

    def spreads(self, groups: int, persons: int) -> list[AreaSpread | None]:
        """Of the area of each group; None where a label has no rows."""
        spreads: list[AreaSpread | None] = []
        for group in range(groups):
            sums = []
            for side in (1, 0):
                at = self.places % (2 * groups) == 2 * group + side
                of_persons = np.zeros((2, persons), dtype=np.int64)
                of_persons[:, self.places[at] // (2 * groups)] = self.sums[:, at]
                sums.append(PersonSums(*of_persons))
            spreads.append(area_spread(*sums) if all(one.rows.any() for one in sums) else None)
        return spreads


def _place_block(frame: pd.DataFrame, scoring: _Scoring, counts: Sequence[ScoreCounts], persons: Persons) -> _Placed:
    """How the rows of a block lie among all rows of their group."""
    scores, good, groups = _scored(frame, scoring)
    numbers_of_rows = persons.numbers(frame[KEY].to_numpy())
    places, steps = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for group, (rows, of_group) in enumerate(zip(groups, counts, strict=True)):
        if not (of_group.positive.any() and of_group.negative.any()):
            continue
        at = np.searchsorted(of_group.scores, scores[rows])
        below = [placement_steps(one)[at] for one in (of_group.negative, of_group.positive)]
        places.append((numbers_of_rows[rows] * len(groups) + group) * 2 + good[rows])
        steps.append(np.where(good[rows], *below).astype(np.int64))
    together = np.concatenate(places)
    return _Placed.of(together, np.ones_like(together), np.concatenate(steps))


def _scored(frame: pd.DataFrame, scoring: _Scoring) -> tuple[NDArray[Any], NDArray[np.bool_], list[NDArray[np.intp]]]:
    """Scores and favourable labels of a block, and the rows of each group with both."""
    table, cuts = scoring.table, scoring.thresholds
    assert table.score is not None
    assert table.label is not None
    scores = numbers(column(frame, table.score), table.score)
    label = code_column(frame, table.label, cuts.get(table.label))
    good = favourable(label.levels, scoring.positive)[label.codes]
    known = column(frame, table.label).notna().to_numpy() & np.isfinite(scores)
    if table.prediction is not None:
        known &= column(frame, table.prediction).notna().to_numpy()
    groups, codes, _ = code_groups(frame, table.facets, cuts)
    index = {group: i for i, group in enumerate(groups)}
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(groups)))
    if scoring.span is not None:
        low, high = scoring.span
        scores = np.rint((np.where(known, scores, low) - low) / (high - low) * STEPS).astype(np.uint16)
    of_groups = []
    for group in table.groups:
        at = index.get(group)
        rows = order[:0] if at is None else order[ends[at - 1] if at else 0 : ends[at]]
        of_groups.append(rows[known[rows]])
    return scores, good, of_groups


def _tallied(scores: NDArray[Any], negative: NDArray[Any], positive: NDArray[Any]) -> ScoreCounts:
    """Rows with each score, from rows or from counts of scores that occur several times."""
    if scores.dtype == np.uint16:  # steps are their own places: nothing has to be sorted
        occurring, place = _ALL_STEPS, scores
    else:
        occurring, place = np.unique(scores, return_inverse=True)
    sums = [np.bincount(place, one, minlength=occurring.size).astype(np.int64) for one in (negative, positive)]
    occurs = sums[0] + sums[1] > 0
    return ScoreCounts(occurring[occurs], sums[0][occurs], sums[1][occurs])


def _added(counts: Sequence[ScoreCounts]) -> ScoreCounts:
    """Counts of one group in all blocks."""
    scores, negative, positive = (
        np.concatenate([getattr(one, name) for one in counts]) for name in ("scores", "negative", "positive")
    )
    return counts[0] if len(counts) == 1 else _tallied(scores, negative, positive)
