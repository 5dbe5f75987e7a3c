"""The composite Bias Detection Score: its parts, their weights, its interval and its noise floor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bdt_core.errors import SpecError
from bdt_core.fairness.confusion import Cells, Confusion, Floats
from bdt_core.fairness.simultaneous import range_of_pairs
from bdt_core.inference import difference_limits
from bdt_core.inference.multinomial import draw_multinomials
from bdt_core.metrics import RATES
from bdt_core.result import Result
from bdt_core.said import Text, say

Severity = Literal["minimal", "low", "moderate", "high", "severe"]
PartName = Literal["selection_rate", "true_positive_rate", "false_positive_rate", "mean_score"]

DEFAULT_WEIGHTS = (0.333, 0.333, 0.334)
WEIGHT_TOLERANCE = 0.01
_DRAWS = 2_000
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
        Lowest selection rate over the highest; of two groups by hand, B over A, which is infinite when only A has
        none. None when nobody has a positive prediction.
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
    undefined_reason: Text | None
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
    warnings: tuple[Text, ...]


def check_weights(weights: Sequence[float]) -> tuple[float, float, float]:
    """Return the three weights if they are numbers, none negative, that add up to 1 within .01."""
    values = [float(one) for one in weights]
    if len(values) != 3 or not all(math.isfinite(one) for one in values):
        raise SpecError("Give three weights, for demographic parity, equalized odds and calibration.")
    if min(values) < 0.0:
        raise SpecError(say("Weights must be 0 or more."))
    if abs(math.fsum(values) - 1.0) > WEIGHT_TOLERANCE + 1e-12:
        raise SpecError(say("Weights must add up to 1; these add up to {N}.", N=f"{sum(values):.3f}"))
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
    """The score of its parts, without interval and noise floor.

    Its disparate impact ratio is the lowest selection rate over the highest: how groups are called does not enter.
    """
    score = math.fsum(factor * part.value for factor, part in zip(factors(weights), parts, strict=False))
    ratio, adverse_impact = impact_of(selection.min(), selection.max())
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
        adverse_impact=adverse_impact,
        weights=weights,
        parts=parts,
        groups=names,
        excluded=(),
        warnings=tuple(warnings),
    )


def impact_of(over: float, under: float) -> tuple[float | None, bool | None]:
    """The ratio of two selection rates, and whether it is below 4/5; None of both when both rates are 0.

    Examples
    --------
    >>> impact_of(0.48, 0.6), impact_of(0.3, 0.6), impact_of(0.4, 0.0)
    ((0.8, False), (0.5, True), (inf, False))
    """
    if not under:
        return (math.inf, False) if over else (None, None)
    return float(over / under), bool(5.0 * over < 4.0 * under - 1e-12)


def with_interval(plain: BiasScore, limits: tuple[float, float], noise: Floats, alpha: float) -> BiasScore:
    """The score with the interval that the limits of its parts add up to, and its noise floor."""
    assert plain.score is not None
    return replace(
        plain,
        low=min(limits[0], plain.score),
        high=max(min(limits[1], 1.0), plain.score),
        confidence=1.0 - alpha,
        noise_mean=float(noise.mean()),
        noise_high=float(np.quantile(noise, 0.95)),
        p_value=(1 + int((noise >= plain.score - 1e-12).sum())) / (1 + noise.size),
    )


def noise_of(
    cells: Cells, moments: tuple[Floats, Floats] | None, weights: tuple[float, float, float], random_state: int
) -> Floats:
    """Scores of 2,000 tables in which every group has the pooled distribution."""
    total = cells.weights
    pooled = np.array([one.sum() for one in (total.tp, total.fp, total.fn, total.tn)])
    # Groups in the order of their size: names do not enter the drawing.
    sizes = np.sort(np.maximum(np.rint(cells.effective_rows), 1.0)).astype(np.int64)
    rng = np.random.default_rng(random_state)
    drawn = draw_multinomials(rng, sizes, pooled / pooled.sum(), _DRAWS)
    counts = Confusion(*np.moveaxis(drawn, -1, 0))
    values = []
    for name in PARTS[:3]:
        with np.errstate(divide="ignore", invalid="ignore"):
            values.append(RATES[name].events(counts) / RATES[name].among(counts))
    if moments is not None:
        errors = np.sort(moments[1])
        values.append(rng.standard_normal((_DRAWS, errors.size)) * errors)
    noise = np.zeros(_DRAWS)
    for factor, value in zip(factors(weights), values, strict=False):
        noise += factor * np.nan_to_num(np.nanmax(value, axis=1) - np.nanmin(value, axis=1))
    return noise


def worse_than_chance(rates: Mapping[str, Floats], names: Sequence[str]) -> list[str]:
    """A warning for every group whose true positive rate is below its false positive rate."""
    worse = rates["true_positive_rate"] < rates["false_positive_rate"]
    return [
        say(
            "Group {as_is}: the true positive rate is below the false positive rate, which is worse than chance. Check "
            "the inputs.",
            as_is=name,
        )
        for name, is_worse in zip(names, worse, strict=True)
        if is_worse
    ]
