"""Figure: how much worse a group may fare without being ruled out, by how many people it has at least."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.figure_axis import scale
from bdt_core.report.sheet import CALM, CALM_TINT, INK, SMALL, Sheet
from bdt_core.report.wording import asked
from bdt_core.report.worst_groups import unit_of_groups
from bdt_core.said import AsItIs

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import Certificate, WorstGroups
    from bdt_core.report.blocks import FigureWords
    from bdt_core.report.document import Document, Printed

_NAMES, _LEFT, _RIGHT = 8.0, 150.0, 380.0
_ROW, _BAR = 16.0, 11.0


def certificates(worst: WorstGroups) -> tuple[Certificate, ...]:
    """Of ever larger groups."""
    return () if worst.certificate is None else (worst.certificate, *worst.limited)


def limits(document: Document) -> tuple[float, ...]:
    """What limits on any group allow."""
    from bdt_core.verdict.worst_group import WorstGroupLimitResult  # loads numpy, which not every form needs

    results = (result for result in document.gate if isinstance(result, WorstGroupLimitResult))
    return tuple(sorted({result.limit for result in results if result.check == "worst_group"}))


def draw(document: Printed, said: FigureWords) -> Sheet:
    """A bar for groups of each size, as long as what is not ruled out of them, with its number: no scale is needed."""
    worst = asked(document.worst_groups)
    rows, unit, allowed = certificates(worst), unit_of_groups(worst), limits(document)
    heads = 14.0 * len(allowed)
    sheet = Sheet(said.title, heads + _ROW * len(rows) + 12, subtitle=said.subtitle)
    top = sheet.top + heads + 6
    bottom = top + _ROW * len(rows)
    axis = scale([0.0, *(one.largest_difference for one in rows), *allowed], _LEFT, _RIGHT)
    for number, certificate in enumerate(rows):
        y = top + _ROW * number + _ROW / 2
        name = AsItIs(f"{said.words['at_least']} {sheet.said(words.percent(certificate.min_share))}")
        sheet.text(_NAMES, y, sheet.fit(name, _LEFT - _NAMES - 6, SMALL), size=SMALL)
        end = axis.place(certificate.largest_difference)
        sheet.box(_LEFT, y - _BAR / 2, max(end - _LEFT, 0.5), _BAR, fill=CALM_TINT, edge=CALM, round_by=0)
        size = sheet.said(words.size_at_most(certificate.largest_difference, unit))
        sheet.cover(end + 3, y - _BAR / 2, sheet.measure(size, SMALL) + 4, _BAR)
        sheet.text(end + 5, y, size, size=SMALL)
    for number, limit in enumerate(allowed):
        x, y = axis.place(limit), sheet.top + 14.0 * number + 7
        sheet.line([x, x], [y + 6, bottom], color=INK, width=1, style="--")
        label = AsItIs(f"{said.words['limit']} {sheet.said(words.size(limit, unit))}")
        sheet.text(x, y, label, size=SMALL, align="center")
    return sheet
