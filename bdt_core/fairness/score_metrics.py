"""Metrics of a predicted probability per group, from sums of scores: mean, Brier score, calibration error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bdt_core.fairness.confusion import Floats, kish_rows
from bdt_core.fairness.counting import MAX_WEIGHT
from bdt_core.fairness.counts import FIXED_POINT, OUTSIDE, SCORE_BINS, CountTable
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.fairness.measured import MetricValues, first, measured, nothing, where
from bdt_core.fairness.simultaneous import contrasts_critical_value
from bdt_core.inference import mean_interval, wilson_limits


def score_metrics(table: CountTable, positive: Positive, alpha: float) -> dict[str, MetricValues]:
    """Compute the score's metrics from the sums in a count table.

    Parameters
    ----------
    table : CountTable
        Of known rows, counted with a score.
    positive : value, values or Threshold
        Label values that the score is the probability of.
    alpha : float
        Intervals have confidence 1 - alpha.

    Returns
    -------
    dict of Measured
        One entry per group of the table.

        - mean_score: in [0, 1].
        - brier_score: mean squared distance of score and label; lower is better.
        - calibration_error: mean over rows of |rate of positives - mean score| of their bin, 10 bins of equal
          width (expected calibration error); lower is better. It is above 0 for a calibrated score too, the more
          so with few rows; its interval, from Wilson's of all bins at once, starts at 0 then.
        - calibration_gap: share of positives less mean score, in [-1, 1]; 0 when calibrated in the large, above 0 where
          the score is too low, below 0 where it is too high. See `gap_limits`.
        - observed_to_expected: positives over the sum of scores; 1 when calibrated in the large.

    Notes
    -----
    The spread of squared errors is taken from the mean and variance of the scores of each bin and label, which is
    off by less than the third power of a bin's width.
    """
    size = len(table.groups)
    assert table.scores is not None
    assert table.squared_scores is not None
    good = favourable(table.labels, positive)
    outside = table.counts[..., OUTSIDE].sum(axis=(1, 2, 3))
    unusable = where(outside > 0, "scores outside 0 to 1")

    def by_label(array: NDArray[np.int64], unit: float) -> Floats:
        """Shape (groups, 2, bins): negative and positive labels."""
        inside = array[..., :SCORE_BINS].sum(axis=(1, 3)) / unit
        return np.stack([inside[:, ~good].sum(1), inside[:, good].sum(1)], axis=1)

    rows = by_label(table.counts, 1.0)
    count = by_label(table.weights, FIXED_POINT) if table.weights is not None else rows
    total, squares = by_label(table.scores, FIXED_POINT), by_label(table.squared_scores, FIXED_POINT)
    (n, effective), label = _rows_with_a_score(table), np.array([0.0, 1.0])[:, None]
    raw = rows.sum((1, 2))
    empty = first(unusable, where(raw == 0, "no rows with a score"))
    positives = rows[:, 1].sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = total.sum((1, 2)) / n
        correction = effective / np.maximum(effective - 1.0, 1e-300)
        variance = np.maximum(squares.sum((1, 2)) / n - mean**2, 0.0) * correction
        mean_low, mean_high = mean_interval(mean, variance, effective, 1.0 - alpha)
        error = squares - 2 * label * total + label * count  # sum of (score - label)^2, labels being 0 or 1
        brier = error.sum((1, 2)) / n
        centre = np.where(count > 0, total / count, 0.0)
        inner = np.where(count > 0, np.maximum(squares / count - centre**2, 0.0), 0.0)
        fourth = (count * ((centre - label) ** 4 + 6 * (centre - label) ** 2 * inner + 3 * inner**2)).sum((1, 2)) / n
        error_variance = np.maximum(fourth - brier**2, 0.0) * correction
        brier_low, brier_high = mean_interval(brier, error_variance, effective, 1.0 - alpha)
        observed = count[:, 1].sum(1) / n
        low, high = wilson_limits(
            np.nan_to_num(observed) * effective, effective, contrasts_critical_value(1, 1 - alpha)
        )
        ratio = (observed / mean, (low / mean, high / mean))
        gap = observed - mean
        residuals = np.maximum(brier - gap**2, 0.0) * correction  # sums of squares are exact, so is their variance
        gaps = gap_limits(np.nan_to_num(observed), mean, residuals, effective, contrasts_critical_value(1, 1 - alpha))
    out = {
        "mean_score": measured(mean, (np.maximum(mean_low, 0), np.minimum(mean_high, 1)), empty, raw, positives),
        "brier_score": measured(brier, (np.maximum(brier_low, 0), np.minimum(brier_high, 1)), empty, raw, positives),
        "calibration_error": _calibration_error(count, total, effective, empty, alpha),
        "calibration_gap": measured(gap, gaps, empty, raw, positives),
        "observed_to_expected": measured(*ratio, first(empty, where(mean == 0, "all scores are 0")), raw, positives),
    }
    if table.label is None:
        reason = "no label column was named"
        out.update({name: nothing(size, reason, raw) for name in out if name != "mean_score"})
    return out


def gap_limits(share: Floats, mean_score: Floats, variance: Floats, n: Floats, reach: float) -> tuple[Floats, Floats]:
    """Limits of the share of positives less the mean score.

    Parameters
    ----------
    share, mean_score : ndarray of float64
        Of positives, and of the scores of the same rows.
    variance : ndarray of float64
        Of label less score, from row to row.
    n : ndarray of float64
        Rows, or as many as they are worth.
    reach : float
        Standard errors of a normal distribution.

    Returns
    -------
    tuple of ndarray of float64
        The wider of two on either side: Student's of the residuals, and Wilson's of the positives about the mean score.
        The second holds where few rows are positive, so that they may not tell their spread: outcomes of unequal
        chances spread no more than those of equal ones (Hoeffding 1956).

    References
    ----------
    Hoeffding, W. (1956). On the distribution of the number of successes in independent trials. Annals of Mathematical
    Statistics 27, 713-721.

    Examples
    --------
    >>> low, high = gap_limits(*np.array([[0.0], [0.01], [0.0001], [100.0]]), reach=1.96)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([-0.012], [0.027])
    """
    confidence = 1.0 - 2.0 * float(ndtr(-reach))
    low, high = mean_interval(share - mean_score, variance, n, confidence)
    of_share = wilson_limits(share * n, n, reach)
    return np.minimum(low, of_share[0] - mean_score), np.maximum(high, of_share[1] - mean_score)


def _rows_with_a_score(table: CountTable) -> tuple[Floats, Floats]:
    """Weight of each group's rows with a score, and their effective number; both are the rows without weights."""

    def inside(array: NDArray[np.int64], unit: float = 1.0) -> Floats:
        return np.asarray(array[..., :SCORE_BINS].sum(axis=(1, 2, 3, 4)) / unit)

    rows = inside(table.counts)
    if table.weights is None or table.squared_weights is None:
        return rows, rows
    weight = inside(table.weights, FIXED_POINT)
    return weight, kish_rows(rows, weight, inside(table.squared_weights, FIXED_POINT / MAX_WEIGHT))


def score_moments(table: CountTable) -> tuple[Floats, Floats] | None:
    """Mean score per group of known rows and its standard error; None without a score, NaN where undefined."""
    if table.scores is None or table.squared_scores is None:
        return None
    axes = (1, 2, 3, 4)
    n, effective = _rows_with_a_score(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = table.scores.sum(axis=axes) / FIXED_POINT / n
        variance = np.maximum(table.squared_scores.sum(axis=axes) / FIXED_POINT / n - mean**2, 0.0)
        error = np.sqrt(variance / np.maximum(effective - 1.0, 1.0))
    outside = table.counts[..., OUTSIDE].sum(axis=(1, 2, 3)) > 0
    return np.where(outside, np.nan, mean), error


def _calibration_error(
    count: Floats, total: Floats, effective: Floats, empty: list[str | None], alpha: float
) -> MetricValues:
    in_bin, positives, scores = count.sum(1), count[:, 1], total.sum(1)
    n = in_bin.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = in_bin / n[:, None]
        rate = np.where(in_bin > 0, positives / in_bin, 0.0)
        mean = np.where(in_bin > 0, scores / in_bin, 0.0)
        scale = np.where(n > 0, effective / n, 0.0)[:, None]
    occupied = np.maximum((in_bin > 0).sum(1).max(initial=1), 1)
    critical = contrasts_critical_value(int(occupied), 1.0 - alpha)
    low, high = wilson_limits(rate * in_bin * scale, in_bin * scale, critical)
    gap_low, gap_high = np.nan_to_num(low) - mean, np.nan_to_num(high) - mean
    nearest = np.where(in_bin > 0, np.maximum(0.0, np.maximum(gap_low, -gap_high)), 0.0)
    farthest = np.where(in_bin > 0, np.maximum(np.abs(gap_low), np.abs(gap_high)), 0.0)
    estimate = (share * np.abs(rate - mean)).sum(1)
    limits = ((share * nearest).sum(1), np.minimum((share * farthest).sum(1), 1.0))
    return measured(estimate, limits, empty, n, positives.sum(1))
