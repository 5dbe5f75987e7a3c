"""Findings in sentences: who fares worse, how surely, and what remains among people alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.names import Names

if TYPE_CHECKING:
    from bdt_core.inference.alike import AlikeComparison
    from bdt_core.ranking import Finding, Findings
    from bdt_core.report.document import Document
    from bdt_core.scan.results import Certificate

NOBODY = "Nobody is confirmed to fare worse than everybody else."
_ALSO_SHOWN = 3


def unit_of(finding: Finding, unit: words.Unit) -> words.Unit:
    """Gaps of local bias are rates, all others in the unit of the bias variable."""
    return "rate" if finding.found_by == "local_bias" else unit


def measured_in(document: Document) -> str | None:
    """The unit of numbers and differences of the bias variable, where readers gave one; a rate has its own."""
    return None if document.bias_variable.unit == "rate" else Names(document.spec).unit


def headline(found: Findings | None, ruled_out: Certificate | None, unit: words.Unit, short: str) -> str:
    """The first finding; without any, what can be ruled out and what cannot."""
    if found is not None and found.first is not None:
        return finding_sentence(found.first, found, unit, short)
    if ruled_out is None:
        return NOBODY
    than = "people like them" if found is not None and found.legitimate else "everybody else"
    return (
        f"{NOBODY} Ruled out, with {ruled_out.confidence * 100:.4g} % confidence, is a group of at least "
        f"{words.percent(ruled_out.min_share)} of the people that fares worse in {short} than {than} by more than "
        f"{words.size(ruled_out.largest_difference, unit)}; smaller differences are not."
    )


def finding_sentence(one: Finding, found: Findings, unit: words.Unit, short: str) -> str:
    """One finding.

    Parameters
    ----------
    one : Finding
    found : Findings
        The list that it is in.
    unit : {"rate", "value"}
        Of the bias variable.
    short : str
        What the bias variable is called.

    Returns
    -------
    str
        Harm counts as positive: "22.8 points worse", whichever way the bias variable points.
    """
    unit = unit_of(one, unit)
    name, others = short, "everybody else"
    if one.compared_with:
        name, others = one.measured, f"{words.all_of([each.words for each in one.compared_with])} there"
    before = "" if not one.groups_before else f" and in the group{'s' * (one.groups_before > 1)} found before"
    if before and one.remaining is None:
        others = f"people alike{before.removeprefix(' and')}"
    told = (
        f"{words.capital(one.who)} ({words.count(one.rows)} {found.counted}, {words.percent(one.share)}): "
        f"{name} {words.value(one.mean_inside, unit)}, {others} {words.value(one.mean_outside, unit)}"
    )
    if one.remaining is None:
        return f"{told}: {words.size(one.difference, unit)} worse, at least {words.size(one.low, unit)}."
    alike = one.remaining
    return (
        f"{told}. Among people alike in {words.listing(found.legitimate)}{before} they fare "
        f"{words.size(alike.remaining, unit)} worse in {name}, at least {words.size(alike.remaining_low, unit)}."
    )


def intervals(alike: AlikeComparison) -> tuple[tuple[float, float], ...]:
    """Of the difference in all, of what goes with the factors, and of what remains; none where they are not told."""
    three = (
        (alike.low, alike.high),
        (alike.explained_low, alike.explained_high),
        (alike.remaining_low, alike.remaining_high),
    )
    return three if all(math.isfinite(end) for ends in three for end in ends) else ()


def on_train_rows(document: Document, one: Finding) -> tuple[int, words.Number] | None:
    """How many of a finding's people the search saw, and their mean; None where it saw all of them."""
    seen: list[tuple[int, words.Number]] = []
    if one.found_by == "slices" and document.slices is not None:
        seen = [(each.train_rows, each.train_value) for each in document.slices.slices if each.name == one.who]
    elif one.found_by == "clusters":
        seen = [(each.train_rows, each.train_mean) for each in document.clusters if each.rule.text == one.who]
    elif one.found_by == "local_bias" and document.local_bias is not None:
        (behind,) = one.described
        seen = [
            (group.rows, group.value)
            for place in document.local_bias.logan.clusters
            if one.who.endswith(f" in place {place.label} of local bias")
            for group in place.train
            if group.group in behind.values
        ]
    return next(iter(seen), None)


def also(one: Finding) -> str:
    """Which weaker findings overlap with it, the first few; empty without any."""
    if not one.also:
        return ""
    more = len(one.also) - _ALSO_SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    return f"{'; '.join(one.also[:_ALSO_SHOWN])}{rest}"
