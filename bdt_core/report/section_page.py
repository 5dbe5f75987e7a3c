"""One section as a page of its own, and its forms: HTML, PDF, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bdt_core.report.blocks import Block, Folded, Section, Table
from bdt_core.report.write import report_bytes, write_together


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
        from bdt_core.report.html import _template

        form = _template().environment.get_template("section_page.html.jinja")
        return form.render(section=self.section, language=self.language, banner=self.banner)

    def pdf(self) -> bytes:
        """As PDF/UA-1; the same page gives the same bytes, if no name needs other fonts."""
        from bdt_core.report.dossier.draw import form_pdf

        blocks = self.section.blocks
        parts = [Section("", "", tuple(one for one in blocks if not isinstance(one, Folded)))]
        parts += [Section("", one.title, one.blocks) for one in blocks if isinstance(one, Folded)]
        return form_pdf(self.section.title, self.foot, self.language, parts, close=True)

    def write(self, folder: str | Path, name: str) -> dict[str, Path]:
        """Write all forms into a folder.

        Parameters
        ----------
        folder : str or Path
            Made when it does not exist.
        name : str
            Of the files, without their ends.

        Returns
        -------
        dict of str to Path
            Files by form: ``json``, ``html``, ``pdf``, ``md``.

        Raises
        ------
        OutputError
            The folder holds other such files already, or cannot be written.
        """
        forms = {
            "html": self.html().encode(),
            "pdf": self.pdf(),
            "md": self.markdown().encode(),
            "json": report_bytes(self.data),
        }
        write_together(Path(folder), {f"{name}.{form}": content for form, content in forms.items()}, name)
        return {form: Path(folder) / f"{name}.{form}" for form in ("json", "html", "pdf", "md")}
