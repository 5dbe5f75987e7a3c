"""Sentences as data: an English text that still knows its message and the values in it.

A language says such a text by looking its message up, never by reading the finished sentence. Values are other texts of
this kind, which are said in turn, or the reader's own data: a column, a level, a plain text. Data is never looked up,
re-cased or re-numbered; only the readers' own names for it (``labels``, ``units``) replace it.

All of them are texts, so that whoever knows nothing of languages prints them, compares them and writes them to JSON as
the English they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Annotated, Any

PLACE = re.compile(r"\{(\w+)\}")


class AsItIs(str):
    """A text that is printed as it stands: in the readers' language already, or in none."""

    __slots__ = ()


class Sentence(str):
    """A text of ours, to be said in the readers' language.

    One without an id is looked up by what it reads, for whoever wrote it knows no more; `Said` is better.
    """

    __slots__ = ()


class Numeral(Sentence):
    """A number or a share as text."""

    __slots__ = ()


class Column(str):
    """The name of a column."""

    __slots__ = ()


class Level(str):
    """A level of a column.

    Attributes
    ----------
    column : str
    is_number : bool
        Whether it is a number in the table, and not a text that reads like one.
    """

    __slots__ = ("column", "is_number")
    column: str
    is_number: bool

    def __new__(cls, text: str, column: str, is_number: bool = False) -> Level:
        made = super().__new__(cls, text)
        made.column, made.is_number = column, is_number
        return made

    def __getnewargs__(self) -> tuple[str, str, bool]:  # type: ignore[override]
        return str(self), self.column, self.is_number


class Said(Sentence):
    """A sentence with its message and the values in it.

    Attributes
    ----------
    id : str
        The English message, with places: ``{rows} rows against {others}``.
    values : mapping of str to str
        By place.

    Examples
    --------
    >>> told = say("{column} is {value}", column=Column("kind"), value=Level("none", "kind"))
    >>> told, told.id, told.values["value"].column
    ('kind is none', '{column} is {value}', 'kind')
    """

    __slots__ = ("id", "values")
    id: str
    values: Mapping[str, str]

    def __new__(cls, text: str, message: str, values: Mapping[str, str]) -> Said:
        made = super().__new__(cls, text)
        made.id, made.values = message, values
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, str]]:  # type: ignore[override]
        return str(self), self.id, self.values


class _KeepsItsMessage:
    """Marks a member of a model: pydantic would make a plain string of a sentence."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_wrap_validator_function(
            lambda x, check: x if isinstance(x, Sentence) else check(x), core_schema.str_schema()
        )


Text = Annotated[str, _KeepsItsMessage()]
"""A member of a model that is a text of ours: what it knows of its message stays with it."""

TRANSLATED: dict[str, dict[str, str]] = {}
"""Messages of other packages: by language, what each is there."""


def filled(message: str, values: Mapping[str, str]) -> str:
    """A message with values in its places.

    Examples
    --------
    >>> filled("{n} rows", {"n": "{n}"})
    '{n} rows'
    """
    return PLACE.sub(lambda place: values[place[1]], message)


def say(message: str, /, **values: str) -> Said:
    """A sentence of ours.

    Parameters
    ----------
    message : str
        In English. What stands in braces is the name of a value; `message` is what catalogues of languages have it by.
    **values : str
        Of each place: a `Said` or `Numeral`, which is said in the readers' language; a `Column`, a `Level` or any other
        text, which is data.

    Examples
    --------
    >>> say("{rows} rows against {others}", rows=Numeral("27"), others=Numeral("1,003"))
    '27 rows against 1,003'
    """
    return Said(filled(message, values), message, values)


_JOINTS = {
    " and ": "{first} and {second}",
    " or ": "{first} or {second}",
    ", ": "{first}, {second}",
    "; ": "{first}; {second}",
    " → ": "{first} → {second}",
    " & ": "{first} & {second}",
    " ": "{first} {second}",
}


def joined(texts: Sequence[str], between: str) -> str:
    """Texts with the same between each two of them.

    `between` is one of " and ", " or ", ", ", "; ", " → ", " & " and " ".

    Examples
    --------
    >>> joined([say("age up to {N}", N=Numeral("27")), "b"], " and "), joined([], " and ")
    ('age up to 27 and b', '')
    """
    if not texts:
        return ""
    message = _JOINTS[between]
    return reduce(lambda before, one: say(message, first=before, second=one), texts)


def first_of(text: str, between: str) -> str:
    """The first of texts that were `joined`; of a text read back as it reads, what is before the first joint."""
    while isinstance(text, Said) and text.id == _JOINTS[between]:
        text = text.values["first"]
    return text if isinstance(text, Said) else text.split(between)[0]


def sentences_within(text: str) -> Iterator[Said]:
    """A sentence and all that stand in it; none of a text that has no message.

    Examples
    --------
    >>> [one.id for one in sentences_within(joined([say("{N} rows", N=Numeral("2")), "plain"], " "))]
    ['{first} {second}', '{N} rows']
    """
    if isinstance(text, Said):
        yield text
        for value in text.values.values():
            yield from sentences_within(value)


def of_ours(text: str) -> str:
    """A text of ours within a sentence; one that has no message is looked up by what it reads."""
    return text if isinstance(text, Sentence | AsItIs | Column | Level) else Sentence(text)


def like(said: str, text: str) -> str:
    """A text that was made of another one by changing spaces or a letter, with what that one is kept."""
    if isinstance(said, Said):
        return Said(text, said.id, said.values)
    return type(said)(text) if isinstance(said, AsItIs | Sentence | Column) else text


def changed(text: str, change: Callable[[str], str]) -> str:
    """A text, and all that stands in it, each changed by itself; it keeps its message, and what it knows of itself.

    Examples
    --------
    >>> told = changed(say("{column} is empty", column=Column("kind")), str.upper)
    >>> told, told.values["column"]
    ('KIND IS EMPTY', 'KIND')
    """
    if isinstance(text, Said):
        return Said(change(text), text.id, {place: changed(value, change) for place, value in text.values.items()})
    return Level(change(text), text.column, text.is_number) if isinstance(text, Level) else like(text, change(text))


def first_letter(said: str, text: str) -> str:
    """A text of a language whose first letter is a capital or not as the English one's is, where that was changed."""
    if not isinstance(said, Said) or not text:
        return text
    plain = filled(said.id, said.values)
    if plain == said or plain[1:] != said[1:]:
        return text
    return (text[0].upper() if said[0].isupper() else text[0].lower()) + text[1:]
