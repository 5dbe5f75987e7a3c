"""One section as a page of its own, and its forms: HTML, PDF, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bdt_core.report.blocks import Block, Folded, Section, Table
from bdt_core.report.catalogue import sayings
from bdt_core.report.write import Draw, report_bytes, write_forms


@dataclass(frozen=True)
class SectionPage:
    """A page.

    Attributes
    ----------
    section : Section
    data : dict
        What it says, as JSON-able data.
    language : str
    banner : str
        How the first part is marked: "pass", "fail" or "inconclusive", as of a verdict.
    foot : str
        What stands at the foot of the PDF's pages.
    """

    section: Section
    data: dict[str, Any]
    language: str
    banner: str
    foot: str

    def markdown(self) -> str:
        """As Markdown, every name escaped."""
        from bdt_core.report.dossier.draw import _table
        from bdt_core.report.markdown import MarkdownWriter, escaped

        def drawn(blocks: Sequence[Block]) -> Iterator[str]:
            for block in blocks:
                if isinstance(block, Folded):
                    yield f"## {escaped(block.title)}"
                    yield from drawn(block.blocks)
                else:
                    yield _table(block) if isinstance(block, Table) else MarkdownWriter().block(block)

        return "\n\n".join([f"# {escaped(self.section.title)}", *drawn(self.section.blocks)]) + "\n"

    def html(self) -> str:
        """As one HTML file without scripts, with everything in it and every text escaped."""
        from bdt_core.report.html import html_template

        form = html_template("section_page.html.jinja")
        return form.render(section=self.section, language=self.language, banner=self.banner)

    def pdf(self, notice: Callable[[str], None] | None = None) -> bytes:
        """As PDF/UA-1; the same page gives the same bytes. `notice` as in `render_pdf`."""
        from bdt_core.report.dossier.draw import form_pdf

        blocks = self.section.blocks
        parts = [Section("", "", tuple(one for one in blocks if not isinstance(one, Folded)))]
        parts += [Section("", one.title, one.blocks) for one in blocks if isinstance(one, Folded)]
        return form_pdf(self.section.title, self.foot, self.language, parts, close=True, notice=notice)

    def write(self, folder: str | Path, name: str, notice: Callable[[str], None] | None = None) -> dict[str, Path]:
        """Write all forms into a folder.

        Parameters
        ----------
        folder : str or Path
            Made when it does not exist.
        name : str
            Of the files, without their ends.
        notice : callable, optional
            See `bdt_core.report.write_reports`.

        Returns
        -------
        dict of str to Path
            Files by form: ``json``, ``html``, ``pdf``, ``md``; without those that cannot be drawn.

        Raises
        ------
        OutputError
            The folder holds other such files already, or cannot be written.
        """
        forms: dict[str, Draw] = {
            f"{name}.html": lambda _: self.html().encode(),
            f"{name}.pdf": self.pdf,
            f"{name}.md": lambda _: self.markdown().encode(),
        }
        data = {f"{name}.json": report_bytes(self.data)}
        return write_forms(Path(folder), forms, data, name, sayings(self.language), notice)
