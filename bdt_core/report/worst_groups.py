"""The people who fare worst: their figure, each group against everybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.figure_axis import Scale, draw_across, scale
from bdt_core.report.sheet import CALM, GREY, HARM, Sheet
from bdt_core.report.wording import asked

if TYPE_CHECKING:
    from bdt_core.report.document import Document
    from bdt_core.scan.results import WorstGroup, WorstGroups

_LEFT, _RIGHT = 8.0, 560.0
_NAME, _BAR, _BETWEEN = 16.0, 14.0, 16.0
_ROW = _NAME + 2 * _BAR + _BETWEEN


def unit_of_groups(found: WorstGroups) -> words.Unit:
    """Whether the outcome is a rate, as percentages and points, or a number."""
    return "rate" if found.is_rate else "value"


def fewer_starts(found: WorstGroups) -> int | None:
    """From how many random pairs of conditions a search of a narrower table starts, where this one has fewer."""
    from bdt_core.scan.language import random_starts  # not needed to load definitions

    usual = random_starts(1)
    return usual if found.searched.starts < usual else None


def drawn_groups(found: WorstGroups) -> tuple[WorstGroup, ...]:
    """The groups of the figure: those that are confirmed."""
    return found.groups


def others(found: WorstGroups, place: int) -> tuple[str, float]:
    """Whom a group is compared with, and their mean outcome: from the second on people alike in the groups before.

    With legitimate factors everybody else's is told, and what remains among people alike stands beside it.
    """
    one = found.groups[place]
    if not place or one.among_alike is not None:
        return "everybody else", one.mean_outside
    return found.others(one), one.mean_inside - one.difference


def draw(document: Document) -> Sheet:
    """Two bars per group: its mean outcome, and that of everybody else."""
    found = asked(document.worst_groups)
    groups, unit = drawn_groups(found), unit_of_groups(found)
    first = groups[0]
    title = (
        f"{words.capital(first.words)}: {document.bias_variable.short} {words.value(first.mean_inside, unit)}, "
        f"everybody else {words.value(first.mean_outside, unit)}."
    )
    sheet = Sheet(title, 12 + _ROW * len(groups) + 34)
    top = sheet.top + 12
    bottom = top + _ROW * len(groups)
    compared = [others(found, place) for place in range(len(groups))]
    ends = [one.mean_inside for one in groups] + [mean for _, mean in compared]
    axis = scale([0.0, *ends], _LEFT, _RIGHT)
    draw_across(sheet, axis, top, bottom, 100.0 if unit == "rate" else 1.0)
    for number, one in enumerate(groups):
        counted = "people" if found.key is None else "rows"
        _group(sheet, one, compared[number], axis, unit, counted, top + _ROW * number)
    name = document.bias_variable.short + (", %" if unit == "rate" else "")
    sheet.text((_LEFT + _RIGHT) / 2, bottom + 24, name, size=8, align="center")
    return sheet


def _group(
    sheet: Sheet, one: WorstGroup, other: tuple[str, float], axis: Scale, unit: words.Unit, counted: str, y: float
) -> None:
    sheet.text(_LEFT + 2, y + 8, sheet.fit(words.capital(one.words), _RIGHT - _LEFT, 8.5, True), size=8.5, bold=True)
    outside = round(one.rows / one.share) - one.rows
    sides = ((one.mean_inside, HARM, "these", one.rows), (other[1], CALM, other[0], outside))
    for line, (mean, color, who, rows) in enumerate(sides):
        start, end = sorted((axis.place(0.0), axis.place(mean)))
        line_top = y + _NAME + _BAR * line
        sheet.box(start, line_top, max(end - start, 0.5), _BAR - 3, fill=color, edge=color, round_by=0)
        text = f"{words.value(mean, unit)} {who}"
        sheet.text(end + 5, line_top + (_BAR - 3) / 2, text, size=8)
        sheet.text(
            sheet.width - 8,
            line_top + (_BAR - 3) / 2,
            f"{words.count(rows)} {counted}",
            size=7.5,
            color=GREY,
            align="right",
        )
