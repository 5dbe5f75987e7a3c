"""The figures of the report, each drawn from the document alone.

Every figure is a function of the document that returns a drawing; nothing of matplotlib is imported before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from bdt_core.report.catalogue import say_in
from bdt_core.report.figure_words import figure_words
from bdt_core.report.groups import FIGURES_SHOWN, figures_of_groups
from bdt_core.report.local_bias import pair
from bdt_core.report.mitigation import mitigation_points
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.report.slices import drawn_slices

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bdt_core.report.document import Document, Printed
    from bdt_core.report.sheet import Sheet

PNG_DPI = 144
"""Of figures as PNG, which are two pixels wide per point then."""
_T = TypeVar("_T")


def figure_svg(document: AnyDocument, name: str, *, outlines: bool = True) -> str:
    """Draw a figure as SVG.

    Parameters
    ----------
    document : dict
        The report as data.
    name : str
        One of `figure_names`.
    outlines : bool
        Whether text is drawn as outlines, so that it looks the same everywhere; else it stays text, a fifth as large.

    Returns
    -------
    str
        An SVG file.
    """
    safe = printed(document)
    kind = "outlines" if outlines else "texts"
    return safe.once(f"{name} with {kind}", lambda one: _drawn(one, name, lambda sheet: sheet.svg(), outlines=outlines))


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
    from bdt_core.report.first_page import first_page  # which asks for templates, and these for figures

    always = _ALWAYS if document.publication is None else ()
    known = {*always, *figures_of_groups(document), *figures_of_depth(document)}
    return tuple(name for name in FIGURES if name in known or (name == "first_page" and first_page(document).drawn))


def figures_of_depth(document: Document) -> tuple[str, ...]:
    """Figures on intersections, local bias and mitigation that a document has."""
    slices, local = document.slices, document.local_bias
    found = []
    if document.worst_groups and document.worst_groups.groups:
        found.append("worst_groups")
    if slices and drawn_slices(slices):
        found.append("slices")
    if slices and len(slices.lattice) > 1:
        found.append("slices_lattice")
    if local and any(pair(one) for one in local.logan.clusters):
        found.append("local_bias")
    if mitigation_points(document):
        found.append("mitigation")
    return tuple(found)


def _drawn(document: AnyDocument, name: str, finish: Callable[[Sheet], _T], *, outlines: bool = True) -> _T:
    from bdt_core.report.sheet import is_outlined, settings

    safe = printed(document)
    # The first page's picture is in the readers' words already.
    say = str if name == "first_page" else say_in(safe)
    with settings(outlines and is_outlined(safe), say):
        return finish(FIGURES[name](safe))


def draw_onto(document: AnyDocument, name: str, axes: Callable[[float, float], Axes]) -> None:
    """Draw a figure onto axes: those that are made for its width and height, in points."""
    from bdt_core.report.sheet import onto

    with onto(axes):
        _drawn(document, name, lambda _: None, outlines=False)


def _first_page(document: Printed) -> Sheet:
    from bdt_core.report.first_page import draw

    return draw(document)


def _clusters(document: Printed) -> Sheet:
    from bdt_core.report.clusters import draw

    return draw(document)


def _apart(document: Printed) -> Sheet:
    from bdt_core.report.apart import draw

    return draw(document)


def _tree(document: Printed) -> Sheet:
    from bdt_core.report.tree import draw

    return draw(document)


def _groups(name: str, document: Printed) -> Sheet:
    from bdt_core.report.groups import draw

    return draw(document, name)


def _worst_groups(document: Printed) -> Sheet:
    from bdt_core.report.worst_groups import draw

    return draw(document)


def _slices(document: Printed) -> Sheet:
    from bdt_core.report.slices import draw

    return draw(document)


def _lattice(document: Printed) -> Sheet:
    from bdt_core.report.slices import draw_lattice

    return draw_lattice(document)


def _local_bias(document: Printed) -> Sheet:
    from bdt_core.report.local_bias import draw

    return draw(document)


def _mitigation(document: Printed) -> Sheet:
    from bdt_core.report.mitigation import draw

    return draw(document)


FIGURES: dict[str, Callable[[Printed], Sheet]] = {
    "first_page": _first_page,
    "worst_groups": _worst_groups,
    "clusters": _clusters,
    "apart": _apart,
    **{f"groups_{i}": partial(_groups, f"groups_{i}") for i in range(1, FIGURES_SHOWN + 1)},
    "slices": _slices,
    "slices_lattice": _lattice,
    "local_bias": _local_bias,
    "mitigation": _mitigation,
    "tree": _tree,
}
_ALWAYS = ("clusters", "apart", "tree")
