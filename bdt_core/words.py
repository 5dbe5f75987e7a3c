"""Numbers, names and verdicts in words, in one place for every printed form.

They give texts that know what they are: numbers a `bdt_core.said.Numeral`, conditions a `bdt_core.said.Said`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

from bdt_core.harmless import without_controls
from bdt_core.said import PLACE, Column, Level, Numeral, changed, joined, like, say

Unit = Literal["rate", "value"]
Number = float | str | None
MINUS = "\u2212"
NOTHING = "\u2013"
_FEW, _FIRST = 12, 4
"""Values of a column that a message may show, and how many of these it does."""
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")

VERDICT_WORDS = {
    "pass": "Pass",
    "fail": "Fail",
    "inconclusive": "Inconclusive",
    "not_testable": "Not testable",
    "no_limit": "No limit",
}
VERDICT_MEANINGS = {
    "pass": "The whole confidence interval lies within the limit: a difference larger than allowed is ruled out, "
    "with the confidence stated.",
    "fail": "The whole confidence interval lies beyond the limit: the difference is larger than allowed, and chance "
    "alone is an unlikely explanation.",
    "inconclusive": "The confidence interval lies on both sides of the limit: these rows cannot tell. This is not a "
    "sign that there is no difference; more rows would narrow the interval.",
    "not_testable": "There was nothing, or too little, to test; the reason is given. This says nothing about whether "
    "there is a difference.",
    "no_limit": "Nobody set a limit, so there is nothing to keep or to break. This says nothing about whether there is "
    "a difference.",
}
POINT_MEANINGS = {
    "pass": "The value lies within the limit. Only the value was asked for, not its interval: chance alone can put it "
    "there.",
    "fail": "The value lies beyond the limit. Only the value was asked for, not its interval: chance alone can put it "
    "there, and in small groups often does.",
}
SIGNIFICANTLY_BEYOND = (
    "The value lies beyond the limit, and the difference is significant: chance alone is an unlikely explanation."
)
REOPENED = (
    "The search that the limit is on rules a larger difference out; what else is known of these people leaves it open."
)
HELD_BACK = (
    "Whatever the limits say, this is no pass: what was agreed on beforehand is lacking. How each limit was judged, "
    "the table says."
)
EVERY_LIMIT_HOLDS = "All of the limits hold."
MAJORITY_MEANINGS = {
    "pass": "More than half of the limits hold. The others are listed below.",
    "fail": "At least half of the limits are broken.",
    "inconclusive": "Neither do more than half of the limits hold, nor are half of them broken: for some of them these "
    "rows cannot tell.",
    "not_testable": "Neither do more than half of the limits hold, nor are half of them broken: some could not be "
    "tested, for the reasons given below.",
}


def verdict_word(verdict: str, say: Callable[[str], str] = str) -> str:
    """A verdict as it stands before its reason, in a language.

    Examples
    --------
    >>> verdict_word("not_testable")
    'NOT TESTABLE'
    """
    return say(VERDICT_WORDS[verdict]).upper()


def verdict_line(name: str, verdict: Mapping[str, Any], say: Callable[[str], str] = str) -> str:
    """An audit's verdict and reason in one line, in a language.

    Examples
    --------
    >>> verdict_line("loans", {"verdict": "fail", "sentence": "sex is f: 9 points more."})
    'FAIL: loans: sex is f: 9 points more.'
    """
    return f"{verdict_word(verdict['verdict'], say)}: {name}: {verdict_reason(verdict, say)}"


def verdict_reason(verdict: Mapping[str, Any], say: Callable[[str], str] = str) -> str:
    """The reason of a verdict, in a language, without the verdict that stands before it already."""
    return say(verdict["sentence"]).removeprefix(f"{say(VERDICT_WORDS[verdict['verdict']])}: ")


def values_in_words(values: Sequence[object]) -> str:
    """How many values a column has, and the first of them where they are few: of many, each may be one person's.

    Examples
    --------
    >>> values_in_words(["no", "perhaps", "yes"])
    "3 values ('no', 'perhaps', 'yes')"
    >>> values_in_words([f"person {i}" for i in range(90)])
    '90 values'
    """
    if len(values) > _FEW:
        return f"{len(values):,} values"
    more = ", ..." if len(values) > _FIRST else ""
    return f"{len(values)} values ({', '.join(map(repr, values[:_FIRST]))}{more})"


def number(x: Number) -> str:
    """A number with three significant digits, thousands separated.

    Examples
    --------
    >>> number(0.012345), number(1234567.0), number(-2.5), number(None), number("Infinity")
    ('0.0123', '1,234,567', '−2.5', '–', 'infinite')
    >>> number(999.7), number(0.0000123)
    ('1,000', '1.23 × 10⁻⁵')
    """
    if x is None or isinstance(x, str):
        return Numeral(NOTHING if x is None else ("infinite" if not x.startswith("-") else f"{MINUS}infinite"))
    if not math.isfinite(x):
        return Numeral(NOTHING if math.isnan(x) else ("infinite" if x > 0 else f"{MINUS}infinite"))
    return Numeral(f"{MINUS if x < 0 else ''}{_three_digits(abs(x))}")


def _three_digits(size: float) -> str:
    if 0 < size < 1e-4 or size >= 1e15:
        digits, power = f"{size:.2e}".split("e")
        return f"{float(digits):g} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"
    return f"{size:,.0f}" if size >= 999.5 else f"{size:.3g}"


def count(n: int | None) -> str:
    """A number of rows.

    Examples
    --------
    >>> count(7214), count(None)
    ('7,214', '–')
    """
    return Numeral(NOTHING if n is None else f"{n:,}")


def percent(x: Number) -> str:
    """A share as a percentage.

    Examples
    --------
    >>> percent(0.3512), percent(0.00042), percent(0.000001), percent(None)
    ('35.1 %', '0.04 %', '< 0.01 %', '–')
    """
    if x is None or isinstance(x, str) or not math.isfinite(x):
        return number(x)
    size = abs(x)
    if 0 < size < 0.00005:
        return say("above {N}", N=Numeral(f"{MINUS}0.01 %")) if x < 0 else Numeral("< 0.01 %")
    digits = 1 if size >= 0.001 or x == 0 else 2
    return Numeral(f"{MINUS if x < 0 else ''}{size * 100:.{digits}f} %")


def p_number(p: Number) -> str:
    """A p-value alone, for a table cell.

    Examples
    --------
    >>> p_number(0.0412), p_number(0.00001), p_number(0.5), p_number(None)
    ('0.041', '< 0.001', '0.50', '–')
    """
    if p is None or isinstance(p, str):
        return Numeral(NOTHING)
    return Numeral("< 0.001" if p < 0.001 else f"{p:.2g}" if p < 0.095 else f"{p:.2f}")


def p_value(p: Number) -> str:
    """A p-value; small ones as a bound.

    Examples
    --------
    >>> p_value(0.0412), p_value(0.00001), p_value(None)
    ('p = 0.041', 'p < 0.001', 'p not available')
    """
    if p is None or isinstance(p, str):
        return say("p not available")
    if p < 0.001:
        return say("p < {N}", N=Numeral("0.001"))
    return say("p = {N}", N=p_number(p))


def value(x: Number, unit: Unit) -> str:
    """A mean of the bias variable: a percentage for a rate, else a number.

    Examples
    --------
    >>> value(0.25, "rate"), value(0.25, "value")
    ('25.0 %', '0.25')
    """
    return percent(x) if unit == "rate" else number(x)


def size(x: Number, unit: str) -> str:
    """An amount without its sign: points for a rate, a number, or a number within words of its own.

    Examples
    --------
    >>> size(0.05, "rate"), size(0.0004, "rate"), size(-12.3, "value"), size(50, "{n} people")
    ('5.0 points', 'under 0.1 points', '12.3', '50 people')
    """
    if x is None or isinstance(x, str) or not math.isfinite(x):
        return number(x)
    if PLACE.search(unit):
        return say(unit, n=number(abs(x)))
    if unit != "rate":
        return number(abs(x))
    return say("under 0.1 points") if 0.0 < abs(x) < 0.0005 else say("{N} points", N=Numeral(f"{abs(x) * 100:.1f}"))


def rounded_up(x: float, unit: str) -> float:
    """The least amount that is no less and that `size` prints to the last digit.

    Examples
    --------
    >>> rounded_up(0.0811, "rate"), rounded_up(0.082, "rate"), rounded_up(12.31, "value"), rounded_up(1234.5, "value")
    (0.082, 0.082, 12.4, 1235.0)
    """
    last = Decimal(x).adjusted() - 2
    step = Decimal(1).scaleb(-3 if unit == "rate" else last if x >= 1e15 else min(last, 0))
    nearest = (Decimal(x) / step).to_integral_value()
    return next(rounded for more in (0, 1) if (rounded := float((nearest + more) * step)) >= x)


def size_at_most(x: float, unit: str) -> str:
    """An upper bound of an amount, rounded up, so that what is printed is one, too.

    Examples
    --------
    >>> size_at_most(0.0504, "rate"), size_at_most(12.31, "value")
    ('5.1 points', '12.4')
    """
    return size(rounded_up(x, unit), unit)


def signed(x: Number, unit: str) -> str:
    """A difference with its sign, without its unit.

    Examples
    --------
    >>> signed(0.172, "rate"), signed(-3.0, "value"), signed(None, "rate")
    ('+17.2', '−3', '–')
    """
    if x is None or isinstance(x, str) or not math.isfinite(x):
        return number(x)
    sign = "+" if x > 0 else MINUS if x < 0 else ""
    return Numeral(f"{sign}{abs(x) * 100:.1f}" if unit == "rate" else f"{sign}{number(abs(x))}")


def interval(low: Number, high: Number, *, confidence: float, unit: Unit) -> str:
    """The interval of a difference, in the difference's unit.

    Examples
    --------
    >>> interval(0.091, 0.253, confidence=0.95, unit="rate")
    '[95 % CI +9.1 to +25.3]'
    """
    level = Numeral(f"{confidence * 100:.4g}")
    return say("[{N} % CI {low} to {high}]", N=level, low=signed(low, unit), high=signed(high, unit))


def difference(x: Number, low: Number, high: Number, *, confidence: float, unit: Unit) -> str:
    """A difference with its interval.

    Examples
    --------
    >>> difference(0.172, 0.091, 0.253, confidence=0.95, unit="rate")
    '+17.2 points [95 % CI +9.1 to +25.3]'
    """
    if x is None:
        return Numeral(NOTHING)
    return say(
        "{N} points [{Nlevel} % CI {low} to {high}]" if unit == "rate" else "{N} [{Nlevel} % CI {low} to {high}]",
        N=signed(x, unit),
        Nlevel=Numeral(f"{confidence * 100:.4g}"),
        low=signed(low, unit),
        high=signed(high, unit),
    )


def capital(sentence: str) -> str:
    """The same text with a capital at its start.

    Examples
    --------
    >>> capital("too few rows")
    'Too few rows'
    """
    return like(sentence, sentence[:1].upper() + sentence[1:])


def uncapital(name: str) -> str:
    """A name within a sentence.

    Examples
    --------
    >>> uncapital("False positive rate"), uncapital("AUC"), uncapital("F1 score")
    ('false positive rate', 'AUC', 'F1 score')
    """
    kept = name[1:2] != name[1:2].lower() or name[1:2].isdigit()
    return name if kept else like(name, name[:1].lower() + name[1:])


_PART_OF_A_CONDITION = re.compile(r"[<>=,;]|(?<!\S)(and|or|is|not|nor|neither)(?!\S)")
_SPACES = re.compile(r"\s+")
_SEVERAL = list, tuple  # `list | tuple` is made anew wherever it stands


def printable(x: Any) -> Any:
    """The document with every text made safe to print.

    Line ends become spaces. Control characters, halves of surrogate pairs and the characters that turn the
    direction of writing (which can make a name look like another one) become U+FFFD.

    Examples
    --------
    >>> printable({"a\\nb": ["x\\u202ey", 1]})
    {'a b': ['x\ufffdy', 1]}
    """
    return each_text(x, lambda text: without_controls(_SPACES.sub(" ", text)))


def each_text(x: Any, change: Callable[[str], str]) -> Any:
    """The document with every text changed; printable ASCII stays as it is."""
    if isinstance(x, str):  # most of it, and is asked of every number
        return x if x.isascii() and x.isprintable() and "  " not in x else changed(x, change)
    if isinstance(x, dict):
        return {each_text(key, change): each_text(one, change) for key, one in x.items()}
    if isinstance(x, _SEVERAL):
        return [each_text(one, change) for one in x]
    return x


def listing(texts: Sequence[str]) -> str:
    """A list within a sentence; what stands in it twice is named once.

    Examples
    --------
    >>> listing(["age", "sex", "age", "origin"]), listing(["age"])
    ('age, sex and origin', 'age')
    """
    names = list(dict.fromkeys(texts))
    return joined([joined(names[:-1], ", "), names[-1]], " and ") if len(names) > 1 else names[0]


def interval_condition(column: str, above: float | None, up_to: float | None, *, whole: bool = False) -> str:
    """The condition that a number lies above one bound and does not exceed the other.

    Parameters
    ----------
    column : str
    above, up_to : float or None
        None is no bound. A missing value lies in no interval.
    whole : bool
        Whether all numbers of the column are whole, so that bounds can be numbers that belong to the interval.

    Examples
    --------
    >>> [interval_condition("age", *bounds, whole=True) for bounds in ((None, 27), (27, 35), (35, None), (27, 28))]
    ['age up to 27', 'age 28 to 35', 'age from 36', 'age is 28']
    >>> [interval_condition("score", *bounds) for bounds in ((None, 0.5), (0.5, 2), (2, None))]
    ['score up to 0.5', 'score above 0.5 and up to 2', 'score above 2']
    """
    name = Column(column)
    if whole:
        first = Numeral("" if above is None else math.floor(above) + 1)
        last = Numeral("" if up_to is None else math.floor(up_to))
        if not first:
            return say("{column} up to {N}", column=name, N=last)
        if not last:
            return say("{column} from {N}", column=name, N=first)
        if first == last:
            return say("{column} is {value}", column=name, value=first)
        return say("{column} {N} to {Nhigh}", column=name, N=first, Nhigh=last)
    if above is None:
        return say("{column} up to {N}", column=name, N=Numeral(f"{up_to:.12g}"))
    low = Numeral(f"{above:.12g}")
    if up_to is None:
        return say("{column} above {N}", column=name, N=low)
    return say("{column} above {N} and up to {Nhigh}", column=name, N=low, Nhigh=Numeral(f"{up_to:.12g}"))


def value_condition(column: str, *values: Any, negated: bool = False) -> str:
    """The condition that a column has one of some values, or none of them; None is a missing value.

    Examples
    --------
    >>> value_condition("race", "b"), value_condition("race", "b", "c"), value_condition("race", "b", negated=True)
    ('race is b', 'race is b or c', 'race is not b')
    >>> value_condition("race", "b", "c", negated=True), value_condition("income", None)
    ('race is neither b nor c', 'income is missing')
    """
    *first, last = [_level_told(column, one) for one in values]
    said_values = {"column": Column(column), "value": last}
    if values == (None,):
        return say("{column} is not missing", **said_values) if negated else say("{column} is missing", **said_values)
    if not first:
        return say("{column} is not {value}", **said_values) if negated else say("{column} is {value}", **said_values)
    said_values["list"] = joined(first, ", ")
    if negated:
        return say("{column} is neither {list} nor {value}", **said_values)
    return say("{column} is {list} or {value}", **said_values)


def is_ambiguous(level: str) -> bool:
    """Whether a level reads as a part of the condition that it stands in, or as a missing value.

    Examples
    --------
    >>> [is_ambiguous(one) for one in ("Caucasian", "25 - 45", "0 <= <200 DM", "radio, television", "own or rent")]
    [False, False, True, True, True]
    """
    return level in ("", "missing") or bool(_PART_OF_A_CONDITION.search(level))


def _level_told(column: str, level: Any) -> str:
    """A value as it stands in a condition, in quotes where it could be read as a part of that."""
    if level is None:
        return say("missing")
    is_number = isinstance(level, Real) and not isinstance(level, bool)
    text = Level(f"{level:.12g}" if isinstance(level, float) else str(level), column, is_number)
    return say('"{level}"', level=text) if is_ambiguous(text) else text


LEAST_FIT = 0.6
"""Precision and coverage that a rule must have to be told as what a cluster is."""


def rule_fits(precision: Number, recall: Number) -> bool:
    """Whether a rule is right for enough of those it names, and names enough of the cluster.

    Examples
    --------
    >>> rule_fits(0.93, 0.81), rule_fits(0.93, 0.3), rule_fits(None, None)
    (True, False, False)
    """
    both = [one for one in (precision, recall) if isinstance(one, float | int) and math.isfinite(one)]
    return len(both) == 2 and min(both) >= LEAST_FIT


def people_alike_in_groups(before: int) -> str:
    """With whom a group is compared when the same search found so many groups before it."""
    return say("people alike in the groups found before" if before > 1 else "people alike in the group found before")


def people_compared_with(factors: Sequence[str]) -> str:
    """Those who are alike in some factors, or everybody else without any.

    Examples
    --------
    >>> people_compared_with(("age", "town")), people_compared_with(())
    ('people alike in age and town', 'everybody else')
    """
    if not factors:
        return say("everybody else")
    return say("people alike in {list}", list=listing([Column(factor) for factor in factors]))


def all_of(conditions: Sequence[str]) -> str:
    """Conditions that hold together, in words; none at all hold for everybody.

    Examples
    --------
    >>> all_of(["age up to 27", "race is b"]), all_of([])
    ('age up to 27 and race is b', 'everybody')
    """
    return joined(conditions, " and ") or say("everybody")
