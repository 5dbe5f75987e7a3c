"""Read one or many files, local or on any file system that fsspec knows, in pieces."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import BinaryIO, Protocol

import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.said import say
from bdt_core.spec import TableSource
from bdt_core.table.column_types import TEXTS, Choose, Dtype, FileTypes, agreed, conformed, stacked
from bdt_core.table.dated_texts import DatedTexts, may_be_dates
from bdt_core.table.json_lines import JsonLinesTable, JsonListTable
from bdt_core.table.locations import (
    JSON_LINES,
    JSON_LIST,
    PARQUET,
    SourceFile,
    files_at,
    is_remote,
    located,
    read_bytes,
    reading,
)
from bdt_core.table.notation import DatesSeen
from bdt_core.table.parquet_files import ParquetTable, parquet_tables
from bdt_core.table.pool import mapped
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.records import RecordsTable
from bdt_core.table.sheets import SHEETS, SheetTable
from bdt_core.table.text_encoding import UTF16_MARKS
from bdt_core.table.text_files import TextTable

__all__ = ["FilesTable", "is_remote", "located", "read_bytes", "read_files"]


def read_files(path: str) -> pd.DataFrame:
    """Read the file, the folder of Parquet files, or all files that fit a pattern.

    Parameters
    ----------
    path : str
        Local, or a URL such as ``s3://bucket/day=*/part.parquet``. Credentials come from the environment, as
        fsspec and the cloud's own tools take them.

    Returns
    -------
    DataFrame

    Raises
    ------
    SourceError
        Nothing is there, it cannot be read, or files that are read together differ in their columns.

    Examples
    --------
    >>> len(read_files("demo:compas"))
    7214
    """
    return together(FilesTable(path))


def together(table: FilesTable | RecordsTable) -> pd.DataFrame:
    """All pieces of a table set under each other."""
    table.settle(keep=True)
    frames = list(table.pieces(table.dtypes))
    return stacked(frames) if frames else pd.DataFrame({n: pd.Series(dtype=one) for n, one in table.dtypes.items()})


_FIRST_BYTES = 1 << 22


class FilesTable:
    """The table in one or many files.

    Parameters
    ----------
    path : str
    settings : TableSource, optional
        How its files are to be read; what is left out is detected.
    only : collection of str, optional
        Columns that are looked at, of texts: of Parquet none is read that is not asked for.

    Raises
    ------
    SourceError
        As `read_files` does. What the footers of Parquet files tell is checked at once.
    """

    def __init__(self, path: str, settings: TableSource | None = None, only: Collection[str] | None = None) -> None:
        settings = settings or TableSource()
        self.files = files_at(path)
        for file in self.files:
            if file.suffix in PARQUET and file.is_packed:
                raise SourceError(f"{file.where}: Parquet is packed in itself. Unpack it, and name the .parquet file.")
        stored = iter(parquet_tables([file for file in self.files if _is_parquet(file)]))
        self.tables: list[_Table] = [
            next(stored) if _is_parquet(file) else _WrittenTable(file, settings, only) for file in self.files
        ]
        announced = [table.announced() for table in self.tables if isinstance(table, ParquetTable)]
        if announced:
            agreed(announced)

    def header(self) -> list[str] | None:
        """The columns, without a look at any value; None where nothing but all values says them."""
        first = self.tables[0]
        if isinstance(first, ParquetTable):
            return first.names
        return first.header() if isinstance(first, _WrittenTable) else None

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> None:
        """Find out how many rows there are and what their columns hold, in one pass where no footer says it.

        The rows of texts can be kept, so that this pass is the only one.
        """
        are_stored = all(isinstance(one, ParquetTable) for one in self.tables)
        types = mapped(lambda table: table.settle(columns, keep), self.tables, None if are_stored else 1)
        _refuse_without_rows(self.tables, types)
        for its in types if len(types) > 1 else ():
            for question in its.notes.questions.values():
                raise SourceError(say("{table}: {question}", table=its.name, question=question))
        self.rows = sum(one.rows for one in types)
        self._given = agreed(types)
        looked_at = [one.dates for one, its in zip(self.tables, types, strict=True) if its.rows]
        self._dated = DatedTexts(may_be_dates(_texts(types, columns), looked_at))
        self.dtypes = self._dated.types(self._given)
        self.notes = sum((one.notes for one in types), ReadingNotes()) + self._dated.notes

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """The rows of `columns` from first to last, once it is settled."""
        dtypes = {name: one for name, one in self._given.items() if name in columns}
        for table in self.tables:
            for piece in table.pieces(dtypes):
                yield self._dated.read(conformed(piece, dtypes)[list(dtypes)])

    def parts(self, rows: int, columns: Collection[str]) -> list[FilesPart] | None:
        """Some columns in parts of about so many rows, each of which can be read by itself, once it is settled.

        None where there is no telling where a part begins without reading what stands before it: texts, and Parquet
        files whose rows are stored in groups of more than twice as many.
        """
        given = {name: one for name, one in self._given.items() if name in columns}
        parts: list[FilesPart] = [FilesPart(given, self._dated, self.notes)]
        for table in self.tables:
            if not isinstance(table, ParquetTable) or max(table.footer.groups, default=0) > 2 * rows:
                return None
            for group, size in enumerate(table.footer.groups):
                if parts[-1].rows + size > rows:
                    parts.append(FilesPart(given, self._dated, self.notes))
                parts[-1].add(table, group, size)
        return [one for one in parts if one.rows]

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame:
        """The first rows, without a look at the others; what footers say of the types is kept."""
        stored = [one.announced() for one in self.tables if isinstance(one, ParquetTable)]
        with_rows = (one for one in self.tables if not isinstance(one, ParquetTable) or one.footer.rows)
        frame = next(with_rows, self.tables[0]).beginning(rows, choose)
        if len(stored) < len(self.tables):
            return frame
        known = {name: one for name, one in agreed(stored).items() if name in frame.columns and one != "category"}
        return conformed(frame, known)

    def estimated_rows(self) -> int:
        """How many rows there are: known for Parquet, judged by the length of the first lines for texts."""
        return sum(
            one.footer.rows if isinstance(one, ParquetTable) else one.estimated_rows
            for one in self.tables
            if isinstance(one, ParquetTable | _WrittenTable)
        )


@dataclass
class FilesPart:
    """Some rows of Parquet files that are read together; it can be read elsewhere.

    Attributes
    ----------
    dtypes : dict of str to dtype of pandas
        Of the whole table, before dates are read from texts.
    dated : DatedTexts
        What of it are dates.
    notes : ReadingNotes
        On the whole table.
    rows : int
    """

    dtypes: dict[str, Dtype]
    dated: DatedTexts
    notes: ReadingNotes
    rows: int = 0
    _groups: list[tuple[ParquetTable, list[int]]] = field(default_factory=list)

    def add(self, table: ParquetTable, group: int, rows: int) -> None:
        """Take in a group of rows."""
        self.rows += rows
        if self._groups and self._groups[-1][0] is table:
            self._groups[-1][1].append(group)
        else:
            self._groups.append((table, [group]))

    def read(self) -> pd.DataFrame:
        """Its rows, with the types of the whole table."""
        pieces = (piece for table, groups in self._groups for piece in table.pieces(self.dtypes, groups))
        frame = self.dated.read(stacked([conformed(one, self.dtypes)[list(self.dtypes)] for one in pieces]))
        frame.attrs = self.notes.beside({})
        return frame


class _Table(Protocol):
    """One file."""

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame: ...
    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes: ...
    def dates(self, names: Collection[str]) -> dict[str, DatesSeen]: ...
    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]: ...


class _WrittenTable:
    """A text or JSON lines, which must not change from one pass to the next."""

    def __init__(self, file: SourceFile, settings: TableSource, only: Collection[str] | None = None) -> None:
        self.file = file
        self._settings = settings
        self._only = only
        self._in_place = self._as_table(file.open)

    @cached_property
    def _version(self) -> object:
        return self.file.version()

    def _as_table(self, open_bytes: Callable[[], BinaryIO]) -> TextTable | JsonLinesTable | SheetTable:
        if self.file.suffix in SHEETS:
            return SheetTable(open_bytes, self.file.where, self._settings)
        if self.file.suffix == JSON_LIST:
            return JsonListTable(open_bytes, self.file.where)
        if self.file.suffix in JSON_LINES:
            return JsonLinesTable(open_bytes, self.file.where)
        return TextTable(open_bytes, self.file.where, self._settings, self._only)

    def header(self) -> list[str] | None:
        """The columns of a text; None of files whose values have to be read for them."""
        with reading(self.file, "a table", self._version):
            return list(self._in_place.form.names) if isinstance(self._in_place, TextTable) else None

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:
        with reading(self.file, "a table", self._version):
            if keep and self.file.is_remote:  # fetched once, though it is looked at more often
                with self.file.open() as opened:
                    raw = opened.read()
                self._in_place = self._as_table(lambda: io.BytesIO(raw))
            return self._in_place.settle(columns, keep)

    def dates(self, names: Collection[str]) -> dict[str, DatesSeen]:
        return self._in_place.dates(names) if isinstance(self._in_place, RecordsTable) else {}  # theirs are read

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        with reading(self.file, "a table", self._version):
            yield from self._in_place.pieces(columns)

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame:
        if self._is_whole:
            with reading(self.file, "a table", self._version):
                return self._in_place.beginning(rows, choose)
        first = self._first_lines
        try:
            return self._as_table(lambda: io.BytesIO(first)).beginning(rows, choose)
        except SourceError:  # perhaps only for a value that goes on after these lines
            with reading(self.file, "a table", self._version):
                return self._as_table(self.file.open).beginning(rows, choose)

    @property
    def _is_whole(self) -> bool:
        """Whether its first lines say nothing, so that all of it must be read."""
        return self.file.suffix in (*SHEETS, JSON_LIST)

    @property
    def estimated_rows(self) -> int:
        """Judged by the length of the first lines."""
        return self.settle().rows if self._is_whole else round(self.file.content_size() / self._line_bytes)

    @property
    def _line_bytes(self) -> float:
        """Mean length of the first lines."""
        return len(self._first_lines) / max(self._first_lines.count(b"\n"), 1)

    @cached_property
    def _first_lines(self) -> bytes:
        with reading(self.file, "a table", self._version), self.file.open() as opened:
            first = opened.read(_FIRST_BYTES)
        if len(first) == _FIRST_BYTES and b"\n" in first:
            end = first.rindex(b"\n") + 1
            first = first[: end + end % 2] if first.startswith(UTF16_MARKS) else first[:end]
        return first


def _is_parquet(file: SourceFile) -> bool:
    return file.suffix in PARQUET or file.in_folder


def _texts(types: Sequence[FileTypes], columns: Collection[str] | None) -> list[str]:
    """Columns that are looked at, and hold texts wherever they hold anything."""
    return [
        name
        for name in types[0].columns
        if (columns is None or name in columns)
        and {its.columns[name].holds for its in types if its.columns[name].filled} == {TEXTS}
    ]


def _refuse_without_rows(tables: Sequence[_Table], types: Sequence[FileTypes]) -> None:
    """Among several, a text without rows may have been cut off; a Parquet file's footer says that it was not."""
    for table, its in zip(tables, types, strict=True):
        if len(tables) > 1 and its.rows == 0 and not isinstance(table, ParquetTable):
            raise SourceError(
                f"{its.name} has no rows. Expected some in each file: write it again if it was cut off, or leave it "
                "out."
            )
