"""The figures of the report, each drawn from the document alone.

Every figure is a function of the document and of what the figure says, that returns a drawing; nothing of matplotlib is
imported before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from bdt_core.report import (
    apart,
    calibration,
    clusters,
    first_page,
    groups,
    local_bias,
    mitigation,
    ruled_out,
    slices,
    tree,
    worst_groups,
)  # fmt: skip
from bdt_core.report.catalogue import AS_WRITTEN, say_in
from bdt_core.report.figure_words import figure_words
from bdt_core.report.figures_of_depth import figures_of_depth
from bdt_core.report.printed import AnyDocument, printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Printed
    from bdt_core.report.sheet import Sheet

PNG_DPI = 144
"""Of figures as PNG, which are two pixels wide per point then."""
_T = TypeVar("_T")


def figure_svg(document: AnyDocument, name: str) -> str:
    """Draw a figure as SVG.

    Parameters
    ----------
    document : dict
        The report as data.
    name : str
        One of `figure_names`.

    Returns
    -------
    str
        An SVG file, whose text is text.
    """
    return printed(document).once(f"{name} drawn", lambda one: _drawn(one, name, lambda sheet: sheet.svg()))


def figure_png(document: AnyDocument, name: str, dpi: int = PNG_DPI) -> bytes:
    """Draw a figure as PNG; parameters as in `figure_svg`."""
    return _drawn(document, name, lambda sheet: sheet.png(dpi))


def figure_data(document: AnyDocument, name: str) -> tuple[tuple[str, ...], ...]:
    """The numbers behind a figure.

    Parameters
    ----------
    document : dict
        The report as data.
    name : str
        One of `figure_names`.

    Returns
    -------
    tuple of tuple of str
        Rows of the same length; the first one has the heads. Numbers have up to six digits and a point, rates are
        shares of 1; a text is empty where nothing is known. Names are safe to print and not escaped.
    """
    return figure_words(printed(document), name).data


def figure_names(document: AnyDocument) -> tuple[str, ...]:
    """The figures that a document has, in the order of the report."""
    document = printed(document)
    always = _OF_CLUSTERS if document.publication is None and document.search is not None else ()
    known = {*always, *groups.figures_of_groups(document), *figures_of_depth(document)}
    return tuple(
        name for name in FIGURES if name in known or (name == "first_page" and first_page.first_page(document).drawn)
    )


def _drawn(document: AnyDocument, name: str, finish: Callable[[Sheet], _T]) -> _T:
    from bdt_core.report.sheet import settings

    safe = printed(document)
    # The first page's picture is in the readers' words already.
    say = AS_WRITTEN if name == "first_page" else say_in(safe)
    with settings(say):
        return finish(sheet_of(safe, name))


def sheet_of(document: Printed, name: str) -> Sheet:
    """A figure with what it says, drawn with the settings that hold."""
    return FIGURES[name](document, figure_words(document, name))


def draw_onto(document: AnyDocument, name: str, axes: Callable[[float, float], Axes]) -> None:
    """Draw a figure onto axes: those that are made for its width and height, in points."""
    from bdt_core.report.sheet import onto

    with onto(axes):
        _drawn(document, name, lambda _: None)


FIGURES: dict[str, Callable[[Printed, FigureWords], Sheet]] = {
    "first_page": first_page.draw,
    "worst_groups": worst_groups.draw,
    "calibration": calibration.draw,
    "clusters": clusters.draw,
    "apart": apart.draw,
    **{name: partial(groups.draw, name=name) for name in (f"groups_{i}" for i in range(1, groups.FIGURES_SHOWN + 1))},
    "slices": slices.draw,
    "slices_lattice": slices.draw_lattice,
    "local_bias": local_bias.draw,
    "mitigation": mitigation.draw,
    "tree": tree.draw,
    "ruled_out": ruled_out.draw,
}
_OF_CLUSTERS = ("clusters", "apart", "tree")
