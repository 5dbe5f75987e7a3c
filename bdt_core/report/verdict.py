"""Meaning of the verdict, and what is to be kept in mind with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.said import of_ours, say

if TYPE_CHECKING:
    from bdt_core.report.document import Document
    from bdt_core.verdict import LimitOutcome, Row


def verdict_meaning(document: Document) -> str:
    """What the verdict means; a limit that is judged by the value alone says nothing about chance.

    Where all limits hold, each of them has to bear what is said; else the one that decides.
    """
    verdict = document.verdict.verdict
    if document.verdict.held_back and verdict == "inconclusive":
        return words.HELD_BACK
    if document.spec["require"] == "majority" and document.gate:
        every = all(one.verdict == "pass" for one in document.gate)
        return words.EVERY_LIMIT_HOLDS if every else words.MAJORITY_MEANINGS[verdict]
    decide = [one for one in document.gate if verdict == "pass" or one.sentence == document.verdict.sentence]
    from bdt_core.verdict import kind_of  # loads numpy, which not every form needs

    meanings = (kind_of(limit).meaning(limit) for limit in decide)
    return next((meaning for meaning in meanings if meaning is not None), words.VERDICT_MEANINGS[verdict])


def row(document: Document, outcome: LimitOutcome) -> Row:
    """A limit's row in the table of limits."""
    from bdt_core.verdict import kind_of  # loads numpy, which not every form needs

    return kind_of(outcome).row(outcome, document)


def remarks(document: Document) -> list[str]:
    """What is to be kept in mind, and what makes the intersections unfit to decide on."""
    slices = document.slices
    return [
        *document.warnings,
        *(say("Intersections: {what}", what=of_ours(one)) for one in (slices.warnings if slices else ())),
    ]
