"""The most deviating cluster in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.report.wording import persons_of, rows_and_events
from bdt_core.said import Numeral, of_ours, say

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import Document


def key_numbers(document: Document) -> tuple[tuple[str, str], ...]:
    """Names and values of its main test; none where it was not tested."""
    comparison, splits = document.primary_test.deciding, document.primary_test.repeated_splits
    if comparison is None or comparison.status != "tested":
        return ()
    variable, unit = document.bias_variable, document.bias_variable.unit
    measured = of_ours(variable.short)
    who = (
        say("{short} in cluster 0", short=measured)
        if splits is None
        else say("{short} in cluster 0, {N} splits together", short=measured, N=words.count(len(splits.p_values)))
    )
    numbers = [
        _number(who, words.value(comparison.mean_a, unit), _events(comparison, "a")),
        _number(say("everybody else"), words.value(comparison.mean_b, unit), _events(comparison, "b")),
        _number(
            say("difference in points") if unit == "rate" else say("difference"),
            words.signed(comparison.difference, unit),
            _interval(comparison, unit),
        ),
    ]
    if comparison.ratio is not None:
        low, high = words.number(comparison.ratio_low), words.number(comparison.ratio_high)
        note = _within(comparison, low, high) if comparison.ratio_low is not None else ""
        numbers.append(_number(say("ratio"), words.number(comparison.ratio), note))
    else:
        numbers.append(_number(say("effect size"), words.number(comparison.effect_size), comparison.effect_name or ""))
    numbers.append(_number(say("p-value"), words.p_number(comparison.p_value), comparison.test or ""))
    numbers.append(
        _number(
            say("smallest difference to be seen"),
            words.size(comparison.minimum_detectable_difference, unit),
            say("with 80 % power, in these rows"),
        )
    )
    return tuple(numbers)


def _number(label: str, value: str, note: str = "") -> tuple[str, str]:
    return label, say("{value} ({note})", value=value, note=of_ours(note)) if note else value


def _events(comparison: Comparison, side: Literal["a", "b"]) -> str:
    rows, events = rows_and_events(comparison, side)
    persons = persons_of(comparison, side)
    if events is None:
        if persons is None:
            return say("{N} test rows", N=rows)
        return say("{N} test rows of {Npersons} persons", N=rows, Npersons=persons)
    if persons is None:
        return say("{N} of {Nrows} test rows", N=events, Nrows=rows)
    return say("{N} of {Nrows} test rows of {Npersons} persons", N=events, Nrows=rows, Npersons=persons)


def _interval(comparison: Comparison, unit: words.Unit) -> str:
    return _within(comparison, words.signed(comparison.low, unit), words.signed(comparison.high, unit))


def _within(comparison: Comparison, low: str, high: str) -> str:
    level = Numeral(f"{comparison.confidence * 100:.4g}")
    return say("{N} % interval {low} to {high}", N=level, low=low, high=high)
