"""Are declared groups treated alike? The fairness criteria over all groups, and the composite score."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import Cell, Table, cells, columns
from bdt_core.report.wording import asked, whole
from bdt_core.report.wording_groups import CRITERIA, RATE_NAMES, lowest_and_highest, rate_value, span

if TYPE_CHECKING:
    from bdt_core.fairness.score_calculator import BiasScore
    from bdt_core.report.document import Facet, GroupRange

_NAMED = 3


def criteria_table(facet: Facet, confidence: str) -> Table:
    """Every criterion with the range over the groups, its test, and what they say."""
    found = {one.metric: one for one in facet.ranges}
    return Table(
        f"Are the groups of {facet.facet} alike? Largest less smallest, and smallest over largest, with "
        f"{confidence} intervals that hold for all pairs of groups at once",
        columns("Criterion", "Lowest and highest", "#Difference", "#Ratio", "#p, corrected", "Finding"),
        tuple(
            _criterion_row(facet, name, found[f"{name}_difference"], found[f"{name}_ratio"])
            for name in CRITERIA
            if f"{name}_difference" in found
        ),
    )


def _criterion_row(facet: Facet, name: str, difference: GroupRange, ratio: GroupRange) -> tuple[Cell, ...]:
    criterion = CRITERIA[name]
    asks = [criterion.asks, _without(difference.left_out)]
    return cells(
        Cell(criterion.name, note="; ".join(one for one in asks if one)),
        _ends(facet, criterion.rate, difference.left_out),
        _range_cell(difference, criterion.unit),
        _range_cell(ratio, None),
        words.p_number(difference.p_adjusted),
        _finding(difference, criterion.unit),
    )


def _ends(facet: Facet, rate: str | None, left_out: Sequence[str]) -> Cell:
    """The groups between which a rate ranges."""
    ends = lowest_and_highest(facet, rate, left_out) if rate else None
    if rate is None or ends is None:
        return Cell(words.NOTHING)
    low, high = (f"{one.group} {whole(rate_value(rate, estimate))}" for one, estimate in ends)
    return Cell(f"{low} to {high}")


def _without(names: Sequence[str]) -> str:
    if not names:
        return ""
    if len(names) > _NAMED:
        return f"without {words.count(len(names))} groups, for too few rows"
    return f"without {', '.join(names)}, for too few rows"


def _range_cell(one: GroupRange, unit: words.Unit | None) -> Cell:
    """A difference in its unit, or a ratio."""
    if one.estimate is None:
        return Cell("undefined", note=one.undefined_reason or "", tone="muted")
    low, high = (words.size(x, unit).removesuffix(" points") if unit else words.number(x) for x in (one.low, one.high))
    told = words.size(one.estimate, unit) if unit else words.number(one.estimate)
    return Cell(told, note=span(low, high))


def _finding(one: GroupRange, unit: words.Unit) -> Cell:
    """What test and interval say of a criterion; that nothing was seen is never called equality."""
    if one.estimate is None:
        return Cell("not testable", tone="muted")
    apart = one.low not in (None, 0.0)
    significant = apart if one.significant is None else one.significant
    if significant and apart:
        return Cell("groups differ", note=f"by {words.size(one.low, unit)} or more", tone="harm")
    if significant:
        return Cell("groups differ", note="the intervals cannot tell which ones", tone="harm")
    if apart:
        return Cell("cannot tell", note="not significant after the correction for all criteria", tone="muted")
    if one.high == math.inf:
        return Cell("cannot tell", note="any difference fits these rows", tone="muted")
    return Cell("cannot tell", note=f"a difference of up to {words.size(one.high, unit)} fits these rows", tone="muted")


def score_sentences(score: BiasScore) -> str:
    """The composite score, what it would be by chance alone, and whose rates make it."""
    if score.score is None:
        told = [f"The composite bias score is undefined: {score.undefined_reason}."]
    else:
        told = [f"{_score_with_interval(score)}{_noise_floor(score)}", *_extremes(score)]
    if score.excluded:
        told.append(f"This score is {_without(score.excluded)}.")
    return " ".join([*told, *score.warnings])


def _score_with_interval(score: BiasScore) -> str:
    interval = ""
    if score.low is not None:
        ends = f"{words.number(score.low)} to {words.number(score.high)}"
        interval = f" [{asked(score.confidence) * 100:.4g} % CI {ends}]"
    value = words.number(score.score)
    return f"The composite bias score, where 0 is no bias and higher is worse, is {value}{interval}: {score.severity}"


def _noise_floor(score: BiasScore) -> str:
    if score.noise_high is None:
        return "."
    mean, floor = words.number(score.noise_mean), words.number(score.noise_high)
    chance = f"without any bias, groups of these sizes have {mean} on average by chance, and 95 % of them up to {floor}"
    if asked(score.score) < score.noise_high:
        return f"; yet {chance}, so this score is no sign of bias."
    return f"; {chance}, which this score exceeds."


def _extremes(score: BiasScore) -> Iterator[str]:
    """Who has the lowest and who the highest rate in each part of the score."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for one in score.parts:
        if one.value:
            pairs.setdefault((one.lowest, one.highest), []).append(RATE_NAMES[one.name].lower())
    for (lowest, highest), rates in pairs.items():
        several = f"{', '.join(rates[:-1])} and {rates[-1]}" if rates[1:] else rates[0]
        yield f"Lowest for {lowest} and highest for {highest}: {several}."
