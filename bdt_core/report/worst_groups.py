"""The people who fare worst: their figure, each group against everybody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.figure_axis import Axis, draw_across, scale
from bdt_core.report.sheet import CALM, HARM, SMALL, WIDTH, Ruler, Sheet
from bdt_core.report.wording import asked
from bdt_core.said import AsItIs, of_ours

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import WorstGroup, WorstGroups
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Document, Printed

_LEFT, _RIGHT = 8.0, 210.0
_NAME, _BAR, _BETWEEN = 16.0, 14.0, 8.0
_NAME_SIZE, _NAME_LINES, _LINE = 9.0, 2, 12.0


def unit_of_groups(worst: WorstGroups) -> words.Unit:
    """Whether the outcome is a rate, as percentages and points, or a number."""
    return "rate" if worst.is_rate else "value"


def fewer_starts(worst: WorstGroups) -> int | None:
    """From how many random pairs of conditions a search of a narrower table starts, where this one has fewer."""
    from bdt_core.groups.scan.language import random_starts  # not needed to load definitions

    usual = random_starts(1)
    return usual if worst.searched.starts < usual else None


def drawn_groups(worst: WorstGroups) -> tuple[WorstGroup, ...]:
    """The groups of the figure: those that are confirmed."""
    return worst.groups


def others(worst: WorstGroups, place: int) -> tuple[str, float]:
    """Whom a group is compared with, and their mean outcome: from the second on people alike in the groups before.

    With legitimate factors everybody else's is told, and what remains among people alike stands beside it.
    """
    group = worst.groups[place]
    if not place or group.among_alike is not None:
        return "everybody else", group.mean_outside
    return worst.others(group), group.mean_inside - group.difference


def are_findings(document: Document) -> bool:
    """Whether all groups stand among the findings, which say how many they are and how they fare."""
    ranked, worst = document.findings, asked(document.worst_groups)
    names = {one.who for one in ranked.findings if one.found_by == "worst_groups"} if ranked else set()
    return all(one.words in names for one in worst.groups)


def rows_outside(group: WorstGroup) -> int:
    """How many are not in a group."""
    return round(group.rows / group.share) - group.rows


def draw(document: Printed, said: FigureWords) -> Sheet:
    """Two bars per group: its mean outcome, and that of everybody else."""
    worst = asked(document.worst_groups)
    groups, unit = drawn_groups(worst), unit_of_groups(worst)
    names = _names(groups)
    rows = [_LINE * (len(name) - 1) + _NAME + 2 * _BAR + _BETWEEN for name in names]
    sheet = Sheet(said.title, 12 + sum(rows) + 18, subtitle=said.subtitle)
    top = sheet.top + 12
    compared = [others(worst, place) for place in range(len(groups))]
    ends = [one.mean_inside for one in groups] + [mean for _, mean in compared]
    axis = scale([0.0, *ends], _LEFT, _RIGHT)
    draw_across(sheet, axis, top, top + sum(rows), unit)
    for group, name, other, y in zip(groups, names, compared, accumulate(rows, initial=top), strict=False):
        _group(sheet, group, name, other, axis, unit, said.words, y)
    return sheet


def _names(groups: Sequence[WorstGroup]) -> list[list[str]]:
    """What groups are called, each in the lines that it takes."""
    ruler = Ruler()
    return [
        ruler.wrap(words.capital(one.words), WIDTH - 2 * _LEFT - 4, _NAME_SIZE, _NAME_LINES, True) for one in groups
    ]


def _group(
    sheet: Sheet,
    group: WorstGroup,
    name: Sequence[str],
    other: tuple[str, float],
    axis: Axis,
    unit: words.Unit,
    said: Mapping[str, str],
    y: float,
) -> None:
    below = _LINE * (len(name) - 1)
    sheet.cover(_LEFT + 1, y + 2, sheet.width - 2 * _LEFT, _NAME + below - 3)
    for number, words_of_line in enumerate(name):
        sheet.text(_LEFT + 2, y + 8 + _LINE * number, words_of_line, size=_NAME_SIZE, bold=True)
    sides = ((group.mean_inside, HARM, said["these"], group.rows), (other[1], CALM, other[0], rows_outside(group)))
    for line, (mean, color, who, rows) in enumerate(sides):
        start, end = sorted((axis.place(0.0), axis.place(mean)))
        line_top = y + below + _NAME + _BAR * line
        sheet.box(start, line_top, max(end - start, 0.5), _BAR - 3, fill=color, edge=color, round_by=0)
        value, people = sheet.said(words.value(mean, unit)), sheet.said(words.count(rows))
        whole = AsItIs(f"{value}, {people} {said['counted']}: {sheet.said(of_ours(who))}")
        text = sheet.fit(whole, sheet.width - end - 13, SMALL)
        sheet.cover(end + 3, line_top, sheet.measure(text, SMALL) + 4, _BAR - 3)
        sheet.text(end + 5, line_top + (_BAR - 3) / 2, text, size=SMALL)
