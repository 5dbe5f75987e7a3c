"""Read JSON lines, one object per line; what is wrong is named by line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from bdt_core.errors import SourceError
from bdt_core.table.records import RecordsTable


class JsonLinesTable(RecordsTable):
    """A file of JSON lines.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning, as often as needed.
    name : str
        The file, as messages name it.

    Raises
    ------
    SourceError
        By its methods: a line is not UTF-8, no JSON, or no object of single values.
    """

    coerce_float = False

    def __init__(self, open_bytes: Callable[[], BinaryIO], name: str) -> None:
        self.name = name
        self._open_bytes = open_bytes

    def _parts(self, rows: int) -> Iterator[list[dict[str, Any]]]:
        records = self._records()
        while part := list(itertools.islice(records, rows)):
            yield part

    def _columns(self, part: list[dict[str, Any]]) -> Iterable[tuple[str, list[Any]]]:
        values = dict[str, list[Any]]()
        for record in part:
            for name, value in record.items():
                values.setdefault(name, []).append(value)
        return values.items()

    def _value(self, record: dict[str, Any], name: str) -> Any:
        return record.get(name, np.nan)

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
