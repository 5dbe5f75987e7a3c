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
"""Stands for a message that only the running code knows, because it is handed over."""
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
    for place, message, named in _said_in_code():
        found |= dict.fromkeys(_texts(message, named), place)
    return found


def put_together() -> list[str]:
    """Where `say` is handed a message that code puts together of parts, so that no catalogue can be asked for it."""
    return [place for place, message, named in _said_in_code() if is_put_together(message, named)]


def is_put_together(message: ast.expr, named: Mapping[str, list[ast.expr]]) -> bool:
    """Whether a message is an f-string, a sum or a product of texts; by way of names, too.

    Examples
    --------
    >>> one, other = (ast.parse(code, mode="eval").body for code in ("f'{n} rows'", "'{n} row' if x else '{n} rows'"))
    >>> is_put_together(one, {}), is_put_together(other, {})
    (True, False)
    """
    return any(isinstance(part, ast.JoinedStr | ast.BinOp) for part in _parts(message, named))


def _said_in_code() -> Iterator[tuple[str, ast.expr, Mapping[str, list[ast.expr]]]]:
    """Each message of `say` in the code: where it stands, and what the names of its module stand for."""
    for root in PACKAGES:
        for file in sorted(root.rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            named = names_in(tree)
            for node in ast.walk(tree):
                match node:
                    case ast.Call(func=ast.Name(id="say"), args=[message, *_]):
                        yield f"{file.relative_to(root)}:{node.lineno}", message, named


def names_in(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """What the names of a module stand for; a text that is added to is a sum."""
    named: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name, value in zip(names, values, strict=False):
                    if isinstance(name, ast.Name):
                        named.setdefault(name.id, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                named.setdefault(name, []).append(value)
            case ast.AugAssign(target=ast.Name(id=name) as before, op=ast.Add() as op, value=value):
                named.setdefault(name, []).append(ast.BinOp(before, op, value))
    return named


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
    return {
        part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ANYTHING
        for part in _parts(node, named)
    }


def _parts(node: ast.expr, named: Mapping[str, list[ast.expr]]) -> list[ast.expr]:
    """What an expression may come to, as far as its module says so."""

    def of_all(several: Iterable[ast.expr | None], known: Mapping[str, list[ast.expr]] = named) -> list[ast.expr]:
        return [part for each in several if each is not None for part in _parts(each, known)]

    match node:
        case ast.IfExp(body=one, orelse=other):
            return of_all((one, other))
        case ast.Subscript(value=one):
            return _parts(one, named)
        case ast.Tuple(elts=several) | ast.Dict(values=several):
            return of_all(several)
        case ast.Name(id=name) if name in named:
            return of_all(named[name], {known: values for known, values in named.items() if known != name})
    return [node]


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
    said = {one.removesuffix(".") for one in (*in_code(), *texts_in_code(), *in_reports())}
    of_stages = [one for one in has if one[0] not in BY_THEMSELVES and PLACE.search(one[1])]
    return sorted(
        [one for one in has if one[0] in BY_THEMSELVES - {PAGE} and one not in asked]
        + [one for one in of_stages if one[1].removesuffix(".") not in said]
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
