"""The most deviating cluster in numbers, and how far to take it at its word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.report.clusters import own
from bdt_core.report.wording import of_persons, rows_and_events

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import Document

_STABILITY = {
    "stable": "Other draws of the rows give the same cluster: its outline is stable",
    "moderately stable": "Other draws of the rows give a similar cluster: take its outline as approximate",
    "do not interpret": "Other draws of the rows give other people: this is no group that is found again. Its test on "
    "the test rows is no less valid, but who exactly is in it should not be interpreted",
}


def key_numbers(document: Document) -> tuple[tuple[str, str], ...]:
    """Names and values of its main test; none where it was not tested."""
    comparison, splits = document.primary_test.deciding, document.primary_test.repeated_splits
    if comparison is None or comparison.status != "tested":
        return ()
    variable, unit = document.bias_variable, document.bias_variable.unit
    several = "" if splits is None else f", {len(splits.p_values)} splits together"
    who = f"{variable.short} in cluster 0{several}"
    found = [
        _number(who, words.value(comparison.mean_a, unit), _events(comparison, "a")),
        _number("everybody else", words.value(comparison.mean_b, unit), _events(comparison, "b")),
        _number(
            "difference" + (" in points" if unit == "rate" else ""),
            words.signed(comparison.difference, unit),
            _interval(comparison, unit),
        ),
    ]
    if comparison.ratio is not None:
        low, high = words.number(comparison.ratio_low), words.number(comparison.ratio_high)
        note = f"{_confidence(comparison)} {low} to {high}" if comparison.ratio_low is not None else ""
        found.append(_number("ratio", words.number(comparison.ratio), note))
    else:
        found.append(_number("effect size", words.number(comparison.effect_size), comparison.effect_name or ""))
    found.append(_number("p-value", words.p_number(comparison.p_value), comparison.test or ""))
    found.append(
        _number(
            "smallest difference to be seen",
            words.size(comparison.minimum_detectable_difference, unit),
            "with 80 % power, in these rows",
        )
    )
    return tuple(found)


def how_sure(document: Document) -> list[str]:
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


def _number(label: str, value: str, note: str = "") -> tuple[str, str]:
    return label, f"{value} ({note})" if note else value


def _events(comparison: Comparison, side: Literal["a", "b"]) -> str:
    rows, events = rows_and_events(comparison, side)
    told = f"{rows} test rows{of_persons(comparison, side)}"
    return told if events is None else f"{events} of {told}"


def _interval(comparison: Comparison, unit: words.Unit) -> str:
    low, high = words.signed(comparison.low, unit), words.signed(comparison.high, unit)
    return f"{_confidence(comparison)} {low} to {high}"


def _confidence(comparison: Comparison) -> str:
    return f"{comparison.confidence * 100:.4g} % interval"
