"""Phrases that several sections share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

from bdt_core import words
from bdt_core.said import Numeral, first_of, joined, like, of_ours, say

if TYPE_CHECKING:
    from bdt_core.inference import Comparison

_T = TypeVar("_T")
MOST_DISTINCT = 65_536
"""More different values than these are not counted; `bdt_core.table.facts` has the same number."""


def asked(part: _T | None) -> _T:
    """A part of the document, or a number in it, that is drawn and so was asked for."""
    assert part is not None
    return part


def whole(phrase: str) -> str:
    """A text that is not torn apart at a line's end."""
    return like(phrase, phrase.replace(" ", "\u00a0"))


def sentence(text: str) -> str:
    """A text that somebody wrote, with a capital at its start and a full stop at its end.

    Examples
    --------
    >>> sentence("who gets a loan"), sentence("Why?")
    ('Who gets a loan.', 'Why?')
    """
    return words.capital(text) + ("" if text.endswith((".", "?", "!")) else ".")


def finite(x: Any) -> TypeGuard[float]:
    """Whether something is a number, and no infinity."""
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)


def short_hash(text: str) -> str:
    """Eight digits that a text is known by, in every audit and language.

    Examples
    --------
    >>> short_hash("worst_groups sex is f")
    'd2f51e0f'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def raw(x: words.Number | int) -> str:
    """A number for machines: six digits, a point; nothing where there is none.

    Examples
    --------
    >>> raw(0.448123456), raw(1795), raw(None), raw("Infinity")
    ('0.448123', '1795', '', 'Infinity')
    """
    return "" if x is None else f"{x:.6g}" if isinstance(x, float) else str(x)


def level(share: float) -> str:
    """A confidence level.

    Examples
    --------
    >>> level(0.95), level(1 - 0.001)
    ('95 %', '99.9 %')
    """
    return Numeral(f"{share * 100:.4g} %")


_STEPS = 3


def who_is_in(rule: str, precision: words.Number, recall: words.Number, path: Sequence[str]) -> str:
    """A cluster in words: its rule, with how well it fits, or where no rule does, the path of splits that led to it.

    Examples
    --------
    >>> who_is_in("age up to 27", 0.93, 0.81, ["age lower: mean 23 against 41"])
    'age up to 27 (93.0 % of these people are in it; covers 81.0 %)'
    >>> who_is_in("age up to 27", 0.93, 0.3, ["age lower: mean 23 against 41"])
    'no short rule fits; how it came about: age lower: mean 23 against 41'
    """
    if words.rule_fits(precision, recall):
        right, named = words.percent(precision), words.percent(recall)
        return say("{rule} ({N} of these people are in it; covers {Nall})", rule=rule, N=right, Nall=named)
    steps = [first_of(one, "; ") for one in path]
    more = len(steps) - _STEPS
    shown = steps[:_STEPS]
    if more > 0:
        shown.append(say("1 more split") if more == 1 else say("{N} more splits", N=words.count(more)))
    return say("no short rule fits; how it came about: {path}", path=joined(shown, " → ") or words.NOTHING)


def events_of(events: float, rows: float) -> str:
    """How many of some rows, in one line."""
    return whole(say("{N} of {Nall}", N=words.count(int(events)), Nall=words.count(int(rows))))


def train_and_test(part: Any) -> str:
    """Train rows and test rows of a part of the table, in one line."""
    return whole(say("{N} + {Nother}", N=words.count(part.train_rows), Nother=words.count(part.test_rows)))


def interval_note(comparison: Comparison, unit: words.Unit) -> str:
    """A difference's interval, for the smaller line of a table's cell."""
    return whole(words.interval(comparison.low, comparison.high, confidence=comparison.confidence, unit=unit))


def rows_and_events(comparison: Comparison, side: Literal["a", "b"]) -> tuple[str, str | None]:
    """Rows of a side, and those of them with the event where there is one."""
    rows, events = (comparison.n_a, comparison.events_a) if side == "a" else (comparison.n_b, comparison.events_b)
    return words.count(rows), None if events is None else words.count(events)


def rows_told(comparison: Comparison, side: Literal["a", "b"]) -> str:
    """Rows of a side in one line; of a two-valued bias variable, how many of them have the event."""
    rows, events = rows_and_events(comparison, side)
    if events is None:
        return whole(say("{N} rows", N=rows))
    return whole(say("{N} of {Nall}" if comparison.persons is None else "{N} of {Nall} rows", N=events, Nall=rows))


def persons_told(comparison: Comparison, side: Literal["a", "b"]) -> str:
    """Whose rows those of a side are, in one line."""
    return whole(say("of {N} persons", N=asked(persons_of(comparison, side))))


def persons_of(comparison: Comparison, side: Literal["a", "b"]) -> str | None:
    """How many persons the rows of a side are of, where each may have several."""
    persons = comparison.persons
    return None if persons is None else words.count(persons.a if side == "a" else persons.b)


def more_than_counted(distinct: int | None) -> str:
    """A number of different values, which is not known when it is large."""
    if distinct is None:
        return say("more than {N}", N=words.count(MOST_DISTINCT))
    return words.count(distinct)


def correction_words(correction: str) -> str:
    """How several tests at once are allowed for."""
    phrase = {
        "holm": "p-values corrected by Holm's method",
        "bonferroni": "p-values corrected by Bonferroni's method",
        "bh": "p-values corrected by Benjamini and Hochberg's method (false discovery rate)",
        "none": "p-values not corrected for their number",
    }.get(correction, f"correction: {correction}")
    return of_ours(phrase)


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence; after the first few only how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b and 1 more')
    """
    more = len(names) - most
    first = joined(names[:most], ", ")
    return first if more <= 0 else say("{several} and {N} more", several=first, N=words.count(more))
