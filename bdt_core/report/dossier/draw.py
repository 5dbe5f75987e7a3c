"""A filled-in form as Markdown and as PDF."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources

from bdt_core.report.blocks import Block, Bullets, Cell, Folded, Paragraph, Section, Table, plain
from bdt_core.report.dossier.build import Dossier
from bdt_core.report.dossier.catalogue import words_of
from bdt_core.report.letters import can_be_drawn, with_code_points
from bdt_core.report.markdown import escaped, escaped_within_a_line
from bdt_core.report.pdf import in_print, typeset, with_breaks
from bdt_core.words import each_text


def dossier_markdown(dossier: Dossier) -> str:
    """A filled-in form as Markdown; what people wrote, and names from the data, are escaped."""
    lines = [f"# {escaped(dossier.title)}", escaped(dossier.subtitle)]
    for section in dossier.sections:
        lines += [f"## {escaped(section.title)}"] if section.title else []
        lines += [_drawn(one) for one in section.blocks]
    return "\n\n".join(lines) + "\n"


def _drawn(block: Block) -> str:
    match block:
        case Paragraph():
            return escaped(block.text)
        case Bullets():
            return "\n".join(f"- {escaped(one)}" for one in block.items)
        case Table():
            return _table(block)
    raise AssertionError(block)  # forms are made of these


def _table(table: Table) -> str:
    lines = [f"**{escaped(table.caption)}**\n"] if table.caption else []
    lines.append("| " + " | ".join(escaped_within_a_line(one.label) for one in table.columns) + " |")
    lines.append("|" + "|".join("--:" if one.number else "---" for one in table.columns) + "|")
    lines += ["| " + " | ".join(_cell(one) for one in row) + " |" for row in table.rows]
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    text = escaped_within_a_line(cell.text)
    return text + (f"<br>*{escaped_within_a_line(cell.note)}*" if cell.note else "")


def dossier_html(dossier: Dossier) -> str:
    """A filled-in form as one HTML file without scripts, with everything in it and every text escaped."""
    from bdt_core.report.html import html_template

    blocks: list[Block] = [Paragraph(dossier.subtitle)]
    for section in dossier.sections:
        named = [
            replace(one, caption=one.caption or section.title) if isinstance(one, Table) else one
            for one in section.blocks
        ]
        blocks += [Folded(section.title, tuple(named))] if section.title else named
    page = Section(dossier.form, dossier.title, tuple(blocks))
    template = html_template("section_page.html.jinja")
    return template.render(section=page, language=dossier.language, banner=dossier.banner)


def dossier_pdf(dossier: Dossier, notice: Callable[[str], None] | None = None) -> bytes:
    """A filled-in form as PDF/UA-1, set by typst; the same form gives the same bytes. `notice` as in `render_pdf`."""
    return form_pdf(dossier.title, dossier.subtitle, dossier.language, dossier.sections, notice=notice)


def form_pdf(
    title: str,
    subtitle: str,
    language: str,
    sections: Sequence[Section],
    *,
    figures: Mapping[str, str] | None = None,
    close: bool = False,
    notice: Callable[[str], None] | None = None,
) -> bytes:
    """Sections as PDF/UA-1.

    Parameters
    ----------
    title, subtitle, language : str
    sections : sequence of Section
        Of facts, paragraphs, lists, tables and figures.
    figures : mapping of str to str, optional
        SVG by name.
    close : bool
        Whether it is set closely, to be one page.
    notice : callable, optional
        Called with a sentence where characters of names cannot be drawn.
    """
    said = {
        "title": title,
        "subtitle": subtitle,
        "sections": [plain(one) for one in sections],
        "figures": dict(figures or {}),
    }
    drawn = each_text(said, with_code_points)
    page = {
        **drawn,
        "sections": [with_breaks(one) for one in drawn["sections"]],
        "figures": {name: in_print(one) for name, one in drawn["figures"].items()},
        "language": language,
        "of": words_of(language)["of"],
        "close": close,
    }
    template = resources.files("bdt_core.report.dossier").joinpath("form.typ")
    is_whole = can_be_drawn(json.dumps(said, ensure_ascii=False))
    return typeset(template, page, language, is_whole=is_whole, notice=notice)
