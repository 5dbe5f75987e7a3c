"""Metadata of the assets on intersections, local bias and mitigation in the UI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.metrics import LOCAL_METRICS
from bdt_core.said import AsItIs, Column, joined, of_ours, say
from bdt_core.spec.gate import name_of_check
from bdt_pipeline.assets.views import Metadata, amounts, group_cell_of_text, listed, means, numbers, p_values, table_of

if TYPE_CHECKING:
    from bdt_core.local_bias.topics import ClusterTopic
    from bdt_core.ranking import Finding
    from bdt_pipeline.assets.values import Blanks, Findings, LocalBias, Mitigation, Slices, WorstGroups

_SHOWN = 20


def worst_groups(result: WorstGroups) -> Metadata:
    """Who fares worst, and what is ruled out; numbers of the first group plot over time."""
    worst, ruled_out = result.worst, result.certificate
    unit: words.Unit = "rate" if result.is_rate else "value"
    tested = worst or result.unconfirmed
    return {
        **numbers(groups=len(result.groups)),
        **p_values(p_value=tested.p_value if tested else None),
        **amounts(
            unit,
            difference=worst.difference if worst else None,
            low=worst.low if worst else None,
            high=worst.high if worst else None,
            **{"ruled out beyond": ruled_out.largest_difference if ruled_out else None},
        ),
        "who": worst.words if worst else "nobody is confirmed to fare worse",
        "groups": table_of(
            ["who", "people", "value", "everybody else", "difference", "p"],
            [
                [
                    one.words,
                    words.count(one.rows),
                    words.value(one.mean_inside, unit),
                    words.value(one.mean_outside, unit),
                    _with_interval(one.difference, one.low, one.high, unit),
                    words.p_number(one.p_value),
                ]
                for one in result.groups
            ],
        ),
        "columns left out": listed([_left_out(one.name, one.reason) for one in result.searched.left_out]),
        **({"nothing searched": result.reason} if result.reason else {}),
    }


def findings(result: Findings, unit: words.Unit) -> Metadata:
    """Everybody who fares worse; numbers of the first finding plot over time."""
    first = result.first
    return {
        **numbers(findings=len(result.findings)),
        **amounts(
            unit,
            difference=first.difference if first else None,
            low=first.low if first else None,
            high=first.high if first else None,
            remaining=first.remaining.remaining if first and first.remaining else None,
        ),
        "who": first.who if first else "nobody is confirmed to fare worse",
        "list": table_of(
            ["who", "people", "value", "everybody else", "worse", "among people alike", "p", "found by"],
            [
                [
                    one.who,
                    words.count(one.rows),
                    words.value(one.mean_inside, unit),
                    words.value(one.mean_outside, unit),
                    _at_least(one.difference, one.low, unit),
                    _among_alike(one, unit),
                    words.p_number(one.p_value),
                    one.found_by.replace("_", " "),
                ]
                for one in result.findings
            ],
        ),
    }


def blanks(result: Blanks, unit: words.Unit) -> Metadata:
    """Whose outcome is missing; the share and the worst case plot over time."""
    return {
        **numbers(rows=result.rows),
        **means("rate", share=result.rows / result.of),
        **amounts(unit, **{"worst case": result.worst_case}),
        "who": result.confirmed[0].words if result.confirmed else "for nobody it is missing more often for sure",
        "groups": table_of(
            ["who", "people", "missing", "missing of everybody else", "sure", "worse at worst by"],
            [
                [
                    one.words,
                    words.count(one.of),
                    words.percent(one.share_inside),
                    words.percent(one.share_outside),
                    "yes" if one.confirmed else "no",
                    words.size(one.worst_case, unit),
                ]
                for one in result.groups[:_SHOWN]
            ],
        ),
    }


def _among_alike(finding: Finding, unit: words.Unit) -> str:
    alike = finding.remaining
    if alike is None:
        return words.NOTHING
    return _at_least(alike.remaining, alike.remaining_low, unit)


def _at_least(value: float | None, low: float | None, unit: words.Unit) -> str:
    return joined([words.size(value, unit), say("at least {size}", size=words.size(low, unit))], ", ")


def _with_interval(value: float | None, low: float | None, high: float | None, unit: words.Unit) -> str:
    ends = {"low": words.signed(low, unit), "high": words.signed(high, unit)}
    return joined([words.signed(value, unit), say("[{low} to {high}]", **ends)], " ")


def _left_out(column: str, reason: str) -> str:
    return say("{name}: {reason}", name=Column(column), reason=of_ours(reason))


def slices(result: Slices, outcome: words.Unit) -> Metadata:
    """The worst intersections; numbers of the first plot over time."""
    shown = [one for one in result.slices if one.parent is None][:_SHOWN]
    worst = shown[0] if shown else None
    unit: words.Unit = "rate" if result.outcome is None else outcome  # a metric is one
    return {
        **numbers(
            tests=result.tests,
            searched=result.searched,
            **{"significant slices": sum(bool(one.significant) for one in result.slices)},
        ),
        **amounts(
            unit,
            difference=worst.shrunken_difference if worst else None,
            low=worst.low if worst else None,
            high=worst.high if worst else None,
        ),
        "measured": result.outcome or result.metric_name,
        "slices": table_of(
            [
                "slice",
                "test rows",
                "value",
                "everybody else",
                "difference to expect",
                "measured",
                "p corrected",
                "significant",
            ],
            [
                [
                    one.name,
                    f"{one.test_rows:,}",
                    words.value(one.comparison.mean_a, unit),
                    words.value(one.comparison.mean_b, unit),
                    _with_interval(one.shrunken_difference, one.low, one.high, unit),
                    words.signed(one.comparison.difference, unit),
                    words.p_number(one.p_adjusted),
                    "yes" if one.significant else "no",
                ]
                for one in shown
            ],
        ),
        "columns left out": listed([_left_out(one.name, one.reason) for one in result.excluded]),
        **({"nothing tested": result.reason} if result.reason else {}),
    }


def local_bias(result: LocalBias) -> Metadata:
    """Every cluster's gap, and the summaries beside chance and k-means."""
    confirmed = [one for one in result.logan.clusters if one.held_out.confirmed]
    settings = result.settings
    unit = LOCAL_METRICS[settings.metric].unit
    largest = max((one.held_out.gap or 0.0 for one in confirmed), default=None)
    return {
        **numbers(clusters=len(result.logan.clusters), **{"confirmed gaps": len(confirmed)}),
        **amounts(unit, **{"largest confirmed gap": largest}),
        "clusters": table_of(
            [
                "cluster",
                "about",
                "train rows",
                "test rows",
                "gap found",
                "gap on test rows",
                "p corrected",
                "confirmed",
            ],
            [
                [
                    one.title,
                    _about(one.about, settings.alpha),
                    f"{one.train_rows:,}",
                    f"{one.test_rows:,}",
                    words.size(one.held_out.train_gap, unit),
                    one.held_out.reason or _with_interval(one.held_out.gap, one.held_out.low, one.held_out.high, unit),
                    words.p_number(one.held_out.p_adjusted),
                    "yes" if one.held_out.confirmed else "no",
                ]
                for one in result.logan.clusters
            ],
        ),
        "compared": name_of_check(f"{settings.metric} by {settings.group}"),
        "notes": listed(result.notes),
    }


def _about(about: ClusterTopic, alpha: float) -> str:
    """The words of a cluster, and the columns that differ from everybody else's."""
    features = [
        say("{column} higher" if one.effect > 0 else "{column} lower", column=Column(one.column))
        if one.level is None
        else words.value_condition(one.column, one.level)
        for one in about.features
        if one.p_adjusted <= alpha
    ]
    parts = joined([AsItIs(one.word) for one in about.words[:12]], ", "), joined(features[:3], ", ")
    return joined([one for one in parts if one], "; ")


def mitigation(result: Mitigation) -> Metadata:
    """The gap and the accuracy before and after."""
    if result.thresholds is None:
        return {"status": result.status, "reason": result.reason or "", "notes": listed(result.notes)}
    gap, right = result.thresholds.gap, result.thresholds.accuracy
    return {
        "status": result.status,
        **amounts("rate", **{"gap before": gap.before.estimate, "gap after": gap.after.estimate}),
        **means("rate", **{"accuracy before": right.before.estimate, "accuracy after": right.after.estimate}),
        "thresholds": table_of(
            ["group", "test rows", "before", "after"],
            [
                [
                    group_cell_of_text(result.settings.group, one.group),
                    f"{one.test_rows:,}",
                    words.number(one.threshold_before),
                    words.number(one.threshold_after),
                ]
                for one in result.thresholds.groups
            ],
        ),
        "notes": listed(result.notes),
    }
