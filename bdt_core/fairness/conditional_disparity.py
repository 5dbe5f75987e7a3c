"""Conditional demographic disparity: CDDL of labels and CDDPL of predictions, inside strata."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.confusion import Floats
from bdt_core.fairness.counting import MAX_WEIGHT
from bdt_core.fairness.counts import FIXED_POINT, CountTable
from bdt_core.fairness.measured import MetricValues, first, measured, reasons, where
from bdt_core.inference import newcombe_interval

Outcome = Literal["label", "prediction"]


def outcomes_by_stratum(
    table: CountTable, good: NDArray[np.bool_], outcome: Outcome, *, weighted: bool = False
) -> Floats:
    """Rows per group, stratum and outcome (unfavourable, favourable); shape (groups, strata, 2).

    `weighted` takes the weights, if there are any, scaled to the effective number of rows.
    """
    axes = (3, 4) if outcome == "label" else (2, 4)
    counts = table.counts.sum(axis=axes).astype(np.float64)
    if weighted and table.weights is not None and table.squared_weights is not None:
        weights, squares = table.weights.sum(axis=axes) / FIXED_POINT, float(table.squared_weights.sum())
        # Kish's effective number of rows, so that intervals are as wide as weights make them.
        counts = weights * (weights.sum() / (squares / FIXED_POINT * MAX_WEIGHT)) if squares else weights
    return np.stack([counts[..., ~good].sum(-1), counts[..., good].sum(-1)], axis=-1)


def conditional_disparity(d: Floats, a: Floats, alpha: float) -> MetricValues:
    """Conditional demographic disparity, for k pairs of d and a.

    Parameters
    ----------
    d, a : ndarray of shape (k, strata, 2)
        Rows with the unfavourable and the favourable outcome.
    alpha : float
        The interval has confidence 1 - alpha.

    Returns
    -------
    MetricValues
        sum_i n_i / n (share of d among the unfavourable - share of d among the favourable), over the strata that
        have both outcomes; positive is against d. The interval joins Newcombe's of the strata, whose sizes are
        taken as fixed.
    """
    total = d + a
    usable = np.asarray((total > 0).all(axis=2))
    size = np.where(usable, total.sum(2), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = size / size.sum(1, keepdims=True)
        share = np.where(usable[..., None], d / total, 0.0)
    gap = share[..., 0] - share[..., 1]
    low, high = newcombe_interval(d[..., 0], total[..., 0], d[..., 1], total[..., 1], 1.0 - alpha)
    below, above = (np.where(usable, one, 0.0) for one in (gap - low, high - gap))
    estimate = (weight * gap).sum(1)
    limits = (estimate - np.sqrt(((weight * below) ** 2).sum(1)), estimate + np.sqrt(((weight * above) ** 2).sum(1)))
    reason = first(
        reasons(d.sum((1, 2)) == 0, a.sum((1, 2)) == 0, "no rows"),
        where(~usable.any(1), "no stratum has both favourable and unfavourable outcomes"),
    )
    return measured(estimate, limits, reason, d.sum((1, 2)), d[..., 1].sum(1))
