"""Every group against a reference, and the range over all groups, rate by rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.confusion import Cells, Floats
from bdt_core.fairness.measured import Measured, first, measured, where
from bdt_core.fairness.omnibus import equal_rates_p_value
from bdt_core.fairness.rates import FALSE_NEGATIVE_SHARE, RATES, Rate, RateDefinition, evaluate
from bdt_core.fairness.simultaneous import (
    contrasts_critical_value,
    difference_limits,
    pairs_critical_value,
    range_of_pairs,
    ratio_limits,
    reference_critical_value,
    wilson_limits,
)
from bdt_core.inference import koopman_interval, newcombe_interval

FEWEST_IN_DENOMINATOR = 10

RANGES = {
    "demographic_parity": "selection_rate",
    "equal_opportunity": "true_positive_rate",
    "predictive_equality": "false_positive_rate",
    "predictive_parity": "positive_predictive_value",
    "accuracy_equality": "accuracy",
}
"""Fairness criteria that ask for one rate to be equal, and that rate."""


class AgainstReference(NamedTuple):
    """A rate of each group compared with the reference, and limits that hold for all groups at once."""

    difference: Measured
    difference_together: tuple[Floats, Floats]
    ratio: Measured
    ratio_together: tuple[Floats, Floats]


class Range(NamedTuple):
    """The largest difference and the smallest ratio over all pairs of groups with enough rows.

    `excluded` are the groups with too few; `p_value` is of equal rates in all others. The ratio is NaN when the
    rate is 0 in every group.
    """

    difference: tuple[float, float, float]
    ratio: tuple[float, float, float]
    reason: str | None
    excluded: NDArray[np.bool_]
    p_value: float | None


def against_reference(
    definitions: Sequence[RateDefinition], cells: Cells, reference: int | None, alpha: float
) -> list[AgainstReference]:
    """Compare rates of every group with those of one group, or of everybody else (None).

    Differences are group - reference with Newcombe's interval, ratios group / reference with Koopman's. The limits
    for all groups at once take Dunnett's critical value (one reference group) or Šidák's (everybody else), in
    Wilson's limits of each side joined by MOVER.
    """
    if not definitions:
        return []
    rest = cells.total() - cells if reference is None else cells[np.full(cells.rows.n.size, reference)]
    sides = [(evaluate(one, cells), evaluate(one, rest)) for one in definitions]
    # Koopman's limits are found step by step: all rates go through the steps together.
    counts: tuple[Floats, Floats, Floats, Floats] = (
        np.stack([rate.effective_events for rate, _ in sides]),
        np.stack([rate.effective_n for rate, _ in sides]),
        np.stack([other.effective_events for _, other in sides]),
        np.stack([other.effective_n for _, other in sides]),
    )
    differences = newcombe_interval(*counts, 1.0 - alpha)
    ratios = koopman_interval(*counts, 1.0 - alpha)
    out = []
    for i, (definition, (rate, other)) in enumerate(zip(definitions, sides, strict=True)):
        reason = first(
            where(np.arange(rate.n.size) == (-1 if reference is None else reference), "the reference itself"),
            where(cells.rows.n == 0, "no rows"),
            where(rate.n == 0, definition.nobody),
            where(other.n == 0, f"{definition.nobody} in the reference"),
        )
        neither = where((rate.events == 0) & (other.events == 0), "0 in the group and in the reference")
        critical = _reference_critical(rate, reference, alpha)
        limits = [
            (one.estimate, *wilson_limits(one.effective_events, one.effective_n, critical)) for one in (rate, other)
        ]
        gap, own = rate.estimate - other.estimate, (rate.n, rate.events)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = rate.estimate / other.estimate
        out.append(
            AgainstReference(
                measured(gap, (differences[0][i], differences[1][i]), reason, *own),
                difference_limits(*limits[0], *limits[1]),
                measured(ratio, (ratios[0][i], ratios[1][i]), first(reason, neither), *own),
                ratio_limits(*limits[0], *limits[1]),
            )
        )
    return out


def range_over_groups(definition: RateDefinition, cells: Cells, alpha: float, min_rows: int) -> Range:
    """Largest difference and smallest ratio of a rate over all pairs, from simultaneous intervals of the pairs."""
    rate = evaluate(definition, cells)
    enough = (rate.n >= FEWEST_IN_DENOMINATOR) & (cells.rows.n >= min_rows)
    return _range(rate, rate.estimate, enough, cells.rows.n, alpha, None)


def treatment_range(cells: Cells, alpha: float, min_rows: int) -> Range:
    """Range of FN / FP over groups, whose limits are those of FN / (FN + FP)."""
    rate = evaluate(FALSE_NEGATIVE_SHARE, cells)
    enough = (rate.n >= FEWEST_IN_DENOMINATOR) & (cells.rows.n >= min_rows)
    with np.errstate(divide="ignore"):
        odds = rate.estimate / (1.0 - rate.estimate)
    return _range(rate, odds, enough, cells.rows.n, alpha, lambda share: share / (1.0 - share))


def calibration_range(cells: Cells, mean_score: Floats, alpha: float, min_rows: int) -> Range:
    """Range of positives observed over positives expected from the scores, which are taken as given."""
    rate = evaluate(RATES["prevalence"], cells)
    enough = (rate.n >= min_rows) & (mean_score > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / mean_score
    kept = np.nan_to_num(scale, posinf=0.0)[enough]
    return _range(rate, rate.estimate * scale, enough, cells.rows.n, alpha, lambda share: share * kept)._replace(
        p_value=None
    )


def worst_of(ranges: tuple[Range, ...]) -> Range:
    """The larger difference and the smaller ratio of several ranges.

    Each was computed at its share of the error, so that their intervals hold together; p-values are combined by
    Bonferroni.
    """
    reason = next((one.reason for one in ranges if one.reason is not None), None)
    if reason is not None:
        excluded = np.logical_or.reduce([one.excluded for one in ranges])
        return Range((math.nan,) * 3, (math.nan,) * 3, reason, excluded, None)
    p_values = [one.p_value for one in ranges if one.p_value is not None]
    return Range(
        tuple(max(one.difference[i] for one in ranges) for i in range(3)),  # type: ignore[arg-type]
        tuple(min(one.ratio[i] for one in ranges) for i in range(3)),  # type: ignore[arg-type]
        None,
        np.logical_or.reduce([one.excluded for one in ranges]),
        min(1.0, len(p_values) * min(p_values)) if p_values else None,
    )


def _range(rate: Rate, values: Floats, enough: NDArray[np.bool_], rows: Floats, alpha: float, change: object) -> Range:
    excluded = ~enough & (rows > 0)
    kept = int(enough.sum())
    if kept < 2:
        reason = f"{kept} group{'s' * (kept != 1)} with enough rows; two are needed"
        return Range((math.nan,) * 3, (math.nan,) * 3, reason, excluded, None)
    critical = pairs_critical_value(kept, 1.0 - alpha)
    low, high = wilson_limits(rate.effective_events[enough], rate.effective_n[enough], critical)
    value = values[enough]
    if callable(change):
        with np.errstate(divide="ignore"):
            low, high = change(low), change(high)
    p_value = equal_rates_p_value(rate.effective_events[enough], rate.effective_n[enough])
    largest, smallest = float(value.max()), float(value.min())
    if math.isinf(largest):
        if math.isinf(smallest):
            return Range((math.nan,) * 3, (math.nan,) * 3, "infinite in every group", excluded, p_value)
        difference, ratio = (math.inf, 0.0, math.inf), (0.0, 0.0, 1.0)
    else:
        lower, upper = range_of_pairs(value, low, high, difference_limits)
        difference = (largest - smallest, max(lower, 0.0), upper)
        # The smallest ratio is one over the largest.
        lower, upper = range_of_pairs(value, low, high, ratio_limits)
        ratio = (smallest / largest, 1.0 / upper, 1.0 / max(lower, 1.0)) if largest else (math.nan,) * 3
    return Range(difference, ratio, None, excluded, p_value)


def _reference_critical(rate: Rate, reference: int | None, alpha: float) -> float:
    """Critical value for all comparisons with the reference that can be made."""
    usable = rate.n > 0
    compared = int(usable.sum())
    if reference is None:
        return contrasts_critical_value(compared if compared > 2 else 1, 1.0 - alpha)
    if compared < 2 or not usable[reference]:
        return contrasts_critical_value(1, 1.0 - alpha)
    # One event and one other more: no group has a variance of 0.
    smoothed = (rate.effective_events[usable] + 1.0) / (rate.effective_n[usable] + 2.0)
    variances = smoothed * (1.0 - smoothed) / (rate.effective_n[usable] + 2.0)
    return reference_critical_value(variances, int(usable[:reference].sum()), 1.0 - alpha)
