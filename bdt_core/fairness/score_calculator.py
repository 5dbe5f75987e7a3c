"""The composite Bias Detection Score, from rates given by hand; `composite_score` has it from counts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bdt_core.errors import SpecError
from bdt_core.fairness.confusion import Floats
from bdt_core.fairness.simultaneous import difference_limits, range_of_pairs
from bdt_core.result import Result

Severity = Literal["minimal", "low", "moderate", "high", "severe"]
PartName = Literal["selection_rate", "true_positive_rate", "false_positive_rate", "mean_score"]

DEFAULT_WEIGHTS = (0.333, 0.333, 0.334)
WEIGHT_TOLERANCE = 0.01
ROUNDING = 0.005
"""Rates by hand have two digits."""
PARTS: tuple[PartName, ...] = ("selection_rate", "true_positive_rate", "false_positive_rate", "mean_score")
"""The rates whose ranges make up the score; `factors` are their weights."""
SEVERITY_FROM: tuple[tuple[float, Severity], ...] = ((0.35, "severe"), (0.2, "high"), (0.1, "moderate"), (0.05, "low"))


@dataclass(frozen=True)
class ScorePart:
    """One part of the score, a difference of rates.

    Attributes
    ----------
    name : str
    value : float
        Largest less smallest over the groups, in [0, 1].
    signed : float or None
        First group less second, when there are two.
    low, high : float or None
        Interval; the four parts' intervals hold together.
    lowest, highest : str
        Groups with the smallest and the largest rate.
    """

    name: PartName
    value: float
    signed: float | None
    low: float | None
    high: float | None
    lowest: str
    highest: str


@dataclass(frozen=True)
class BiasScore(Result):
    """Composite Bias Detection Score. Higher is worse; 0 means that all groups have the same rates.

    Attributes
    ----------
    score : float or None
        w1 DPD + w2 EOD + w3 CD, in [0, 1].
    severity : {"minimal", "low", "moderate", "high", "severe"} or None
        Under .05, from .05, .10, .20, .35.
    undefined_reason : str or None
    low, high : float or None
        Interval of the score from simultaneous intervals of its parts: it starts at 0 when groups may be equal.
        None for rates by hand.
    confidence : float or None
    noise_mean, noise_high : float or None
        Mean and 95 % quantile of the score when prediction, label and score have nothing to do with the groups, at
        these group sizes. A score below `noise_high` is no sign of bias.
    p_value : float or None
        Share of such scores at least as large as this one.
    demographic_parity_difference, equalized_odds_difference, calibration_difference : float or None
        DPD: range of selection rates. EOD: mean of the ranges of true and false positive rates. CD: range of mean
        scores; None without a score.
    disparate_impact_ratio : float or None
        Selection rate of B over A; with more groups, smallest over largest. Infinite when only A has none.
    adverse_impact : bool or None
        Whether that ratio is below 4/5.
    weights : tuple of float
        Used for DPD, EOD and CD.
    parts : tuple of ScorePart
    groups : tuple of str
    excluded : tuple of str
        Groups with too few rows.
    warnings : tuple of str
    """

    score: float | None
    severity: Severity | None
    undefined_reason: str | None
    low: float | None
    high: float | None
    confidence: float | None
    noise_mean: float | None
    noise_high: float | None
    p_value: float | None
    demographic_parity_difference: float | None
    equalized_odds_difference: float | None
    calibration_difference: float | None
    disparate_impact_ratio: float | None
    adverse_impact: bool | None
    weights: tuple[float, float, float]
    parts: tuple[ScorePart, ...]
    groups: tuple[str, ...]
    excluded: tuple[str, ...]
    warnings: tuple[str, ...]


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
        A value that is no number or no rate, weights that do not fit, or rates of different numbers of groups.

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
    if rows is None:
        return plain
    from bdt_core.fairness.score_interval import with_interval  # which imports this module

    return with_interval(plain, given, _row_counts(rows, size), alpha=alpha, random_state=random_state)


def _row_counts(rows: Sequence[int], size: int) -> Floats:
    if len(rows) != size:
        raise SpecError(f"{len(rows)} numbers of rows for {size} groups.")
    if any(not math.isfinite(one) or one < 1 or one != int(one) for one in rows):
        raise SpecError("Numbers of rows must be whole and 1 or more.")
    return np.array(rows, dtype=np.float64)


def check_weights(weights: Sequence[float]) -> tuple[float, float, float]:
    """Return the three weights if they are numbers, none negative, that add up to 1 within .01."""
    values = [float(one) for one in weights]
    if len(values) != 3 or not all(math.isfinite(one) for one in values):
        raise SpecError("Give three weights, for demographic parity, equalized odds and calibration.")
    if min(values) < 0.0:
        raise SpecError("Weights must be 0 or more.")
    if abs(sum(values) - 1.0) > WEIGHT_TOLERANCE + 1e-12:
        raise SpecError(f"Weights must add up to 1; these add up to {sum(values):.3f}.")
    return values[0], values[1], values[2]


def severity_of(score: float) -> Severity:
    """Class of a score.

    Examples
    --------
    >>> [severity_of(x) for x in (0.049, 0.05, 0.1, 0.2, 0.35)]
    ['minimal', 'low', 'moderate', 'high', 'severe']
    """
    # A score of .05 made of floats must not come out below it.
    return next((name for start, name in SEVERITY_FROM if score >= start - 1e-12), "minimal")


def factors(weights: tuple[float, float, float]) -> tuple[float, float, float, float]:
    """Weights of the four parts, in their order."""
    return weights[0], weights[1] / 2.0, weights[1] / 2.0, weights[2]


def _rates(name: str, values: Sequence[float]) -> Floats:
    try:
        rates = np.array([float(one) for one in values])
    except (TypeError, ValueError):
        raise SpecError(f"{name} must be numbers.") from None
    if not ((rates >= 0.0) & (rates <= 1.0)).all():
        raise SpecError(f"{name} must lie between 0 and 1.")
    return rates


def part_of(name: PartName, values: Floats, names: Sequence[str], limits: tuple[Floats, Floats] | None) -> ScorePart:
    """The range of one rate over the groups, with the interval that the groups' limits give it."""
    low, high = (None, None) if limits is None else range_of_pairs(values, *limits, difference_limits)
    return ScorePart(
        name=name,
        value=float(values.max() - values.min()),
        signed=float(values[0] - values[1]) if values.size == 2 else None,
        low=None if low is None else max(low, 0.0),
        high=None if high is None else min(high, 1.0),
        lowest=names[int(values.argmin())],
        highest=names[int(values.argmax())],
    )


def composed(
    parts: tuple[ScorePart, ...],
    weights: tuple[float, float, float],
    selection: Floats,
    names: tuple[str, ...],
    warnings: Sequence[str],
) -> BiasScore:
    """The score of its parts, without interval and noise floor."""
    score = sum(factor * part.value for factor, part in zip(factors(weights), parts, strict=False))
    over, under = (selection[1], selection[0]) if selection.size == 2 else (selection.min(), selection.max())
    ratio = float(over / under) if under else (math.inf if over else None)
    return BiasScore(
        score=score,
        severity=severity_of(score),
        undefined_reason=None,
        low=None,
        high=None,
        confidence=None,
        noise_mean=None,
        noise_high=None,
        p_value=None,
        demographic_parity_difference=parts[0].value,
        equalized_odds_difference=0.5 * (parts[1].value + parts[2].value),
        calibration_difference=parts[3].value if len(parts) > 3 else None,
        disparate_impact_ratio=ratio,
        adverse_impact=None if ratio is None else bool(5.0 * over < 4.0 * under - 1e-12),
        weights=weights,
        parts=parts,
        groups=names,
        excluded=(),
        warnings=tuple(warnings),
    )


def worse_than_chance(rates: Mapping[str, Floats], names: Sequence[str]) -> list[str]:
    """A warning for every group whose true positive rate is below its false positive rate."""
    worse = rates["true_positive_rate"] < rates["false_positive_rate"]
    return [
        f"Group {name}: the true positive rate is below the false positive rate, which is worse than chance. "
        "Check the inputs."
        for name, is_worse in zip(names, worse, strict=True)
        if is_worse
    ]


def _impossible(rates: Mapping[str, Floats], names: Sequence[str]) -> list[str]:
    """A warning for every other group whose selection rate is no mean of its true and false positive rates."""
    true, false, selected = (rates[name] for name in ("true_positive_rate", "false_positive_rate", "selection_rate"))
    outside = (true >= false) & ((selected < false - ROUNDING) | (selected > true + ROUNDING))
    return [
        f"Group {name}: the rate of positive predictions lies outside the true and the false positive rate, of which "
        "it is a mean. Check the inputs."
        for name, wrong in zip(names, outside, strict=True)
        if wrong
    ]
