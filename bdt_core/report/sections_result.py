"""The sections on the result: every cluster against everybody else, and the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.report.blocks import Block, Bullets, Cell, Figure, Paragraph, Section, Table, Tone, cells, columns
from bdt_core.report.wording import interval_note
from bdt_core.report.wording_groups import RATE_NAMES, metric_name, span

if TYPE_CHECKING:
    from bdt_core.inference import Comparison
    from bdt_core.report.document import BiasVariable, Cluster, Document
    from bdt_core.verdict import ClusterLimitResult, LimitResult, MetricLimitResult

_CHECKS = {"worst_cluster": "Most deviating cluster", "any_cluster": "Any cluster"}


def clusters_section(document: Document) -> Section:
    """Every cluster against everybody else, on the test rows."""
    variable = document.bias_variable
    table = Table(
        "Every cluster against everybody else, on the test rows",
        columns("Cluster", "Who is in it, nearly", "#Test rows", f"#{variable.short}", "#Everybody else",
                "#Difference", "#p, corrected", "Finding"),
        tuple(_cluster_row(one, variable) for one in document.clusters),
    )  # fmt: skip
    mean = words.value(variable.test_mean, variable.unit)
    figure = Figure(
        "clusters",
        f"Difference of each cluster from everybody else, with its confidence interval, on "
        f"{words.count(document.split.test_rows)} test rows ({variable.short} over all of them: {mean}). "
        "The larger the mark, the more rows. Intervals hold for each cluster alone.",
        _clusters_alt(document),
    )
    return Section("clusters", "Clusters", (figure, table))


def _cluster_row(one: Cluster, variable: BiasVariable) -> tuple[Cell, ...]:
    comparison, unit = one.comparison, variable.unit
    if comparison.difference is None:
        difference = Cell(words.NOTHING)
    else:
        difference = Cell(
            words.signed(comparison.difference, unit) + (" points" if unit == "rate" else ""),
            note=interval_note(comparison, unit),
        )
    return cells(
        Cell(str(one.cluster), tone="harm" if one.significant and one.worse else ""),
        Cell(one.description, note=_stability(one)),
        Cell(words.count(one.test_rows), note=f"{words.count(one.train_rows)} train"),
        words.value(one.test_mean, unit),
        words.value(comparison.mean_b, unit),
        difference,
        words.p_number(one.p_adjusted),
        finding(one.comparison, significant=one.significant, worse=one.worse, unit=unit),
    )


def _stability(one: Cluster) -> str:
    stability = one.stability
    return f"stability {words.number(stability.jaccard)}: {stability.word}" if stability else ""


def finding(comparison: Comparison, *, significant: bool | None, worse: bool | None, unit: words.Unit) -> Cell:
    """A cluster's result in words; where nothing was seen, what would have been seen."""
    if comparison.status != "tested":
        return Cell("not testable", note=comparison.reason or "", tone="muted")
    if significant:
        return Cell("worse off", tone="harm") if worse else Cell("better off", tone="good")
    visible = comparison.minimum_detectable_difference
    note = "" if visible is None else f"{words.size(visible, unit)} would have shown with 80 % power"
    return Cell("no significant difference", note=note, tone="muted")


def _clusters_alt(document: Document) -> str:
    unit = document.bias_variable.unit
    told = []
    for one in document.clusters:
        comparison = one.comparison
        if comparison.status != "tested":
            told.append(f"cluster {one.cluster} not testable")
            continue
        size = words.difference(
            comparison.difference, comparison.low, comparison.high,
            confidence=comparison.confidence, unit=unit,
        )  # fmt: skip
        told.append(f"cluster {one.cluster} {size}")
    return f"Chart of the difference of each cluster from everybody else: {'; '.join(told)}."


def gate_section(document: Document) -> Section:
    """The limits and what they say."""
    if not document.gate:
        return Section("gate", "Limits", (Paragraph("No limit is set, so nothing can fail."),))
    on_clusters = any(one.kind == "cluster" for one in document.gate)
    table = Table(
        "Limits, and what was found"
        + (" (clusters: harm, counted as positive whichever way the bias variable points)" if on_clusters else ""),
        columns("Limit on", "#Allowed", "#Found", "Verdict", "What follows"),
        tuple(_limit_row(one, document) for one in document.gate),
    )
    blocks: list[Block] = [table]
    if document.spec["require"] == "majority":
        blocks.insert(0, Paragraph("Of these limits more than half must hold."))
    sentences = tuple(dict.fromkeys(one.sentence for one in document.gate))
    if sentences != (document.verdict.sentence,):  # else it stands at the top already
        blocks.append(Bullets(sentences))
    return Section("gate", "Limits", tuple(blocks))


def _limit_row(one: LimitResult, document: Document) -> tuple[Cell, ...]:
    if one.blocks:
        consequence = "stops what stands behind the gate"
    else:
        consequence = "lets pass" if one.verdict == "pass" else "lets pass with a warning"
    shown = _cluster_limit(one, document.bias_variable.unit) if one.kind == "cluster" else _metric_limit(one, document)
    tones: dict[str, Tone] = {"fail": "harm", "pass": "good"}
    severity = one.severity
    verdict = Cell(
        words.VERDICT_WORDS[one.verdict],
        note=f"severity: {severity}" if severity else "",
        tone=tones.get(one.verdict, ""),
    )
    return cells(*shown, verdict, consequence)


def _cluster_limit(one: ClusterLimitResult, unit: words.Unit) -> tuple[Cell, Cell, Cell]:
    found = Cell(words.NOTHING)
    if one.difference is not None:
        low, high = words.signed(one.low, unit), words.signed(one.high, unit)
        points = " points" if unit == "rate" else ""
        found = Cell(words.signed(one.difference, unit) + points, note=f"[{low} to {high}]")
    who = "" if one.cluster is None else f"judged by cluster {one.cluster}"
    name = Cell(_CHECKS.get(one.check, one.check), note=who)
    return name, Cell(f"at most {words.size(one.limit, unit)}"), found


def _metric_limit(one: MetricLimitResult, document: Document) -> tuple[Cell, Cell, Cell]:
    """A limit on a metric of declared groups, and the group that decides."""
    who = [_compared_with(one, document), "" if one.group is None else f"decided by {one.group}"]
    if one.left_out:
        who.append(f"{words.count(len(one.left_out))} not judged, for too few rows")
    found = Cell(words.NOTHING)
    if one.value is not None:
        ends = "" if one.low is None else span(words.number(one.low), words.number(one.high))
        found = Cell(words.number(one.value), note=ends)
    name = Cell(f"{metric_name(one.metric)} by {one.facet}", note="; ".join(note for note in who if note))
    return name, Cell(_range(one), note="by the value alone" if one.rule == "point" else ""), found


def _compared_with(one: MetricLimitResult, document: Document) -> str:
    """What each group is compared with, where that is not plain from the metric."""
    rate, _, kind = one.metric.rpartition("_")
    facets = document.groups.facets if document.groups else []
    reference = next((facet.reference for facet in facets if facet.facet == one.facet), None)
    if rate not in RATE_NAMES or kind not in ("difference", "ratio") or reference is None:
        return ""
    return f"each group {'less' if kind == 'difference' else 'over'} {reference}"


def _range(one: MetricLimitResult) -> str:
    """The values that are tolerated."""
    least, most = one.minimum, one.maximum
    if least is None:
        return f"at most {words.number(most)}"
    return f"at least {words.number(least)}" if most is None else f"{words.number(least)} to {words.number(most)}"
