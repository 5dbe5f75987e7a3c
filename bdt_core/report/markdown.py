"""The report as Markdown: for a pull request or a terminal."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass

from bdt_core import words
from bdt_core.harmless import without_controls
from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    Code,
    Facts,
    Figure,
    Folded,
    Paragraph,
    Section,
    Subheading,
    Table,
)
from bdt_core.report.catalogue import say_in
from bdt_core.report.first_page import first_section
from bdt_core.report.page import build_page
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.said import say

_LEFT_OUT = ("rates", "tree", "original", "data", "method", "repeat")
"""Sections of the annex that are in the other forms."""
_MOST_ROWS = 10
# An underscore inside a word is one to Markdown too.
_SPECIAL = re.compile(r"([\\`*\[<>|$~]|(?<!\w)_|_(?!\w)|&(?=\w|#))")
_SPECIAL_AT_A_START = re.compile(r"(^[-+=](?=\W)|(?<=^\d)[.)]|^#)")
# What would call a person, link an issue or become a link of its own.
_LINKS = re.compile(r"(?<=[@#])(?=\w)|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)


def render_markdown(document: AnyDocument, *, figures: bool = False) -> str:
    """Draw the short form of the report as Markdown.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json.
    figures : bool
        Whether figures stand in the text itself, for pages that show Markdown and have no other form beside it.

    Returns
    -------
    str
        The first page, the body, and of the annex the searches, clusters, differences, intersections, local bias and
        mitigation; of tables ten rows at most. Names from the data are escaped.
    """
    safe = printed(document)
    page = build_page(safe)
    written = MarkdownWriter(say_in(safe), safe if figures else None)
    lines = [
        written.first_page(page.first),
        f"# {escaped(page.words['body'])}",
        *map(written.section, page.body),
        f"# {escaped(page.words['annex'])}",
        f"*{escaped(page.words['annex_note'])}*",
        *(written.section(one) for one in page.annex if one.name not in _LEFT_OUT),
        ""
        if figures
        else f"{escaped(page.words['whole'])} [report.html](report.html), [report.pdf](report.pdf), "
        "[report.json](report.json)",
    ]
    return "\n\n".join(one for one in lines if one) + "\n"


def render_first_page(document: AnyDocument) -> str:
    """Draw the first page alone as Markdown."""
    safe = printed(document)  # the whole page takes as long again as all else
    return MarkdownWriter(say_in(safe)).first_page(first_section(safe)) + "\n"


@dataclass(frozen=True)
class MarkdownWriter:
    """Blocks as Markdown.

    Attributes
    ----------
    say : callable
        What a text of ours is in the report's language.
    document : dict, optional
        Whose figures are drawn; they are left out without one, for they are in the other forms.
    """

    say: Callable[[str], str] = str
    document: AnyDocument | None = None

    def first_page(self, section: Section) -> str:
        """Its parts are open."""
        return "\n\n".join(one for one in (f"# {escaped(section.title)}", *map(self.part, section.blocks)) if one)

    def section(self, section: Section) -> str:
        """Its depth is left out."""
        drawn = map(self.block, section.blocks)
        return "\n\n".join([f"## {escaped(section.title)}", *(one for one in drawn if one)])

    def part(self, block: Block, level: str = "##") -> str:
        """A part of the first page."""
        if not isinstance(block, Folded):
            return self.block(block)
        return "\n\n".join([f"{level} {escaped(block.title)}", *(one for one in map(self.block, block.blocks) if one)])

    def block(self, block: Block) -> str:
        """Empty for depth, which is in the other forms."""
        match block:
            case Paragraph():
                return escaped(block.text)
            case Subheading():
                return f"### {escaped(block.text)}"
            case Bullets():
                return _bullets(block.items)
            case Facts():
                return "\n".join(f"- **{escaped(name)}**: {escaped_within_a_line(told)}" for name, told in block.pairs)
            case Table():
                return _table(block, self.say)
            case Code():
                return f"```\n{block.text}\n```"
            case Figure() if self.document is not None:
                from bdt_core.report.figures import figure_svg

                svg = figure_svg(self.document, block.name)
                data = base64.b64encode(svg.encode()).decode()
                alt = escaped(block.alt).replace("]", r"\]")  # of an interval; it would end here
                return f"![{alt}](data:image/svg+xml;base64,{data})"
            case Figure() | Folded():
                return ""


def _bullets(items: tuple[str, ...]) -> str:
    return "\n".join(f"- {escaped(one)}" for one in items)


def _more_rows(hidden: int) -> str:
    message = "{N} more row stands in the other forms." if hidden == 1 else "{N} more rows stand in the other forms."
    return say(message, N=words.count(hidden))


def _table(table: Table, say: Callable[[str], str]) -> str:
    head = "| " + " | ".join(escaped(one.label) for one in table.columns) + " |"
    rule = "|" + "|".join("--:" if one.number else "---" for one in table.columns) + "|"
    rows = ["| " + " | ".join(_cell(one) for one in row) + " |" for row in table.rows[:_MOST_ROWS]]
    hidden = len(table.rows) - len(rows)
    more = ["\n" + say(_more_rows(hidden))] if hidden > 0 else []
    return "\n".join([f"**{escaped(table.caption)}**\n", head, rule, *rows, *more])


def _cell(cell: Cell) -> str:
    parts = [cell.text, f"({cell.note})" if cell.note else "", f"[{cell.tag}]" if cell.tag else ""]
    return escaped(" ".join(one for one in parts if one))


def escaped(words: str) -> str:
    """Text that Markdown shows as it is, on one line; a name calls nobody and links nowhere."""
    return _SPECIAL_AT_A_START.sub(r"\\\1", escaped_within_a_line(words))


def escaped_within_a_line(words: str) -> str:
    """The same for a text that begins no line, such as a cell."""
    return _LINKS.sub("\u2060", _SPECIAL.sub(r"\\\1", " ".join(without_controls(words).split())))
