"""The forms as data: their fields, where answers come from, and the words of each language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from bdt_core.errors import SpecError, did_you_mean

FORMS = (
    "annex-iv", "art-10", "bias-profile", "ll144", "register", "model-card", "system-card", "fria", "atrs",
    "rekenkamer", "college",
)  # fmt: skip


@dataclass(frozen=True)
class Where:
    """Where an answer, or a part of one, comes from.

    Attributes
    ----------
    at : str
        A pointer into report.json; ``*`` stands for each of several.
    kind : str
        How it is written: a method of `bdt_core.report.dossier.writing.Writer`.
    called : str
        What it is called beside other parts of the answer; empty where it is the whole of it.
    table : str
        The table that is made of it, if it is one.
    key : str
        What of the specification makes it.
    optional : bool
        Whether nobody misses it.
    """

    at: str
    kind: str = "text"
    called: str = ""
    table: str = ""
    key: str = ""
    optional: bool = False

    @property
    def about(self) -> str | None:
        """The key of ``about`` in which a person writes it; None where the audit knows it."""
        return self.at.removeprefix("/spec/").replace("/", ".") if self.at.startswith("/spec/about/") else None


@dataclass(frozen=True)
class Field:
    """What is asked for.

    Attributes
    ----------
    name : str
    who : str
        Who could fill it in.
    sources : tuple of Where
        Where its answer comes from.
    by_hand : bool
        Whether neither the report nor the specification has a place for it.
    """

    name: str
    who: str
    sources: tuple[Where, ...]
    by_hand: bool = False


@cache
def fields() -> dict[str, Field]:
    """Every field that some form asks for, by name."""
    return {
        name: Field(
            name,
            one["who"],
            tuple(
                Where(**{"kind" if key == "as" else key: value for key, value in source.items()})
                for source in one["from"]
            ),
            one.get("by_hand", False),
        )
        for name, one in _read("fields.yaml").items()
    }


@cache
def form(name: str) -> dict[str, dict[str, list[str]]]:
    """Parts of a form, their fields, and who asks for each.

    Raises
    ------
    SpecError
        There is no such form.
    """
    if name not in FORMS:
        raise SpecError(f'There is no form "{name}". {did_you_mean(name, FORMS)}')
    parts: dict[str, dict[str, list[str]]] = _read("forms", f"{name}.yaml")
    return parts


@cache
def words_of(language: str) -> dict[str, Any]:
    """The words of a language; one that its catalogue does not have is English."""
    from bdt_core.report.translation import FORM, texts

    known = texts(language, FORM)

    def said(words: Any) -> Any:
        if isinstance(words, dict):
            return {key: said(one) for key, one in words.items()}
        return known.get(words, words)

    translated: dict[str, Any] = said(_read("words.yaml"))
    return translated


def _read(*path: str) -> dict[str, Any]:
    import yaml

    text = resources.files("bdt_core.report.dossier").joinpath(*path).read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.safe_load(text)
    return data


def resolve(document: Any, pointer: str) -> Any:
    """What stands at a place of the report; where ``*`` is in the pointer, a list of what is there.

    Examples
    --------
    >>> document = {"a": [{"b": 1}, {"b": 2}], "c": {"d": None}}
    >>> resolve(document, "/a/*/b"), resolve(document, "/c/d"), resolve(document, "/x/y")
    ([1, 2], None, None)
    """
    part, _, rest = pointer.removeprefix("/").partition("/")
    if not part:
        return document
    if part == "*":
        return [resolve(one, f"/{rest}") for one in document or ()]
    return resolve(document.get(part), f"/{rest}" if rest else "") if isinstance(document, dict) else None
