"""The figures of the report, each drawn from the document alone.

Every figure is a function of the document that returns a drawing; nothing of matplotlib is imported before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from bdt_core.report import text

if TYPE_CHECKING:
    from bdt_core.report.sheet import Sheet

Document = dict[str, Any]
_T = TypeVar("_T")


def clusters_figure(document: Document) -> str:
    """Clusters by size and difference from everybody else, with intervals and limits, as SVG."""
    return figure_svg(document, "clusters")


def apart_figure(document: Document) -> str:
    """What sets the most deviating cluster apart: its means and shares beside everybody else's, as SVG."""
    return figure_svg(document, "apart")


def tree_figure(document: Document) -> str:
    """The tree of splits that made the clusters, as SVG."""
    return figure_svg(document, "tree")


def figure_svg(document: Document, name: str) -> str:
    """Draw a figure as SVG.

    Parameters
    ----------
    document : dict
        The report as data.
    name : str
        One of `FIGURES`.

    Returns
    -------
    str
        An SVG file. Text is drawn as outlines, so that it looks the same everywhere.
    """
    return _drawn(document, name, lambda sheet: sheet.svg())


def figure_png(document: Document, name: str) -> bytes:
    """Draw a figure as PNG; parameters as in `figure_svg`."""
    return _drawn(document, name, lambda sheet: sheet.png())


def _drawn(document: Document, name: str, finish: Callable[[Sheet], _T]) -> _T:
    from bdt_core.report.sheet import has_outlines, settings

    document = text.printable(document)
    with settings(has_outlines(json.dumps(document, ensure_ascii=False))):
        return finish(FIGURES[name](document))


def _clusters(document: Document) -> Sheet:
    from bdt_core.report.figure_clusters import draw

    return draw(document)


def _apart(document: Document) -> Sheet:
    from bdt_core.report.figure_apart import draw

    return draw(document)


def _tree(document: Document) -> Sheet:
    from bdt_core.report.figure_tree import draw

    return draw(document)


FIGURES: dict[str, Callable[[Document], Sheet]] = {"clusters": _clusters, "apart": _apart, "tree": _tree}
