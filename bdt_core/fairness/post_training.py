"""Clarify's metrics of the predictions: DPPL, DI, DCA, DCR, RD, SD, DAR, DRR, AD, TE, GE.

d are the rows of a facet value, a all others with a known one. CDDPL is in `conditional`, FT in `flips`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bdt_core.fairness.confusion import Cells, Confusion, Floats
from bdt_core.fairness.measured import MetricValues, first, measured, reasons, where
from bdt_core.fairness.pre_training import rate_differences
from bdt_core.fairness.rates import evaluate
from bdt_core.fairness.simultaneous import contrasts_critical_value
from bdt_core.inference import difference_limits, koopman_interval
from bdt_core.metrics import FALSE_NEGATIVE_SHARE, RATES


def post_training_metrics(d: Cells, a: Cells, alpha: float) -> dict[str, MetricValues]:
    """Compute the metrics for k pairs of d and a.

    Parameters
    ----------
    d, a : Cells
        Confusion counts, k entries each.
    alpha : float
        Intervals have confidence 1 - alpha.

    Returns
    -------
    dict of Measured
        DPPL, RD, DAR, AD, DCA are a - d; SD, DRR, DCR, TE are d - a; DI is d / a. No difference: 0, for DI 1.

    Notes
    -----
    Differences of rates take Newcombe's interval, DI Koopman's. DCA, DCR and TE join the limits of both sides
    (Zou & Donner 2008): for DCA and DCR those of the logarithm of a ratio of overlapping counts by the delta
    method, for TE Wilson's limits of FN / (FN + FP).
    """
    out = rate_differences("post_training", d, a, alpha)
    out["DI"] = _disparate_impact(d, a, alpha)
    out["DCA"] = _conditional(d, a, lambda c: (c.tp, c.fn, c.fp), "nobody with a positive prediction", True, alpha)
    out["DCR"] = _conditional(d, a, lambda c: (c.tn, c.fp, c.fn), "nobody with a negative prediction", False, alpha)
    out["TE"] = _treatment_equality(d, a, alpha)
    return out


def generalized_entropy(cells: Cells, alpha: float) -> MetricValues:
    """Generalised entropy index of the benefits b = prediction - label + 1, with exponent 2.

    Parameters
    ----------
    cells : Cells
        One entry per population.
    alpha : float
        The interval (delta method) has confidence 1 - alpha.

    Returns
    -------
    MetricValues
        sum((b / mean(b))^2 - 1) / (2 n): 0 when everybody has the same benefit; undefined when nobody has any.

    References
    ----------
    Speicher, T. et al. (2018). A unified approach to quantifying algorithmic unfairness. KDD 2018.
    """
    c, rows = cells.weights, cells.rows
    with np.errstate(divide="ignore", invalid="ignore"):
        n = c.n
        first_moment, second_moment = (c.tp + c.tn + 2 * c.fp) / n, (c.tp + c.tn + 4 * c.fp) / n
        index = 0.5 * (second_moment / first_moment**2 - 1.0)
        slope = {b: 0.5 * b * b / first_moment**2 - second_moment * b / first_moment**3 for b in (0, 1, 2)}
        s = cells.squares
        variance = sum(
            weight * (slope[b] + 0.5 * second_moment / first_moment**2) ** 2  # the mean slope is minus that
            for b, weight in ((0, s.fn + 0.5), (1, s.tp + s.tn), (2, s.fp + 0.5))
        )
        reach = contrasts_critical_value(1, 1.0 - alpha) * np.sqrt(variance) / n
    reason = first(
        where(rows.n == 0, "no rows"), where(first_moment == 0, "nobody has any benefit: all are false negatives")
    )
    return measured(index, (np.maximum(index - reach, 0.0), index + reach), reason, rows.n, rows.fp + rows.fn)


def _disparate_impact(d: Cells, a: Cells, alpha: float) -> MetricValues:
    rate_d, rate_a = evaluate(RATES["selection_rate"], d), evaluate(RATES["selection_rate"], a)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = rate_d.estimate / rate_a.estimate
    limits = koopman_interval(
        rate_d.effective_events, rate_d.effective_n, rate_a.effective_events, rate_a.effective_n, 1.0 - alpha
    )
    reason = first(
        reasons(d.rows.n == 0, a.rows.n == 0, "no rows"),
        where((rate_d.events == 0) & (rate_a.events == 0), "nobody with a positive prediction in d and in a"),
    )
    return measured(ratio, limits, reason, rate_d.n, rate_d.events)


def _conditional(
    d: Cells,
    a: Cells,
    parts: Callable[[Confusion], tuple[Floats, Floats, Floats]],
    nobody: str,
    a_minus_d: bool,
    alpha: float,
) -> MetricValues:
    """Difference of the ratios (both + label only) / (both + prediction only)."""
    z = contrasts_critical_value(1, 1.0 - alpha)
    sides = []
    for cells in (d, a):
        both, label, prediction = parts(cells.weights)
        both_2, label_2, prediction_2 = parts(cells.squares)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (both + label) / (both + prediction)
            # Half a row more per cell keeps the limits away from log 0.
            up, down = both + label + 1.0, both + prediction + 1.0
            variance = (
                (both_2 + 0.5) * (1 / up - 1 / down) ** 2 + (label_2 + 0.5) / up**2 + (prediction_2 + 0.5) / down**2
            )
        spread = np.exp(z * np.sqrt(variance))
        sides.append((ratio, np.fmin(ratio, up / down / spread), np.fmax(ratio, up / down * spread)))
    of_d, of_a = sides
    plus, minus = (of_a, of_d) if a_minus_d else (of_d, of_a)
    both, _, prediction = parts(d.rows)
    both_a, _, prediction_a = parts(a.rows)
    reason = first(
        reasons(d.rows.n == 0, a.rows.n == 0, "no rows"),
        reasons(both + prediction == 0, both_a + prediction_a == 0, nobody),
    )
    with np.errstate(invalid="ignore"):
        estimate = plus[0] - minus[0]
    events = parts(d.rows)[0] + parts(d.rows)[1]
    return measured(estimate, difference_limits(*plus, *minus), reason, both + prediction, events)


def _treatment_equality(d: Cells, a: Cells, alpha: float) -> MetricValues:
    sides = []
    for cells in (d, a):
        share = evaluate(FALSE_NEGATIVE_SHARE, cells)
        low, high = share.interval(1.0 - alpha)
        sides.append([_odds(one) for one in (share.estimate, low, high)])
    (of_d, low_d, high_d), (of_a, low_a, high_a) = sides
    with np.errstate(invalid="ignore"):
        estimate = of_d - of_a
        low, high = difference_limits(of_d, low_d, high_d, of_a, low_a, high_a)
        infinite = ~np.isfinite(estimate) | np.isinf(high_d) | np.isinf(high_a)
        low = np.where(infinite, low_d - high_a, low)
        high = np.where(infinite, high_d - low_a, high)
    errors_d, errors_a = d.rows.fn + d.rows.fp, a.rows.fn + a.rows.fp
    reason = first(
        reasons(d.rows.n == 0, a.rows.n == 0, "no rows"),
        reasons(errors_d == 0, errors_a == 0, "no errors"),
        where((d.rows.fp == 0) & (a.rows.fp == 0), "no false positives in d and in a: infinite on both sides"),
    )
    return measured(estimate, (low, high), reason, errors_d, d.rows.fn)


def _odds(share: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(share >= 1.0, np.inf, share / (1.0 - share)))
