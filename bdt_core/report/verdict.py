"""Meaning of the verdict, and what is to be kept in mind with it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.said import of_ours, say

if TYPE_CHECKING:
    from bdt_core.report.document import Document
    from bdt_core.verdict import LimitOutcome, Row

_REPEATED = re.compile(r"([\d,]+) of ([\d,]+) rows(?: looked at)? are the same as another one in every column")
_NEARLY = re.compile(r"([\d,]+) of ([\d,]+) rows(?: looked at)? are nearly the same as another one")
_ONE_OF_EACH = "One of each is audited"


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


def repeated_in(warnings: Iterable[str]) -> tuple[int, int] | None:
    """How many rows are named as copies among the warnings of a table, and of how many; None where none are.

    Examples
    --------
    >>> repeated_in(["2,000 of 2,500 rows are the same as another one in every column, far more than chance ..."])
    (2000, 2500)
    """
    for warning in warnings:
        if match := _REPEATED.match(warning):
            return _counts(match)
    return None


def nearly_repeated_in(warnings: Iterable[str]) -> tuple[int, int, bool] | None:
    """How many rows are named as near copies, of how many, and whether only one of each was audited; None without any.

    Examples
    --------
    >>> nearly_repeated_in(["20 of 25 rows are nearly the same as another one, in all but ... One of each is audited"])
    (20, 25, True)
    """
    for warning in warnings:
        if match := _NEARLY.match(warning):
            return *_counts(match), _ONE_OF_EACH in warning
    return None


def _counts(match: re.Match[str]) -> tuple[int, int]:
    some, of_all = (int(digits.replace(",", "")) for digits in match.groups())
    return some, of_all
