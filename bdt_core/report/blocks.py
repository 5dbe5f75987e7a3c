"""Blocks of a printed report. Every printed form draws these few kinds of block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

Tone = Literal["", "harm", "good", "muted"]


@dataclass(frozen=True)
class Cell:
    """One cell of a table: its text, a smaller line below, and a tag behind it; on web pages a link."""

    text: str
    note: str = ""
    tag: str = ""
    tone: Tone = ""
    link: str = ""


@dataclass(frozen=True)
class ColumnHead:
    """Head of a column; numbers stand to the right."""

    label: str
    number: bool = False


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Subheading:
    """A heading within folded depth."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """A table whose first column names its rows."""

    caption: str
    columns: tuple[ColumnHead, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Figure:
    """A figure by its name in `bdt_core.report.figures.FIGURES`."""

    name: str
    caption: str
    alt: str


@dataclass(frozen=True)
class Code:
    """Text that is read by machines."""

    text: str


@dataclass(frozen=True)
class Folded:
    """Depth: closed at first where the form can fold, else under a small heading; links may lead to its anchor."""

    title: str
    blocks: tuple[Block, ...]
    anchor: str = ""


Block: TypeAlias = Paragraph | Subheading | Bullets | Facts | Table | Figure | Code | Folded


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """The whole report: what everybody reads, in the readers' language, what stands behind it, and the annex.

    Attributes
    ----------
    name : str
    language : str
        Of the first page.
    verdict : str
    day : str or None
        Of the audit, as in 2026-01-31.
    first : Section
        The first page; its parts are folded blocks, the verdict before the others.
    words : dict of str to str
        Around the report, in the readers' language.
    body : tuple of Section
        The findings one by one, declared groups, limits, and how far to trust them.
    annex : tuple of Section
        For experts: everything else.
    """

    name: str
    language: str
    verdict: str
    day: str | None
    first: Section
    words: dict[str, str]
    body: tuple[Section, ...]
    annex: tuple[Section, ...]

    @property
    def sections(self) -> tuple[Section, ...]:
        """Of the body and of the annex."""
        return (*self.body, *self.annex)

    @property
    def answer(self) -> str:
        """Whether it may be used."""
        return answer_of(self.first)


def answer_of(first: Section) -> str:
    """What a first page says on whether it may be used."""
    return next(one.title for one in first.blocks if isinstance(one, Folded))


def cells(*texts: str | Cell) -> tuple[Cell, ...]:
    """A row of a table; plain texts become cells."""
    return tuple(one if isinstance(one, Cell) else Cell(one) for one in texts)


def columns(*labels: str) -> tuple[ColumnHead, ...]:
    """Heads of columns; a label that starts with # is one of numbers.

    Examples
    --------
    >>> columns("cluster", "#rows")
    (ColumnHead(label='cluster', number=False), ColumnHead(label='rows', number=True))
    """
    return tuple(ColumnHead(one.removeprefix("#"), one.startswith("#")) for one in labels)


def plain(x: Any) -> Any:
    """Blocks as JSON-able data; each says its ``kind``."""
    if is_dataclass(x) and not isinstance(x, type):
        return {"kind": type(x).__name__.lower()} | {one.name: plain(getattr(x, one.name)) for one in fields(x)}
    if isinstance(x, Sequence) and not isinstance(x, str):
        return [plain(one) for one in x]
    return x


@dataclass(frozen=True)
class FigureWords:
    """The words of a figure, from its template.

    Attributes
    ----------
    title : str
        What was found.
    subtitle : str
        What is measured, and on whom.
    words : mapping of str to str
        Heads, axes and legends, by the template's names.
    labels : tuple of tuple of Cell
        Words for every row of what is drawn, where the template has a table of them.
    data : tuple of tuple of str
        The numbers behind the figure; the first row has the heads. Numbers are plain, with a point, shares of 1.
    """

    title: str
    subtitle: str
    words: Mapping[str, str]
    labels: tuple[tuple[Cell, ...], ...]
    data: tuple[tuple[str, ...], ...]
