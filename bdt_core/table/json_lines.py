"""Read JSON lines, one object per line, whole or in pieces; what is wrong is named by line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.table.column_types import Dtype, FileTypes, conformed
from bdt_core.table.records import ValuesSeen, typed_frame

_SETTLED_ROWS = 20_000


class JsonLinesTable:
    """A file of JSON lines.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning, as often as needed.
    name : str
        The file, as messages name it.
    """

    def __init__(self, open_bytes: Callable[[], BinaryIO], name: str) -> None:
        self.name = name
        self._open_bytes = open_bytes

    def read(self) -> pd.DataFrame:
        """The whole file.

        Raises
        ------
        SourceError
            A line is not UTF-8, no JSON, or no object of single values.
        """
        return pd.DataFrame.from_records(list(self._records()))

    @cached_property
    def settled(self) -> FileTypes:
        """Its columns and number of rows, by one pass over it."""
        rows, seen = 0, dict[str, ValuesSeen]()
        given = dict[str, int]()
        for part in self._parts(_SETTLED_ROWS):
            values = dict[str, list[Any]]()
            for record in part:
                for name, value in record.items():
                    values.setdefault(name, []).append(value)
            for name, its in values.items():
                seen.setdefault(name, ValuesSeen()).see(its)
                given[name] = given.get(name, 0) + len(its)
            rows += len(part)
        for name, count in given.items():
            if count < rows:
                seen[name].see([np.nan])  # what pandas puts where a record lacks a column
        return FileTypes(self.name, rows, {name: one.type(coerce_float=False) for name, one in seen.items()})

    def pieces(self, rows: int, columns: Collection[str], dtypes: Mapping[str, Dtype]) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, at most so many at a time, with the types of the table of all files."""
        own = {name: one.dtype for name, one in self.settled.columns.items() if name in columns}
        for part in self._parts(rows):
            frame = typed_frame(part, own, lambda record, name: record.get(name, np.nan))
            yield conformed(frame, {name: dtypes[name] for name in own})

    def beginning(self, rows: int) -> pd.DataFrame:
        """Its first rows, understood by themselves."""
        return pd.DataFrame.from_records(next(self._parts(rows), []))

    def _parts(self, rows: int) -> Iterator[list[dict[str, Any]]]:
        records = self._records()
        while part := list(itertools.islice(records, rows)):
            yield part

    def _records(self) -> Iterator[dict[str, Any]]:
        with self._open_bytes() as lines:
            for number, raw in enumerate(lines, start=1):
                where = f"{self.name}, line {number}"
                try:
                    written = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise SourceError(f"{where}: not valid UTF-8, which JSON lines must be.") from None
                if written.strip():
                    yield _record(written, where)


def _record(written: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(written)
    except json.JSONDecodeError as error:
        raise SourceError(f"{where}: not valid JSON ({error.msg}). Expected an object.") from None
    if not isinstance(record, dict):
        raise SourceError(f'{where}: expected an object such as {{"age": 31}}.')
    nested = [name for name, value in record.items() if isinstance(value, list | dict)]
    if nested:
        raise SourceError(f'{where}: "{nested[0]}" is a list or an object. Expected a single value.')
    return record
