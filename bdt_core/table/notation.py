"""Notations of numbers and dates in texts: which of them all values of a column are in, and what they then mean.

A column is in a notation if each of its values is, in all parts of the table. Where two notations fit and mean
different numbers, the other columns of the file may say which it is; else somebody must be asked.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.said import AsItIs, of_ours, say

if TYPE_CHECKING:
    import pyarrow as pa

_SPACE = "[ \u00a0\u202f]"
_SIGNS = r"(?:[€$£¥]|EUR|USD|GBP|CHF)"
_THOUSANDS_AND_MORE = "(?:[kKmM]|[mM]ln|[mM]io|[bB]n)[.]?"
_MINUS = "\u2212"
"""The minus of typesetters, and of spreadsheets in the north of Europe."""
_PLUS_OR_MINUS = f"[+{_MINUS}-]?"
_DECORATED = re.compile(rf"^\s*{_PLUS_OR_MINUS}{_SPACE}*(?P<before>{_SIGNS}?){_SPACE}*{_PLUS_OR_MINUS}[0-9.,]")
_AFTER = re.compile(rf"[0-9.,]{_SPACE}*(?P<after>%|{_SIGNS})?\s*$")
_POINT, _COMMA = ".", ","


def _figure(point: str, groups: str) -> str:
    """Numbers with such a mark before the decimals; thousands are set apart by another mark, spaces or apostrophes."""
    fraction = rf"(?:{re.escape(point)}[0-9]*)?"
    grouped = "|".join(rf"[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+" for mark in (re.escape(groups), _SPACE, "['’]"))
    return rf"(?:(?:{grouped}|[0-9]+){fraction}|{re.escape(point)}[0-9]+)"


_FIGURES = {_POINT: _figure(_POINT, _COMMA), _COMMA: _figure(_COMMA, _POINT)}
_GROUPS = {_POINT: "[,'’ \u00a0\u202f]", _COMMA: "[.'’ \u00a0\u202f]"}
_ANY_FIGURE = [
    re.compile(
        rf"^\s*\(?{_PLUS_OR_MINUS}{_SPACE}*{_SIGNS}?{_SPACE}*{_PLUS_OR_MINUS}{one}{_SPACE}*"
        rf"(?:%|{_SIGNS}|{_THOUSANDS_AND_MORE})?[)-]?\s*$"
    )
    for one in _FIGURES.values()
] + [re.compile(r"^\s*[0-9]{1,3}:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?(?: ?[AaPp][.]?[Mm][.]?)?\s*$")]
"""The last are times: of a day, or how long something took."""
_MONTHS = (
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "january february march april may june july august september october november december",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
_MONTH = {name: number for names in _MONTHS for number, name in enumerate(names.split(), start=1)}
_CLOCK = (
    r"(?:[T ](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.][0-9]+)?)?"
    r" ?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_DAY, _MONTH_NUMBER, _YEAR = "(?P<day>[0-9]{1,2})", "(?P<month>[0-9]{1,2})", "(?P<year>[0-9]{4})"
_NAMED = "(?P<month>[A-Za-z]{3,9})[.]?"
_DATES = {
    "year, month, day": rf"^ *{_YEAR}[-/.]{_MONTH_NUMBER}[-/.]{_DAY}{_CLOCK} *$",
    "day, month, year": rf"^ *{_DAY}[-/.]{_MONTH_NUMBER}[-/.]{_YEAR}{_CLOCK} *$",
    "month, day, year": rf"^ *{_MONTH_NUMBER}[-/]{_DAY}[-/]{_YEAR}{_CLOCK} *$",
    "day, name of the month, year": rf"^ *{_DAY}[- ]{_NAMED}[- ]{_YEAR}{_CLOCK} *$",
    "name of the month, day, year": rf"^ *{_NAMED} {_DAY},? {_YEAR}{_CLOCK} *$",
    "year, month": rf"^ *{_YEAR}-(?P<month>[0-9]{{2}}) *$",
    "YYYYMMDD": r"^ *(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2}) *$",
}
_OF_DAY, _OF_MONTH = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"
_UNCERTAIN_DATES = (
    r"^ *(?:1[89]|20|21)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]) *$",
    rf"^ *{_OF_DAY}[-/.]{_OF_MONTH}[-/.][0-9]{{2}}{_CLOCK} *$",
    rf"^ *{_OF_MONTH}[-/.]{_OF_DAY}[-/.][0-9]{{2}}{_CLOCK} *$",
    rf"^ *{_OF_DAY}[- ]{_NAMED}[- ][0-9]{{2}}{_CLOCK} *$",
    rf"^ *{_OF_DAY}[- ]{_NAMED} *$",
    rf"^ *{_NAMED}[- ](?:{_OF_DAY}|{_YEAR}) *$",
    rf"^ *{_OF_MONTH}[-/.](?:1[89]|20|21)[0-9]{{2}} *$",
    r"^ *[0-9]{4}-?W[0-9]{2}(?:-?[1-7])? *$",
)
"""Written as dates are, though in no order that is read: a year of two digits, or none, or no day."""
_DAY_OF_YEAR = re.compile(rf"^ *(?:{_OF_DAY}[-/]{_OF_MONTH}|{_OF_MONTH}[-/]{_OF_DAY}|{_OF_DAY}[.]{_OF_MONTH}[.]) *$")
_TWO_WAYS = {"day, month, year", "month, day, year"}
_FIRST_YEAR, _LAST_YEAR = 1850, 2150
_DAYS = np.dtype("datetime64[s]")


@dataclass(frozen=True)
class Notation:
    """How the values of a column are written.

    Attributes
    ----------
    point : {".", ","} or None
        What stands before the decimals of numbers.
    before, after : str
        A sign of currency or a percent sign that all numbers have.
    spaced : bool
        Whether thousands are set apart by spaces.
    date : str or None
        The order of a date's parts.
    """

    point: str | None = None
    before: str = ""
    after: str = ""
    spaced: bool = False
    date: str | None = None

    @property
    def described(self) -> str:
        """In words."""
        if self.date is not None:
            return say("dates ({order})", order=of_ours(self.date))
        thousand = "1 234" if self.spaced else "1,234" if self.point == _POINT else "1.234"
        example = f"{self.before}{thousand}{self.point}5{self.after}"
        return say("numbers, written like {example}", example=AsItIs(example))


@dataclass(frozen=True)
class DatesSeen:
    """Whether some texts are dates; of parts of a column, this adds up to that of the whole.

    Attributes
    ----------
    orders : frozenset of str
        In which all of them are dates.
    texts : int
        How many they are.
    """

    orders: frozenset[str] = frozenset(_DATES)
    texts: int = 0

    def __add__(self, other: DatesSeen) -> DatesSeen:
        return DatesSeen(self.orders & other.orders, self.texts + other.texts)

    def seeing(self, present: pa.Array) -> DatesSeen:
        """With more texts, of which none is missing."""
        if not len(present):
            return self
        fitting = frozenset(one for one in self.orders if _as_dates(present, one) is not None)
        return DatesSeen(fitting, self.texts + len(present))


class NotationsSeen:
    """The notations that fit all values of a column so far, part by part; the order of the rows plays no part."""

    def __init__(self) -> None:
        self._signs: tuple[str, str] | None = None
        self._points: set[str] = {_POINT, _COMMA}
        self._dates: set[str] = set(_DATES) - {"YYYYMMDD"}
        self._spaced = False
        self.has_marks = False
        """Whether a number has a point or a comma."""

    @property
    def any_left(self) -> bool:
        """Whether some notation may still fit."""
        return bool(self._points or self._dates)

    def see(self, present: pa.Array) -> None:
        """Take in texts, of which none is missing."""
        if self._points:
            self._see_numbers(present, present[0].as_py())
        self._dates = {one for one in self._dates if _as_dates(present, one) is not None}

    def see_plain(self, present: pa.Array, is_whole: bool, may_be_grouped: bool) -> None:
        """Take in numbers with a decimal point and no sign.

        Parameters
        ----------
        present : pyarrow.Array
            Texts.
        is_whole : bool
            Whether none has decimals.
        may_be_grouped : bool
            Whether a point may set thousands apart in this file.
        """
        self._dates = set()
        if self._signs not in (None, ("", "")):
            self._points = set()
        self._signs = ("", "")
        if not is_whole:
            self.has_marks = True
            if _COMMA in self._points and not (may_be_grouped and _are_all(present, _FIGURES[_COMMA])):
                self._points.discard(_COMMA)

    @property
    def points(self) -> frozenset[str]:
        """What may stand before the decimals of its numbers; none if they are no numbers."""
        return frozenset(self._points) if self._signs is not None else frozenset()

    @property
    def dates(self) -> frozenset[str]:
        """In which orders its dates may be written; none if they are no dates."""
        return frozenset(self._dates)

    def numbers(self, point: str) -> Notation:
        """Its numbers, with such a mark before the decimals."""
        before, after = self._signs or ("", "")
        return Notation(point, before, after, self._spaced)

    def _see_numbers(self, present: pa.Array, first: str) -> None:
        import pyarrow.compute as pc

        head, tail = _DECORATED.match(first), _AFTER.search(first)
        signs = None if head is None or tail is None else (head["before"], tail["after"] or "")
        if signs is None or self._signs not in (None, signs) or (signs[0] and signs[1]):
            self._points = set()
            return
        self._signs = signs
        self._points = {point for point in self._points if _are_all(present, _FIGURES[point], *signs)}
        if self._points and not self.has_marks:
            self.has_marks = bool(pc.any(pc.match_substring_regex(present, "[.,]")).as_py())
        if self._points and not self._spaced:
            self._spaced = bool(pc.any(pc.match_substring_regex(present, f"[0-9]{_SPACE}[0-9]")).as_py())


def looks_like_date(text: str) -> bool:
    """Whether a text is written as some date is, one of a year in two digits or none included.

    Examples
    --------
    >>> looks_like_date("3-4-2026"), looks_like_date("2026-04-03 12:00"), looks_like_date("north")
    (True, True, False)
    >>> looks_like_date("31 Jan 26"), looks_like_date("2026-W05"), looks_like_date("may")
    (True, True, False)
    """
    patterns = (*(one for order, one in _DATES.items() if order != "YYYYMMDD"), *_UNCERTAIN_DATES)
    date = next((match for one in patterns if (match := re.match(one, text))), None)
    if date is None:
        return False
    month = date.groupdict().get("month")
    return month is None or month.isdigit() or month.lower() in _MONTH


def looks_like_day_of_year(text: str) -> bool:
    """Whether a text is written as a day and a month in numbers, in either order; "10-12" may be a range as well.

    Examples
    --------
    >>> looks_like_day_of_year("31-01"), looks_like_day_of_year("1/31"), looks_like_day_of_year("18-24")
    (True, True, False)
    """
    return _DAY_OF_YEAR.match(text) is not None


def looks_like_number(text: str) -> bool:
    """Whether a text is written as some number is: with a sign, in thousands, as debts or times are, in any digits.

    Examples
    --------
    >>> looks_like_number("€ 1.234,50"), looks_like_number("12 %"), looks_like_number("A12")
    (True, True, False)
    >>> looks_like_number("(1,234)"), looks_like_number("12-"), looks_like_number("\u0663\u0664")
    (True, True, True)
    >>> looks_like_number("3.5k"), looks_like_number("08:15"), looks_like_number("1234 AB")
    (True, True, False)
    """
    digits = text if text.isascii() else "".join(str(unicodedata.decimal(one, one)) for one in text)
    return any(one.match(digits) for one in _ANY_FIGURE)


def whole_numbers_as_dates(present: pa.Array) -> bool:
    """Whether whole numbers are dates such as 20260131."""
    return _as_dates(present, "YYYYMMDD") is not None


def are_ambiguous(dates: frozenset[str]) -> bool:
    """Whether it cannot be told which number of a date is the day."""
    return dates == _TWO_WAYS


def as_figures(values: pa.Array, notation: Notation) -> pa.Array:
    """Numbers in a notation, as Arrow writes them."""
    import pyarrow.compute as pc

    point = notation.point or _POINT
    bare = values
    for sign in (notation.before, notation.after):
        bare = pc.replace_substring(bare, sign, "") if sign else bare
    bare = pc.replace_substring_regex(bare, rf"\s|{_GROUPS[point]}", "")
    plain = pc.replace_substring(pc.replace_substring(bare, point, "."), _MINUS, "-")
    return pc.utf8_ltrim(plain, "+")


def as_dates(values: pa.Array, notation: Notation) -> pd.Series[Any]:
    """Texts in a notation of dates as points in time, without a zone; missing stay missing."""
    import pyarrow.compute as pc

    known = pc.is_valid(values).to_numpy(zero_copy_only=False)
    dates = np.full(len(values), np.datetime64("NaT"), _DAYS)
    if known.any():
        days = _as_dates(values.drop_null(), notation.date or "")
        assert days is not None  # all values were looked at
        dates[known] = days
    return pd.Series(dates)


def _are_all(present: pa.Array, figure: str, before: str = "", after: str = "") -> bool:
    signs = rf"{_PLUS_OR_MINUS}{_SPACE}*{re.escape(before)}{_SPACE}*" if before else ""
    return _match(present, rf"^\s*{signs}{_PLUS_OR_MINUS}{figure}{_SPACE}*{re.escape(after)}\s*$")


def _match(present: pa.Array, pattern: str) -> bool:
    """Whether all texts match; of most columns, the first one says it."""
    import pyarrow.compute as pc

    if not pc.match_substring_regex(present.slice(0, 1), pattern)[0].as_py():
        return False
    return bool(pc.all(pc.match_substring_regex(present, pattern)).as_py())


def _as_dates(present: pa.Array, order: str) -> npt.NDArray[np.datetime64] | None:
    """Texts as seconds since 1970; None if one of them is no date in this order, between 1850 and 2150."""
    import pyarrow.compute as pc

    pattern = _DATES[order]
    if not _match(present, pattern):
        return None
    parts = pc.extract_regex(present, pattern)

    def part(name: str) -> npt.NDArray[np.int64]:
        texts = parts.field(name)
        numbers = pc.if_else(pc.equal(texts, ""), "0", texts).cast("int64")
        return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)

    if _NAMED in pattern:
        names = pd.Series(parts.field("month").to_pandas()).str.lower().map(_MONTH)
        if names.isna().any():
            return None
        month = names.to_numpy(np.int64)
    else:
        month = part("month")
    year, day = part("year"), part("day") if "<day>" in pattern else np.ones(len(present), np.int64)
    if not ((month >= 1) & (month <= 12) & (year >= _FIRST_YEAR) & (year <= _LAST_YEAR)).all():
        return None
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    if (day < 1).any() or (days.astype("datetime64[M]") != months).any():
        return None
    seconds = days.astype(_DAYS)
    if _CLOCK not in pattern:
        return seconds
    hour, minute, second = part("hour"), part("minute"), part("second")
    if (hour > 23).any() or (minute > 59).any() or (second > 59).any():
        return None
    zone = pd.Series(parts.field("zone").to_pandas()).str.replace(":", "").replace({"": "+0000", "Z": "+0000"})
    ahead = zone.str[:1].map({"+": 1, "-": -1}).to_numpy(np.int64)
    behind = ahead * (zone.str[1:3].astype(np.int64) * 3600 + zone.str[3:5].astype(np.int64) * 60).to_numpy()
    return seconds + (hour * 3600 + minute * 60 + second - behind)
