"""Mitigation: how its metrics are written, and the figure of what equality between groups costs in accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from bdt_core import words
from bdt_core.metrics import CRITERIA, GROUP_METRICS, RATES, plain_name
from bdt_core.report.figure_axis import Axis, draw_across, scale, tick
from bdt_core.report.groups import rate_value, span
from bdt_core.report.sheet import CALM, GREY, HARM, INK, SMALL, Sheet
from bdt_core.report.wording import asked, finite
from bdt_core.said import AsItIs, Numeral, say

if TYPE_CHECKING:
    from bdt_core.fairness.metric_results import Estimate
    from bdt_core.mitigation.results import Thresholds
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Document, Printed

Point: TypeAlias = "tuple[Estimate, Estimate]"
_LEFT, _RIGHT, _HEIGHT = 36.0, 316.0, 220.0
_LEGEND = 332.0
_PALE = "#a9b3bd"


def change_told(metric: str, x: words.Number) -> str:
    """A metric of mitigation in its usual form.

    Examples
    --------
    >>> change_told("equal_opportunity_difference", 0.436), change_told("demographic_parity_ratio", 0.397)
    ('43.6 points', '0.397')
    >>> change_told("accuracy", 0.655), change_told("DI", 0.5)
    ('65.5 %', '0.5')
    """
    plain = metric.removesuffix("_difference")
    if plain != metric and (plain in CRITERIA or plain in RATES):
        unit: words.Unit = CRITERIA[plain].unit if plain in CRITERIA else "rate"
        amount = Numeral(words.signed(x, unit).removeprefix("+"))
        return say("{N} points", N=amount) if unit == "rate" and finite(x) else amount
    return rate_value(metric, x) if metric in GROUP_METRICS else words.number(x)


def asked_by(metric: str) -> str:
    """What the criterion behind a difference or ratio asks for; nothing of other metrics."""
    plain = plain_name(metric)
    return CRITERIA[plain].asks if plain in CRITERIA else ""


def change_span(metric: str, low: words.Number, high: words.Number) -> str:
    """The interval of a metric of mitigation, without its unit."""
    if low is None or high is None:
        return ""
    return span(*(Numeral(change_told(metric, x).removesuffix(" points").removesuffix(" %")) for x in (low, high)))


def mitigation_points(document: Document) -> list[tuple[Estimate, Estimate]]:
    """Gap and accuracy at each tolerance on the test rows, as far as both are known; none to draw below two."""
    mitigation = document.mitigation
    if not mitigation or mitigation.thresholds is None:
        return []
    thresholds = mitigation.thresholds
    ends = [side.estimate for one in (thresholds.gap, thresholds.accuracy) for side in (one.before, one.after)]
    if not all(map(finite, ends)):
        return []
    return [(gap, accuracy) for _, gap, accuracy in _frontier(thresholds)]


def points_told(document: Document) -> list[tuple[str | float, Estimate, Estimate]]:
    """What is drawn: "now" and "then", and each tolerance, with gap and accuracy on the test rows."""
    thresholds = asked(asked(document.mitigation).thresholds)
    now, then = _now_and_then(thresholds)
    return [("now", *now), ("then", *then), *_frontier(thresholds)]


def _frontier(thresholds: Thresholds) -> list[tuple[str | float, Estimate, Estimate]]:
    """Each tolerance, with gap and accuracy where both are known."""
    return [
        (one.tolerance, one.gap, one.accuracy)
        for one in thresholds.frontier
        if finite(one.gap.estimate) and finite(one.accuracy.estimate)
    ]


def _now_and_then(thresholds: Thresholds) -> tuple[Point, Point]:
    gap, accuracy = thresholds.gap, thresholds.accuracy
    return (gap.before, accuracy.before), (gap.after, accuracy.after)


def draw(document: Printed, said: FigureWords) -> Sheet:
    """Gap across, accuracy up; the present decisions and the thresholds chosen are marked."""
    mitigation = asked(document.mitigation)
    thresholds = asked(mitigation.thresholds)
    frontier = mitigation_points(document)
    now, then = _now_and_then(thresholds)
    sheet = Sheet(said.title, 22 + _HEIGHT + 40, subtitle=said.subtitle)
    top = sheet.top + 22
    bottom = top + _HEIGHT
    across, up = (
        scale(_ends([*frontier, now, then], i), start, end, least=0.05)
        for i, (start, end) in enumerate(((_LEFT, _RIGHT), (bottom, top)))
    )
    draw_across(sheet, across, top, bottom, "rate")
    for y in up.ticks:
        sheet.line([_LEFT, _RIGHT], [up.place(y)] * 2, width=0.5)
        sheet.text(_LEFT - 7, up.place(y), tick(y, "rate"), size=SMALL, color=GREY, align="right")
    sheet.text(8, top - 12, said.words["accuracy"], size=SMALL)
    name = sheet.fit(said.words["gap"], _RIGHT - _LEFT, SMALL)
    sheet.text((_LEFT + _RIGHT) / 2, bottom + 24, name, size=SMALL, align="center")
    for point in frontier:
        _cross(sheet, point, across, up, _PALE, 1.0)
    places = [(across.place(asked(gap.estimate)), up.place(asked(accuracy.estimate))) for gap, accuracy in frontier]
    sheet.line([x for x, _ in places], [y for _, y in places], color=GREY, width=1)
    for x, y in places:
        sheet.mark(x, y, shape="o", fill="white", edge=GREY, size=5)
    for point, shape, color in ((now, "s", HARM), (then, "D", CALM)):
        _cross(sheet, point, across, up, color, 1.8)
        x, y = across.place(asked(point[0].estimate)), up.place(asked(point[1].estimate))
        sheet.mark(x, y, shape=shape, fill=color, edge="white", size=9)
    _legend(sheet, said.words, now, then, top + 10)
    return sheet


def _ends(points: list[Point], i: int) -> list[Any]:
    return [x for point in points for x in (point[i].estimate, point[i].low, point[i].high)]


def _cross(sheet: Sheet, point: Point, across: Axis, up: Axis, color: str, width: float) -> None:
    """The intervals of both, where they are known."""
    gap, accuracy = point
    x, y = across.place(asked(gap.estimate)), up.place(asked(accuracy.estimate))
    if finite(gap.low) and finite(gap.high):
        sheet.line([across.place(gap.low), across.place(gap.high)], [y, y], color=color, width=width)
    if finite(accuracy.low) and finite(accuracy.high):
        sheet.line([x, x], [up.place(accuracy.low), up.place(accuracy.high)], color=color, width=width)


def _legend(sheet: Sheet, said: Mapping[str, str], now: Point, then: Point, y: float) -> None:
    width = sheet.width - 8 - _LEGEND - 14
    for shape, fill, edge, size, name, point in (
        ("s", HARM, "white", 9.0, "now", now),
        ("D", CALM, "white", 9.0, "then", then),
        ("o", "white", GREY, 5.0, "best", None),
    ):
        lines = sheet.wrap(said[name], width, 8.5, 2, bold=point is not None)
        sheet.mark(_LEGEND + 4, y, shape=shape, fill=fill, edge=edge, size=size)
        for line, phrase in enumerate(lines):
            sheet.text(_LEGEND + 14, y + 12 * line, phrase, size=8.5, bold=point is not None)
        y += 12 * len(lines)
        if point is not None:
            for key, estimate in (("gap_is", point[0]), ("accuracy_is", point[1])):
                value = words.size(estimate.estimate, "rate") if key == "gap_is" else words.percent(estimate.estimate)
                sheet.text(_LEGEND + 14, y, AsItIs(f"{said[key]} {sheet.said(value)}"), size=SMALL, color=GREY)
                y += 12
        y += 8
    for key, color in (("lines", GREY), ("better", INK)):
        for phrase in sheet.wrap(said[key], sheet.width - 8 - _LEGEND, SMALL, 2):
            sheet.text(_LEGEND, y, phrase, size=SMALL, color=color)
            y += 12
