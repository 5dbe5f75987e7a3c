"""Checks of input: finite one-dimensional numbers, counts that fit, rates in range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError, SpecError


def finite_vector(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return `values` as a one-dimensional numeric array without missing or infinite entries."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(f"{name} must be numbers, found values of type {array.dtype}.") from None
    if array.ndim != 1:
        raise DataError(f"{name} must be one-dimensional, found shape {array.shape}.")
    # The extremes are NaN or infinite exactly when some value is.
    if array.dtype.kind == "f" and array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
        bad = int(array.size - np.isfinite(array).sum())
        raise DataError(f"{name} hold {bad} missing or infinite values among {array.size}. Drop or fill them first.")
    return array


def counts_pair(events: ArrayLike, n: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return events and rows as float arrays of one shape, 0 <= events <= rows."""
    x = np.asarray(events, dtype=np.float64)
    rows = np.asarray(n, dtype=np.float64)
    if not (np.isfinite(x).all() and np.isfinite(rows).all()):
        raise DataError("Counts of events and rows must be finite numbers.")
    if (x < 0).any() or (x > rows).any():
        raise DataError("Every count of events must lie between 0 and its number of rows.")
    return x, rows


def whole_counts(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return `values` as a one-dimensional array of whole numbers, none below 0."""
    array = finite_vector(values, name)
    if (array < 0).any() or (array != np.floor(array)).any():
        raise DataError(f"{name} must be whole numbers, 0 or more.")
    return array.astype(np.int64)


def fraction(value: float, name: str) -> float:
    """Return `value` if it lies strictly between 0 and 1."""
    number = float(value)
    if not 0.0 < number < 1.0:
        raise SpecError(f"{name} must lie between 0 and 1, both excluded; found {value}.")
    return number


def number_or_none(value: float) -> float | None:
    """Turn NaN, which means "undefined" inside the computations, into None."""
    return None if math.isnan(value) else float(value)
