"""Typed columns become arrays: standardised numbers and category codes, one contiguous array per column.

Everything here is independent of the order of rows and columns: means and standard deviations come from exact
sums, columns are kept in the order of their names, and categories are numbered by how frequent they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.errors import DataError, did_you_mean

FloatArray = npt.NDArray[np.floating[Any]]
Kind = Literal["numeric", "categorical"]

MAX_LEVELS = 65_535
"""A category column with more levels is refused: codes are 16 bits, one of which means "never seen"."""

_LARGEST = 1e140
"""Numbers beyond this cannot be squared in float64."""

_PART = 1 << 18


@dataclass(frozen=True)
class NumericColumn:
    """A number, and how it is standardised.

    Attributes
    ----------
    name : str
    mean, std : float
        Of the training rows that have a value, in the column's own units (ddof 0). ``std`` is 0 for a constant
        column, which is encoded as 0 everywhere and so has no weight.
    missing : float or None
        Share of training rows without a value; None when none was missing, and then there is no flag column.
    """

    name: str
    mean: float
    std: float
    missing: float | None = None


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
class Encoded:
    """Rows as columns of numbers and codes.

    Attributes
    ----------
    numeric : ndarray of shape (p, n), float32 or float64
        One C-contiguous row per numeric field (a value, or the flag that it is missing).
    codes : ndarray of shape (q, n), uint8 or uint16
        One C-contiguous row per categorical column.
    """

    numeric: FloatArray
    codes: npt.NDArray[np.unsignedinteger[Any]]

    @property
    def rows(self) -> int:
        """Number of rows n."""
        return int(self.numeric.shape[1])

    def copy(self) -> Encoded:
        """The same rows in memory of their own."""
        return Encoded(self.numeric.copy(), self.codes.copy())


@dataclass(frozen=True)
class Encoder:
    """Turns tables into arrays the way the training rows were.

    Numbers are standardised on the training rows (``scale=False``: only centred). A missing number becomes the
    mean, and a 0/1 column, standardised like any other, flags it, if values were missing among the training rows.
    A missing category is a level of its own. A level that the training rows did not have gets a code that
    equals no mode.

    Encoded numbers are multiples of a power of two so small that it hides behind the precision of ``dtype``,
    and so large that any sum over the training rows is exact in float64. Sums are then the same in any order
    of rows, on any number of threads and for any division into blocks.

    Attributes
    ----------
    names : tuple of str
        Columns in the order given.
    numeric, categorical : tuple
        The columns of either kind, by name.
    rows : int
        Number of training rows.
    scale : bool
    dtype : str
        "float32" or "float64".
    centre : bool
        False leaves numbers as they are (the reference engine wants that) and refuses missing ones.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20.0, 40.0, None], "sex": ["f", "m", "f"]})
    >>> encoder = Encoder.fit(frame)
    >>> encoder.categorical[0].levels
    ('f', 'm')
    >>> encoder.transform(frame).numeric.round(2).tolist()  # the value, and the flag that it is missing
    [[-1.0, 1.0, 0.0], [-0.7099999785423279, -0.7099999785423279, 1.409999966621399]]
    """

    names: tuple[str, ...]
    numeric: tuple[NumericColumn, ...]
    categorical: tuple[CategoricalColumn, ...]
    rows: int
    scale: bool = True
    dtype: str = "float32"
    centre: bool = True

    @classmethod
    def fit(
        cls,
        table: Any,
        *,
        kinds: Mapping[str, Kind] | None = None,
        scale: bool = True,
        dtype: str = "float32",
        centre: bool = True,
    ) -> Encoder:
        """Learn the encoding from the training rows.

        Parameters
        ----------
        table : DataFrame, Arrow-compatible table or 2-d array
        kinds : mapping, optional
            "numeric" or "categorical" for columns whose dtype does not say it. By default integers and
            floats are numeric; text, booleans, categories and objects are categorical.
        scale : bool
            Divide by the standard deviation.
        dtype : {"float32", "float64"}
        centre : bool
            Subtract the mean.

        Raises
        ------
        DataError
            When a column is infinite, too large to square, neither number nor category, or has more than
            65,535 levels; the message names it.
        """
        frame = as_frame(table)
        names = tuple(frame.columns)
        wanted = dict(kinds or {})
        for name in wanted:
            if name not in names:
                raise DataError(f'There is no column "{name}". {did_you_mean(name, names)}')
        numeric, categorical = [], []
        for name in sorted(names):
            kind = wanted.get(name) or column_kind(frame[name])
            if kind == "numeric":
                numeric.append(_fit_numeric(frame[name], centre))
            else:
                categorical.append(_fit_categorical(frame[name]))
        return cls(names, tuple(numeric), tuple(categorical), len(frame), scale, dtype, centre)

    def transform(self, table: Any) -> Encoded:
        """Encode rows.

        Parameters
        ----------
        table : DataFrame, Arrow-compatible table or 2-d array
            With the columns of the training rows: in any order when they have names, in the same order when
            the table is an array.

        Raises
        ------
        DataError
            When a column is lacking, is surplus, or holds something else than in the training rows.
        """
        frame = as_frame(table, self.names)
        fields = len(self.fields)
        numeric: FloatArray = np.empty((fields, len(frame)), dtype=np.dtype(self.dtype))
        row = 0
        for number in self.numeric:
            values = _numbers(frame[number.name])
            absent = np.isnan(values)
            for part in _parts(len(frame)):
                numeric[row, part] = self._standardise(number, values[part], absent[part])
            row += 1
            if number.missing is not None:
                spread = math.sqrt(number.missing * (1.0 - number.missing))
                divisor = (spread if self.scale else 1.0) or 1.0
                flag = absent.astype(np.float64) if spread > 0.0 else np.full(len(frame), number.missing)
                numeric[row] = self._on_grid((flag - number.missing) / divisor, spread / divisor)
                row += 1
        widest = max((len(column.levels) for column in self.categorical), default=0)
        codes = np.empty((len(self.categorical), len(frame)), dtype=np.uint8 if widest <= 255 else np.uint16)
        for index, column in enumerate(self.categorical):
            codes[index] = _codes(frame[column.name], column)
        return Encoded(numeric, codes)

    @property
    def fields(self) -> tuple[tuple[NumericColumn, bool], ...]:
        """What each row of ``Encoded.numeric`` is: its column, and whether it is the flag of missing values."""
        return tuple(
            (column, flag)
            for column in self.numeric
            for flag in ((False, True) if column.missing is not None else (False,))
        )

    @property
    def levels(self) -> tuple[int, ...]:
        """Size of each categorical column's count table: its levels, and one for levels never seen."""
        return tuple(len(column.levels) + 1 for column in self.categorical)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data that `from_dict` reads back without loss."""
        return {
            "names": list(self.names),
            "numeric": [
                {"name": one.name, "mean": one.mean, "std": one.std, "missing": one.missing} for one in self.numeric
            ],
            "categorical": [{"name": one.name, "levels": list(one.levels)} for one in self.categorical],
            "rows": self.rows,
            "scale": self.scale,
            "dtype": self.dtype,
            "centre": self.centre,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Encoder:
        """Read what `to_dict` wrote."""
        return cls(
            names=tuple(data["names"]),
            numeric=tuple(NumericColumn(**one) for one in data["numeric"]),
            categorical=tuple(CategoricalColumn(one["name"], tuple(one["levels"])) for one in data["categorical"]),
            rows=int(data["rows"]),
            scale=bool(data["scale"]),
            dtype=str(data["dtype"]),
            centre=bool(data["centre"]),
        )

    def _standardise(
        self, column: NumericColumn, values: npt.NDArray[np.float64], absent: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float64]:
        if not self.centre:
            if absent.any():
                raise DataError(
                    f'Column "{column.name}" has missing values, which the reference engine cannot use. '
                    'Fill or drop them, or use engine="bdt".'
                )
            return values
        if column.std == 0.0:
            return np.zeros(len(values))
        divisor = column.std if self.scale else 1.0
        values = np.where(absent, 0.0, (values - column.mean) / divisor)
        if np.abs(values).max(initial=0.0) > 1e18:  # its square must fit into float32
            raise DataError(
                f'Column "{column.name}" has values too far from its mean to compute distances with. '
                "Remove the outliers, take logarithms, or keep scale=True."
            )
        return self._on_grid(values, column.std / divisor)

    def _on_grid(self, values: npt.NDArray[np.float64], std: float) -> npt.NDArray[np.float64]:
        # n rows of standard deviation s have |values| summing to at most n s, so with steps of
        # s n 2**-50 a sum is below 2**50 steps and exact in the 53 bits of float64.
        if std == 0.0:
            return np.zeros(len(values))
        exponent = math.frexp(std)[1] + math.frexp(max(self.rows, 1))[1] - 50
        # Adding 0 turns -0 into 0: equal rows have equal bits.
        return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent) + 0.0)


def as_frame(table: Any, names: tuple[str, ...] | None = None) -> pd.DataFrame:
    """A pandas frame with text column names, whatever the table came as.

    Parameters
    ----------
    table : DataFrame, object with ``__arrow_c_stream__`` (polars, pyarrow, DuckDB), or 2-d array
        Columns of an array are called x0, x1, ...
    names : tuple of str, optional
        The columns that must be there; the frame comes back with these and in this order.

    Raises
    ------
    DataError
        When it is not a table, has no rows or columns, has two columns of one name, or other columns than
        ``names``.
    """
    frame, named = _frame(table)
    rows, width = frame.shape
    if names is not None and width != len(names) and not (named and set(names) - set(frame.columns)):
        surplus = [one for one in frame.columns if one not in names] if named else []
        raise DataError(
            f"X has {width} features, but HBAC is expecting {len(names)} features as input."
            + (f" Not expected: {_quoted(surplus)}." if surplus else "")
        )
    if width == 0:
        raise DataError(f"The table has 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required.")
    if rows == 0:
        raise DataError(f"The table has 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required.")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"Columns have the same name: {_quoted(twice.unique())}. Rename one of each.")
    if names is None:
        return frame
    if not named:
        return frame.set_axis(list(names), axis=1)
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise DataError(
            "The feature names should match those that were passed during fit. "
            f"Missing: {_quoted(lacking)}. {did_you_mean(lacking[0], frame.columns)}"
        )
    return frame[list(names)]


def column_kind(column: pd.Series[Any]) -> Kind:
    """Numeric for integers and floats; categorical for text, booleans, categories and objects.

    Raises
    ------
    DataError
        For dates, durations and complex numbers.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "categorical"
    if pd.api.types.is_complex_dtype(dtype):
        raise DataError(f'Complex data not supported: column "{column.name}". Use its real and imaginary parts.')
    if pd.api.types.is_numeric_dtype(dtype):
        return "numeric"
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        return "categorical"
    raise DataError(
        f'Column "{column.name}" is {dtype}, neither a number nor a category. '
        "Turn it into a number (such as years) or text, or leave it out of the features."
    )


def mean_and_std(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) that do not depend on the order of the values.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Finite.

    Examples
    --------
    >>> mean_and_std(np.array([1.0, 2.0, 3.0, 4.0]))
    (2.5, 1.118033988749895)
    """
    if len(values) == 0:
        return 0.0, 0.0
    low, high = float(values.min()), float(values.max())
    if low == high:
        return low, 0.0
    size = len(values)
    mean = _exact_total(values, lambda part: part - low, high - low) / size
    farthest = max(mean, high - low - mean)
    squares = _exact_total(values, lambda part: (part - low - mean) ** 2, farthest**2)
    return low + mean, math.sqrt(squares / size)


def exact_sum(values: npt.NDArray[np.float64]) -> float:
    """Sum that does not depend on the order of the values.

    Values are rounded to a common power of two, about n 2**-61 of the largest, and added as integers.
    """
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    return _exact_total(values, lambda part: part, largest)


def _exact_total(
    values: npt.NDArray[np.float64],
    function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
    largest: float,
) -> float:
    """Order-free sum of a function of the values, none of which exceeds ``largest`` (but for rounding)."""
    if largest == 0.0:
        return 0.0
    exponent = math.frexp(largest)[1] + math.frexp(len(values))[1] - 61
    total = 0
    for part in _parts(len(values)):
        total += int(np.rint(np.ldexp(function(values[part]), -exponent)).astype(np.int64).sum())
    return math.ldexp(float(total), exponent)


def _parts(rows: int) -> Iterator[slice]:
    """Slices of rows short enough that temporary copies of them do not matter."""
    return (slice(start, start + _PART) for start in range(0, rows, _PART))


def _frame(table: Any) -> tuple[pd.DataFrame, bool]:
    """The table as a frame, and whether its columns came with names."""
    if isinstance(table, pd.DataFrame):
        frame = table
    elif hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        frame = pa.table(table).to_pandas()
    else:
        if hasattr(table, "toarray"):
            raise TypeError("Sparse data is not supported: X must be a dense table; convert with .toarray().")
        array = np.asarray(table)
        if array.ndim != 2:
            raise DataError(
                f"Expected a table (2-d array), got a {array.ndim}-d array instead. Reshape your data: "
                "array.reshape(-1, 1) if it has one column, array.reshape(1, -1) if it is one row."
            )
        frame = pd.DataFrame(array, columns=[f"x{index}" for index in range(array.shape[1])], copy=False)
        if array.dtype == object:
            frame = frame.infer_objects()
        return frame, False
    if not all(type(name) is str for name in frame.columns):
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    return frame, True


def _fit_numeric(column: pd.Series[Any], centre: bool) -> NumericColumn:
    values = _numbers(column)
    absent = np.isnan(values)
    missing = float(absent.mean()) if absent.any() else None
    if not centre:
        return NumericColumn(str(column.name), 0.0, 1.0)
    mean, std = mean_and_std(values[~absent] if missing is not None else values)
    return NumericColumn(str(column.name), mean, std, missing)


def _numbers(column: pd.Series[Any]) -> npt.NDArray[np.float64]:
    """The column in float64 with NaN where it is missing."""
    try:
        values = np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise DataError(
            f'Column "{column.name}" was expected to hold numbers, but has other values. '
            "Make it numeric, or declare it categorical."
        ) from None
    # min and max skip NaN, which means missing, and do not skip infinity.
    largest = max(abs(np.fmin.reduce(values, initial=0.0)), abs(np.fmax.reduce(values, initial=0.0)))
    if largest > _LARGEST:
        what = "inf" if np.isinf(largest) else "values beyond 1e140"
        raise DataError(
            f'Column "{column.name}" contains {what}, with which no distance can be computed. '
            "Replace them by a number, or leave them empty (missing)."
        )
    return values


def _fit_categorical(column: pd.Series[Any]) -> CategoricalColumn:
    local, names = _factorise(column)
    counts: dict[str | None, int] = {}
    for name, count in zip((*names, None), _count(local, len(names)), strict=True):
        if count:
            counts[name] = counts.get(name, 0) + int(count)
    if len(counts) > MAX_LEVELS:
        raise DataError(
            f'Column "{column.name}" has {len(counts):,} different values: it looks like an identifier. '
            f"Leave it out of the features, or group it into at most {MAX_LEVELS:,} categories."
        )
    ranked = sorted(counts, key=lambda name: (-counts[name], name is None, name or ""))
    return CategoricalColumn(str(column.name), tuple(ranked))


def _codes(column: pd.Series[Any], known: CategoricalColumn) -> npt.NDArray[np.int64]:
    local, names = _factorise(column)
    code = {name: index for index, name in enumerate(known.levels)}
    unseen = len(known.levels)
    table = np.array([code.get(name, unseen) for name in (*names, None)], dtype=np.int64)
    return table[local]  # local -1, missing, reads the last entry


def _factorise(column: pd.Series[Any]) -> tuple[npt.NDArray[np.intp], list[str]]:
    """Each row's position in a list of level names, -1 where missing."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        local, values = column.cat.codes.to_numpy().astype(np.intp), column.cat.categories
    else:
        try:
            local, values = pd.factorize(column)
        except TypeError:
            raise DataError(
                f'Column "{column.name}" holds lists or other containers: an argument must be a string or a '
                "number to be a category. Unpack them into columns of their own."
            ) from None
    return local, [level_name(value) for value in values]


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


def _count(local: npt.NDArray[np.intp], size: int) -> npt.NDArray[np.intp]:
    """Rows per level, with the missing ones (-1) counted last."""
    return np.bincount(np.where(local < 0, size, local), minlength=size + 1)


def _quoted(names: Any) -> str:
    return ", ".join(f'"{name}"' for name in names)
