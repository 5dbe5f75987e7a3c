"""Sentences of stages in the language of a report, with its readers' names.

A `bdt_core.said.Said` is looked up by its message in ``languages/LANGUAGE.po``, an ordinary catalogue with
places for what differs (``{rows} rows against {others}``), and its values are said in turn. What came from the table is
data: only ``labels`` and ``units`` change it.

A sentence that its stage wrote without saying so, or that was read from ``report.json``, which is English, is looked up
by what it reads: as a whole, then sentence by sentence and clause by clause. Its places are named by what they may
hold: ``{N...}`` a number, ``{list...}`` names with a comma or "and" between them, ``{name...}`` what has no verb and no
bracket, ``{level...}`` levels of the ``{column}`` beside it, ``{as_is...}`` any other data; all of these are data, and
only what stands in other places is looked up itself. Messages of the context ``condition`` may be joined by "and".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Protocol

from bdt_core.report.language import locale_of
from bdt_core.report.names import Names
from bdt_core.report.translation import BY_THEMSELVES, PAGE, catalogue, catalogue_file
from bdt_core.said import PLACE as _PLACE
from bdt_core.said import TRANSLATED, AsItIs, Column, Conditions, Level, Said, Sentence, filled, first_letter

if TYPE_CHECKING:
    from bdt_core.report.document import Printed
    from bdt_core.spec import AuditSpec

_NUMBER = re.compile(r"(< )?[+−-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[+-]?\d+)?( × 10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?( %)?")
_SENTENCES = re.compile(r"(?<=[.!?]) (?=[^a-z])")
_COMMAS = re.compile(r", (?![^()\[\]]*[)\]])")
_BETWEEN = (
    (_SENTENCES, " "),
    (re.compile(r"; (?![^()]*\))"), "; "),
    (re.compile(" → "), " → "),
    (re.compile(r"(?<=\)), "), ", "),
)
"""Between what is said one by one."""
_AND = " and "
_CONDITION = "condition"
_SOME = "nl"
"""A language whose messages say what is looked up."""
_SAID = "said"
"""Messages that are looked up by their id alone: any text could be read as one of them."""
_DATA = ("column", "level", "name", "label", "prediction")
"""Places of data begin so."""
_MISSING = "missing"
"""Of a level that has this name it is in quotes."""
_IS_MISSING = f" is {_MISSING}"
_AMONG_LEVELS = ("(rare levels)", "a small group")
"""Words of ours where a level stands."""
_RULE = "rule"
"""The place of conditions, whatever else they could be."""
_MOST_CONDITIONS = 40
_ByStart = Mapping[str, Sequence["_Pattern"]]


@dataclass(frozen=True)
class _Pattern:
    """A message, its texts between the places, and the names of these."""

    texts: tuple[str, ...]
    places: tuple[str, ...]
    told: str

    @cached_property
    def message(self) -> str:
        """As it stands in the catalogue."""
        return (
            "".join(f"{text}{{{place}}}" for text, place in zip(self.texts, self.places, strict=False)) + self.texts[-1]
        )

    @property
    def start(self) -> str:
        """Its first letter; empty where a place comes first."""
        return self.texts[0][:1]

    @cached_property
    def longest(self) -> str:
        """The longest of its texts, which most others do not have."""
        return max(self.texts, key=len)

    @property
    def joined(self) -> str:
        """The message with a number in each place."""
        return "0".join(self.texts)

    def values(self, text: str, column: str | None = None) -> list[str] | None:
        """What stands in the places; None where the text is another one, or does not begin with a known column."""
        first, *others = self.texts
        if not text.startswith(first):
            return None
        found, at = [], len(first)
        places = self.places
        if column is not None:
            if self.places[0] != "column" or not text.startswith(others[0], len(column)):
                return None
            found, at = [column], len(column) + len(others[0])
            places, others = places[1:], others[1:]
            if not places:
                return found if at == len(text) else None
        for number, (place, after) in enumerate(zip(places, others, strict=True)):
            last = number == len(places) - 1
            end = (len(text) - len(after) if text.endswith(after) else -1) if last else text.find(after, at + 1)
            if end <= at or not _holds(place, text[at:end]):
                return None
            found.append(text[at:end])
            at = end + len(after)
        return found


def _holds(place: str, value: str) -> bool:
    """Whether a text may stand in a place."""
    if place[0] == "N":
        return _NUMBER.fullmatch(value) is not None
    return not (place.startswith("name") and any(mark in value for mark in (" is ", "(", " by ", " for ")))


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

    def conditions(self, text: str, /) -> str:
        """Of conditions on columns, in words."""
        ...


class _AsWritten:
    """English, for readers without names of their own."""

    def __call__(self, text: str, /) -> str:
        return str(text)

    def name(self, data: str, /) -> str:
        return str(data)

    def level(self, column: str, level: str, /) -> str:  # noqa: ARG002 - nobody has a name for it
        return str(level)

    def conditions(self, text: str, /) -> str:
        return str(text)


AS_WRITTEN: Sayings = _AsWritten()


def sayings(language: str, names: Names | None = None) -> Sayings:
    """What texts are in a language, with the readers' names; themselves where there is nothing to change."""
    if not names and not catalogue_file(language).is_file():
        return AS_WRITTEN
    return Catalogue(_read(language), Names({}) if names is None else names)


def sayings_of_page(language: str) -> Callable[[str], str]:
    """What a text is on the page of ``bdt open``, whose own messages are asked before those of reports."""
    own, of_reports = Catalogue(_messages(language, frozenset((PAGE,))), Names({})), sayings(language)

    def said(text: str) -> str:
        found = own(text)
        return of_reports(text) if found == text else found

    return said


def say_in(document: Printed) -> Sayings:
    """What a text of a document is for its readers."""
    variable = document.bias_variable
    measured = () if variable.unit == "rate" else (variable.name, variable.short)
    columns = document.data.columns
    numeric = (one.name for one in columns if one.kind == "numeric")
    names = Names(document.spec, measured, (one.name for one in columns), numeric)
    return document.once("say", lambda one: sayings(str(one.spec.get("language", "en")), names))


def say_for(spec: AuditSpec) -> Sayings:
    """What a text is for the readers of a specification."""
    from bdt_core.spec.wording import wording

    told = wording(spec.bias_variable)
    rate = spec.bias_variable.derive not in (None, "absolute_error", "squared_error")
    return sayings(spec.language, Names(spec.to_dict(), () if rate else (told.name, told.short)))


@dataclass(frozen=True)
class _Messages:
    """The messages of a language, by what they are looked up by: of patterns the first letter of a text.

    ``several`` are the patterns that have something between sentences or clauses within, by what that is.
    """

    marks: Mapping[int, str]
    by_id: Mapping[str, str]
    exact: Mapping[str, str]
    patterns: _ByStart
    several: Mapping[str, _ByStart]
    conditions: _ByStart


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
        (str(one.context or ""), _bare(one.id), _bare(one.string if own else one.id))
        for one in catalogue(language if own else _SOME)
        if one.id and one.string and (one.context or "") in contexts
    ] + [(_context(message), _bare(message), _bare(told)) for message, told in others]
    by_id = {message: told for _, message, told in messages}
    conditions = [(message, told) for context, message, told in messages if context == _CONDITION]
    messages = [one for one in messages if one[0] != _SAID]
    patterns = _patterns((message, told) for context, message, told in messages if context != _CONDITION)
    return _Messages(
        str.maketrans({",": get_group_symbol(locale), ".": get_decimal_symbol(locale)}),
        by_id,
        {message: told for _, message, told in messages if not _PLACE.search(message)},
        _by_start(patterns),
        {mark: _by_start([one for one in patterns if between.search(one.joined)]) for between, mark in _BETWEEN},
        _by_start(_patterns(conditions)),
    )


def _context(message: str) -> str:
    """Of a message of another package: one with a place for anything is looked up by its id alone."""
    typed = (place[0] == "N" or place.startswith((_RULE, "as_is", "list", *_DATA)) for place in _PLACE.findall(message))
    return "" if all(typed) else _SAID


class Catalogue:
    """Says what stages have written, to readers of a language.

    Parameters
    ----------
    messages : _Messages
    names : Names
    of_ours : bool
        Whether nothing but sentences of ours is asked: the words of a report, whatever columns are called. Of any other
        text that is the name of a column it is supposed that it is the column.
    """

    def __init__(self, messages: _Messages, names: Names, *, of_ours: bool = False) -> None:
        self._marks, self._by_id, self._exact = messages.marks, messages.by_id, messages.exact
        self._patterns, self._several, self._conditions = messages.patterns, messages.several, messages.conditions
        self._of_columns = {one.message for several in messages.conditions.values() for one in several}
        self._names = names
        self._data = names.measured_column if of_ours else names.columns
        self._of_ours = self if of_ours else Catalogue(messages, names, of_ours=True)
        self._starts = sorted(
            {one for name in names.columns for one in (name, _flipped(name)) if name}, key=len, reverse=True
        )
        self._and = self._exact[_AND.strip()]
        self.said = lru_cache(maxsize=65_536)(self._said)
        self._conditions_in = lru_cache(maxsize=65_536)(self._condition)

    def __call__(self, text: str, /) -> str:
        """Said by its id where it has one, else by what it reads."""
        if isinstance(text, AsItIs):
            return text
        if isinstance(text, Said):
            return self._of_id(text)
        if isinstance(text, Conditions):
            return self.conditions(text)
        if isinstance(text, Column):
            return self._names.label(text) or str(text)
        if isinstance(text, Level):
            return self.level(text.column, text)
        return self._of_ours.said(text) if isinstance(text, Sentence) else self.said(text)

    def name(self, data: str, /) -> str:
        """What readers call a column, a level that only one column has, or several of these."""
        if self._is_of_missing(data):
            return self.conditions(data)
        known = self._names.known(data) or self._of_column(data)
        if known is None and (flipped := self._names.known(_flipped(data))) is not None:
            known = _flipped(flipped)
        return str(data) if known is None else known

    def conditions(self, text: str, /) -> str:
        """Of conditions, before anything else that they could be."""
        found = self._conditions_in(text)
        if found is None and (flipped := self._conditions_in(_flipped(text))) is not None:
            found = _flipped(flipped)
        return self._of_ours.said(text) if found is None else found

    def level(self, column: str, level: str, /) -> str:
        """What readers call a level of a column; the few words of ours that stand among levels are said."""
        if level in _AMONG_LEVELS or self._is_of_missing(column):
            return self._of_ours.said(level)
        return self._names.level(column, level)

    def _is_of_missing(self, column: str) -> bool:
        """Whether a column is none of the table, but says where one of these has no value."""
        return column not in self._names.columns and column.removesuffix(_IS_MISSING) in self._names.columns

    def _of_id(self, sentence: Said) -> str:
        bare = _bare(sentence.id)
        told = self._by_id.get(bare, bare) + sentence.id[len(bare) :]
        values = {place: self._of_value(one) for place, one in sentence.values.items()}
        return first_letter(sentence, filled(told, values) + self._unit(sentence))

    def _of_value(self, value: str) -> str:
        if isinstance(value, Sentence | AsItIs | Column):
            return self(value)
        if isinstance(value, Level):
            told = self._names.level(value.column, value)
            return told.translate(self._marks) if value.is_number and told == value else told
        return self.name(value)

    def _unit(self, sentence: Said) -> str:
        """Behind the bounds of a condition on a column that has one."""
        column = sentence.values.get("column")
        if column is None or sentence.id not in self._of_columns:
            return ""
        last = sentence.values[_PLACE.findall(sentence.id)[-1]]
        unit = self._names.unit_of(column) if _NUMBER.fullmatch(last) else None
        return f" {unit}" if unit else ""

    def _said(self, text: str) -> str:
        if "\u00a0" in text:  # is not torn apart
            said = self.said(text.replace("\u00a0", " "))
            if " " not in text:
                return said.replace(" ", "\u00a0")
            start, _, end = said.rpartition(" ")
            return f"{start}\u00a0{end}" if start else said
        if _NUMBER.fullmatch(text):
            return text.translate(self._marks)
        if not any(map(str.isalnum, text)):
            return text
        known = self._sentence(text)
        if known is None and (flipped := self._sentence(_flipped(text))) is not None:
            known = _flipped(flipped)
        return text if known is None else known

    def _sentence(self, text: str) -> str | None:
        """A message, or several of them in one text; None where it is not known."""
        bare = text.removesuffix(".")
        end = text[len(bare) :]
        if bare in self._exact and text not in self._data:
            return self._names.with_unit(bare, self._exact[bare]) + end
        if (name := self._names.known(text)) is not None:
            return name
        if text in self._data:
            return text
        for between, mark in _BETWEEN:
            parts = between.split(text)
            if len(parts) > 1:
                of_several = self._matching(self._several[mark], bare)
                return mark.join(map(self.said, parts)) if of_several is None else of_several + end
        known = self._matching(self._patterns, bare)
        if known is None and len(parts := _COMMAS.split(bare)) > 1:
            several = [self._conditions_in(one) for one in parts]
            known = ", ".join(one for one in several if one is not None) if None not in several else None
            known = known or self._conditions_in(bare) or ", ".join(map(self.said, parts))
        elif known is None:
            known = self._conditions_in(bare) or self._of_column(bare)
        return None if known is None else known + end

    def _of_column(self, text: str) -> str | None:
        """A labelled column with a level of it, names in quotes, or those of an intersection."""
        if text.startswith('"') or " & " in text:
            told = self._names.in_list(text)
            return None if told == text else told
        column, colon, level = text.partition(": ")
        label = self._names.label(column)
        return f"{label}: {self._names.levels_in(column, level)}" if colon and label else None

    def _matching(
        self, patterns: _ByStart, text: str, *, condition: bool = False, column: str | None = None
    ) -> str | None:
        for one in patterns.get(text[:1], patterns[""]):
            if one.longest in text and (values := one.values(text, column)) is not None:
                return self._filled(one, values, condition=condition)
        return None

    def _one_condition(self, text: str, *, of_known: bool) -> str | None:
        """A condition on a column of the table, whatever words are in the column's name; else on any, if asked for."""
        for column in self._starts:
            if text.startswith(column):
                found = self._matching(self._conditions, text, condition=True, column=column)
                if found is not None:
                    return found
        return None if of_known else self._matching(self._conditions, text, condition=True)

    def _condition(self, text: str, *, of_known: bool = False) -> str | None:
        """Conditions, joined by "and"; a name may have that word in it. `of_known`: on columns of the table alone."""
        parts = text.split(_AND)
        if len(parts) > _MOST_CONDITIONS:
            return None
        for taken in range(1, len(parts) + 1):
            first = self._one_condition(_AND.join(parts[:taken]), of_known=of_known)
            if first is None:
                continue
            if taken == len(parts):
                return first
            others = self._conditions_in(_AND.join(parts[taken:]), of_known=of_known)
            if others is not None:
                return f"{first} {self._and} {others}"
        return None

    def _filled(self, pattern: _Pattern, values: Sequence[str], *, condition: bool) -> str:
        of = values[pattern.places.index("column")] if "column" in pattern.places else None
        told = {place: self._value(place, one, of) for place, one in zip(pattern.places, values, strict=True)}
        bound = condition and of is not None and _NUMBER.fullmatch(values[-1]) is not None
        unit = (self._names.unit_of(of) if bound and of is not None else None) or ""
        return _PLACE.sub(lambda one: told[one[1]], pattern.told) + f" {unit}".rstrip()

    def _value(self, place: str, value: str, column: str | None) -> str:
        if column is not None and place.startswith(("list", "value", "level")):  # levels of the column
            if value == _MISSING or self._is_of_missing(column):
                return self._of_ours.said(value)
            said = self._names.levels_in(column, value)
            for ours in _AMONG_LEVELS:
                said = said.replace(ours, self._exact[ours])
            number = column in self._names.numeric and _NUMBER.fullmatch(value)
            return value.translate(self._marks) if said == value and number else said
        if place.startswith(_DATA):
            return self.name(value)
        if place == _RULE:
            return self._conditions_in(value, of_known=True) or self.said(value)
        if place.startswith("as_is"):
            return self._names.in_list(value)
        if place.startswith("list"):
            start, between, end = value.rpartition(_AND)
            if not between:
                return self._names.in_list(value)
            return f"{self._names.in_list(start)} {self._and} {self._names.in_list(end)}"
        return value.translate(self._marks) if place[0] == "N" else self.said(value)


def _patterns(messages: Iterable[tuple[str, str]]) -> list[_Pattern]:
    """Those with places, the most telling ones first."""
    made = []
    for message, told in messages:
        pieces = _PLACE.split(message)
        if len(pieces) > 1:
            made.append(_Pattern(tuple(pieces[::2]), tuple(pieces[1::2]), told))
    return sorted(made, key=lambda one: -len(one.joined))


def _by_start(patterns: Sequence[_Pattern]) -> _ByStart:
    """By the first letter of a text those that it may be, in their order; by none those that begin with a place."""
    return {
        start: [one for one in patterns if one.start in ("", start)] for start in {"", *(one.start for one in patterns)}
    }


def _bare(message: object) -> str:
    """Without the full stop, which stands where the text has it."""
    return str(message).removesuffix(".")


def _flipped(text: str) -> str:
    """With the other kind of letter at its start."""
    return text[:1].swapcase() + text[1:]
