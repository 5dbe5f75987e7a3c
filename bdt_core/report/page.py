"""The document put into words: what every printed form says, written once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.report.blocks import KeyNumber, Page
from bdt_core.report.clusters import own
from bdt_core.report.printed import AnyDocument, printed
from bdt_core.report.prose import section
from bdt_core.report.wording import of_persons, rows_and_events

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import Document

CAUTION = (
    "A deviation is a starting point for human experts, not a proof of discrimination. The numbers say that a group "
    "fares differently and how sure that is; whether that is justified, and what causes it, they cannot say."
)
_STABILITY = {
    "stable": "Other draws of the rows give the same cluster: its outline is stable",
    "moderately stable": "Other draws of the rows give a similar cluster: take its outline as approximate",
    "do not interpret": "Other draws of the rows give other people: this is no group that is found again. Its test on "
    "the test rows is no less valid, but who exactly is in it should not be interpreted",
}
SECTIONS = (
    "findings",
    "worst_groups",
    "clusters",
    "gate",
    "differences",
    "proxies",
    "groups",
    "selection_rules",
    "pooled_groups",
    "characteristics",
    "slices",
    "local_bias",
    "mitigation",
    "trust",
    "tree",
    "original",
    "data",
    "method",
    "repeat",
)
PUBLISHED = ("findings", "gate", "groups", "publication")
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


def page_of(document: Document) -> Page:
    """A document that is safe to print, in words and tables."""
    variable, verdict = document.bias_variable, document.verdict
    return Page(
        name=document.name,
        subtitle=f"Bias variable: {variable.name}, the {variable.description}. "
        f"{words.capital(variable.better)} is better.",
        verdict=verdict.verdict,
        verdict_word=words.VERDICT_WORDS[verdict.verdict],
        verdict_sentence=verdict.sentence,
        verdict_meaning=_meaning(document),
        warnings=(*document.warnings, *_in_sample(document)),
        headline=document.summary.headline,
        findings=document.summary.findings[1:],
        cluster=document.summary.cluster,
        key_numbers=_key_numbers(document),
        how_sure=tuple(_how_sure(document)),
        apart=tuple(document.summary.what_sets_apart),
        caution=CAUTION,
        sections=tuple(
            one
            for name in (SECTIONS if document.publication is None else PUBLISHED)
            if (one := section(name, document)) is not None
        ),
    )


def _meaning(document: Document) -> str:
    """What the verdict means; a limit that is judged by the value alone says nothing about chance."""
    verdict = document.verdict
    if document.spec["require"] == "majority" and document.gate:
        return words.MAJORITY_MEANINGS[verdict.verdict]
    decides = next((one for one in document.gate if one.sentence == verdict.sentence), None)
    if getattr(decides, "rule", None) == "point":
        return words.POINT_MEANINGS.get(verdict.verdict, words.VERDICT_MEANINGS[verdict.verdict])
    return words.VERDICT_MEANINGS[verdict.verdict]


def _in_sample(document: Document) -> list[str]:
    """What makes the intersections unfit to decide on."""
    slices = document.slices
    return [f"Intersections: {one}" for one in slices.warnings] if slices else []


def _key_numbers(document: Document) -> tuple[KeyNumber, ...]:
    comparison, splits = document.primary_test.deciding, document.primary_test.repeated_splits
    if comparison is None or comparison.status != "tested":
        return ()
    variable, unit = document.bias_variable, document.bias_variable.unit
    several = "" if splits is None else f", {len(splits.p_values)} splits together"
    who = f"{variable.short} in cluster 0{several}"
    found = [
        KeyNumber(who, words.value(comparison.mean_a, unit), _events(comparison, "a")),
        KeyNumber("everybody else", words.value(comparison.mean_b, unit), _events(comparison, "b")),
        KeyNumber(
            "difference" + (" in points" if unit == "rate" else ""),
            words.signed(comparison.difference, unit),
            _interval(comparison, unit),
        ),
    ]
    if comparison.ratio is not None:
        low, high = words.number(comparison.ratio_low), words.number(comparison.ratio_high)
        note = f"{_confidence(comparison)} {low} to {high}" if comparison.ratio_low is not None else ""
        found.append(KeyNumber("ratio", words.number(comparison.ratio), note))
    else:
        found.append(KeyNumber("effect size", words.number(comparison.effect_size), comparison.effect_name or ""))
    found.append(KeyNumber("p-value", words.p_number(comparison.p_value), comparison.test or ""))
    found.append(
        KeyNumber(
            "smallest difference to be seen",
            words.size(comparison.minimum_detectable_difference, unit),
            "with 80 % power, in these rows",
        )
    )
    return tuple(found)


def _how_sure(document: Document) -> list[str]:
    """What speaks for and against taking cluster 0 at its word; the section on trust says more."""
    unit = document.bias_variable.unit
    points = " points" if unit == "rate" else ""
    told = []
    shrinkage, stability = document.primary_test.shrinkage, document.clusters[0].stability
    if shrinkage:
        train, test = (words.signed(own(document, x), unit) for x in (shrinkage.train_gap, shrinkage.test_gap))
        told.append(
            f"The search saw a difference of {train}{points} on its own rows; on rows that it never saw it is "
            f"{test}{points}."
        )
    if shrinkage and stability:
        told.append(f"{_STABILITY[stability.word]} (mean Jaccard similarity {words.number(stability.jaccard)}).")
    return told


def _events(comparison: Comparison, side: Literal["a", "b"]) -> str:
    rows, events = rows_and_events(comparison, side)
    told = f"{rows} test rows{of_persons(comparison, side)}"
    return told if events is None else f"{events} of {told}"


def _interval(comparison: Comparison, unit: words.Unit) -> str:
    low, high = words.signed(comparison.low, unit), words.signed(comparison.high, unit)
    return f"{_confidence(comparison)} {low} to {high}"


def _confidence(comparison: Comparison) -> str:
    return f"{comparison.confidence * 100:.4g} % interval"
