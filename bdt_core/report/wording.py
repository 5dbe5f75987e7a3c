"""Phrases that several sections share."""

from __future__ import annotations

from typing import Any

from bdt_core import words

MOST_DISTINCT = 65_536
"""More different values than these are not counted; `bdt_core.table.facts` has the same number."""


def whole(phrase: str) -> str:
    """A text that is not torn apart at a line's end."""
    return phrase.replace(" ", "\u00a0")


def interval_note(comparison: dict[str, Any], unit: words.Unit) -> str:
    """A difference's interval, for the smaller line of a table's cell."""
    return whole(words.interval(comparison["low"], comparison["high"], confidence=comparison["confidence"], unit=unit))


def more_than_counted(distinct: int | None) -> str:
    """A number of different values, which is not known when it is large."""
    return f"more than {MOST_DISTINCT:,}" if distinct is None else words.count(distinct)


def correction_words(correction: str) -> str:
    """How several tests at once are allowed for."""
    return {
        "holm": "p-values corrected by Holm's method",
        "bonferroni": "p-values corrected by Bonferroni's method",
        "bh": "p-values corrected by Benjamini and Hochberg's method (false discovery rate)",
        "none": "p-values not corrected for their number",
    }.get(correction, f"correction: {correction}")


def strongest_level(one: dict[str, Any]) -> dict[str, Any] | None:
    """The level to show for a whole column: the largest difference, significant ones first."""
    known = [level for level in one.get("levels", ()) if level["comparison"]["difference"] is not None]
    return max(
        known, key=lambda level: (bool(level["significant"]), abs(level["comparison"]["difference"])), default=None
    )
