"""The report in print: the same page as the HTML, set by typst."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
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
_OF_A_NUMBER = re.compile(r"(?<=[0-9]) (?=%)|(?<=[<≥]) (?=[0-9])")
_PLACES = re.compile(r"[ \u200b]|(?<=-)")
# A line of a table in letters, what is left free beside each column, and letters that are smaller or bold.
_PAGE, _INSET = 117, 2
_SMALL, _WIDE = 0.85, 1.1
_KEPT, _KEPT_SMALL = 20, 14  # texts in columns of numbers that are not divided
_POWER, _DIVIDED = 3.0, 20.0


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
    from bdt_core.report.sheet import has_letters_of

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
    return typeset(template, {"report": report}, has_all_letters=has_letters_of(document))


def typeset(template: Traversable, inputs: dict[str, str], *, has_all_letters: bool) -> bytes:
    """A page as PDF/UA-1; without `has_all_letters` other fonts are asked for help, those of the machine."""
    import typst

    compile_page: Any = typst.compile  # its stub knows one page only
    pdf: bytes = compile_page(
        template.read_bytes(),
        font_paths=_fonts(of_the_machine=not has_all_letters),
        sys_inputs=inputs,
        pdf_standards="ua-1",
    )
    return pdf


@cache
def _fonts(*, of_the_machine: bool) -> Any:
    """The fonts that pages are set in, read once per process."""
    import matplotlib as mpl
    import typst

    paths: Any = [Path(mpl.get_data_path()) / "fonts" / "ttf"]
    return typst.Fonts(include_system_fonts=of_the_machine, font_paths=paths)


def with_breaks(x: Any) -> Any:
    """The page with places where long words may be divided and numbers not, and with the widths of tables' columns."""
    if isinstance(x, dict):
        as_it_is = ("kind", "name", "alt") if x.get("kind") != "code" else ("kind", "text")
        changed = {key: one if key in as_it_is else with_breaks(one) for key, one in x.items()}
        if x.get("kind") == "table":
            changed["widths"] = _widths(x)
        return changed
    if isinstance(x, list):
        return [with_breaks(one) for one in x]
    if isinstance(x, str):
        return _LONG_WORD.sub(lambda word: _BREAKS.sub("\u200b", word.group()), _OF_A_NUMBER.sub("\u00a0", x))
    return x


def _widths(table: dict[str, Any]) -> list[int]:
    """Shares of the width of a page by column, 0 for as much as it needs: those by which rows have the fewest lines."""
    columns = [_Column.of(table, place) for place in range(len(table["columns"]))]
    room = _PAGE - _INSET * len(columns)
    whole = [one.whole for one in columns]
    if sum(whole) <= room:
        return whole
    least = [one.least for one in columns]
    if sum(least) >= room:
        return least
    # Best widths of the columns up to here, by how much of the room they take together.
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for place, column in enumerate(columns):
        rest = sum(least[place + 1 :])
        costs = {width: column.cost(width) for width in range(column.least, min(column.whole, room) + 1)}
        further: dict[int, tuple[float, list[int]]] = {}
        for taken, (cost, widths) in best.items():
            for width, own in costs.items():
                if (at := taken + width) + rest <= room and (at not in further or cost + own < further[at][0]):
                    further[at] = cost + own, [*widths, width]
        best = further
    _, widths = min(best.values())
    fixed = [one.number and width == one.whole for one, width in zip(columns, widths, strict=True)]
    return [0 if one else width for one, width in zip(fixed, widths, strict=True)]


@dataclass(frozen=True)
class _Column:
    """A table's column: its label, and of each cell the text and what stands below in small letters."""

    number: bool
    label: str
    cells: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, table: dict[str, Any], place: int) -> _Column:
        cells = tuple((row[place]["text"], row[place]["note"], row[place]["tag"]) for row in table["rows"])
        return cls(table["columns"][place]["number"], table["columns"][place]["label"], cells)

    @cached_property
    def whole(self) -> int:
        """Width at which nothing is divided; digits are wider than most letters, and so are bold ones."""
        small = [len(one) * _SMALL for _, *below in self.cells for one in below]
        return math.ceil(max([len(self.label), *(len(text) * _WIDE for text, *_ in self.cells), *small]))

    @cached_property
    def least(self) -> int:
        """Width at which no word is divided, and no number from its unit."""
        words = [(_PLACES.split(self.label), 1.0)]
        for text, *below in self.cells:
            words.append(([text] if self.number and len(text) <= _KEPT else _PLACES.split(text), _WIDE))
            words += [
                ([one] if self.number and len(one) <= _KEPT_SMALL else _PLACES.split(one), _SMALL) for one in below
            ]
        return math.ceil(max(max(map(len, some)) * size for some, size in words))

    def cost(self, width: int) -> float:
        """How high it makes the rows: the highest cell of a row counts most; intervals are not divided gladly."""
        rows = Counter(
            (
                _lines(len(text) * _WIDE, width) + _SMALL * sum(_lines(len(one) * _SMALL, width) for one in below),
                self.number and any(width < len(one) * _SMALL for one in below),
            )
            for text, *below in self.cells
        )
        heads: float = _lines(len(self.label), width) ** _POWER
        return heads + sum(float(n * (high**_POWER + _DIVIDED * divided)) for (high, divided), n in rows.items())


def _lines(length: float, width: int) -> int:
    """Of a text; at the end of each a word has no room."""
    return math.ceil(length / width) if length <= width else math.ceil(length / max(width - 2, 1))
