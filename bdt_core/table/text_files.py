"""Read separated text: separator, encoding and decimal comma are detected, and what is wrong is named by line."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO

import pandas as pd

from bdt_core.errors import SourceError, repeated_message, repeated_names
from bdt_core.table.column_types import Dtype, FileTypes, conformed
from bdt_core.table.text_columns import TextColumn, has_decimal_commas, parsed_again
from bdt_core.table.text_encoding import as_text, detect_encoding, refuse_undecodable

_SEPARATORS = (",", ";", "\t", "|")
_SETTLED_ROWS = 100_000


def read_text(raw: bytes, path: str, *, separator: str | None = None, encoding: str | None = None) -> pd.DataFrame:
    """Read comma- (or semicolon-, tab-, bar-) separated text.

    Parameters
    ----------
    raw : bytes
        What the file holds.
    path : str
        Named in messages.
    separator, encoding : str, optional
        Detected when left out, and so is a decimal comma.

    Returns
    -------
    DataFrame

    Raises
    ------
    SourceError
        The text cannot be decoded, has no rows under its header, is ragged, or repeats column names.

    Examples
    --------
    >>> read_text(b"a;b\\n1;0,5\\n", "t.csv")["b"].tolist()
    [0.5]
    """
    return TextTable(lambda: io.BytesIO(raw), path, separator, encoding).read()


@dataclass(frozen=True)
class _Form:
    """How a text is to be read."""

    encoding: str
    separator: str


class TextTable:
    """A separated text, read whole or in pieces.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning, as often as needed.
    name : str
        The file, as messages name it.
    separator, encoding : str, optional
        Detected when left out, and so is a decimal comma.
    """

    def __init__(
        self, open_bytes: Callable[[], BinaryIO], name: str, separator: str | None = None, encoding: str | None = None
    ) -> None:
        self.name = name
        self._open_bytes = open_bytes
        self._separator = separator
        self._encoding = encoding

    @cached_property
    def form(self) -> _Form:
        """Encoding and separator, after a look at the whole text and its header."""
        encoding = self._encoding or detect_encoding(self._open_bytes, self.name)
        refuse_undecodable(self._open_bytes, encoding, self.name)
        with as_text(self._open_bytes, encoding) as text:
            if not any(block.strip() for block in iter(lambda: text.read(1 << 16), "")):
                raise SourceError(f"{self.name} holds only blank lines. Expected a table with a header line.")
        separator = self._separator or self._detect_separator(encoding)
        header = next(self._rows(encoding, separator), [])
        repeated = repeated_names([name.strip() for name in header])
        if repeated:
            raise SourceError(repeated_message(self.name, repeated))
        if len(header) == 1:
            raise SourceError(
                f"{self.name} has one column only when read with the separator {separator!r}. "
                'Expected at least two columns; name the right one in "source.separator".'
            )
        return _Form(encoding, separator)

    def read(self) -> pd.DataFrame:
        """The whole text."""
        frame, decimal = self._read(), "."
        if self.form.separator == ";" and has_decimal_commas([frame]):
            frame, decimal = self._read(decimal=","), ","
        again = parsed_again(frame, decimal)
        return _named(self._read(dtype=again, decimal=decimal) if again else frame)

    @cached_property
    def settled(self) -> FileTypes:
        """Its columns and number of rows, by one pass over it; a ragged row is named at once."""
        rows, seen = 0, self._seen
        for chunk in self._chunks(_SETTLED_ROWS, decimal=self._decimal, dtype_backend="numpy_nullable"):
            rows += len(chunk)
            for name, column in seen.items():
                column.see(chunk[name], self._decimal)
        return FileTypes(self.name, rows, {name.strip(): column.type for name, column in seen.items()})

    def pieces(self, rows: int, columns: Collection[str], dtypes: Mapping[str, Dtype]) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, at most so many at a time, with the types of the table of all files."""
        own = self.settled.columns
        used = {label: label.strip() for label in self._seen if label.strip() in columns}
        # Whole numbers and flags are left to the parser, which knows them without and with gaps.
        given = {label: self._seen[label].parsed for label in used if self._seen[label].parsed is not None}
        for chunk in self._chunks(rows, decimal=self._decimal, dtype=given, usecols=list(used)):
            frame = _named(chunk).reset_index(drop=True)
            frame = conformed(frame, {name: own[name].dtype for name in used.values()})
            yield conformed(frame, {name: dtypes[name] for name in used.values()})

    def beginning(self, rows: int) -> pd.DataFrame:
        """Its first rows, understood by themselves."""
        chunk: pd.DataFrame = next(self._chunks(rows, decimal=self._decimal), pd.DataFrame(columns=list(self._seen)))
        return _named(chunk)

    @cached_property
    def _seen(self) -> dict[str, TextColumn]:
        """What its columns hold, by their names as the parser gives them; filled by `settled`."""
        return {str(name): TextColumn() for name in self._read(nrows=0).columns}

    @cached_property
    def _decimal(self) -> str:
        if self.form.separator != ";":
            return "."
        return "," if has_decimal_commas(self._chunks(_SETTLED_ROWS, dtype=str)) else "."

    def _read(self, **options: Any) -> pd.DataFrame:
        with self._parsing(), as_text(self._open_bytes, self.form.encoding) as text:
            frame: pd.DataFrame = pd.read_csv(text, **self._options(options))
            return frame

    def _chunks(self, rows: int, **options: Any) -> Iterator[pd.DataFrame]:
        with as_text(self._open_bytes, self.form.encoding) as text:
            with self._parsing():
                chunks = pd.read_csv(text, chunksize=rows, **self._options(options))
            while True:
                with self._parsing():
                    chunk = next(chunks, None)
                if chunk is None:
                    return
                yield chunk

    def _options(self, added: Mapping[str, Any]) -> dict[str, Any]:
        basic = {"sep": self.form.separator, "skipinitialspace": True, "low_memory": False, "index_col": False}
        return {**basic, **added}

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        """What the parser complains about, in words that name the file and the line."""
        path = self.name
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)
                yield
        except pd.errors.ParserWarning:
            raise SourceError(
                f"{path}: rows have more columns than the header. Put quotes around values that hold the separator."
            ) from None
        except pd.errors.ParserError as error:
            where = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
            if where:
                raise SourceError(
                    f"{path}, line {where[2]}: {where[3]} columns where the header has {where[1]}. "
                    "Put quotes around values that hold the separator."
                ) from None
            if "EOF inside string" in str(error):
                raise SourceError(
                    f"{path}: a quotation mark is opened and never closed. Close it or remove it."
                ) from None
            raise SourceError(f"{path} cannot be read as a table: {error}.") from None

    def _detect_separator(self, encoding: str) -> str:
        """The separator under which the first lines have the most columns, equally many on each line."""

        def columns(separator: str) -> int:
            lines = [len(row) for row in itertools.islice(self._rows(encoding, separator), 20) if row]
            return lines[0] if lines and min(lines) == max(lines) else min(1, len(lines))

        best = max(_SEPARATORS, key=columns)
        if columns(best) > 1:
            return best
        with as_text(self._open_bytes, encoding) as text:
            header = text.readline()  # ragged rows: take the header's word, so that the error names the line
        return max(_SEPARATORS, key=header.count)

    def _rows(self, encoding: str, separator: str) -> Iterator[list[str]]:
        with as_text(self._open_bytes, encoding) as text:
            try:
                yield from csv.reader(text, delimiter=separator)
            except csv.Error as error:
                raise SourceError(
                    f"{self.name} cannot be read as a table: {error}. Is a quotation mark opened and never closed?"
                ) from None


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame
