"""Faults of a printed report's pages, found in the PDF alone: by its tags, and by where its text stands.

A figure stands below its heading and above the next section; no row of a table is alone on a page; no text leaves its
page; a figure speaks the report's language.
"""

from __future__ import annotations

import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdf

PAGE = 595.0
_SPACE = re.compile(r"[\s\u200b]+")
_HEADING = re.compile(r"/H[1-6]")


@dataclass
class Element:
    """A tag with its text, and where it stands: page and height of its first text, or of the figure's top."""

    tag: str
    words: str = ""
    pages: list[int] = field(default_factory=list)
    top: float = 0.0
    rows: Counter[int] = field(default_factory=Counter)

    @property
    def place(self) -> tuple[int, float]:
        """In the order of reading by eye: by page, and downwards."""
        return self.pages[0], -self.top


@dataclass(frozen=True)
class _Text:
    words: str
    left: float
    right: float
    height: float


def faults(pdf: bytes, foreign: frozenset[str] = frozenset()) -> list[str]:
    """What is wrong with the pages of a report.

    Parameters
    ----------
    pdf : bytes
        Tagged.
    foreign : frozenset of str
        Words, in small letters, that no figure may have: those of another language.
    """
    reader = pypdf.PdfReader(io.BytesIO(pdf))
    texts = [_texts(page) for page in reader.pages]
    elements = list(_elements(reader, texts))
    return [*_floats(elements), *_rows_alone(elements), *_clipped(texts), *_words_of_figures(elements, foreign)]


def _floats(elements: list[Element]) -> Iterator[str]:
    heading: Element | None = None
    figures: list[Element] = []
    for one in elements:
        if _HEADING.fullmatch(one.tag) and one.pages:
            for figure in figures:
                # Within a section a figure of the whole may pass smaller headings; no figure leaves its section.
                if one.tag in ("/H1", "/H2") and figure.place > one.place:
                    yield f"after the next heading, {one.words}: {figure.words}"
            heading, figures = one, figures if one.tag not in ("/H1", "/H2") else []
        elif one.tag == "/Figure" and one.pages and heading is not None:
            if one.place < heading.place:
                yield f"before its heading, {heading.words}: {one.words}"
            figures.append(one)


def _rows_alone(elements: list[Element]) -> Iterator[str]:
    for one in elements:
        if one.tag == "/Table" and one.rows.total() > 1:
            yield from (f"one row on page {page + 1}: {one.words:.80}" for page, n in one.rows.items() if n == 1)


def _clipped(texts: list[dict[Any, list[_Text]]]) -> Iterator[str]:
    for number, page in enumerate(texts, 1):
        for one in (one for several in page.values() for one in several):
            if one.left < 0 or one.right > PAGE:
                yield f"over the edge of page {number}: {one.words}"


def _words_of_figures(elements: list[Element], foreign: frozenset[str]) -> Iterator[str]:
    for one in elements:
        if one.tag == "/Figure":
            said = foreign.intersection(re.findall(r"[a-z]+", one.words.lower()))
            yield from (f"in another language: {word}, in {one.words}" for word in sorted(said))


def _elements(reader: pypdf.PdfReader, texts: list[dict[Any, list[_Text]]]) -> Iterator[Element]:
    """Headings, figures and tables in the order of the tags."""
    numbers = {page.indirect_reference.idnum: n for n, page in enumerate(reader.pages)}  # type: ignore[union-attr]

    def pieces(x: Any, page: int | None) -> Iterator[tuple[int, list[_Text]]]:
        x = x.get_object() if hasattr(x, "get_object") else x
        if isinstance(x, int):
            assert page is not None
            yield page, texts[page].get(x, [])
        elif isinstance(x, list):
            for one in x:
                yield from pieces(one, page)
        elif isinstance(x, dict):
            at = numbers[x.raw_get("/Pg").idnum] if "/Pg" in x else page
            yield from pieces(x["/MCID"] if "/MCID" in x else x.get("/K", []), at)

    def walk(x: Any) -> Iterator[Element]:
        x = x.get_object() if hasattr(x, "get_object") else x
        if isinstance(x, list):
            for one in x:
                yield from walk(one)
        elif isinstance(x, dict):
            tag = str(x.get("/S", ""))
            if _HEADING.fullmatch(tag) or tag in ("/Figure", "/Table"):
                yield element(tag, x)
            else:
                yield from walk(x.get("/K", []))

    def element(tag: str, x: Any) -> Element:
        found = [(page, one) for page, several in pieces(x, None) for one in several]
        made = Element(tag, _SPACE.sub(" ", "".join(one.words for _, one in found)).strip())
        found = [(page, one) for page, one in found if one.words.strip()]
        made.pages = [page for page, _ in found]
        made.top = max((one.height for page, one in found if page == made.pages[0]), default=0.0)
        # Names with what they stand for are a table without heads, each row a paragraph of its own.
        for row in _tagged(x, "/TR") if list(_tagged(x, "/TH")) else ():
            pages = {page for page, several in pieces(row, None) if several}
            if pages and not list(_tagged(row, "/TH")):
                made.rows[min(pages)] += 1
        return made

    yield from walk(reader.trailer["/Root"]["/StructTreeRoot"])  # type: ignore[index]


def _tagged(x: Any, tag: str) -> Iterator[Any]:
    x = x.get_object() if hasattr(x, "get_object") else x
    if isinstance(x, list):
        for one in x:
            yield from _tagged(one, tag)
    elif isinstance(x, dict):
        if x.get("/S") == tag:
            yield x
        else:
            yield from _tagged(x.get("/K", []), tag)


def _texts(page: Any) -> dict[Any, list[_Text]]:
    """A page's pieces of text, by the number that tags know them by."""
    marked: list[Any] = []
    found: dict[Any, list[_Text]] = defaultdict(list)

    def before(operator: bytes, operands: Any, _cm: Any, _tm: Any) -> None:
        if operator in (b"BDC", b"BMC"):
            properties = operands[1] if operator == b"BDC" else None
            marked.append(properties.get("/MCID") if isinstance(properties, dict) else None)
        elif operator == b"EMC" and marked:
            marked.pop()

    def text(words: str, cm: Any, tm: Any, font: Any, size: float) -> None:
        if words:
            scale = abs(tm[0] * cm[0] + tm[1] * cm[2]) or 1.0
            left = tm[4] * cm[0] + tm[5] * cm[2] + cm[4]
            height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
            number = next((one for one in reversed(marked) if one is not None), None)
            found[number].append(_Text(words, left, left + 0.4 * size * scale * len(words.strip()), height))

    page.extract_text(visitor_operand_before=before, visitor_text=text)
    return found
