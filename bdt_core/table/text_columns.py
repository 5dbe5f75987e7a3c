"""Columns of a text, typed so that a part of the rows is understood as the whole would be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bdt_core.said import AsItIs, Column, Text, say
from bdt_core.table.column_types import FLAGS, NUMBERS, POINTS_IN_TIME, TEXTS, ColumnType
from bdt_core.table.notation import (
    DatesSeen,
    Notation,
    NotationsSeen,
    are_ambiguous,
    as_dates,
    as_figures,
    whole_numbers_as_dates,
)
from bdt_core.words import count

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
"""What stands for a missing value."""
NAMES_TOO = frozenset({"NA", "None"})
"""Words of these that may as well be a name or an answer."""

_FLAG = r"^(?i:true|false)$"
_NUMBER = (
    r"^\s*(?:[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[+-]?(?i:inf|infinity))\s*$"
)
_FEWEST_DATES = 5
"""Of fewer whole numbers, all may look like dates by chance."""


@dataclass(frozen=True)
class Understood:
    """How a column is read.

    Attributes
    ----------
    type : ColumnType
    notation : Notation or None
        None where the values stand as Arrow reads them.
    remark : str or None
        What is to be said of it.
    question : str or None
        What somebody must say first; until then it is a column of texts.
    """

    type: ColumnType
    notation: Notation | None = None
    remark: Text | None = None
    question: Text | None = None


class TextColumn:
    """What was seen of one column, part by part.

    Numbers are numbers as long as all values are; whole numbers that 64 bits do not hold, or with zeros before them,
    are texts, as identifiers are. The order of the rows plays no part.

    Parameters
    ----------
    name : str
    may_be_grouped : bool
        Whether a point may set thousands apart, as in files whose values are not separated by commas.
    """

    def __init__(self, name: str, may_be_grouped: bool) -> None:
        self._name = name
        self._may_be_grouped = may_be_grouped
        self._seen: set[str] = set()
        self._notations = NotationsSeen()
        self._dates: int | None = 0
        """Whole numbers that are dates; None where one is not."""

    def see(self, values: pa.Array) -> None:
        """Take in the values of some rows, as texts."""
        if values.null_count:
            self._seen.add("missing")
        if "texts" in self._seen or values.null_count == len(values):
            return
        present = values.drop_null()
        sorts = _sorts(present)
        if "texts" in sorts:
            self._notations.see(present)
            sorts = {"written"} if self._notations.any_left else sorts
        elif "flags" not in sorts:
            self._notations.see_plain(present, "whole" in sorts, self._may_be_grouped)
        is_dated = self._dates is not None and "whole" in sorts and whole_numbers_as_dates(present)
        self._dates = (self._dates or 0) + len(present) if is_dated else None
        self._seen |= sorts

    @property
    def point(self) -> str | None:
        """What stands before its decimals, if that is certain."""
        points = frozenset() if self._is_text else self._notations.points
        return next(iter(points)) if len(points) == 1 and self._notations.has_marks else None

    @property
    def needs_point(self) -> bool:
        """Whether only what stands before the decimals of other columns says how it is read."""
        is_plain = "written" not in self._seen and not self._notations.has_marks
        return not self._is_text and len(self._notations.points) == 2 and not is_plain

    def understood(self, point: str | None) -> Understood:
        """How it is read when the whole text is known.

        Parameters
        ----------
        point : {".", ","} or None
            What stands before the decimals of other columns, or is said to.
        """
        if self._is_text:
            return Understood(_TEXT)
        if self._dates is not None and self._dates >= _FEWEST_DATES:
            return _in_notation(self._name, Notation(date="YYYYMMDD"))
        points, dates = self._notations.points, self._notations.dates
        if "written" not in self._seen and not (len(points) == 2 and self._notations.has_marks):
            return self._plain()
        if len(points) == 2 and self._notations.has_marks and point is None:
            return Understood(_TEXT, question=say(_WHICH_POINT, column=Column(self._name)))
        if points:
            mark = next(iter(points)) if len(points) == 1 else point or "."
            return (
                self._plain()
                if "written" not in self._seen and mark == "."
                else _in_notation(self._name, self._notations.numbers(mark))
            )
        return _as_dates_in(self._name, dates)

    @property
    def _is_text(self) -> bool:
        """Whether its values are of several sorts, or of none that is known."""
        seen = self._seen
        are_numbers = bool(seen & {"whole", "fraction", "long", "written"})
        return "texts" in seen or ("flags" in seen and are_numbers) or ("written" in seen and "long" in seen)

    def _plain(self) -> Understood:
        """Read as Arrow writes numbers and flags."""
        seen = self._seen
        if "padded" in seen and not seen & {"fraction", "long"}:
            key = AsItIs(f"features.kinds.{self._name}")
            return Understood(_TEXT, remark=say(_PADDED, column=Column(self._name), key=key))
        if "fraction" in seen:
            return Understood(ColumnType(np.dtype(np.float64), NUMBERS))
        if "long" in seen or ("beyond" in seen and seen & {"missing", "negative"}):
            return Understood(_TEXT)
        if "whole" in seen:
            missing, beyond = "missing" in seen, "beyond" in seen
            kind = np.float64 if missing else np.uint64 if beyond else np.int64
            return Understood(ColumnType(np.dtype(kind), NUMBERS))
        if "flags" in seen:
            return Understood(ColumnType(np.dtype(object if "missing" in seen else bool), FLAGS))
        return Understood(ColumnType(np.dtype(np.float64), NUMBERS, filled=False))


_TEXT = ColumnType(pd.Series(["x"]).dtype, TEXTS)
_WHICH_POINT = (
    'Column "{column}" holds numbers like 1,234 or 1.234, which may be a thousand or a little more than one. Say what '
    'stands before the decimals of the file: "source.decimal", point or comma.'
)
_WHICH_DATE = (
    'Column "{column}" holds dates like 3/4/2026, which may be in March or in April. Write them as 2026-04-03 in the '
    'source, or add the column to "features.exclude".'
)
_PADDED = (
    'Column "{column}" holds whole numbers with zeros before them, which are taken for names, as those of places are. '
    'If they are numbers, set "{key}" to numeric.'
)


def understood_dates(name: str, seen: DatesSeen) -> Understood:
    """How texts of a table whose types are given, as in Parquet, are read: as they are, unless all are dates.

    Parameters
    ----------
    name : str
        Of the column.
    seen : DatesSeen
        Of all its texts.
    """
    if seen.texts < _FEWEST_DATES:
        seen = replace(seen, orders=seen.orders - {"YYYYMMDD"})
    return _as_dates_in(name, seen.orders if seen.texts else frozenset())


def _as_dates_in(name: str, orders: frozenset[str]) -> Understood:
    """Dates, if there is an order in which all are; asked for if there are two."""
    if are_ambiguous(orders):
        return Understood(_TEXT, question=say(_WHICH_DATE, column=Column(name)))
    return _in_notation(name, Notation(date=min(orders))) if orders else Understood(_TEXT)


def _in_notation(name: str, notation: Notation) -> Understood:
    remark = say('Column "{column}" holds {what}.', column=Column(name), what=notation.described)
    if notation.date is None:
        return Understood(ColumnType(np.dtype(np.float64), NUMBERS), notation, remark)
    return Understood(ColumnType(np.dtype("datetime64[s]"), POINTS_IN_TIME), notation, remark)


def point_of(columns: Iterable[TextColumn], decimal: str | None) -> str | None:
    """What stands before the decimals of a file: as it is said, else as all columns have it that leave no doubt.

    Parameters
    ----------
    columns : iterable of TextColumn
    decimal : {"point", "comma"} or None
    """
    if decimal is not None:
        return "." if decimal == "point" else ","
    certain = {one.point for one in columns} - {None}
    return certain.pop() if len(certain) == 1 else None


def typed_values(values: pa.Array, how: Understood) -> pd.Series[Any]:
    """Texts as values of the type that their column has.

    Parameters
    ----------
    values : pyarrow.Array
        Texts.
    how : Understood
        As `TextColumn.understood` gives it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = how.type
    if how.notation is not None and how.notation.date is not None:
        return as_dates(values, how.notation)
    if how.notation is not None:
        values = as_figures(values, how.notation).cast(pa.float64())
    elif type_.holds == NUMBERS:
        arrow_type = pa.from_numpy_dtype(type_.dtype)
        numbers = _cast(values, arrow_type)
        values = _as_arrow_writes_them(values).cast(arrow_type) if numbers is None else numbers
    if type_.holds == FLAGS:
        values = pc.equal(pc.utf8_lower(values), "true")
    column: pd.Series[Any] = values.to_pandas()
    if type_.dtype == object and type_.holds == FLAGS:
        column = column.map({True: True, False: False})  # a gap is no None, as pandas has it
    return column.astype(type_.dtype)


def names_taken_for_missing(counts: Mapping[tuple[str, str], int], texts: Collection[str]) -> list[str]:
    """What to say of words that may be names and were taken for missing values.

    Parameters
    ----------
    counts : dict of (str, str) to int
        By column and word.
    texts : collection of str
        Columns of texts; in one of numbers such a word is no name.
    """
    return [
        say(
            'Column "{column}": "{word}", which stands there {N} times, is taken for a missing value. If it is a name, '
            'list what is missing in "source.missing_values".',
            column=Column(name),
            word=word,
            N=count(times),
        )
        for (name, word), times in sorted(counts.items())
        if name in texts
    ]


def with_gaps(texts: pa.Array, words: Iterable[str]) -> pa.Array:
    """Texts without those that stand for missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(texts, pa.array(sorted(words))), pa.scalar(None, pa.string()), texts)


def _sorts(present: pa.Array) -> set[str]:
    """What sorts of values these are, of which none is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _all_match(present, _FLAG):
        return {"flags"}
    whole = _cast(present, pa.int64())
    if whole is None or any(pc.any(pc.match_substring(present, one)).as_py() for one in "xX"):  # 0x1F is a text
        numbers = _as_arrow_writes_them(present)
        if numbers is None:
            return {"texts"}
        whole = _cast(numbers, pa.int64())
    if whole is not None:
        is_negative, is_padded = pc.min(whole).as_py() < 0, _are_some_padded(present, whole)
        return {"whole"} | ({"negative"} if is_negative else set()) | ({"padded"} if is_padded else set())
    if not _all_match(numbers, "^[^.eEiI]*$"):
        return {"fraction"}
    if _cast(numbers, pa.uint64()) is None:
        return {"long"}
    return {"whole", "beyond"} | ({"padded"} if _match_padded(present) else set())


def _are_some_padded(present: pa.Array, whole: pa.Array) -> bool:
    """Whether a whole number has zeros before it: where texts have no more letters than their numbers, none has."""

    numbers = whole.to_numpy()
    digits = len(numbers) + int((numbers < 0).sum())
    largest = max(abs(int(numbers.min())), int(numbers.max()))
    for power in range(1, len(str(largest))):
        digits += int((numbers >= 10**power).sum()) + int((numbers <= -(10**power)).sum())
    offsets = np.frombuffer(present.buffers()[1], np.int32)
    if int(offsets[present.offset + len(present)]) - int(offsets[present.offset]) == digits:
        return False
    return _match_padded(present)


def _match_padded(present: pa.Array) -> bool:
    import pyarrow.compute as pc

    return bool(pc.any(pc.match_substring_regex(present, r"^\s*[+-]?0[0-9]")).as_py())


def _as_arrow_writes_them(values: pa.Array) -> Any:
    """Numbers without a plus or spaces, with a decimal point; None if one of the texts is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = _cast(values, pa.float64())
    is_plain = numbers is not None and not pc.any(pc.is_nan(numbers)).as_py()  # "NAN" is a text
    if is_plain and not pc.any(pc.starts_with(values, "+")).as_py():
        return values
    if not _all_match(values, _NUMBER):
        return None
    return pc.utf8_ltrim(pc.utf8_trim_whitespace(values), "+")


def _cast(values: pa.Array, type_: pa.DataType) -> Any:
    """The values as numbers; None if one of them is not written as such."""
    import pyarrow as pa

    try:
        values.slice(0, 1).cast(type_)  # a cast that fails goes through all values
        return values.cast(type_)
    except pa.ArrowInvalid:
        return None


def _all_match(values: pa.Array, pattern: str) -> bool:
    """Whether all texts match; of most columns, the first one says it."""
    import pyarrow.compute as pc

    first = pc.match_substring_regex(values.slice(0, 1), pattern)
    rest = pc.match_substring_regex(values, pattern) if pc.all(first, min_count=0).as_py() else first
    return bool(pc.all(rest, min_count=0).as_py())
