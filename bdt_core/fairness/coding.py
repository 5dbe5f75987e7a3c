"""Columns become integer codes: what counting needs, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, did_you_mean

Value = bool | int | float | str
Level = Value | None
"""A value of a column; None stands for "missing"."""

_DENSE_RANGE = 65_536


@dataclass(frozen=True)
class Threshold:
    """Cuts a continuous column in two: strictly greater than `value`, and the rest.

    Attributes
    ----------
    value : float
        Finite, in the column's own units.

    Examples
    --------
    >>> Threshold(40).above, Threshold(40).up_to
    ('> 40', '<= 40')
    """

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise DataError(f"A threshold must be a finite number; found {self.value}.")

    @property
    def above(self) -> str:
        """Name of the rows strictly above."""
        return f"> {self.value:.12g}"

    @property
    def up_to(self) -> str:
        """Name of the rows at or below."""
        return f"<= {self.value:.12g}"


@dataclass(frozen=True)
class Coded:
    """One column: a code per row, and the level that each code stands for (None: missing)."""

    codes: NDArray[Any]
    levels: tuple[Level, ...]
    declared: bool = False
    """Whether levels without rows were named by the column's type and are to be kept."""


def code_column(frame: pd.DataFrame, name: str, threshold: Threshold | None = None) -> Coded:
    """Code one column of a table.

    Parameters
    ----------
    frame : DataFrame
    name : str
    threshold : Threshold, optional
        Cut a numeric column in two. Without it every distinct value is a level, whatever the column's type.

    Returns
    -------
    Coded
        Whole floats become integers, so that 1.0 and 1 are one level. Categories of a categorical column that
        no row has are kept.

    Raises
    ------
    DataError
        The column does not exist, holds values that cannot be compared, or is not numeric where a threshold
        is given.

    Examples
    --------
    >>> coded = code_column(pd.DataFrame({"age": [30, 50, None]}), "age", Threshold(40))
    >>> coded.codes.tolist(), coded.levels
    ([0, 1, 2], ('<= 40', '> 40', None))
    """
    series = column(frame, name)
    if threshold is not None:
        return _cut(numbers(series, name), threshold)
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _canonical(series.cat.codes.to_numpy(), list(series.cat.categories), declared=True)
    values = series.to_numpy() if isinstance(series.dtype, np.dtype) else None
    if values is not None and values.dtype.kind == "b":
        return Coded(values.view(np.uint8), (False, True))
    if values is not None and values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _DENSE_RANGE and high - low <= 4 * values.size + 256:
            small = np.uint8 if high - low < 256 else np.uint16
            codes = np.empty(values.size, dtype=small)
            np.subtract(values, low, out=codes, casting="unsafe")
            return Coded(codes, tuple(range(low, high + 1)))
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:
        raise DataError(
            f'Column "{name}" holds values that cannot be compared, such as lists. Expected text.'
        ) from None
    return _canonical(codes, list(uniques))


def column(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return one column, or say which names there are."""
    if name not in frame.columns:
        raise DataError(f'There is no column "{name}". {did_you_mean(str(name), frame.columns)}')
    found = frame[name]
    if isinstance(found, pd.DataFrame):
        raise DataError(f'There are {found.shape[1]} columns named "{name}". Expected one.')
    return found


def numbers(series: pd.Series[Any], name: str) -> NDArray[np.float64]:
    """Return a numeric column as float64, NaN where missing."""
    if not (pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype)):
        raise DataError(f'Column "{name}" must be numeric; it is of type {series.dtype}.')
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def canonical(value: Any) -> Level:
    """Return a value as JSON knows it: whole floats become integers, missing ones None, others text.

    Examples
    --------
    >>> canonical(np.float64(1.0)), canonical(float("nan")), canonical(pd.Timestamp("2026-01-02"))
    (1, None, '2026-01-02 00:00:00')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    return None if value is None or value is pd.NaT or value is pd.NA else str(value)


def level_order(level: Level) -> tuple[int, float, str]:
    """Sort key of levels: numbers, then text, then missing."""
    if level is None:
        return (2, 0.0, "")
    return (1, 0.0, level) if isinstance(level, str) else (0, float(level), "")


def values_of(given: Value | Iterable[Value]) -> tuple[Level, ...]:
    """Return one value, or several, as a tuple of levels."""
    several = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    return tuple(canonical(one) for one in several)


def _cut(values: NDArray[np.float64], threshold: Threshold) -> Coded:
    codes = (values > threshold.value).astype(np.uint8)
    missing = np.isnan(values)
    codes[missing] = 2
    return Coded(codes, (threshold.up_to, threshold.above, None), declared=False)


def _canonical(codes: NDArray[Any], uniques: Sequence[Any], declared: bool = False) -> Coded:
    """Give equal levels one code, and missing values the last one."""
    levels: dict[Level, int] = {}
    mapped = [levels.setdefault(canonical(one), len(levels)) for one in uniques]
    missing = levels.setdefault(None, len(levels))
    smallest = np.uint8 if len(levels) < 256 else np.uint16 if len(levels) < 65_536 else np.int64
    table = np.array([*mapped, missing], dtype=smallest)  # index -1, a missing value, is the last entry
    return Coded(table[codes], tuple(levels), declared)
