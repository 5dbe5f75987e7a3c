"""Read the table of a source: files or a query, with arrays set beside it and labels joined to it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.errors import SourceError, did_you_mean
from bdt_core.spec import Join, Source, Table
from bdt_core.table.databases import read_query
from bdt_core.table.environment import expanded
from bdt_core.table.files import located, read_bytes, read_files

JOINED = "bdt_joined"
"""Key in ``DataFrame.attrs`` of what a join has found."""


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
    if source.asset is not None:
        raise SourceError(
            f'source.asset names the Dagster asset "{source.asset}", which only Dagster can read. '
            "Name a file in source.path, or hand the table itself to audit()."
        )
    frame = _read(source, source, "source")
    for column, path in source.arrays.items():
        frame = _with_array(frame, column, path, source)
    if source.join is not None:
        frame = _joined(frame, source.join, source)
    if len(frame) == 0:
        raise SourceError(f"{source.described} has a header but no rows.")
    if frame.shape[1] < 2:
        raise SourceError(
            f"{source.described} has one column only. Expected the bias variable and at least one feature."
        )
    return frame


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


def _read(table: Table, source: Source, key: str) -> pd.DataFrame:
    if table.sql is not None and table.database is not None:
        given = source.parameters if source.partition is None else source.parameters | {"partition": source.partition}
        return read_query(table.sql, table.database, given)
    path = _filled(table.path or "", source, f"{key}.path")
    return read_files(path, separator=table.separator, encoding=table.encoding)


def _filled(path: str, source: Source, key: str) -> str:
    """A path with its environment variables and its partition."""
    if "{partition}" in path and source.partition is None:
        raise SourceError(f"{key} is {path}: say which part to read, with source.partition or --partition.")
    return expanded(path, key).replace("{partition}", source.partition or "")


def _with_array(frame: pd.DataFrame, column: str, path: str, source: Source) -> pd.DataFrame:
    """A column from a ``.npy`` file, row by row beside the table."""
    file, beside = located(_filled(path, source, f"source.arrays.{column}")), source.described
    try:
        values = np.load(io.BytesIO(read_bytes(file)), allow_pickle=False)  # a pickle could run anything
    except (ValueError, EOFError):
        raise SourceError(f"{file} is not a .npy file of numbers or texts. Write it with numpy.save.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != len(frame):
        shape = " x ".join(map(str, values.shape))
        raise SourceError(f"{file} holds {shape} values beside {len(frame)} rows of {beside}. Expected one per row.")
    if column in frame.columns:
        raise SourceError(f'source.arrays: {beside} has a column "{column}" already. Choose another name.')
    return frame.assign(**{column: values})


def _joined(frame: pd.DataFrame, join: Join, source: Source) -> pd.DataFrame:
    """The table with columns of another one, found by key. Rows without a match stay, and are counted."""
    other, table = _read(join, source, "source.join"), source.described
    keys = [join.key] if isinstance(join.key, str) else join.key
    for side, name in ((frame, table), (other, join.described)):
        for key in keys:
            if key not in side.columns:
                raise SourceError(
                    f'source.join.key: {name} has no column "{key}". {did_you_mean(key, map(str, side.columns))}'
                )
    for key in keys:
        kinds = ["a number" if pd.api.types.is_numeric_dtype(one[key].dtype) else "text" for one in (frame, other)]
        if kinds[0] != kinds[1]:
            raise SourceError(
                f'source.join.key: "{key}" is {kinds[0]} in {table} and {kinds[1]} in {join.described}. '
                "Expected the same type on both sides."
            )
    repeated = int(other.duplicated(keys).sum())
    if repeated:
        raise SourceError(
            f"source.join: {repeated} rows of {join.described} repeat a key ({', '.join(keys)}). "
            "Expected one row per key."
        )
    columns = [one for one in other.columns if one not in keys] if join.columns is None else join.columns
    for column in columns:
        if column not in other.columns:
            raise SourceError(
                f'source.join.columns: {join.described} has no column "{column}". '
                f"{did_you_mean(column, map(str, other.columns))}"
            )
        if column in frame.columns:
            raise SourceError(
                f'source.join: "{column}" stands in both tables. List in source.join.columns what is to be added.'
            )
    merged = frame.merge(other[[*keys, *columns]], on=keys, how="left", indicator=JOINED)
    late = int((merged.pop(JOINED) == "left_only").sum())
    merged.attrs[JOINED] = {"table": join.described, "key": ", ".join(keys), "without_match": late, "rows": len(merged)}
    return merged
