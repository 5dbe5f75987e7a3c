"""The metric of each group in each cluster, and the gap between groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.metrics import LocalMetricName

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Metric = LocalMetricName

SCORE_CLASSES = 1024
"""The search orders scores into at most so many classes; what is reported uses the scores themselves."""


@dataclass(frozen=True)
class LocalOutcome:
    """What the metric (of `bdt_core.metrics.LOCAL_METRICS`) is computed from, row by row.

    A `value` of 1 counts as an event of the rate, 0 does not, -1 is outside its denominator. For "auc" it is the label,
    and only there is a `score`.
    """

    metric: LocalMetricName
    value: npt.NDArray[np.int8]
    score: Floats | None = None

    def __getitem__(self, rows: Any) -> LocalOutcome:
        return LocalOutcome(self.metric, self.value[rows], None if self.score is None else self.score[rows])

    def with_rows(self, other: LocalOutcome) -> LocalOutcome:
        """These rows, and then those of another part."""
        scores = None if self.score is None or other.score is None else np.concatenate([self.score, other.score])
        return LocalOutcome(self.metric, np.concatenate([self.value, other.value]), scores)

    @property
    def ranks(self) -> tuple[npt.NDArray[np.int32], int]:
        """Class of each row's score and number of classes; none for rates."""
        if self.score is None:
            return np.empty(0, np.int32), 0
        scores, position = np.unique(self.score, return_inverse=True)
        classes = min(len(scores), SCORE_CLASSES)
        return (position * classes // len(scores)).astype(np.int32), classes


@dataclass(frozen=True)
class LocalMetrics:
    """The metric of each group in each cluster.

    Attributes
    ----------
    rows : int64 ndarray of shape (k, G)
    counts : int64 ndarray of shape (k, G, 2)
        Rows with value 0 and 1.
    counted : int64 ndarray of shape (k, G)
        Rows that the metric rests on: the rate's denominator; the scarcer label for the area under the curve.
    value : float64 ndarray of shape (k, G)
        In [0, 1]; NaN when undefined.
    """

    rows: Integers
    counts: Integers
    counted: Integers
    value: Floats


def metric_by_group(
    labels: npt.NDArray[Any], k: int, group: npt.NDArray[Any], groups: int, outcome: LocalOutcome
) -> LocalMetrics:
    """Compute the metric of every group (0 to groups - 1) in every cluster (0 to k - 1)."""
    cell = labels.astype(np.int64) * groups + group
    rows = np.bincount(cell, minlength=k * groups).reshape(k, groups)
    known = outcome.value >= 0
    counts = np.bincount(2 * cell[known] + outcome.value[known], minlength=2 * k * groups).reshape(k, groups, 2)
    counted = rows_counted(counts, outcome.score is not None)
    with np.errstate(divide="ignore", invalid="ignore"):
        if outcome.score is None:
            value = counts[:, :, 1] / counted
        else:
            from bdt_core.local_bias import kernels  # Numba is nothing for who only reads results

            wins = np.zeros(k * groups, np.int64)
            by_score = np.argsort(outcome.score, kind="stable")
            ordered = outcome.score[by_score]
            starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
            kernels.wins_by_group(outcome.value[by_score], cell[by_score], starts, wins)
            value = wins.reshape(k, groups) / (2.0 * counts[:, :, 0] * counts[:, :, 1])
    return LocalMetrics(rows, counts, counted, np.asarray(value, dtype=np.float64))


def rows_counted(counts: Integers, ranked: bool) -> Integers:
    """Rows that each metric rests on, from counts by value: all, or where rows are ranked the scarcer value's."""
    counted: Integers = counts.min(axis=2) if ranked else counts.sum(axis=2)
    return counted


def gaps(value: Floats, counted: Integers, smallest: int) -> Floats:
    """Largest minus least metric of the groups that count in each cluster: in [0, 1], NaN where fewer than two count.

    A group counts when its metric rests on at least `smallest` rows. Shapes (..., k, G) become (..., k); see
    `LocalMetrics`.
    """
    counts = (counted >= max(smallest, 1)) & ~np.isnan(value)
    high = np.where(counts, value, -np.inf).max(axis=-1)
    low = np.where(counts, value, np.inf).min(axis=-1)
    with np.errstate(invalid="ignore"):
        gap: Floats = np.where(counts.sum(axis=-1) >= 2, high - low, np.nan)
    return gap
