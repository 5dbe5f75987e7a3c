"""Every group against a reference, and the range over all groups, rate by rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.confusion import Cells, Floats
from bdt_core.fairness.measured import MetricValues, first, measured_each, where, where_each
from bdt_core.fairness.omnibus import equal_rates_p_value
from bdt_core.fairness.rates import CountedRate, evaluate_all
from bdt_core.fairness.simultaneous import (
    contrasts_critical_value,
    pairs_critical_value,
    range_of_pairs,
    ratio_limits,
    reference_critical_value,
)
from bdt_core.inference import difference_limits, koopman_interval, newcombe_interval, wilson_limits
from bdt_core.metrics import CRITERIA, Change, Criterion, Proportion
from bdt_core.said import Numeral, of_ours, say

FEWEST_IN_DENOMINATOR = 10
IS_REFERENCE = "the reference itself"

_Interval = tuple[float, float, float]
_UNDEFINED: _Interval = (math.nan, math.nan, math.nan)


class AgainstReference(NamedTuple):
    """A rate of each group compared with the reference, and limits that hold for all groups at once."""

    difference: MetricValues
    difference_together: tuple[Floats, Floats]
    ratio: MetricValues
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
    rates: Sequence[Proportion], cells: Cells, reference: int | None, alpha: float
) -> list[AgainstReference]:
    """Compare rates of every group with those of one group, or of everybody else (None).

    Differences are group - reference with Newcombe's interval, ratios group / reference with Koopman's. The limits
    for all groups at once take Dunnett's critical value (one reference group) or Šidák's (everybody else), in
    Wilson's limits of each side joined by MOVER.
    """
    if not rates:
        return []
    groups = cells.rows.n.size
    rest = cells.total() - cells if reference is None else cells[np.full(groups, reference)]
    rate, other = evaluate_all(rates, cells), evaluate_all(rates, rest)
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
    nobody = where_each(rate.n == 0, [one.nobody for one in rates])
    nobody_else = where_each(other.n == 0, [say("{who} in the reference", who=of_ours(one.nobody)) for one in rates])
    neither = (rate.events == 0) & (other.events == 0)
    no_event = where_each(neither, ["0 in the group and in the reference"] * len(rates))
    no_difference = [first(empty, one, another) for one, another in zip(nobody, nobody_else, strict=True)]
    no_ratio = [first(one, another) for one, another in zip(no_difference, no_event, strict=True)]
    own = (rate.n, rate.events)
    return [
        AgainstReference(*one)
        for one in zip(
            measured_each(gap, differences, no_difference, *own),
            zip(*differences_together, strict=True),
            measured_each(quotient, ratios, no_ratio, *own),
            zip(*ratios_together, strict=True),
            strict=True,
        )
    ]


def ranges_over_groups(
    names: Sequence[str], cells: Cells, mean_score: Floats | None, alpha: float, min_rows: int
) -> dict[str, Range]:
    """Largest difference and smallest ratio over all pairs, from simultaneous intervals of the pairs.

    Parameters
    ----------
    names : sequence of str
        Criteria of the registry (`bdt_core.metrics.CRITERIA`).

        - Of one rate: of that rate.
        - Of several, such as "equalized_odds": the larger difference and the smaller ratio of them. Each takes its
          share of the error, so that their intervals hold together; the p-values of the rates alone are combined by
          Bonferroni.
        - Of what rises with a proportion, such as "treatment_equality", of FN / FP: its limits are those of that
          proportion, FN / (FN + FP).
        - "calibration": of positives observed over positives expected (the sum of the scores): calibration in the
          large, 1 in every group when scores mean the same everywhere, whatever their prevalence. The scores are taken
          as given: Wilson's limits of the prevalence, divided by the mean score, hold the ratio of the people whose
          scores these are, and err on the wide side because people with different scores vary less than equal ones.
          There is no test: equal prevalence is not what is asked for.
    cells : Cells
        One entry per group.
    mean_score : ndarray of shape (groups,), optional
        For "calibration"; NaN where undefined.
    alpha : float
        Intervals have confidence 1 - alpha.
    min_rows : int
        Groups with fewer rows, or fewer than 10 in the denominator, are left out.
    """
    compared = {name: _compared(CRITERIA[name], mean_score, alpha, min_rows) for name in names}
    ranges = iter(_ranges([one for several in compared.values() for one in several], cells, min_rows))
    return {name: _worst([next(ranges) for _ in several]) for name, several in compared.items()}


class _Compared(NamedTuple):
    """A proportion, or what rises with it group by group as `change` says (NaN: not in this group)."""

    proportion: Proportion
    alpha: float
    change: Change
    fewest: int = FEWEST_IN_DENOMINATOR
    test: bool = True


def _compared(criterion: Criterion, mean_score: Floats | None, alpha: float, min_rows: int) -> list[_Compared]:
    """What a criterion compares."""
    if criterion.over_mean_score:
        assert mean_score is not None
        return [_Compared(one, alpha, _over(mean_score), min_rows, test=False) for one in criterion.of]
    return [_Compared(one, alpha / len(criterion.of), criterion.change) for one in criterion.of]


def _over(mean_score: Floats) -> Change:
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(mean_score > 0, 1.0 / mean_score, np.nan)
    return lambda share: share * scale


def _ranges(compared: Sequence[_Compared], cells: Cells, min_rows: int) -> list[Range]:
    if not compared:
        return []
    rate = evaluate_all([one.proportion for one in compared], cells)
    fewest = np.array([one.fewest for one in compared])[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.array([one.change(share) for one, share in zip(compared, rate.estimate, strict=True)])
    enough = (rate.size >= fewest) & (cells.size >= min_rows) & (rate.effective_n > 0) & ~np.isnan(values)
    kept = enough.sum(axis=1).tolist()
    critical = [
        pairs_critical_value(groups, 1.0 - one.alpha) if groups > 1 else math.nan
        for one, groups in zip(compared, kept, strict=True)
    ]
    events, n = np.where(enough, rate.effective_events, np.nan), np.where(enough, rate.effective_n, np.nan)
    limits = wilson_limits(events, n, np.array(critical)[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (
            np.array([one.change(limit) for one, limit in zip(compared, side, strict=True)]) for side in limits
        )
    values = np.where(enough, values, np.nan)
    finite = np.where(np.isinf(values).any(axis=1, keepdims=True), np.nan, values)  # infinite: no pairs to look at
    differences = range_of_pairs(finite, low, high, difference_limits)
    ratios = range_of_pairs(finite, low, high, ratio_limits)
    out = []
    p_values: dict[tuple[str, bytes], float | None] = {}
    for i, compared_range in enumerate(compared):
        among, excluded = values[i][enough[i]], ~enough[i] & (cells.rows.n > 0)
        if kept[i] < 2:
            few = "{N} groups with enough rows; two are needed"
            alone = kept[i] == 1
            reason = say("1 group with enough rows; two are needed") if alone else say(few, N=Numeral(kept[i]))
            out.append(Range(_UNDEFINED, _UNDEFINED, reason, excluded, None))
            continue
        p_value = None
        if compared_range.test:
            same = (
                compared_range.proportion.name,
                enough[i].tobytes(),
            )  # a rate has one test, alone and as one of several
            if same not in p_values:
                p_values[same] = equal_rates_p_value(events[i][enough[i]], n[i][enough[i]])
            p_value = p_values[same]
        largest, smallest = float(among.max()), float(among.min())
        of_differences, of_ratios = ((low[i], high[i]) for low, high in (differences, ratios))
        out.append(Range(*_extremes(largest, smallest, of_differences, of_ratios), excluded, p_value))
    return out


def _extremes(
    largest: float, smallest: float, differences: tuple[float, float], ratios: tuple[float, float]
) -> tuple[_Interval, _Interval, str | None]:
    """Largest difference and smallest ratio, with the limits of all differences and of all ratios."""
    if math.isinf(smallest):
        return _UNDEFINED, _UNDEFINED, "infinite in every group"
    if math.isinf(largest):
        return (math.inf, 0.0, math.inf), (0.0, 0.0, 1.0), None
    difference = (largest - smallest, max(differences[0], 0.0), differences[1])
    if largest == 0.0:
        return difference, _UNDEFINED, None
    # The smallest ratio is one over the largest.
    return difference, (smallest / largest, 1.0 / ratios[1], 1.0 / max(ratios[0], 1.0)), None


def _worst(ranges: Sequence[Range]) -> Range:
    """The largest difference and the smallest ratio of several ranges, whose p-values are combined by Bonferroni."""
    if len(ranges) == 1:
        return ranges[0]
    excluded = np.logical_or.reduce([one.excluded for one in ranges])
    reason = next((one.reason for one in ranges if one.reason is not None), None)
    if reason is not None:
        return Range(_UNDEFINED, _UNDEFINED, reason, excluded, None)
    p_values = [one.p_value for one in ranges if one.p_value is not None]
    return Range(
        tuple(max(one.difference[i] for one in ranges) for i in range(3)),  # type: ignore[arg-type]
        tuple(min(one.ratio[i] for one in ranges) for i in range(3)),  # type: ignore[arg-type]
        None,
        excluded,
        min(1.0, len(p_values) * min(p_values)) if p_values else None,
    )


def _reference_critical(rate: CountedRate, reference: int | None, alpha: float) -> Floats:
    """Critical value of each rate for all its comparisons with the reference that can be made."""
    usable = rate.effective_n > 0
    of_pair = contrasts_critical_value(1, 1.0 - alpha)
    if reference is None:
        compared = usable.sum(axis=1).tolist()
        return np.array([contrasts_critical_value(k, 1.0 - alpha) if k > 2 else of_pair for k in compared])
    # One event and one other more: no group has a variance of 0.
    events, others = rate.effective_events + 1.0, rate.effective_n - rate.effective_events + 1.0
    variances = np.where(usable, events * others / (events + others) ** 3, np.nan)
    # A rate and its complement have the same variances: one of them is enough.
    family = {row.tobytes(): i for i, row in enumerate(variances)}
    of_family = reference_critical_value(variances[list(family.values())], reference, 1.0 - alpha)
    critical = dict(zip(family, np.nan_to_num(of_family, nan=of_pair).tolist(), strict=True))
    return np.array([critical[row.tobytes()] for row in variances])
