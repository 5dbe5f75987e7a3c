"""Dates that are written as texts where types are given: Parquet, databases, JSON, tables that are handed over.

They are understood as those of a text file are; other texts are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from bdt_core.table.column_types import Dtype
from bdt_core.table.notation import DatesSeen, as_dates
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.text_columns import MISSING, understood_dates, with_gaps

if TYPE_CHECKING:
    import pyarrow as pa

NO_DATES = DatesSeen(frozenset())
FIRST_ROWS = 1_000
"""Of most columns of texts, so many say that they hold no dates."""
_NO_TEXTS = (TypeError, ValueError)
"""What Arrow raises for values that are no texts, and for half a letter."""


class DatedTexts:
    """Columns of texts that are read as dates.

    Parameters
    ----------
    seen : dict of str to DatesSeen
        Columns of texts, by all their rows.

    Attributes
    ----------
    notes : ReadingNotes
        What is to be said of them.
    """

    def __init__(self, seen: Mapping[str, DatesSeen]) -> None:
        understood = {name: understood_dates(name, one) for name, one in seen.items()}
        self._notations = {name: one.notation for name, one in understood.items() if one.notation is not None}
        self._dtypes = {name: understood[name].type.dtype for name in self._notations}
        sentences = tuple(one.remark for one in understood.values() if one.remark)
        questions = {name: one.question for name, one in understood.items() if one.question}
        self.notes = ReadingNotes(remarks=sentences, questions=questions)

    def types(self, dtypes: Mapping[str, Dtype]) -> dict[str, Dtype]:
        """Types of the columns of a table once they are read."""
        return {name: self._dtypes.get(name, one) for name, one in dtypes.items()}

    def read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of the table, with points in time for texts."""
        changed = {
            name: as_dates(_texts(frame[name]), how).set_axis(frame.index)
            for name, how in self._notations.items()
            if name in frame.columns
        }
        return frame.assign(**changed) if changed else frame


def seen_in(values: pa.Array, before: DatesSeen | None = None) -> DatesSeen:
    """Whether texts are dates, as those before them were; words for missing values are none of them."""
    before = before or DatesSeen()
    return before.seeing(with_gaps(values, MISSING).drop_null()) if before.orders else before


def seen_in_values(values: Sequence[str], before: DatesSeen) -> DatesSeen:
    """The same of texts in a list."""
    import pyarrow as pa

    if not before.orders:
        return before
    try:
        return seen_in(pa.array(values, pa.string()), before)
    except _NO_TEXTS:
        return NO_DATES


def with_dates(frame: pd.DataFrame) -> pd.DataFrame:
    """A table in memory, whoever has read it, with points in time for texts that are dates."""
    if not frame.columns.is_unique:  # which is refused later
        return frame
    seen: dict[Any, DatesSeen] = {name: _seen_in_column(one) for name, one in frame.items()}
    dated = DatedTexts({name: one for name, one in seen.items() if one.orders})
    read = dated.read(frame)
    if read is not frame or dated.notes.questions:
        read = read.copy(deep=False)
        read.attrs = (ReadingNotes.of(frame.attrs) + dated.notes).beside(frame.attrs)
    return read


def may_be_dates(
    names: Collection[str], parts: Sequence[Callable[[Collection[str]], Mapping[str, DatesSeen]]]
) -> dict[str, DatesSeen]:
    """Columns of texts that are dates in all parts of a table; parts are looked at until none is left."""
    seen = dict.fromkeys(names, DatesSeen())
    for part in parts:
        if not seen:
            break
        of_part = part(set(seen))
        both = {name: one + of_part.get(name, NO_DATES) for name, one in seen.items()}
        seen = {name: one for name, one in both.items() if one.orders}
    return seen


def _seen_in_column(column: pd.Series[Any]) -> DatesSeen:
    if not _may_hold_texts(column.dtype):
        return NO_DATES
    try:
        first = seen_in(_texts(column.iloc[:FIRST_ROWS]))
        return seen_in(_texts(column)) if first.orders else first
    except _NO_TEXTS:
        return NO_DATES


def _may_hold_texts(dtype: Dtype) -> bool:
    values = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
    return bool(pd.api.types.is_object_dtype(values) or pd.api.types.is_string_dtype(values))


def _texts(column: pd.Series[Any]) -> pa.Array:
    """Texts of a column, without words for missing values."""
    import pyarrow as pa

    plain = column.astype(column.cat.categories.dtype) if isinstance(column.dtype, pd.CategoricalDtype) else column
    texts = pa.array(plain, pa.string(), from_pandas=True)
    return with_gaps(texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts, MISSING)
