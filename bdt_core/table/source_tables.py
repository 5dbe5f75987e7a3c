"""The tables that a source names: files or a query, arrays set beside them, and what is joined to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bdt_core.errors import SourceError, UnreachableError, without_rows
from bdt_core.spec import Join, Source, TableSource
from bdt_core.table.column_types import Dtype
from bdt_core.table.databases import QueryTable
from bdt_core.table.files import FilesTable, together
from bdt_core.table.joining import ArrayBeside, JoinedTable
from bdt_core.table.locations import SourceFile, located
from bdt_core.table.named_files import filled, hiding_secrets


def refuse_unfit(source: Source, rows: int, columns: int) -> None:
    """A table needs rows, and two columns.

    Raises
    ------
    SourceError
    """
    refuse_without_rows(source, rows)
    if columns < 2:
        raise SourceError(
            f"{source.described} has one column only. Expected the bias variable and at least one feature."
        )


def refuse_without_rows(source: Source, rows: int) -> None:
    """A table needs rows.

    Raises
    ------
    SourceError
    """
    if rows == 0:
        raise SourceError(without_rows(source.described, is_file=source.path is not None))


@contextmanager
def main_table(source: Source) -> Iterator[FilesTable | QueryTable]:
    """The table of a source, without what is set beside it.

    Raises
    ------
    SourceError
        Nothing is there, or only Dagster can read it.
    """
    if source.asset is not None:
        raise SourceError(
            f'source.asset names the Dagster asset "{source.asset}", which only Dagster can read. '
            "Name a file in source.path, or hand the table itself to audit()."
        )
    with _opened(source, source, "source") as table:
        yield table


@contextmanager
def _opened(table: TableSource, source: Source, key: str) -> Iterator[FilesTable | QueryTable]:
    """The files or the query of a source, or of what is joined to it.

    Parameters
    ----------
    table : TableSource
    source : Source
        Whose partition and parameters hold.
    key : str
        Where it stands in the specification, for messages: ``"source.join"``.
    """
    if table.sql is not None and table.database is not None:
        given = source.parameters if source.partition is None else source.parameters | {"partition": source.partition}
        with QueryTable(table.sql, table.database, given) as query:
            yield query
    else:
        path = filled(table.path or "", source, f"{key}.path", is_pattern=True)
        with hiding_secrets(table.path or ""):
            yield FilesTable(path, table)


def arrays_beside(source: Source) -> list[ArrayBeside]:
    """The arrays of a source.

    Raises
    ------
    UnreachableError
        One cannot be read, which is not the fault of the table beside it.
    """
    arrays = []
    for column, path in source.arrays.items():
        whole = filled(path, source, f"source.arrays.{column}")
        try:
            with hiding_secrets(path):
                arrays.append(ArrayBeside(column, SourceFile(located(whole)), source.described))
        except SourceError as error:
            raise UnreachableError(error.sentence) from None
    return arrays


@contextmanager
def other_table(join: Join, source: Source) -> Iterator[FilesTable | QueryTable]:
    """The files or the query of what is joined to a source.

    Raises
    ------
    UnreachableError
        It cannot be read, which is not the fault of the table that it is joined to: labels may just be late.
    """
    try:
        with _opened(join, source, "source.join") as table:
            yield table
    except SourceError as error:
        raise UnreachableError(error.sentence) from None


def joined_table(source: Source, join: Join, dtypes: Mapping[str, Dtype]) -> JoinedTable:
    """The table that is joined to a source with such columns; it is read as a whole."""
    with other_table(join, source) as table:
        other = together(table)
    return JoinedTable(other, join, dtypes, source.described, table.notes)
