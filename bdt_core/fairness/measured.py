"""What a metric function hands back: estimates with intervals, and a reason wherever there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Measured(NamedTuple):
    """One metric for several groups or contrasts.

    Attributes
    ----------
    estimate, low, high : ndarray of float64
        NaN stands for undefined; infinite values are meant.
    reason : list of (str or None)
        Why the estimate is undefined.
    n, events : ndarray of float64
        Rows in the denominator and rows that count; of d where d is compared with a.
    """

    estimate: Floats
    low: Floats
    high: Floats
    reason: list[str | None]
    n: Floats
    events: Floats


def measured(
    estimate: ArrayLike,
    limits: tuple[ArrayLike, ArrayLike],
    reason: Sequence[str | None],
    n: ArrayLike,
    events: ArrayLike,
) -> Measured:
    """Put a metric together; undefined wherever there is a reason for it, which then has no interval either."""
    undefined = np.array([one is not None for one in reason], dtype=bool)
    value = np.where(undefined, np.nan, estimate)
    low, high = (np.where(np.isnan(value), np.nan, limit) for limit in limits)
    # A rounding error must not push an estimate out of its own interval.
    low, high = np.fmin(low, value), np.fmax(high, value)
    low, high = np.where(np.isnan(limits[0]), np.nan, low), np.where(np.isnan(limits[1]), np.nan, high)
    shape = value.shape
    return Measured(
        value, low, high, list(reason), np.broadcast_to(n, shape).copy(), np.broadcast_to(events, shape).copy()
    )


def nothing(size: int, reason: str, n: ArrayLike = 0.0) -> Measured:
    """A metric that is undefined for all."""
    empty = np.full(size, np.nan)
    return measured(empty, (empty, empty), [reason] * size, n, 0.0)


def reasons(missing_in_d: ArrayLike, missing_in_a: ArrayLike, what: str) -> list[str | None]:
    """Say on which side something is missing.

    Examples
    --------
    >>> reasons([True, False], [True, False], "no rows")
    ['no rows in d and in a', None]
    """
    words = (None, f"{what} in d", f"{what} in a", f"{what} in d and in a")
    return [
        words[int(d) + 2 * int(a)]
        for d, a in zip(np.atleast_1d(missing_in_d), np.atleast_1d(missing_in_a), strict=True)
    ]


def where(condition: ArrayLike, reason: str) -> list[str | None]:
    """The reason where the condition holds."""
    return [reason if one else None for one in np.atleast_1d(condition)]


def first(*several: Sequence[str | None]) -> list[str | None]:
    """The first reason there is, entry by entry."""
    return [next((one for one in entry if one is not None), None) for entry in zip(*several, strict=True)]
