"""Read one sheet of a workbook: .xlsx, .xls, .xlsb and .ods."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO

import pandas as pd

from bdt_core.errors import SourceError, did_you_mean, repeated_message, repeated_names
from bdt_core.said import Column, Numeral, say
from bdt_core.spec import TableSource
from bdt_core.table.column_types import NUMBERS, TEXTS, Choose, FileTypes, types_of
from bdt_core.table.facts import NEIGHBOURS_ARE_ONE
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.text_columns import (
    MISSING,
    NAMES_TOO,
    TextColumn,
    Understood,
    names_taken_for_missing,
    point_of,
    typed_values,
)
from bdt_core.table.workbooks import read_sheets
from bdt_core.words import count

if TYPE_CHECKING:
    import pyarrow as pa

SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


class SheetTable:
    """One sheet, which is in memory as a whole.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning.
    name : str
        The file, as messages name it.
    settings : TableSource
        ``sheet`` names it; else the workbook must have one sheet only.

    Raises
    ------
    SourceError
        By its methods: there is no such sheet, or several and none is named; names of columns are repeated; the library
        is not installed.
    """

    def __init__(self, open_bytes: Callable[[], BinaryIO], name: str, settings: TableSource) -> None:
        self._open_bytes = open_bytes
        self._name = name
        self._settings = settings

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:  # noqa: ARG002
        """What all columns hold."""
        types = self._sheet.types
        if keep:
            sheet_of.cache_clear()  # whoever keeps the rows reads them no more
        return types

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """Its rows."""
        frame = self._sheet.frame
        yield frame[[name for name in frame.columns if name in columns]]

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame:  # noqa: ARG002 - all are read
        """Its first rows."""
        return self._sheet.frame[:rows]

    @cached_property
    def _sheet(self) -> WholeSheet:
        with self._open_bytes() as opened:
            content = opened.read()
        words, settings = self._settings.missing_values, self._settings
        missing = MISSING if words is None else frozenset({"", *words})
        return sheet_of(content, self._name, settings.sheet, settings.decimal, missing)


@dataclass(frozen=True)
class WholeSheet:
    """A sheet that was read.

    Attributes
    ----------
    frame : DataFrame
    types : FileTypes
    """

    frame: pd.DataFrame
    types: FileTypes


@lru_cache(maxsize=1)
def sheet_of(content: bytes, name: str, sheet: str | None, decimal: str | None, missing: frozenset[str]) -> WholeSheet:
    """Read one sheet of a workbook.

    An audit looks at a table before it reads it. Of a sheet a look costs as much as reading it, so the latest is kept.

    Parameters
    ----------
    content : bytes
        Of the file.
    name : str
        The file, as messages name it.
    sheet : str or None
        None where the workbook has to have one only.
    decimal : {"point", "comma"} or None
        What stands before the decimals of numbers that are texts; None detects it.
    missing : frozenset of str
        Words that stand for a missing value.
    """
    cells = _Cells(_columns(content, name, sheet), missing, decimal)
    frame = pd.DataFrame({column: cells.column(column) for column in cells.values})
    types = types_of(frame)
    remarks = [one.remark for one in cells.texts.values() if one.remark]
    remarks += [
        say(
            'Column "{column}": {N} of its numbers are texts in the sheet, and are read as numbers.',
            column=Column(column),
            N=count(numbers),
        )
        for column, numbers in cells.written.items()
    ]
    remarks += names_taken_for_missing(cells.names, {column for column, one in types.items() if one.holds == TEXTS})
    questions = {column: one.question for column, one in cells.texts.items() if one.question}
    return WholeSheet(frame, FileTypes(name, len(frame), types, ReadingNotes({}, tuple(remarks), questions)))


def _columns(content: bytes, name: str, sheet: str | None) -> dict[str, list[Any]]:
    """Cells of each column; rows and columns without any are left out."""
    rows = [one for one in _rows(content, name, sheet) if any(map(_is_filled, one))]
    if not rows:
        raise SourceError(say("{table}: the sheet is empty. Expected a row of names and rows of values.", table=name))
    names = [str(one).strip() for one in rows[0]]
    cells_of = {}
    for place, column in enumerate(names):
        cells = [one[place] for one in rows[1:]]
        if column or any(map(_is_filled, cells)):
            names[place] = column or f"Unnamed: {place}"
            cells_of[names[place]] = cells
    repeated = repeated_names(one for one in names if one)
    if repeated:
        raise SourceError(repeated_message(name, repeated))
    return cells_of


def _rows(content: bytes, name: str, sheet: str | None) -> list[list[Any]]:
    book = read_sheets(content, sheet, name)
    if book.rows is not None:
        return [[int(one) if _is_whole(one) else one for one in row] for row in book.rows]
    if sheet is None:
        raise SourceError(
            say(
                '{table} has {N} sheets. Name one in "source.sheet": {names}.',
                table=name,
                N=Numeral(len(book.names)),
                names=", ".join(book.names[:20]),
            )
        )
    raise SourceError(
        say(
            '{table} has no sheet "{sheet}", which source.sheet names. {hint}',
            table=name,
            sheet=sheet,
            hint=did_you_mean(sheet, book.names),
        )
    )


class _Cells:
    """Cells of a sheet, which become columns of one type each."""

    def __init__(self, raw: dict[str, list[Any]], missing: frozenset[str], decimal: str | None) -> None:
        self._raw = raw
        self._missing = missing
        self._decimal = decimal

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """Values of each column, of which some are missing."""
        return {name: [None if self._is_missing(one) else one for one in cells] for name, cells in self._raw.items()}

    @property
    def names(self) -> Counter[tuple[str, str]]:
        """By column and word: how often a word that may be a name was taken for a missing value."""
        words = NAMES_TOO & self._missing
        return Counter(
            (name, one.strip())
            for name, cells in self._raw.items()
            for one in cells
            if isinstance(one, str) and one.strip() in words
        )

    def _is_missing(self, cell: Any) -> bool:
        return isinstance(cell, str) and cell.strip() in self._missing

    @cached_property
    def texts(self) -> dict[str, Understood]:
        """How the texts of a column are read, where it holds nothing else, or numbers."""
        seen = {}
        for name, values in self.values.items():
            others = [one for one in values if one is not None and not isinstance(one, str)]
            if all(map(_is_number, others)) and not (others and len(others) == sum(one is not None for one in values)):
                seen[name] = TextColumn(name, may_be_grouped=True)
                seen[name].see(_texts_of(values))
        point = point_of(seen.values(), self._decimal)
        return {name: one.understood(point) for name, one in seen.items()}

    @cached_property
    def written(self) -> dict[str, int]:
        """Columns of numbers of which some are texts, and how many of these."""
        return {
            name: sum(isinstance(one, str) for one in values)
            for name, values in self.values.items()
            if name in self.texts and self.texts[name].type.holds == NUMBERS and any(map(_is_number, values))
        }

    def column(self, name: str) -> pd.Series[Any]:
        values = self.values[name]
        has_numbers = any(map(_is_number, values))
        if name not in self.texts or (has_numbers and name not in self.written):
            return _column(values)
        read = typed_values(_texts_of(values), self.texts[name])
        if not has_numbers:
            return read
        numbers = pd.Series([one if _is_number(one) else None for one in values], dtype="float64")
        return numbers.fillna(read.astype("float64"))


def _is_filled(cell: Any) -> bool:
    return not isinstance(cell, str) or bool(cell.strip())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(cell: Any) -> bool:
    """Whether a cell is a whole number; those beyond may have been another one when they were written."""
    return isinstance(cell, float) and cell.is_integer() and abs(cell) < NEIGHBOURS_ARE_ONE


def _texts_of(values: Sequence[Any]) -> pa.Array:
    """Values of a column that are texts; the others are missing."""
    import pyarrow as pa

    return pa.array([one if isinstance(one, str) else None for one in values], pa.string())


def _column(values: list[Any]) -> pd.Series[Any]:
    """Values of one sort as they are, values of several as texts."""
    sorts = {float if isinstance(one, int | float) and not isinstance(one, bool) else type(one) for one in values}
    sorts -= {type(None)}
    if sorts <= {dt.date, dt.datetime}:
        return pd.Series(pd.to_datetime(values))
    if len(sorts) > 1 or sorts & {dt.time, dt.timedelta}:
        return pd.Series([None if one is None else str(one) for one in values], dtype="str")
    return pd.Series(values)
