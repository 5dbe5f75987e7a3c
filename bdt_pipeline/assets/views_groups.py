"""Metadata of the assets of declared groups in the UI; groups with too few rows without their rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.said import Level, Numeral, of_ours, say
from bdt_core.spec.gate import name_of_check
from bdt_pipeline.assets.views import (
    Metadata,
    amounts,
    columns_cell,
    group_cell,
    group_cell_of_text,
    listed,
    numbers,
    table_of,
)
from bdt_pipeline.resources.run_log import MarkdownTable

if TYPE_CHECKING:
    from bdt_core.fairness.characteristics import Burden
    from bdt_pipeline.assets.values import (
        Calibration,
        Characteristics,
        ClassOutcomes,
        DeclaredOutcomes,
        GroupCounts,
        GroupMetrics,
        GroupScores,
        PooledGroups,
        SelectionRules,
    )

_SHOWN = 50


def calibration(result: Calibration) -> Metadata:
    """For whom the score is too low or too high; how many they are, and what is ruled out, plot over time."""
    tenth = result.certificate(0.1)
    return {
        **numbers(**{"groups that it is off for": len(result.groups)}),
        **amounts("rate", **{"off for everybody": result.everybody.gap if result.everybody else None}),
        **amounts("rate", **{"off at most, for a tenth of the people": tenth.largest_difference if tenth else None}),
        "groups": table_of(
            ["who", "rows", "mean score", "share positive", "off at least"],
            [
                [
                    one.words,
                    words.count(one.rows),
                    words.percent(one.mean_score),
                    words.percent(one.share_positive),
                    words.size(one.at_least, "rate"),
                ]
                for one in result.groups[:_SHOWN]
            ],
        ),
    }


def declared(result: DeclaredOutcomes) -> Metadata:
    """The bias variable of every declared group, and the largest difference as a number that plots over time."""
    unit: words.Unit = "rate" if result.is_rate else "value"
    metadata: Metadata = {}
    for facet in result.facets:
        shown = sorted((x for x in facet.groups if x.mean is not None), key=lambda x: -x.rows)[:_SHOWN]
        name = columns_cell(facet.columns)
        metadata[say("{metric} by {name}", metric=of_ours(result.measured), name=name)] = facet.reason or table_of(
            [name, "rows", result.measured, "difference", "low", "high", "p, corrected"],
            [
                [
                    group_cell(facet.columns, x.values),
                    words.count(x.rows),
                    words.value(x.mean, unit),
                    *(words.signed(y, unit) for y in (x.difference, x.difference_low, x.difference_high)),
                    words.p_number(x.p_adjusted),
                ]
                for x in shown
            ],
        )
        harms = [harm for x in facet.groups if (harm := result.harm(x)) is not None]
        metadata |= amounts(unit, **{say("largest harm by {name}", name=name): max(harms, default=None)})
        metadata |= numbers(**{say("groups with too few rows by {name}", name=name): len(facet.small)})
    return metadata


def counts(result: GroupCounts) -> Metadata:
    """Rows per group, and rows that could not be counted."""
    metadata: Metadata = {"notes": listed(result.notes)}
    for table in result.tables:
        facet = columns_cell(table.facets)
        known = table.known()
        rows = sorted(zip(known.counts.sum(axis=(1, 2, 3, 4)).tolist(), known.groups, strict=True), key=lambda x: -x[0])
        metadata[say("rows by {name}", name=facet)] = table_of(
            [facet, "rows"],
            [[group_cell(table.facets, group), f"{n:,}"] for n, group in rows[:_SHOWN]],
        )
        missing = {name: n for name, n in table.missing().items() if n}
        if missing:
            metadata[say("rows without a value ({name})", name=facet)] = table_of(
                ["column", "rows"], [[columns_cell([name]), n] for name, n in missing.items()]
            )
        metadata |= numbers(**{say("rows counted by {name}", name=facet): known.rows})
    return metadata


def metrics(result: GroupMetrics) -> Metadata:
    """Rates of every group, and the ranges over the groups as numbers that plot over time."""
    metadata: Metadata = {"notes": listed(result.notes)}
    for facet in result.facets:
        by = columns_cell(facet.metrics.facets)
        metadata[say("rates by {name}", name=by)] = _rates(facet, result.spec.significance.min_rows)
        ranges = [(one, _unit_of_range(one.name)) for one in facet.metrics.metrics if one.kind == "range"]
        metadata[say("ranges over {name}", name=by)] = table_of(
            ["criterion", "value", "low", "high", "p"],
            [
                [
                    metric.name.replace("_", " "),
                    metric.undefined_reason[0] or words.size(metric.estimate[0], unit),
                    words.size(metric.low[0], unit),
                    words.size(metric.high[0], unit),
                    words.p_number(metric.p_value),
                ]
                for metric, unit in ranges
            ],
        )
        for metric, unit in ranges:
            metadata |= amounts(unit, **{name_of_check(f"{metric.name} by {facet.metrics.facet}"): metric.estimate[0]})
    return metadata


def _unit_of_range(metric: str) -> words.Unit:
    """Of a criterion's difference that of what is compared; ratios are numbers."""
    from bdt_core.metrics import CRITERIA

    criterion = CRITERIA.get(metric.removesuffix("_difference"))
    return "value" if criterion is None else criterion.unit


def numeric(result: GroupMetrics) -> Metadata:
    """Means, medians and errors of every group, and the largest difference as a number that plots over time."""
    from bdt_core.metrics import NUMERIC
    from bdt_core.report.groups import compared_unit, rate_value

    metadata: Metadata = {"notes": listed(result.notes)}
    for facet in result.facets:
        by = columns_cell(facet.metrics.facets)
        known = [one for one in facet.metrics.metrics if one.name in NUMERIC]
        enough = [i for i, n in enumerate(facet.sizes) if n >= result.spec.significance.min_rows]
        metadata[say("means and errors by {name}", name=by)] = table_of(
            [by, "rows", *(one.name.replace("_", " ") for one in known)],
            [
                [
                    group_cell(facet.metrics.facets, facet.groups[i]),
                    words.count(facet.rows[i]),
                    *(rate_value(one.name, one.estimate[i]) if i in enough else words.NOTHING for one in known),
                ]
                for i in sorted(range(len(facet.groups)), key=lambda i: -facet.rows[i])[:_SHOWN]
            ],
        )
        for metric in known:
            values = [value for i in enough if (value := metric.estimate[i]) is not None]
            apart = max(values) - min(values) if len(values) > 1 else None
            name = name_of_check(f"{metric.name}_range by {facet.metrics.facet}")
            metadata |= amounts(compared_unit(metric.name), **{name: apart})
    return metadata


def scores(result: GroupScores) -> Metadata:
    """The composite score of every grouping."""
    rows = [
        [
            columns_cell(one.facets),
            one.score.undefined_reason or words.number(one.score.score),
            words.number(one.score.low),
            words.number(one.score.high),
            words.number(one.score.noise_high),
            one.score.severity or words.NOTHING,
        ]
        for one in result.scores
    ]
    return {
        "scores": table_of(["groups", "score", "low", "high", "by chance up to", "severity"], rows),
        **numbers(
            **{
                say("{metric} by {name}", metric=say("bias score"), name=columns_cell(one.facets)): one.score.score
                for one in result.scores
            }
        ),
    }


def pooled(result: PooledGroups) -> Metadata:
    """Estimates of groups with help of the others, the small ones first; the smallest stand in the report alone."""
    counted = "rows" if result.key is None else "persons"
    fewer = "groups with fewer than {N} rows" if result.key is None else "groups with fewer than {N} persons"
    metadata: Metadata = numbers(
        **{
            "groups": sum(len(one.groups) for one in result.groupings),
            say(fewer, N=Numeral(str(result.min_rows))): sum(len(one.small) for one in result.groupings),
        }
    )
    for grouping in result.groupings:
        by = columns_cell(grouping.columns)
        shown = sorted((x for x in grouping.groups if x.has_own_rows), key=lambda group: not group.has_few_rows)[
            :_SHOWN
        ]
        metadata[say("estimates by {name}", name=by)] = grouping.reason or table_of(
            [by, counted, "estimate", "low", "high"],
            [
                [
                    group_cell(grouping.columns, group.values),
                    words.count(group.size),
                    *map(words.number, (group.estimate, group.low, group.high)),
                ]
                for group in shown
            ],
        )
    return metadata


def classes(result: ClassOutcomes) -> Metadata:
    """How many figures differ, and by grouping the class that is recognised least well in some group."""
    figures = [one for facet in result.facets for group in facet.groups for one in group.figures]
    metadata: Metadata = numbers(
        **{
            "classes": len({*result.labels, *result.predictions}),
            "differences of classes": sum(bool(one.significant) for one in figures),
        }
    )
    if result.reason is not None:
        metadata["not compared"] = result.reason
    for facet in result.facets:
        by = columns_cell(facet.columns)
        metadata[say("recall of classes by {name}", name=by)] = table_of(
            [by, "class", "recall", "everybody else"],
            [
                [
                    group_cell(facet.columns, group.values),
                    Level(str(worst.level), result.label or ""),
                    words.percent(worst.value),
                    words.percent(worst.value_others),
                ]
                for group in facet.groups
                if (worst := group.worst_figure) is not None
                and worst.value is not None
                and worst.value_others is not None
            ][:_SHOWN],
        )
    return metadata


def selection_rules(result: SelectionRules) -> Metadata:
    """The tables of each rule, and the lowest ratio of each as a number that plots over time."""
    metadata: Metadata = {}
    for table in result.ll144:
        by, kind = columns_cell(table.columns), of_ours(table.rate_kind)
        metadata[say("Local Law 144, {kind} by {name}", kind=kind, name=by)] = table_of(
            [by, "people", "selected", table.rate_kind, "impact ratio"],
            [
                [
                    group_cell(table.columns, one.category),
                    words.count(one.n),
                    words.count(one.selected),
                    words.percent(one.rate),
                    "left out" if one.excluded else words.number(one.impact_ratio),
                ]
                for one in table.categories[:_SHOWN]
            ],
        )
        ratios = [one.impact_ratio for one in table.categories if one.impact_ratio is not None]
        metadata |= numbers(
            **{
                say("lowest impact ratio ({kind} by {name})", kind=kind, name=by): min(ratios, default=None),
                say("unknown ({kind} by {name})", kind=kind, name=by): table.unknown,
            }
        )
    for rule in result.four_fifths:
        by = columns_cell(rule.columns)
        metadata[say("four-fifths rule by {name}", name=by)] = table_of(
            [by, "people", "selected", "rate", "over the highest", "p", "below 4/5"],
            [
                [
                    group_cell_of_text(rule.columns, one.group),
                    words.count(one.applicants),
                    words.count(one.selected),
                    words.percent(one.rate),
                    words.number(one.ratio),
                    words.p_number(one.p_value),
                    "small group" if one.small_share else "yes" if one.below_four_fifths else "no",
                ]
                for one in rule.rule.groups[:_SHOWN]
            ],
        )
        ratios = [one.ratio for one in rule.rule.groups if one.ratio is not None and not one.small_share]
        metadata |= numbers(**{say("lowest ratio by {name} (four-fifths rule)", name=by): min(ratios, default=None)})
    return metadata


def characteristics(result: Characteristics) -> Metadata:
    """What the strongest value of each characteristic finds, and whom it burdens."""
    metadata: Metadata = numbers(characteristics=len(result.characteristics))
    rows = []
    for characteristic in result.characteristics[:_SHOWN]:
        level = characteristic.strongest
        burden = next((x for x in level.burdens if x.relation.significant and x.relation.difference > 0), None)
        rows.append(
            [
                level.words,
                words.count(level.rows),
                *(words.signed(x.difference, "rate") if x else words.NOTHING for x in (level.found, level.selected)),
                words.NOTHING if burden is None else _burdened(burden),
            ]
        )
    metadata["characteristics by what they raise"] = result.reason or table_of(
        ["who has it", "rows", "label more often, points", "selected more often, points", "burdens most"], rows
    )
    return metadata


def _burdened(burden: Burden) -> str:
    by = words.signed(burden.relation.difference, "rate")
    return say("{condition}: {N}", condition=of_ours(burden.group), N=by)


def _rates(facet: Any, min_rows: int) -> MarkdownTable:
    from bdt_core.metrics import shown_rates

    rates = [metric for name in shown_rates() for metric in facet.metrics.metrics if metric.name == name]
    rows = []
    for i in sorted(range(len(facet.groups)), key=lambda i: -facet.rows[i])[:_SHOWN]:
        shown = [words.percent(rate.estimate[i]) if facet.rows[i] >= min_rows else words.NOTHING for rate in rates]
        rows.append([group_cell(facet.metrics.facets, facet.groups[i]), f"{facet.rows[i]:,}", *shown])
    return table_of(
        [columns_cell(facet.metrics.facets), "rows", *(rate.name.replace("_", " ") for rate in rates)], rows
    )
