"""Estimates of a metric with their intervals, and a reason wherever there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.said import of_ours, say

Floats = NDArray[np.float64]

NO_WEIGHT = "the weights of these rows add up to 0"


class MetricValues(NamedTuple):
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
    reason: list[str | None],
    n: ArrayLike,
    events: ArrayLike,
) -> MetricValues:
    """Put a metric together; undefined wherever there is a reason for it, which then has no interval either."""
    value = np.asarray(estimate, dtype=np.float64)
    if reason.count(None) < len(reason):
        value = np.where([one is not None for one in reason], np.nan, value)
    if (undefined := np.isnan(value)).any():
        reason = [one or NO_WEIGHT if is_so else one for one, is_so in zip(reason, undefined.tolist(), strict=True)]
    low, high = _around(value, limits)
    return MetricValues(value, low, high, reason, _rows(n, value.shape), _rows(events, value.shape))


def measured_each(
    estimates: Floats,
    limits: tuple[Floats, Floats],
    reason_lists: Sequence[list[str | None]],
    n: Floats,
    events: Floats,
) -> list[MetricValues]:
    """Put several metrics together, one per row of the arrays; see `measured`."""
    explained = np.array([[one is not None for one in row] for row in reason_lists], dtype=bool)
    values = np.where(explained, np.nan, estimates)
    if (unexplained := np.isnan(values) & ~explained).any():
        reason_lists = [list(one) for one in reason_lists]
        for metric, place in np.argwhere(unexplained).tolist():
            reason_lists[metric][place] = NO_WEIGHT
    return [MetricValues(*one) for one in zip(values, *_around(values, limits), reason_lists, n, events, strict=True)]


def _around(value: Floats, limits: tuple[ArrayLike, ArrayLike]) -> tuple[Floats, Floats]:
    """The limits: a rounding error must not push an estimate out of its own interval. NaN in either goes through."""
    return np.minimum(limits[0], value), np.maximum(limits[1], value)


def _rows(given: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Rows of each value, where they may be given once for all."""
    rows = np.asarray(given, dtype=np.float64)
    return rows if rows.shape == shape else np.full(shape, rows)


def nothing(size: int, reason: str, n: ArrayLike = 0.0) -> MetricValues:
    """A metric that is undefined for all."""
    empty = np.full(size, np.nan)
    return MetricValues(empty, empty, empty, [reason] * size, _rows(n, empty.shape), np.zeros(size))


def reasons(missing_in_d: ArrayLike, missing_in_a: ArrayLike, what: str) -> list[str | None]:
    """Say on which side something is missing.

    Examples
    --------
    >>> reasons([True, False], [True, False], "no rows")
    ['no rows in d and in a', None]
    """
    in_d, in_a = np.atleast_1d(missing_in_d).astype(bool), np.atleast_1d(missing_in_a).astype(bool)
    if not (in_d.any() or in_a.any()):
        return [None] * in_d.size
    messages = "{what} in d", "{what} in a", "{what} in d and in a"
    words = (None, *(say(one, what=of_ours(what)) for one in messages))
    return [words[one] for one in (in_d + 2 * in_a).tolist()]


def where(condition: ArrayLike, reason: str) -> list[str | None]:
    """The reason where the condition holds."""
    held = np.atleast_1d(condition)
    return [reason if one else None for one in held.tolist()] if held.any() else [None] * held.size


def where_each(conditions: NDArray[np.bool_], reasons: Sequence[str]) -> list[list[str | None]]:
    """The reason of each row of the conditions, where they hold."""
    if not conditions.any():
        return [[None] * conditions.shape[1]] * conditions.shape[0]
    return [where(row, reason) for row, reason in zip(conditions, reasons, strict=True)]


def first(*reasons: list[str | None]) -> list[str | None]:
    """The first reason there is, entry by entry."""
    given = [one for one in reasons if one.count(None) < len(one)]
    if len(given) < 2:
        return given[0] if given else reasons[0]
    return [next((one for one in entry if one is not None), None) for entry in zip(*given, strict=True)]
