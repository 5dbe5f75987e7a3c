"""Columns become integer codes: what counting needs, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, did_you_mean
from bdt_core.vocabulary import class_order

Value = bool | int | float | str
Level = Value | None
"""A value of a column; None stands for "missing"."""

_DENSE_RANGE = 65_535
_FEW = 256
_LARGEST = (1 << 31) - 1
_SMALL = 128
_BLOCK = 1 << 16  # rows that are still in the processor's cache when they are read again


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

    def rows_with(self, holds: Callable[[Level], bool]) -> NDArray[np.bool_]:
        """Rows with a level for which something holds."""
        of_level = np.array([holds(one) for one in self.levels] or [False], dtype=np.bool_)
        inside: NDArray[np.bool_] = of_level[self.codes]
        return inside

    def counted(self) -> dict[Level, int]:
        """Rows of each level that occurs."""
        rows = np.bincount(self.codes, minlength=len(self.levels)).tolist()
        return {level: n for level, n in zip(self.levels, rows, strict=True) if n}


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
        return _canonical(series.array.codes, list(series.array.categories), declared=True)
    return _dense(series) or _text(series) or _hashed(series, name)


def column(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return one column, or say which names there are."""
    if name not in frame.columns:
        raise DataError(f'There is no column "{name}". {did_you_mean(str(name), frame.columns)}')
    series = frame[name]
    if isinstance(series, pd.DataFrame):
        raise DataError(f'There are {series.shape[1]} columns named "{name}". Expected one.')
    return series


def numbers(series: pd.Series[Any], name: str) -> NDArray[np.float64]:
    """Return a numeric column as float64, NaN where missing."""
    if not (pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype)):
        raise DataError(f'Column "{name}" must be numeric; it is of type {series.dtype}.')
    return series.to_numpy(dtype=np.float64, na_value=np.nan)


def is_among(level: Level, values: Sequence[Level]) -> bool:
    """Whether a level is one of some values; an audit has the text of what is no text, such as of truth values.

    Examples
    --------
    >>> is_among(2, ("1", "2")), is_among(True, ("True",)), is_among("2", (1, 2)), is_among(None, ("None",))
    (True, True, False, False)
    """
    return level in values or (level is not None and not isinstance(level, str) and str(level) in values)


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
    """Sort key of levels: numbers, then text, classes of numbers first and by these, then missing.

    Examples
    --------
    >>> sorted([10**400, "a", None, 2**53 + 1, 2.0**53], key=level_order) == [2.0**53, 2**53 + 1, 10**400, "a", None]
    True
    >>> sorted(["100+", "over 100", "18-25"], key=level_order)
    ['18-25', '100+', 'over 100']
    """
    if level is None:
        return (2, 0.0, "")
    return (1, *class_order(level)) if isinstance(level, str) else (0, level, "")


def is_same(level: Level, asked: Level) -> bool:
    """Whether a level is the value that is asked for: a number is also the text that writes it.

    Columns of categories and of texts often hold numbers as texts, and specifications the other way round.

    Examples
    --------
    >>> is_same("1", 1), is_same("1.0", 1), is_same(1, "1"), is_same("01", 1), is_same("01", "1"), is_same(None, None)
    (True, True, True, False, False, False)
    """
    if level is None or asked is None or isinstance(level, str) == isinstance(asked, str):
        return level is not None and level == asked
    text, number = (level, asked) if isinstance(level, str) else (asked, level)
    return text in (str(number), f"{number}.0" if isinstance(number, int) else "")


def values_of(given: Value | Iterable[Value]) -> tuple[Level, ...]:
    """Return one value, or several, as a tuple of levels."""
    values = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    return tuple(canonical(one) for one in values)


def smallest_unsigned(values: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds 0 to values - 1: counting in it is several times faster.

    Examples
    --------
    >>> smallest_unsigned(256).__name__, smallest_unsigned(257).__name__
    ('uint8', 'uint16')
    """
    return next(kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64) if values - 1 <= np.iinfo(kind).max)


def _cut(values: NDArray[np.float64], threshold: Threshold) -> Coded:
    codes = (values > threshold.value).astype(np.uint8)
    missing = np.isnan(values)
    codes[missing] = 2
    return Coded(codes, (threshold.up_to, threshold.above, None), declared=False)


def _dense(series: pd.Series[Any]) -> Coded | None:
    """Code truth values, and whole numbers of a small range by their distance from the lowest: nothing is hashed."""
    values, missing = _plain(series)
    if values is None or values.dtype.kind == "b":
        return None if values is None else Coded(values.view(np.uint8), (False, True))
    codes = _small(values)
    extremes = values if codes is None else codes
    low, high = np.fmin.reduce(extremes), np.fmax.reduce(extremes)  # of what is not NaN
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    low, levels = int(low), int(high) - int(low) + 1
    if levels > min(_DENSE_RANGE, 4 * values.size + 256):
        return None
    if values.dtype.kind == "f":
        if abs(low) > _LARGEST or abs(low + levels) > _LARGEST:
            return None
        with np.errstate(invalid="ignore"):  # NaN becomes some number
            whole = values.astype(np.int32)
        same = whole == values
        missing = None if same.all() else np.isnan(values)
        if missing is not None and not (same | missing).all():
            return None
        values = whole
    # Modulo 2^8 or 2^16 the distance from the lowest is right, whatever the signs.
    if codes is None:
        codes = values.astype(smallest_unsigned(levels + 1))
    codes -= np.array(low).astype(codes.dtype)
    if missing is None or not missing.any():
        return _occurring(codes, range(low, low + levels))
    codes[missing] = levels
    return _occurring(codes, [*range(low, low + levels), None])


def _small(values: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Whole numbers from 0 to 127 as bytes, in one reading of the memory; None as soon as others are met."""
    if values.dtype.kind == "f":
        return None
    codes = np.empty(values.size, dtype=np.uint8)
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        if not 0 <= np.bitwise_or.reduce(block) < _SMALL:  # a bit that one number has, all together have
            return None
        codes[start : start + _BLOCK] = block
    return codes


def _plain(series: pd.Series[Any]) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
    """Numbers or truth values as NumPy has them, and which are missing in a column that has a mask for it."""
    if isinstance(series.dtype, np.dtype):
        values = series.to_numpy()
        return (values if values.dtype.kind in "biuf" and values.size else None), None
    if not pd.api.types.is_integer_dtype(series.dtype):
        return None, None
    missing = series.isna().to_numpy()
    if missing.all():
        return None, None
    kind = np.uint64 if pd.api.types.is_unsigned_integer_dtype(series.dtype) else np.int64
    return series.to_numpy(dtype=kind, na_value=int(series.min())), missing


def _occurring(codes: NDArray[Any], levels: Sequence[Level]) -> Coded:
    """Leave out the levels of a wide range that hardly any row has: the count table has a place for each."""
    if len(levels) > _FEW:
        used = np.flatnonzero(np.bincount(codes, minlength=len(levels)))
        if 2 * used.size < len(levels):
            place = np.zeros(len(levels), dtype=smallest_unsigned(used.size))
            place[used] = np.arange(used.size)
            return Coded(place[codes], tuple(levels[i] for i in used.tolist()))
    return Coded(codes, tuple(levels))


def _text(series: pd.Series[Any]) -> Coded | None:
    """Code text that Arrow holds by its dictionary: as pandas does, but without 64 bits for every code."""
    if not (isinstance(series.dtype, pd.StringDtype) and series.dtype.storage == "pyarrow"):
        return None
    import pyarrow as pa

    text = pa.array(series.array)
    encoded = (text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return _canonical(codes, encoded.dictionary.to_pylist())


def _hashed(series: pd.Series[Any], name: str) -> Coded:
    try:
        codes, uniques = pd.factorize(series)
    except TypeError:
        raise DataError(
            f'Column "{name}" holds values that cannot be compared, such as lists. Expected text.'
        ) from None
    return _canonical(codes, list(uniques))


def _canonical(codes: NDArray[Any], uniques: Sequence[Any], declared: bool = False) -> Coded:
    """Give equal levels one code, and missing values (-1) the last one."""
    levels: dict[Level, int] = {}
    mapped = [levels.setdefault(canonical(one), len(levels)) for one in uniques]
    has_missing = codes.size > 0 and int(codes.min()) < 0
    missing = levels.setdefault(None, len(levels)) if has_missing else -1
    kind = smallest_unsigned(len(levels) + 1)
    if mapped == list(range(len(mapped))) and missing in (-1, len(mapped)):
        codes = codes.astype(kind)
        if has_missing:
            np.minimum(codes, kind(missing), out=codes)  # -1 has become the highest number there is
        return Coded(codes, tuple(levels), declared)
    table = np.array([*mapped, missing], dtype=np.int64).astype(kind)  # index -1 is the last entry
    return Coded(table[codes], tuple(levels), declared)
