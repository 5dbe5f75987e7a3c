"""A threshold per group that makes a rate equal in all groups at the least cost, found exactly."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness.coding import Level
from bdt_core.inference._checks import finite_vector
from bdt_core.metrics import shown_rates
from bdt_core.mitigation.checks import coded, quoted, same_length
from bdt_core.mitigation.curves import (
    RATES_OF,
    Constraint,
    Curve,
    Floats,
    Objective,
    checked_curves,
    checked_rates,
    checked_settings,
    gains,
    objective_value,
    rate_of,
)
from bdt_core.mitigation.mixtures import best_mixtures
from bdt_core.mitigation.sweep import (
    TOLERANCES,
    Choice,
    FrontierPoint,
    OneRate,
    ThresholdSearch,
    TwoRates,
    frontier_points,
)
from bdt_core.mitigation.threshold_notes import threshold_notes


class GroupThresholds(BaseEstimator):  # type: ignore[misc]
    """Thresholds per group under a fairness constraint.

    Every threshold of every group is known from one sort of its scores; the choice that maximises the objective
    with the constrained rate within the tolerance of all groups is found exactly, by a sweep over the sorted rates.
    The rule needs the group of every person at the time of decision.

    Parameters
    ----------
    constraint : {"demographic_parity", "equal_opportunity", "equalized_odds", "predictive_parity"}
        Equal selection rates; true positive rates; true and false positive rates; precisions.
    tolerance : float
        Largest difference of the constrained rate between any two groups, on the rows of the fit; 0 to 1. With
        `randomized` of the expected rate.
    objective : {"accuracy", "balanced_accuracy"} or callable
        What is maximised, over all rows. A function of arrays (tp, fp, fn, tn) returns what the decisions of one
        group are worth, such as a profit, one number per entry; the groups' values are added up. With
        `randomized` it must be linear in the counts.
    randomized : bool
        Draw lots between two or more thresholds of a group where that serves the objective (Hardt, Price & Srebro
        2016). Two people with the same score and group can then be treated differently.

    Attributes
    ----------
    groups_ : tuple
        Groups, numbers before text.
    thresholds_ : dict of group to float
        Selected is who scores at or above. Infinite: nobody; minus infinity: everybody. NaN where lots are drawn.
    mixtures_ : dict of group to tuple of (threshold, chance)
        One threshold with chance 1 unless `randomized`.
    gap_ : float
        Largest difference of a constrained (expected) rate on the rows of the fit; smaller is fairer.
    objective_ : float
        The (expected) objective on the rows of the fit.
    smallest_gap_ : float
        The smallest tolerance that could have been met.
    table_ : DataFrame
        One line per group: rows, positives, threshold, (expected) rates, and the share of its most frequent score.
    notes_ : tuple of str
        What a person should know before using the thresholds.

    Notes
    -----
    Rows of a group with the same score are never separated unless lots are drawn, so a group's decisions are as
    coarse as its scores. Of equally good choices the one with the smallest gap is taken, then the one with the
    lowest rates, then the highest thresholds; neither the order of rows nor that of groups matters.

    References
    ----------
    Hardt, M., Price, E., Srebro, N. (2016). Equality of opportunity in supervised learning. NeurIPS 29.

    Examples
    --------
    >>> scores = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]
    >>> labels = [0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1]
    >>> group = ["a"] * 8 + ["b"] * 8
    >>> model = GroupThresholds("demographic_parity", tolerance=0.0).fit(scores, labels, group)
    >>> model.thresholds_, model.gap_, model.objective_
    ({'a': 4.0, 'b': 4.0}, 0.0, 0.875)
    >>> model.predict([4, 3], ["a", "b"]).tolist()
    [1, 0]

    The price of fairness, and lots where they serve the objective:

    >>> [(one.gap, one.objective) for one in model.frontier()]
    [(0.0, 0.875)]
    >>> drawn = GroupThresholds("equalized_odds", randomized=True).fit(scores, labels, group)
    >>> drawn.selection_chance([4, 3], ["a", "b"]).round(2).tolist()
    [0.54, 0.25]
    """

    def __init__(
        self,
        constraint: Constraint = "demographic_parity",
        *,
        tolerance: float = 0.01,
        objective: Objective = "accuracy",
        randomized: bool = False,
    ) -> None:
        self.constraint = constraint
        self.tolerance = tolerance
        self.objective = objective
        self.randomized = randomized

    def fit(
        self,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Find the thresholds.

        Parameters
        ----------
        scores : array of shape (n,)
            Finite numbers; higher means that a positive label is more likely.
        labels : array of shape (n,)
            1 or True for a positive label, 0 or False for a negative one.
        group : array of shape (n,)
            The group of each row; none missing.
        sample_weight : array of shape (n,), optional
            How many rows each one stands for, 0 or more.

        Returns
        -------
        GroupThresholds
            Itself.

        Raises
        ------
        SpecError
            A setting that is not what it can be, or a tolerance that no thresholds meet; the message gives the
            smallest that some meet.
        DataError
            Missing scores, labels or groups, labels with other values, one group only, constant scores, or a group
            in which the constrained rate is undefined.
        """
        checked_settings(self.constraint, float(self.tolerance), self.objective, self.randomized)
        if labels is None or group is None:
            lacking = "labels, whether each outcome was positive" if labels is None else "the group of each row"
            raise DataError(f"GroupThresholds.fit takes scores, labels and group, and was not given {lacking}.")
        curves = checked_curves(scores, labels, group, sample_weight)
        checked_rates(curves, self.constraint)
        best = self._search(curves)
        self._curves = curves
        self._gains = gains(curves, self.objective)
        self.groups_ = tuple(one.group for one in curves)
        self.smallest_gap_ = best.smallest_gap()
        if self.randomized:
            chosen = best_mixtures(curves, self._gains, RATES_OF[self.constraint], float(self.tolerance))
            points, chances = chosen.points, chosen.chances
        else:
            choice = self._optimum(best)
            points = tuple(np.array([i]) for i in choice.points)
            chances = tuple(np.ones(1) for _ in choice.points)
        self._describe(points, chances)
        return self

    def predict(
        self, scores: ArrayLike, group: ArrayLike, random_state: int | np.random.Generator | None = None
    ) -> NDArray[np.int64]:
        """Decide: 1 for selected, 0 for not.

        Parameters
        ----------
        scores, group : arrays of shape (n,)
        random_state : int or Generator
            Needed where lots are drawn: one per row, in the order of the rows.

        Returns
        -------
        ndarray of shape (n,), int64

        Raises
        ------
        NotFittedError
        DataError
            A group that was not in the fit, or a missing score.
        SpecError
            No `random_state` where lots are drawn.
        """
        chance = self.selection_chance(scores, group)
        if not any(len(one) > 1 for one in self.mixtures_.values()):
            return chance.astype(np.int64)
        if random_state is None:
            raise SpecError("These thresholds draw lots: give predict a random_state, such as random_state=0.")
        lots = np.random.default_rng(random_state).random(chance.size)
        return (lots < chance).astype(np.int64)

    def selection_chance(self, scores: ArrayLike, group: ArrayLike) -> Floats:
        """Chance that each row is selected: 0 or 1, or between where lots are drawn.

        Parameters
        ----------
        scores, group : arrays of shape (n,)

        Returns
        -------
        ndarray of shape (n,), float64

        Raises
        ------
        NotFittedError, DataError
            As `predict`.
        """
        if not hasattr(self, "mixtures_"):
            raise NotFittedError("This GroupThresholds instance is not fitted yet: call fit first.")
        values = finite_vector(scores, "Scores")
        groups = coded(group, "groups")
        same_length(scores=values.size, groups=groups.codes.size)
        unseen = [str(one) for one in groups.levels if one not in self.mixtures_]
        if unseen:
            raise DataError(
                f"No threshold is known for {quoted(unseen)}: the fit had "
                f"{quoted([str(one) for one in self.groups_])}. Fit on rows of every group, or "
                "decide on these rows in another way."
            )
        chance = np.zeros(values.size)
        for code, level in enumerate(groups.levels):
            rows = groups.codes == code
            for threshold, share in self.mixtures_[level]:
                chance[rows] += share * (values[rows] >= threshold)
        return np.minimum(chance, 1.0)

    def frontier(self, tolerances: tuple[float, ...] = TOLERANCES) -> list[FrontierPoint]:
        """The best objective at falling tolerances, without drawing lots.

        Each point is the exact optimum at its gap. Starts with free thresholds; a tolerance that an earlier point
        keeps already gives no new one, nor does one that cannot be met.

        Parameters
        ----------
        tolerances : tuple of float

        Returns
        -------
        list of FrontierPoint
            By falling gap.

        Raises
        ------
        NotFittedError
            `fit` comes first.
        """
        if not hasattr(self, "mixtures_"):
            raise NotFittedError("This GroupThresholds instance is not fitted yet: call fit first.")
        return frontier_points(self._curves, self._search(self._curves), self.objective, tolerances)

    def _search(self, curves: list[Curve]) -> ThresholdSearch:
        names = RATES_OF[self.constraint]
        worth = gains(curves, self.objective)
        if len(names) == 1:
            return OneRate([one.rate(names[0]) for one in curves], worth)
        return TwoRates([(one.rate(names[0]), one.rate(names[1])) for one in curves], worth)

    def _optimum(self, search: ThresholdSearch) -> Choice:
        choice = search.best(float(self.tolerance))
        if choice is None:
            raise SpecError(
                f"No thresholds bring the groups within a tolerance of {self.tolerance} for {self.constraint}. The "
                f"smallest that some meet on these rows is {_rounded_up(self.smallest_gap_)}."
            )
        return choice

    def _describe(self, points: tuple[NDArray[np.intp], ...], chances: tuple[Floats, ...]) -> None:
        lines, worth = [], 0.0
        self.mixtures_: dict[Level, tuple[tuple[float, float], ...]] = {}
        self.thresholds_: dict[Level, float] = {}
        for curve, gain, at, chance in zip(self._curves, self._gains, points, chances, strict=True):
            mixture = tuple(zip(curve.thresholds[at].tolist(), chance.tolist(), strict=True))
            self.mixtures_[curve.group] = mixture
            self.thresholds_[curve.group] = mixture[0][0] if len(mixture) == 1 else math.nan
            worth += float(gain[at] @ chance)
            tp, fp = curve.tp[at] @ chance, curve.fp[at] @ chance
            rates = {name: float(rate_of(name, tp, fp, curve.positives, curve.negatives)) for name in shown_rates()}
            threshold = self.thresholds_[curve.group]
            lines.append(
                {"group": curve.group, "rows": curve.rows, "positives": curve.positives, "threshold": threshold}
                | rates
                | {"largest_tie": curve.largest_tie}
            )
        self.table_ = pd.DataFrame(lines)
        constrained = self.table_[list(RATES_OF[self.constraint])].to_numpy()
        self.gap_ = float((constrained.max(axis=0) - constrained.min(axis=0)).max())
        self.objective_ = objective_value(self._curves, self.objective, worth)
        self.notes_ = tuple(threshold_notes(self._curves, self.table_, self.mixtures_))


def _rounded_up(x: float) -> float:
    return math.ceil(x * 1e6) / 1e6
