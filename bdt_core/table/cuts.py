"""Cuts of numbers into intervals."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

HOLDS_TIMES = "it holds dates or times: turn them into a number, such as an age in years"
IS_IDENTIFIER = "every row has a whole number of its own, as identifiers have"
"""Why a column has no intervals that people could be told by."""
_FEWEST_FOR_IDENTIFIER = 50


def holds_times(column: pd.Series) -> bool:
    """Whether a column holds points in time or durations."""
    return bool(pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_timedelta64_dtype(column.dtype))


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits in [low, high]; of several the one nearest to the middle.

    Examples
    --------
    >>> roundest(23.1, 26.4), roundest(0.123, 0.129), roundest(3.0, 3.0)
    (25.0, 0.125, 3.0)
    """
    if low == high:
        return low
    middle = low + 0.5 * (high - low)
    exponent = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(exponent, exponent - 17, -1):
        for multiple in (5, 2.5, 1) if power < 0 else (5, 1):
            step = multiple * 10.0**power
            candidate = float(f"{round(middle / step) * step:.15g}")
            if low <= candidate <= high:
                return candidate
    return middle


def looks_like_identifier(ordered: NDArray[np.float64], distinct: int, share: float) -> bool:
    """Whether numbers are whole, all different and close together, like row numbers."""
    if distinct < max(ordered.size, _FEWEST_FOR_IDENTIFIER) or not np.isfinite([ordered[0], ordered[-1]]).all():
        return False
    close = (ordered[-1] - ordered[0]) * share < 10 * distinct
    return bool(close and (ordered == np.floor(ordered)).all())
