"""Intersections: what is chosen to be shown, their figure, and the worst one taken apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.figure_axis import Axis, draw_across, draw_number_heads, draw_numbers, scale
from bdt_core.report.sheet import CALM, FAINT, GREY, HARM, HARM_TINT, INK, SMALL, WIDTH, Ruler, Sheet
from bdt_core.report.wording import asked, finite
from bdt_core.said import AsItIs

if TYPE_CHECKING:
    from bdt_core.groups.conditions import GroupCondition
    from bdt_core.groups.slices.results import LatticeNode, Slice, Slices
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Document, Printed

    _Boxes = dict[frozenset[GroupCondition], tuple[float, float, float, float]]

SHOWN = 20
_UNREPORTED_SHOWN = 10
_NAME, _ROW = 14.0, 30.0
_NAMES, _LEFT, _RIGHT = 8.0, 20.0, 310.0
_SPACE, _WIDEST = 10.0, 200.0
_EVERYBODY, _TOGETHER, _VALUE = 34.0, 46.0, 32.0  # heights of boxes, and of the value within
_LINES = 3
_BETWEEN = 24.0


def unit_of_slices(document: Document) -> words.Unit:
    """Whether slices are measured by a rate, as percentages and points, or by a number."""
    unit: words.Unit = document.bias_variable.unit
    return unit if asked(document.slices).metric == "mean" else "rate"


def name_of_slices(document: Document) -> tuple[str, str]:
    """What is measured of slices, at length and short."""
    variable, slices = document.bias_variable, asked(document.slices)
    if slices.metric == "mean":
        return variable.name, variable.short
    return slices.metric_name, slices.metric_name


def has_numbers(part: Slice | LatticeNode, min_rows: int) -> bool:
    """Whether a slice may be printed with its values: both sides have enough rows in their denominators."""
    comparison = part.comparison
    return bool(comparison.status == "tested" and min(comparison.n_a, comparison.n_b) >= min_rows)


def interval_of_slice(intersection: Slice, unit: words.Unit) -> str:
    """The interval of a slice's true difference, which allows for the choice of those that are significant."""
    return words.interval(intersection.low, intersection.high, confidence=intersection.comparison.confidence, unit=unit)


def reported_slices(slices: Slices) -> list[Slice]:
    """Slices that fare significantly worse and are not listed under another, the worst first."""
    return [one for one in slices.slices if one.significant and one.parent is None]


def any_reaches_nothing(slices: Sequence[Slice]) -> bool:
    """Whether the interval of any of them has no difference in it."""
    return any(one.low is not None and one.high is not None and one.low <= 0.0 <= one.high for one in slices)


def drawn_slices(slices: Slices) -> list[Slice]:
    """Reported slices, or where there are none all that were tested; the worst first."""
    chosen = reported_slices(slices) or slices.slices
    return [one for one in chosen if has_numbers(one, slices.min_rows)]


def within(slices: Slices, reported: Sequence[Slice], most: int) -> list[tuple[Slice, list[Slice]]]:
    """Reported slices with the first few of those that each stands for."""
    pairs = (
        (around, [one for one in slices.slices if one.significant and one.parent == around.name][:most])
        for around in reported
    )
    return [(around, several) for around, several in pairs if several]


def draw(document: Printed, said: FigureWords) -> Sheet:
    """One row per intersection, the worst first."""
    slices, unit = asked(document.slices), unit_of_slices(document)
    known = drawn_slices(slices)
    shown = known[: SHOWN if reported_slices(slices) else _UNREPORTED_SHOWN]
    sheet = Sheet(said.title, 20 + _ROW * len(shown) + 60, subtitle=said.subtitle)
    top = sheet.top + 20
    bottom = top + _ROW * len(shown)
    short = said.words["inside"] if sheet.measure(said.words["inside"], SMALL) <= 50 else said.words["in_group"]
    draw_number_heads(sheet, top - 9, (said.words["rows"], short, said.words["others"]))
    ends = [0.0, *(x for one in shown for x in (one.low, one.high, one.shrunken_difference))]
    axis = scale(ends, _LEFT, _RIGHT, least=0.02 if unit == "rate" else 0.0)
    _background(sheet, document, axis, top, bottom, said.words)
    for number, intersection in enumerate(shown):
        _row(sheet, intersection, axis, unit, top + _ROW * number)
        sheet.line([_NAMES, sheet.width - 8], [top + _ROW * (number + 1)] * 2, width=0.4)
    _legend(sheet, said.words, bottom + 38)
    return sheet


def _background(
    sheet: Sheet, document: Document, axis: Axis, top: float, bottom: float, said: Mapping[str, str]
) -> None:
    """The side of harm shaded, the scale, and which way is worse."""
    harm_is_right = asked(document.slices).better == "lower"
    zero = axis.place(0.0)
    start, end = (zero, _RIGHT) if harm_is_right else (_LEFT, zero)
    sheet.box(start, top, max(end - start, 0.1), bottom - top, fill=HARM_TINT, edge=HARM_TINT, round_by=0)
    draw_across(sheet, axis, top, bottom, unit_of_slices(document))
    sheet.line([zero] * 2, [top, bottom], color=INK, width=1)
    left, right = ("better_left", "worse_right") if harm_is_right else ("worse_left", "better_right")
    colors = (CALM, HARM) if harm_is_right else (HARM, CALM)
    if axis.low < 0:
        sheet.text(_LEFT, bottom + 22, said[left], size=SMALL, bold=True, color=colors[0])
    if axis.high > 0:
        sheet.text(_RIGHT, bottom + 22, said[right], size=SMALL, bold=True, color=colors[1], align="right")


def _row(sheet: Sheet, intersection: Slice, axis: Axis, unit: words.Unit, top: float) -> None:
    comparison = intersection.comparison
    sheet.cover(_NAMES, top + 1, sheet.width - 16, _NAME - 1)
    sheet.text(_NAMES, top + 7.5, sheet.fit(sheet.said(intersection.name), sheet.width - 16, SMALL), size=SMALL)
    y = top + _NAME + (_ROW - _NAME) / 2 - 1
    shape, color = ("D", HARM) if intersection.significant else ("s", GREY)
    low, high = (x if finite(x) else None for x in (intersection.low, intersection.high))
    if low is not None and high is not None:
        sheet.line([axis.place(low), axis.place(high)], [y, y], color=color, width=1.8)
    sheet.mark(axis.place(asked(intersection.shrunken_difference)), y, shape=shape, fill=color, edge="white", size=7)
    numbers = (
        words.count(intersection.test_rows), words.value(comparison.mean_a, unit), words.value(comparison.mean_b, unit)
    )  # fmt: skip
    draw_numbers(sheet, y, numbers)


def _legend(sheet: Sheet, said: Mapping[str, str], y: float) -> None:
    sheet.legend(y, [("D", HARM, "white", said["is_worse"]), ("s", GREY, "white", said["is_neither"])])
    for number, name in enumerate(("mark", "line")):
        sheet.text(sheet.width - 8, y + 12 * number, said[name], size=SMALL, color=GREY, align="right")


def draw_lattice(document: Printed, said: FigureWords) -> Sheet:
    """Everybody, each condition of the worst intersection, and what they are together, level by level."""
    slices, unit = asked(document.slices), unit_of_slices(document)
    nodes = slices.lattice
    alone = {one.conditions[0]: one.name for one in nodes if len(one.conditions) == 1}
    letters = dict(zip(alone, ascii_uppercase, strict=False))
    levels: defaultdict[int, list[LatticeNode]] = defaultdict(list)
    for node in nodes:
        levels[len(node.conditions)].append(node)
    widths = {level: min((WIDTH - 16 + _SPACE) / len(row) - _SPACE, _WIDEST) for level, row in levels.items()}
    ruler = Ruler()
    lines = max(len(ruler.wrap(ruler.said(name), widths[1] - 30, SMALL, _LINES)) for name in alone.values())
    heights = {level: _TOGETHER if level > 1 else 10 + 10 * lines + _VALUE for level in levels}
    sheet = Sheet(
        said.title, 8 + _EVERYBODY + sum(heights.values()) + _BETWEEN * len(levels) + 8, subtitle=said.subtitle
    )
    y = sheet.top + 8
    everybody = (WIDTH / 2 - _WIDEST / 2, y, _WIDEST, _EVERYBODY)
    boxes: _Boxes = {frozenset(): everybody}
    y += _EVERYBODY + _BETWEEN
    for level in sorted(levels):
        width = widths[level]
        start = WIDTH / 2 - width / 2 - (width + _SPACE) * (len(levels[level]) - 1) / 2
        for number, node in enumerate(levels[level]):
            boxes[_parts(node)] = (start + number * (width + _SPACE), y, width, heights[level])
        y += heights[level] + _BETWEEN
    _connect(sheet, boxes)
    sheet.box(*everybody, fill="#f3f4f6", edge=FAINT)
    whole = (said.words["everybody"], words.value(slices.test_value, unit))
    for line, phrase in enumerate(whole):
        sheet.text(WIDTH / 2, everybody[1] + 10.5 + 13 * line, phrase, size=8, bold=line > 0, align="center")
    for node in nodes:
        _node(sheet, document, node, letters, boxes[_parts(node)], said.words, worst=node is nodes[-1])
    return sheet


def _parts(node: LatticeNode) -> frozenset[GroupCondition]:
    return frozenset(node.conditions)


def _connect(sheet: Sheet, boxes: _Boxes) -> None:
    """Lines from each part to those with one condition more."""
    for part, (x, y, width, height) in boxes.items():
        for around, (to, top, wide, _) in boxes.items():
            if part < around and len(around) == len(part) + 1:
                sheet.line([x + width / 2, to + wide / 2], [y + height, top], color=GREY, width=0.7)


def _node(
    sheet: Sheet,
    document: Document,
    node: LatticeNode,
    letters: dict[GroupCondition, str],
    box: tuple[float, float, float, float],
    said: Mapping[str, str],
    *,
    worst: bool,
) -> None:
    x, y, width, height = box
    sheet.box(*box, fill=HARM_TINT if worst else "white", edge=HARM if worst else GREY)
    marks = [letters[condition] for condition in node.conditions]
    if len(marks) == 1:
        sheet.text(x + 7, y + 11, marks[0], size=9, bold=True)
        for line, phrase in enumerate(sheet.wrap(sheet.said(node.name), width - 30, 8, _LINES)):
            sheet.text(x + 22, y + 11 + 10 * line, phrase, size=8)
    else:
        phrase = sheet.fit(" + ".join(sorted(marks)), width - 6, 9, True)
        sheet.text(x + width / 2, y + 11, phrase, size=9, bold=True, align="center")
    comparison = node.comparison
    if has_numbers(node, asked(document.slices).min_rows):
        phrases = (
            words.value(comparison.mean_a, unit_of_slices(document)),
            AsItIs(f"{said['of']} {sheet.said(words.count(comparison.n_a))}"),
        )
    else:
        phrases = (said["few"], AsItIs(f"{sheet.said(words.count(node.rows))} {said['rows']}"))
    for line, phrase in enumerate(phrases):
        shown = sheet.fit(phrase, width - 6, 8)
        sheet.text(x + width / 2, y + height - 21 + 12 * line, shown, size=8, bold=line == 0, align="center")
