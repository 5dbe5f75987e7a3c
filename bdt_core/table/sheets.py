"""Read one sheet of a workbook: .xlsx, .xls, .xlsb and .ods."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from typing import Any, BinaryIO

import pandas as pd

from bdt_core.errors import SourceError, did_you_mean, repeated_message, repeated_names
from bdt_core.spec import Table
from bdt_core.table.column_types import FileTypes, types_of
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.text_columns import MISSING, TextColumn, Understood, typed_values

SHEETS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")


class SheetTable:
    """One sheet, which is in memory as a whole.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning.
    name : str
        The file, as messages name it.
    settings : Table
        ``sheet`` names it; else the workbook must have one sheet only.

    Raises
    ------
    SourceError
        By its methods: there is no such sheet, or several and none is named; names of columns are repeated; the library
        is not installed.
    """

    def __init__(self, open_bytes: Callable[[], BinaryIO], name: str, settings: Table) -> None:
        self.name = name
        self._open_bytes = open_bytes
        self._settings = settings

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:  # noqa: ARG002
        """What all columns hold."""
        told = tuple(one.told for one in self._texts.values() if one.told)
        questions = {name: one.question for name, one in self._texts.items() if one.question}
        return FileTypes(self.name, len(self._frame), types_of(self._frame), ReadingNotes({}, told, questions))

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """Its rows."""
        yield self._frame[[name for name in self._frame.columns if name in columns]]

    def beginning(self, rows: int) -> pd.DataFrame:
        """Its first rows."""
        return self._frame[:rows]

    @cached_property
    def _values(self) -> dict[str, list[Any]]:
        """Values of each column; rows and columns without any are left out."""
        rows = [one for one in self._cells() if any(value is not None for value in one)]
        if not rows:
            raise SourceError(f"{self.name}: the sheet is empty. Expected a row of names and rows of values.")
        names = ["" if one is None else str(one).strip() for one in rows[0]]
        found = {}
        for place, name in enumerate(names):
            values = [one[place] for one in rows[1:]]
            if name or any(value is not None for value in values):
                names[place] = name or f"Unnamed: {place}"
                found[names[place]] = values
        repeated = repeated_names(one for one in names if one)
        if repeated:
            raise SourceError(repeated_message(self.name, repeated))
        return found

    @cached_property
    def _texts(self) -> dict[str, Understood]:
        """How columns of texts are read."""
        import pyarrow as pa

        seen = {}
        for name, values in self._values.items():
            if all(value is None or isinstance(value, str) for value in values):
                seen[name] = TextColumn(name, may_be_grouped=True)
                seen[name].see(pa.array(values, pa.string()))
        certain = {one.point for one in seen.values()} - {None}
        point = self._settings.decimal or (certain.pop() if len(certain) == 1 else None)
        return {name: one.understood(point) for name, one in seen.items()}

    @cached_property
    def _frame(self) -> pd.DataFrame:
        import pyarrow as pa

        columns = {
            name: typed_values(pa.array(values, pa.string()), self._texts[name])
            if name in self._texts
            else _column(values)
            for name, values in self._values.items()
        }
        return pd.DataFrame(columns)

    def _cells(self) -> list[list[Any]]:
        try:
            from python_calamine import CalamineWorkbook
        except ImportError:
            raise SourceError(
                f"{self.name} is a workbook, which needs python-calamine. Try: pip install 'bdt-pipeline[excel]', or "
                "save the sheet as .csv."
            ) from None
        with self._open_bytes() as opened:
            book = CalamineWorkbook.from_filelike(opened)
        wanted = self._settings.sheet
        if wanted is None and len(book.sheet_names) > 1:
            raise SourceError(
                f'{self.name} has {len(book.sheet_names)} sheets. Name one in "source.sheet": '
                f"{', '.join(book.sheet_names[:20])}."
            )
        wanted = book.sheet_names[0] if wanted is None else wanted
        if wanted not in book.sheet_names:
            hint = did_you_mean(wanted, book.sheet_names)
            raise SourceError(f'{self.name} has no sheet "{wanted}", which source.sheet names. {hint}')
        given = self._settings.missing_values
        missing = MISSING if given is None else {"", *given}
        rows: Sequence[Sequence[Any]] = book.get_sheet_by_name(wanted).to_python()
        return [[_value(one, missing) for one in row] for row in rows]


def _value(cell: Any, missing: Collection[str]) -> Any:
    """A cell as a value: whole numbers are whole, and what stands for a missing value is None."""
    if isinstance(cell, str):
        return None if cell.strip() in missing else cell
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _column(values: list[Any]) -> pd.Series[Any]:
    """Values of one sort as they are, values of several as texts."""
    sorts = {float if isinstance(one, int | float) and not isinstance(one, bool) else type(one) for one in values}
    sorts -= {type(None)}
    if sorts <= {dt.date, dt.datetime}:
        return pd.Series(pd.to_datetime(values))
    if len(sorts) > 1 or sorts & {dt.time, dt.timedelta}:
        return pd.Series([None if one is None else str(one) for one in values], dtype="str")
    return pd.Series(values)
