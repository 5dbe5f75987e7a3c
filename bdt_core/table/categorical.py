"""Categorical columns: their levels, by how frequent they are, and the code of each row's level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.errors import DataError
from bdt_core.table.pool import stretches

MAX_LEVELS = 65_535
"""A category column with more levels is refused: codes are 16 bits, one of which means "never seen"."""

_PART = 1 << 16

_COUNTABLE = 4096
"""Whole numbers that span no more values are counted; others are hashed."""


@dataclass(frozen=True)
class CategoricalColumn:
    """A category, and the code of each level.

    Attributes
    ----------
    name : str
    levels : tuple of (str or None)
        Level of code 0, 1, ...: by falling number of training rows, then by name. None is "missing". The code
        ``len(levels)`` stands for a level that the training rows did not have.
    """

    name: str
    levels: tuple[str | None, ...]


@dataclass(frozen=True)
class Positions:
    """A column as positions in a list of level names.

    Attributes
    ----------
    rows : ndarray of shape (n,), int64
        -1 where missing.
    names : tuple of str
        Several may be the same, and some may not occur.
    """

    rows: npt.NDArray[np.intp]
    names: tuple[str, ...]


def positions_of(column: pd.Series[Any]) -> Positions:
    """Factorise a column.

    Raises
    ------
    DataError
        When it holds containers.
    """
    values: Iterable[Any]
    if isinstance(column.dtype, pd.CategoricalDtype):
        rows, values = column.cat.codes.to_numpy().astype(np.intp), column.cat.categories
    elif (counted := _counted(column)) is not None:
        rows, values = counted
    else:
        try:
            rows, values = pd.factorize(column)
        except TypeError:
            raise DataError(
                f'Column "{column.name}" holds lists or other containers: an argument must be a string or a '
                "number to be a category. Unpack them into columns of their own."
            ) from None
    return Positions(rows, tuple(level_name(value) for value in values))


def fit_categories(name: str, positions: Positions) -> CategoricalColumn:
    """Levels of a column.

    Raises
    ------
    DataError
        When there are too many.
    """
    return CategoricalColumn(name, ranked_levels(name, count_levels(positions)))


def count_levels(positions: Positions) -> dict[str | None, int]:
    """Rows of each level that occurs; None is missing."""
    size = len(positions.names) + 1
    at_a_time = stretches(len(positions.rows), max(_PART, size))  # which stays in a cache
    parts = (np.bincount(positions.rows[rows] + 1, minlength=size) for rows in at_a_time)
    counted = sum(parts, np.zeros(size, dtype=np.intp)).tolist()
    counts: dict[str | None, int] = {}
    for level, count in zip((None, *positions.names), counted, strict=True):
        if count:
            counts[level] = counts.get(level, 0) + count
    return counts


def ranked_levels(name: str, counts: Mapping[str | None, int]) -> tuple[str | None, ...]:
    """Levels by falling number of rows, then by name.

    Raises
    ------
    DataError
        When there are too many.
    """
    if len(counts) > MAX_LEVELS:
        raise DataError(
            f'Column "{name}" has {len(counts):,} different values: it looks like an identifier. '
            f"Leave it out of the features, or group it into at most {MAX_LEVELS:,} categories."
        )
    return tuple(sorted(counts, key=lambda level: (-counts[level], level is None, level or "")))


def encode_categories(column: CategoricalColumn, positions: Positions, out: npt.NDArray[Any]) -> None:
    """Write the code of each row's level."""
    code = {level: index for index, level in enumerate(column.levels)}
    unseen = len(column.levels)
    # Position -1, missing, reads the last entry.
    codes = np.array([code.get(level, unseen) for level in (*positions.names, None)], dtype=out.dtype)
    out[:] = codes[positions.rows]


def _counted(column: pd.Series[Any]) -> tuple[npt.NDArray[np.intp], range] | None:
    """Whole numbers as distances from the smallest; None when it is quicker to hash them."""
    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iu" or column.dtype == np.uint64:
        return None
    values = column.to_numpy(dtype=np.int64, copy=True)
    low, high = int(values.min()), int(values.max())
    if high - low >= min(_COUNTABLE, len(values)):
        return None
    values -= low
    return values.astype(np.intp, copy=False), range(low, high + 1)


def level_name(value: Any) -> str:
    """A level as text, the same for 1 and 1.0, so that a column may change between integer and float.

    Examples
    --------
    >>> level_name(1.0), level_name(np.int8(1)), level_name(True), level_name("a")
    ('1', '1', 'True', 'a')
    """
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() else repr(number)
    return str(value)
