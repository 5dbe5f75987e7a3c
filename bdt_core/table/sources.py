"""Read the table of a source: files or a query, with arrays set beside it and labels joined to it."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError, UnreachableError
from bdt_core.spec import Join, Source, Table
from bdt_core.table.column_types import Dtype
from bdt_core.table.databases import QueryTable
from bdt_core.table.environment import expanded, without_secrets
from bdt_core.table.files import FilesTable
from bdt_core.table.joining import JOINED, ArrayBeside, JoinedTable
from bdt_core.table.locations import SourceFile, is_remote, located

__all__ = ["JOINED", "as_frame", "read_table"]

_TABLE = "a DataFrame (pandas or Polars), an Arrow table or the path of a file"


def read_table(source: Source | str | Path) -> pd.DataFrame:
    """Read the table that a source names.

    Parameters
    ----------
    source : Source, str or Path
        A ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file, a folder of Parquet files, a pattern such as
        ``days/*.csv``, a URL that fsspec knows, ``demo:compas``, ``demo:adult``, or a query. Separator, encoding and
        decimal comma of a text file are detected unless the source names them.

    Returns
    -------
    DataFrame
        The table as it stands; nothing is dropped or converted.

    Raises
    ------
    SourceError
        When the file is missing, empty, has no rows, fewer than two columns, repeated column names, ragged rows,
        or cannot be decoded; when the query fails; when arrays or joined rows do not fit.

    Examples
    --------
    >>> len(read_table("demo:compas"))
    7214
    """
    if not isinstance(source, Source):
        source = Source(path=str(source))
    with main_table(source) as table:
        frame = table.read()
    for array in arrays_beside(source):
        array.refuse_unfit(len(frame), frame.columns)
        with hiding_secrets(source.arrays[array.column]):
            frame = frame.assign(**{array.column: array.read()})
    if source.join is not None:
        joined = joined_table(source, source.join, dict(frame.dtypes))
        frame = joined.added_to(frame)
    refuse_unfit(source, len(frame), frame.shape[1])
    return frame


def refuse_unfit(source: Source, rows: int, columns: int) -> None:
    """A table needs rows, and two columns.

    Raises
    ------
    SourceError
    """
    if rows == 0:
        raise SourceError(f"{source.described} has a header but no rows.")
    if columns < 2:
        raise SourceError(
            f"{source.described} has one column only. Expected the bias variable and at least one feature."
        )


def as_frame(table: Any) -> pd.DataFrame:
    """A table that somebody hands over, as a DataFrame.

    Parameters
    ----------
    table : DataFrame, Arrow table, Polars frame, anything else with the Arrow PyCapsule interface, str or Path
        A text or path is read as :func:`read_table` does.

    Returns
    -------
    DataFrame

    Raises
    ------
    SourceError
        It is none of these.
    UnreachableError
        It is None, or several tables by the names of their parts.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_frame(pa.table({"a": [1, 2], "b": ["x", "y"]})).shape
    (2, 2)
    """
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, str | Path):
        return read_table(table)
    _refuse_none_or_several(table)
    if hasattr(table, "collect"):  # a lazy frame of Polars
        table = table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        try:
            arrow = pa.table(table)
        except pa.ArrowInvalid:  # one column alone has the interface, too
            raise _no_table(table) from None
        frame: pd.DataFrame = arrow.to_pandas()
        return frame
    raise _no_table(table)


def _no_table(value: Any) -> SourceError:
    return SourceError(f"A {type(value).__name__} is not a table. Expected {_TABLE}.")


def _refuse_none_or_several(table: Any) -> None:
    """What other code hands over when there is no table, or one per part; nothing is wrong with the tables."""
    if table is None or (isinstance(table, Mapping) and not table):
        raise UnreachableError(
            f"{table} was handed over in place of a table. Expected {_TABLE}: let what makes the table return one of "
            "these, and run it first, for the same part if it has parts."
        )
    if isinstance(table, Mapping) and all(map(_is_table, table.values())):
        names = ", ".join([str(one) for one in table][:3]) + (", ..." if len(table) > 3 else "")
        raise UnreachableError(
            f"Tables by parts ({names}) were handed over, and an audit takes one table. Audit part by part: set "
            "partition_by (of build_bias_gate_checks: partitions_def) like the partitions of the asset that makes "
            "them, and launch a run per part; or make one table of them."
        )


def _is_table(value: Any) -> bool:
    return isinstance(value, str | Path) or hasattr(type(value), "columns")


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
def _opened(table: Table, source: Source, key: str) -> Iterator[FilesTable | QueryTable]:
    """The files or the query of a source, or of what is joined to it.

    Parameters
    ----------
    table : Table
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
        path = _filled(table.path or "", source, f"{key}.path", is_pattern=True)
        with hiding_secrets(table.path or ""):
            yield FilesTable(path, table.separator, table.encoding)


def arrays_beside(source: Source) -> list[ArrayBeside]:
    """The arrays of a source.

    Raises
    ------
    UnreachableError
        One cannot be read, which is not the fault of the table beside it.
    """
    found = []
    for column, path in source.arrays.items():
        filled = _filled(path, source, f"source.arrays.{column}")
        try:
            with hiding_secrets(path):
                found.append(ArrayBeside(column, SourceFile(located(filled)), source.described))
        except SourceError as error:
            raise UnreachableError(str(error)) from None
    return found


@contextmanager
def hiding_secrets(path: str) -> Iterator[None]:
    """Errors name an address that is no local path as the specification has it, with ``${NAME}`` for a secret."""
    try:
        yield
    except SourceError as error:
        if not is_remote(expanded(path, "source.path")):
            raise
        raise type(error)(without_secrets(str(error), path)) from None


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
        raise UnreachableError(str(error)) from None


def joined_table(source: Source, join: Join, dtypes: Mapping[str, Dtype]) -> JoinedTable:
    """The table that is joined to a source with such columns; it is read as a whole."""
    with other_table(join, source) as table:
        other = table.read()
    return JoinedTable(other, join, dtypes, source.described)


def _filled(path: str, source: Source, key: str, *, is_pattern: bool = False) -> str:
    """A path with its environment variables and its partition, which is a name and neither a pattern nor a home."""
    if "{partition}" not in path:
        return expanded(path, key)
    if source.partition is None:
        raise SourceError(f"{key} is {path}: say which part to read, with source.partition or --partition.")
    if path.startswith("{partition}") and source.partition.startswith("~"):
        raise SourceError(
            f"{key}: a part whose name begins with ~ would name a home. Put a folder before {{partition}}."
        )
    name = glob.escape(source.partition) if is_pattern else source.partition
    return expanded(path, key).replace("{partition}", name)
