"""Rows of Python values, as databases and JSON give them: a part of them becomes the frame that the whole would."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.table.column_types import Choose, ColumnType, Dtype, FileTypes, types_of
from bdt_core.table.dated_texts import NO_DATES, seen_in_values
from bdt_core.table.notation import DatesSeen
from bdt_core.table.reading_notes import NO_NOTES, ReadingNotes

Record = Any
"""A row: a tuple of values, or a dict of them by column."""

_ROWS_AT_ONCE = 20_000


class RecordsTable(ABC):
    """Rows of Python values, in the order in which something hands them over.

    pandas sets them together as it would the whole: values of several sorts stand in one column as they are, which no
    reader of Arrow's does.

    Attributes
    ----------
    name : str
        As messages name it.
    coerce_float : bool
        Whether exact decimals become floats.
    rows : int
    dtypes : dict of str to dtype of pandas
        Of all columns, once it is settled.
    notes : ReadingNotes
    """

    name: str
    coerce_float: bool
    rows: int
    dtypes: dict[str, Dtype]
    notes: ReadingNotes = NO_NOTES
    _kept: list[list[Record]] | None = None

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:  # noqa: ARG002
        """Find out how many rows there are and what all columns hold, in one pass, whose rows can be kept."""
        if keep:
            self._kept = list(self._parts(_ROWS_AT_ONCE))
        self.rows, seen, given = 0, dict[str, ValuesSeen](), dict[str, int]()
        for part in self._all_parts():
            self.rows += len(part)
            for name, values in self._columns(part):
                seen.setdefault(name, ValuesSeen()).see(values)
                given[name] = given.get(name, 0) + len(values)
        for name, count in given.items():
            if count < self.rows:
                seen[name].see([np.nan])  # what pandas puts where a record lacks a column
        types = {name: self._type(one) for name, one in seen.items()}
        self._dates = {name: one.dates for name, one in seen.items() if one.dates.orders}
        self.dtypes = self._given = {name: one.dtype for name, one in types.items()}
        return FileTypes(self.name, self.rows, types, self.notes)

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, once it is settled."""
        for part in filter(None, self._all_parts()):
            frame = typed_frame(part, self._given, self._value, self.coerce_float)
            yield frame[[name for name in self._given if name in columns]]

    def dates(self, names: Collection[str]) -> dict[str, DatesSeen]:
        """Columns of texts that are dates, once it is settled."""
        return {name: one for name, one in self._dates.items() if name in names}

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame:  # noqa: ARG002 - all are read
        """Its first rows, understood by themselves."""
        self._kept = [next(self._parts(rows), [])]
        self.settle()
        first: pd.DataFrame = next(self.pieces(self.dtypes), pd.DataFrame(columns=list(self.dtypes)))
        self._kept = None
        return first

    def _all_parts(self) -> Iterable[list[Record]]:
        return self._parts(_ROWS_AT_ONCE) if self._kept is None else self._kept

    def _type(self, seen: ValuesSeen) -> ColumnType:
        return seen.type(self.coerce_float)

    @abstractmethod
    def _parts(self, rows: int) -> Iterator[list[Record]]:
        """Its rows, so many at a time."""

    @abstractmethod
    def _columns(self, part: list[Record]) -> Iterable[tuple[str, Sequence[Any]]]:
        """The values of each column that records of a part have; of all columns, where these are known."""

    @abstractmethod
    def _value(self, record: Record, name: str) -> Any:
        """The value of a record in a column."""


class ValuesSeen:
    """What was seen of one column, part by part: an example of each sort of value.

    The whole column gets the type that pandas gives the examples.
    """

    def __init__(self) -> None:
        self._examples: dict[Hashable, Any] = {}
        self._dates = DatesSeen()

    def see(self, values: Sequence[Any]) -> None:
        """Take in the values of some rows."""
        for kind in set(map(type, values)):
            its: list[Any] = [value for value in values if type(value) is kind]
            if kind is int:
                known = [self._examples[end] for end in ("lowest", "highest") if end in self._examples]
                self._examples |= {"lowest": min(*known, *its, its[0]), "highest": max(*known, *its, its[0])}
            elif kind is float:
                any_number = any(value == value for value in its)  # NaN alone goes with texts, too
                self._examples |= {"fraction": 0.5} if any_number else {"nan": np.nan}
            elif kind is dt.datetime:
                times: Sequence[dt.datetime] = its
                self._examples |= {("time in", one.tzinfo): one for one in times}
            else:
                self._examples.setdefault(kind, its[0])
                self._dates = seen_in_values(its, self._dates) if kind is str else self._dates

    @property
    def dates(self) -> DatesSeen:
        """Whether all its values are texts of dates."""
        return self._dates if set(self._examples) <= {str, type(None), "nan"} else NO_DATES

    def type(self, coerce_float: bool) -> ColumnType:
        """The type of the whole column, whose exact decimals are floats if wanted."""
        rows = [(value,) for value in self._examples.values()]
        frame = pd.DataFrame.from_records(rows, columns=["x"], coerce_float=coerce_float)
        return types_of(frame)["x"]


def typed_frame(
    records: Sequence[Record],
    dtypes: Mapping[str, Dtype],
    value: Callable[[Record, str], Any],
    coerce_float: bool = False,
) -> pd.DataFrame:
    """A frame of some rows with the types of the whole column.

    Parameters
    ----------
    records : sequence of tuple or dict
    dtypes : dict of str to dtype
        All columns of the whole, in order.
    value : callable
        The value of a record in a column.
    coerce_float : bool, default False
        Exact decimals become floats.
    """
    frame = pd.DataFrame.from_records(records, columns=list(dtypes), coerce_float=coerce_float)
    changed = {}
    for name, dtype in dtypes.items():
        column = frame[name]
        if column.dtype == dtype:
            continue
        if dtype == np.dtype(object):
            changed[name] = pd.Series([value(record, name) for record in records], dtype=object)
        elif column.isna().all():
            changed[name] = pd.Series(index=column.index, dtype=dtype)
        else:
            changed[name] = column.astype(dtype)
    return frame.assign(**changed) if changed else frame
