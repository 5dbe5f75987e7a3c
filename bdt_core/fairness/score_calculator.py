"""The composite Bias Detection Score from rates given by hand; `composite_score` has it from counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from bdt_core.errors import SpecError
from bdt_core.fairness.confusion import Cells, Confusion, Floats
from bdt_core.fairness.score_parts import (
    DEFAULT_WEIGHTS,
    PARTS,
    BiasScore,
    check_weights,
    composed,
    factors,
    impact_of,
    noise_of,
    part_of,
    with_interval,
    worse_than_chance,
)
from bdt_core.fairness.simultaneous import pairs_critical_value
from bdt_core.inference import wilson_limits
from bdt_core.said import joined, say

ROUNDING = 0.005
"""Rates by hand have two digits."""
_MIN_LABELS = 10


def bias_score_from_rates(
    *,
    true_positive_rates: Sequence[float],
    false_positive_rates: Sequence[float],
    selection_rates: Sequence[float],
    mean_scores: Sequence[float],
    weights: Sequence[float] = DEFAULT_WEIGHTS,
    groups: Sequence[str] | None = None,
    rows: Sequence[int] | None = None,
    alpha: float = 0.05,
    random_state: int = 0,
) -> BiasScore:
    """Compute the score from rates given by hand, as a calculator does.

    Parameters
    ----------
    true_positive_rates, false_positive_rates, selection_rates, mean_scores : sequence of float
        One rate in [0, 1] per group, in one order; two groups or more.
    weights : sequence of three floats
        Of DPD, EOD and CD; 0 or more, adding up to 1 within .01.
    groups : sequence of str, optional
        Names; A, B, ... by default.
    rows : sequence of int, optional
        Rows per group, 1 or more: gives an interval and a noise floor.
    alpha : float
        The interval has confidence 1 - alpha.
    random_state : int
        Seed of the noise floor.

    Returns
    -------
    BiasScore
        Without rows it has no interval and no noise floor. A group whose TPR is below its FPR is warned of: its
        predictions are worse than chance, or the rates are swapped. So is one whose selection rate does not lie
        between them, which no table of rows can have.

    Raises
    ------
    SpecError
        A value that is no number or no rate, weights that do not fit, rates of different numbers of groups, or an
        alpha that is no level.

    Notes
    -----
    The share of positive labels p follows from selection rate = p TPR + (1 - p) FPR, and with it the rows behind
    each rate; a group whose p cannot be known, or with fewer than 10 positive or negative labels, leaves the score
    without interval, and a warning says so. How far scores vary is not known from their mean: the widest
    possible variance, m (1 - m), is taken, so that interval and noise floor are rather too wide than too narrow.

    Examples
    --------
    >>> result = bias_score_from_rates(true_positive_rates=[0.8, 0.7], false_positive_rates=[0.1, 0.2],
    ...                                selection_rates=[0.5, 0.35], mean_scores=[0.5, 0.45])
    >>> round(result.score, 5), result.severity, round(result.disparate_impact_ratio, 2), result.adverse_impact
    (0.09995, 'low', 0.7, True)
    """
    given = {
        "true_positive_rate": _rates("true_positive_rates", true_positive_rates),
        "false_positive_rate": _rates("false_positive_rates", false_positive_rates),
        "selection_rate": _rates("selection_rates", selection_rates),
        "mean_score": _rates("mean_scores", mean_scores),
    }
    sizes = {one.size for one in given.values()}
    if len(sizes) != 1 or min(sizes) < 2:
        raise SpecError("Give each rate once per group, for two groups or more.")
    size = sizes.pop()
    names = tuple(groups) if groups is not None else tuple(chr(65 + i) if size <= 26 else str(i) for i in range(size))
    if len(names) != size:
        raise SpecError(f"{len(names)} names for {size} groups.")
    used = check_weights(weights)
    warnings = [*worse_than_chance(given, names), *_impossible(given, names)]
    parts = tuple(part_of(name, given[name], names, None) for name in PARTS)
    plain = composed(parts, used, given["selection_rate"], names, warnings)
    if size == 2:  # who gives rates by hand says which group is A
        of_a, of_b = given["selection_rate"].tolist()
        ratio, adverse_impact = impact_of(of_b, of_a)
        plain = replace(plain, disparate_impact_ratio=ratio, adverse_impact=adverse_impact)
    if rows is None:
        return plain
    return _with_interval(plain, given, _row_counts(rows, size), alpha=alpha, random_state=random_state)


def _rates(name: str, values: Sequence[float]) -> Floats:
    try:
        rates = np.array([float(one) for one in values])
    except (TypeError, ValueError):
        raise SpecError(f"{name} must be numbers.") from None
    if not ((rates >= 0.0) & (rates <= 1.0)).all():
        raise SpecError(f"{name} must lie between 0 and 1.")
    return rates


def _row_counts(rows: Sequence[int], size: int) -> Floats:
    if len(rows) != size:
        raise SpecError(f"{len(rows)} numbers of rows for {size} groups.")
    if any(not math.isfinite(one) or one < 1 or one != int(one) for one in rows):
        raise SpecError("Numbers of rows must be whole and 1 or more.")
    return np.array(rows, dtype=np.float64)


def _impossible(rates: Mapping[str, Floats], names: Sequence[str]) -> list[str]:
    """A warning for every other group whose selection rate is no mean of its true and false positive rates."""
    true, false, selected = (rates[name] for name in ("true_positive_rate", "false_positive_rate", "selection_rate"))
    outside = (true >= false) & ((selected < false - ROUNDING) | (selected > true + ROUNDING))
    return [
        say(
            "Group {as_is}: the rate of positive predictions lies outside the true and the false positive rate, of "
            "which it is a mean. Check the inputs.",
            as_is=name,
        )
        for name, wrong in zip(names, outside, strict=True)
        if wrong
    ]


def _with_interval(
    plain: BiasScore, given: Mapping[str, Floats], rows: Floats, *, alpha: float, random_state: int
) -> BiasScore:
    """The score with an interval and a noise floor, from the counts that rates and rows imply.

    Unchanged but for a warning where a group's rates do not tell its share of positive labels, or it has fewer than 10
    positive or negative ones.
    """
    if not 0.0 < alpha < 1.0:
        raise SpecError(f"alpha must lie between 0 and 1; found {alpha}.")
    positives = rows * _positive_share(given)
    negatives = rows - positives
    unknown, few = np.isnan(positives), np.minimum(positives, negatives) < _MIN_LABELS
    if (unknown | few).any():
        why = joined(
            [
                say("of group {as_is}, rates do not tell the labels", as_is=name)
                if one
                else say("of group {as_is}, fewer than 10 labels are positive or negative", as_is=name)
                for name, one, out in zip(plain.groups, unknown, unknown | few, strict=True)
                if out
            ],
            "; ",
        )
        return replace(plain, warnings=(*plain.warnings, say("No interval and no noise floor: {why}.", why=why)))
    among = dict(zip(PARTS, (rows, positives, negatives, rows), strict=True))
    critical = pairs_critical_value(rows.size, 1.0 - alpha / len(PARTS))
    limits = {name: wilson_limits(given[name] * n, n, critical) for name, n in among.items()}
    parts = tuple(part_of(name, given[name], plain.groups, limits[name]) for name in PARTS)
    ends = [[0.0 if end is None else end for end in (part.low, part.high)] for part in parts]
    low, high = factors(plain.weights) @ np.array(ends)
    true, false, mean = (given[name] for name in ("true_positive_rate", "false_positive_rate", "mean_score"))
    counts = Confusion(true * positives, false * negatives, (1.0 - true) * positives, (1.0 - false) * negatives)
    error = np.sqrt(mean * (1.0 - mean) / rows)
    noise = noise_of(Cells(counts, counts, counts), (mean, error), plain.weights, random_state)
    return with_interval(replace(plain, parts=parts), (float(low), float(high)), noise, alpha)


def _positive_share(given: Mapping[str, Floats]) -> Floats:
    """Share of positive labels, from selection rate = share TPR + (1 - share) FPR; NaN where that does not tell it."""
    true, false, selected = (given[name] for name in ("true_positive_rate", "false_positive_rate", "selection_rate"))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (selected - false) / (true - false)
    low, high = np.minimum(true, false) - ROUNDING, np.maximum(true, false) + ROUNDING
    known = (np.abs(true - false) > ROUNDING) & (low <= selected) & (selected <= high)
    return np.where(known, np.clip(share, 0.0, 1.0), np.nan)
