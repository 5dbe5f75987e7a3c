"""Sums that do not depend on the order of the values: they are rounded to whole steps and added as integers.

Sums of blocks add up to the sum of the whole, whatever the blocks are: first the `Span` of all values, from which
follows how long a `SumUnit` is; then the steps of each block, which are integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LARGEST_POWER = 1000
"""Powers of two beyond this one are multiplied by in two goes."""


@dataclass(frozen=True)
class Span:
    """How many values, the smallest and the largest; spans of blocks add up."""

    rows: int = 0
    low: float = math.inf
    high: float = -math.inf

    def __add__(self, other: Span) -> Span:
        return Span(self.rows + other.rows, min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class SumUnit:
    """The unit in which values, their distances from ``low + mean``, or the squares of these are counted.

    It is two to the `exponent`, None when all there is to add up is 0. `low` and `mean` are subtracted one after the
    other.
    """

    exponent: int | None
    low: float = 0.0
    mean: float = 0.0
    squared: bool = False

    def count(self, values: Floats) -> int:
        """How many steps the finite values of a block are in all."""
        if self.exponent is None:
            return 0
        from bdt_core.inference.sum_kernels import whole_steps

        most = min(-self.exponent, _LARGEST_POWER)
        powers = math.ldexp(1.0, most), math.ldexp(1.0, -self.exponent - most)
        values = np.require(values, np.float64, ["C_CONTIGUOUS", "WRITEABLE"])  # what the loop is compiled for
        return int(whole_steps(values, self.low, self.mean, self.squared, *powers))

    def total(self, count: int) -> float:
        """The sum that so many steps, those of all blocks, are."""
        return 0.0 if self.exponent is None else math.ldexp(float(count), self.exponent)


def span_of(values: Floats) -> Span:
    """Rows, smallest and largest of values, which are finite."""
    if len(values) == 0:
        return Span()
    return Span(len(values), float(values.min()) + 0.0, float(values.max()) + 0.0)  # adding 0 turns -0 into 0


def step_of_values(whole: Span) -> SumUnit:
    """The step for the sum of values, of which all together have this span."""
    return _step(whole.rows, max(whole.high, -whole.low, 0.0) if whole.rows else 0.0)


def step_of_distances(whole: Span) -> SumUnit:
    """The step for the sum of the distances from the smallest value."""
    return _step(whole.rows, whole.high - whole.low if whole.rows else 0.0, whole.low)


def step_of_squares(whole: Span, mean: float) -> SumUnit:
    """The step for the sum of squared distances from the mean, which lies ``mean`` above the smallest value."""
    if whole.rows == 0 or whole.low == whole.high:
        return SumUnit(None)
    farthest = max(mean, whole.high - whole.low - mean)
    return _step(whole.rows, farthest**2, whole.low, mean, squared=True)


def means_and_stds_in_blocks(
    spans: Mapping[str, Span], count: Callable[[dict[str, SumUnit]], Mapping[str, int]]
) -> dict[str, tuple[float, float]]:
    """Means and standard deviations (ddof 0) of columns whose values are in blocks; to the bit those of `mean_and_std`.

    `spans` are of all values of each column. `count` gives the counts of the columns' steps over all blocks, and is
    called twice. Both figures are 0 for a column without values.
    """
    distances = {name: step_of_distances(whole) for name, whole in spans.items()}
    counts = count(distances)
    means = {name: step.total(counts[name]) / max(spans[name].rows, 1) for name, step in distances.items()}
    squares = {name: step_of_squares(whole, means[name]) for name, whole in spans.items()}
    counts = count(squares)
    return {
        name: (whole.low + means[name], math.sqrt(squares[name].total(counts[name]) / whole.rows))
        if whole.rows
        else (0.0, 0.0)
        for name, whole in spans.items()
    }


def mean_and_std(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) that do not depend on the order of the values.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Finite.

    Examples
    --------
    >>> mean_and_std(np.array([1.0, 2.0, 3.0, 4.0]))
    (2.5, 1.118033988749895)
    """
    return mean_and_std_within(values, span_of(values))


def mean_and_std_within(values: Floats, span: Span) -> tuple[float, float]:
    """The same when the span of the values is known."""
    return means_and_stds_in_blocks({"": span}, lambda steps: {"": steps[""].count(values)})[""]


def exact_sum(values: Floats) -> float:
    """Sum that does not depend on the order of the values.

    Values are rounded to a common power of two, about n 2**-61 of the largest, and added as integers.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Finite.

    Examples
    --------
    >>> exact_sum(np.array([0.5, 0.25]))
    0.75
    """
    step = step_of_values(span_of(values))
    return step.total(step.count(values))


def _step(rows: int, largest: float, low: float = 0.0, mean: float = 0.0, *, squared: bool = False) -> SumUnit:
    """The step for so many terms, none beyond ``largest`` (but for rounding), whose sum must fit into 63 bits."""
    if largest == 0.0:
        return SumUnit(None)
    return SumUnit(math.frexp(largest)[1] + math.frexp(rows)[1] - 61, low, mean, squared)
