"""The section on mitigation: what could be done about it, and what that was measured to do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import (
    Block,
    Bullets,
    Cell,
    Figure,
    Folded,
    Paragraph,
    Section,
    Table,
    cells,
    columns,
)
from bdt_core.report.wording import asked
from bdt_core.report.wording_depth import change_span, change_told, figures_of_depth, listed, mitigation_points
from bdt_core.report.wording_groups import CRITERIA, RATE_NAMES, metric_name, span

if TYPE_CHECKING:
    from bdt_core.fairness.metric_results import Estimate
    from bdt_core.mitigation.proxies import ProxyTable
    from bdt_core.mitigation.results import GroupChange, MetricChange
    from bdt_core.report.document import Document, Mitigated

GROUPS_SHOWN = 30
METRICS_SHOWN = 40
PROXIES_SHOWN = 15
_CONSTRAINTS = {
    "demographic_parity": "selection rates",
    "equal_opportunity": "true positive rates",
    "equalized_odds": "true and false positive rates",
    "predictive_parity": "positive predictive values",
}


def mitigation_section(document: Document) -> Section | None:
    """Thresholds per group, measured on the test rows; None when none were asked for."""
    found = document.mitigation
    if found is None:
        return None
    blocks: list[Block] = [_recommendations(found)]
    if found.thresholds is None:
        blocks.append(Paragraph(f"No thresholds could be chosen. {words.capital(found.reason or '')}"))
    else:
        blocks += [Paragraph(_introduction(found)), *_measured(document, found)]
    if found.left_out:
        told = [f"{one.group} ({one.reason})" for one in found.left_out]
        blocks.append(Paragraph(f"Left as they are, for too few rows: {listed(told, 10)}."))
    if found.notes:
        blocks.append(Bullets(tuple(found.notes)))
    return Section("mitigation", "Mitigation", (*blocks, *_depth(found)))


def facet(found: Mitigated) -> str:
    """The columns with the groups.

    Examples
    --------
    >>> facet({"settings": {"group": ["race", "sex"]}})
    'race & sex'
    """
    return " & ".join(found.settings.group)


def _recommendations(found: Mitigated) -> Block:
    told = [f"{words.capital(one.check.replace('_', ' '))}: {one.text}" for one in found.recommendations]
    if not told:
        return Paragraph("Every limit holds, so nothing is recommended; what was measured stands below all the same.")
    return Bullets(tuple(told))


def _introduction(found: Mitigated) -> str:
    settings, thresholds = found.settings, asked(found.thresholds)
    lots = ", drawing lots between two of them where that helps" if settings.randomized else ""
    return (
        f"The present decision is {found.present}. Instead of it, one threshold on {settings.score} for each "
        f"group of {facet(found)} was chosen on {words.count(found.train_rows)} train rows{lots}: of those that "
        f"leave {_CONSTRAINTS[settings.constraint]} at most {words.size(settings.tolerance, 'rate')} apart, the "
        f"ones with the best {settings.objective.replace('_', ' ')}. There the gap is "
        f"{words.size(thresholds.train_gap, 'rate')}. What follows is measured on {words.count(found.test_rows)} "
        "test rows, on which nothing was chosen. Selected means a positive prediction; whether that is good for a "
        "person these numbers cannot know."
    )


def _measured(document: Document, found: Mitigated) -> Iterator[Block]:
    thresholds, confidence = asked(found.thresholds), _confidence(found)
    change = thresholds.accuracy_change
    if change.estimate is not None:
        told = words.difference(
            change.estimate, change.low, change.high, confidence=1 - found.settings.alpha, unit="rate"
        )
        yield Paragraph(
            f"Accuracy goes from {words.percent(thresholds.accuracy.before.estimate)} to "
            f"{words.percent(thresholds.accuracy.after.estimate)}: {told}, by a comparison of the same rows."
        )
    if "mitigation" in figures_of_depth(document):
        yield _figure(document, found)
    yield _groups_table(found)
    differences = [one for one in thresholds.metrics if not one.metric.endswith("_ratio")]
    first = [one for one in differences if one.metric == thresholds.gap.metric] or [thresholds.gap]
    rest = [one for one in differences if one.metric != thresholds.gap.metric]
    yield _changes_table(
        f"Before and after on the test rows, with {confidence} intervals; a smaller difference is better",
        [*first, thresholds.accuracy, *rest],
    )


def _confidence(found: Mitigated) -> str:
    return f"{(1 - found.settings.alpha) * 100:.4g} %"


def _figure(document: Document, found: Mitigated) -> Figure:
    thresholds = asked(found.thresholds)
    gap, accuracy = thresholds.gap, thresholds.accuracy
    told = [
        f"{when} a gap of {words.size(getattr(gap, side).estimate, 'rate')} at an accuracy of "
        f"{words.percent(getattr(accuracy, side).estimate)}"
        for when, side in (("now", "before"), ("with the thresholds chosen", "after"))
    ]
    return Figure(
        "mitigation",
        f"What equality costs on the test rows: the gap in {_CONSTRAINTS[found.settings.constraint]} against the "
        "accuracy, for thresholds chosen on the train rows at each tolerance. Better is up and to the left.",
        f"Frontier of gap against accuracy: {'; '.join(told)}; {len(mitigation_points(document))} tolerances in all.",
    )


def _groups_table(found: Mitigated) -> Table:
    groups = asked(found.thresholds).groups
    left = len(groups) - GROUPS_SHOWN
    more = f"; {words.count(left)} more groups stand in report.json" if left > 0 else ""
    return Table(
        f"Thresholds on {found.settings.score} by {facet(found)}, and whom they select among the test rows{more}",
        columns("Group", "#Test rows", "#Selected now from", "#Then from", "#Newly selected", "#No longer selected"),
        tuple(_group_row(found, one) for one in groups[:GROUPS_SHOWN]),
    )


def _group_row(found: Mitigated, one: GroupChange) -> tuple[Cell, ...]:
    few = Cell("not printed", note=f"fewer than {found.settings.min_rows} rows", tone="muted")
    newly, lost = one.selected_now, one.selected_no_longer
    return cells(
        one.group,
        words.count(one.test_rows),
        Cell(_threshold(one.threshold_before), note="" if one.threshold_before is not None else "no one threshold"),
        _after(one),
        few if newly is None else words.count(newly),
        Cell(words.NOTHING) if lost is None else words.count(lost),
    )


def _after(one: GroupChange) -> Cell:
    if one.threshold_after is not None:
        return Cell(_threshold(one.threshold_after))
    told = [f"{_threshold(value)} ({words.percent(chance)})" for value, chance in one.mixture]
    return Cell(" or ".join(told), note="by lot")


def _threshold(x: float | None) -> str:
    """A threshold; what is infinite selects nobody or everybody."""
    if x in (math.inf, -math.inf):
        return "nobody" if x == math.inf else "everybody"
    return words.number(x)


def _changes_table(caption: str, changes: Sequence[MetricChange]) -> Table:
    left = len(changes) - METRICS_SHOWN
    more = f"; {words.count(left)} more stand in report.json" if left > 0 else ""
    return Table(
        f"{caption}{more}",
        columns("Metric", "#Before", "#After"),
        tuple(_change_row(one) for one in changes[:METRICS_SHOWN]),
    )


def _change_row(one: MetricChange) -> tuple[Cell, ...]:
    plain = one.metric.removesuffix("_difference").removesuffix("_ratio")
    name = RATE_NAMES.get(one.metric) or metric_name(one.metric)
    asks = CRITERIA[plain].asks if plain in CRITERIA and plain != one.metric else ""
    return cells(Cell(name, note=one.group or asks), _side(one.metric, one.before), _side(one.metric, one.after))


def _side(metric: str, one: Estimate) -> Cell:
    if one.estimate is None:
        return Cell("undefined", note=one.undefined_reason or "", tone="muted")
    return Cell(change_told(metric, one.estimate), note=change_span(metric, one.low, one.high))


def _depth(found: Mitigated) -> Iterator[Folded]:
    thresholds, confidence = found.thresholds, _confidence(found)
    if thresholds is not None:
        rates = [rate for one in thresholds.groups[:GROUPS_SHOWN] for rate in one.rates]
        if rates:
            yield Folded(
                "Rates of each group, before and after",
                (_rates_table(thresholds.groups, f"On the test rows, with {confidence} intervals"),),
            )
        ratios = [one for one in thresholds.metrics if one.metric.endswith("_ratio")]
        if ratios:
            caption = f"Smallest over largest, with {confidence} intervals; closer to 1 is better"
            yield Folded("Ratios between groups, before and after", (_changes_table(caption, ratios),))
        if thresholds.frontier:
            yield Folded("Thresholds at each tolerance", (_frontier_table(found),))
    if found.reweighing is not None and found.reweighing.cells:
        yield Folded("Weights for training anew", tuple(_reweighing(found)))
    if found.proxies is not None and found.proxies.proxies:
        yield Folded("Features that tell a protected attribute", (_proxies_table(found.proxies),))
    missing = [f"{name} in {words.count(rows)}" for name, rows in found.missing.items() if rows]
    if missing:
        yield Folded("Rows that were not used", (Paragraph(f"Without a value: {', '.join(missing)}."),))


def _rates_table(groups: Sequence[GroupChange], caption: str) -> Table:
    rows = [
        cells(
            one.group,
            RATE_NAMES.get(rate.metric) or metric_name(rate.metric),
            _side(rate.metric, rate.before),
            _side(rate.metric, rate.after),
        )
        for one in groups[:GROUPS_SHOWN]
        for rate in one.rates
    ]
    return Table(caption, columns("Group", "Rate", "#Before", "#After"), tuple(rows))


def _frontier_table(found: Mitigated) -> Table:
    metric = asked(found.thresholds).gap.metric
    rows = []
    for one in asked(found.thresholds).frontier:
        told = [f"{name} {_threshold(value)}" for name, value in one.thresholds.items()]
        rows.append(
            cells(
                words.size(one.tolerance, "rate") if one.tolerance < 1 else "none",
                listed(told, 8),
                words.size(one.train_gap, "rate"),
                _side(metric, one.gap),
                _side("accuracy", one.accuracy),
            )
        )
    return Table(
        f"The best thresholds at each tolerance: chosen on the train rows, measured on the test rows with "
        f"{_confidence(found)} intervals",
        columns("Tolerance", "Thresholds", "#Train gap", "#Test gap", "#Accuracy"),
        tuple(rows),
    )


def _reweighing(found: Mitigated) -> Iterator[Block]:
    reweighing = asked(found.reweighing)
    yield Paragraph(
        f"With these weights {facet(found)} and {found.settings.label} are independent among the "
        f"{words.count(reweighing.rows)} train rows (Kamiran and Calders, 2012). They are for a model that is "
        "trained anew; what such a model would do was not measured."
    )
    left = len(reweighing.cells) - 2 * GROUPS_SHOWN
    more = f"; {words.count(left)} more stand in report.json" if left > 0 else ""
    yield Table(
        f"Weights by group and label{more}",
        columns("Group", "Label", "#Train rows", "#If independent", "#Weight"),
        tuple(
            cells(
                str(one.group),
                "positive" if one.label in (1, "1") else "negative",
                words.count(one.rows),
                words.number(one.expected),
                words.number(one.weight),
            )
            for one in reweighing.cells[: 2 * GROUPS_SHOWN]
        ),
    )
    if reweighing.empty:
        yield Paragraph(f"Without rows, so that no weight can mend it: {listed(reweighing.empty)}.")


def _proxies_table(proxies: ProxyTable) -> Table:
    known = proxies.proxies
    left = len(known) - PROXIES_SHOWN
    more = f"; the strongest {PROXIES_SHOWN} of {len(known)}" if left > 0 else ""
    rows = []
    for one in known[:PROXIES_SHOWN]:
        measured = one.measure or ""
        level = f" of {one.level}" if one.level is not None else ""
        if one.estimate is None:
            value = Cell("not measured", note=one.reason or "", tone="muted")
        else:
            ends = span(words.number(one.low), words.number(one.high)) if one.low is not None else ""
            value = Cell(words.number(one.estimate), note=ends)
        rows.append(cells(one.feature, one.protected, f"{measured}{level}", value, words.number(one.strength)))
    return Table(
        f"How well each feature tells a protected attribute, from 0 (not at all) to 1, with "
        f"{proxies.confidence * 100:.4g} % intervals{more}",
        columns("Feature", "Protected", "Measured by", "#Value", "#Strength"),
        tuple(rows),
    )
