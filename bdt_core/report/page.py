"""The document put into words: what every printed form says, written once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bdt_core.report.blocks import Folded, Page, Paragraph, Section
from bdt_core.report.declared import all_stand_in_groups
from bdt_core.report.first_page import first_page, first_section, words_of_forms
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.report.prose import language_of, section

if TYPE_CHECKING:
    from bdt_core.report.document import Printed

BODY = ("remarks", "findings", "declared", "groups", "selection_rules", "gate", "trust")
"""Sections for whoever wants to know more than the first page says, in their order."""
ANNEX = (
    "worst_groups",
    "calibration",
    "clusters",
    "differences",
    "proxies",
    "rates",
    "numbers",
    "classes",
    "pooled_groups",
    "characteristics",
    "slices",
    "local_bias",
    "mitigation",
    "tree",
    "original",
    "data",
    "method",
    "repeat",
)
"""Sections for experts: everything else, and nothing that the body has said."""
OF_CLUSTERS = ("clusters", "differences", "proxies", "tree", "original")
"""Sections that stand there where clusters were searched."""
PUBLISHED_BODY = ("remarks", "findings", "declared", "groups", "selection_rules", "gate")
PUBLISHED_ANNEX = ("rates", "publication")
"""Sections of the form for publication."""


def build_page(document: AnyDocument) -> Page:
    """Put the document into words and tables.

    Parameters
    ----------
    document : dict
        The report as data; fresh or read back from report.json, which gives the same page.

    Returns
    -------
    Page
        Texts are safe to print but not escaped: each printed form escapes in its own way.
    """
    return printed(document).once("page", page_of)


def page_of(document: Printed) -> Page:
    """A document that is safe to print, in words and tables."""
    front = first_page(document)
    return Page(
        name=document.spec.get("title") or document.name,
        language=language_of(document),
        verdict=document.verdict.verdict,
        day=None if front.tested_on is None else front.tested_on.isoformat(),
        first=first_section(document),
        words=words_of_forms(document),
        body=body_of(document),
        annex=_sections((*_moved(document), *ANNEX) if document.publication is None else PUBLISHED_ANNEX, document),
    )


def body_of(document: Printed) -> tuple[Section, ...]:
    """What stands between the first page and the annex."""
    names = BODY if document.publication is None else PUBLISHED_BODY
    return _sections(tuple(name for name in names if name not in _moved(document)), document)


def open_parts(sections: tuple[Section, ...]) -> tuple[tuple[Section, ...], tuple[str, ...]]:
    """What of sections stands open where a form can fold, and the titles of what is folded.

    A section that has nothing but words beside what is folded is folded as a whole.
    """
    kept: list[Section] = []
    folded: list[str] = []
    for each in sections:
        parts = [block for block in each.blocks if isinstance(block, Folded)]
        others = tuple(block for block in each.blocks if not isinstance(block, Folded))
        if parts and all(isinstance(block, Paragraph) for block in others):
            folded.append(each.title)
        else:
            kept.append(replace(each, blocks=others))
            folded += [block.title for block in parts]
    return tuple(kept), tuple(folded)


def _moved(document: Printed) -> tuple[str, ...]:
    """Sections of the body that stand in the annex, as another one has told most of it."""
    return ("declared",) if document.publication is None and all_stand_in_groups(document) else ()


def _sections(names: tuple[str, ...], document: Printed) -> tuple[Section, ...]:
    kept = names if document.search is not None else [name for name in names if name not in OF_CLUSTERS]
    drawn = (section(name, document) for name in kept)
    return tuple(one for one in drawn if one is not None)
