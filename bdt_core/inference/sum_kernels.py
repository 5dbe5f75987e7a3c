"""The compiled loops over the values of columns, serial and free of the interpreter lock.

Each has a NumPy twin in the tests that it must equal to the bit. Import this module where it is needed only:
the compiler takes a third of a second to load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

compiled = njit(nogil=True, cache=True, no_cfunc_wrapper=True)


@compiled  # type: ignore[untyped-decorator]
def whole_steps(values: Array, low: float, mean: float, squared: bool, enlarged: float, further: float) -> Any:
    """Sum of the distances from low + mean, or of their squares, in whole steps: an int64.

    Parameters
    ----------
    values : float64 array of shape (n,)
    low, mean : float
        Subtracted one after the other.
    squared : bool
    enlarged, further : float
        Powers of two to multiply by, one after the other, before rounding.
    """
    total = np.int64(0)
    for i in range(values.size):
        distance = (values[i] - low) - mean
        if squared:
            distance = distance * distance
        total += np.int64(np.rint(distance * enlarged * further))
    return total


@compiled  # type: ignore[untyped-decorator]
def standardise(values: Array, mean: float, divisor: float, enlarged: float, reduced: float, out: Array) -> None:
    """Write the standardised values, on a grid; 0 where they are missing.

    Parameters
    ----------
    values : float64 array of shape (n,)
        NaN where missing.
    mean, divisor : float
    enlarged, reduced : float
        A power of two that makes steps of the grid whole numbers, and its inverse.
    out : float32 or float64 array of shape (n,)
    """
    for i in range(values.size):
        distance = (values[i] - mean) / divisor
        steps = 0.0 if np.isnan(distance) else np.rint(distance * enlarged)
        out[i] = steps * reduced + 0.0  # adding 0 turns -0 into 0: equal rows have equal bits


@compiled  # type: ignore[untyped-decorator]
def moment_steps(
    values: Array, groups: Array, shrink: float, centre: float, enlarge: float, rows: Array, spans: Array, steps: Array
) -> None:
    """Add the first three powers of the distances from a centre to each group, in whole steps.

    Parameters
    ----------
    values : float64 array of shape (n,)
    groups : int64 array of shape (n,)
    shrink, centre, enlarge : float
        Values are multiplied by ``shrink``, a power of two, the centre is subtracted, and what is left multiplied by
        ``enlarge``, a power of two: it then lies between -1 and 1.
    rows : int64 array of shape (g,)
    spans : float64 array of shape (g, 2)
        Smallest and largest value so far.
    steps : int64 array of shape (g, 3, 2)
        Of each power the steps of 2**-30, and those of 2**-60 that remain: halves, so that four billion rows fit.
    """
    fine = 1073741824.0
    for i in range(values.size):
        value, group = values[i], groups[i]
        rows[group] += 1
        spans[group, 0] = min(spans[group, 0], value)
        spans[group, 1] = max(spans[group, 1], value)
        distance = (value * shrink - centre) * enlarge
        power = distance
        for k in range(3):
            many = power * fine
            coarse = np.rint(many)
            steps[group, k, 0] += np.int64(coarse)
            steps[group, k, 1] += np.int64(np.rint((many - coarse) * fine))
            power = power * distance
