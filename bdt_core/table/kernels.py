"""The compiled loops of the encoding, serial and free of the interpreter lock.

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
