"""Samples that are drawn once for all tests of a process."""

from __future__ import annotations

import io
import re
from functools import cache

import pypdf

from bdt_core.report import figure_svg, render_html, render_pdf
from bdt_core.report.figures import figure_names
from tests.core.report.sample_depth import DEEP
from tests.core.report.sample_document import DOCUMENTS

SAMPLES = {**DOCUMENTS, **DEEP}


@cache
def figures_of(name: str) -> dict[str, str]:
    """A sample's figures as SVG."""
    document = SAMPLES[name]()
    return {one: figure_svg(document, one) for one in figure_names(document)}


@cache
def html_of(name: str) -> str:
    """A sample as HTML."""
    return render_html(SAMPLES[name]())


@cache
def pdf_of(name: str) -> bytes:
    """A sample as PDF."""
    return render_pdf(SAMPLES[name](), figures_of(name))


@cache
def pdf_words(name: str) -> str:
    """What a sample says in print."""
    pages = pypdf.PdfReader(io.BytesIO(pdf_of(name))).pages
    return re.sub(r"\s+", " ", " ".join(page.extract_text() for page in pages).replace("\u200b", ""))
