"""The bias variable as whole numbers, so that what is decided on it does not depend on units or on row order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import row_kernels
from bdt_core.inference.exact_sums import Floats, Span, SumUnit, span_of, step_of_values

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class WholeMoments:
    """Number, sum and sum of squares of some rows' whole numbers; exact."""

    rows: int
    total: int
    squares: int

    @classmethod
    def of(cls, values: npt.NDArray[np.int32], chosen: npt.NDArray[np.bool_] | None = None) -> WholeMoments:
        """Count and add up the chosen values, or all."""
        everything = np.ones(len(values), dtype=np.bool_) if chosen is None else chosen
        rows, total, high, low = row_kernels.moments(values, everything)
        return cls(int(rows), int(total), (int(high) << 31) + int(low))

    def __add__(self, other: WholeMoments) -> WholeMoments:
        return WholeMoments(self.rows + other.rows, self.total + other.total, self.squares + other.squares)

    def __sub__(self, other: WholeMoments) -> WholeMoments:
        return WholeMoments(self.rows - other.rows, self.total - other.total, self.squares - other.squares)

    @property
    def std(self) -> float:
        """Standard deviation (ddof 0)."""
        return math.sqrt((self.rows * self.squares - self.total**2) / self.rows**2)

    def gap(self, whole: WholeMoments) -> Fraction:
        """Mean of these rows minus the mean of all other rows; 0 when there are none."""
        others = whole.rows - self.rows
        if others == 0:
            return Fraction(0)
        return Fraction(whole.rows * self.total - self.rows * whole.total, self.rows * others)


@dataclass(frozen=True)
class WholeScale:
    """How a bias variable becomes whole numbers: moved to mean 0 and stretched to the range of int32.

    Values that are equal stay equal; steps are 2**-31 of the largest distance from the mean. `span` is of all values,
    `mean` of all after they are moved and stretched to 0 to 1.
    """

    span: Span
    mean: float
    better: str

    def unit_values(self, y: Floats) -> Floats:
        """Values between 0 and 1, in memory of their own."""
        whole = y - self.span.low
        largest = self.span.high - self.span.low
        if largest > 0.0:
            whole /= largest
        return whole

    def numbers(self, y: Floats) -> npt.NDArray[np.int32]:
        """The values as whole numbers, higher is worse."""
        whole = self.unit_values(y)
        whole -= self.mean
        highest = 1.0 if self.span.high > self.span.low else 0.0
        unit = max(self.mean, highest - self.mean) / LARGEST  # the smallest value was 0
        if unit > 0.0:
            whole /= unit
        np.rint(whole, out=whole)
        numbers: npt.NDArray[np.int32] = whole.astype(np.int32)
        return np.negative(numbers, out=numbers) if self.better == "higher" else numbers

    @classmethod
    def fit(cls, span: Span, better: str, count: Callable[[WholeScale, SumUnit], int]) -> WholeScale:
        """Learn the mean; ``count`` gives the steps of all values between 0 and 1."""
        blank = cls(span, 0.0, better)
        step = step_of_values(Span(span.rows, 0.0, 1.0 if span.high > span.low else 0.0))
        return cls(span, step.total(count(blank, step)) / span.rows, better)


def whole_numbers(y: Floats, better: str) -> npt.NDArray[np.int32]:
    """The bias variable as whole numbers; see `WholeScale`."""
    return WholeScale.fit(span_of(y), better, lambda scale, step: step.count(scale.unit_values(y))).numbers(y)
