"""Sums that do not depend on the order of the values: they are rounded to whole steps and added as integers."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

_LARGEST_POWER = 1000
"""Powers of two beyond this one are multiplied by in two goes."""


def mean_and_std(values: npt.NDArray[np.float64]) -> tuple[float, float]:
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
    if len(values) == 0:
        return 0.0, 0.0
    return mean_and_std_between(values, float(values.min()), float(values.max()))


def mean_and_std_between(values: npt.NDArray[np.float64], low: float, high: float) -> tuple[float, float]:
    """The same when the smallest and the largest value are known."""
    if low == high:
        return low, 0.0
    size = len(values)
    mean = _exact_total(values, high - low, low=low) / size
    farthest = max(mean, high - low - mean)
    squares = _exact_total(values, farthest**2, low=low, mean=mean, squared=True)
    return low + mean, math.sqrt(squares / size)


def exact_sum(values: npt.NDArray[np.float64]) -> float:
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
    return _exact_total(values, float(max(values.max(initial=0.0), -values.min(initial=0.0))))


def _exact_total(
    values: npt.NDArray[np.float64], largest: float, low: float = 0.0, mean: float = 0.0, squared: bool = False
) -> float:
    """Sum of the distances from low + mean, or of their squares, none beyond ``largest`` (but for rounding)."""
    if largest == 0.0:
        return 0.0
    from bdt_core.table.kernels import whole_steps

    exponent = math.frexp(largest)[1] + math.frexp(len(values))[1] - 61
    most = min(-exponent, _LARGEST_POWER)
    powers = math.ldexp(1.0, most), math.ldexp(1.0, -exponent - most)
    values = np.require(values, np.float64, ["C_CONTIGUOUS", "WRITEABLE"])  # what the loop is compiled for
    return math.ldexp(float(whole_steps(values, low, mean, squared, *powers)), exponent)
