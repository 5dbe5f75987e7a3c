"""Read separated text: separator, encoding and decimal comma are detected, and what is wrong is named by line."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

import pandas as pd

from bdt_core.errors import SourceError, repeated_message, repeated_names
from bdt_core.table.column_types import FileTypes
from bdt_core.table.text_columns import MISSING, TextColumn, decimal_point, typed_values
from bdt_core.table.text_encoding import as_text, encoding_of

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = (",", ";", "\t", "|")
_BLOCK = 1 << 22
"""Bytes that are parsed at a time; no row is longer."""
_ROWS_AT_ONCE = 20_000
_END = "\0"  # stands in no text


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
    table = TextTable(lambda: io.BytesIO(raw), path, separator, encoding)
    table.settle(keep=True)
    frames = list(table.pieces(table.form.names))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(table.form.names))


@dataclass(frozen=True)
class _Form:
    """How a text is to be read.

    Attributes
    ----------
    encoding, separator : str
    names : tuple of str
        Of its columns.
    is_first : bool
        Whether their line is the first one.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    is_first: bool


class _OddRowError(Exception):
    """A row that Arrow would refuse, or understand in another way."""


class TextTable:
    """A separated text, read in pieces.

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
        self._kept: list[pa.RecordBatch] | None = None
        self._is_odd = False

    @cached_property
    def form(self) -> _Form:
        """Encoding, separator and header, after a look at the whole text."""
        encoding = encoding_of(self._open_bytes, self.name, self._encoding)
        with as_text(self._open_bytes, encoding) as text:
            if not any(block.strip() for block in iter(lambda: text.read(1 << 16), "")):
                raise SourceError(f"{self.name} holds only blank lines. Expected a table with a header line.")
        separator = self._separator or self._detect_separator(encoding)
        line, header = next(self._rows(encoding, separator))
        names = [one.strip() for one in header]
        repeated = repeated_names(names)
        if repeated:
            raise SourceError(repeated_message(self.name, repeated))
        if len(names) == 1:
            raise SourceError(
                f"{self.name} has one column only when read with the separator {separator!r}. "
                'Expected at least two columns; name the right one in "source.separator".'
            )
        names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
        return _Form(encoding, separator, tuple(names), line == 1)

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:  # noqa: ARG002
        """What all columns hold, by one pass over it, whose rows can be kept; a ragged row is named at once."""
        try:
            return self._settled(keep)
        except _OddRowError:
            self._is_odd = True
            return self._settled(keep)

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, once it is settled."""
        for batch in self._batches():
            typed = {
                name: typed_values(column, self._types[name], self._point)
                for name, column in zip(self.form.names, batch.columns, strict=True)
                if name in columns
            }
            yield pd.DataFrame(typed, index=pd.RangeIndex(batch.num_rows))

    def beginning(self, rows: int) -> pd.DataFrame:
        """Its first rows, understood by themselves."""
        try:
            self._kept = list(itertools.islice(self._batches(), 1))
        except _OddRowError:
            self._kept = list(itertools.islice(self._by_hand(), 1))
        self._settled()
        first: pd.DataFrame = next(self.pieces(self.form.names), pd.DataFrame(columns=list(self.form.names)))[:rows]
        self._kept = None
        return first

    def _settled(self, keep: bool = False) -> FileTypes:
        if keep:
            self._kept = list(self._batches())
        self._point = decimal_point(self._batches()) if self.form.separator == ";" else "."
        seen = {name: TextColumn(self._point) for name in self.form.names}
        rows = 0
        for batch in self._batches():
            rows += batch.num_rows
            for column, its in zip(batch.columns, seen.values(), strict=True):
                its.see(column)
        self._types = {name: its.type for name, its in seen.items()}
        return FileTypes(self.name, rows, self._types)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Its rows as texts, of which some are missing."""
        if self._kept is not None:
            return iter(self._kept)
        return self._by_hand() if self._is_odd else self._by_arrow()

    def _by_arrow(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        form, odd = self.form, list[int]()
        if not form.is_first:
            raise _OddRowError

        def skip(row: arrow_csv.InvalidRow) -> str:
            odd.append(row.actual_columns)
            return "skip"

        try:
            with (
                self._open_bytes() as raw,
                arrow_csv.open_csv(
                    raw,
                    arrow_csv.ReadOptions(
                        use_threads=False,  # as fast
                        block_size=_BLOCK,
                        column_names=form.names,
                        skip_rows_after_names=1,
                        encoding=form.encoding,
                    ),
                    arrow_csv.ParseOptions(delimiter=form.separator, newlines_in_values=True, invalid_row_handler=skip),
                    arrow_csv.ConvertOptions(
                        column_types=dict.fromkeys(form.names, pa.string()),
                        null_values=sorted(MISSING),
                        strings_can_be_null=True,
                    ),
                ) as reader,
            ):
                last = None
                for batch in reader:
                    if odd:
                        raise _OddRowError
                    if batch.num_rows:
                        last = batch.columns[-1][-1].as_py()
                        yield self._without_spaces(batch)
            if odd or self._quotes % 2 or "\n" in (last or ""):  # Arrow lets quotes pass that the end leaves open
                raise _OddRowError
        except pa.ArrowInvalid:  # a row is longer than a block
            raise _OddRowError from None

    def _without_spaces(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Values without spaces before them; where a file has quotes, Arrow cannot tell which stand within them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not any(pc.any(pc.starts_with(one, " ")).as_py() for one in batch.columns):
            return batch
        if self._quotes:
            raise _OddRowError
        columns = [_with_gaps(pc.utf8_ltrim(one, " ")) for one in batch.columns]
        return pa.RecordBatch.from_arrays(columns, list(self.form.names))

    @cached_property
    def _quotes(self) -> int:
        with self._open_bytes() as raw:
            return sum(block.count(b'"') for block in iter(lambda: raw.read(_BLOCK), b""))

    def _by_hand(self) -> Iterator[pa.RecordBatch]:
        """Rows that are not as Arrow wants them: short ones are filled, spaces after a separator left out.

        The first row may have more values than the header, and so may those after it, if these are empty.
        """
        import pyarrow as pa

        names, form = self.form.names, self.form
        rows = itertools.islice(self._rows(form.encoding, form.separator, [_END]), 1, None)
        longest = 0
        while part := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            if is_last := part[-1][1] == [_END]:
                part.pop()
            elif part[-1][1][-1].endswith(_END):
                raise SourceError(f"{self.name}: a quotation mark is opened and never closed. Close it or remove it.")
            for line, row in part:
                longest = longest or max(len(names), len(row))
                if len(row) == len(names):
                    continue
                if len(row) > longest or not MISSING.issuperset(row[len(names) :]):
                    raise SourceError(
                        f"{self.name}, line {line}: {len(row)} columns where the header has {len(names)}. "
                        "Put quotes around values that hold the separator."
                    )
                row[:] = [*row, *[""] * len(names)][: len(names)]
            columns = list(zip(*(row for _, row in part), strict=True)) or [()] * len(names)
            texts = [_with_gaps(pa.array(one, pa.string())) for one in columns]
            yield pa.RecordBatch.from_arrays(texts, list(names))
            if is_last:
                return

    def _detect_separator(self, encoding: str) -> str:
        """The separator under which the first lines have the most columns, equally many on each line."""

        def columns(separator: str) -> int:
            lines = [len(row) for _, row in itertools.islice(self._rows(encoding, separator), 20)]
            return lines[0] if lines and min(lines) == max(lines) else min(1, len(lines))

        best = max(_SEPARATORS, key=columns)
        if columns(best) > 1:
            return best
        with as_text(self._open_bytes, encoding) as text:
            header = text.readline()  # ragged rows: take the header's word, so that the error names the line
        return max(_SEPARATORS, key=header.count)

    def _rows(self, encoding: str, separator: str, after: Iterable[str] = ()) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not blank, each with the number of the line that it begins on."""
        with as_text(self._open_bytes, encoding) as text:
            written = ""

            def noted(line: str) -> str:
                nonlocal written
                written = line
                return line

            reader = csv.reader(map(noted, itertools.chain(text, after)), delimiter=separator, skipinitialspace=True)
            number = 1
            try:
                for row in reader:
                    if row and (row != [""] or '"' in written):
                        yield number, row
                    number = reader.line_num + 1
            except csv.Error as error:
                raise SourceError(
                    f"{self.name} cannot be read as a table: {error}. Is a quotation mark opened and never closed?"
                ) from None


def _with_gaps(texts: pa.Array) -> pa.Array:
    """Texts without those that stand for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(texts, pa.array(sorted(MISSING))), pa.scalar(None, pa.string()), texts)
