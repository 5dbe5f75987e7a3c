"""Read the table of a source into memory, or take one that somebody hands over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.spec import Source
from bdt_core.table.ages import notes_on_ages, refuse_unknown, with_ages
from bdt_core.table.batches import open_batches
from bdt_core.table.column_types import Choose
from bdt_core.table.dated_texts import with_dates
from bdt_core.table.frames import handed_over
from bdt_core.table.joining import JOINED
from bdt_core.table.levels import cleaned
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.stacking import stacked_by_source

__all__ = ["JOINED", "as_frame", "as_source_reads_it", "read_table"]


def read_table(source: Source | str | Path) -> pd.DataFrame:
    """Read the table that a source names.

    Parameters
    ----------
    source : Source, str or Path
        A ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` file, a folder of Parquet files, a pattern such as
        ``days/*.csv``, a URL that fsspec knows, ``demo:compas``, ``demo:adult``, ``demo:grants``, or a query.
        Separator, encoding and decimal comma of a text file are detected unless the source names them.

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
    return read_some(source)[0]


def read_some(source: Source | str | Path, choose: Choose | None = None) -> tuple[pd.DataFrame, list[str]]:
    """The columns of a source that are chosen, and the names of all; see `bdt_core.table.batches.open_batches`."""
    with open_batches(source, keep=True, choose=choose) as batches:
        batches.batch_rows = batches.rows
        (frame,) = batches
        names = batches.names
    _give_back_memory()
    return frame, names


def _give_back_memory() -> None:
    """Arrow holds on to what it has read the rows into, which may be as much as all of them take."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


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
    return read_table(table) if isinstance(table, str | Path) else handed_over(table)


def as_source_reads_it(frame: pd.DataFrame, source: Source) -> pd.DataFrame:
    """A table in memory, whoever has read it, as the source would be.

    Texts of dates are dates, dates of birth ages, several labels rows and levels cleaned, if the source says so.

    Raises
    ------
    SourceError
        `source.ages` or `source.stacked` does not fit the table.
    """
    frame = with_dates(handed_over(frame))
    known = ReadingNotes.of(frame.attrs)
    ages = {
        name: one for name, one in source.ages.items() if notes_on_ages({name: one}).remarks[0] not in known.remarks
    }
    refuse_unknown(ages, list(map(str, frame.columns)), source.described)
    if ages:
        attrs = (known + notes_on_ages(ages)).beside(frame.attrs)
        frame = with_ages(frame, ages)
        frame.attrs = attrs
    if source.stacked is not None:
        frame = stacked_by_source(frame, source.stacked, source.described)
    return cleaned(frame) if source.clean else frame
