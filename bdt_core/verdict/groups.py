"""A limit on a metric of declared groups: the groups' intervals against the values that are tolerated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy.special import ndtri

from bdt_core import words
from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR, IS_REFERENCE
from bdt_core.fairness.declared_groups import FacetMetrics, GroupMetrics, GroupScores
from bdt_core.fairness.metric_results import Metric, group_name
from bdt_core.metrics import CRITERIA, is_ratio, is_signed, plain_name, spoken_name
from bdt_core.result import Result
from bdt_core.spec import GATE_METRICS, AlertSeverity, MetricLimit
from bdt_core.verdict.words import Verdict, severity_of, stops

_POWER = 0.8
_NAMED = 10


@dataclass(frozen=True)
class MetricLimitResult(Result):
    """What a limit on a metric of groups says.

    Attributes
    ----------
    kind : "metric"
    check : str
        Metric and grouping, as one name.
    metric, facet : str
    group : str or None
        The group that decides: the one farthest beyond the limit, or nearest to it. None for metrics of all groups.
    minimum, maximum : float or None
    rule : {"interval", "point"}
    verdict : str
    blocks : bool
    inconclusive : {"warn", "block"}
    sentence : str
    value, low, high : float or None
        With limits that hold for all groups at once.
    confidence : float
    p_value : float or None
        Of equal rates in all groups, where the metric is a range.
    smallest_visible : float or None
        The value that would have been told from "no bias" with 80 % power.
    severity : {"low", "medium", "high", "critical"} or None
        By value over limit (at least .9, .75, .5, below), where the value is beyond the limit.
    groups_judged : int
    left_out : tuple of str
        Groups with too few rows to be judged.
    """

    kind: Literal["metric"]
    check: str
    metric: str
    facet: str
    group: str | None
    minimum: float | None
    maximum: float | None
    rule: Literal["interval", "point"]
    verdict: Verdict
    blocks: bool
    inconclusive: Literal["warn", "block"]
    sentence: str
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    p_value: float | None
    smallest_visible: float | None
    severity: AlertSeverity | None
    groups_judged: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class _Judged:
    """One group's value and interval."""

    group: str | None
    value: float
    low: float | None
    high: float | None

    def beyond(self, limit: MetricLimit) -> float:
        """How far the value lies beyond the limit; negative within."""
        return _beyond(self.value, self.value, limit)

    def verdict(self, limit: MetricLimit) -> Verdict:
        """What the limit says of this group alone."""
        if limit.rule == "point":
            return "fail" if self.beyond(limit) > 0 else "pass"
        if self.low is None or self.high is None:
            return "inconclusive"
        if _beyond(self.high, self.low, limit) > 0:
            return "fail"
        return "pass" if _beyond(self.low, self.high, limit) <= 0 else "inconclusive"


def judge_metric(limit: MetricLimit, metrics: GroupMetrics, scores: GroupScores | None = None) -> MetricLimitResult:
    """Hold a metric of declared groups against a limit.

    The whole interval within the limit passes, the whole interval beyond it fails; every group must pass, by
    intervals that hold for all groups at once. ``max`` alone on a signed difference counts in both directions.

    Parameters
    ----------
    limit : MetricLimit
    metrics : GroupMetrics
    scores : GroupScores, optional
        Needed by a limit on the composite score.

    Returns
    -------
    MetricLimitResult

    Raises
    ------
    SpecError
        The grouping was not counted.
    """
    facet = _facet(limit, metrics)
    metric = _metric(limit, facet, scores)
    limit = _both_ways(limit, metric)
    judged, left_out = _judged(metric, facet, metrics.spec.significance.min_rows)
    if not judged:
        reason = next((one for one in metric.undefined_reason if one), "no group has enough rows")
        return _result(limit, metrics, metric, None, "not_testable", f"{_told(limit)} is not testable: {reason}.", 0,
                       left_out)  # fmt: skip
    worst = max(judged, key=lambda one: (_rank(one.verdict(limit)), one.beyond(limit)))
    verdict = worst.verdict(limit)
    sentence = _sentence(limit, metric, worst, facet, metrics.spec.significance.alpha)
    if left_out:
        named = ", ".join(left_out[:_NAMED]) + (", ..." if len(left_out) > _NAMED else "")
        sentence += f" Not judged, for too few rows: {named}."
    undefined = _undefined(metric, left_out)
    if undefined:
        sentence += f" Undefined for: {', '.join(undefined[:_NAMED])}{', ...' if len(undefined) > _NAMED else ''}."
    # A range has one value, of all groups that are not left out.
    groups = len(judged) if worst.group is not None else sum(n > 0 for n in facet.rows) - len(left_out)
    return _result(limit, metrics, metric, worst, verdict, sentence, groups, left_out)


def check_name(limit: MetricLimit) -> str:
    """Metric and grouping as one name.

    Examples
    --------
    >>> check_name(MetricLimit(metric="disparate_impact", facet=["race", "sex"], min=0.8))
    'disparate_impact by race & sex'
    """
    return f"{limit.metric} by {' & '.join(limit.facets)}"


def smallest_visible(metric: str, value: float, low: float, high: float, alpha: float) -> float | None:
    """The value that would have been told from "no bias" with 80 % power, from the width of the interval.

    A ratio below 1 for ratios, a distance from 0 for all others.

    Examples
    --------
    >>> round(smallest_visible("DPL", 0.05, -0.05, 0.15, 0.05), 3)
    0.143
    """
    if not all(map(math.isfinite, (value, low, high))):
        return None
    stretch = 1.0 + float(ndtri(_POWER) / ndtri(1.0 - alpha / 2.0))
    if not is_ratio(metric):
        return stretch * (high - low) / 2.0
    return None if low <= 0 else math.exp(-stretch * (math.log(high) - math.log(low)) / 2.0)


def _facet(limit: MetricLimit, metrics: GroupMetrics) -> FacetMetrics:
    for one in metrics.facets:
        if one.metrics.facets == limit.facets:
            return one
    known = [" & ".join(one.metrics.facets) for one in metrics.facets]
    wanted = " & ".join(limit.facets)
    raise SpecError(
        f'The gate limits {limit.metric} by "{wanted}", which was not counted. {did_you_mean(wanted, known)} '
        "Name it in groups.facets, and count again."
    )


def _metric(limit: MetricLimit, facet: FacetMetrics, scores: GroupScores | None) -> Metric:
    name = GATE_METRICS[limit.metric]
    if name == "bias_score":
        return _score(limit, scores)
    found = [one for one in facet.metrics.metrics if one.name == name]
    if found:
        return found[0]
    reason = "needs a label, a prediction and for some metrics a score (see groups)"
    return Metric(name, "range", ((),), (None,), (None,), (None,), (reason,), (0.0,), (0.0,))


def _both_ways(limit: MetricLimit, metric: Metric) -> MetricLimit:
    """A largest difference alone is meant in either direction: which group is the reference must not decide."""
    signed = metric.kind == "difference" or is_signed(metric.name)
    if signed and limit.min is None and limit.max is not None and limit.max >= 0:
        return limit.model_copy(update={"min": -limit.max})
    return limit


def _score(limit: MetricLimit, scores: GroupScores | None) -> Metric:
    found = [one.score for one in (scores.scores if scores else ()) if one.facets == limit.facets]
    if not found:
        reason = ("needs a label and a prediction",)
        return Metric("bias_score", "range", ((),), (None,), (None,), (None,), reason, (0.0,), (0.0,))
    one = found[0]
    return Metric(
        "bias_score", "range", ((),), (one.score,), (one.low,), (one.high,), (one.undefined_reason,), (0.0,), (0.0,),
        p_value=one.p_value, excluded=tuple((name,) for name in one.excluded),
    )  # fmt: skip


def _judged(metric: Metric, facet: FacetMetrics, min_rows: int) -> tuple[list[_Judged], tuple[str, ...]]:
    """Groups that can be judged, and those with too few rows."""
    rows = dict(zip(facet.groups, facet.rows, strict=True))
    judged, left_out = [], [group_name(one) for one in metric.excluded]
    for i, group in enumerate(metric.values):
        value = metric.estimate[i]
        if group and (rows.get(group, min_rows) < min_rows or metric.n[i] < FEWEST_IN_DENOMINATOR):
            if rows.get(group):
                left_out.append(group_name(group))
        elif value is not None:
            low, high = metric.low[i], metric.high[i]
            if metric.together_low is not None and metric.together_high is not None:
                low, high = metric.together_low[i], metric.together_high[i]
            judged.append(_Judged(group_name(group) if group else None, value, low, high))
    return judged, tuple(left_out)


def _undefined(metric: Metric, left_out: tuple[str, ...]) -> list[str]:
    """Groups with enough rows for which the metric has no value; the reference itself is none of them."""
    return [
        f"{group_name(group)} ({reason})"
        for group, reason in zip(metric.values, metric.undefined_reason, strict=True)
        if group and reason is not None and reason != IS_REFERENCE and group_name(group) not in left_out
    ]


def _rank(verdict: Verdict) -> int:
    return ("pass", "inconclusive", "fail").index(verdict)


def _beyond(from_below: float, from_above: float, limit: MetricLimit) -> float:
    """The larger of how far one value lies below the minimum and the other above the maximum."""
    below = -math.inf if limit.min is None else limit.min - from_below
    above = -math.inf if limit.max is None else from_above - limit.max
    return max(below, above)


def _result(
    limit: MetricLimit,
    metrics: GroupMetrics,
    metric: Metric,
    one: _Judged | None,
    verdict: Verdict,
    sentence: str,
    groups: int,
    left_out: tuple[str, ...],
) -> MetricLimitResult:
    alpha = metrics.spec.significance.alpha
    low, high = (one.low, one.high) if one else (None, None)
    visible = None
    if one is not None and low is not None and high is not None:
        visible = smallest_visible(metric.name, one.value, low, high, alpha)
    return MetricLimitResult(
        kind="metric",
        check=check_name(limit),
        metric=limit.metric,
        facet=" & ".join(limit.facets),
        group=one.group if one else None,
        minimum=limit.min,
        maximum=limit.max,
        rule=limit.rule,
        verdict=verdict,
        blocks=stops(verdict, limit.inconclusive),
        inconclusive=limit.inconclusive,
        sentence=sentence,
        value=one.value if one else None,
        low=low,
        high=high,
        confidence=1.0 - alpha,
        p_value=metric.p_value,
        smallest_visible=visible,
        severity=severity_of(one.value, limit.min, limit.max) if one else None,
        groups_judged=groups,
        left_out=left_out,
    )


def _sentence(limit: MetricLimit, metric: Metric, one: _Judged, facet: FacetMetrics, alpha: float) -> str:
    verdict = one.verdict(limit)
    interval = ""
    if one.low is not None and one.high is not None:
        level = f"{100 * (1 - alpha):.4g} % CI"
        interval = f" [{level} {words.number(one.low)} to {words.number(one.high)}]"
    whose = f" for {one.group}" if one.group is not None else _extremes(metric, facet)
    told = f"{_told(limit)} is {words.number(one.value)}{interval}{whose}; {_allowed(limit)}"
    if limit.rule == "point":
        side = "beyond" if verdict == "fail" else "within"
        return f"{told}, and the value is {side} it (by the value alone; in small groups that often happens by chance)."
    if verdict == "fail":
        return f"{told}, and the whole interval is beyond it."
    if verdict == "pass":
        return f"{told}, and the whole interval is within it."
    visible = None
    if one.low is not None and one.high is not None:
        visible = smallest_visible(metric.name, one.value, one.low, one.high, alpha)
    would = (
        "" if visible is None else f" With these rows {_visible(metric.name, visible)} would have shown (80 % power)."
    )
    return f"{told}, and the interval lies on both sides of it.{would}"


def _told(limit: MetricLimit) -> str:
    return f"{spoken_name(limit.metric)} by {' & '.join(limit.facets)}"


def _allowed(limit: MetricLimit) -> str:
    if limit.min is None:
        return f"at most {words.number(limit.max)} is allowed"
    if limit.max is None:
        return f"at least {words.number(limit.min)} is required"
    return f"between {words.number(limit.min)} and {words.number(limit.max)} is allowed"


def _visible(metric: str, visible: float) -> str:
    return f"a ratio of {words.number(visible)}" if is_ratio(metric) else f"a value of {words.number(visible)}"


def _extremes(metric: Metric, facet: FacetMetrics) -> str:
    """Between which groups a range lies."""
    criterion = CRITERIA.get(plain_name(metric.name))
    if criterion is None or criterion.rate is None:
        return ""
    rate = facet.metrics[criterion.rate]
    known = [
        (value, group_name(group))
        for value, group in zip(rate.estimate, rate.values, strict=True)
        if value is not None and group not in metric.excluded
    ]
    return f" between {min(known)[1]} and {max(known)[1]}" if known else ""
