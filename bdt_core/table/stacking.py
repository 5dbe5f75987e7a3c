"""Several labels of a row set under each other: a row for each of them, and a column that says which one it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import pandas as pd

from bdt_core.errors import SourceError, did_you_mean, repeated_message, repeated_names
from bdt_core.said import say
from bdt_core.spec import Stacked
from bdt_core.table.column_types import Dtype, conformed, wider
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.words import count


def stacked_by_source(frame: pd.DataFrame, stacked: Stacked, table: str) -> pd.DataFrame:
    """A table in memory, stacked unless it is so already.

    Raises
    ------
    SourceError
        It lacks columns that are named, or has some that are made.
    """
    names = [str(name) for name in frame.columns]
    if stacked.by in names and stacked.parts.isdisjoint(names):
        return frame
    if repeated := repeated_names(names):
        raise SourceError(repeated_message(table, repeated))
    refuse_unstackable(stacked, names, table)
    made = with_stacked_rows(frame.set_axis(names, axis="columns"), stacked)
    made.attrs = (ReadingNotes.of(frame.attrs) + notes_on_stacking(stacked, len(frame))).beside(frame.attrs)
    return made


def refuse_unstackable(stacked: Stacked, columns: Sequence[str], table: str) -> None:
    """All columns that `source.stacked` names must be there, and none that it makes.

    Raises
    ------
    SourceError
    """
    for name in sorted(stacked.parts):
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise SourceError(f'source.stacked: {table} has no column "{name}". {hint}')
    for name in (stacked.by, *stacked.columns):
        if name in columns:
            raise SourceError(
                f'source.stacked: {table} has a column "{name}" already. Call the one that is made by another name.'
            )


def notes_on_stacking(stacked: Stacked, rows: int) -> ReadingNotes:
    """What is to be said of a table of so many rows that is stacked."""
    note = say(
        'Each of the {N} rows of the source is counted {Ntimes} times, once for each label in "source.stacked": what '
        "this report calls rows are pairs of a row and a label.",
        N=count(rows),
        Ntimes=count(len(stacked.rows)),
    )
    return ReadingNotes(remarks=(note,))


def stacked_dtypes(stacked: Stacked, dtypes: Mapping[str, Dtype]) -> dict[str, Dtype]:
    """The types of the columns of a stacked table, in order, by those of the source."""
    made = {name: _holding_all([dtypes[each[name]] for each in stacked.rows.values()]) for name in stacked.columns}
    kept = {name: one for name, one in dtypes.items() if name not in stacked.parts}
    return {stacked.by: pd.CategoricalDtype(stacked.labels), **made, **kept}


def with_stacked_rows(frame: pd.DataFrame, stacked: Stacked) -> pd.DataFrame:
    """For each row as many as it has labels, one after another, in the order of the labels' names.

    Examples
    --------
    >>> frame = pd.DataFrame({"image": [7, 8], "dog": [1, 0], "dog_said": [1, 1], "cat": [0, 0], "cat_said": [0, 1]})
    >>> of_animals = Stacked(
    ...     by="animal", rows={one: {"there": one, "said": f"{one}_said"} for one in ("dog", "cat")}
    ... )
    >>> with_stacked_rows(frame, of_animals)
      animal  said  there  image
    0    cat     0      0      7
    1    dog     1      1      7
    2    cat     1      0      8
    3    dog     1      0      8
    """
    each, rows = len(stacked.labels), len(frame)
    dtypes = stacked_dtypes(stacked, dict(frame.dtypes))
    columns: dict[str, object] = {
        stacked.by: pd.Categorical.from_codes(np.tile(np.arange(each), rows), dtype=dtypes[stacked.by])
    }
    in_turn = np.arange(each * rows).reshape(each, rows).T.ravel()
    for name in stacked.columns:
        parts = [stacked.rows[label][name] for label in stacked.labels]
        of_labels = [conformed(frame[[part]], {part: dtypes[name]})[part] for part in parts]
        columns[name] = pd.concat(of_labels, ignore_index=True).array.take(in_turn)
    source_rows = np.repeat(np.arange(rows), each)
    for name in dtypes:
        if name not in columns:
            columns[name] = frame[name].array.take(source_rows)
    return pd.DataFrame(columns, copy=False)


def _holding_all(dtypes: Sequence[Dtype]) -> Dtype:
    """The narrowest type that holds the values of several columns; true is 1 among numbers."""
    plain = all(isinstance(one, np.dtype) and one.kind in "biuf" for one in dtypes)
    return np.result_type(*dtypes) if plain else reduce(wider, dtypes)
