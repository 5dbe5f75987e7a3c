"""The report in print: the same page as the HTML, set by typst."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bdt_core.report.blocks import plain
from bdt_core.report.catalogue import sayings
from bdt_core.report.figures import figure_names, figure_svg
from bdt_core.report.letters import FURTHER, can_be_drawn, has_letters, set_apart, with_code_points
from bdt_core.report.page import build_page, open_parts
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.said import AsItIs, say
from bdt_core.words import each_text

if TYPE_CHECKING:
    from typst import Compiler

# Typst brings the first along, matplotlib the others.
_TEXT, _MONO, _PICTURE = "Libertinus Serif", "DejaVu Sans Mono", "DejaVu Sans"
_OTHERS = ("Droid Sans Fallback", "Noto Emoji")
_NOT_A_UA = "PDF/UA"  # what typst says where a text keeps a page from being one
_NOT_SETTLED = "did not converge"  # what typst says where the place of one thing depends on that of too many others
_SET = 6  # times at most
LACKS = (
    "This PDF cannot draw some characters of names. They stand as code points, such as [U+13000], or as boxes, and so "
    "it has no PDF/UA mark; the other files have the names in full."
)
_NOT_PRINTED = (
    "The web page (report.html) has more, which it folds away: {folded}. report.json has all numbers of it, and with "
    '"pdf: whole" in the specification it is printed.'
)
_LETTERS = re.compile(r"font-size: ([\d.]+)px; font-family: [^;\"]*")
_AS_TALL = 1.16  # times the size of a figure's letters, in print
_LONG_WORD = re.compile(r"\S{15,}")
_BREAKS = re.compile(r"(?<=[_/.,;:|=\-])(?=\w)|(?<=\w{12})(?=\w{4})")
_OF_A_NUMBER = re.compile(r"(?<=[0-9]) (?=%)|(?<=[<≥]) (?=[0-9])")
_PLACES = re.compile(r"[ \u200b]|(?<=-)")
# A line of a table in letters, what is left free beside each column, and letters that are smaller or bold.
_PAGE, _INSET = 117, 2
_SMALL, _WIDE = 0.85, 1.1
_KEPT, _KEPT_SMALL = 20, 14  # texts in columns of numbers that are not divided
_POWER, _DIVIDED = 3.0, 20.0
_TWICE, _WIDER, _FIRST_WIDER, _FIRST_SYMBOL = 2.0, 1.4, "\u0590", "\u2000"  # signs as wide as high, and other scripts


def render_pdf(
    document: AnyDocument, figures: Mapping[str, str] | None = None, notice: Callable[[str], None] | None = None
) -> bytes:
    """Draw the report as PDF.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.
    figures : mapping of str to str, optional
        SVG by name, where they have been drawn already.
    notice : callable, optional
        Called with a sentence where characters of names cannot be drawn.

    Returns
    -------
    bytes
        An A4 document that follows PDF/UA-1, so that screen readers can read it. The same document gives the same
        bytes: it carries no dates, and only fonts that come with the installed packages are used. Where none of them
        has a character of a name, its code point stands there, and the document says so and is no PDF/UA.
    """
    document = printed(document)
    is_whole = can_be_drawn(document.model_dump_json())
    if not is_whole:
        document = type(document).model_validate(each_text(document.model_dump(), with_code_points))
    if figures is None or not is_whole:
        figures = {name: figure_svg(document, name) for name in figure_names(document)}
    page, not_printed = build_page(document), ""
    if document.spec.get("pdf", "short") == "short" and document.publication is None:
        annex, folded = open_parts(page.annex)
        page = replace(page, annex=annex)
        not_printed = sayings(page.language)(say(_NOT_PRINTED, folded=AsItIs("; ".join(folded)))) if folded else ""
    drawn = {name: in_print(one) for name, one in figures.items()}
    texts = {**plain(page), "answer": page.answer, "not_printed": not_printed}
    report = {"page": with_breaks(texts), "figures": drawn}
    template = resources.files("bdt_core.report").joinpath("templates", "report.typ")
    return typeset(template, report, page.language, is_whole=is_whole, notice=notice)


def in_print(svg: str) -> dict[str, Any]:
    """A figure as a page draws it, with the texts that are set apart.

    Its letters are those of the text around it: narrower ones, which are as tall when they are larger.
    """
    figure = _LETTERS.sub(
        lambda one: f"font-size: {float(one[1]) * _AS_TALL:g}px; font-family: '{_TEXT}', '{_PICTURE}'", svg
    )
    return dict(zip(("svg", "texts"), set_apart(figure), strict=True))


def typeset(
    template: Traversable, page: dict[str, Any], language: str, *, is_whole: bool, notice: Callable[[str], None] | None
) -> bytes:
    """A page as PDF/UA-1; where that cannot be, as a PDF that says what it lacks.

    Parameters
    ----------
    template : Traversable
    page : dict
        What it says, as JSON-able data.
    language : str
        Of its readers.
    is_whole : bool
        Whether all its characters are those of the names.
    notice : callable, optional
        Called with what it lacks.
    """
    from typst import TypstError

    if is_whole:
        try:
            return _compiled(template, {**page, "lacks": ""}, "ua-1")
        except TypstError as error:  # letters of several fonts in one sign
            if _NOT_A_UA not in str(error):
                raise
    lacks = sayings(language)(say(LACKS))
    if notice is not None:
        notice(lacks)
    return _compiled(template, {**page, "lacks": lacks}, [])


def _compiled(template: Traversable, page: dict[str, Any], standards: str | list[str]) -> bytes:
    import typst

    fonts, families = _fonts(further=not has_letters(json.dumps(page, ensure_ascii=False)))
    picture = resources.files("bdt_core.report").joinpath("templates", "picture.typ")
    source = picture.read_bytes() + template.read_bytes()

    def setting(stays: dict[str, bool]) -> _Setting:
        inputs = {"page": json.dumps({**page, **families, "stays": stays}, ensure_ascii=False)}
        return _Setting(typst.Compiler(source, font_paths=fonts, sys_inputs=inputs), source, standards)

    first = setting({})
    pdf, comes_to_rest = first.written()
    return pdf if comes_to_rest else _settled(first, setting).written()[0]


class _Setting:
    """A page that is set once, by a compiler which still knows it when it writes it.

    Attributes
    ----------
    better : dict of str to bool
        By name of a figure, whether it had better stay with its heading.
    """

    def __init__(self, compiler: Compiler, source: bytes, standards: str | list[str]) -> None:
        self._compiler, self._source, self._standards = compiler, source, standards
        self.better: dict[str, bool] = {}
        with suppress(RuntimeError):  # what is wrong with a page, the writer says with more words
            self.better = dict(json.loads(compiler.query("<stays>", field="value")))

    def written(self) -> tuple[bytes, bool]:
        """The page, and whether the places of its figures came to rest."""
        write: Any = self._compiler.compile_with_warnings  # its stub knows several pages, too
        pdf, warnings = write(self._source, pdf_standards=self._standards)
        return bytes(pdf), not any(_NOT_SETTLED in one.message for one in warnings)


def _settled(first: _Setting, setting: Callable[[dict[str, bool]], _Setting]) -> _Setting:
    """The page whose figures stay with their headings where it agrees that they had better; in doubt they do."""
    seen: list[dict[str, bool]] = []
    stays = first.better
    for _ in range(_SET):
        page = setting(stays)
        if page.better == stays:
            return page
        if page.better in seen:
            stays = {name: one or stays[name] for name, one in page.better.items()}
            break
        seen.append(stays)
        stays = page.better
    return setting(stays)


@cache
def _fonts(*, further: bool) -> tuple[Any, dict[str, Any]]:
    """The fonts that pages are set in, read once per process, and which of them a page asks first."""
    import matplotlib as mpl
    import typst

    paths: Any = [Path(mpl.get_data_path()) / "fonts" / "ttf", *([FURTHER] if further else [])]
    fonts = typst.Fonts(include_system_fonts=False, font_paths=paths)
    families = fonts.families()
    scripts = [one for one in families if one.startswith("Noto Sans")]
    others = [_PICTURE, *(one for one in families if one in _OTHERS)]
    return fonts, {
        "fonts": [_TEXT, *scripts, *others],
        "mono": [_MONO, *scripts, *others],
        "picture": [_TEXT, *scripts, *others],
        "letters": _PAGE,
        "fallback": not further,  # matplotlib has a font in which a letter of any script is a box
    }


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
        return math.ceil(max([_length(self.label), *(max(sizes) for sizes in self._sizes)]))

    @cached_property
    def least(self) -> int:
        """Width at which no word is divided, and no number from its unit."""
        words = [(_PLACES.split(self.label), 1.0)]
        for text, *below in self.cells:
            words.append(([text] if self.number and _length(text) <= _KEPT else _PLACES.split(text), _WIDE))
            words += [
                ([one] if self.number and _length(one) <= _KEPT_SMALL else _PLACES.split(one), _SMALL) for one in below
            ]
        return math.ceil(max(max(map(_length, some)) * size for some, size in words))

    def cost(self, width: int) -> float:
        """How high it makes the rows: the highest cell of a row counts most; intervals are not divided gladly."""
        rows: Counter[tuple[float, bool]] = Counter()
        for (text, *below), n in self._sizes.items():
            high = _lines(text, width) + _SMALL * sum(_lines(one, width) for one in below)
            rows[high, self.number and any(width < one for one in below)] += n
        heads: float = _lines(_length(self.label), width) ** _POWER
        return heads + sum(float(n * (high**_POWER + _DIVIDED * divided)) for (high, divided), n in rows.items())

    @cached_property
    def _sizes(self) -> Counter[tuple[float, ...]]:
        """How many cells are as long: the text, and what stands below it in small letters."""
        return Counter(
            (_length(text) * _WIDE, *(_length(one) * _SMALL for one in below)) for text, *below in self.cells
        )


def _lines(length: float, width: int) -> int:
    """Of a text; at the end of each a word has no room."""
    return math.ceil(length / width) if length <= width else math.ceil(length / max(width - 2, 1))


def _length(text: str) -> float:
    """In letters of Latin; most other scripts have wider ones."""
    if text.isascii():
        return len(text)
    wider = sum(_FIRST_WIDER <= one < _FIRST_SYMBOL for one in text)
    twice = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return len(text) + (_WIDER - 1) * wider + (_TWICE - 1) * twice
