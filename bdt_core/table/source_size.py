"""Size of a source, found out without reading all of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.spec import Source
from bdt_core.table.column_types import Choose
from bdt_core.table.databases import QueryTable
from bdt_core.table.files import FilesTable
from bdt_core.table.frames import handed_over
from bdt_core.table.parquet_files import ParquetTable
from bdt_core.table.source_tables import arrays_beside, main_table, other_table

_SAMPLE_ROWS = 10_000


@dataclass(frozen=True)
class SourceSize:
    """How large a source is.

    Attributes
    ----------
    files : int
        Files of the table, of its arrays and of the table that is joined to it; 0 for a query.
    disk_bytes : int or None
        Their bytes; None for a query.
    rows : int or None
        Rows, where the files say it at their end (Parquet); else None.
    estimated_bytes : int or None
        Memory that the table would take as a DataFrame; None for a query.
    """

    files: int
    disk_bytes: int | None
    rows: int | None
    estimated_bytes: int | None


def measure_source(source: Any, choose: Choose | None = None) -> SourceSize:
    """How large a source is: a look at footers and at the first rows.

    Parameters
    ----------
    source : Source, str, Path, or a table
        As `bdt_core.table.sources.read_table` takes it.
    choose : callable, optional
        Says which columns are going to be read; by default all.

    Returns
    -------
    SourceSize

    Raises
    ------
    SourceError
        Nothing is there, or footers of Parquet files cannot be read or do not agree.

    Examples
    --------
    >>> measure_source("demo:adult").rows
    16281
    """
    if not isinstance(source, Source | str | Path):
        frame = handed_over(source)
        return SourceSize(0, 0, len(frame), int(frame.memory_usage(deep=True).sum()))
    source = source if isinstance(source, Source) else Source(path=str(source))
    with main_table(source) as table:
        size = _size(table, choose)
    for array in arrays_beside(source):
        size = _together(size, SourceSize(1, array.file.size(), None, array.bytes))
    if source.join is not None:
        with other_table(source.join, source) as other:
            size = _together(size, _size(other, None))
    rows, room = (None if one is None else one * source.times for one in (size.rows, size.estimated_bytes))
    return replace(size, rows=rows, estimated_bytes=room)


def _size(table: FilesTable | QueryTable, choose: Choose | None) -> SourceSize:
    if isinstance(table, QueryTable):
        return SourceSize(0, None, None, None)
    disk = sum(file.size() for file in table.files)
    size = SourceSize(len(table.files), disk, None, None)
    frame = table.beginning(_SAMPLE_ROWS, choose)
    stored = [one for one in table.tables if isinstance(one, ParquetTable)]
    if len(stored) == len(table.tables):
        rows = sum(one.footer.rows for one in stored)
        return replace(size, rows=rows, estimated_bytes=_bytes(frame, rows))
    return replace(size, estimated_bytes=_bytes(frame, table.estimated_rows()))


def _bytes(frame: pd.DataFrame, rows: int) -> int:
    """Memory of so many rows that are like those of the frame. Categories are kept once, their codes in each row."""
    if frame.empty:
        return 0
    once = 0
    each = 0.0
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            once += int(column.cat.categories.memory_usage(deep=True))
            each += column.cat.codes.memory_usage(index=False) / len(frame)
        else:
            each += column.memory_usage(index=False, deep=True) / len(frame)
    return once + round(each * rows)


def _together(first: SourceSize, other: SourceSize) -> SourceSize:
    disk = [size.disk_bytes for size in (first, other) if size.disk_bytes is not None]
    known = None not in (first.estimated_bytes, other.estimated_bytes)
    return SourceSize(
        files=first.files + other.files,
        disk_bytes=sum(disk) if disk else None,
        rows=first.rows,
        estimated_bytes=(first.estimated_bytes or 0) + (other.estimated_bytes or 0) if known else None,
    )
