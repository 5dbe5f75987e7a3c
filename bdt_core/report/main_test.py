"""The most deviating cluster in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.report.wording import of_persons, rows_and_events

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import Document


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
