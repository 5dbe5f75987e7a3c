"""Figure: what sets the most deviating cluster apart, its means and shares beside everybody else's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.report.sheet import CALM, FAINT, GREY, HARM, INK, SMALL, Sheet
from bdt_core.report.wording import asked, finite

if TYPE_CHECKING:
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import CategoricalFeature, ComparedLevel, Document, Feature, NumericFeature, Printed

COLUMNS_SHOWN = 8
LEVELS_SHOWN = 4
_TOLD = 3
_ROW = 19.0
_LEFT, _RIGHT = 170.0, 362.0
_INSIDE, _OUTSIDE = 416.0, 472.0
_AXIS = 42.0


def draw(document: Printed, said: FigureWords) -> Sheet:
    """Numbers by their standardised difference, categories by the shares of their levels."""
    tested = shown(document)
    numbers = [one for one in tested if one.kind == "numeric"]
    categories = [one for one in tested if one.kind == "categorical"]
    sheet = Sheet(said.title, 18 + _height(numbers, categories) + 8, subtitle=said.subtitle)
    top = sheet.top + 18
    if numbers:
        top = _numbers(sheet, numbers, top, said.words)
    if categories:
        top = _categories(sheet, categories, top, said.words)
    if tested:
        _legend(sheet, said.words, top)
    return sheet


def is_declared(feature: Feature) -> bool:
    """Whether the specification names a column as protected or as a group."""
    return feature.declared or feature.role == "protected"


def families(features: Sequence[Feature]) -> list[tuple[str, list[Feature]]]:
    """Declared columns and the others, each with its heading: two lists, and two families of tests."""
    declared = [one for one in features if is_declared(one)]
    others = [one for one in features if not is_declared(one)]
    named = (("Protected and other declared columns", declared), ("Features", others))
    return [(heading, several) for heading, several in named if several]


def told_apart(document: Document) -> list[tuple[str, str | None, bool]]:
    """Columns that differ most, for a title: each with its level, and whether the cluster has more of it."""
    differing: list[tuple[str, str | None, bool]] = []
    for feature in shown(document):
        if feature.significant and feature.kind == "numeric":
            differing.append((feature.column, None, asked(feature.comparison.difference) > 0))
        elif feature.significant and feature.kind == "categorical" and feature.strongest_level is not None:
            level = feature.strongest_level
            differing.append((feature.column, level.level, asked(level.comparison.difference) > 0))
    return differing[:_TOLD]


def rows_of_level(document: Document, column: str, level: str) -> int | None:
    """Test rows with a level of a category; None where the report has no such line."""
    return next(
        (
            found.rows
            for one in document.differences.features
            if one.column == column and one.kind == "categorical"
            for found in one.levels
            if found.level == level
        ),
        None,
    )


def effects(document: Document) -> list[str]:
    """What the standardised differences of the figure are called."""
    return sorted({one.effect_name for one in shown(document) if one.kind == "numeric" and one.effect_name})


def shown(document: Document) -> list[Feature]:
    """Declared columns first of all, since nobody should have to look for them; then the strongest of each kind."""
    features = document.differences.features
    tested = [one for one in features if one.status == "tested"]
    chosen = [one for one in tested if is_declared(one)][:COLUMNS_SHOWN]
    others = [one for one in tested if not is_declared(one)]
    room = COLUMNS_SHOWN - len(chosen)
    numbers, categories = ([one for one in others if one.kind == kind] for kind in ("numeric", "categorical"))
    first = max(room - len(categories), (room + 1) // 2)
    return (chosen + numbers[:first] + categories)[:COLUMNS_SHOWN]


def _height(numbers: Sequence[NumericFeature], categories: Sequence[CategoricalFeature]) -> float:
    drawn = sum(1 + len(levels(one)) for one in categories)
    return (14 + _ROW * 1.3 * len(numbers) + _AXIS if numbers else 0.0) + (
        14 + _ROW * drawn + 6 * len(categories) + _AXIS if categories else 0.0
    )


def levels(feature: CategoricalFeature) -> list[ComparedLevel]:
    """The levels with the largest differences, in the order of the document."""
    known = [level for level in feature.levels if level.comparison.difference is not None]
    largest = sorted(known, key=lambda level: -abs(asked(level.comparison.difference)))[:LEVELS_SHOWN]
    return [level for level in known if any(level is other for other in largest)]


def _head(sheet: Sheet, top: float, phrase: str, said: Mapping[str, str]) -> float:
    sheet.text(8, top, phrase, bold=True, size=9)
    sheet.text(_INSIDE, top, said["cluster"], size=SMALL, color=GREY, align="right")
    sheet.text(_OUTSIDE, top, said["others"], size=SMALL, color=GREY, align="right")
    sheet.line([8, sheet.width - 8], [top + 11] * 2)
    return top + 14


def _name(sheet: Sheet, feature: Feature, y: float, said: Mapping[str, str]) -> None:
    tag = said["protected"] if feature.role == "protected" else ""
    room = _LEFT - 24 - (sheet.measure(tag, SMALL) + 12 if tag else 0)
    name = sheet.fit(feature.column, room, 8.5)
    sheet.text(8, y, name)
    if tag:
        x = 8 + sheet.measure(name, 8.5) + 6
        width = sheet.measure(tag, SMALL) + 8
        sheet.box(x, y - 6.5, width, 13, fill="#f0eafa", edge="#8667c0", round_by=3)
        sheet.text(x + width / 2, y, tag, size=SMALL, color="#4f2f8f", align="center")


def _numbers(sheet: Sheet, numbers: Sequence[NumericFeature], top: float, said: Mapping[str, str]) -> float:
    top = _head(sheet, top, said["numbers"], said)
    height = _ROW * 1.3 * len(numbers)
    effects = [one.effect for one in numbers if finite(one.effect)]
    low, high = min([0.0, *effects]), max([0.0, *effects])
    room = 0.08 * (high - low) or 1.0
    low, high = low - room, high + room
    axes = _axes(sheet, top, height, low, high)
    axes.axvline(0, color=FAINT, linewidth=1, zorder=0)
    for number, feature in enumerate(numbers):
        y = top + _ROW * 1.3 * (number + 0.5)
        _name(sheet, feature, y, said)
        effect = feature.effect
        if finite(effect):
            _pair(sheet, _place(effect, low, high), _place(0.0, low, high), y, bool(feature.significant))
        elif effect is not None:
            sheet.text((_LEFT + _RIGHT) / 2, y, said["constant"], size=SMALL, color=GREY, align="center")
        sheet.text(_INSIDE, y, words.number(feature.mean_cluster), align="right")
        sheet.text(_OUTSIDE, y, words.number(feature.mean_rest), align="right")
    _scale_name(sheet, top + height, said["standardised"])
    return top + height + _AXIS


def _categories(sheet: Sheet, categories: Sequence[CategoricalFeature], top: float, said: Mapping[str, str]) -> float:
    top = _head(sheet, top, said["categories"], said)
    height = sum(_ROW * (1 + len(levels(one))) + 6 for one in categories)
    axes = _axes(sheet, top, height, -3, 103)
    axes.set_xticks([0, 25, 50, 75, 100], ["0 %", "25 %", "50 %", "75 %", "100 %"])
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    y = top
    for feature in categories:
        _name(sheet, feature, y + _ROW / 2 + 3, said)
        y += _ROW + 3
        for level in levels(feature):
            middle = y + _ROW / 2
            color = INK if level.significant else GREY
            name = sheet.fit(sheet.level(feature.column, level.level), _LEFT - 36, SMALL)
            sheet.text(22, middle, name, size=SMALL, color=color)
            inside, outside = level.share_cluster, level.share_rest
            places = (_place(100 * asked(inside), -3, 103), _place(100 * asked(outside), -3, 103))
            _pair(sheet, *places, middle, bool(level.significant))
            sheet.text(_INSIDE, middle, words.percent(inside), align="right", color=color)
            sheet.text(_OUTSIDE, middle, words.percent(outside), align="right", color=color)
            y += _ROW
        y += 3
    _scale_name(sheet, top + height, said["share"])
    return top + height + _AXIS


def _axes(sheet: Sheet, top: float, height: float, low: float, high: float) -> Any:
    axes = sheet.axes(_LEFT, top, _RIGHT - _LEFT, height)
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1)
    axes.spines.bottom.set_visible(True)
    axes.spines.bottom.set_color(FAINT)
    axes.xaxis.set_major_formatter(lambda x, _: sheet.said(words.number(x)))
    return axes


def _place(x: float, low: float, high: float) -> float:
    return _LEFT + (x - low) / (high - low) * (_RIGHT - _LEFT)


def _pair(sheet: Sheet, inside: float, outside: float, y: float, significant: bool) -> None:
    """The cluster as a diamond, everybody else as a circle, and the way between them."""
    sheet.line([inside, outside], [y, y], color=GREY if significant else FAINT, width=1.5)
    fills = (CALM, HARM) if significant else ("white", "white")
    sheet.mark(outside, y, shape="o", fill=fills[0], edge=CALM, size=6.5)
    sheet.mark(inside, y, shape="D", fill=fills[1], edge=HARM, size=6)


def _scale_name(sheet: Sheet, bottom: float, phrase: str) -> None:
    sheet.text((_LEFT + _RIGHT) / 2, bottom + 25, phrase, size=SMALL, align="center")


def _legend(sheet: Sheet, said: Mapping[str, str], y: float) -> None:
    marks = (("D", HARM, HARM, "cluster"), ("o", CALM, CALM, "everybody"), ("D", "white", HARM, "hollow"))
    sheet.legend(y, [(shape, fill, edge, said[name]) for shape, fill, edge, name in marks])
