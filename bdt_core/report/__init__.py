"""The report: one document as data, and the forms drawn from it.

What is not in the document cannot be in a printed form, and nothing here computes. Importing this package costs
nothing; the functions load what they need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.report.changes import write_changes
    from bdt_core.report.figures import figure_png, figure_svg
    from bdt_core.report.html import render_html, render_notebook
    from bdt_core.report.markdown import render_markdown
    from bdt_core.report.pdf import render_pdf
    from bdt_core.report.publication import for_publication
    from bdt_core.report.write import canonical_json, write_reports

__all__ = [
    "canonical_json",
    "figure_png",
    "figure_svg",
    "for_publication",
    "render_html",
    "render_markdown",
    "render_notebook",
    "render_pdf",
    "write_changes",
    "write_reports",
]

_HOMES = {
    "canonical_json": ".write",
    "figure_png": ".figures",
    "figure_svg": ".figures",
    "for_publication": ".publication",
    "render_html": ".html",
    "render_markdown": ".markdown",
    "render_notebook": ".html",
    "render_pdf": ".pdf",
    "write_changes": ".changes",
    "write_reports": ".write",
}
__getattr__ = loader(__name__, _HOMES)
