"""What every threshold of a group attains, from one sort of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import Level, level_order
from bdt_core.metrics import CRITERIA

Floats = NDArray[np.float64]
Constraint = Literal["demographic_parity", "equal_opportunity", "equalized_odds", "predictive_parity"]
Gain = Callable[[Floats, Floats, Floats, Floats], Any]
Objective = Literal["accuracy", "balanced_accuracy"] | Gain

RATES_OF: dict[str, tuple[str, ...]] = {name: CRITERIA[name].rates for name in get_args(Constraint)}
"""The rates that each constraint asks to be equal in all groups."""
OBJECTIVES = ("accuracy", "balanced_accuracy")


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
    with np.errstate(divide="ignore", invalid="ignore"):
        if name == "selection_rate":
            return np.asarray((tp + fp) / (positives + negatives))
        if name == "true_positive_rate":
            return np.asarray(tp / np.float64(positives))
        if name == "false_positive_rate":
            return np.asarray(fp / np.float64(negatives))
        if name == "positive_predictive_value":
            return np.asarray(tp / (tp + fp))
    assert name == "accuracy"
    return np.asarray((tp + negatives - fp) / (positives + negatives))


def group_curves(
    scores: Floats,
    labels: NDArray[np.bool_],
    codes: NDArray[np.int64],
    levels: tuple[Level, ...],
    weights: Floats | None = None,
) -> list[Curve]:
    """Sort the scores of every group once.

    Parameters
    ----------
    scores, labels, codes : ndarray of shape (n,)
        Finite scores, positive labels, and the position of each row's group in `levels`.
    levels : tuple
    weights : ndarray of shape (n,), optional

    Returns
    -------
    list of Curve
        One per group that has rows (or weight), numbers before text.
    """
    by_group = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(levels)))
    curves = []
    for i in sorted(range(len(levels)), key=lambda i: level_order(levels[i])):
        rows = by_group[ends[i - 1] if i else 0 : ends[i]]
        if rows.size and (weights is None or weights[rows].any()):
            curves.append(_curve(levels[i], scores[rows], labels[rows], None if weights is None else weights[rows]))
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
    if not callable(objective) and objective not in OBJECTIVES:
        raise SpecError(
            f'Unknown objective "{objective}". {did_you_mean(str(objective), OBJECTIVES)} Or give a function of '
            "(tp, fp, fn, tn)."
        )
    if not 0.0 <= tolerance <= 1.0:
        raise SpecError(f"tolerance must lie between 0 and 1; found {tolerance}.")
    if randomized and constraint == "predictive_parity":
        raise SpecError(
            "predictive_parity cannot be randomized: precision does not mix linearly. Set randomized=False."
        )


def _called(objective: Gain, curve: Curve) -> Floats:
    found: ArrayLike = objective(curve.tp, curve.fp, curve.positives - curve.tp, curve.negatives - curve.fp)
    values = np.asarray(found, dtype=np.float64)
    if values.shape != curve.tp.shape or not np.isfinite(values).all():
        what = "missing or infinite ones" if values.shape == curve.tp.shape else f"an array of shape {values.shape}"
        raise DataError(
            f"The objective must return {curve.tp.size} finite numbers, one per entry of tp, fp, fn and tn; it "
            f"returned {what}."
        )
    return values
