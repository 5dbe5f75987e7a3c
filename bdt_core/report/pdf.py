"""The report in print: the same page as the HTML, set by typst."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bdt_core.report.blocks import plain
from bdt_core.report.figures import figure_names, figure_svg
from bdt_core.report.page import build_page
from bdt_core.report.printed import AnyDocument, printed

# Typst brings the first along, matplotlib the second, which has more alphabets.
FONTS = ["Libertinus Serif", "DejaVu Sans"]
_MONO = ["DejaVu Sans Mono", "DejaVu Sans"]
_LONG_WORD = re.compile(r"\S{15,}")
_BREAKS = re.compile(r"(?<=[_/.,;:|=\-])(?=\w)|(?<=\w{12})(?=\w{4})")


def render_pdf(document: AnyDocument, figures: Mapping[str, str] | None = None) -> bytes:
    """Draw the report as PDF.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.
    figures : mapping of str to str, optional
        SVG by name, where they have been drawn already.

    Returns
    -------
    bytes
        An A4 document that follows PDF/UA-1, so that screen readers can read it. The same document gives the same
        bytes: it carries no dates, and only fonts that come with the installed packages are used, unless a name
        needs an alphabet that they do not have.
    """
    from bdt_core.report.sheet import is_outlined

    document = printed(document)
    drawn = figures if figures is not None else {name: figure_svg(document, name) for name in figure_names(document)}
    page = build_page(document)
    report = json.dumps(
        {
            "page": with_breaks({**plain(page), "answer": page.answer}),
            "figures": dict(drawn),
            "fonts": FONTS,
            "mono": _MONO,
        },
        ensure_ascii=False,
    )
    template = resources.files("bdt_core.report").joinpath("templates", "report.typ")
    return typeset(template, {"report": report}, has_all_letters=is_outlined(document))


def typeset(template: Traversable, inputs: dict[str, str], *, has_all_letters: bool) -> bytes:
    """A page as PDF/UA-1; without `has_all_letters` other fonts are asked for help, those of the machine."""
    import matplotlib as mpl
    import typst

    compile_page: Any = typst.compile  # its stub wants one type for the page and the fonts' folders
    pdf: bytes = compile_page(
        template.read_bytes(),
        font_paths=[Path(mpl.get_data_path()) / "fonts" / "ttf"],
        ignore_system_fonts=has_all_letters,
        sys_inputs=inputs,
        pdf_standards="ua-1",
    )
    return pdf


def with_breaks(x: Any) -> Any:
    """The page with places where long words may be divided, and with the widths of tables' columns."""
    if isinstance(x, dict):
        as_it_is = ("kind", "name", "alt") if x.get("kind") != "code" else ("kind", "text")
        changed = {key: one if key in as_it_is else with_breaks(one) for key, one in x.items()}
        if x.get("kind") == "table":
            changed["widths"] = _widths(x)
        return changed
    if isinstance(x, list):
        return [with_breaks(one) for one in x]
    if isinstance(x, str):
        return _LONG_WORD.sub(lambda word: _BREAKS.sub("\u200b", word.group()), x)
    return x


def _widths(table: dict[str, Any]) -> list[int]:
    """Numbers take what they need; texts share the rest by how much they hold.

    Where numbers stand below long names, those with a smaller line are as wide as that needs.
    """
    crowded = any(column["number"] and len(column["label"]) > 20 for column in table["columns"])
    most = 40 if crowded else 64
    widths = []
    for place, column in enumerate(table["columns"]):
        held = max((len(row[place]["text"]) for row in table["rows"]), default=0)
        notes = max((len(row[place]["note"]) for row in table["rows"]), default=0)
        fits = len(column["label"]) <= 20 and notes <= 30 and (column["number"] or held <= 12)
        if column["number"] and crowded and notes:
            fits = False
        needed = min(max(notes, 14), 26) if column["number"] else max(min(held, most), min(notes // 2, 40), 14)
        widths.append(0 if fits else needed)
    return widths if any(widths) else [1] * len(widths)
