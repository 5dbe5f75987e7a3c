"""Read a source of any size batch by batch: the same rows, columns and types as when it is read as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from bdt_core.errors import SourceError, did_you_mean
from bdt_core.spec import Source, Stacked
from bdt_core.table.ages import columns_needed, notes_on_ages, refuse_unknown, with_ages
from bdt_core.table.column_types import Choose, Dtype, conformed, holding_missing, stacked
from bdt_core.table.databases import QueryTable
from bdt_core.table.files import FilesPart, FilesTable
from bdt_core.table.frames import handed_over
from bdt_core.table.joining import ArrayBeside, JoinedTable
from bdt_core.table.levels import chosen_spellings, level_counts, merged_spellings, respelled
from bdt_core.table.named_files import hiding_secrets
from bdt_core.table.reading_notes import NO_NOTES, ReadingNotes
from bdt_core.table.source_size import SourceSize, measure_source
from bdt_core.table.source_tables import arrays_beside, joined_table, main_table, refuse_unfit
from bdt_core.table.stacking import notes_on_stacking, refuse_unstackable, stacked_dtypes, with_stacked_rows

__all__ = ["Batches", "SourceSize", "measure_source", "open_batches"]


def open_batches(
    source: Any,
    *,
    batch_rows: int = 1_000_000,
    columns: Collection[str] | None = None,
    keep: bool = False,
    choose: Choose | None = None,
) -> Batches:
    """The batches of a table, to be read as often as needed; types and number of rows are settled once.

    Set under each other, the batches are what `bdt_core.table.sources.read_table` gives: the same rows in the same
    order, and the same columns with the same types, wherever one batch ends and the next begins. No more than about
    two batches are in memory, and the table that ``source.join`` names. Each is a DataFrame with
    ``attrs["bdt_joined"]``, where a table is joined: what the join has found for the rows of this batch; and with
    ``attrs["bdt_reading"]``, where reading has left out lines or understood a notation.

    The types are settled before the first batch. Parquet: from the footers, and from one pass over the columns of
    categories. Text, JSON lines: by one earlier pass. Query: it runs twice in one transaction, so that both times it
    sees the same rows. A join whose columns are whole numbers: one more pass over the keys. What can be found
    wrong by then is: broken files, files that differ in their columns, ragged rows.

    Parameters
    ----------
    source : Source, str, Path, or a table
        As `bdt_core.table.sources.read_table` takes it. A table that is in memory already is one batch.
    batch_rows : int, default 1_000_000
        Rows of each batch but the last.
    columns : collection of str, optional
        Read these only, in the order of the table.
    keep : bool, default False
        Keep in memory what has to be read for the types, so that it is read once.
    choose : callable, optional
        Says which columns are read, by the names of all; where these are known only with all values, another table is
        joined, or rows are stacked, all are read.

    Raises
    ------
    SourceError
        As `bdt_core.table.sources.read_table` does, before the first batch whenever that is possible; and when a
        file changes or disappears meanwhile.

    Examples
    --------
    >>> with open_batches("demo:compas", columns=["age", "race"]) as batches:
    ...     batches.rows, list(batches.dtypes), sum(len(batch) for batch in batches)
    (7214, ['age', 'race'], 7214)
    """
    if not isinstance(source, Source | str | Path):
        frame = handed_over(source)
        its_names = None if choose is None else choose([str(name) for name in frame.columns])
        if its_names is not None:
            columns = [name for name in frame.columns if str(name) in its_names]
        return _of_frame(frame, columns)
    source = source if isinstance(source, Source) else Source(path=str(source))
    with ExitStack() as stack:
        table = stack.enter_context(main_table(source))
        labels = source.stacked
        read = columns if labels is None else None
        if choose is not None and source.join is None and labels is None and isinstance(table, FilesTable):
            header = table.header()
            read = read if header is None else choose([*header, *source.arrays])
        key = [] if source.join is None else source.join.key
        keys = [key] if isinstance(key, str) else key
        beside = columns_needed(source.ages, () if read is None else read)
        table.settle(None if read is None else {*read, *beside, *keys}, keep)
        arrays = arrays_beside(source)
        for path in source.arrays.values():
            stack.enter_context(hiding_secrets(path))
        dtypes = dict(table.dtypes)
        for array in arrays:
            array.refuse_unfit(table.rows, dtypes)
            dtypes[array.column] = array.dtype
        join = None if source.join is None else joined_table(source, source.join, dtypes)
        all_dtypes = dtypes | (join.columns if join is not None else {})
        refuse_unfit(source, table.rows, len(all_dtypes))
        refuse_unknown(source.ages, all_dtypes, source.described)
        chosen = _selected(list(all_dtypes), read, source.described)
        taken = {*chosen, *beside}
        given = {name: one for name, one in all_dtypes.items() if name in taken}
        if join is not None and not any(name in join.columns for name in given):
            join = None
        ages = {name: one for name, one in source.ages.items() if name in chosen}
        names = list(all_dtypes)
        notes = (table.notes if join is None else table.notes + join.notes) + notes_on_ages(ages)
        if labels is not None:
            refuse_unstackable(labels, names, source.described)
            names = list(stacked_dtypes(labels, all_dtypes))
            notes += notes_on_stacking(labels, table.rows)
        batches = Batches(
            rows=table.rows * source.times,
            dtypes={},
            batch_rows=batch_rows,
            names=names,
            _name=source.described,
            _table=table,
            _given=given,
            _arrays=[one for one in arrays if one.column in given or one.column in keys],
            _join=join,
            _ages=ages,
            _stacked=labels,
            _notes=notes,
        )
        if join is not None and join.depends_on_gaps and batches.lacks_matches():
            given.update({name: holding_missing(one) for name, one in join.columns.items() if name in given})
        dtypes = {name: np.dtype(np.float64) if name in ages else given[name] for name in chosen}
        if labels is not None:
            made = stacked_dtypes(labels, dtypes)
            dtypes = {name: made[name] for name in _selected(names, columns, source.described)}
        batches.dtypes.update(dtypes)
        if source.clean:
            batches.clean()
        batches._open = stack.pop_all()
        return batches


@dataclass
class Batches:
    """A table, batch by batch, as often as one iterates over it.

    Attributes
    ----------
    rows : int
        Of the whole table.
    dtypes : dict of str to dtype of pandas
        Of each column that is read, in order; the same in each batch.
    batch_rows : int
        Rows of each batch but the last; fewer where rows are stacked, whose labels stay together.
    names : list of str
        All columns of the table, whether they are read or not.
    """

    rows: int
    dtypes: dict[str, Dtype]
    batch_rows: int
    names: list[str]
    _name: str
    _table: FilesTable | QueryTable | _FrameTable
    _given: dict[str, Dtype]
    _arrays: list[ArrayBeside] = field(default_factory=list)
    _join: JoinedTable | None = None
    _ages: dict[str, str] = field(default_factory=dict)
    _stacked: Stacked | None = None
    _notes: ReadingNotes = NO_NOTES
    _spellings: dict[str, dict[str, str]] = field(default_factory=dict)
    _open: ExitStack = field(default_factory=ExitStack)

    def clean(self) -> None:
        """From now on, give one spelling of each level that differs only in how it is written: a pass over all."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in self.dtypes}
        for frame in self:
            for name, counted in counts.items():
                counted.update(level_counts(frame[name]))
        chosen = {name: chosen_spellings(counted) for name, counted in counts.items()}
        self._spellings = {name: one for name, one in chosen.items() if one}
        for name, dtype in self.dtypes.items():
            if name in self._spellings:
                self.dtypes[name] = respelled(pd.Series([], dtype=dtype, name=name), self._spellings[name]).dtype
        self._notes += merged_spellings(self._spellings)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for joined in self._joined():
            aged = with_ages(joined, self._ages)
            whole = aged if self._stacked is None else with_stacked_rows(aged, self._stacked)
            frame = _with_attrs(whole[list(self.dtypes)], joined.attrs)
            changed = {name: respelled(frame[name], one) for name, one in self._spellings.items()}
            yield _with_attrs(frame.assign(**changed), frame.attrs) if changed else frame

    def _joined(self) -> Iterator[pd.DataFrame]:
        names = list(self._given)
        keys = self._join.keys if self._join is not None else []
        for frame in self._main({*names, *keys}):
            if self._join is None:
                yield _with_attrs(frame[names], self._notes.beside(frame.attrs))
                continue
            joined = self._join.added_to(frame)
            attrs = self._notes.beside(joined.attrs)
            yield _with_attrs(conformed(joined[names], self._given), attrs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._open.__exit__(*raised)  # which hides secrets in what was raised

    def close(self) -> None:
        """Close files and connections."""
        self._open.close()

    def parts(self) -> list[FilesPart] | None:
        """Parts of about ``batch_rows`` rows that can be read side by side; None where there are none."""
        if (
            self._arrays
            or self._join is not None
            or self._spellings
            or self._ages
            or self._stacked is not None
            or not isinstance(self._table, FilesTable)
        ):
            return None
        return self._table.parts(self.batch_rows, self.dtypes)

    def lacks_matches(self) -> bool:
        """Whether a row has no match in the table that is joined: a pass over the keys."""
        join = self._join
        return join is not None and any((join.matches(frame) < 0).any() for frame in self._main(set(join.keys)))

    def _main(self, names: Collection[str]) -> Iterator[pd.DataFrame]:
        """Batches of the table with its arrays beside it, before anything is joined."""
        arrays = [one for one in self._arrays if one.column in names]
        read = 0
        for frame in _exactly(max(1, self.batch_rows // self._times), self._table.pieces(names)):
            first, read = read, read + len(frame)
            self._refuse_changed(read, at_end=False)
            yield frame.assign(**{one.column: one.values(first, len(frame)) for one in arrays}) if arrays else frame
        self._refuse_changed(read, at_end=True)

    @property
    def _times(self) -> int:
        """Rows that are made of each row of the source."""
        return 1 if self._stacked is None else len(self._stacked.rows)

    def _refuse_changed(self, read: int, at_end: bool) -> None:
        rows = self.rows // self._times
        if read > rows or (at_end and read < rows):
            raise SourceError(
                f"{self._name} changed while it was being read: it had {rows:,} rows at first and now has "
                f"{'more' if read > rows else f'{read:,}'}. Start again when it is complete."
            )


class _FrameTable:
    """A table that is in memory already."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        yield self._frame[[name for name in self._frame.columns if name in columns]]


def _of_frame(frame: pd.DataFrame, columns: Collection[str] | None) -> Batches:
    names = _selected(list(frame.columns), columns, "The table")
    dtypes = {name: frame[name].dtype for name in names}
    every = list(map(str, frame.columns))
    return Batches(len(frame), dtypes, max(len(frame), 1), every, "The table", _FrameTable(frame), dtypes)


def _selected(names: list[str], columns: Collection[str] | None, table: str) -> list[str]:
    if columns is None:
        return names
    for column in columns:
        if column not in names:
            raise SourceError(f'{table} has no column "{column}". {did_you_mean(column, map(str, names))}')
    return [name for name in names if name in columns]


def _with_attrs(frame: pd.DataFrame, attrs: dict[Any, Any]) -> pd.DataFrame:
    frame.attrs = attrs
    return frame


def _exactly(rows: int, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Pieces of any length as batches of one length, but for the last."""
    held, lacking = list[pd.DataFrame](), rows
    for piece in pieces:
        while len(piece) >= lacking:
            held.append(piece.iloc[:lacking])
            piece = piece.iloc[lacking:]
            yield stacked(held)
            held, lacking = [], rows
        if len(piece):
            held.append(piece)
            lacking -= len(piece)
    if held:
        yield stacked(held)
