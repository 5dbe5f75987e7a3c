"""Columns set beside a table: arrays row by row, and another table by key."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.errors import SourceError, did_you_mean
from bdt_core.said import of_ours, say
from bdt_core.spec import Join
from bdt_core.table.column_types import ColumnType, Dtype, common_dtype, holding_missing
from bdt_core.table.facts import NEIGHBOURS_ARE_ONE, is_beyond
from bdt_core.table.locations import SourceFile, reading
from bdt_core.table.reading_notes import NO_NOTES, ReadingNotes
from bdt_core.words import count

_KINDS = "biufU"
"""Flags, numbers and texts, as NumPy names them."""
JOINED = "bdt_joined"
"""Key in ``DataFrame.attrs`` of what a join has found."""


class ArrayBeside:
    """A column from a ``.npy`` file, row by row beside the table.

    Parameters
    ----------
    column : str
    file : SourceFile
    table : str
        The table that it stands beside, as messages name it.

    Raises
    ------
    SourceError
        It is no .npy file of one number or text per row.
    """

    def __init__(self, column: str, file: SourceFile, table: str) -> None:
        self.column, self.file, self._table = column, file, table
        self._version = file.version()
        with reading(file, "a .npy file", self._version), file.open() as opened:
            self._shape, self._dtype = self._header(opened)
            self._start = opened.tell()

    @property
    def dtype(self) -> Dtype:
        """As a column has it."""
        return pd.Series(np.empty(0, self._dtype.newbyteorder("="))).dtype

    @property
    def bytes(self) -> int:
        """Memory that its values take."""
        return math.prod(self._shape) * self._dtype.itemsize

    def refuse_unfit(self, rows: int, columns: Collection[str]) -> None:
        """It must have one value per row, and a name that the table does not have."""
        if len(self._shape) not in (1, 2) or self._shape[1:] not in ((), (1,)) or self._shape[0] != rows:
            shape = " x ".join(map(str, self._shape))
            raise SourceError(
                f"{self.file.path} holds {shape} values beside {rows} rows of {self._table}. Expected one per row."
            )
        if self.column in columns:
            raise SourceError(
                f'source.arrays: {self._table} has a column "{self.column}" already. Choose another name.'
            )

    def values(self, first: int, rows: int) -> npt.NDArray[Any]:
        """So many values, from the one of this number on."""
        size = self._dtype.itemsize
        with reading(self.file, "a .npy file", self._version), self.file.open() as opened:
            opened.seek(self._start + first * size)
            raw = opened.read(rows * size)
            if len(raw) != rows * size:
                raise SourceError(
                    f"{self.file.path} is not a .npy file of numbers or texts: it ends early. Write it again."
                )
        return np.frombuffer(raw, self._dtype).astype(self._dtype.newbyteorder("="))

    def _header(self, opened: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
        unfit = SourceError(f"{self.file.path} is not a .npy file of numbers or texts. Write it with numpy.save.")
        try:
            version = np.lib.format.read_magic(opened)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(opened)
        except Exception:  # the header is read as Python, and may be damaged in any way
            raise unfit from None
        # Objects are pickles, and a pickle could run anything.
        if dtype.kind not in _KINDS or dtype.itemsize == 0 or not all(0 <= one < 1 << 62 for one in shape):
            raise unfit
        return shape, dtype


class JoinedTable:
    """Another table whose columns are added by key. Rows without a match stay, and are counted.

    Parameters
    ----------
    other : DataFrame
    join : Join
    dtypes : dict of str to dtype
        Columns of the table that it is joined to.
    name : str
        That table, as messages name it.
    notes : ReadingNotes
        On the other table.

    Raises
    ------
    SourceError
        A key or column is not there, a key is of another type or stands twice, or a column is in both tables.
    """

    def __init__(
        self,
        other: pd.DataFrame,
        join: Join,
        dtypes: Mapping[str, Dtype],
        name: str,
        notes: ReadingNotes = NO_NOTES,
    ) -> None:
        self._described = join.described
        lost = [  # its lines are not rows of the table, but matches that lack
            say(
                "{N} of {Nall} lines of {table} are left out: {reason}.",
                N=count(lines),
                Nall=count(len(other) + notes.lines_left_out),
                table=join.described,
                reason=of_ours(reason),
            )
            for reason, lines in notes.left_out.items()
        ]
        self.notes = replace(notes, left_out={}, remarks=(*lost, *notes.remarks))
        self.keys = [join.key] if isinstance(join.key, str) else join.key
        self._refuse_keys(other, dtypes, name)
        columns = [one for one in other.columns if one not in self.keys] if join.columns is None else join.columns
        self._refuse_columns(columns, other.columns, dtypes)
        self._added = other[columns].reset_index(drop=True)
        types = {key: [ColumnType(side[key], "") for side in (dtypes, other.dtypes)] for key in self.keys}
        self._key_types = {key: common_dtype(both) for key, both in types.items()}
        self._other_keys = other[self.keys]
        self._refuse_repeated_keys()

    @property
    def columns(self) -> dict[str, Dtype]:
        """What it adds, when every row has a match."""
        return dict(self._added.dtypes)

    @property
    def depends_on_gaps(self) -> bool:
        """Whether the type of a column is another one when a row has no match."""
        return any(holding_missing(dtype) != dtype for dtype in self.columns.values())

    def matches(self, frame: pd.DataFrame) -> npt.NDArray[np.intp]:
        """Position of each row's match in the other table; -1 without one."""
        return self._index.get_indexer(self._as_index(frame[self.keys]))

    def added_to(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows of the table with the columns of their matches."""
        matches = self.matches(frame)
        late = int((matches < 0).sum())
        matched = self._added.reindex(matches).set_index(frame.index)
        if late:
            matched = matched.astype({name: holding_missing(dtype) for name, dtype in self.columns.items()})
        merged = pd.concat([frame, matched], axis="columns")
        merged.attrs[JOINED] = {
            "table": self._described,
            "key": ", ".join(self.keys),
            "without_match": late,
            "rows": len(merged),
        }
        return merged

    @cached_property
    def _index(self) -> pd.Index:
        return self._as_index(self._other_keys)

    def _as_index(self, keys: pd.DataFrame) -> pd.Index:
        for key, dtype in self._key_types.items():
            if pd.api.types.is_float_dtype(dtype) and is_beyond(keys[key]):
                raise SourceError(
                    f'source.join.key: "{key}" holds whole numbers from {NEIGHBOURS_ARE_ONE:,} on, and in one of the '
                    "tables they came as floats, as where some are missing: neighbours would be one. Leave out rows "
                    "without it, or write it as texts in both."
                )
        keys = keys.astype(self._key_types)
        return pd.Index(keys[self.keys[0]]) if len(self.keys) == 1 else pd.MultiIndex.from_frame(keys)

    def _refuse_keys(self, other: pd.DataFrame, dtypes: Mapping[str, Dtype], name: str) -> None:
        for names, table in ((list(dtypes), name), (list(map(str, other.columns)), self._described)):
            for key in self.keys:
                if key not in names:
                    raise SourceError(f'source.join.key: {table} has no column "{key}". {did_you_mean(key, names)}')
        for key in self.keys:
            kinds = [_kind(one[key]) for one in (dtypes, other.dtypes)]
            if kinds[0] != kinds[1]:
                raise SourceError(
                    f'source.join.key: "{key}" is {kinds[0]} in {name} and {kinds[1]} in {self._described}. '
                    "Expected the same type on both sides."
                )

    def _refuse_repeated_keys(self) -> None:
        repeated = int(self._index.duplicated().sum())
        if repeated:
            raise SourceError(
                f"source.join: {repeated} rows of {self._described} repeat a key ({', '.join(self.keys)}). "
                "Expected one row per key."
            )

    def _refuse_columns(self, columns: Iterable[str], known: Collection[str], there: Collection[str]) -> None:
        for column in columns:
            if column not in known:
                raise SourceError(
                    f'source.join.columns: {self._described} has no column "{column}". '
                    f"{did_you_mean(column, map(str, known))}"
                )
            if column in there:
                raise SourceError(
                    f'source.join: "{column}" stands in both tables. List in source.join.columns what is to be added.'
                )


def _kind(dtype: Dtype) -> str:
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return "a date"
    return "a number" if pd.api.types.is_numeric_dtype(dtype) else "text"
