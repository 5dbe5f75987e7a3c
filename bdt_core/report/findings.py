"""Findings in sentences: who fares worse, how surely, and what remains among people alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.names import Names
from bdt_core.said import Column, Numeral, joined, of_ours, say

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


def nobody(findings: Findings | None) -> str:
    """That no finding is confirmed; with legitimate factors people were compared with people alike in those."""
    if findings is None or not findings.legitimate:
        return say("Nobody is confirmed to fare worse than everybody else.")
    factors = words.listing([Column(factor) for factor in findings.legitimate])
    return say("Nobody is confirmed to fare worse than people alike in {list}.", list=factors)


def at_first_sight(findings: Findings | None, unit: words.Unit, short: str) -> str:
    """Who fares worst for certain when nothing is allowed for, and that people must judge it; empty without any."""
    if findings is None or not findings.at_first_sight:
        return ""
    first = findings.at_first_sight[0]
    sides = _sides(first, findings, unit_of(first, unit), short, say("everybody else"))
    sentences = [say("At first sight {what}.", what=sides)]
    alike = first.remaining
    if alike is not None and alike.has_people_alike and alike.remaining_low <= 0.0:
        sentences.append(
            say("Among {alike} nothing is proven to remain.", alike=words.people_compared_with(findings.legitimate))
        )
    return joined([*sentences, say("Whether these facts may explain it is for people to judge.")], " ")


def headline(findings: Findings | None, ruled_out: Certificate | None, unit: words.Unit, short: str) -> str:
    """The first finding; without any, what can be ruled out and what cannot."""
    if findings is not None and findings.first is not None:
        return finding_sentence(findings.first, findings, unit, short)
    sentences = [nobody(findings)]
    raw = at_first_sight(findings, unit, short)
    if raw:
        sentences.append(raw)
    if ruled_out is not None:
        has_factors = findings is not None and findings.legitimate
        sentences.append(
            say(
                "Ruled out, with {N} % confidence, is a group of {low} to {high} of the people that up to "
                "{Nconditions} conditions describe and that fares worse in {measure} than {than} by more than {size}; "
                "smaller differences are not.",
                N=Numeral(f"{ruled_out.confidence * 100:.4g}"),
                low=words.percent(ruled_out.min_share),
                high=words.percent(ruled_out.max_share),
                Nconditions=Numeral(ruled_out.max_conditions),
                measure=of_ours(short),
                than=say("people like them" if has_factors else "everybody else"),
                size=words.size_at_most(ruled_out.largest_difference, unit),
            )
        )
    return joined(sentences, " ")


def finding_sentence(finding: Finding, findings: Findings, unit: words.Unit, short: str) -> str:
    """One finding.

    Parameters
    ----------
    finding : Finding
    findings : Findings
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
    unit = unit_of(finding, unit)
    name, others = short, say("everybody else")
    if finding.compared_with:
        group = words.all_of([each.words for each in finding.compared_with])
        name, others = finding.measured, say("{group} there", group=group)
    sides = _sides(finding, findings, unit, name, others)
    there = words.people_alike_in_groups(finding.groups_before) if finding.groups_before else ""
    if finding.remaining is None and not (there and finding.mean_alike is not None):
        return say(
            "{what}: {size} worse, at least {least}.",
            what=words.capital(sides),
            size=words.size(finding.difference, unit),
            least=words.size(finding.low, unit),
        )
    alike, difference, least = there, finding.difference, finding.low
    what = words.capital(sides)
    if finding.remaining is not None:
        difference, least = finding.remaining.remaining, finding.remaining.remaining_low
        alike = _also_in_groups(words.people_compared_with(findings.legitimate), finding.groups_before)
        what = say("At first sight no worse off: {what}", what=sides) if finding.only_among_alike else what
    return say(
        "{what}. Among {alike} they fare {size} worse in {measure}, at least {least}.",
        what=what,
        alike=alike,
        size=words.size(difference, unit),
        measure=of_ours(name),
        least=words.size(least, unit),
    )


def _also_in_groups(alike: str, before: int) -> str:
    """People alike in some factors who are alike in the groups found before, too."""
    if not before:
        return alike
    message = "{alike} and in the groups found before" if before > 1 else "{alike} and in the group found before"
    return say(message, alike=alike)


def _sides(finding: Finding, findings: Findings, unit: words.Unit, name: str, others: str) -> str:
    """The people, how many they are, and their mean beside that of the others."""
    return say(
        "{who} ({N} {people}, {share}): {name} {mean}, {others} {Nother}",
        who=finding.who,
        N=words.count(finding.rows),
        people=say(findings.counted),
        share=words.percent(finding.share),
        name=of_ours(name),
        mean=words.value(finding.mean_inside, unit),
        others=others,
        Nother=words.value(finding.mean_outside, unit),
    )


def intervals(alike: AlikeComparison) -> tuple[tuple[float, float], ...]:
    """Of the difference in all, of what goes with the factors, and of what remains; none where they are not told."""
    three = (
        (alike.low, alike.high),
        (alike.explained_low, alike.explained_high),
        (alike.remaining_low, alike.remaining_high),
    )
    return three if all(math.isfinite(end) for ends in three for end in ends) else ()


def on_train_rows(document: Document, finding: Finding) -> tuple[int, words.Number] | None:
    """How many of a finding's people the search saw, and their mean; None where it saw all of them."""
    seen: list[tuple[int, words.Number]] = []
    if finding.found_by == "slices" and document.slices is not None:
        seen = [(each.train_rows, each.train_value) for each in document.slices.slices if each.name == finding.who]
    elif finding.found_by == "clusters":
        seen = [(each.train_rows, each.train_mean) for each in document.clusters if each.rule.text == finding.who]
    elif finding.found_by == "local_bias" and document.local_bias is not None:
        behind, *there = finding.described
        seen = [
            (group.rows, group.value)
            for place in document.local_bias.logan.clusters
            if (
                [place.name] == list(there[0].values)
                if there
                else finding.who.endswith(f" in place {place.label} of local bias")
            )
            for group in place.train
            if group.group in behind.values
        ]
    return next(iter(seen), None)


def also(finding: Finding) -> str:
    """Which weaker findings overlap with it, the first few; empty without any."""
    if not finding.also:
        return ""
    more = len(finding.also) - _ALSO_SHOWN
    rest = [say("and {N} more", N=words.count(more))] if more > 0 else []
    return joined([*map(of_ours, finding.also[:_ALSO_SHOWN]), *rest], "; ")
