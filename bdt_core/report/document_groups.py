"""The part of the report's document on declared groups."""

from __future__ import annotations

from typing import Any

from bdt_core.fairness.declared_groups import FacetMetrics, GroupMetrics, GroupScores
from bdt_core.fairness.metric_results import BiasMetrics, Metric, group_name
from bdt_core.metrics import RATES

NOT_SHOWN = "fewer than {} rows: not printed"


def groups_document(metrics: GroupMetrics | None, scores: GroupScores | None) -> dict[str, Any] | None:
    """Every grouping with its rates, comparisons and score; None when no groups were declared.

    Groups with fewer rows than `significance.min_rows` keep their row count and lose every number.
    """
    if metrics is None:
        return None
    by_facet = {one.facets: one.score for one in scores.scores} if scores else {}
    label, prediction = metrics.spec.group_columns()
    return {
        "label": label,
        "prediction": prediction,
        "positive": list(metrics.facets[0].metrics.positive) if metrics.facets else [],
        "favourable": metrics.spec.favourable_outcome,
        "score": metrics.spec.groups.score,
        "stratum": metrics.spec.groups.stratum,
        "confidence": 1.0 - metrics.spec.significance.alpha,
        "min_rows": metrics.spec.significance.min_rows,
        "notes": list(metrics.notes),
        "facets": [_facet(one, metrics, by_facet) for one in metrics.facets],
    }


def _facet(one: FacetMetrics, metrics: GroupMetrics, scores: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    found, min_rows = one.metrics, metrics.spec.significance.min_rows
    small = {group for group, n in zip(one.groups, one.rows, strict=True) if n < min_rows}
    tests = {test.metric: test for test in metrics.tests if test.facet == found.facet}
    score = scores.get(found.facets)
    return {
        "facet": found.facet,
        "columns": list(found.facets),
        "rows": found.rows,
        "missing": found.missing,
        "reference": found.reference,
        "overall": _overall(one),
        "notes": list(found.notes),
        "groups": [
            {
                "group": group_name(group),
                "values": list(group),
                "rows": n,
                "rates": None if group in small else _rates(found, i),
            }
            for i, (group, n) in enumerate(zip(one.groups, one.rows, strict=True))
        ],
        "against_reference": [_values(x, small, min_rows) for x in found.metrics if x.kind in ("difference", "ratio")],
        "ranges": [
            _only(x)
            | {
                "p_value": x.p_value,
                "p_adjusted": tests[x.name].p_adjusted if x.name in tests else None,
                "significant": tests[x.name].significant if x.name in tests else None,
                "left_out": [group_name(group) for group in x.excluded],
            }
            for x in found.metrics
            if x.kind == "range"
        ],
        "clarify": [_values(x, small, min_rows) for x in found.metrics if x.kind == "clarify"],
        "bias_score": None if score is None else score.to_dict(),
    }


def _overall(one: FacetMetrics) -> dict[str, float]:
    """Rates over all rows whose group, label and prediction are known."""
    found = {}
    for metric in one.metrics.metrics:
        if metric.name in RATES and metric.kind == "rate" and (n := sum(metric.n)):
            found[metric.name] = sum(metric.events) / n
    return found


def _rates(found: BiasMetrics, i: int) -> dict[str, Any]:
    """Rates of one group. What was not asked for (no score column, no label) is left out."""
    return {
        one.name: {
            "estimate": one.estimate[i],
            "low": one.low[i],
            "high": one.high[i],
            "n": one.n[i],
            "events": one.events[i] if one.name in RATES else None,
            "undefined_reason": one.undefined_reason[i],
        }
        for one in found.metrics
        if one.kind == "rate" and not _was_not_asked_for(one)
    }


def _values(one: Metric, small: set[tuple[Any, ...]], min_rows: int) -> dict[str, Any]:
    together = one.together_low is not None and one.together_high is not None
    values = []
    for i, group in enumerate(one.values):
        hidden = group in small
        reason = NOT_SHOWN.format(min_rows) if hidden else one.undefined_reason[i]
        shown: dict[str, Any] = {"group": group_name(group) if group else None, "undefined_reason": reason}
        for name in ("estimate", "low", "high"):
            shown[name] = None if hidden else getattr(one, name)[i]
        for name in ("together_low", "together_high"):
            shown[name] = None if hidden or not together else getattr(one, name)[i]
        values.append(shown)
    return {"metric": one.name, "values": values}


def _only(one: Metric) -> dict[str, Any]:
    return {
        "metric": one.name,
        "estimate": one.estimate[0],
        "low": one.low[0],
        "high": one.high[0],
        "undefined_reason": one.undefined_reason[0],
    }


def _was_not_asked_for(one: Metric) -> bool:
    return bool(one.values) and all(
        reason is not None and reason.startswith(("no score column", "no label column", "no prediction column"))
        for reason in one.undefined_reason
    )
