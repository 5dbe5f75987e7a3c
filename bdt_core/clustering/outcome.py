"""The bias variable as whole numbers, so that what is decided on it does not depend on units or on row order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import row_kernels
from bdt_core.table.encoding import exact_sum

LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Moments:
    """Number, sum and sum of squares of some rows' whole numbers; exact."""

    rows: int
    total: int
    squares: int

    @classmethod
    def of(cls, values: npt.NDArray[np.int32], chosen: npt.NDArray[np.bool_] | None = None) -> Moments:
        """Count and add up the chosen values, or all."""
        everything = np.ones(len(values), dtype=np.bool_) if chosen is None else chosen
        rows, total, high, low = row_kernels.moments(values, everything)
        return cls(int(rows), int(total), (int(high) << 31) + int(low))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.rows + other.rows, self.total + other.total, self.squares + other.squares)

    def __sub__(self, other: Moments) -> Moments:
        return Moments(self.rows - other.rows, self.total - other.total, self.squares - other.squares)

    @property
    def std(self) -> float:
        """Standard deviation (ddof 0)."""
        return math.sqrt((self.rows * self.squares - self.total**2) / self.rows**2)

    def gap(self, whole: Moments) -> Fraction:
        """Mean of these rows minus the mean of all other rows; 0 when there are none."""
        others = whole.rows - self.rows
        if others == 0:
            return Fraction(0)
        return Fraction(whole.rows * self.total - self.rows * whole.total, self.rows * others)


def whole_numbers(y: npt.NDArray[np.float64], better: str) -> npt.NDArray[np.int32]:
    """The bias variable, higher is worse, moved to mean 0 and stretched to the range of int32.

    Values of y that are equal stay equal; steps are 2**-31 of the largest distance from the mean.

    Parameters
    ----------
    y : float64 ndarray of shape (n,)
    better : {"lower", "higher"}
    """
    whole = y - y.min()
    largest = whole.max()
    if largest > 0.0:
        whole /= largest
    mean = exact_sum(whole) / len(whole)
    whole -= mean
    unit = max(mean, float(whole.max())) / LARGEST  # the smallest value was 0
    if unit > 0.0:
        whole /= unit
    np.rint(whole, out=whole)
    numbers: npt.NDArray[np.int32] = whole.astype(np.int32)
    return np.negative(numbers, out=numbers) if better == "higher" else numbers
