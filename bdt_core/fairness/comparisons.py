"""Every group against a reference, and the range over all groups, rate by rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.confusion import Cells, Floats
from bdt_core.fairness.measured import Measured, first, measured, where
from bdt_core.fairness.omnibus import equal_rates_p_value
from bdt_core.fairness.rates import FALSE_NEGATIVE_SHARE, RATES, Rate, RateDefinition, evaluate, evaluate_all
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
IS_REFERENCE = "the reference itself"

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
    groups = cells.rows.n.size
    rest = cells.total() - cells if reference is None else cells[np.full(groups, reference)]
    rate, other = evaluate_all(definitions, cells), evaluate_all(definitions, rest)
    counts = (rate.effective_events, rate.effective_n, other.effective_events, other.effective_n)
    differences, ratios = newcombe_interval(*counts, 1.0 - alpha), koopman_interval(*counts, 1.0 - alpha)
    critical = _reference_critical(rate, reference, alpha)[:, None]
    sides = (
        *(rate.estimate, *wilson_limits(rate.effective_events, rate.effective_n, critical)),
        *(other.estimate, *wilson_limits(other.effective_events, other.effective_n, critical)),
    )
    differences_together, ratios_together = difference_limits(*sides), ratio_limits(*sides)
    gap = rate.estimate - other.estimate
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = rate.estimate / other.estimate
    itself = where(np.arange(groups) == (-1 if reference is None else reference), IS_REFERENCE)
    empty = first(itself, where(cells.rows.n == 0, "no rows"))
    neither = (rate.events == 0) & (other.events == 0)
    out = []
    for i, definition in enumerate(definitions):
        reason = first(
            empty,
            where(rate.n[i] == 0, definition.nobody),
            where(other.n[i] == 0, f"{definition.nobody} in the reference"),
        )
        no_ratio = first(reason, where(neither[i], "0 in the group and in the reference"))
        own = (rate.n[i], rate.events[i])
        out.append(
            AgainstReference(
                measured(gap[i], (differences[0][i], differences[1][i]), reason, *own),
                (differences_together[0][i], differences_together[1][i]),
                measured(quotient[i], (ratios[0][i], ratios[1][i]), no_ratio, *own),
                (ratios_together[0][i], ratios_together[1][i]),
            )
        )
    return out


def range_over_groups(
    definition: RateDefinition, cells: Cells, alpha: float, min_rows: int, *, test: bool = True
) -> Range:
    """Largest difference and smallest ratio of a rate over all pairs, from simultaneous intervals of the pairs.

    Without `test` there is no p-value.
    """
    rate = evaluate(definition, cells)
    enough = (rate.n >= FEWEST_IN_DENOMINATOR) & (cells.rows.n >= min_rows)
    return _range(rate, rate.estimate, enough, cells.rows.n, alpha, test=test)


def equalized_odds_range(cells: Cells, alone: tuple[Range, Range], alpha: float, min_rows: int) -> Range:
    """The larger difference and the smaller ratio of TPR and FPR.

    Each takes half of the error, so that their intervals hold together; the p-values of the two ranges `alone` are
    combined by Bonferroni.
    """
    both = [
        range_over_groups(RATES[rate], cells, alpha / 2.0, min_rows, test=False)
        for rate in ("true_positive_rate", "false_positive_rate")
    ]
    excluded = np.logical_or.reduce([one.excluded for one in both])
    reason = next((one.reason for one in both if one.reason is not None), None)
    if reason is not None:
        return Range((math.nan,) * 3, (math.nan,) * 3, reason, excluded, None)
    p_values = [one.p_value for one in alone if one.p_value is not None]
    return Range(
        tuple(max(one.difference[i] for one in both) for i in range(3)),  # type: ignore[arg-type]
        tuple(min(one.ratio[i] for one in both) for i in range(3)),  # type: ignore[arg-type]
        None,
        excluded,
        min(1.0, len(p_values) * min(p_values)) if p_values else None,
    )


def treatment_range(cells: Cells, alpha: float, min_rows: int) -> Range:
    """Range of FN / FP over groups, whose limits are those of FN / (FN + FP)."""
    rate = evaluate(FALSE_NEGATIVE_SHARE, cells)
    enough = (rate.n >= FEWEST_IN_DENOMINATOR) & (cells.rows.n >= min_rows)
    with np.errstate(divide="ignore"):
        odds = rate.estimate / (1.0 - rate.estimate)
    return _range(rate, odds, enough, cells.rows.n, alpha, change=lambda share: share / (1.0 - share))


def calibration_range(cells: Cells, mean_score: Floats, alpha: float, min_rows: int) -> Range:
    """Range of positives observed over positives expected (the sum of the scores): calibration in the large.

    1 in every group when scores mean the same everywhere, whatever their prevalence. The scores are taken as given:
    Wilson's limits of the prevalence, divided by the mean score, hold the ratio of the people whose scores these
    are, and err on the wide side because people with different scores vary less than equal ones. There is no test:
    equal prevalence is not what is asked for.
    """
    rate = evaluate(RATES["prevalence"], cells)
    enough = (rate.n >= min_rows) & (mean_score > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 1.0 / mean_score
    kept = np.nan_to_num(scale, posinf=0.0)[enough]
    return _range(
        rate, rate.estimate * scale, enough, cells.rows.n, alpha, change=lambda share: share * kept, test=False
    )


def _range(
    rate: Rate,
    values: Floats,
    enough: NDArray[np.bool_],
    rows: Floats,
    alpha: float,
    *,
    change: Callable[[Floats], Floats] | None = None,
    test: bool = True,
) -> Range:
    """Range of values that are a rate, or rise with it group by group as `change` says."""
    enough = enough & (rate.effective_n > 0)
    excluded = ~enough & (rows > 0)
    kept = int(enough.sum())
    if kept < 2:
        reason = f"{kept} group{'s' * (kept != 1)} with enough rows; two are needed"
        return Range((math.nan,) * 3, (math.nan,) * 3, reason, excluded, None)
    critical = pairs_critical_value(kept, 1.0 - alpha)
    low, high = wilson_limits(rate.effective_events[enough], rate.effective_n[enough], critical)
    value = values[enough]
    if change is not None:
        with np.errstate(divide="ignore"):
            low, high = change(low), change(high)
    p_value = equal_rates_p_value(rate.effective_events[enough], rate.effective_n[enough]) if test else None
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


def _reference_critical(rate: Rate, reference: int | None, alpha: float) -> Floats:
    """Critical value of each rate for all its comparisons with the reference that can be made."""
    usable = rate.effective_n > 0
    one = contrasts_critical_value(1, 1.0 - alpha)
    if reference is None:
        compared = usable.sum(axis=1).tolist()
        return np.array([contrasts_critical_value(k, 1.0 - alpha) if k > 2 else one for k in compared])
    # One event and one other more: no group has a variance of 0.
    events, others = rate.effective_events + 1.0, rate.effective_n - rate.effective_events + 1.0
    variances = np.where(usable, events * others / (events + others) ** 3, np.nan)
    # A rate and its complement have the same variances: one of them is enough.
    family = {row.tobytes(): i for i, row in enumerate(variances)}
    found = reference_critical_value(variances[list(family.values())], reference, 1.0 - alpha)
    critical = dict(zip(family, np.nan_to_num(found, nan=one).tolist(), strict=True))
    return np.array([critical[row.tobytes()] for row in variances])
