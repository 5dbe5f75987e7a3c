"""Sentences of stages in the language of a report, with its readers' names.

A `bdt_core.said.Said` is looked up by its message in ``languages/LANGUAGE.po``, an ordinary catalogue with places for
what differs (``{rows} rows against {others}``), and its values are said in turn. Words of ours without a place are
looked up as they stand. What came from the table is data: only ``labels`` and ``units`` change it. Nothing is ever said
by reading a finished sentence: one of which the message is not known is printed as it reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Protocol

from bdt_core.report.language import locale_of
from bdt_core.report.names import Names, flipped
from bdt_core.report.translation import BY_THEMSELVES, PAGE, catalogue, catalogue_file
from bdt_core.said import PLACE, TRANSLATED, AsItIs, Column, Level, Said, Sentence, filled, first_letter

if TYPE_CHECKING:
    from bdt_core.report.document import Printed
    from bdt_core.spec import AuditSpec

_NUMBER = re.compile(r"(< )?[+−-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[+-]?\d+)?( × 10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?( %)?")
_CONDITION = "condition"
"""The context of conditions on a column, behind whose bounds its unit stands."""
_SOME = "nl"
"""A language whose messages say what is looked up."""
_AMONG_LEVELS = ("(rare levels)", "a small group")
"""Words of ours where a level stands."""
_IS_MISSING = " is missing"
_NO_BREAK = "\u00a0"


class Sayings(Protocol):
    """What texts are for readers."""

    def __call__(self, text: str, /) -> str:
        """Of a sentence, a number or a word of ours."""
        ...

    def name(self, data: str, /) -> str:
        """Of a column, a level or other data: the readers' name for it, or itself."""
        ...

    def level(self, column: str, level: str, /) -> str:
        """Of a level of a column."""
        ...


class _AsWritten:
    """English, for readers without names of their own."""

    def __call__(self, text: str, /) -> str:
        return str(text)

    def name(self, data: str, /) -> str:
        return str(data)

    def level(self, column: str, level: str, /) -> str:  # noqa: ARG002 - nobody has a name for it
        return str(level)


AS_WRITTEN: Sayings = _AsWritten()


def sayings(language: str, names: Names | None = None) -> Sayings:
    """What texts are in a language, with the readers' names; themselves where there is nothing to change."""
    if not names and not catalogue_file(language).is_file():
        return AS_WRITTEN
    return Catalogue(_read(language), Names({}) if names is None else names)


def sayings_of_page(language: str) -> Sayings:
    """What a text is on the page of ``bdt open``, whose own messages come before those of reports."""
    of_reports, own = _read(language), _messages(language, frozenset((PAGE,)))
    return Catalogue(replace(of_reports, texts={**of_reports.texts, **own.texts}), Names({}))


def say_in(document: Printed) -> Sayings:
    """What a text of a document is for its readers."""
    variable = document.bias_variable
    measured = () if variable.unit == "rate" else (variable.name, variable.short)
    names = Names(document.spec, measured, (column.name for column in document.data.columns))
    return document.once("say", lambda one: sayings(str(one.spec.get("language", "en")), names))


def say_for(spec: AuditSpec) -> Sayings:
    """What a text is for the readers of a specification."""
    from bdt_core.spec.wording import wording

    variable = wording(spec.bias_variable)
    measured = (variable.name, variable.short) if spec.bias_variable.is_of_numbers else ()
    return sayings(spec.language, Names(spec.to_dict(), measured))


@dataclass(frozen=True)
class _Messages:
    """The messages of a language by what they are in English, and which of them are conditions on a column."""

    marks: Mapping[int, str]
    texts: Mapping[str, str]
    conditions: frozenset[str]


def _read(language: str) -> _Messages:
    """The messages of stages in a language; of one without a catalogue those of another, told as they are looked up."""
    return _of_stages(language, tuple(TRANSLATED.get(language, {}).items()))


@cache
def _of_stages(language: str, others: tuple[tuple[str, str], ...]) -> _Messages:
    contexts = frozenset(one.context or "" for one in catalogue(_SOME)) - BY_THEMSELVES
    return _messages(language, contexts, others)


def _messages(language: str, contexts: frozenset[str], others: tuple[tuple[str, str], ...] = ()) -> _Messages:
    from babel.numbers import get_decimal_symbol, get_group_symbol

    locale, own = locale_of(language), catalogue_file(language).is_file()
    messages = [
        (one.context, _bare(one.id), _bare(one.string if own else one.id))
        for one in catalogue(language if own else _SOME)
        if one.id and one.string and (one.context or "") in contexts
    ]
    return _Messages(
        str.maketrans({",": get_group_symbol(locale), ".": get_decimal_symbol(locale)}),
        {message: text for _, message, text in messages} | {_bare(message): _bare(text) for message, text in others},
        frozenset(message for context, message, _ in messages if context == _CONDITION),
    )


class Catalogue:
    """Says what stages have written, to readers of a language.

    Parameters
    ----------
    messages : _Messages
    names : Names
    """

    def __init__(self, messages: _Messages, names: Names) -> None:
        self._messages, self._names = messages, names
        self._of_ours = lru_cache(maxsize=65_536)(self._words)

    def __call__(self, text: str, /) -> str:
        """A sentence by its message, a number as the language writes it, and words of ours as they are looked up."""
        if isinstance(text, AsItIs):
            return text
        if isinstance(text, Said):
            return self._sentence(text)
        if isinstance(text, Column):
            return self._of_missing(text) or self._names.label(text) or str(text)
        if isinstance(text, Level):
            name = self.level(text.column, text)
            return name.translate(self._messages.marks) if text.is_number and name == text else name
        return self._of_ours(str(text))

    def name(self, data: str, /) -> str:
        """What readers call a column, a level that only one column has, or several of these."""
        return self._of_missing(data) or self._names.in_text(data)

    def level(self, column: str, level: str, /) -> str:
        """What readers call a level of a column; the few words of ours that stand among levels are said."""
        if level in _AMONG_LEVELS or self._of_missing(column):
            return self._of_ours(str(level))
        return self._names.level(column, level)

    def _of_missing(self, name: str) -> str | None:
        """A column that is none of the table, but says where one of these has no value; None of any other."""
        column = name.removesuffix(_IS_MISSING)
        if name in self._names.columns or column not in self._names.columns:
            return None
        return filled(self._told("{column} is missing"), {"column": self._names.label(column) or column})

    def _told(self, message: str) -> str:
        """A message in the language; the full stop stands where the text has it."""
        bare = _bare(message)
        return self._messages.texts.get(bare, bare) + message[len(bare) :]

    def _sentence(self, sentence: Said) -> str:
        values = {place: self._value(one) for place, one in sentence.values.items()}
        translation = first_letter(sentence, filled(self._told(sentence.id), values) + self._unit(sentence))
        in_one_line = _NO_BREAK in sentence and " " not in sentence
        return translation.replace(" ", _NO_BREAK) if in_one_line else translation

    def _value(self, value: str) -> str:
        return self(value) if isinstance(value, Sentence | AsItIs | Column | Level) else self.name(value)

    def _unit(self, sentence: Said) -> str:
        """Behind the bounds of a condition on a column that has one."""
        column = sentence.values.get("column")
        if column is None or _bare(sentence.id) not in self._messages.conditions:
            return ""
        last = sentence.values[PLACE.findall(sentence.id)[-1]]
        unit = self._names.unit_of(column) if _NUMBER.fullmatch(last) else None
        return f" {unit}" if unit else ""

    def _words(self, text: str) -> str:
        """Words of ours, a number, or the bias variable's column, which may stand where its words do."""
        if _NO_BREAK in text:
            return self._words(text.replace(_NO_BREAK, " ")).replace(" ", _NO_BREAK)
        if _NUMBER.fullmatch(text):
            return text.translate(self._messages.marks)
        if text in self._names.measured_column or (known := self._exact(text)) is None:
            return self._names.known(text) or text
        return self._names.with_unit(text, known)

    def _exact(self, text: str) -> str | None:
        """A text that is a message itself, with a capital or not."""
        bare = _bare(text)
        translation = self._messages.texts.get(bare)
        if translation is None and (other := self._messages.texts.get(flipped(bare))) is not None:
            translation = (other[:1].upper() if bare[:1].isupper() else other[:1].lower()) + other[1:]
        return None if translation is None else translation + text[len(bare) :]


def _bare(message: object) -> str:
    """Without the full stop, which stands where the text has it."""
    return str(message).removesuffix(".")
