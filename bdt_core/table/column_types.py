"""Types of the columns of one table's files, whether they agree, and the type that holds all of a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.table.pool import mapped, width_for
from bdt_core.table.reading_notes import NO_NOTES, ReadingNotes

Dtype = Any
"""A type of pandas or NumPy."""
Choose = Callable[[Sequence[str]], Collection[str] | None]
"""Says which columns are read, by the names of all; None is all of them."""

NUMBERS, FLAGS, TEXTS, POINTS_IN_TIME = "numbers", "true or false", "texts", "points in time"
_WORDS = {
    "boolean": FLAGS,
    "integer": NUMBERS,
    "floating": NUMBERS,
    "mixed-integer-float": NUMBERS,
    "decimal": "exact decimals",
    "date": "dates",
    "datetime": POINTS_IN_TIME,
    "time": "times of day",
    "timedelta": "durations",
    "bytes": "bytes",
}


@dataclass(frozen=True)
class ColumnType:
    """What one file holds in one column.

    Attributes
    ----------
    dtype : dtype of pandas
        Of the column when the whole file is read.
    holds : str
        What its values are, in words: ``numbers``, ``texts``, ``true or false``, ``dates``, ...
    filled : bool
        Whether it has any value.
    """

    dtype: Dtype
    holds: str
    filled: bool = True


UNREAD = ColumnType(np.dtype(object), "nothing that was looked at", filled=False)
"""A column that nobody asked for: it agrees with every other, as an empty one does."""


@dataclass(frozen=True)
class FileTypes:
    """What one file holds.

    Attributes
    ----------
    name : str
        The file, as messages name it.
    rows : int
    columns : dict of str to ColumnType
    notes : ReadingNotes
    """

    name: str
    rows: int
    columns: dict[str, ColumnType]
    """All of them; `UNREAD` where it was not looked at."""
    notes: ReadingNotes = NO_NOTES


def types_of(frame: pd.DataFrame) -> dict[str, ColumnType]:
    """What the columns of a frame hold.

    Examples
    --------
    >>> [one.holds for one in types_of(pd.DataFrame({"a": [1.5], "b": ["x"], "c": [True]})).values()]
    ['numbers', 'texts', 'true or false']
    """
    return {name: ColumnType(one.dtype, _holds(one), bool(one.notna().any())) for name, one in frame.items()}  # type: ignore[misc]


def agreed(files: Sequence[FileTypes]) -> dict[str, Dtype]:
    """The type of each column in a table of several files.

    Whole numbers and fractions, wide and narrow numbers, categories and plain texts go together: the type is the
    one that holds them all. A column may be empty in some files.

    Returns
    -------
    dict of str to dtype
        In the order of the first file.

    Raises
    ------
    SourceError
        A file lacks a column of the others or has one more, or holds something else in it. It is the file that
        differs from most others that is named.
    """
    if len(files) > 1:
        _refuse_other_columns(files)
        for name in files[0].columns:
            _refuse_other_values(name, files)
    filled = [one for one in files if one.rows] or list(files)
    return {name: common_dtype([one.columns[name] for one in filled]) for name in files[0].columns}


def conformed(frame: pd.DataFrame, dtypes: Mapping[str, Dtype]) -> pd.DataFrame:
    """The frame with the types that hold the values of all files; every one is at least as wide as its own."""
    changed = {
        name: _as_type(frame[name], dtype) for name, dtype in dtypes.items() if not _is_same(frame[name].dtype, dtype)
    }
    return frame.assign(**changed) if changed else frame


def stacked(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Frames of the same types set under each other."""
    if len(frames) == 1:
        return frames[0].reset_index(drop=True)
    width = width_for(sum(map(len, frames)))
    names = frames[0].columns
    if width == 1 or not len(names) or not names.is_unique:
        return pd.concat(frames, ignore_index=True)
    columns = mapped(lambda name: pd.concat([one[name] for one in frames], ignore_index=True), list(names), width)
    whole = pd.DataFrame(dict(zip(names, columns, strict=True)), copy=False)
    if all(one.attrs == frames[0].attrs for one in frames):
        whole.attrs = frames[0].attrs
    return whole


def holding_missing(dtype: Dtype) -> Dtype:
    """The type of pandas for such values when some are missing."""
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return np.dtype(np.float64)
    return np.dtype(object) if dtype == np.dtype(bool) else dtype


def common_dtype(types: Sequence[ColumnType]) -> Dtype:
    """The narrowest type that holds several columns.

    Examples
    --------
    >>> common_dtype([ColumnType(np.dtype("int32"), "numbers"), ColumnType(np.dtype("int64"), "numbers")])
    dtype('int64')
    """
    dtype = reduce(wider, [one.dtype for one in types if one.filled] or [one.dtype for one in types])
    return dtype if all(one.filled for one in types) else holding_missing(dtype)


def wider(dtype: Dtype, other: Dtype) -> Dtype:
    """The narrowest type that holds the values of both; categories in the order in which they are named."""
    if _is_same(dtype, other):
        return dtype
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        added = other.categories[~other.categories.isin(dtype.categories)]
        return pd.CategoricalDtype(dtype.categories.append(added))
    dtype, other = (
        holding_missing(each.categories.dtype) if isinstance(each, pd.CategoricalDtype) else each
        for each in (dtype, other)
    )
    return pd.concat([_single(dtype), _single(other)]).dtype  # as pandas would set rows of both types under each other


def _single(dtype: Dtype) -> pd.Series[Any]:
    plain = isinstance(dtype, np.dtype) and dtype.kind in "biuf"
    return pd.Series(np.zeros(1, dtype)) if plain else pd.Series([None], dtype=dtype)


def _is_same(dtype: Dtype, other: Dtype) -> bool:
    """The same type; categories in the same order."""
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        return dtype is other or (dtype.ordered == other.ordered and dtype.categories.equals(other.categories))
    return bool(dtype == other)


def _as_type(column: pd.Series[Any], dtype: Dtype) -> pd.Series[Any]:
    if isinstance(column.dtype, pd.CategoricalDtype) and isinstance(dtype, pd.CategoricalDtype):
        return column.cat.set_categories(dtype.categories, ordered=dtype.ordered)
    if len(column) and column.isna().all():
        return pd.Series(index=column.index, dtype=dtype, name=column.name)
    return column.astype(dtype)


def _holds(column: pd.Series[Any]) -> str:
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _holds(pd.Series(dtype.categories))
    if pd.api.types.is_bool_dtype(dtype):
        return FLAGS
    if pd.api.types.is_numeric_dtype(dtype):
        return NUMBERS
    if isinstance(dtype, pd.DatetimeTZDtype):
        return f"points in time ({dtype.tz})"
    kind = {"M": "datetime", "m": "timedelta"}.get(getattr(dtype, "kind", ""), "")
    return _WORDS.get(kind or pd.api.types.infer_dtype(column, skipna=True), TEXTS)


def _refuse_other_columns(files: Sequence[FileTypes]) -> None:
    usual = Counter(frozenset(one.columns) for one in files).most_common(1)[0][0]
    model = next(one for one in files if usual == frozenset(one.columns))
    for file in files:
        lacking = [name for name in model.columns if name not in file.columns]
        added = [name for name in file.columns if name not in model.columns]
        if lacking or added:
            word, column = ("lacks", lacking[0]) if lacking else ("also has", added[0])
            raise SourceError(
                f'{file.name} {word} the column "{column}", unlike {model.name}. Files read together must agree: '
                f"write this one again with the columns of the others, or leave it out."
            )


def _refuse_other_values(name: str, files: Sequence[FileTypes]) -> None:
    speaking = [one for one in files if one.rows and one.columns[name].filled]
    kinds = Counter(one.columns[name].holds for one in speaking)
    if len(kinds) < 2:
        return
    usual = kinds.most_common(1)[0][0]
    model = next(one for one in speaking if one.columns[name].holds == usual)
    other = next(one for one in speaking if one.columns[name].holds != usual)
    raise SourceError(
        f'Column "{name}" holds {usual} in {model.name} and {other.columns[name].holds} in {other.name}. '
        f"Files read together must agree: expected {usual} in all of them; mend or leave out the one that differs."
    )
