"""Means and their differences, of the same people or of different ones.

An estimate knows how far its ends lie at any critical value, and what each person adds to its error. The difference of
two of them, with the lower and upper arms l and u of each and their correlation r, has

    lower arm^2 = l1^2 - 2 r l1 u2 + u2^2
    upper arm^2 = u1^2 - 2 r u1 l2 + l2^2

(MOVER). With Wilson's limits and one row per person that is Newcombe's interval for paired proportions; without
correlation it is his interval for independent ones. A difference is an estimate again, so that a gap between groups
before and after is compared in the same way. Where the same people are measured twice, the correlation comes from
them: what the two have in common cancels.

References
----------
Newcombe, R. G. (1998). Improved confidence intervals for the difference between binomial proportions based on paired
data. Statistics in Medicine 17, 2635-2650, method 10.
Zou, G. Y., Donner, A. (2008). Construction of confidence limits about effect measures: a general approach. Statistics
in Medicine 27, 1693-1702.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference.persons import PersonSums, Steps, shrink_of_mean, spread_of
from bdt_core.inference.proportions import wilson_limits
from bdt_core.inference.summaries import Summary

Floats = NDArray[np.float64]


class MeanEstimate(Protocol):
    """A number that is known up to chance.

    Attributes
    ----------
    value : float
    by_person : ndarray of float64 or None
        What each person adds to its error, persons having the same numbers in all estimates; None where nobody can be
        in two of them.
    """

    @property
    def value(self) -> float: ...
    @property
    def by_person(self) -> Floats | None: ...

    def arms(self, critical: float) -> tuple[float, float]:
        """How far the lower and the upper end lie from the value, at a quantile of the standard normal distribution."""


class GroupMean(MeanEstimate, Protocol):
    """The mean of a group's people."""

    @property
    def people(self) -> int: ...


@dataclass(frozen=True, eq=False)
class MeanOfRows:
    """The mean of at least two rows of a group, each of which is a person; a rate where the values are 0 and 1."""

    rows: Summary
    is_rate: bool
    by_person: None = None

    @cached_property
    def value(self) -> float:
        return self.rows.mean

    @property
    def people(self) -> int:
        return self.rows.rows

    def arms(self, critical: float) -> tuple[float, float]:
        n = self.rows.rows
        if self.is_rate:
            return _wilson_arms(self.value, float(n), critical)
        error = math.sqrt(self.rows.mean_and_variance()[1] / n) * self.rows.unit
        return _t_arms(error, n - 1.0, critical)


@dataclass(frozen=True, eq=False)
class MeanOfPersons:
    """The mean of the rows of a group's persons, at least two; a rate where the values, and the steps, are 0 and 1."""

    sums: PersonSums
    steps: Steps
    is_rate: bool

    @cached_property
    def value(self) -> float:
        return self.steps.low + self.steps.length * float(self.sums.steps.sum() / self.sums.rows.sum())

    @property
    def people(self) -> int:
        return self.sums.persons

    @cached_property
    def by_person(self) -> Floats:
        sums, n = self.sums, float(self.sums.rows.sum())
        persons = int(np.count_nonzero(sums.rows))
        correction = math.sqrt(persons / max(persons - 1, 1))  # the mean is its persons' own
        added: Floats = correction * self.steps.length * (sums.steps - sums.steps.sum() / n * sums.rows) / n
        return added

    def effective_rows(self, critical: float) -> float:
        """Rows of different persons that would say as much."""
        n = int(self.sums.rows.sum())
        if self.sums.rows.max() <= 1:
            return float(n)
        return n / shrink_of_mean(self.sums, float(self.sums.steps.sum()), _alpha(critical))

    def arms(self, critical: float) -> tuple[float, float]:
        if self.is_rate:
            return _wilson_arms(self.value, self.effective_rows(critical), critical)
        df = spread_of(self.sums, PersonSums(np.zeros_like(self.sums.rows), np.zeros_like(self.sums.steps))).df
        return _t_arms(math.sqrt(float(np.square(self.by_person).sum())), df, critical)


@dataclass(frozen=True, eq=False)
class KnownMean:
    """A mean whose people are elsewhere: all that is known is its interval.

    `critical` is the quantile of the standard normal distribution that the interval was made with. A person may have
    several rows.
    """

    value: float
    low: float
    high: float
    critical: float
    people: int
    rows: int
    by_person: None = None

    def arms(self, critical: float) -> tuple[float, float]:
        stretch = critical / self.critical
        return stretch * (self.value - self.low), stretch * (self.high - self.value)


@dataclass(frozen=True, eq=False)
class MeanOfGroups:
    """The mean of several groups of different people together, from theirs."""

    groups: Sequence[KnownMean]
    by_person: None = None

    @property
    def people(self) -> int:
        return sum(one.people for one in self.groups)

    @property
    def value(self) -> float:
        return sum(one.rows * one.value for one in self.groups) / self._rows

    @property
    def _rows(self) -> int:
        return sum(one.rows for one in self.groups)

    def arms(self, critical: float) -> tuple[float, float]:
        arms = [(one.rows / self._rows, one.arms(critical)) for one in self.groups]
        low, high = (math.sqrt(sum((share * both[end]) ** 2 for share, both in arms)) for end in (0, 1))
        return low, high


@dataclass(frozen=True, eq=False)
class Difference:
    """One estimate less another; `paired` allows for what persons have in common in both."""

    first: MeanEstimate
    other: MeanEstimate
    paired: bool = True

    @cached_property
    def value(self) -> float:
        return self.first.value - self.other.value

    @cached_property
    def by_person(self) -> Floats | None:
        if self.first.by_person is None or self.other.by_person is None:
            return None
        return self.first.by_person - self.other.by_person

    def arms(self, critical: float) -> tuple[float, float]:
        (low, high), (other_low, other_high) = self.first.arms(critical), self.other.arms(critical)
        r = self.correlation(critical)
        return _together(low, other_high, r), _together(high, other_low, r)

    def interval(self, critical: float) -> tuple[float, float]:
        """Both ends, at a quantile of the standard normal distribution."""
        low, high = self.arms(critical)
        return self.value - low, self.value + high

    def correlation(self, critical: float) -> float:
        """How far chance moves both the same way; of rates less half a person, as Newcombe has it, and not below 0."""
        a, b = self.first.by_person, self.other.by_person
        if not self.paired or a is None or b is None:
            return 0.0
        size = math.sqrt(float(np.square(a).sum()) * float(np.square(b).sum()))
        r = min(max(float((a * b).sum()) / size, -1.0), 1.0) if size > 0.0 else 0.0
        first, other = self.first, self.other
        if r <= 0.0 or not isinstance(first, MeanOfPersons) or not isinstance(other, MeanOfPersons):
            return r
        if not first.is_rate or not other.is_rate:
            return r
        n = min(first.effective_rows(critical), other.effective_rows(critical))
        spread = math.sqrt(first.value * (1.0 - first.value) * other.value * (1.0 - other.value))
        return max(r - 0.5 / (n * spread), 0.0)


def critical_value(alpha: float, statements: int, reach: float = 0.0) -> float:
    """How many standard errors an interval must extend, to hold with all others at once (Bonferroni).

    `alpha` is the chance that any of the `statements` misses; `reach` are the standard errors that one must extend
    alone, where a search has chosen it among many.
    """
    alone = max(float(-special.ndtri(alpha / 2.0)), reach)
    return float(-special.ndtri(special.ndtr(-alone) / statements))


def _together(arm: float, other: float, r: float) -> float:
    return math.sqrt(max(arm * arm - 2.0 * r * arm * other + other * other, 0.0))


def _wilson_arms(rate: float, rows: float, critical: float) -> tuple[float, float]:
    low, high = wilson_limits(np.asarray(rate * rows), np.asarray(rows), critical)
    return rate - min(float(low), rate), max(float(high), rate) - rate


def _t_arms(error: float, df: float, critical: float) -> tuple[float, float]:
    arm = float(-special.stdtrit(df, 0.5 * _alpha(critical))) * error
    return arm, arm


def _alpha(critical: float) -> float:
    return 2.0 * float(special.ndtr(-critical))
