"""Declared groups: how their metrics are written, what is chosen to be shown, and the figures on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bdt_core import words
from bdt_core.metrics import (
    CLARIFY,
    CRITERIA,
    GATE_METRICS,
    GROUP_METRICS,
    NUMERIC,
    RATES,
    better_side,
    compared_metrics,
    plain_name,
)
from bdt_core.report.printed import are_ordered
from bdt_core.report.sheet import FAINT, GREY, INK, SHADES, SMALL, Sheet
from bdt_core.report.wording import asked, finite
from bdt_core.said import AsItIs, Numeral, Sentence, joined, of_ours, say

if TYPE_CHECKING:
    from bdt_core.fairness.reported_groups import Facet, Group, GroupMetric, GroupRange, GroupValue, Rate
    from bdt_core.fairness.score_parts import BiasScore
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Document, Printed

_Named = TypeVar("_Named", "GroupMetric", "GroupRange")
FIGURES_SHOWN = 4
PANELS = 4
_MAP_ROWS, _MAP_COLUMNS = 20, 8
GROUPS_DRAWN = 30
_NAMES, _ROWS, _LEFT, _RIGHT, _GAP = 8.0, 134.0, 148.0, 468.0, 24.0
_BETWEEN_NUMBERS = 8.0  # on a scale, less than between those of two panels
_WIDEST_PANEL = 160.0
_ROW, _LOW_ROW = 24.0, 16.0
_SMALLEST_SPAN = 0.2  # so that small differences do not look large
_MAP_LEFT, _CELL_HEIGHT, _WIDEST_CELL = 100.0, 36.0, 110.0
_LIGHT, _DARK = (bytes.fromhex(one[1:]) for one in SHADES)


def rate_head(rate: str) -> str:
    """A rate's name where there is little room.

    Examples
    --------
    >>> rate_head("auc"), rate_head("accuracy")
    ('AUC', 'Accuracy')
    """
    return of_ours(GROUP_METRICS[rate].heading or GROUP_METRICS[rate].words)


def span(low: str, high: str) -> str:
    """An interval in the smaller line of a cell, which may be torn apart only before its second limit.

    Examples
    --------
    >>> span("0.1", "0.2")
    '[0.1 to\\xa00.2]'
    """
    low, high = (end if isinstance(end, Sentence) else Numeral(end) for end in (low, high))
    return say("[{low} to\u00a0{high}]", low=low, high=high)


def rate_value(name: str, x: words.Number) -> str:
    """A rate as a percentage; scores and errors as numbers.

    Examples
    --------
    >>> rate_value("accuracy", 0.635), rate_value("auc", 0.635)
    ('63.5 %', '0.635')
    """
    return words.percent(x) if compared_unit(name) == "rate" else words.number(x)


def rate_in_words(group: Group, rate: str) -> str:
    """A rate of a group with its interval, within a sentence."""
    group_rate = _rate_of(group, rate)
    if group_rate is None or group_rate.estimate is None:
        return of_ours("undefined")
    text, within = rate_value(rate, group_rate.estimate), limits(group_rate, rate)
    return joined([text, within], " ") if within else text


def _rate_of(group: Group, rate: str) -> Rate | None:
    return (group.rates or {}).get(rate)


def limits(group_rate: Rate, rate: str) -> str:
    """A rate's interval for a group alone; nothing where it has none."""
    if group_rate.low is None or group_rate.high is None:
        return ""
    return span(*(Numeral(rate_value(rate, x).removesuffix(" %")) for x in (group_rate.low, group_rate.high)))


def main_rates(facet: Facet) -> list[str]:
    """The rates that stand for all: those of the prediction, or of the label where nothing is predicted."""
    known = known_rates(facet)
    of = "prediction" if "selection_rate" in known else "label"
    return [one for one in known if of in GROUP_METRICS[one].shown]


def known_rates(facet: Facet) -> list[str]:
    """Every rate that some group has, in the usual order."""
    known = {name for one in facet.groups for name in one.rates or ()}
    return [name for name in GROUP_METRICS if name in known]


COMPLEMENTS = {
    "true_negative_rate": "false_positive_rate",
    "false_negative_rate": "true_positive_rate",
    "false_discovery_rate": "positive_predictive_value",
    "false_omission_rate": "negative_predictive_value",
}
"""Rates that are 1 less another one: whoever is told the other one knows them, with their intervals."""


def complements(facet: Facet) -> list[tuple[str, str]]:
    """Rates of a grouping that need no line of their own, each with the one that tells it."""
    known = known_rates(facet)
    return [(one, COMPLEMENTS[one]) for one in known if COMPLEMENTS.get(one) in known]


def other_rates(facet: Facet) -> list[str]:
    """Every rate that neither stands among the main ones nor follows from another."""
    covered = {*main_rates(facet), *(one for one, _ in complements(facet))}
    return [one for one in known_rates(facet) if one not in covered]


def has_counts(facet: Facet, rate: str) -> bool:
    """Whether a rate is of events among some rows, in any group."""
    rates = (_rate_of(one, rate) for one in facet.groups)
    return any(one is not None and one.events is not None for one in rates)


def compared_unit(name: str) -> words.Unit:
    """Of a metric's difference from the reference: points, or a number."""
    is_share = name in NUMERIC and NUMERIC[name].is_share
    return "rate" if name in RATES or is_share else "value"


def numeric_metrics(facet: Facet) -> list[str]:
    """Metrics of numbers that some group has, in the usual order."""
    known = {name for one in facet.groups for name in one.rates or ()}
    return [name for name in NUMERIC if name in known]


def compared_rates(facet: Facet) -> list[str]:
    """Rates whose differences from the reference are told: without those that follow from another."""
    compared = {one.metric for one in facet.against_reference}
    return [
        one
        for one in compared_metrics()
        if {f"{one}_difference", f"{one}_ratio"} <= compared and f"{COMPLEMENTS.get(one)}_difference" not in compared
    ]


def are_in_order(facet: Facet) -> bool:
    """Whether the groups are classes of numbers in their order, and not by size."""
    return are_ordered([one.values for one in facet.groups])


def with_rates(facet: Facet) -> list[Group]:
    """Groups with enough rows for their rates to be printed."""
    return [one for one in facet.groups if one.rates is not None]


def lowest_and_highest(
    facet: Facet, rate: str, left_out: Sequence[str]
) -> tuple[tuple[Group, float], tuple[Group, float]] | None:
    """The groups between which a rate ranges, each with it, without those left out; None of fewer than two."""
    known = comparable(facet, rate, left_out)
    if len(known) < 2 or facet.groups_total > len(facet.groups):
        return None
    return min(known, key=lambda one: one[1]), max(known, key=lambda one: one[1])


def comparable(facet: Facet, rate: str, left_out: Sequence[str]) -> list[tuple[Group, float]]:
    """Groups whose rate rests on enough rows to be compared, each with the rate."""
    out = set(left_out)
    rates = ((group, _rate_of(group, rate)) for group in facet.groups if group.group not in out)
    return [(group, one.estimate) for group, one in rates if one is not None and finite(one.estimate)]


def left_out(facet: Facet, rate: str) -> Sequence[str]:
    """Groups with too few rows to be compared in a rate."""
    return next((one.left_out for one in _differences_in(facet, rate)), [])


def _differences_in(facet: Facet, rate: str) -> list[GroupRange]:
    """The largest differences of a grouping by criteria that ask for a rate to be equal."""
    criteria = {f"{name}_difference" for name, one in CRITERIA.items() if one.rate == rate}
    return [one for one in facet.ranges if one.metric in criteria]


def figures_of_groups(document: Document) -> dict[str, tuple[Facet, Literal["rates", "map"]]]:
    """Figures on declared groups by name: of the first groupings that can be drawn.

    Parameters
    ----------
    document : dict
        As `bdt_core.report.printed.printed` gives it.
    """
    facets = document.groups.facets if document.groups else ()
    drawn = [one for one in facets if main_rates(one)][:FIGURES_SHOWN]
    return {f"groups_{i}": (one, "map" if _fits_a_map(one) else "rates") for i, one in enumerate(drawn, 1)}


def grid(facet: Facet) -> tuple[list[Any], list[Any]]:
    """Values of the two columns of an intersection, each in order."""
    from bdt_core.fairness.coding import level_order  # loads numpy, which not every form needs

    rows, columns = (sorted({one.values[i] for one in facet.groups}, key=level_order) for i in (0, 1))
    return rows, columns


def map_rate(document: Document, facet: Facet) -> str:
    """The rate that a map shows: the first that the gate limits for these groups, or the false positive rate."""
    from bdt_core.verdict import MetricLimitResult  # loads numpy, which not every form needs

    known = known_rates(facet)
    for limit in document.gate:
        if isinstance(limit, MetricLimitResult) and limit.facet == facet.facet:
            for rate in (*_rates_in(limit.metric), *_rates_in(plain_name(GATE_METRICS[limit.metric]))):
                if rate in known:
                    return rate
    return "false_positive_rate" if "false_positive_rate" in known else main_rates(facet)[0]


@dataclass(frozen=True)
class TitleGroup:
    """The group that a figure's title is about.

    Attributes
    ----------
    group : str
    inside, outside : float
        A rate of the group, and of everybody else with a known group.
    ratio : float or None
        Of both; None where nobody else has the event.
    certain : bool or None
        Whether the groups are shown to differ in this rate; None where that was not tested.
    """

    group: str
    inside: float
    outside: float
    ratio: float | None
    certain: bool | None


def title_group(document: Document, facet: Facet, rate: str) -> TitleGroup | None:
    """The group in which most people more than among everybody else have what a rate counts, and is worse.

    Where nobody knows which way is worse it is the one with most more. None where rates have no counts, or there are
    fewer than two groups.
    """
    rates = ((one.group, _rate_of(one, rate)) for one in facet.groups)
    known = [(group, one.events, one.n) for group, one in rates if one is not None and one.events is not None and one.n]
    if len(known) < 2:
        return None
    events, rows = sum(one[1] for one in known), sum(one[2] for one in known)
    sign = -1.0 if better_side(rate, asked(document.groups).favourable) == "higher" else 1.0
    # Those more than expected: n (inside - outside) is this, but for the share of the others.
    group, of_group, n = max(known, key=lambda one: sign * (one[1] - one[2] * events / rows))
    inside, outside = of_group / n, (events - of_group) / (rows - n)
    tested = next((one for one in _differences_in(facet, rate) if one.estimate is not None), None)
    certain = None if tested is None else bool(tested.low if tested.significant is None else tested.significant)
    return TitleGroup(group, inside, outside, inside / outside if outside else None, certain)


def title_rate(document: Document, facet: Facet) -> str:
    """The rate that a figure's title is about: what its map shows, or of panels that of the limit, if it is there."""
    rates, rate = main_rates(facet), map_rate(document, facet)
    kind = figures_of_groups(document)
    is_map = any(one is facet and drawn == "map" for one, drawn in kind.values())
    return rate if is_map or rate in rates[:PANELS] else rates[0]


def _rates_in(metric: str) -> list[str]:
    """A rate itself; of a criterion and of Clarify's metrics the rate that they are about."""
    if metric in CRITERIA:
        return list(CRITERIA[metric].rates[-1:])
    clarify = CLARIFY.get(GATE_METRICS.get(metric, ""))
    return [metric] if clarify is None else [clarify.rate] if clarify.rate is not None else []


def _fits_a_map(facet: Facet) -> bool:
    if len(facet.columns) != 2 or facet.groups_total > len(facet.groups):
        return False
    values = sorted(map(len, grid(facet)))
    return 2 <= values[0] <= _MAP_COLUMNS and values[1] <= _MAP_ROWS


def positive_values(document: Document, column: str) -> tuple[float | None, list[str]]:
    """What counts as positive in a column: what lies above a threshold, or the values."""
    spec, groups = document.spec, asked(document.groups)
    thresholds = spec["groups"]["thresholds"]
    if column in thresholds:
        return thresholds[column], []
    values: Sequence[Any] = groups.positive
    if groups.label in thresholds:  # then those are the label's, cut in two
        given = (spec["groups"]["positive"], spec["bias_variable"]["positive"], 1)
        declared = next(one for one in given if one is not None)
        values = declared if isinstance(declared, list) else [declared]
    return None, [words.number(one) if isinstance(one, float) else str(one) for one in values]


def by_metric(metrics: Sequence[_Named]) -> dict[str, _Named]:
    """Metrics by their names."""
    return {one.metric: one for one in metrics}


def extremes(score: BiasScore) -> list[tuple[str, str, list[str]]]:
    """Who has the lowest and who the highest rate in each part of the score, and which rates these are."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for part in score.parts:
        if part.value:
            pairs.setdefault((part.lowest, part.highest), []).append(GROUP_METRICS[part.name].words.lower())
    return [(lowest, highest, rates) for (lowest, highest), rates in pairs.items()]


def places_with_rates(facet: Facet) -> list[int]:
    """Places of the groups with enough rows for their rates to be printed."""
    return [i for i, one in enumerate(facet.groups) if one.rates is not None]


def without_reference(facet: Facet, places: Sequence[int]) -> list[int]:
    """Places without that of the reference."""
    return [i for i in places if facet.groups[i].group != facet.reference]


def shared_reason(values: Sequence[GroupValue], places: Sequence[int]) -> str | None:
    """Why a metric is undefined, where that is the same for all of these groups."""
    reasons = {values[i].undefined_reason for i in places}
    return reasons.pop() if len(reasons) == 1 else None


def hold_together(facet: Facet) -> bool:
    """Whether intervals of differences hold for all groups at once."""
    values = [one for metric in (*facet.against_reference, *facet.clarify) for one in metric.values]
    return any(one.together_low is not None for one in values)


def ends(value: GroupValue, unit: words.Unit | None) -> str:
    """The interval that holds for all groups at once, where it is known; nothing where there is none."""
    together = value.together_low is not None and value.together_high is not None
    low, high = (value.together_low, value.together_high) if together else (value.low, value.high)
    if low is None or high is None:
        return ""
    return span(*(words.signed(x, unit) if unit else words.number(x) for x in (low, high)))


def draw(document: Printed, said: FigureWords, name: str) -> Sheet:
    """A figure by its name in `figures_of_groups`."""
    facet, kind = figures_of_groups(document)[name]
    return _map(document, facet, said) if kind == "map" else _rates(facet, said)


def _rates(facet: Facet, said: FigureWords) -> Sheet:
    """One panel per rate, one row per group, the largest first."""
    known = with_rates(facet)
    groups = known[:GROUPS_DRAWN]
    rates = main_rates(facet)[:PANELS]
    step = _ROW if len(groups) <= 8 else _LOW_ROW
    notes = [said.words[one] for one in ("not_drawn", "more") if one in said.words]
    sheet = Sheet(said.title, 32 + step * len(groups) + 42 + 13 * len(notes), subtitle=said.subtitle)
    top = sheet.top + 32
    bottom = top + step * len(groups)
    sheet.text(_NAMES, top - 10, said.words["group"], size=SMALL, color=GREY)
    sheet.text(_ROWS, top - 10, said.words["rows"], size=SMALL, color=GREY, align="right")
    sheet.line([_NAMES, _RIGHT], [top] * 2, width=0.4)
    middles = [top + step * (number + 0.5) for number in range(len(groups))]
    for group, y in zip(groups, middles, strict=True):
        rows = words.count(group.rows)
        room = _ROWS - _NAMES - 10 - sheet.measure(rows, 8.5)
        name = sheet.wrap(group.group, room, 8.5, 2) if step == _ROW else [sheet.fit(group.group, room, 8.5)]
        sheet.text(_NAMES, y, AsItIs("\n".join(name)))
        sheet.text(_ROWS, y, rows, align="right", color=GREY)
        sheet.line([_NAMES, _RIGHT], [y + step / 2] * 2, width=0.4)
    width = min((_RIGHT - _LEFT + _GAP) / len(rates) - _GAP, _WIDEST_PANEL)
    for place, rate in enumerate(rates):
        left = _LEFT + place * (width + _GAP)
        _panel(sheet, facet, groups, rate, (left, left + width), (top, bottom), middles, said.words["undefined"])
    _rates_legend(sheet, said.words, bottom + 33, overall=bool(facet.overall))
    for number, note in enumerate(notes):
        phrase = sheet.fit(note, sheet.width - 16, SMALL)
        sheet.text(_NAMES, bottom + 33 + 13 * (number + 1), phrase, size=SMALL, color=GREY)
    return sheet


def _rates_legend(sheet: Sheet, said: Mapping[str, str], y: float, *, overall: bool) -> None:
    sheet.line([_NAMES, _NAMES + 22], [y] * 2, color=GREY, width=1.8)
    sheet.mark(_NAMES + 11, y, shape="o", fill=INK, edge=INK, size=4.5)
    sheet.text(_NAMES + 28, y, said["line"], size=SMALL, color=GREY)
    if overall:
        x = _NAMES + 28 + sheet.measure(said["line"], SMALL) + 18
        sheet.line([x, x + 22], [y] * 2, color=GREY, style="--")
        sheet.text(x + 28, y, said["together"], size=SMALL, color=GREY)


def _panel(
    sheet: Sheet,
    facet: Facet,
    groups: Sequence[Group],
    rate: str,
    across: tuple[float, float],
    down: tuple[float, float],
    middles: Sequence[float],
    undefined: str,
) -> None:
    """One rate of all groups, on its own scale."""
    top, bottom = down
    group_rates = [_rate_of(one, rate) for one in groups]
    ends = [x for one in group_rates if one is not None for x in (one.estimate, one.low, one.high)]
    low, high, ticks = _scale([x for x in ends if finite(x)])

    def place(x: float) -> float:
        return across[0] + (x - low) / (high - low) * (across[1] - across[0])

    is_percentage = _is_percentage(rate)
    head_words = say("{rate}, %", rate=rate_head(rate)) if is_percentage else rate_head(rate)
    room = min(across[1] - across[0] + _GAP - 4, sheet.width - across[0])
    head = sheet.wrap(head_words, room, SMALL, 2, bold=True)
    sheet.text(across[0], top - 10 - 5 * (len(head) - 1), "\n".join(head), size=SMALL, bold=True)
    named = [f"{x * 100 if is_percentage else x:.3g}" for x in ticks]
    widest = max(sheet.measure(one, SMALL) for one in named)
    crowded = place(ticks[1]) - place(ticks[0]) < widest + _BETWEEN_NUMBERS
    for number, (x, name) in enumerate(zip(ticks, named, strict=True)):
        sheet.line([place(x)] * 2, [top, bottom], width=0.5)
        if not crowded or number % 2 == 0:
            sheet.text(place(x), bottom + 9, name, size=SMALL, color=GREY, align="center")
    overall = facet.overall.get(rate)
    if finite(overall) and low <= overall <= high:
        sheet.line([place(overall)] * 2, [top, bottom], color=GREY, style="--")
    for group_rate, y in zip(group_rates, middles, strict=True):
        if group_rate is None or not finite(group_rate.estimate):
            sheet.text(across[0] + 3, y, undefined, size=SMALL, color=GREY)
            continue
        if finite(group_rate.low) and finite(group_rate.high):
            sheet.line([place(group_rate.low), place(group_rate.high)], [y, y], color=GREY, width=1.8)
        sheet.mark(place(group_rate.estimate), y, shape="o", fill=INK, edge=INK, size=4.5)


def _is_percentage(rate: str) -> bool:
    return rate_value(rate, 0.5).endswith("%")


def _scale(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """Ends of an axis and up to four places to name on it."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    short = max(_SMALLEST_SPAN - (high - low), 0.0)
    low = max(low - short / 2, 0.0) if low >= 0 else low - short / 2
    high = max(high, low + _SMALLEST_SPAN)
    step = next(
        size * 10.0**power for power in range(-2, 300) for size in (1, 2, 5) if (high - low) <= 3 * size * 10.0**power
    )
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return first * step, last * step, [number * step for number in range(first, last + 1)]


def _map(document: Document, facet: Facet, said: FigureWords) -> Sheet:
    """The values of one column down, those of the other across, the rate in each cell."""
    rate = map_rate(document, facet)
    down, across = grid(facet)
    turned = len(across) > len(down)
    if turned:
        down, across = across, down
    names = facet.columns[::-1] if turned else facet.columns
    at = {tuple(reversed(one.values)) if turned else tuple(one.values): one for one in facet.groups}
    width = min((_RIGHT - _MAP_LEFT) / len(across), _WIDEST_CELL)
    sheet = Sheet(said.title, 42 + _CELL_HEIGHT * len(down) + 28, subtitle=said.subtitle)
    top = sheet.top + 42
    sheet.text(_NAMES, top - 10, sheet.fit(names[0], _MAP_LEFT - 16, SMALL), size=SMALL, color=GREY)
    right = _MAP_LEFT + width * len(across)
    sheet.text(_MAP_LEFT, top - 32, sheet.fit(names[1], right - _MAP_LEFT, SMALL), size=SMALL, color=GREY)
    coloured = {id(one): estimate for one, estimate in comparable(facet, rate, left_out(facet, rate))}
    low, high = min(coloured.values(), default=0.0), max(coloured.values(), default=1.0)
    span = max(high - low, _SMALLEST_SPAN)
    for column, value in enumerate(across):
        head = sheet.wrap(str(value), width - 6, SMALL, 2, bold=True)
        x = _MAP_LEFT + width * (column + 0.5)
        sheet.text(
            x, top - 9 - 5 * (len(head) - 1), "\n".join(head), size=SMALL, bold=True, align="center", spacing=1.15
        )
    for row, value in enumerate(down):
        y = top + _CELL_HEIGHT * row
        name = sheet.wrap(str(value), _MAP_LEFT - _NAMES - 10, 8.5, 2)
        sheet.text(_NAMES, y + _CELL_HEIGHT / 2, "\n".join(name))
        for column, other in enumerate(across):
            group = at.get((value, other))
            shade = (coloured[id(group)] - low) / span if id(group) in coloured else None
            box = (_MAP_LEFT + width * column + 1, y + 1, width - 2, _CELL_HEIGHT - 2)
            _cell(sheet, said.words, group, rate, box, shade)
    known = len(with_rates(facet))
    bottom = top + _CELL_HEIGHT * len(down)
    x = _NAMES
    if coloured:
        x = _colours(sheet, (rate_value(rate, low), rate_value(rate, high)), (high - low) / span, bottom + 16)
    notes = [said.words["not_compared"]] * (len(coloured) < known)
    notes += [said.words["hatched"]] * (known < len(facet.groups))
    for number, note in enumerate(notes):
        sheet.text(x, bottom + 12 + 11 * number, note, size=SMALL, color=GREY)
    return sheet


def _cell(
    sheet: Sheet,
    said: Mapping[str, str],
    group: Group | None,
    rate: str,
    box: tuple[float, float, float, float],
    shade: float | None,
) -> None:
    x, y = box[0] + box[2] / 2, box[1] + box[3] / 2
    if group is None:
        sheet.text(x, y, said["nobody"], size=SMALL, color=GREY, align="center")
        return
    if group.rates is None:
        sheet.box(*box, fill="#f3f4f6", edge="#dfe3e8", round_by=2, hatch="////")
        few = (said["few"], said["few_rows"])
        plate = max(sheet.measure(one, SMALL) for one in few) + 6
        sheet.box(x - plate / 2, y - 11, plate, 22, fill="#f3f4f6", edge="#f3f4f6", round_by=2)
        sheet.text(x, y, "\n".join(few), size=SMALL, color=GREY, align="center")
        return
    group_rate = _rate_of(group, rate)
    fill = "white" if shade is None else _mixed(shade)
    sheet.box(*box, fill=fill, edge=FAINT if shade is None else fill, round_by=2)
    if group_rate is None or not finite(group_rate.estimate):
        sheet.text(x, y, said["undefined"], size=SMALL, color=GREY, align="center")
        return
    color = GREY if shade is None else INK
    text = rate_value(rate, group_rate.estimate)
    sheet.text(x, y - 6, text, size=9.5, bold=shade is not None, color=color, align="center")
    sheet.text(
        x,
        y + 8,
        AsItIs(f"{said['of']} {sheet.said(words.count(int(group_rate.n)))}"),
        size=SMALL,
        color=color,
        align="center",
    )


def _mixed(shade: float) -> str:
    return "#" + "".join(f"{round(a + (b - a) * shade):02x}" for a, b in zip(_LIGHT, _DARK, strict=True))


def _colours(sheet: Sheet, ends: tuple[str, str], darkest: float, y: float) -> float:
    """The colours of the lowest to the highest rate; gives back where they end."""
    x = _NAMES
    sheet.text(x, y, ends[0], size=SMALL, color=GREY)
    x += sheet.measure(ends[0], SMALL) + 6
    for number in range(12):
        fill = _mixed(darkest * number / 11)
        sheet.box(x + 9 * number, y - 5, 9, 10, fill=fill, edge=fill, round_by=0)
    x += 114
    sheet.text(x, y, ends[1], size=SMALL, color=GREY)
    return x + sheet.measure(ends[1], SMALL) + 20
