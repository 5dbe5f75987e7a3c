"""Whether the score is right: which declared groups are shown, and their reliability curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.figure_axis import Axis, tick
from bdt_core.report.sheet import CALM, GREY, HARM, INK, SMALL, Sheet
from bdt_core.report.wording import asked
from bdt_core.said import AsItIs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bdt_core.calibration import CalibratedFacet, CalibratedGroup, Calibration
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Printed

MOST_SHOWN, MOST_DRAWN = 15, 6
_ACROSS, _SIDE, _LEFT, _BETWEEN = 3, 112.0, 34.0, 46.0
_HEAD, _FOOT = 30.0, 24.0
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def shown(facet: CalibratedFacet) -> list[CalibratedGroup]:
    """Groups with numbers, those first for whom the score is farthest off."""
    known = [one for one in facet.groups if one.gap is not None]
    return sorted(known, key=lambda one: (-one.at_least, -abs(one.gap or 0.0), one.words))[:MOST_SHOWN]


def drawn_facet(calibration: Calibration) -> CalibratedFacet | None:
    """The grouping of the figure: the one with the group for whom the score is farthest off for sure."""
    facets = [one for one in calibration.facets if drawn_groups(one)]
    return max(facets, key=lambda one: farthest(one).at_least, default=None)


def drawn_groups(facet: CalibratedFacet) -> list[CalibratedGroup]:
    """Groups with a curve, the largest first."""
    return sorted((one for one in facet.groups if one.bins), key=lambda one: (-one.rows, one.words))[:MOST_DRAWN]


def farthest(facet: CalibratedFacet) -> CalibratedGroup:
    """The drawn group for whom the score is farthest off for sure."""
    return max(drawn_groups(facet), key=lambda one: one.at_least)


def draw(document: Printed, said: FigureWords) -> Sheet:
    """A square per group, with what the score says across and what happened up; on its diagonal both are the same."""
    groups = drawn_groups(asked(drawn_facet(asked(document.calibration))))
    rows = -(-len(groups) // _ACROSS)
    sheet = Sheet(said.title, rows * (_HEAD + _SIDE + _FOOT) + 4, subtitle=said.subtitle)
    for number, group in enumerate(groups):
        left = _LEFT + (number % _ACROSS) * (_SIDE + _BETWEEN)
        top = sheet.top + (number // _ACROSS) * (_HEAD + _SIDE + _FOOT) + _HEAD
        _curve(sheet, group, said.words, left, top)
    return sheet


def _curve(sheet: Sheet, group: CalibratedGroup, said: Mapping[str, str], left: float, top: float) -> None:
    bottom = top + _SIDE
    across, up = Axis(0.0, 1.0, _TICKS, left, left + _SIDE), Axis(0.0, 1.0, _TICKS, bottom, top)
    name = sheet.fit(words.capital(group.words), _SIDE + _BETWEEN - 8, 9, True)
    sheet.text(left, top - 22, name, size=9, bold=True)
    people = AsItIs(f"{sheet.said(words.count(group.rows))} {said['counted']}")
    sheet.text(left, top - 10, people, size=SMALL, color=GREY)
    for x in _TICKS:
        sheet.line([across.place(x)] * 2, [top, bottom], width=0.5)
        sheet.line([left, left + _SIDE], [up.place(x)] * 2, width=0.5)
    for x in _TICKS[::2]:
        sheet.text(across.place(x), bottom + 9, tick(x, "rate"), size=SMALL, color=GREY, align="center")
        sheet.text(left - 5, up.place(x), tick(x, "rate"), size=SMALL, color=GREY, align="right")
    sheet.line([left, left + _SIDE], [bottom, top], color=INK, width=0.9, style="--")
    sheet.text(left + 4, top + 8, said["too_low"], size=SMALL, color=GREY)
    sheet.text(left + _SIDE - 4, bottom - 8, said["too_high"], size=SMALL, color=GREY, align="right")
    color = CALM if group.way is None else HARM
    places = [(across.place(one.mean_score), up.place(one.share_positive)) for one in group.bins]
    for of_bin, (x, _) in zip(group.bins, places, strict=True):
        sheet.line([x, x], [up.place(of_bin.low), up.place(of_bin.high)], color=color, width=1.2)
    sheet.line([x for x, _ in places], [y for _, y in places], color=color, width=1.0)
    for x, y in places:
        sheet.mark(x, y, shape="o" if group.way is None else "s", fill=color, edge="white", size=6)
