"""Read separated text: separator, encoding and notation are detected, and what is wrong is named by line."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

import pandas as pd

from bdt_core.errors import SourceError, repeated_message, repeated_names
from bdt_core.said import Numeral, joined, say
from bdt_core.spec import TableSource
from bdt_core.table.column_types import TEXTS, UNREAD, Choose, FileTypes
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.text_columns import (
    MISSING,
    NAMES_TOO,
    TextColumn,
    names_taken_for_missing,
    point_of,
    typed_values,
    with_gaps,
)
from bdt_core.table.text_encoding import as_text, encoding_of
from bdt_core.words import count

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = (",", ";", "\t", "|")
_BLOCK = 1 << 22
"""Bytes that are parsed at a time; no row is longer."""
_ROWS_AT_ONCE = 20_000
_END = "\0"  # stands in no text
_LINE_END = re.compile(r"\r\n|\r|\n")
_BAD_ROWS = (
    "they have fewer or more values than the header, or stand between stray quotation marks "
    '("source.bad_rows: leave_out")'
)
_LEAVE_OUT = 'With "source.bad_rows: leave_out", such lines are left out and counted.'
_SWALLOWED = 3
"""Separators within a value of several lines, by which these look like rows; fewer may well stand in a sentence."""


def read_text(raw: bytes, path: str) -> pd.DataFrame:
    """Read comma- (or semicolon-, tab-, bar-) separated text.

    Parameters
    ----------
    raw : bytes
        What the file holds.
    path : str
        Named in messages.

    Raises
    ------
    SourceError
        The text cannot be decoded, has no rows under its header, is ragged, or repeats column names.

    Examples
    --------
    >>> read_text(b"a;b\\n1;0,5\\n", "t.csv")["b"].tolist()
    [0.5]
    """
    table = TextTable(lambda: io.BytesIO(raw), path)
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


@dataclass
class _Lines:
    """What was seen of the lines of a text in one pass over it.

    Attributes
    ----------
    left_out : int
        Lines that are no rows of the table.
    long_values, breaks : int
        Values of several lines, and the breaks between these.
    names : Counter of (str, str)
        By column and word: how often a word that may be a name was taken for a missing value.
    """

    left_out: int = 0
    long_values: int = 0
    breaks: int = 0
    names: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Marks:
    """What a text holds, byte by byte.

    Attributes
    ----------
    quotes : int
        Quotation marks.
    is_ended : bool
        Whether its last line has an end.
    may_have_names : bool
        Whether words of `NAMES_TOO` may stand in it.
    """

    quotes: int
    is_ended: bool
    may_have_names: bool


class TextTable:
    """A separated text, read in pieces.

    Parameters
    ----------
    open_bytes : callable
        Opens the file at its beginning, as often as needed.
    name : str
        The file, as messages name it.
    settings : TableSource, optional
        What it leaves out is detected.
    only : collection of str, optional
        Columns that are looked at; of the others no value is.
    """

    def __init__(
        self,
        open_bytes: Callable[[], BinaryIO],
        name: str,
        settings: TableSource | None = None,
        only: Collection[str] | None = None,
    ) -> None:
        self.name = name
        self._only = only
        self._open_bytes = open_bytes
        self._settings = settings or TableSource()
        self._lines = _Lines()
        self._asked: Collection[str] | None = None
        self._kept: list[pa.RecordBatch] | None = None
        self._is_odd = False

    @cached_property
    def form(self) -> _Form:
        """Encoding, separator and header, after a look at the whole text."""
        encoding = encoding_of(self._open_bytes, self.name, self._settings.encoding)
        with as_text(self._open_bytes, encoding) as text:
            if not any(block.strip() for block in iter(lambda: text.read(1 << 16), "")):
                raise SourceError(f"{self.name} holds only blank lines. Expected a table with a header line.")
        separator = self._settings.separator or self._detect_separator(encoding)
        line, _, header = next(self._rows(encoding, separator))
        names = [one.strip().strip("\ufeff") for one in header]  # a second mark of the beginning is no letter
        repeated = repeated_names(names)
        if repeated:
            raise SourceError(repeated_message(self.name, repeated))
        if len(names) == 1:
            raise SourceError(
                say(
                    "{table} has one column only when read with the separator {separator}. Expected at least two "
                    'columns; name the right one in "source.separator".',
                    table=self.name,
                    separator=repr(separator),
                )
            )
        names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
        return _Form(encoding, separator, tuple(names), line == 1)

    @cached_property
    def _names(self) -> list[str]:
        """The columns that may be looked at."""
        return [name for name in self.form.names if self._only is None or name in self._only]

    @property
    def _typed(self) -> list[str]:
        """The columns whose types are worked out, one at least: it says how many rows there are."""
        return [name for name in self._names if self._asked is None or name in self._asked] or self._names[:1]

    @property
    def _converted(self) -> list[str]:
        """The columns whose values are made: where a file has quotes, rows may be swallowed in any of them."""
        return self._names if self._marks.quotes else self._typed

    def settle(self, columns: Collection[str] | None = None, keep: bool = False) -> FileTypes:
        """What some columns hold, by one pass over it, whose rows can be kept; a ragged row is named at once."""
        self._asked = columns
        try:
            return self._settled(keep)
        except _OddRowError:
            self._is_odd = True
            return self._settled(keep)

    def pieces(self, columns: Collection[str]) -> Iterator[pd.DataFrame]:
        """Its rows from first to last, once it is settled."""
        for batch in self._batches():
            typed = {
                name: typed_values(batch.column(name), how) for name, how in self._understood.items() if name in columns
            }
            yield pd.DataFrame(typed, index=pd.RangeIndex(batch.num_rows))

    def beginning(self, rows: int, choose: Choose | None = None) -> pd.DataFrame:
        """Its first rows, understood by themselves."""
        self._asked = None if choose is None else choose(self.form.names)
        try:
            self._kept = list(itertools.islice(self._batches(), 1))
        except _OddRowError:
            self._is_odd = True
            self._kept = list(itertools.islice(self._batches(), 1))
        self._settled()
        first: pd.DataFrame = next(self.pieces(self._typed), pd.DataFrame(columns=self._typed))[:rows]
        self._kept = None
        return first

    def _settled(self, keep: bool = False) -> FileTypes:
        if keep:
            self._kept = list(self._batches())
        rows, seen = self._seen()
        point = point_of(seen.values(), self._settings.decimal)
        is_open = self._settings.decimal is None and any(one.needs_point for one in seen.values())
        if is_open and len(seen) < len(self._names):
            point = self._point_of_all()
        self._understood = {name: its.understood(point) for name, its in seen.items()}
        types = {name: one.type for name, one in self._understood.items()}
        return FileTypes(self.name, rows, {name: types.get(name, UNREAD) for name in self._names}, self._notes)

    def _seen(self) -> tuple[int, dict[str, TextColumn]]:
        """How many rows there are, and what was seen of each column."""
        seen = {name: TextColumn(name, self.form.separator != ",") for name in self._typed}
        rows = 0
        for batch in self._batches():
            rows += batch.num_rows
            for name, its in seen.items():
                its.see(batch.column(name))
        return rows, seen

    def _point_of_all(self) -> str | None:
        """What stands before the decimals of all columns, for one that leaves it open and was asked for."""
        asked, kept = self._asked, self._kept
        self._asked = self._kept = None
        point = point_of(self._seen()[1].values(), None)
        self._asked, self._kept = asked, kept
        return point

    @property
    def _notes(self) -> ReadingNotes:
        """What is to be said of its lines, after a pass over it."""
        lines, remarks = self._lines, list[str]()
        if lines.long_values:
            remarks.append(
                say(
                    "{table}: {N} values hold line breaks, so {Nlines} lines of the file go on with the row before "
                    "them.",
                    table=self.name,
                    N=count(lines.long_values),
                    Nlines=count(lines.breaks),
                )
            )
        if not self._marks.is_ended:
            remarks.append(
                say(
                    "{table}: the last line has no end. If the file was cut off, its last value may be short.",
                    table=self.name,
                )
            )
        remarks += [one.remark for one in self._understood.values() if one.remark]
        texts = {name for name, one in self._understood.items() if one.type.holds == TEXTS}
        remarks += names_taken_for_missing(lines.names, texts)
        questions = {name: one.question for name, one in self._understood.items() if one.question}
        return ReadingNotes({_BAD_ROWS: lines.left_out} if lines.left_out else {}, tuple(remarks), questions)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Its rows as texts, of which some are missing."""
        if self._kept is not None:
            return iter(self._kept)
        self._lines = _Lines()
        batches = self._by_hand() if self._is_odd else self._by_arrow()
        return map(self._without_gaps_for_names, batches) if self._marks.may_have_names else batches

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
                        include_columns=self._converted,
                        column_types=dict.fromkeys(self._converted, pa.string()),
                        null_values=sorted(self._missing - NAMES_TOO),
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
                        self._look_at_breaks(batch)
                        yield self._without_spaces(batch)
            if odd or self._marks.quotes % 2 or "\n" in (last or ""):  # Arrow lets quotes pass that the end leaves open
                raise _OddRowError
        except pa.ArrowInvalid:  # a row is longer than a block
            raise _OddRowError from None

    def _without_spaces(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Values without spaces before them; where a file has quotes, Arrow cannot tell which stand within them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not any(pc.any(pc.starts_with(one, " ")).as_py() for one in batch.columns):
            return batch
        if self._marks.quotes:
            raise _OddRowError
        columns = [with_gaps(pc.utf8_ltrim(one, " "), self._missing - NAMES_TOO) for one in batch.columns]
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    def _look_at_breaks(self, batch: pa.RecordBatch) -> None:
        """Count the values of several lines; where rows may have been swallowed, a closer look names the line."""
        import pyarrow.compute as pc

        if not self._marks.quotes:
            return
        for column in batch.columns:
            has_break = pc.or_(pc.match_substring(column, "\n"), pc.match_substring(column, "\r"))
            for value in column.filter(has_break).to_pylist():
                if swallows_rows(value, self.form.separator, len(self.form.names)):
                    raise _OddRowError
                self._lines.long_values += 1
                self._lines.breaks += len(_LINE_END.findall(value))

    @cached_property
    def _marks(self) -> _Marks:
        words = [one.encode() for one in sorted(NAMES_TOO & self._missing)]
        quotes, last, any_name = 0, b"", bool(words) and "NA".encode(self.form.encoding) != b"NA"
        with self._open_bytes() as raw:
            for block in iter(lambda: raw.read(_BLOCK), b""):
                if not any_name and any(one[:1] in block or one[:1] in last for one in words):  # one letter is quick
                    any_name = any(one in block or one in last + block[:4] for one in words)
                quotes, last = quotes + block.count(b'"'), block[-4:]
        return _Marks(quotes, last.rstrip(b"\0").endswith((b"\n", b"\r")), any_name)

    @property
    def _missing(self) -> frozenset[str]:
        """Words that stand for a missing value."""
        given = self._settings.missing_values
        return MISSING if given is None else frozenset({"", *given})

    def _without_gaps_for_names(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows in which words that may be names are missing values, which are counted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        words = NAMES_TOO & self._missing
        columns = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            names = pc.filter(column, pc.is_in(column, pa.array(sorted(words))))
            for level in pc.value_counts(names).to_pylist():
                self._lines.names[name, level["values"]] += level["counts"]
            columns.append(with_gaps(column, words) if len(names) else column)
        return pa.RecordBatch.from_arrays(columns, batch.schema.names)

    def _by_hand(self) -> Iterator[pa.RecordBatch]:
        """Rows that are not as Arrow wants them: spaces after a separator are left out.

        The first row may have more values than the header, and so may those after it, if these are empty.
        """
        import pyarrow as pa

        names, form = self.form.names, self.form
        rows = itertools.islice(self._rows(form.encoding, form.separator, [_END]), 1, None)
        longest = 0
        while part := list(itertools.islice(rows, _ROWS_AT_ONCE)):
            first, last, row = part[-1]
            if is_last := row == [_END] and first == last:
                part.pop()
            elif row[-1].endswith(_END):
                raise SourceError(
                    say("{table}: a quotation mark is opened and never closed. Close it or remove it.", table=self.name)
                )
            kept = list[list[str]]()
            for first, last, row in part:
                is_filled = MISSING.issuperset(row[len(names) :])
                longest = longest or max(len(names), len(row) if is_filled else 0)
                fault = self._fault(first, last, row, longest if is_filled else len(names))
                if fault is None:
                    kept.append(row[: len(names)])
                elif self._settings.bad_rows == "leave_out":
                    self._lines.left_out += last - first + 1
                else:
                    raise SourceError(joined([fault, say(_LEAVE_OUT)], " "))
            columns = dict(zip(names, zip(*kept, strict=True), strict=True)) if kept else dict.fromkeys(names, ())
            looked_at = [pa.array(columns[name], pa.string()) for name in self._typed]
            texts = [with_gaps(one, self._missing - NAMES_TOO) for one in looked_at]
            yield pa.RecordBatch.from_arrays(texts, self._typed)
            if is_last:
                return

    def _fault(self, first: int, last: int, row: list[str], longest: int) -> str | None:
        """What is wrong with a row that stands on these lines; None if it is as long as it should be."""
        expected = len(self.form.names)
        if expected <= len(row) <= longest:
            if last == first:
                return None
            long = [value for value in row if _LINE_END.search(value)]
            if any(swallows_rows(value, self.form.separator, expected) for value in long):
                return say(
                    "{table}, line {N}: a quotation mark is closed on line {Nlast} only, and what stands between looks "
                    "like rows. Remove the stray mark, or close it on its own line.",
                    table=self.name,
                    N=Numeral(first),
                    Nlast=Numeral(last),
                )
            self._lines.long_values += len(long)
            self._lines.breaks += last - first
            return None
        fault = say(
            "{table}, line {N}: {columns} column where the header has {expected}."
            if len(row) == 1
            else "{table}, line {N}: {columns} columns where the header has {expected}.",
            table=self.name,
            N=Numeral(first),
            columns=Numeral(len(row)),
            expected=Numeral(expected),
        )
        if len(row) > expected:
            mend = say("Put quotes around values that hold the separator.")
        elif last == first:
            mend = say("Write the row whole; if it is the last one, the file was cut off.")
        else:
            mend = say(
                "It goes on to line {N}: remove the quotation mark that is not closed on its own line.", N=Numeral(last)
            )
        return joined([fault, mend], " ")

    def _detect_separator(self, encoding: str) -> str:
        """The separator under which the first lines have the most columns, equally many on each line."""

        def columns(separator: str) -> int:
            lines = [len(row) for _, _, row in itertools.islice(self._rows(encoding, separator), 20)]
            return lines[0] if lines and min(lines) == max(lines) else min(1, len(lines))

        best = max(_SEPARATORS, key=columns)
        if columns(best) > 1:
            return best
        with as_text(self._open_bytes, encoding) as text:
            header = text.readline()  # ragged rows: take the header's word, so that the error names the line
        return max(_SEPARATORS, key=header.count)

    def _rows(self, encoding: str, separator: str, after: Iterable[str] = ()) -> Iterator[tuple[int, int, list[str]]]:
        """Rows that are not blank, each with the numbers of its first and its last line."""
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
                        yield number, reader.line_num, row
                    number = reader.line_num + 1
            except csv.Error as error:
                raise SourceError(
                    f"{self.name} cannot be read as a table: {error}. Is a quotation mark opened and never closed?"
                ) from None


def swallows_rows(value: str, separator: str, columns: int) -> bool:
    """Whether the lines of a value have as many separators as rows between two stray quotation marks would have.

    Parameters
    ----------
    value : str
        Of several lines.
    separator : str
    columns : int
        Of the table.

    Examples
    --------
    >>> swallows_rows("a,1\\n2,b,3\\n4,c", ",", 3), swallows_rows("one,\\ntwo", ",", 3)
    (True, False)
    """
    first, *between, last = (one.count(separator) for one in _LINE_END.split(value))
    whole = columns - 1
    is_like_rows = first + last == whole and all(one == whole for one in between)
    return is_like_rows and whole * (len(between) + 1) >= _SWALLOWED
