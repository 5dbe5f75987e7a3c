"""The report as one HTML file that asks nothing of the network."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from bdt_core.report.figures import figure_names, figure_svg
from bdt_core.report.page import build_page
from bdt_core.report.printed import AnyDocument, printed

if TYPE_CHECKING:
    from jinja2 import Template

_SIGNS = {"pass": "✓", "fail": "✕", "inconclusive": "?", "not_testable": "–"}


def render_html(document: AnyDocument, figures: Mapping[str, str] | None = None) -> str:
    """Draw the report as HTML.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.
    figures : mapping of str to str, optional
        SVG by name, where they have been drawn already.

    Returns
    -------
    str
        A whole page. Styles and figures are inside, scripts there are none, and its content security policy
        forbids everything else. Every text of the document is escaped.
    """
    document = printed(document)
    drawn = figures if figures is not None else {name: figure_svg(document, name) for name in figure_names(document)}
    return _template().render(
        page=build_page(document),
        figures={name: _data_uri(svg) for name, svg in drawn.items()},
        sign=_SIGNS[document.verdict.verdict],
    )


def render_notebook(document: AnyDocument) -> str:
    """The report in a frame of its own, for notebooks: its styles do not touch the page around it."""
    page = escape(render_html(document), quote=True)
    return (
        f'<iframe title="Bias audit" sandbox srcdoc="{page}" '
        'style="width: 100%; height: 48rem; border: 1px solid #d9dfe5"></iframe>'
    )


def _data_uri(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


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
    style, _, _ = environment.loader.get_source(environment, "report.css")
    environment.globals["style"] = Markup(style)  # our own file, not the document's text
    environment.globals["kind_of"] = lambda block: type(block).__name__.lower()
    return environment.get_template("report.html.jinja")
