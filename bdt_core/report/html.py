"""The report as one HTML file that asks nothing of the network, and can be read without its script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from bdt_core.report.blocks import Block, Cell, ColumnHead, Facts, Figure, Folded, Section, Subheading, Table, answer_of
from bdt_core.report.catalogue import say_in
from bdt_core.report.figure_words import figure_words
from bdt_core.report.figures import figure_data, figure_svg
from bdt_core.report.first_page import first_section, words_of_forms
from bdt_core.report.page import body_of, build_page
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.report.prose import language_of, read_in
from bdt_core.report.wording import short_hash

if TYPE_CHECKING:
    from jinja2 import Environment, Template
    from markupsafe import Markup

    from bdt_core.ranking import Finding
    from bdt_core.report.document import Printed

_LONG, _LONGER = 32, 90
_SIGNS = {"pass": "✓", "fail": "✕", "inconclusive": "?", "not_testable": "–", "no_limit": "–"}
_NUMBER = re.compile(r"(-?\d+(\.\d+)?(e[-+]?\d+)?|-?Infinity)?")


@dataclass(frozen=True)
class _Edition:
    """The first page and the body in a language.

    Attributes
    ----------
    language, verdict, answer : str
    first : Section
    words : dict of str to str
        Around them.
    body : tuple of Section
    suffix : str
        At the end of every name of a part that a link can lead to: in the report's own language there is none.
    drawn : _Figures
    """

    language: str
    verdict: str
    answer: str
    first: Section
    words: dict[str, str]
    body: tuple[Section, ...]
    suffix: str
    drawn: _Figures


def render_html(document: AnyDocument) -> str:
    """Draw the report as HTML.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.

    Returns
    -------
    str
        A whole page. Styles, figures and one script are inside, and its content security policy forbids everything
        else. Nothing but comfort needs the script: sorting, filtering, links, numbers to take along. Every text of the
        document is escaped. The first page and the body are there in every language, and the annex in the report's.
    """
    document = printed(document)
    return _rendered(document, [_edition(other, body_of(other), f"-{one}") for one, other in _others(document)])


def render_notebook(document: AnyDocument, *, first_page: bool = False) -> str:
    """The report in a frame of its own, for notebooks: its styles do not touch the page around it.

    Parameters
    ----------
    document : dict
        The report as data.
    first_page : bool, default False
        Only that, and where the rest is: a notebook keeps all that it shows, and the whole report is 400 kB.
    """
    whole = render_html(document) if not first_page else _rendered(printed(document), [], first_page=True)
    page = escape(whole, quote=True)
    return (
        f'<iframe title="Bias audit" sandbox srcdoc="{page}" '
        'style="width: 100%; height: 48rem; border: 1px solid #d9dfe5"></iframe>'
    )


def _rendered(document: Printed, others: list[_Edition], *, first_page: bool = False) -> str:
    page = build_page(document)
    return html_template("report.html.jinja").render(
        page=page,
        drawn=_Figures(document, page.words),
        own=_edition(document, () if first_page else page.body),
        others=others,
        sign=_SIGNS[document.verdict.verdict],
    )


def _others(document: Printed) -> Iterator[tuple[str, Printed]]:
    """The document in the languages that are not its own."""
    from bdt_core.spec import LANGUAGES  # which reads YAML

    yield from ((one, document.in_language(one)) for one in LANGUAGES if one != language_of(document))


def _edition(document: Printed, body: tuple[Section, ...], suffix: str = "") -> _Edition:
    first, words = first_section(document), words_of_forms(document)
    return _Edition(
        language_of(document),
        document.verdict.verdict,
        answer_of(first),
        first,
        words,
        tuple(_opened(one, document, suffix) if one.name == "findings" else one for one in body),
        suffix,
        _Figures(document, words, suffix),
    )


def _opened(section: Section, document: Printed, suffix: str) -> Section:
    """The findings, each to be opened and linked to: the table's row, what is said of it, and where it was seen."""
    table = next((one for one in section.blocks if isinstance(one, Table)), None)
    if table is None or document.findings is None:
        return section
    said: dict[str, list[Block]] = {"": []}
    title = ""
    for block in section.blocks:
        if isinstance(block, Subheading):
            title = block.text
            said.setdefault(title, [])
        else:
            said[title].append(block)
    heads, language = [one.label for one in table.columns], language_of(document)
    opened = []
    for finding, row in zip(document.findings.findings, table.rows, strict=True):
        seen = read_in(language, "opened", say=say_in(document), document=document, one=finding)
        assert seen is not None  # it always has a title
        numbers = tuple((head, ", ".join(filter(None, (x.text, x.note)))) for head, x in zip(heads, row, strict=True))
        blocks = (Facts(numbers), *said.get(row[0].text, ()), *seen.blocks)
        facts = Facts(tuple(pair for block in blocks if isinstance(block, Facts) for pair in block.pairs))
        opened.append(
            Folded(row[0].text, (facts, *(x for x in blocks if not isinstance(x, Facts))), _anchor(finding) + suffix)
        )
    return replace(section, blocks=(*said[""], *opened))


def _anchor(finding: Finding) -> str:
    """The same for the same people in every audit and language."""
    return f"finding-{short_hash(f'{finding.found_by} {finding.who}')}"


@dataclass(frozen=True)
class _Figures:
    """Draws a document's figures; of those that stand in the page once more, the names within end in a suffix."""

    document: Printed
    words: dict[str, str]
    suffix: str = ""

    @property
    def has_numbers(self) -> bool:
        """Whether the numbers behind a figure stand below it: once in a page."""
        return not self.suffix

    @property
    def decimal(self) -> str:
        """What stands before the decimals of a number."""
        return self.words["decimal"][1]

    def svg(self, figure: Figure) -> Markup:
        from markupsafe import Markup

        from bdt_core.report.inline import inline_svg  # not needed to load the package

        svg = figure_svg(self.document, figure.name)
        return Markup(inline_svg(svg, figure.name + self.suffix, figure.alt))  # texts in it are escaped

    def numbers(self, figure: Figure) -> Table:
        """What is behind a figure: as many digits as machines get, written as the report's readers do."""
        heads, *rows = figure_data(self.document, figure.name)
        numbers = [all(_NUMBER.fullmatch(row[place]) for row in rows) for place in range(len(heads))]
        return Table(
            figure_words(self.document, figure.name).title,
            tuple(ColumnHead(head, number) for head, number in zip(heads, numbers, strict=True)),
            tuple(tuple(map(self._cell, row, numbers)) for row in rows),
        )

    def _cell(self, text: str, number: bool) -> Cell:
        return Cell(text.replace(".", self.decimal) if number else text)


def _long_columns(table: Table) -> list[str]:
    """Classes of columns by how much their texts hold: where there is little room, those with most have most of it."""
    longest = [max((len(row[place].text) for row in table.rows), default=0) for place in range(len(table.columns))]
    return [
        "" if column.number or held < _LONG else "long" if held < _LONGER else "longer"
        for column, held in zip(table.columns, longest, strict=True)
    ]


def _hash_of(text: str) -> str:
    """As a content security policy names a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def html_template(name: str) -> Template:
    """A template of a page, with the report's style and script at hand; every text in it is escaped."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("bdt_core.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    assert environment.loader is not None
    for name, file in (("style", "report.css"), ("script", "report.js")):
        text, _, _ = environment.loader.get_source(environment, file)
        environment.globals[name] = Markup(text)  # our own file, not the document's text
    environment.globals["hash_of"] = _hash_of
    environment.globals["long_columns"] = _long_columns
    environment.globals["kind_of"] = lambda block: type(block).__name__.lower()
    return environment
