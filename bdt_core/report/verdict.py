"""What the verdict means, and what is to be kept in mind with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words

if TYPE_CHECKING:
    from bdt_core.report.document import Document


def verdict_meaning(document: Document) -> str:
    """What the verdict means; a limit that is judged by the value alone says nothing about chance."""
    verdict = document.verdict
    if document.spec["require"] == "majority" and document.gate:
        return words.MAJORITY_MEANINGS[verdict.verdict]
    decides = next((one for one in document.gate if one.sentence == verdict.sentence), None)
    if getattr(decides, "rule", None) == "point":
        return words.POINT_MEANINGS.get(verdict.verdict, words.VERDICT_MEANINGS[verdict.verdict])
    return words.VERDICT_MEANINGS[verdict.verdict]


def remarks(document: Document) -> list[str]:
    """What is to be kept in mind, and what makes the intersections unfit to decide on."""
    slices = document.slices
    return [*document.warnings, *(f"Intersections: {one}" for one in (slices.warnings if slices else ()))]
