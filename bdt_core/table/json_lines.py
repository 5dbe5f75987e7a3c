"""Read JSON lines, one object per line, or a JSON list of objects; what is wrong is named by line or number."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from bdt_core.errors import SourceError, repeated_names
from bdt_core.said import say
from bdt_core.table.records import RecordsTable

_MOST_DIGITS = 300
_LONG_NUMBER = re.compile(rf"[0-9]{{{_MOST_DIGITS + 1}}}")


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
                    yield _as_record(_parsed(written, where), where)


class JsonListTable(JsonLinesTable):
    """A file of one JSON list of objects, which is in memory as a whole."""

    def _records(self) -> Iterator[dict[str, Any]]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[dict[str, Any]]:
        with self._open_bytes() as opened:
            raw = opened.read()
        try:
            written = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise SourceError(f"{self.name}: not valid UTF-8, which JSON must be.") from None
        records = _parsed(written, self.name)
        if not isinstance(records, list):
            raise SourceError(
                f'{self.name}: expected a list of objects such as [{{"age": 31}}]; a file with one object per line is '
                "named .jsonl."
            )
        return [_as_record(one, f"{self.name}, object {number}") for number, one in enumerate(records, start=1)]


def _parsed(written: str, where: str) -> Any:
    """What is written in JSON, where no object has a key twice.

    Raises
    ------
    SourceError
        It is no JSON, is nested too deep, has a number of thousands of digits, repeats a key, or holds half a letter.
    """

    def refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            repeated = repeated_names(name for name, _ in pairs)[0]
            raise SourceError(f'{where}: the key "{repeated}" stands there twice. Which value holds? Keep one.')
        return record

    if len(written) > _MOST_DIGITS and _LONG_NUMBER.search(written):
        raise SourceError(f"{where}: a number has more than {_MOST_DIGITS} digits. Write it as a text.")
    try:
        value = json.loads(written, object_pairs_hook=refuse_repeated)
    except json.JSONDecodeError as error:
        raise SourceError(
            say(
                "{table}: not valid JSON ({why}). Expected an object in each line of a .jsonl file, or a list of "
                "objects in a .json file.",
                table=where,
                why=error.msg,
            )
        ) from None
    except RecursionError:
        raise SourceError(f"{where}: lists or objects are nested too deep. Expected single values.") from None
    if "\\ud" in written.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise SourceError(f"{where}: holds half a letter (a lone surrogate). Write the text again.") from None
    return value


def _as_record(record: Any, where: str) -> dict[str, Any]:
    """An object of single values.

    Raises
    ------
    SourceError
        It is something else.
    """
    if not isinstance(record, dict):
        raise SourceError(f'{where}: expected an object such as {{"age": 31}}.')
    nested = [name for name, value in record.items() if isinstance(value, list | dict)]
    if nested:
        raise SourceError(f'{where}: "{nested[0]}" is a list or an object. Expected a single value.')
    return record
