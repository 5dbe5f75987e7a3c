"""The report as one HTML file that asks nothing of the network, and can be read without its script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from bdt_core.report.blocks import Figure, Section
from bdt_core.report.figures import figure_svg
from bdt_core.report.page import build_page
from bdt_core.report.printed import AnyDocument, printed

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

    from bdt_core.report.document import Printed

_SIGNS = {"pass": "✓", "fail": "✕", "inconclusive": "?", "not_testable": "–"}


@dataclass(frozen=True)
class _FirstPage:
    """The first page in a language that is not the report's.

    Attributes
    ----------
    language, verdict, answer : str
    first : Section
    words : dict of str to str
        Around it.
    """

    language: str
    verdict: str
    answer: str
    first: Section
    words: dict[str, str]


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
        document is escaped. The first page is there in every language.
    """
    document = printed(document)
    return _template().render(
        page=build_page(document),
        drawn=_figures(document),
        others=[_in_language(document, one) for one in _other_languages(document)],
        annex_words=_words_in(document, "en"),
        sign=_SIGNS[document.verdict.verdict],
    )


def render_notebook(document: AnyDocument) -> str:
    """The report in a frame of its own, for notebooks: its styles do not touch the page around it."""
    page = escape(render_html(document), quote=True)
    return (
        f'<iframe title="Bias audit" sandbox srcdoc="{page}" '
        'style="width: 100%; height: 48rem; border: 1px solid #d9dfe5"></iframe>'
    )


def _other_languages(document: Printed) -> tuple[str, ...]:
    from bdt_core.report.first_page import language_of
    from bdt_core.spec import LANGUAGES

    return tuple(one for one in LANGUAGES if one != language_of(document))


def _words_in(document: Printed, language: str) -> dict[str, str]:
    from bdt_core.report.first_page import words_of_forms

    return words_of_forms(document.in_language(language))


def _in_language(document: Printed, language: str) -> tuple[_FirstPage, Callable[[Figure], Markup]]:
    """The first page in a language, and what draws its figures."""
    from bdt_core.report.blocks import answer_of
    from bdt_core.report.first_page import first_section, words_of_forms

    other = document.in_language(language)
    first = first_section(other)
    page = _FirstPage(language, other.verdict.verdict, answer_of(first), first, words_of_forms(other))
    return page, _figures(other, f"-{language}")


def _figures(document: Printed, suffix: str = "") -> Callable[[Figure], Markup]:
    """What draws a figure's element; of one that stands in the page once more, the names within end in a suffix."""
    from markupsafe import Markup

    from bdt_core.report.inline import inline_svg  # not needed to load the package

    def drawn(figure: Figure) -> Markup:
        svg = figure_svg(document, figure.name, outlines=False)
        return Markup(inline_svg(svg, figure.name + suffix, figure.alt))  # texts in it are escaped

    return drawn


def _hash_of(text: str) -> str:
    """As a content security policy names a script or a style sheet."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _template() -> Template:
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
    environment.globals["kind_of"] = lambda block: type(block).__name__.lower()
    return environment.get_template("report.html.jinja")
