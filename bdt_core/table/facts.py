"""Facts of a column before it is used; those of parts of a table add up to those of the whole."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bdt_core.table.notation import looks_like_date, looks_like_day_of_year, looks_like_number

MOST_DISTINCT = 65_536
"""More distinct values are not counted."""
NEIGHBOURS_ARE_ONE = 2**53
"""From here on a float does not hold every whole number."""
_DAYS_OF_A_MONTH = 31


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of one column in some rows.

    Attributes
    ----------
    rows, missing : int
    values : frozenset or None
        The distinct values, without missing; None when there are more than 65,536.
    is_beyond : bool
        Whether it has a number of `NEIGHBOURS_ARE_ONE` or more.
    is_date : bool
        Whether it holds points in time.
    """

    rows: int
    missing: int
    values: frozenset[Hashable] | None
    is_beyond: bool = False
    is_date: bool = False

    @property
    def distinct(self) -> int | None:
        """Number of distinct values, if it was counted."""
        return None if self.values is None else len(self.values)

    @property
    def distinct_numbers(self) -> int:
        """How many of the distinct values are finite numbers, or texts of such; 0 if they were not counted."""
        if not self.values:
            return 0
        numbers = pd.to_numeric(pd.Series(list(self.values), dtype=object), errors="coerce").to_numpy(np.float64)
        return int(np.isfinite(numbers).sum())

    @property
    def distinct_figures(self) -> int:
        """How many of the distinct values are texts of numbers with signs or thousands set apart."""
        if not self.values:
            return 0
        texts = pd.Series([one for one in self.values if isinstance(one, str)], dtype=object)
        unread = texts[pd.to_numeric(texts, errors="coerce").isna()]
        return sum(map(looks_like_number, unread))

    @property
    def distinct_dates(self) -> int:
        """How many of the distinct values are texts of dates; 0 if they were not counted.

        Days without a year are told from ranges such as 10-12 by being more than a month has.
        """
        texts = [one for one in self.values or () if isinstance(one, str)]
        days = sum(map(looks_like_day_of_year, texts))
        return sum(map(looks_like_date, texts)) + (days if days > _DAYS_OF_A_MONTH else 0)

    @property
    def is_constant(self) -> bool:
        """Whether all rows are alike."""
        return self.distinct == 0 or (self.distinct == 1 and self.missing == 0)

    def __add__(self, other: ColumnFacts) -> ColumnFacts:
        values = None if self.values is None or other.values is None else self.values | other.values
        return ColumnFacts(
            self.rows + other.rows,
            self.missing + other.missing,
            None if values is None or len(values) > MOST_DISTINCT else values,
            self.is_beyond or other.is_beyond,
            self.is_date or other.is_date,
        )


def facts_of(column: pd.Series) -> ColumnFacts:
    """Look at a column.

    Examples
    --------
    >>> facts = facts_of(pd.Series([1.0, None, 1.0])) + facts_of(pd.Series([2.0]))
    >>> facts.rows, facts.missing, facts.distinct, facts.is_constant
    (4, 1, 2, False)
    """
    missing = int(np.count_nonzero(column.isna()))
    return ColumnFacts(len(column), missing, _values(column), is_beyond(column), holds_dates(column))


def is_beyond(numbers: pd.Series | pd.Index) -> bool:
    """Whether some are numbers that a float does not tell from the whole ones beside them.

    Examples
    --------
    >>> is_beyond(pd.Series([1, 2**53 + 1])), is_beyond(pd.Series([1.5, None])), is_beyond(pd.Series(["x"]))
    (True, False, False)
    """
    dtype = numbers.dtype
    if not (pd.api.types.is_integer_dtype(dtype) or pd.api.types.is_float_dtype(dtype)):
        return False
    # As they are stored: a copy as float64 takes longer than the look.
    is_stored = isinstance(dtype, np.dtype)
    values = numbers.to_numpy() if is_stored else numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    ends = np.fmin.reduce(values, initial=0), np.fmax.reduce(values, initial=0)  # of what is not NaN
    return any(NEIGHBOURS_ARE_ONE <= abs(float(one)) < math.inf for one in ends)


def holds_numbers(column: pd.Series) -> bool:
    """Whether a column holds numbers; truth values are none."""
    return bool(pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype))


def holds_dates(column: pd.Series) -> bool:
    """Whether a column holds points in time, or days."""
    if column.dtype == object:
        return pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime")
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def _values(column: pd.Series) -> frozenset[Hashable] | None:
    try:
        # Where the beginning has too many values already, the rest need not be looked at.
        for part in (column.iloc[: 2 * MOST_DISTINCT], column):
            values = part.dropna().unique()
            if len(values) > MOST_DISTINCT:
                return None
    except TypeError:  # lists and the like
        return None
    return frozenset(values.tolist() if isinstance(values, np.ndarray) else list(values))
