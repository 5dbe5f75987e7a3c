"""Rates that every threshold of a group attains, from one sort of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import Coded, Level
from bdt_core.fairness.confusion import Confusion
from bdt_core.inference._checks import finite_vector
from bdt_core.metrics import CRITERIA, RATES
from bdt_core.mitigation.checks import coded, in_order, quoted, same_length, zero_or_one

Floats = NDArray[np.float64]
Constraint = Literal["demographic_parity", "equal_opportunity", "equalized_odds", "predictive_parity"]
Gain = Callable[[Floats, Floats, Floats, Floats], Any]
NamedObjective = Literal["accuracy", "balanced_accuracy"]
Objective = NamedObjective | Gain

RATES_OF: dict[str, tuple[str, ...]] = {name: CRITERIA[name].rates for name in get_args(Constraint)}
"""The rates that each constraint asks to be equal in all groups."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The attainable decisions of one group, from "nobody selected" to "everybody".

    Rows with the same score are selected together or not at all, so there is one point per distinct score, and one
    for nobody.

    Attributes
    ----------
    group : value
    thresholds : ndarray of shape (k,)
        Falling. Selected is who scores at or above: the lowest selected score, infinite for nobody, minus infinite
        for everybody.
    tp, fp : ndarray of shape (k,)
        Rows (or weights) with a positive and with a negative label that are selected.
    rows : int
    largest_tie : float
        Share of the group's rows (or weights) that have its most frequent score: its decisions are that coarse.
    """

    group: Level
    thresholds: Floats
    tp: Floats
    fp: Floats
    rows: int
    largest_tie: float

    @property
    def positives(self) -> float:
        """Rows with a positive label."""
        return float(self.tp[-1])

    @property
    def negatives(self) -> float:
        """Rows with a negative label."""
        return float(self.fp[-1])

    def rate(self, name: str) -> Floats:
        """One rate at every threshold; NaN where nobody is in its denominator."""
        return rate_of(name, self.tp, self.fp, self.positives, self.negatives)


def rate_of(name: str, tp: Floats, fp: Floats, positives: float, negatives: float) -> Floats:
    """A rate from selected positives and negatives; 0/0 is NaN."""
    counts = Confusion(tp, fp, positives - tp, negatives - fp)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(RATES[name].events(counts) / RATES[name].among(counts))


def group_curves(
    scores: Floats,
    labels: NDArray[np.bool_],
    groups: Coded,
    weights: Floats | None = None,
) -> list[Curve]:
    """Sort the scores of every group once.

    Parameters
    ----------
    scores, labels : ndarray of shape (n,)
        Finite scores, and which labels are positive.
    groups : Coded
        The group of each row; curves come in the order of its levels.
    weights : ndarray of shape (n,), optional

    Returns
    -------
    list of Curve
        One per group that has rows (or weight).
    """
    by_group = np.argsort(groups.codes, kind="stable")
    ends = np.cumsum(np.bincount(groups.codes, minlength=len(groups.levels)))
    curves = []
    for level, rows in zip(groups.levels, np.split(by_group, ends[:-1]), strict=True):
        if rows.size and (weights is None or weights[rows].any()):
            curves.append(_curve(level, scores[rows], labels[rows], None if weights is None else weights[rows]))
    return curves


def _curve(group: Level, scores: Floats, labels: NDArray[np.bool_], weights: Floats | None) -> Curve:
    # With weights, equal scores are ordered by label and weight: sums of floats then do not depend on the row order.
    order = np.argsort(scores) if weights is None else np.lexsort((weights, labels, scores))
    order = order[::-1]
    falling = scores[order]
    last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), falling.size - 1)  # of each run of equal scores
    positive = labels[order].astype(np.float64)
    if weights is None:
        tp = np.cumsum(positive)[last]
        fp = last + 1.0 - tp
    else:
        tp = np.cumsum(positive * weights[order])[last]
        fp = np.cumsum((1.0 - positive) * weights[order])[last]
    thresholds = falling[last]
    thresholds[-1] = -np.inf
    selected = np.concatenate([[0.0], tp + fp])
    return Curve(
        group=group,
        thresholds=np.concatenate([[np.inf], thresholds]),
        tp=np.concatenate([[0.0], tp]),
        fp=np.concatenate([[0.0], fp]),
        rows=scores.size,
        largest_tie=float(np.diff(selected).max() / selected[-1]),
    )


def checked_curves(
    scores: ArrayLike, labels: ArrayLike, group: ArrayLike, sample_weight: ArrayLike | None
) -> list[Curve]:
    """The curve of every group, numbers before text, of rows that can be used.

    Parameters
    ----------
    scores, labels, group, sample_weight : arrays of shape (n,)

    Raises
    ------
    DataError
        Missing or infinite scores, labels other than 0 and 1, missing groups, different lengths, negative weights,
        constant scores, or fewer than two groups.
    """
    values = finite_vector(scores, "Scores").astype(np.float64)
    positive, groups = zero_or_one(labels), in_order(coded(group, "groups"))
    same_length(scores=values.size, labels=positive.size, groups=groups.codes.size)
    weights = None
    if sample_weight is not None:
        weights = finite_vector(sample_weight, "Weights").astype(np.float64)
        same_length(scores=values.size, weights=weights.size)
        if (weights < 0.0).any() or not weights.any():
            raise DataError("Weights must be 0 or more, and not all 0.")
    if values.min() == values.max():
        raise DataError(f"Every row has the same score ({values[0]:.6g}): there is no threshold to choose.")
    curves = group_curves(values, positive, groups, weights)
    if len(curves) < 2:
        raise DataError(f'All rows are of one group, "{curves[0].group}". Thresholds per group need two or more.')
    return curves


def checked_rates(curves: list[Curve], constraint: str) -> None:
    """Refuse groups in which a constrained rate is undefined at every threshold.

    Raises
    ------
    DataError
    """
    needs = {"true_positive_rate": "positive", "false_positive_rate": "negative"}
    for rate in RATES_OF[constraint]:
        if rate not in needs:
            continue
        lacking = [str(one.group) for one in curves if not (one.positives if rate[0] == "t" else one.negatives)]
        if lacking:
            raise DataError(
                f"Nobody in {quoted(lacking)} has a {needs[rate]} label, so that the {rate.replace('_', ' ')} is "
                f"undefined there. Leave the group out or join it with another, or choose demographic_parity."
            )


def gains(curves: list[Curve], objective: Objective) -> list[Floats]:
    """What each threshold of each group adds to the objective, up to a scale and a constant.

    Counts stay whole numbers, so that equally good choices compare equal.
    """
    if callable(objective):
        return [_called(objective, one) for one in curves]
    if objective == "accuracy":
        return [one.tp - one.fp for one in curves]
    positives, negatives = totals(curves)
    if not positives or not negatives:
        missing = "positive" if not positives else "negative"
        raise DataError(f'No row has a {missing} label: balanced accuracy is undefined. Use objective="accuracy".')
    return [one.tp * negatives - one.fp * positives for one in curves]


def objective_value(curves: list[Curve], objective: Objective, gain: float) -> float:
    """The objective itself, from the summed gains."""
    positives, negatives = totals(curves)
    if callable(objective):
        return gain
    if objective == "accuracy":
        return (gain + negatives) / (positives + negatives)
    return 0.5 * (1.0 + gain / (positives * negatives))


def totals(curves: list[Curve]) -> tuple[float, float]:
    """Positive and negative labels of all groups together."""
    return sum(one.positives for one in curves), sum(one.negatives for one in curves)


def checked_settings(constraint: str, tolerance: float, objective: Any, randomized: bool) -> None:
    """Refuse settings that are not what they can be.

    Raises
    ------
    SpecError
    """
    if constraint not in RATES_OF:
        raise SpecError(f'Unknown constraint "{constraint}". {did_you_mean(str(constraint), RATES_OF)}')
    objectives = get_args(NamedObjective)
    if not callable(objective) and objective not in objectives:
        raise SpecError(
            f'Unknown objective "{objective}". {did_you_mean(str(objective), objectives)} Or give a function of '
            "(tp, fp, fn, tn)."
        )
    if not 0.0 <= tolerance <= 1.0:
        raise SpecError(f"tolerance must lie between 0 and 1; found {tolerance}.")
    if randomized and constraint == "predictive_parity":
        raise SpecError(
            "predictive_parity cannot be randomized: precision does not mix linearly. Set randomized=False."
        )


def _called(objective: Gain, curve: Curve) -> Floats:
    given: ArrayLike = objective(curve.tp, curve.fp, curve.positives - curve.tp, curve.negatives - curve.fp)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != curve.tp.shape or not np.isfinite(values).all():
        what = "missing or infinite ones" if values.shape == curve.tp.shape else f"an array of shape {values.shape}"
        raise DataError(
            f"The objective must return {curve.tp.size} finite numbers, one per entry of tp, fp, fn and tn; it "
            f"returned {what}."
        )
    return values
