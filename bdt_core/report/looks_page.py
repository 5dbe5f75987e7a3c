"""Page on all looks of a ledger: when, with which answer, and what was changed from each to the next."""

from __future__ import annotations

import json

from bdt_core.report.catalogue import sayings
from bdt_core.report.prose import read_in
from bdt_core.report.section_page import SectionPage
from bdt_core.sealed.looks import LookHistory
from bdt_core.sentences import sentences_of


def looks_as_page(history: LookHistory, language: str = "en") -> SectionPage:
    """The page, which has all forms.

    Parameters
    ----------
    history : LookHistory
    language : str
        Of the readers.
    """
    section = read_in(language, "looks", say=sayings(language), history=history)
    assert section is not None  # it always has a title
    data = json.loads(history.model_dump_json()) | {"sentences": sentences_of(history.model_dump())}
    banner = "fail" if history.problems else "pass"
    return SectionPage(section, data, language, banner, foot=history.name or "")
