"""The section on intersections: every conjunction of conditions that was tested, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from bdt_core import words
from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    Column,
    Figure,
    Folded,
    Paragraph,
    Section,
    Table,
    cells,
    columns,
)
from bdt_core.report.wording import asked, interval_note, rows_and_events, whole
from bdt_core.report.wording_depth import (
    drawn_slices,
    figures_of_depth,
    has_numbers,
    listed,
    name_of_slices,
    reported_slices,
    unit_of_slices,
)

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import Document
    from bdt_core.slices.results import Slice, Slices

SLICES_SHOWN = 30
FOLDED_SHOWN = 5
WEAKER_SHOWN = 10
_TOLD_IN_ALT = 10


def slices_section(document: Document) -> Section | None:
    """Intersections of conditions in which people fare worse; None when none were searched for."""
    slices = document.slices
    if slices is None:
        return None
    blocks: list[Block] = [Paragraph(f"Warning: {one}") for one in slices.warnings]
    blocks += [Paragraph(one) for one in _introduction(document)]
    reported = reported_slices(slices)
    figures = figures_of_depth(document)
    if "slices" in figures:
        blocks.append(_figure(document))
    if reported:
        blocks.append(_reported_table(document, reported))
    if "slices_lattice" in figures:
        blocks.append(_lattice_figure(document))
    return Section("slices", "Intersections", (*blocks, *_depth(document, reported)))


def where(slices: Slices) -> str:
    """The rows that the values are of.

    Examples
    --------
    >>> where({"in_sample": False}), where({"in_sample": True})
    ('on the test rows', 'on the very rows that were searched')
    """
    return "on the very rows that were searched" if slices.in_sample else "on the test rows"


def _introduction(document: Document) -> Iterator[str]:
    slices = asked(document.slices)
    most, name = slices.max_conditions, name_of_slices(document)[0]
    conditions = f"up to {most} conditions" if most > 1 else "one condition"
    used = len(slices.columns)
    yield (
        f"Every intersection of {conditions} on {words.count(used)} column{'s' * (used != 1)} was looked at, such as "
        '"of this age and of that sex". '
        f"{words.count(slices.searched)} have at least {words.count(slices.min_train_rows)} train rows "
        f"({slices.min_support * 100:.3g} % of them, or more) and {slices.min_rows} rows of whom the {name} is "
        "taken. " + _tested(slices)
    )
    if not slices.tests:
        yield f"No intersection was tested: {slices.reason}."
        return
    found = sum(bool(one.significant) for one in slices.slices)
    reported = len(reported_slices(slices))
    if not found:
        yield (
            "No intersection fares significantly worse than everybody else. That is no sign that all are treated "
            "alike: the more intersections there are, the fewer people are in each, and small differences stay unseen."
        )
        return
    yield f"{words.count(reported)} fare{'s' * (reported == 1)} significantly worse than everybody else.{_more(slices)}"


def _more(slices: Slices) -> str:
    """How many significant intersections others stand for."""
    inside = sum(bool(one.significant) and one.parent is not None for one in slices.slices)
    if not inside:
        return ""
    if inside == 1:
        return " One more is significant too, but lies within a reported one and is no worse: it is listed below."
    return f" {words.count(inside)} more are significant too, but lie within these and are no worse: see below."


def _tested(slices: Slices) -> str:
    tests = f"{words.count(slices.tests)} test{'s' * (slices.tests != 1)}"
    if not slices.tests:
        return ""
    if slices.in_sample:
        rows = f"They were tested on the same {words.count(slices.train_rows)} rows: {tests}"
    else:
        rows = (
            f"The worst of them on the {words.count(slices.train_rows)} train rows were tested for harm on the "
            f"{words.count(slices.test_rows)} test rows, which the search never saw: {tests}"
        )
    level = f"{slices.fdr * 100:.3g} %"
    if slices.correction == "bh":
        weighted = "" if slices.in_sample else ", weighted by the evidence on the train rows"
        return (
            f"{rows}, all of them counted in the correction by Benjamini and Hochberg's method{weighted}. Of the "
            f"intersections that are called worse at most {level} are expected to be so by chance."
        )
    return (
        f"{rows}, corrected by permutations of the largest statistic: the chance that any intersection is called worse "
        f"by chance is at most {level}."
    )


def _figure(document: Document) -> Figure:
    slices, unit = asked(document.slices), unit_of_slices(document)
    told = [
        f"{one.name} {words.signed(one.comparison.difference, unit)} {interval_note(one.comparison, unit)}"
        for one in drawn_slices(slices)[:_TOLD_IN_ALT]
    ]
    more = len(drawn_slices(slices)) - len(told)
    rest = f"; {more} more stand in the tables" if more > 0 else ""
    return Figure(
        "slices",
        f"Difference of each intersection from everybody else {where(slices)}; the intervals hold for each one alone.",
        f"Chart of differences in {name_of_slices(document)[1]}: {'; '.join(told)}{rest}.",
    )


def _lattice_figure(document: Document) -> Figure:
    slices, unit = asked(document.slices), unit_of_slices(document)
    told = [
        f"{one.name}: {words.value(one.comparison.mean_a, unit)} of {words.count(one.comparison.n_a)}"
        for one in slices.lattice
        if has_numbers(one, slices.min_rows)
    ]
    return Figure(
        "slices_lattice",
        f"The conditions of the worst intersection one by one and together, {where(slices)}: where harm "
        "appears only when they come together, no single column shows it.",
        f"Lattice of the worst intersection: {'; '.join(told)}.",
    )


def _reported_table(document: Document, reported: Sequence[Slice]) -> Table:
    left = len(reported) - SLICES_SHOWN
    more = f"; {words.count(left)} more stand in report.json" if left > 0 else ""
    return Table(
        f"Intersections that fare significantly worse, {where(asked(document.slices))}{more}",
        _heads(document, "Intersection"),
        tuple(_row(document, one) for one in reported[:SLICES_SHOWN]),
    )


def _heads(document: Document, first: str) -> tuple[Column, ...]:
    points = ", points" if unit_of_slices(document) == "rate" else ""
    rows = "Rows" if asked(document.slices).in_sample else "Test rows"
    return (
        *columns(first, f"#{rows}"),
        Column(words.capital(name_of_slices(document)[1]), number=True),
        *columns("#Everybody else", f"#Difference{points}", "#Ratio to overall", "#p, corrected", "#Shrunken"),
    )


def _row(document: Document, one: Slice) -> tuple[Cell, ...]:
    """A slice; without values where they rest on too few rows."""
    comparison, unit = one.comparison, unit_of_slices(document)
    if not has_numbers(one, asked(document.slices).min_rows):
        reason = comparison.reason or f"fewer than {asked(document.slices).min_rows} rows"
        nothing = [Cell(words.NOTHING)] * 5
        return cells(one.name, words.count(one.test_rows), Cell("not testable", note=reason, tone="muted"), *nothing)
    return cells(
        one.name,
        Cell(words.count(one.test_rows), note=whole(words.percent(one.test_support))),
        Cell(words.value(comparison.mean_a, unit), note=_events(comparison, "a")),
        Cell(words.value(comparison.mean_b, unit), note=_events(comparison, "b")),
        Cell(
            words.signed(comparison.difference, unit),
            note=interval_note(comparison, unit) if comparison.low is not None else "",
            tone="harm" if one.significant else "",
        ),
        words.number(one.ratio_to_overall),
        words.p_number(one.p_adjusted),
        words.signed(one.shrunken_difference, unit),
    )


def _events(comparison: Comparison, side: Literal["a", "b"]) -> str:
    rows, events = rows_and_events(comparison, side)
    return whole(f"{rows} rows" if events is None else f"{events} of {rows}")


def _depth(document: Document, reported: Sequence[Slice]) -> Iterator[Folded]:
    slices = asked(document.slices)
    inside = _inside(slices, reported)
    if inside:
        total = sum(one.parent is not None and bool(one.significant) for one in slices.slices)
        cut = Paragraph(
            "Each is significantly worse than everybody else, but no worse than the intersection around it"
            + (
                f"; the first {FOLDED_SHOWN} of each are shown, all stand in report.json."
                if len(inside) < total
                else "."
            )
        )
        tables = (
            Table(
                f"Within {around.name}, {where(slices)}",
                _heads(document, "Intersection"),
                tuple(_row(document, one) for one in several),
            )
            for around, several in _by_parent(reported, inside)
        )
        several = f"{words.count(total)} intersections that others stand for"
        yield Folded(several if total > 1 else "1 intersection that another stands for", (cut, *tables))
    weaker = [one for one in slices.slices if not one.significant]
    if weaker:
        yield Folded(
            "The strongest that are not significant",
            (
                Table(
                    f"Not significantly worse after the correction, {where(slices)}",
                    _heads(document, "Intersection"),
                    tuple(_row(document, one) for one in weaker[:WEAKER_SHOWN]),
                ),
            ),
        )
    yield Folded("What was searched", tuple(_searched(document)))


def _inside(slices: Slices, reported: Sequence[Slice]) -> list[Slice]:
    """The first few slices that are listed under each of those that are shown."""
    shown = {one.name: 0 for one in reported[:SLICES_SHOWN]}
    kept = []
    for one in slices.slices:
        if one.significant and one.parent in shown and shown[one.parent] < FOLDED_SHOWN:
            shown[one.parent] += 1
            kept.append(one)
    return kept


def _by_parent(reported: Sequence[Slice], inside: Sequence[Slice]) -> Iterator[tuple[Slice, list[Slice]]]:
    for around in reported:
        several = [one for one in inside if one.parent == around.name]
        if several:
            yield around, several


def _searched(document: Document) -> Iterator[Block]:
    slices, unit = asked(document.slices), unit_of_slices(document)
    prior = f"{words.size(slices.prior_sd, unit)}"
    yield Paragraph(
        f"Numbers with many values are cut into {slices.bins} intervals of equally many train rows; a missing value "
        "is a value. Shrunken differences are what remains of the difference when intersections at large differ from "
        f"everybody else by {prior} (standard deviation, from the train rows): the fewer rows, the more it shrinks. "
        "They rank the intersections."
    )
    if slices.left_out:
        yield Paragraph(f"Left out, without a known outcome: {words.count(slices.left_out)} rows.")
    if slices.columns:
        yield Table(
            "Columns and their conditions",
            columns("Column", "Conditions", "#Train rows under none"),
            tuple(
                cells(
                    one.name,
                    listed([condition.text for condition in one.conditions], 8) or "none with enough rows",
                    words.count(one.other_rows),
                )
                for one in slices.columns
            ),
        )
    if slices.excluded:
        yield Bullets(tuple(f"Not searched: {one.name}, {one.reason}." for one in slices.excluded))
