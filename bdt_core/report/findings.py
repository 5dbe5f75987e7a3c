"""Findings in sentences: who fares worse, how surely, and what remains among people alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.names import Names
from bdt_core.said import Column, joined, of_ours, say

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import Certificate
    from bdt_core.inference.alike import AlikeComparison
    from bdt_core.ranking import Finding, Findings
    from bdt_core.report.document import Document

_ALSO_SHOWN = 3


def unit_of(finding: Finding, unit: words.Unit) -> words.Unit:
    """Gaps of local bias are rates, all others in the unit of the bias variable."""
    return "rate" if finding.found_by == "local_bias" else unit


def measured_in(document: Document) -> str | None:
    """The unit of numbers and differences of the bias variable, where readers gave one; a rate has its own."""
    return None if document.bias_variable.unit == "rate" else Names(document.spec).unit


def nobody(found: Findings | None) -> str:
    """That no finding is confirmed; with legitimate factors people were compared with people alike in those."""
    if found is None or not found.legitimate:
        return say("Nobody is confirmed to fare worse than everybody else.")
    factors = words.listing([Column(factor) for factor in found.legitimate])
    return say("Nobody is confirmed to fare worse than people alike in {list}.", list=factors)


def at_first_sight(found: Findings | None, unit: words.Unit, short: str) -> str:
    """Who fares worst for certain when nothing is allowed for, and that people must judge it; empty without any."""
    if found is None or not found.at_first_sight:
        return ""
    first = found.at_first_sight[0]
    own = unit_of(first, unit)
    told = (
        f"At first sight {first.who} ({words.count(first.rows)} {found.counted}, {words.percent(first.share)}): "
        f"{short} {words.value(first.mean_inside, own)}, everybody else {words.value(first.mean_outside, own)}."
    )
    alike = first.remaining
    if alike is not None and alike.has_people_alike and alike.remaining_low <= 0.0:
        told += f" Among people alike in {words.listing(found.legitimate)} nothing is proven to remain."
    return f"{told} Whether these facts may explain it is for people to judge."


def headline(found: Findings | None, ruled_out: Certificate | None, unit: words.Unit, short: str) -> str:
    """The first finding; without any, what can be ruled out and what cannot."""
    if found is not None and found.first is not None:
        return finding_sentence(found.first, found, unit, short)
    raw = at_first_sight(found, unit, short)
    none = nobody(found) + (f" {raw}" if raw else "")
    if ruled_out is None:
        return none
    than = "people like them" if found is not None and found.legitimate else "everybody else"
    return (
        f"{none} Ruled out, with {ruled_out.confidence * 100:.4g} % confidence, is a group of "
        f"{words.percent(ruled_out.min_share)} to {words.percent(ruled_out.max_share)} of the people that up to "
        f"{ruled_out.max_conditions} conditions describe "
        f"and that fares worse in {short} than {than} by more than "
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
    before = "" if not one.groups_before else f" in the group{'s' * (one.groups_before > 1)} found before"
    told = (
        f"{words.capital(one.who)} ({words.count(one.rows)} {found.counted}, {words.percent(one.share)}): "
        f"{name} {words.value(one.mean_inside, unit)}, {others} {words.value(one.mean_outside, unit)}"
    )
    if one.remaining is None and before and one.mean_alike is not None:
        return (
            f"{told}. Among people alike{before} they fare {words.size(one.difference, unit)} worse in {name}, "
            f"at least {words.size(one.low, unit)}."
        )
    if one.remaining is None:
        return f"{told}: {words.size(one.difference, unit)} worse, at least {words.size(one.low, unit)}."
    alike = one.remaining
    if one.only_among_alike:
        told = f"At first sight no worse off: {one.who}{told[len(one.who) :]}"
    return (
        f"{told}. Among people alike in {words.listing(found.legitimate)}{' and' * bool(before)}{before} they fare "
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
    rest = [say("and {N} more", N=words.count(more))] if more > 0 else []
    return joined([*map(of_ours, one.also[:_ALSO_SHOWN]), *rest], "; ")
