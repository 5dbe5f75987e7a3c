"""Catalogues of languages, one file for each, and the one tree of English templates in them.

``languages/LANGUAGE.po`` has all that is said in a language: by templates of reports (context ``template``), by forms
of the dossier (``form``), by the page of ``bdt open`` (``page``) and by stages (see `bdt_core.report.catalogue`).

A text of a template is a paragraph, a heading, an item or a row of a table as it stands there, with its places and
conditions, so that a language has its own word order, plurals and genders. A text within a tag is one where it stands
in ``_("...")``. Lines of nothing but tags choose what is said, and are the same in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from babel.messages.catalog import Catalog

TEMPLATE = "template"
FORM = "form"
PAGE = "page"
BY_THEMSELVES = frozenset((TEMPLATE, FORM, PAGE))
"""Contexts of messages that are no sentences of stages."""
_TAG = r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}"
_LINE = re.compile(rf"(?:{_TAG}|[^\n])+\n?|\n", re.S)
_TAGS = re.compile(_TAG, re.S)
_SILENT_TAGS = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.S)
_BLOCK = re.compile(r"\||#|- |Table:|!\[")
"""With what a line of Markdown begins that goes on with nothing above it."""
_WORD = re.compile(r"[^\W\d_]")
_MARKED = re.compile(r'_\("((?:[^"\\]|\\.)*)"\)')
_SPACES = re.compile(r"\s+")


def catalogue_file(language: str) -> Traversable:
    """The catalogue of a language; English has none."""
    return resources.files("bdt_core.report").joinpath("languages", f"{language}.po")


@cache
def catalogue(language: str) -> Catalog:
    """The messages of a language, of all contexts; none for English."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import read_po

    file = catalogue_file(language)
    if not file.is_file():
        return Catalog()
    with file.open("rb") as opened:
        return read_po(opened, locale=language)


@cache
def texts(language: str, context: str) -> Mapping[str, str]:
    """What the texts of a context are in a language, by the English ones; none for English."""
    return {str(one.id): str(one.string) for one in catalogue(language) if one.context == context and one.string}


def translated(source: str, known: Mapping[str, str]) -> str:
    """A template's source with its texts replaced; one that is not known stays English.

    Examples
    --------
    >>> dutch = {"{{ n }} row{% if n != 1 %}s{% endif %}": "{{ n }} rij{% if n != 1 %}en{% endif %}", "All": "Alle"}
    >>> print(translated('{% set all = _("All") %}\\n\\n{{ n }} row{% if n != 1 %}s{% endif %}\\n', dutch))
    {% set all = "Alle" %}
    <BLANKLINE>
    {{ n }} rij{% if n != 1 %}en{% endif %}
    <BLANKLINE>
    """

    def in_place(text: str) -> str:
        translation = known.get(message(text)) if _is_text(text) else None
        if translation is None:
            return text
        bare = text.strip()
        start = text.index(bare)
        return f"{text[:start]}{translation}{text[start + len(bare) :]}"

    def marked(text: str) -> str:
        return _MARKED.sub(lambda quoted: f'"{known.get(quoted[1], quoted[1])}"', text)

    return "".join(marked(in_place(text)) for text in _units(source))


def messages(source: str) -> Iterator[str]:
    """The texts of a template, as catalogues have them.

    Examples
    --------
    >>> list(messages('{% set all = _("All") %}\\n# {{ n }} rows\\n{% if n %}\\n{{ n }}\\n{% endif %}\\n'))
    ['All', '# {{ n }} rows']
    """
    for text in _units(source):
        if _is_text(text):
            yield message(text)
        else:
            yield from _MARKED.findall(text)


def message(text: str) -> str:
    """A text in one line that says the same: where Jinja leaves a line's end or its beginning out, so does this."""
    joined, *lines = text.strip().split("\n")
    for line in lines:
        end_is_left_out = joined.endswith(("%}", "#}")) and not joined.endswith("+%}")
        joined += line if end_is_left_out else f" {line}"
    return _SPACES.sub(" ", joined)


def _units(source: str) -> Iterator[str]:
    """Pieces of a source: each paragraph, heading, item or row by itself, and each line between them."""
    unit = ""
    for line in _LINE.findall(source):
        is_text = bool(_SILENT_TAGS.sub("", line).strip())
        goes_on = is_text and not _BLOCK.match(line) and not unit.lstrip().startswith("|")
        if unit and not goes_on:
            yield unit
            unit = ""
        if is_text:
            unit += line
        else:
            yield line
    if unit:
        yield unit


def _is_text(unit: str) -> bool:
    return _WORD.search(_TAGS.sub("", unit)) is not None
