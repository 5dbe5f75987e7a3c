"""Summaries of a group's values for a comparison: counts of the values, or exact sums. Both add up over blocks.

Three looks at the values, each of which can be taken block by block: which values there are (`look`); where their
mean is, if there are too many to count them one by one (`Scale`); and then each group's counts or sums
(`summarise`). Sums are kept as integers, so that the blocks and their order do not matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference.exact_sums import Span, SumUnit, span_of, step_of_distances
from bdt_core.inference.permutation import MOST_VALUES

Floats = NDArray[np.float64]

STEPS_IN_ONE = 1 << 60
_FIRST_LOOK = 20_000
_FEW_CELLS = 32
_SMALLEST_POWER = -1000


@dataclass(frozen=True)
class SeenValues:
    """The first look at values.

    Attributes
    ----------
    span : Span
        Rows, smallest and largest.
    values : ndarray of float64 or None
        The distinct ones, rising; None when there are more than 2,000.
    """

    span: Span
    values: Floats | None

    def __add__(self, other: SeenValues) -> SeenValues:
        values = None
        if self.values is not None and other.values is not None:
            values = np.union1d(self.values, other.values)
            values = values if values.size <= MOST_VALUES else None
        return SeenValues(self.span + other.span, values)


def look(values: Floats) -> SeenValues:
    """Take the first look at a block of finite values."""
    import pandas as pd

    distinct: Floats | None = None
    if pd.unique(values[:_FIRST_LOOK]).size <= MOST_VALUES:
        distinct = np.unique(np.asarray(pd.unique(values)) + 0.0)  # adding 0 turns -0 into 0
        distinct = distinct if distinct.size <= MOST_VALUES else None
    return SeenValues(span_of(values), distinct)


@dataclass(frozen=True)
class Scale:
    """How distances from a centre are measured, so that their powers stay in range.

    Values are divided by two to the `power`, after which none is above 1. The `centre`, near the mean of all values, is
    in those units. Distances from it are divided by two to the `reach`, after which none is above 1.
    """

    power: int
    centre: float
    reach: int

    @property
    def unit(self) -> int:
        """The power of two that distances are measured in."""
        return self.power + self.reach


@dataclass(frozen=True)
class Centring:
    """The second look: the exact mean of values, to measure distances from."""

    power: int
    span: Span
    step: SumUnit

    @classmethod
    def of(cls, seen: SeenValues) -> Centring:
        largest = max(seen.span.high, -seen.span.low)
        power = max(math.frexp(largest)[1], _SMALLEST_POWER)
        span = Span(seen.span.rows, math.ldexp(seen.span.low, -power), math.ldexp(seen.span.high, -power))
        return cls(power, span, step_of_distances(span))

    def count(self, values: Floats) -> int:
        """Steps of a block's values; they add up."""
        return self.step.count(values * math.ldexp(1.0, -self.power))

    def scale(self, count: int) -> Scale:
        """The scale around the mean, from the steps of all blocks."""
        centre = self.span.low + self.step.total(count) / max(self.span.rows, 1)
        farthest = max(self.span.high - centre, centre - self.span.low)
        return Scale(self.power, centre, math.frexp(farthest)[1])


@dataclass(frozen=True)
class ValueCounts:
    """How often each value occurs in a group: as good as its rows.

    `values` rise, shape (v,), and are those of all groups; `counts` are this group's rows.
    """

    values: Floats
    counts: NDArray[np.int64]

    def __add__(self, other: ValueCounts) -> ValueCounts:
        return ValueCounts(self.values, self.counts + other.counts)

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    def without_rows(self) -> ValueCounts:
        """The summary of a group that nobody is in."""
        return ValueCounts(self.values, np.zeros_like(self.counts))

    @property
    def present(self) -> Floats:
        """The values that occur in this group."""
        return self.values[self.counts > 0]

    @property
    def low(self) -> float:
        """The smallest value; infinite in a group that nobody is in."""
        return float(self.present[0]) if self.counts.any() else math.inf

    @property
    def is_constant(self) -> bool:
        """Whether no two rows differ."""
        return self.present.size < 2

    @property
    def unit(self) -> float:
        """The power of two that distances are measured in, the same for all groups: no square leaves the range."""
        largest = max(abs(self.values[0]), abs(self.values[-1])) if self.values.size else 0.0
        return math.ldexp(1.0, math.frexp(largest)[1] - 1)

    @property
    def mean(self) -> float:
        """In the values' own units."""
        return self.mean_and_variance()[0] * self.unit

    def rows_with(self, value: float) -> int:
        """Rows of the group that hold a value."""
        return int(self.counts[self.values == value].sum())

    def mean_and_variance(self) -> tuple[float, float]:
        """Mean, and variance (ddof 1; 0 for a single row), in the unit."""
        if self.is_constant:
            return float(self.present[0] / self.unit), 0.0
        values, counts = self._in_unit()
        mean = float((values * counts).sum() / self.rows)
        return mean, float((np.square(values - mean) * counts).sum() / (self.rows - 1))

    def powers_around_mean(self) -> tuple[float, float]:
        """Sums of the squared and of the cubed distances from the mean, in the unit."""
        mean, variance = self.mean_and_variance()
        values, counts = self._in_unit()
        return variance * (self.rows - 1), float(((values - mean) ** 3 * counts).sum())

    def _in_unit(self) -> tuple[Floats, NDArray[np.int64]]:
        # Only what occurs in the group: a sum over the same terms is the same whatever other groups hold.
        present = self.counts > 0
        return self.values[present] / self.unit, self.counts[present]


@dataclass(frozen=True)
class Moments:
    """Sums over a group whose values are too many to count one by one.

    The `scale` is common to all groups; `span` has rows, smallest and largest; `sums` are of the distances from the
    centre, their squares and their cubes, in 2**-60 of the scale's unit.
    """

    scale: Scale
    span: Span
    sums: tuple[int, int, int]

    def __add__(self, other: Moments) -> Moments:
        first, second, third = (one + two for one, two in zip(self.sums, other.sums, strict=True))
        return Moments(self.scale, self.span + other.span, (first, second, third))

    @property
    def rows(self) -> int:
        return self.span.rows

    def without_rows(self) -> Moments:
        """The summary of a group that nobody is in."""
        return Moments(self.scale, Span(), (0, 0, 0))

    @property
    def low(self) -> float:
        """The smallest value; infinite in a group that nobody is in."""
        return self.span.low

    @property
    def is_constant(self) -> bool:
        """Whether no two rows differ."""
        return self.span.low >= self.span.high

    @property
    def unit(self) -> float:
        """The power of two that distances are measured in, the same for all groups."""
        return math.ldexp(1.0, self.scale.unit)

    @property
    def mean(self) -> float:
        """In the values' own units."""
        if self.is_constant:
            return self.span.low
        above = math.ldexp(self.mean_and_variance()[0], self.scale.reach)
        return math.ldexp(self.scale.centre + above, self.scale.power)

    def mean_and_variance(self) -> tuple[float, float]:
        """Mean above the centre, and variance (ddof 1; 0 for a single row), in the unit."""
        mean = float(Fraction(self.sums[0], STEPS_IN_ONE * self.rows))
        return mean, 0.0 if self.is_constant else self.powers_around_mean()[0] / (self.rows - 1)

    def powers_around_mean(self) -> tuple[float, float]:
        """Sums of the squared and of the cubed distances from the group's own mean, in the unit."""
        if self.is_constant:
            return 0.0, 0.0
        first, second, third = (Fraction(one, STEPS_IN_ONE) for one in self.sums)
        mean = first / self.rows
        squares = second - mean * first
        cubes = third - 3 * mean * second + 2 * mean**2 * first
        return max(float(squares), 0.0), float(cubes)


Summary = ValueCounts | Moments


def summarise(values: Floats, groups: NDArray[Any], n_groups: int, how: NDArray[np.float64] | Scale) -> list[Summary]:
    """Take the third look at a block: the summary of each group.

    `groups` are 0 to n_groups - 1, one for each finite value. `how` is the distinct values of all blocks, rising; or
    the scale, when they are too many.
    """
    if isinstance(how, Scale):
        return list(_moments(values, groups, n_groups, how))
    counts = _counted(groups, places_of(values, how), n_groups, how.size)
    return [ValueCounts(how, one.astype(np.int64)) for one in counts]


def _counted(groups: NDArray[Any], places: NDArray[Any], n_groups: int, n_values: int) -> NDArray[Any]:
    """How often each value occurs in each group, shape (n_groups, n_values)."""
    cells = n_groups * n_values
    if cells <= _FEW_CELLS:  # single bytes: to look at each as often as there are cells takes a quarter of the time
        cell = groups.astype(np.uint8) * np.uint8(n_values) + places.astype(np.uint8)
        return np.array([np.count_nonzero(cell == one) for one in range(cells)]).reshape(n_groups, n_values)
    return np.bincount(groups.astype(np.int64, copy=False) * n_values + places, minlength=cells).reshape(
        n_groups, n_values
    )


def places_of(values: Floats, among: Floats) -> NDArray[Any]:
    """Where each value is among distinct ones, of which it is one; of two, as of most outcomes, a comparison says it.

    Examples
    --------
    >>> places_of(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0])).astype(int).tolist()
    [1, 0, 1]
    """
    if 0 < among.size <= 2:
        return np.asarray(values != among[0])
    import pandas as pd

    # By hash: five times as fast as a search in 2,000 values.
    return np.asarray(pd.Index(among).get_indexer(pd.Index(values)))


def count_values(a: Floats, b: Floats) -> tuple[ValueCounts, ValueCounts]:
    """Two groups whose finite rows are at hand, by counts of their values, however many these are."""
    values = np.concatenate([a, b]) + 0.0  # adding 0 turns -0 into 0
    distinct = look(values).values
    if distinct is None:
        distinct = np.unique(values)
    groups = np.repeat(np.array([0, 1]), [a.size, b.size])
    in_a, in_b = summarise(values, groups, 2, distinct)
    assert isinstance(in_a, ValueCounts)
    assert isinstance(in_b, ValueCounts)
    return in_a, in_b


def _moments(values: Floats, groups: NDArray[np.int64], n_groups: int, scale: Scale) -> list[Moments]:
    from bdt_core.inference.sum_kernels import moment_steps

    rows, steps = np.zeros(n_groups, dtype=np.int64), np.zeros((n_groups, 3, 2), dtype=np.int64)
    spans = np.tile([math.inf, -math.inf], (n_groups, 1))
    shrink, enlarge = math.ldexp(1.0, -scale.power), math.ldexp(1.0, -scale.reach)
    values, groups = _writeable(values, np.float64), _writeable(groups, np.int64)
    moment_steps(values, groups, shrink, scale.centre, enlarge, rows, spans, steps)
    return [
        Moments(
            scale,
            Span(int(rows[i]), float(spans[i, 0]) + 0.0, float(spans[i, 1]) + 0.0),
            (_joined(steps[i, 0]), _joined(steps[i, 1]), _joined(steps[i, 2])),
        )
        for i in range(n_groups)
    ]


def _writeable(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """The array as what the loop is compiled for."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "WRITEABLE"])


def _joined(halves: NDArray[np.int64]) -> int:
    """Coarse steps and fine ones as one number of fine steps."""
    return (int(halves[0]) << 30) + int(halves[1])
