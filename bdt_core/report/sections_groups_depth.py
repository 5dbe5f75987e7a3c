"""Depth on declared groups: every rate with its counts, differences from the reference, Clarify's metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import Block, Cell, Column, Folded, Paragraph, Table
from bdt_core.report.wording_groups import CLARIFY, RATE_NAMES, known_rates, rate_cell, span

if TYPE_CHECKING:
    from bdt_core.report.document import Facet, GroupValue

Row = tuple[Cell, Sequence[Cell]]
GROUPS_IN_DEPTH = 15
_SIDE_BY_SIDE = 5


def depth(facet: Facet, confidence: str) -> Iterator[Folded]:
    """Everything that the document knows of the largest groups that have enough rows."""
    places = [i for i, one in enumerate(facet.groups) if one.rates is not None]
    if not places:
        return
    shown, by = places[:GROUPS_IN_DEPTH], f"by {facet.facet}"
    cut: list[Block] = []
    if facet.groups_total > len(shown) < len(places):
        cut.append(Paragraph(f"The {len(shown)} largest groups; those of the others stand in report.json."))
    caption = f"Every rate {by}, with {confidence} intervals for each group alone, and counts"
    yield Folded(
        f"Every rate {by}", (*cut, *_side_by_side(caption, _names(facet, shown), (), _rate_rows(facet, shown)))
    )
    compared = [i for i in shown if facet.groups[i].group != facet.reference]
    if facet.against_reference and compared:
        yield Folded(f"Differences from {facet.reference}", (*cut, *_reference_tables(facet, compared, confidence)))
    if facet.clarify:
        yield Folded(f"Clarify's 21 metrics {by}", (*cut, *_clarify_blocks(facet, shown, confidence)))


def _names(facet: Facet, places: Sequence[int]) -> list[str]:
    return [facet.groups[i].group for i in places]


def _side_by_side(
    caption: str, names: Sequence[str], leading: tuple[Column, ...], rows: Sequence[Row], lead: Sequence[str] = ()
) -> Iterator[Table]:
    """Tables with a few groups beside one another, as many tables as the groups need."""
    for start in range(0, len(names), _SIDE_BY_SIDE):
        part = slice(start, start + _SIDE_BY_SIDE)
        of = f": groups {start + 1} to {min(start + _SIDE_BY_SIDE, len(names))} of {len(names)}"
        yield Table(
            caption + (of if len(names) > _SIDE_BY_SIDE else ""),
            (Column("Metric"), *leading, *(Column(name, number=True) for name in names[part])),
            tuple((head, *((Cell(lead[i]),) if lead else ()), *row[part]) for i, (head, row) in enumerate(rows)),
        )


def _rate_rows(facet: Facet, places: Sequence[int]) -> list[Row]:
    return [
        (Cell(RATE_NAMES[rate]), [rate_cell(facet.groups[i], rate, counts=True) for i in places])
        for rate in known_rates(facet)
    ]


def _reference_tables(facet: Facet, places: Sequence[int], confidence: str) -> Iterator[Table]:
    """Differences in points, then ratios."""
    names = _names(facet, places)
    for kind, what in (("difference", "Rate less that of"), ("ratio", "Rate over that of")):
        rows = []
        for one in facet.against_reference:
            rate, _, ending = one.metric.rpartition("_")
            if ending == kind:
                unit: words.Unit | None = "rate" if kind == "difference" else None
                rows.append(_row(Cell(RATE_NAMES[rate]), [one.values[i] for i in places], unit))
        caption = f"{what} {facet.reference}{', in points' if kind == 'difference' else ''}, {_held(facet, confidence)}"
        yield from _side_by_side(caption, names, (), rows)


def _clarify_blocks(facet: Facet, places: Sequence[int], confidence: str) -> Iterator[Block]:
    found = {one.metric: one.values for one in facet.clarify}
    yield Paragraph(
        "Each group (d) is set against everybody else with a known group (a). Where others come first, a value above "
        "0 means that they have more; where the group comes first, that the group has more."
    )
    rows, no_bias = [], []
    for name, metric in CLARIFY.items():
        if name in found and name != "GE":
            rows.append(_row(Cell(name, note=f"{metric.name}: {metric.how}"), [found[name][i] for i in places], None))
            no_bias.append(metric.no_bias)
    caption = f"Clarify's metrics by {facet.facet}, {_held(facet, confidence)}"
    yield from _side_by_side(caption, _names(facet, places), (Column("No bias", number=True),), rows, no_bias)
    if "GE" in found:
        yield Paragraph(_entropy(found["GE"][0]))


def _entropy(one: GroupValue) -> str:
    name = "Generalised entropy (GE) of all rows together, which is 0 when everybody is served alike"
    if one.estimate is None:
        return f"{name}: undefined, {one.undefined_reason}."
    return f"{name}: {words.number(one.estimate)} {_ends(one, None)}".rstrip() + "."


def _held(facet: Facet, confidence: str) -> str:
    """For what the intervals hold."""
    values = [one for metric in (*facet.against_reference, *facet.clarify) for one in metric.values]
    together = any(one.together_low is not None for one in values)
    return f"with {confidence} intervals that hold for {'all groups at once' if together else 'each group alone'}"


def _row(head: Cell, values: Sequence[GroupValue], unit: words.Unit | None) -> Row:
    """A metric of several groups; a reason that they share is given once."""
    reasons = {one.undefined_reason for one in values}
    shared = reasons.pop() if len(reasons) == 1 else None
    if shared is not None:
        note = f"{head.note}; undefined: {shared}" if head.note else f"undefined: {shared}"
        return Cell(head.text, note=note), [Cell(words.NOTHING, tone="muted")] * len(values)
    return head, [_value_cell(one, unit) for one in values]


def _value_cell(one: GroupValue, unit: words.Unit | None) -> Cell:
    if one.estimate is None:
        return Cell("undefined", note=one.undefined_reason or "", tone="muted")
    told = words.signed(one.estimate, unit) if unit else words.number(one.estimate)
    return Cell(told, note=_ends(one, unit))


def _ends(one: GroupValue, unit: words.Unit | None) -> str:
    """The limits that hold for all groups at once, where they are known."""
    together = one.together_low is not None and one.together_high is not None
    low, high = (one.together_low, one.together_high) if together else (one.low, one.high)
    if low is None or high is None:
        return ""
    return span(*(words.signed(x, unit) if unit else words.number(x) for x in (low, high)))
