"""Files for others: forms of regulators and registers, filled in from a report."""

from bdt_core.report.dossier.build import EXPIRES, Answer, Dossier, FilledField, build_dossier
from bdt_core.report.dossier.cards import card
from bdt_core.report.dossier.catalogue import FORMS
from bdt_core.report.dossier.draw import dossier_html, dossier_markdown, dossier_pdf

__all__ = [
    "EXPIRES",
    "FORMS",
    "Answer",
    "Dossier",
    "FilledField",
    "build_dossier",
    "card",
    "dossier_html",
    "dossier_markdown",
    "dossier_pdf",
]
