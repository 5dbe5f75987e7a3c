"""What a language lacks: ``python -m tests.languages LANGUAGE [--write]``.

Lists every message that the catalogue of a language does not have yet, and every one that nothing asks for any more;
``--write`` puts the first into the catalogue, empty, for somebody to fill in. Without a catalogue it begins one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from bdt_core.report.translation import BY_THEMSELVES, FORM, PAGE, TEMPLATE, messages

REPORT = Path(str(resources.files("bdt_core.report")))
CATALOGUES = REPORT / "languages"
_PAGE = Path(str(resources.files("bdt_pipeline.local_page")))
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
    known = {key for file in CATALOGUES.glob("*.po") for key in keys(read(file.stem))}
    return extracted | {key for key in known if key[0] not in {TEMPLATE, FORM}}


def missing(language: str) -> list[Key]:
    """What a language does not say."""
    has = keys(read(language))
    return sorted(one for one in asked_for() if not has.get(one))


def orphans(language: str) -> list[Key]:
    """What nothing asks for any more, of all that can be extracted."""
    asked = asked_for()
    return sorted(one for one in keys(read(language)) if one[0] in BY_THEMSELVES - {PAGE} and one not in asked)


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
