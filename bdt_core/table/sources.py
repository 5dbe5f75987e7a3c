"""Read the table of a source: files or a query, with arrays set beside it and labels joined to it."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.spec import Join, Source, Table
from bdt_core.table.column_types import Dtype
from bdt_core.table.databases import QueryTable
from bdt_core.table.environment import expanded, without_secrets
from bdt_core.table.files import FilesTable
from bdt_core.table.joining import JOINED, ArrayBeside, JoinedTable
from bdt_core.table.locations import SourceFile, is_remote, located

__all__ = ["JOINED", "as_frame", "read_table"]


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
    if hasattr(table, "collect"):  # a lazy frame of Polars
        table = table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        frame: pd.DataFrame = pa.table(table).to_pandas()
        return frame
    raise SourceError(
        f"A {type(table).__name__} is not a table. Expected a DataFrame (pandas or Polars), an Arrow table or the path "
        "of a file."
    )


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
    with open_table(source, source, "source") as table:
        yield table


@contextmanager
def open_table(table: Table, source: Source, key: str) -> Iterator[FilesTable | QueryTable]:
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
    """The arrays of a source."""
    found = []
    for column, path in source.arrays.items():
        filled = _filled(path, source, f"source.arrays.{column}")
        with hiding_secrets(path):
            found.append(ArrayBeside(column, SourceFile(located(filled)), source.described))
    return found


@contextmanager
def hiding_secrets(path: str) -> Iterator[None]:
    """Errors name an address that is no local path as the specification has it, with ``${NAME}`` for a secret."""
    try:
        yield
    except SourceError as error:
        if not is_remote(expanded(path, "source.path")):
            raise
        raise SourceError(without_secrets(str(error), path)) from None


def joined_table(source: Source, join: Join, dtypes: Mapping[str, Dtype]) -> JoinedTable:
    """The table that is joined to a source with such columns; it is read as a whole."""
    with open_table(join, source, "source.join") as table:
        return JoinedTable(table.read(), join, dtypes, source.described)


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
