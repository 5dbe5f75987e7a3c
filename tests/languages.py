"""What a language lacks: ``python -m tests.languages LANGUAGE [--write]``.

Lists every message that the catalogue of a language does not have yet, and every one that nothing asks for any more;
``--write`` puts the first into the catalogue, empty, for somebody to fill in. Without a catalogue it begins one.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from bdt_core.report.translation import BY_THEMSELVES, FORM, PAGE, TEMPLATE, messages
from bdt_core.said import PLACE
from tests.goldens.frozen import FOLDER

REPORT = Path(str(resources.files("bdt_core.report")))
CATALOGUES = REPORT / "languages"
_PAGE = Path(str(resources.files("bdt_pipeline.local_page")))
PACKAGES = (REPORT.parent, _PAGE.parent)
ANYTHING = "\0"
"""Stands in a message of the code where only the running code knows the text."""
_FEWEST_LETTERS = 3
Key = tuple[str, str]
"""A message's context and its English text."""


def in_templates() -> Iterator[str]:
    """All texts of the templates of reports."""
    for file in sorted((REPORT / "templates" / "sections").rglob("*.md.j2")):
        yield from messages(file.read_text(encoding="utf-8"))


def in_forms(words: Any = None) -> Iterator[str]:
    """All words of the dossier's forms."""
    if words is None:
        words = yaml.safe_load((REPORT / "dossier" / "words.yaml").read_text(encoding="utf-8"))
    if isinstance(words, str):
        yield words
    else:
        for one in words.values():
            yield from in_forms(one)


def on_the_page() -> Iterator[str]:
    """All texts of the page of ``bdt open``."""
    for file in (*(_PAGE / "templates").glob("*.jinja"), *_PAGE.glob("*.py")):
        yield from re.findall(r'\bsay\(\s*"([^"]+)"', file.read_text(encoding="utf-8"))


def in_code() -> dict[str, str]:
    """All messages of `say` in the code of both packages, and where each stands; see `ANYTHING`."""
    found: dict[str, str] = {}
    for root in PACKAGES:
        for file in sorted(root.rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            named: dict[str, list[ast.expr]] = {}
            for node in ast.walk(tree):
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        named.setdefault(name, []).append(value)
                    case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                        named.setdefault(name, []).append(value)
            for node in ast.walk(tree):
                match node:
                    case ast.Call(func=ast.Name(id="say"), args=[message, *_]):
                        found |= dict.fromkeys(_texts(message, named), f"{file.relative_to(root)}:{node.lineno}")
    return found


def texts_in_code() -> set[str]:
    """All texts of the code, for a message may be handed over before it is said."""
    return {
        node.value
        for root in PACKAGES
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def in_reports() -> Iterator[str]:
    """The messages of the frozen reports, and of sentences within sentences: of some only the running code knows."""
    for file in sorted(FOLDER.glob("*.json")):
        yield from ids(json.loads(file.read_text(encoding="utf-8")).get("sentences", []))


def ids(data: Any) -> Iterator[str]:
    """The messages of sentences as data."""
    if isinstance(data, dict) and {"id", "values"} <= data.keys():
        yield data["id"]
    if isinstance(data, dict | list):
        yield from (one for part in (data.values() if isinstance(data, dict) else data) for one in ids(part))


def _texts(node: ast.expr, named: Mapping[str, list[ast.expr]]) -> set[str]:
    """The texts that an expression may come to."""

    def of_all(several: Iterable[ast.expr | None]) -> set[str]:
        return {text for each in several if each is not None for text in _texts(each, named)}

    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=one, orelse=other):
            return of_all((one, other))
        case ast.Subscript(value=one):
            return _texts(one, named)
        case ast.Tuple(elts=several) | ast.Dict(values=several):
            return of_all(several)
        case ast.JoinedStr(values=several):
            return {"".join(str(part.value) if isinstance(part, ast.Constant) else ANYTHING for part in several)}
        case ast.Name(id=name) if name in named:
            others = {known: values for known, values in named.items() if known != name}
            return {text for each in named[name] for text in _texts(each, others)}
    return {ANYTHING}


def is_said(message: str, by: Iterable[str]) -> bool:
    """Whether code says a message; of one that is put together, its fixed part has to be the same."""
    bare = message.removesuffix(".")
    return any(pattern.fullmatch(bare) for pattern in _patterns(frozenset(by)))


@cache
def _patterns(said: frozenset[str]) -> list[re.Pattern[str]]:
    fixed = [one.removesuffix(".").split(ANYTHING) for one in said]
    return [
        re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
        for parts in fixed
        if len(parts) == 1 or len(re.findall(r"[^\W\d_]", "".join(parts))) > _FEWEST_LETTERS
    ]


def read(language: str) -> Catalog:
    """The catalogue of a language; an empty one where there is none."""
    file = CATALOGUES / f"{language}.po"
    if not file.is_file():
        return Catalog(locale=language)
    with file.open("rb") as opened:
        return read_po(opened, locale=language)


def keys(catalogue: Catalog) -> dict[Key, str]:
    """The messages of a catalogue."""
    return {(str(one.context or ""), str(one.id)): str(one.string) for one in catalogue if one.id}


def asked_for() -> set[Key]:
    """All that has to be said: what is extracted, and what stages say, which is in the catalogues that there are."""
    extracted = {(context, one) for context, those in _EXTRACTED.items() for one in those()}
    known = {key for file in CATALOGUES.glob("*.po") for key in keys(read(file.stem)) if key[0] not in {TEMPLATE, FORM}}
    has = {one.removesuffix(".") for _, one in known}
    lacking = (one for one in in_code() if ANYTHING not in one and re.search(r"[^\W\d_]", PLACE.sub("", one)))
    return extracted | known | {("", one) for one in lacking if one.removesuffix(".") not in has}


def missing(language: str) -> list[Key]:
    """What a language does not say."""
    has = keys(read(language))
    return sorted(one for one in asked_for() if not has.get(one))


def orphans(language: str) -> list[Key]:
    """What nothing asks for any more, of all that can be extracted."""
    asked, has = asked_for(), keys(read(language))
    said = {*in_code(), *texts_in_code(), *in_reports()}
    of_stages = [one for one in has if one[0] not in BY_THEMSELVES and PLACE.search(one[1])]
    return sorted(
        [one for one in has if one[0] in BY_THEMSELVES - {PAGE} and one not in asked]
        + [one for one in of_stages if not is_said(one[1], said)]
    )


def main(language: str, *, write: bool = False) -> int:
    """List, or write, what is missing; 1 where anything is, or nobody asks for it."""
    lacks, unasked = missing(language), orphans(language)
    for title, those in (("is not said", lacks), ("is asked for by nothing", unasked)):
        for context, text in those:
            print(f"{title}{f' ({context})' if context else ''}: {text}")
    if write:
        catalogue = read(language)
        for context, text in lacks:
            catalogue.add(text, context=context or None)
        with (CATALOGUES / f"{language}.po").open("wb") as opened:
            write_po(opened, catalogue, width=0)
    return int(bool(lacks or unasked))


_EXTRACTED = {TEMPLATE: in_templates, FORM: in_forms, PAGE: on_the_page}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], write="--write" in sys.argv))
