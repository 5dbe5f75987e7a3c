"""Typed columns become arrays: standardised numbers and category codes, one contiguous array per column.

Everything here is independent of the order of rows and columns: means and standard deviations come from exact
sums, columns are kept in the order of their names, and categories are numbered by how frequent they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.errors import DataError, did_you_mean
from bdt_core.inference.exact_sums import Span, SumUnit, exact_sum, mean_and_std, means_and_stds_in_blocks
from bdt_core.table.categorical import (
    MAX_LEVELS,
    CategoricalColumn,
    count_levels,
    encode_categories,
    fit_categories,
    level_name,
    positions_of,
    ranked_levels,
)
from bdt_core.table.frames import Kind, as_frame, column_kind
from bdt_core.table.numeric import (
    NumericColumn,
    encode_numbers,
    fit_numbers,
    numbers_in_turn,
    numbers_together,
    numeric_column,
)
from bdt_core.table.pool import mapped, width_for

__all__ = [
    "MAX_LEVELS",
    "CategoricalColumn",
    "Encoded",
    "Encoder",
    "Kind",
    "NumericColumn",
    "as_frame",
    "column_kind",
    "exact_sum",
    "fit_encoder",
    "level_name",
    "mean_and_std",
]

FloatArray = npt.NDArray[np.floating[Any]]
T = TypeVar("T")


class MapFrames(Protocol):
    """Applies a function to the features of every block."""

    def __call__(self, function: Callable[[pd.DataFrame], T], /) -> list[T]: ...


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

    def take(self, rows: npt.NDArray[Any]) -> Encoded:
        """Some of the rows, in memory of their own."""
        return Encoded(self.numeric.take(rows, axis=1), self.codes.take(rows, axis=1))

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
        """Learn the encoding from the training rows: the first half of what `fit_transform` returns."""
        return cls.fit_transform(table, kinds=kinds, scale=scale, dtype=dtype, centre=centre)[0]

    @classmethod
    def fit_transform(
        cls,
        table: Any,
        *,
        kinds: Mapping[str, Kind] | None = None,
        scale: bool = True,
        dtype: str = "float32",
        centre: bool = True,
    ) -> tuple[Encoder, Encoded]:
        """Learn the encoding from the training rows, and encode them.

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
        named = dict(kinds or {})
        for name in named:
            if name not in names:
                raise DataError(f'There is no column "{name}". {did_you_mean(name, names)}')
        numeric: list[str] = []
        categorical: list[str] = []
        for name in sorted(names):
            kind = named.get(name) or column_kind(frame[name])
            (numeric if kind == "numeric" else categorical).append(name)
        blank = cls(names, (), (), len(frame), scale, dtype, centre)
        return blank._encode(frame, numeric, categorical)

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
        numeric, categorical = ([column.name for column in kind] for kind in (self.numeric, self.categorical))
        return self._encode(frame, numeric, categorical)[1]

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

    def _encode(
        self, frame: pd.DataFrame, numeric: Sequence[str], categorical: Sequence[str]
    ) -> tuple[Encoder, Encoded]:
        """Encode rows, learning those columns from them that are not known yet."""
        numbers = {column.name: column for column in self.numeric}
        categories = {column.name: column for column in self.categorical}
        # Every number may need a flag; rows of an array that are never written to take no memory.
        fields: FloatArray = np.empty((2 * len(numeric), len(frame)), dtype=np.dtype(self.dtype))
        used, width = 0, width_for(len(frame))
        for group in numbers_together(frame, numeric):
            fitted = mapped(lambda one: numbers.get(one.name) or fit_numbers(one, self.centre), group, width)
            numbers.update((one.name, one) for one in fitted)
            work = []
            for values, number in zip(group, fitted, strict=True):
                work.append((number, values, fields[used:]))
                used += 1 if number.missing is None else 2
            mapped(lambda one: encode_numbers(*one, rows=self.rows, scale=self.scale, centre=self.centre), work, width)
        codes: npt.NDArray[np.unsignedinteger[Any]] = np.empty((len(categorical), len(frame)), dtype=np.uint8)

        def encode(index: int) -> CategoricalColumn:
            name = categorical[index]
            positions = positions_of(frame[name])
            category = categories.get(name) or fit_categories(name, positions)
            if len(category.levels) <= np.iinfo(codes.dtype).max:
                encode_categories(category, positions, codes[index])
            return category

        columns = mapped(encode, range(len(categorical)), width)
        categories |= {one.name: one for one in columns}
        wide = [index for index, one in enumerate(columns) if len(one.levels) > np.iinfo(np.uint8).max]
        if wide:
            codes = codes.astype(np.uint16)
            mapped(encode, wide, width)
        encoder = replace(self, numeric=tuple(numbers.values()), categorical=tuple(categories.values()))
        return encoder, Encoded(fields[:used], codes)


def fit_encoder(
    map_blocks: MapFrames, names: Sequence[str], kinds: Mapping[str, Kind], *, scale: bool, dtype: str = "float32"
) -> Encoder:
    """Learn the encoding of rows that come in blocks: to the bit what `Encoder.fit` learns from all of them at once.

    Blocks are passed over three times: for spans and levels, for means, and for standard deviations.

    Parameters
    ----------
    map_blocks : callable
    names : sequence of str
        Columns in the order given.
    kinds : mapping of str to Kind
        Of each of them.
    scale : bool
    dtype : {"float32", "float64"}

    Returns
    -------
    Encoder
    """
    numeric = [name for name in sorted(names) if kinds[name] == "numeric"]
    categorical = [name for name in sorted(names) if kinds[name] == "categorical"]
    facts = reduce(_Facts.__add__, map_blocks(partial(_look, numeric=numeric, categorical=categorical)))

    def count(steps: dict[str, SumUnit]) -> dict[str, int]:
        blocks = map_blocks(partial(_count, steps=steps)) if steps else []
        return {name: sum(one[name] for one in blocks) for name in steps}

    spread = means_and_stds_in_blocks(facts.spans, count)
    numbers = [numeric_column(name, spread[name], facts.spans[name].rows, facts.rows) for name in numeric]
    categories = [CategoricalColumn(name, ranked_levels(name, facts.levels[name])) for name in categorical]
    return Encoder(tuple(names), tuple(numbers), tuple(categories), facts.rows, scale, dtype)


@dataclass(frozen=True)
class _Facts:
    """What is known of features before they are summed up; adds up over blocks."""

    rows: int
    spans: dict[str, Span]
    levels: dict[str, Counter[str | None]]

    def __add__(self, other: _Facts) -> _Facts:
        return _Facts(
            self.rows + other.rows,
            {name: span + other.spans[name] for name, span in self.spans.items()},
            {name: levels + other.levels[name] for name, levels in self.levels.items()},
        )


def _look(frame: pd.DataFrame, numeric: Sequence[str], categorical: Sequence[str]) -> _Facts:
    spans = {one.name: one.span for one in numbers_in_turn(frame, numeric)} if len(frame) else {}
    levels = {name: Counter(count_levels(positions_of(frame[name]))) for name in categorical}
    return _Facts(len(frame), {name: spans.get(name, Span()) for name in numeric}, levels)


def _count(frame: pd.DataFrame, steps: Mapping[str, SumUnit]) -> dict[str, int]:
    if not len(frame):
        return dict.fromkeys(steps, 0)
    return {one.name: steps[one.name].count(one.known) for one in numbers_in_turn(frame, list(steps))}
