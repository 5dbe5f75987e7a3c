"""The sentences of report.json, and of stored results, as data: the message of each, its values, and where it stands.

The English text stands where it always stood; whoever writes another language, or reads a report by machine, need not
take it to pieces. A value is one of: a text, which is data; ``{"number": ...}``; ``{"column": ...}``;
``{"level": ..., "column": ...}``; ``{"sentence": ...}``; or again an ``id`` with ``values``.
``text`` says how a sentence reads where it is not its message with the values in it, as with a capital letter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from bdt_core.said import AsItIs, Column, Level, Numeral, Said, Sentence, filled

if TYPE_CHECKING:
    from pydantic import BaseModel

_KINDS: dict[str, type[str]] = {
    "number": Numeral,
    "sentence": Sentence,
    "column": Column,
    "as_it_is": AsItIs,
}
_ESCAPES = (("~", "~0"), ("/", "~1"))


def sentences_of(data: Any) -> list[dict[str, Any]]:
    """Each sentence within `data` (dicts, lists, tuples, dataclasses), and the JSON pointers (RFC 6901) of its places.

    They are in the order of their texts, so that they do not hang on the order of members.

    Examples
    --------
    >>> from bdt_core.said import say
    >>> sentences_of({"notes": ["plain", say("{column} is empty", column=Column("a/b"))]})
    [{'id': '{column} is empty', 'values': {'column': {'column': 'a/b'}}, 'at': ['/notes/1']}]
    """
    places: dict[str, list[str]] = {}
    for pointer, said in _standing(data, ""):
        places.setdefault(json.dumps(_as_data(said), sort_keys=True), []).append(pointer)
    return [json.loads(sentence) | {"at": sorted(places[sentence])} for sentence in sorted(places)]


def with_sentences(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A report as data, read back, whose texts know their messages again; one without ``sentences`` stays as it is.

    A sentence of which another text stands at its place, or none, is left out: that report was edited, and what it
    reads is what is said.
    """
    return restored(document, document.get("sentences") or ())


def with_part(document: Mapping[str, Any], name: str, part: BaseModel) -> dict[str, Any]:
    """A report as data with one part more, or another one of that name, and with its sentences."""
    whole = {key: one for key, one in with_sentences(document).items() if key != "sentences"}
    sentences = sentences_of({**whole, name: part.model_dump()})
    return {**document, name: json.loads(part.model_dump_json()), "sentences": sentences}


def restored(data: Mapping[str, Any], sentences: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Data whose texts know their messages again; `sentences` as `sentences_of` has them. See `with_sentences`."""
    known = dict(data)
    copied: set[int] = set()
    for pointer, as_data in ((pointer, sentence) for sentence in sentences for pointer in sentence["at"]):
        steps = [_unescaped(step) for step in pointer.split("/")[1:]]
        sentence = _of_data(as_data)
        if _at(known, steps) != sentence:
            continue
        part: Any = known
        for step in steps[:-1]:
            key = step if isinstance(part, dict) else int(step)
            if id(part[key]) not in copied:
                part[key] = part[key].copy()
                copied.add(id(part[key]))
            part = part[key]
        part[steps[-1] if isinstance(part, dict) else int(steps[-1])] = sentence
    return known


def _at(part: Any, steps: Sequence[str]) -> Any:
    """What stands at a place; None where there is no such place."""
    for step in steps:
        if isinstance(part, dict):
            part = part.get(step)
        elif isinstance(part, list) and step.isdecimal() and int(step) < len(part):
            part = part[int(step)]
        else:
            return None
    return part


def _standing(part: Any, pointer: str) -> Iterator[tuple[str, Said]]:
    if isinstance(part, Said):
        yield pointer, part
    elif isinstance(part, dict):
        for name, member in part.items():
            yield from _standing(member, f"{pointer}/{_escaped(name)}")
    elif is_dataclass(part):
        for field in fields(part):
            yield from _standing(getattr(part, field.name), f"{pointer}/{_escaped(field.name)}")
    elif isinstance(part, list | tuple):
        for i, member in enumerate(part):
            yield from _standing(member, f"{pointer}/{i}")


def _as_data(text: str) -> Any:
    if isinstance(text, Said):
        data = {"id": text.id, "values": {place: _as_data(value) for place, value in text.values.items()}}
        return data if filled(text.id, text.values) == text else data | {"text": str(text)}
    if isinstance(text, Level):
        return {"level": str(text), "column": text.column} | ({"is_number": True} if text.is_number else {})
    return next(({kind: str(text)} for kind, made in _KINDS.items() if type(text) is made), str(text))


def _of_data(data: Any) -> str:
    if isinstance(data, str):
        return data
    if "id" in data:
        values = {place: _of_data(value) for place, value in data["values"].items()}
        return Said(data.get("text") or filled(data["id"], values), data["id"], values)
    if "level" in data:
        return Level(data["level"], data["column"], data.get("is_number", False))
    [(kind, reads)] = data.items()
    return _KINDS[kind](reads)


def _escaped(step: str) -> str:
    for plain, escape in _ESCAPES:
        step = step.replace(plain, escape)
    return step


def _unescaped(step: str) -> str:
    for plain, escape in reversed(_ESCAPES):
        step = step.replace(escape, plain)
    return step
