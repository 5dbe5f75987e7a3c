"""Answers as a language writes them: numbers, days, names, and words for what has a fixed set of values."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bdt_core import words
from bdt_core.report.catalogue import AS_WRITTEN, Sayings
from bdt_core.report.dossier.catalogue import words_of
from bdt_core.report.language import day, locale_of
from bdt_core.report.write import canonical_json
from bdt_core.said import AsItIs, say
from bdt_core.verdict.words import check_in_words

_LONGEST_LIST = 20


class Writer:
    """Writes values of the report in a language, with the readers' names of columns and levels.

    Parameters
    ----------
    language : str
    unit : {"rate", "value"}
        Of the bias variable.
    say : Sayings, optional
        What texts of the report are for its readers.
    """

    def __init__(self, language: str, unit: words.Unit, say: Sayings = AS_WRITTEN) -> None:
        self.words = words_of(language)
        self.unit = unit
        self._say = say
        self._locale = locale_of(language)

    def text(self, x: Any) -> str:
        """What a person wrote."""
        return str(x)

    def name(self, x: Any) -> str:
        """A name in the data or the method, as it is but for the readers' labels."""
        return self._say.name(str(x))

    def said(self, x: str) -> str:
        """A sentence or words of the report."""
        return self._say(x)

    def names(self, names: Sequence[Any]) -> str:
        """Names, each once."""
        return self._listed([self.name(one) for one in names])

    def _listed(self, texts: Sequence[str]) -> str:
        distinct = list(dict.fromkeys(texts))
        return "; ".join(distinct[:_LONGEST_LIST]) + ("; ..." if len(distinct) > _LONGEST_LIST else "")

    def pairs(self, entries: Mapping[str, Any]) -> str:
        """Names, and what stands for each."""
        return "; ".join(f"{name}: {one}" for name, one in entries.items())

    def word(self, x: Any) -> str:
        """One of a fixed set of values."""
        word: str = self.words["words"][str(x)]
        return word

    def count(self, x: float) -> str:
        """A whole number."""
        return self._decimal(x, "#,##0")

    def total(self, numbers: Sequence[float]) -> str:
        """The sum of several whole numbers."""
        return self.count(sum(numbers))

    def number_of(self, values: Sequence[Any]) -> str:
        """How many there are."""
        return self.count(len(values))

    def number(self, x: Any) -> str:
        """A number with three digits."""
        if not isinstance(x, int | float) or not math.isfinite(x):
            return {"Infinity": "∞", "-Infinity": "−∞", "inf": "∞", "-inf": "−∞"}.get(str(x), words.NOTHING)
        if x and not 1e-4 <= abs(x) < 1e7:
            return f"{x:.2e}"
        return self._decimal(float(f"{x:.3g}"), "#,##0.######")

    def percent(self, x: Any) -> str:
        """A share."""
        return f"{self._decimal(100 * x, '#,##0.0')} %" if isinstance(x, int | float) else words.NOTHING

    def size(self, x: Any) -> str:
        """A difference in the bias variable's unit."""
        return self.amount(x, self.unit)

    def amount(self, x: Any, unit: str) -> str:
        """An amount: points of a rate, a number, or one within words of its own."""
        if not isinstance(x, int | float) or not math.isfinite(x) or unit == "value":
            return self.number(x)
        if unit == "rate":
            return f"{self._decimal(100 * x, '#,##0.0')} {self.words['points']}"
        return self._say(say(unit, n=AsItIs(self.number(x))))

    def amount_span(self, value: Any, low: Any, high: Any, unit: str) -> str:
        """An amount with its interval."""
        points = f" {self.words['points']}" if unit == "rate" else ""
        ends = (self.amount(x, unit).removesuffix(points) for x in (low, high))
        return self.span(self.amount(value, unit), *ends)

    def size_span(self, difference: Mapping[str, Any], *ends: str) -> str:
        """A difference in the bias variable's unit, with its interval; the ends are keys."""
        value, low, high = (difference[one] for one in ends)
        return self.amount_span(value, low, high, self.unit)

    def p(self, x: Any) -> str:
        """A p-value."""
        if not isinstance(x, int | float):
            return words.NOTHING
        return f"< {self._decimal(0.001, '0.000')}" if x < 0.001 else self._decimal(x, "0.000")

    def day(self, x: str) -> str:
        """A day in full."""
        return day(datetime.date.fromisoformat(x), locale=self._locale)

    def hash(self, x: Any) -> str:
        """What a part of the report can be recognised by."""
        return f"sha256:{hashlib.sha256(canonical_json(x).encode()).hexdigest()}"

    def checks(self, names: Sequence[str]) -> str:
        """What limits are on."""
        return self._listed([self.check(one) for one in names])

    def check(self, name: str) -> str:
        """What a limit is on: a search, or a metric and the groups that it is of."""
        known: Mapping[str, str] = self.words["checks"]
        if name in known:
            return known[name]
        return self.said(check_in_words(name))

    def span(self, value: str, low: str, high: str) -> str:
        """A value with its interval."""
        return f"{value} [{low} – {high}]" if words.NOTHING not in (low, high) else value

    def who(self, finding: Mapping[str, Any]) -> str:
        """The people of a finding."""
        return self.said(finding["who"]) if finding["conditions"] else str(self.words["cluster"])

    def yes(self, x: Any) -> str:
        """Yes, no, or nothing where that is not known."""
        return words.NOTHING if x is None else str(self.words["yes_word" if x else "no_word"])

    def article(self, name: str) -> str:
        """Who asks for something, as the language calls it."""
        for word, other in self.words["articles"].items():
            name = name.replace(word, other)
        return name

    def _decimal(self, x: float, pattern: str) -> str:
        from babel.numbers import format_decimal

        text = format_decimal(x, format=pattern, locale=self._locale)
        return text.replace("-", words.MINUS if any(one in text for one in "123456789") else "")
