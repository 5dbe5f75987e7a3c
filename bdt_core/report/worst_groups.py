"""The people who fare worst: their figure, each group against everybody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.figure_axis import Scale, draw_across, scale
from bdt_core.report.sheet import CALM, HARM, SMALL, Sheet
from bdt_core.report.wording import asked
from bdt_core.said import AsItIs, of_ours

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import WorstGroup, WorstGroups
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Document, Printed

_LEFT, _RIGHT = 8.0, 210.0
_NAME, _BAR, _BETWEEN = 16.0, 14.0, 16.0
_ROW = _NAME + 2 * _BAR + _BETWEEN


def unit_of_groups(found: WorstGroups) -> words.Unit:
    """Whether the outcome is a rate, as percentages and points, or a number."""
    return "rate" if found.is_rate else "value"


def fewer_starts(found: WorstGroups) -> int | None:
    """From how many random pairs of conditions a search of a narrower table starts, where this one has fewer."""
    from bdt_core.groups.scan.language import random_starts  # not needed to load definitions

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


def are_findings(document: Document) -> bool:
    """Whether all groups stand among the findings, which say how many they are and how they fare."""
    ranked, found = document.findings, asked(document.worst_groups)
    told = {one.who for one in ranked.findings if one.found_by == "worst_groups"} if ranked else set()
    return all(one.words in told for one in found.groups)


def rows_outside(one: WorstGroup) -> int:
    """How many are not in a group."""
    return round(one.rows / one.share) - one.rows


def draw(document: Printed, said: FigureWords) -> Sheet:
    """Two bars per group: its mean outcome, and that of everybody else."""
    found = asked(document.worst_groups)
    groups, unit = drawn_groups(found), unit_of_groups(found)
    sheet = Sheet(said.title, 12 + _ROW * len(groups) + 18, subtitle=said.subtitle)
    top = sheet.top + 12
    bottom = top + _ROW * len(groups)
    compared = [others(found, place) for place in range(len(groups))]
    ends = [one.mean_inside for one in groups] + [mean for _, mean in compared]
    axis = scale([0.0, *ends], _LEFT, _RIGHT)
    draw_across(sheet, axis, top, bottom, 100.0 if unit == "rate" else 1.0)
    for number, one in enumerate(groups):
        _group(sheet, one, compared[number], axis, unit, said.words, top + _ROW * number)
    return sheet


def _group(
    sheet: Sheet,
    one: WorstGroup,
    other: tuple[str, float],
    axis: Scale,
    unit: words.Unit,
    said: Mapping[str, str],
    y: float,
) -> None:
    name = sheet.fit(words.capital(one.words), sheet.width - 2 * _LEFT, 9, True)
    sheet.cover(_LEFT + 1, y + 2, sheet.width - 2 * _LEFT, _NAME - 3)
    sheet.text(_LEFT + 2, y + 8, name, size=9, bold=True)
    sides = ((one.mean_inside, HARM, said["these"], one.rows), (other[1], CALM, other[0], rows_outside(one)))
    for line, (mean, color, who, rows) in enumerate(sides):
        start, end = sorted((axis.place(0.0), axis.place(mean)))
        line_top = y + _NAME + _BAR * line
        sheet.box(start, line_top, max(end - start, 0.5), _BAR - 3, fill=color, edge=color, round_by=0)
        value, people = sheet.said(words.value(mean, unit)), sheet.said(words.count(rows))
        whole = AsItIs(f"{value}, {people} {said['counted']}: {sheet.said(of_ours(who))}")
        told = sheet.fit(whole, sheet.width - end - 13, SMALL)
        sheet.cover(end + 3, line_top, sheet.measure(told, SMALL) + 4, _BAR - 3)
        sheet.text(end + 5, line_top + (_BAR - 3) / 2, told, size=SMALL)
