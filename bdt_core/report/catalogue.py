"""What stages say, in the language of a report and with its readers' names.

``report.json`` is English, for machines; what its sentences are in another language stands in ``templates/LANGUAGE/
messages.po``, an ordinary catalogue with places for what differs: ``{rows} rows against {others}``. A text that is
not a message by itself is looked up sentence by sentence and clause by clause. What is known nowhere, such as the
names of a table, stays as it is, and numbers are written as the language writes them.

Names of columns and levels become the readers' in the same places: a condition says of which column its level is, and
its numbers get their unit. English has the same messages, so that these places are found there, too.

Places are named by what they may hold: ``{N...}`` a number, ``{list...}`` names with a comma or "and" between them,
``{name...}`` what has no verb and no bracket, ``{as_is...}`` what is not translated, ``{level...}`` levels of the
``{column}`` beside it; every other one is looked up itself. Messages of the context ``condition`` may be joined by
"and".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from bdt_core.report.language import locale_of
from bdt_core.report.names import Names

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from bdt_core.report.document import Printed
    from bdt_core.spec import AuditSpec

_PLACE = re.compile(r"\{(\w+)\}")
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
_MOST_CONDITIONS = 40
_ByStart = Mapping[str, Sequence["_Pattern"]]


class AsItIs(str):
    """A text that is printed as it stands: a version, a fingerprint, a name of a file."""

    __slots__ = ()


@dataclass(frozen=True)
class _Pattern:
    """A message, its texts between the places, and the names of these."""

    texts: tuple[str, ...]
    places: tuple[str, ...]
    told: str

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

    def values(self, text: str) -> list[str] | None:
        """What stands in the places; None where the text is another one."""
        first, *others = self.texts
        if not text.startswith(first):
            return None
        found, at = [], len(first)
        for number, (place, after) in enumerate(zip(self.places, others, strict=True)):
            last = number == len(self.places) - 1
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
    return not (place.startswith("name") and (" is " in value or "(" in value))


def sayings(language: str, names: Names | None = None) -> Callable[[str], str]:
    """What a text is in a language, with the readers' names; itself where there is nothing to change."""
    if not names and not _file_of(language).is_file():
        return str
    return Catalogue(_read(language), names or Names({})).said


def sayings_in(file: Traversable, language: str) -> Callable[[str], str]:
    """What a text is in a language by another catalogue than that of reports, which is asked next."""
    own, of_reports = Catalogue(_messages_in(file, language), Names({})).said, sayings(language)

    def said(text: str) -> str:
        found = own(text)
        return of_reports(text) if found == text else found

    return said


def say_in(document: Printed) -> Callable[[str], str]:
    """What a text of a document is for its readers."""
    variable = document.bias_variable
    measured = () if variable.unit == "rate" else (variable.name, variable.short)
    names = Names(document.spec, measured, (one.name for one in document.data.columns))
    return document.once("say", lambda one: sayings(str(one.spec.get("language", "en")), names))


def say_for(spec: AuditSpec) -> Callable[[str], str]:
    """What a text is for the readers of a specification."""
    from bdt_core.spec.wording import wording

    told = wording(spec.bias_variable)
    rate = spec.bias_variable.derive not in (None, "absolute_error", "squared_error")
    return sayings(spec.language, Names(spec.to_dict(), () if rate else (told.name, told.short)))


def _file_of(language: str) -> Traversable:
    return resources.files("bdt_core.report").joinpath("templates", language, "messages.po")


@dataclass(frozen=True)
class _Messages:
    """The messages of a language, by what they are looked up by: of patterns the first letter of a text.

    ``several`` are the patterns that have something between sentences or clauses within, by what that is.
    """

    marks: Mapping[int, str]
    exact: Mapping[str, str]
    patterns: _ByStart
    several: Mapping[str, _ByStart]
    conditions: _ByStart


@cache
def _read(language: str) -> _Messages:
    """The messages of a language; of one without a catalogue those of another, told as they are looked up."""
    own = _file_of(language).is_file()
    return _messages_in(_file_of(language if own else _SOME), language, own=own)


def _messages_in(file: Traversable, language: str, *, own: bool = True) -> _Messages:
    from babel.messages.pofile import read_po
    from babel.numbers import get_decimal_symbol, get_group_symbol

    locale = locale_of(language)
    with file.open("rb") as opened:
        messages = [
            (str(one.context or ""), _bare(one.id), _bare(one.string if own else one.id))
            for one in read_po(opened, locale=language)
            if one.id and one.string
        ]
    patterns = _patterns((message, told) for context, message, told in messages if context != _CONDITION)
    return _Messages(
        str.maketrans({",": get_group_symbol(locale), ".": get_decimal_symbol(locale)}),
        {message: told for _, message, told in messages if not _PLACE.search(message)},
        _by_start(patterns),
        {mark: _by_start([one for one in patterns if between.search(one.joined)]) for between, mark in _BETWEEN},
        _by_start(_patterns((message, told) for context, message, told in messages if context == _CONDITION)),
    )


class Catalogue:
    """Says what stages have written, to readers of a language.

    Parameters
    ----------
    messages : _Messages
    names : Names
    """

    def __init__(self, messages: _Messages, names: Names) -> None:
        self._marks, self._exact = messages.marks, messages.exact
        self._patterns, self._several, self._conditions = messages.patterns, messages.several, messages.conditions
        self._names = names
        self._and = self._exact[_AND.strip()]
        self.said = lru_cache(maxsize=65_536)(self._said)
        self._conditions_in = lru_cache(maxsize=65_536)(self._condition)

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
        if bare in self._exact and text not in self._names.columns:
            return self._names.with_unit(bare, self._exact[bare]) + end
        if (name := self._names.known(text)) is not None:
            return name
        if text in self._names.columns:
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

    def _matching(self, patterns: _ByStart, text: str, *, condition: bool = False) -> str | None:
        for one in patterns.get(text[:1], patterns[""]):
            if one.longest in text and (values := one.values(text)) is not None:
                return self._filled(one, values, condition=condition)
        return None

    def _condition(self, text: str) -> str | None:
        """Conditions, joined by "and"; a name may have that word in it."""
        parts = text.split(_AND)
        if len(parts) > _MOST_CONDITIONS:
            return None
        for taken in range(1, len(parts) + 1):
            first = self._matching(self._conditions, _AND.join(parts[:taken]), condition=True)
            if first is None:
                continue
            if taken == len(parts):
                return first
            others = self._conditions_in(_AND.join(parts[taken:]))
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
            said = self._names.levels_in(column, value)
            return self.said(value) if said == value and not place.startswith("list") else said
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
