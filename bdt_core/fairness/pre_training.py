"""Clarify's metrics of the data before training: CI, DPL, KL, JS, LP, TVD, KS (CDDL is in `conditional`).

d are the rows of a facet value, a all others with a known one. Pd and Pa are their distributions over labels.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import special

from bdt_core.fairness.confusion import Cells, Floats
from bdt_core.fairness.measured import MetricValues, first, measured, measured_each, reasons
from bdt_core.fairness.rates import CountedRate, evaluate_all
from bdt_core.fairness.simultaneous import contrasts_critical_value
from bdt_core.inference import difference_limits, newcombe_interval, wilson_interval, wilson_limits
from bdt_core.metrics import CLARIFY, RATES


def pre_training_metrics(
    d: Cells, a: Cells, labels_d: Floats, labels_a: Floats, alpha: float
) -> dict[str, MetricValues]:
    """Compute the metrics for k pairs of d and a.

    Parameters
    ----------
    d, a : Cells
        Confusion counts, k entries each.
    labels_d, labels_a : ndarray of shape (k, labels)
        (Weighted) rows per label.
    alpha : float
        Intervals have confidence 1 - alpha.

    Returns
    -------
    dict of Measured
        CI in [-1, 1] is positive when d is the smaller side; DPL in [-1, 1] is positive when d has fewer positive
        labels; the others are distances, 0 when labels are spread alike. KL is infinite when a label is absent in d.

    Notes
    -----
    CI's interval is Wilson's for the share of d, in as many rows as that share is worth; DPL's is Newcombe's. LP, TVD
    and KS take Newcombe's intervals of all labels at once (exact for two labels, conservative for more). KL and JS take
    the delta method on their square roots; their interval starts at 0 unless the chi-squared test of equal
    distributions rejects.
    """
    n_d, n_a = d.weights.n, a.weights.n
    empty = reasons(d.rows.n == 0, a.rows.n == 0, "no rows")
    no_d = reasons(d.rows.n == 0, np.zeros_like(n_d, dtype=bool), "no rows")
    with np.errstate(divide="ignore", invalid="ignore"):
        p_d, p_a = (one / one.sum(axis=1, keepdims=True) for one in (labels_d, labels_a))
        imbalance = (n_a - n_d) / (n_a + n_d)
    effective_d, effective_a = d.effective_rows, a.effective_rows
    low, high = _share_limits(n_d, n_a, effective_d, effective_a, alpha)
    out = {
        "CI": measured(imbalance, (1.0 - 2.0 * high, 1.0 - 2.0 * low), no_d, d.rows.n + a.rows.n, d.rows.n),
        **rate_differences("pre_training", d, a, alpha),
    }
    smallest, largest = _label_gaps(p_d, p_a, effective_d, effective_a, alpha)
    gap = np.abs(p_a - p_d)
    distances = {
        "LP": (np.sqrt((gap**2).sum(1)), np.sqrt((smallest**2).sum(1)), np.sqrt((largest**2).sum(1))),
        "TVD": (0.5 * gap.sum(1), 0.5 * smallest.sum(1), np.minimum(0.5 * largest.sum(1), 1.0)),
        "KS": (gap.max(1), smallest.max(1), largest.max(1)),
    }
    distances |= _divergences(p_d, p_a, effective_d, effective_a, alpha)
    parts = np.array(list(distances.values()))
    of_d = (np.broadcast_to(one, parts[:, 0].shape) for one in (d.rows.n, d.rows.positives))
    by_distance = measured_each(parts[:, 0], (parts[:, 1], parts[:, 2]), [empty] * len(distances), *of_d)
    return out | dict(zip(distances, by_distance, strict=True))


def rate_differences(
    stage: Literal["pre_training", "post_training"], d: Cells, a: Cells, alpha: float
) -> dict[str, MetricValues]:
    """Clarify's metrics of a stage that are differences of one rate, a - d or d - a, with Newcombe's interval."""
    metrics = {name: one for name, one in CLARIFY.items() if one.stage == stage and one.of_d and one.rate is not None}
    rates = [RATES[one.rate] for one in metrics.values() if one.rate is not None]
    of_d, of_a = evaluate_all(rates, d), evaluate_all(rates, a)
    d_first = np.array([one.of_d > 0 for one in metrics.values()])[:, None]
    plus, minus = (
        CountedRate(*(np.where(d_first, one, other) for one, other in zip(first_side, second_side, strict=True)))
        for first_side, second_side in ((of_d, of_a), (of_a, of_d))
    )
    low, high = newcombe_interval(
        plus.effective_events, plus.effective_n, minus.effective_events, minus.effective_n, 1.0 - alpha
    )
    gap = plus.estimate - minus.estimate
    empty = reasons(d.rows.n == 0, a.rows.n == 0, "no rows")
    no_rate = [first(empty, reasons(of_d.n[i] == 0, of_a.n[i] == 0, rate.nobody)) for i, rate in enumerate(rates)]
    return dict(zip(metrics, measured_each(gap, (low, high), no_rate, of_d.n, of_d.events), strict=True))


def _share_limits(
    n_d: Floats, n_a: Floats, effective_d: Floats, effective_a: Floats, alpha: float
) -> tuple[Floats, Floats]:
    """Limits of the share of d among all rows, of which each side has its own design effect.

    The logarithm of the odds n_d : n_a has variance 1 / effective_d + 1 / effective_a, and 1 / (rows share (1 - share))
    in a sample of single rows: so many rows are the share's own. The effective rows of both sides together have another
    share of d, that of persons, wherever persons of one side have more rows.
    """
    n = n_d + n_a
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = n**2 / (effective_d + effective_a) * (effective_d / n_d) * (effective_a / n_a)
        # Where one side is empty, nothing says how rows of it would vary.
        rows = np.where((n_d > 0) & (n_a > 0), rows, effective_d + effective_a)
        in_d = np.where(n > 0, n_d * rows / n, 0.0)
    low, high = wilson_interval(in_d, rows, 1.0 - alpha)
    return np.asarray(low), np.asarray(high)


def _label_gaps(p_d: Floats, p_a: Floats, n_d: Floats, n_a: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Smallest and largest |Pa - Pd| of each label inside intervals that hold for all labels at once."""
    labels = p_d.shape[1]
    critical = contrasts_critical_value(labels - 1 if labels == 2 else labels, 1.0 - alpha)
    limits = [
        wilson_limits(np.minimum(np.fmax(p, 0.0), 1.0) * n[:, None], n[:, None], critical)  # 0 for NaN
        for p, n in ((p_a, n_a), (p_d, n_d))
    ]
    low, high = difference_limits(p_a, *limits[0], p_d, *limits[1])
    smallest = np.maximum(0.0, np.maximum(low, -high))
    return smallest, np.minimum(np.maximum(np.abs(low), np.abs(high)), 1.0)


def _divergences(
    p_d: Floats, p_a: Floats, n_d: Floats, n_a: Floats, alpha: float
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Kullback-Leibler divergence of a from d, and Jensen-Shannon's, with their limits, in nats."""
    middle = 0.5 * (p_a + p_d)
    kl = special.rel_entr(p_a, p_d).sum(1)
    js = 0.5 * (special.rel_entr(p_a, middle) + special.rel_entr(p_d, middle)).sum(1)
    present = (middle > 0).sum(1)
    different = _reject_equal(p_d, p_a, n_d, n_a, present, alpha)
    # Limits come from labels with half a row more each, so that absent labels do no harm.
    s_d, s_a = (
        (p * n[:, None] + 0.5 * (middle > 0)) / (n + 0.5 * present)[:, None] for p, n in ((p_d, n_d), (p_a, n_a))
    )
    s_m = 0.5 * (s_a + s_d)
    z = contrasts_critical_value(1, 1.0 - alpha)
    out = {}
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(middle > 0, np.log(s_a / s_d), 0.0)
        slopes = {
            "KL": (log_ratio, np.where(middle > 0, -s_a / s_d, 0.0), special.rel_entr(s_a, s_d).sum(1), 0.5),
            "JS": (
                np.where(middle > 0, 0.5 * np.log(s_a / s_m), 0.0),
                np.where(middle > 0, 0.5 * np.log(s_d / s_m), 0.0),
                0.5 * (special.rel_entr(s_a, s_m) + special.rel_entr(s_d, s_m)).sum(1),
                0.125,
            ),
        }
        for name, exact in (("KL", kl), ("JS", js)):
            slope_a, slope_d, smooth, factor = slopes[name]
            variance = _variance(s_a, slope_a) / n_a + _variance(s_d, slope_d) / n_d
            per_row = factor * (1.0 / n_a + 1.0 / n_d)
            # The root behaves like the size of a gap; its standard error tends to that of equal distributions.
            root = np.sqrt(smooth)
            error = np.where(smooth > 1e-9, np.sqrt(variance) / (2.0 * root), np.sqrt(per_row))
            # Every label beyond the second adds its share of noise to the estimate.
            lower = np.sqrt(np.maximum(smooth - (present - 2) * per_row, 0.0)) - z * error
            low = np.where(different, np.maximum(lower, 0.0) ** 2, 0.0)
            out[name] = (exact, low, np.where(np.isinf(exact), np.inf, (root + z * error) ** 2))
    return out


def _variance(p: Floats, slope: Floats) -> Floats:
    mean = (p * slope).sum(1)
    return np.asarray(np.maximum((p * slope**2).sum(1) - mean**2, 0.0))


def _reject_equal(p_d: Floats, p_a: Floats, n_d: Floats, n_a: Floats, present: Floats, alpha: float) -> Floats:
    """Whether Pearson's chi-squared test finds the distributions different."""
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = (p_d * n_d[:, None] + p_a * n_a[:, None]) / (n_d + n_a)[:, None]
        statistic = np.nansum((p_a - p_d) ** 2 / pooled, axis=1) / (1.0 / n_a + 1.0 / n_d)
    return np.asarray(statistic > special.chdtri(np.maximum(present - 1, 1), alpha))
