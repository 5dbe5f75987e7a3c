"""Share of a difference that remains among people who are alike in factors that a decision may depend on.

Both the outcome and who belongs to the group are predicted from the factors, on rows that did not teach the prediction;
what remains of the one is held against what remains of the other (Robinson 1988; Chernozhukov et al. 2018). That is the
difference among people alike, averaged with overlap weights (Li, Morgan & Zaslavsky 2018): those count most of whom
there are as many inside the group as outside. It does not depend on classes of the factors.

What both predictions miss is taken for a difference, by their product; what they learn of chance makes it scatter. So
they follow the rows closer than what predicts best, and are averaged over more than one division of the rows; how far
divisions are apart adds to the error (Chernozhukov et al. 2018, definition 3.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bdt_core.result import Result

_FOLDS, _DIVISIONS = 5, 2
_TREES, _RATE, _LEAVES = 20, 0.3, 8
_MOST_CROSSED = 5
_FEWEST_ROWS, _LEAF_SHARE = 20, 0.01
_CERTAIN = 0.95
"""Chance of belonging to the group from which on nobody like a person is left outside it."""
_LEAST_OVERLAP = 0.05
_LEAST_ROWS = 200
"""Of 60 rows divided by a factor, two in 30 were said to differ; of 200 none were said to have anybody alike."""
_LEAST_LEFT = 0.1
"""Least share of the weight that is left without one person: nothing is learnt of the scatter of so few."""

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class AlikeComparison(Result):
    """A difference between a group and everybody else, and what remains of it among people alike.

    Differences are group less everybody else, in units of the outcome, each with an interval of `confidence`:
    `difference` among all people, `remaining` among people alike in the factors, `explained` the one less the other.
    `p_value` is two-sided, of no difference among people alike. `overlap` is the share of the group's rows of whom
    there are people alike outside it.

    `robustness` says how strong an unseen factor must be to explain what remains: the share that it would have to
    account for of what is left both of the outcome and of who belongs to the group (Cinelli & Hazlett 2020); 0 to 1.
    `robustness_low` is the same to bring the interval to 0; 0 where it holds 0 already.
    """

    difference: float
    low: float
    high: float
    explained: float
    explained_low: float
    explained_high: float
    remaining: float
    remaining_low: float
    remaining_high: float
    p_value: float
    confidence: float
    overlap: float
    robustness: float
    robustness_low: float
    rows: int
    rows_inside: int

    @property
    def has_people_alike(self) -> bool:
        """Whether enough of the group have people alike outside it for what remains to be about the group.

        Of few rows nobody can tell: who is alike is not learnt from them, where factors say who is in the group.
        """
        return self.overlap >= _LEAST_OVERLAP and self.rows >= _LEAST_ROWS

    def people_harmed(self, rows: int) -> float:
        """How many more of some rows of the group were harmed than among people alike: of those who have such."""
        return rows * self.overlap * self.remaining


@dataclass(frozen=True)
class _Ends:
    """How many standard errors an interval reaches towards no difference, and away from it."""

    near: float
    far: float

    @classmethod
    def of(cls, alpha: float, reach: float | None) -> _Ends:
        far = float(ndtri(1.0 - alpha / 2.0))
        return cls(far if reach is None else reach, far)

    def around(self, difference: float, error: float) -> tuple[float, float]:
        below, above = (self.near, self.far) if difference >= 0 else (self.far, self.near)
        return difference - below * error, difference + above * error


@dataclass(frozen=True)
class Factors:
    """Rows with an outcome and the factors that it may depend on.

    `values`, shape (n, k), are numbers, NaN where missing; where `categorical`, codes. `units` is the person of each
    row, where persons have several: they are kept together and counted as one. `seed` is of the division into folds.
    """

    values: Vector
    categorical: tuple[bool, ...]
    outcome: Vector
    units: NDArray[np.int64] | None = None
    seed: int = 0

    @cached_property
    def _persons(self) -> NDArray[np.int64]:
        """The person of each row, from 0 on."""
        return np.arange(self.outcome.size) if self.units is None else np.unique(self.units, return_inverse=True)[1]

    @cached_property
    def _divisions(self) -> tuple[NDArray[np.int64], ...]:
        """The fold of each row, of each division into folds; all rows of a person are in one fold."""
        rng, persons = np.random.default_rng(self.seed), int(self._persons.max()) + 1
        return tuple((rng.permutation(persons) % _FOLDS)[self._persons] for _ in range(_DIVISIONS))

    @cached_property
    def _taught_by(self) -> Vector:
        """The factors, and of numbers the products of their ranks, two by two.

        A tree divides by one factor at a time, and does not begin where no single one tells anything: where those high
        in both, or low in both, are not like the others.
        """
        numbers = [one for one, is_code in zip(self.values.T, self.categorical, strict=True) if not is_code]
        if len(numbers) > _MOST_CROSSED:
            return self.values
        from scipy.stats import rankdata  # half a second, for who only reads what was compared

        ranks = [rankdata(one, nan_policy="omit") / max(np.isfinite(one).sum(), 1) - 0.5 for one in numbers]
        return np.column_stack([self.values, *(one * other for one, other in combinations(ranks, 2))])

    @cached_property
    def unexplained(self) -> Vector:
        """The outcome less what the factors let expect: the same for every group."""
        mean: Vector = self._unexplained.mean(axis=0)
        return mean

    @cached_property
    def _unexplained(self) -> Vector:
        return self.outcome - self._expected(self.outcome)

    def with_factor(self, inside: NDArray[np.bool_]) -> Factors:
        """The same rows, in which people are alike only if both are in a group, or neither."""
        values = np.column_stack([self.values, inside.astype(np.float64)])
        return replace(self, values=values, categorical=(*self.categorical, False))

    def in_all(
        self, inside: NDArray[np.bool_], *, alpha: float = 0.05, reach: float | None = None
    ) -> tuple[float, float, float]:
        """The difference of a group from everybody else, whatever the factors say, with its interval.

        Parameters and errors are those of `compare`, of which it is the part that needs no prediction.
        """
        difference, influence = self._difference(inside)
        return difference, *_Ends.of(alpha, reach).around(difference, self._error(influence))

    def compare(self, inside: NDArray[np.bool_], *, alpha: float = 0.05, reach: float | None = None) -> AlikeComparison:
        """Hold a group against everybody else, and against people like them.

        Parameters
        ----------
        inside : bool array, shape (n,)
            Who belongs to the group; some, and not all.
        alpha : float, default 0.05
            Intervals have confidence 1 - alpha.
        reach : float, optional
            How many standard errors intervals reach towards no difference: more than the normal quantile of one
            comparison, where the group was chosen among many because it differs.

        Returns
        -------
        AlikeComparison

        Raises
        ------
        ValueError
            All rows are on one side.

        Examples
        --------
        Those with the factor have the outcome more often, and are in the group more often; within both, the group
        makes no difference.

        >>> factor = np.repeat([0.0, 1.0], 1000)
        >>> inside = np.concatenate([np.arange(1000) % 4 == 0, np.arange(1000) % 4 > 0])
        >>> outcome = np.concatenate([np.arange(1000) // 4 % 5 == 0, np.arange(1000) // 4 % 5 > 1]).astype(float)
        >>> found = Factors(factor[:, None], (False,), outcome).compare(inside)
        >>> round(found.difference, 2), round(abs(found.remaining), 2)
        (0.2, 0.0)
        """
        raw, raw_influence = self._difference(inside)
        group = inside.astype(np.float64)
        chances = np.clip(self._expected(group), 0.0, 1.0)
        chance = chances.mean(axis=0)
        left = group - chance
        among = float(left @ left)
        remaining = float(left @ self.unexplained) / among
        influence = self._left_out(left * (self.unexplained - remaining * left) / among, np.square(left) / among)
        by_division = [one @ other / (one @ one) for one, other in zip(group - chances, self._unexplained, strict=True)]
        scatter = float(np.std(by_division))
        error = math.hypot(self._error(influence), scatter)
        ends = _Ends.of(alpha, reach)
        statistic = abs(remaining) / error if error > 0 else math.inf
        raw_error, explained_error = (
            self._error(raw_influence),
            math.hypot(self._error(raw_influence - influence), scatter),
        )
        explained = raw - remaining
        low, high = ends.around(raw, raw_error)
        remaining_low, remaining_high = ends.around(remaining, error)
        return AlikeComparison(
            difference=raw,
            low=low,
            high=high,
            explained=explained,
            explained_low=explained - ends.far * explained_error,
            explained_high=explained + ends.far * explained_error,
            remaining=remaining,
            remaining_low=remaining_low,
            remaining_high=remaining_high,
            p_value=float(2.0 * ndtr(-statistic)),
            confidence=1.0 - alpha,
            overlap=float((chance[inside] <= _CERTAIN).mean()),
            robustness=_robustness(statistic, group.size),
            robustness_low=_robustness(max(statistic - ends.near, 0.0), group.size),
            rows=group.size,
            rows_inside=int(inside.sum()),
        )

    def _difference(self, inside: NDArray[np.bool_]) -> tuple[float, Vector]:
        """The difference from everybody else, and the influence of each row on it."""
        rows_inside = int(inside.sum())
        if rows_inside in (0, inside.size):
            raise ValueError("a group needs people inside and outside")
        share = rows_inside / inside.size
        mean_inside, mean_outside = self.outcome[inside].mean(), self.outcome[~inside].mean()
        apart = self.outcome - np.where(inside, mean_inside, mean_outside)
        return float(mean_inside - mean_outside), (inside - share) * apart / (inside.size * share * (1.0 - share))

    def _left_out(self, influence: Vector, weight: Vector) -> Vector:
        """How far the estimate moves without the person of a row: its influence, more the more weight the person has.

        The jackknife: of few people in the group, each moves the estimate by more than the first order says.
        """
        weights = np.bincount(self._persons, weights=weight)
        moved: Vector = influence / np.maximum(1.0 - weights, _LEAST_LEFT)[self._persons]
        return moved

    def _error(self, influence: Vector) -> float:
        """Standard error from influence values: those of a person are added up before they are squared."""
        of_persons = np.bincount(self._persons, weights=influence)
        return math.sqrt(float(of_persons @ of_persons))

    def _expected(self, target: Vector) -> Vector:
        """What the factors let expect of each row, learnt from the rows of the other folds; of each division."""
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):  # threads that wait for one another cost more than such small trees take
            return self._taught(target)

    def _taught(self, target: Vector) -> Vector:
        return np.stack([self._of_other_folds(target, folds) for folds in self._divisions])

    def _of_other_folds(self, target: Vector, folds: NDArray[np.int64]) -> Vector:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        categorical = np.zeros(self._taught_by.shape[1], dtype=bool)
        categorical[: len(self.categorical)] = self.categorical
        expected = np.empty(target.size)
        two_valued = np.isin(target, (0.0, 1.0)).all()
        for fold in range(_FOLDS):
            held = folds == fold
            if not held.any():
                continue
            taught, values = target[~held], self._taught_by
            known = ~np.isnan(values[~held]).all(axis=0)  # a factor of which no value is known tells nothing
            if taught.size < 2 * _FEWEST_ROWS or (taught == taught[0]).all() or not known.any():
                expected[held] = taught.mean()
                continue
            settings = {
                "max_iter": _TREES,
                "learning_rate": _RATE,
                "max_leaf_nodes": _LEAVES,
                "min_samples_leaf": max(_FEWEST_ROWS, int(_LEAF_SHARE * taught.size)),
                "l2_regularization": 1.0,
                "early_stopping": False,
                "categorical_features": categorical[known],
                "random_state": self.seed,
            }
            if two_valued:
                learner = HistGradientBoostingClassifier(**settings).fit(values[~held][:, known], taught)
                expected[held] = learner.predict_proba(values[held][:, known])[:, 1]
            else:
                learner = HistGradientBoostingRegressor(**settings).fit(values[~held][:, known], taught)
                expected[held] = learner.predict(values[held][:, known])
        return expected


def _robustness(statistic: float, rows: int) -> float:
    """Robustness value of a t statistic (Cinelli & Hazlett 2020, equation 19)."""
    if not math.isfinite(statistic):
        return 1.0
    f = statistic / math.sqrt(rows)
    return 0.5 * (math.sqrt(f**4 + 4.0 * f**2) - f**2)
