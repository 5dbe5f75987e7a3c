"""A limit on a metric of declared groups: the groups' intervals against the values that are tolerated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from bdt_core import words
from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR, IS_REFERENCE
from bdt_core.fairness.declared_groups import FacetMetrics, GroupMetrics, GroupScores
from bdt_core.fairness.metric_results import Metric, group_name
from bdt_core.fairness.reported_groups import Facet, Groups
from bdt_core.metrics import (
    CLARIFY,
    CRITERIA,
    NUMERIC,
    compared_metrics,
    depends_on_favourable,
    is_ratio,
    plain_name,
    spoken_name,
)
from bdt_core.said import Column, Numeral, joined, of_ours, say
from bdt_core.spec import GATE_METRICS, AuditSpec, GateLimit, MetricLimit, NumericLimit
from bdt_core.spec.direction import is_both_ways, problem_of_direction
from bdt_core.verdict.judge import (
    Evidence,
    Judgement,
    LimitOutcome,
    Tolerated,
    allowed_and_why,
    found_beyond,
    judge,
    would_have_been_found,
)
from bdt_core.verdict.kinds import AuditResults, LimitKind, OfGroups, Row
from bdt_core.verdict.words import check_in_words, clauses, judged_on, sentences

_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class MetricLimitResult(LimitOutcome):
    """What a limit on a metric of groups says.

    Attributes
    ----------
    metric, facet : str
    group : str or None
        The group that decides: the one farthest beyond the limit, or nearest to it. None for metrics of all groups.
    minimum, maximum : float or None
    rule : {"interval", "point"}
    value, low, high : float or None
        With limits that hold for all groups at once.
    confidence : float
    p_value : float or None
        Of equal rates in all groups, where the metric is a range.
    smallest_visible : float or None
        The value that would have been told from "no bias" with 80 % power.
    groups_judged : int
    left_out : tuple of str
        Groups with too few rows to be judged.
    rows_seen, rows_unseen : int or None
        Rows with all values that the metric needs, and those that lack one: they are in no group.
    """

    kind: Literal["metric"]
    metric: str
    facet: str
    group: str | None
    minimum: float | None
    maximum: float | None
    rule: Literal["interval", "point"]
    value: float | None
    confidence: float
    smallest_visible: float | None
    groups_judged: int
    left_out: tuple[str, ...]
    rows_seen: int | None = None
    rows_unseen: int | None = None

    @property
    def who(self) -> str | None:
        """The group."""
        return self.group


@dataclass(frozen=True, kw_only=True)
class NumericLimitResult(MetricLimitResult):
    """What a limit on a metric of numbers says; the same as `MetricLimitResult`."""

    kind: Literal["numeric_metric"]  # type: ignore[assignment]


class MetricLimits(LimitKind[MetricLimit, MetricLimitResult]):
    """Limits on metrics of declared groups."""

    limit: ClassVar[type[GateLimit]] = MetricLimit
    outcome: ClassVar[type[LimitOutcome]] = MetricLimitResult
    compared = None
    published = frozenset({"metric", "facet", "minimum", "maximum", "rule", "groups_judged"})
    names_groups = ("group",)

    def judge(self, limit: MetricLimit, results: AuditResults) -> MetricLimitResult:
        counted = results.group_metrics or GroupMetrics(results.outcome.spec, (), (), ())
        return judge_metric(limit, counted, results.group_scores)

    def groups_of(self, report: Any) -> Groups | None:
        """The declared groups of a report that have such metrics."""
        groups: Groups | None = report.groups
        return groups

    def title(self, outcome: MetricLimitResult) -> str:
        return check_in_words(outcome.check)

    def subject(self, outcome: MetricLimitResult, measured: str) -> str:  # noqa: ARG002 - by the metric
        return say("{metric} by {facet}", metric=of_ours(outcome.metric.replace("_", " ")), facet=outcome.facet)

    def row(self, outcome: MetricLimitResult, report: Any) -> Row:
        """With the group that each is compared with, the one that decides, and how many were not judged."""
        row = super().row(outcome, report)
        notes = []
        rate, _, kind = outcome.metric.rpartition("_")
        facets = self._facets(report)
        reference = next((one.reference for one in facets if one.facet == outcome.facet), None)
        is_compared = rate in NUMERIC or rate in compared_metrics()
        if reference and is_compared and kind == "difference":
            notes.append(say("each group less {reference}", reference=reference))
        elif reference and is_compared and kind == "ratio":
            notes.append(say("each group over {reference}", reference=reference))
        if outcome.group is not None:
            notes.append(say("decided by {group}", group=outcome.group))
        if outcome.left_out:
            notes.append(say("{n} not judged, for too few rows", n=words.count(len(outcome.left_out))))
        by_value = say("by the value alone") if outcome.rule == "point" else ""
        return row._replace(on_note=joined(notes, "; "), allowed_note=by_value)

    def meaning(self, outcome: MetricLimitResult) -> str | None:
        """Of a value alone, nothing about chance."""
        return words.POINT_MEANINGS.get(outcome.verdict) if outcome.rule == "point" else None

    def is_ratio_of(self, outcome: MetricLimitResult) -> bool:
        """By the metric."""
        return is_ratio(GATE_METRICS[outcome.metric])

    def groups_in(self, outcome: MetricLimitResult, report: Any) -> OfGroups:
        """Groups with too few rows, and undefined values, are not there."""
        name = GATE_METRICS[outcome.metric]
        facets = self._facets(report)
        facet: Facet | None = next((one for one in facets if one.facet == outcome.facet), None)
        if facet is None:
            return OfGroups((), None)
        compared = [one for one in facet.against_reference if one.metric == name]
        known: list[tuple[str | None, float | None, float | None, float | None]] = [
            *((None, one.estimate, one.low, one.high) for one in facet.ranges if one.metric == name),
            *(
                (one.group, one.estimate, one.low, one.high)
                for metric in (*compared, *(one for one in facet.clarify if one.metric == name))
                for one in metric.values
            ),
            *(
                (group.group, rate.estimate, rate.low, rate.high)
                for group in facet.groups
                if (rate := (group.rates or {}).get(name)) is not None
            ),
        ]
        if name == "bias_score" and facet.bias_score is not None:
            known.append((None, facet.bias_score.score, facet.bias_score.low, facet.bias_score.high))
        few = {group for one in report.gate if one.check == outcome.check for group in getattr(one, "left_out", ())}
        each = (Evidence(of, x, low, high) for of, x, low, high in known if x is not None and of not in few)
        return OfGroups(tuple(each), facet.reference if compared else None)

    def facts(self, outcome: MetricLimitResult) -> dict[str, Any]:
        """A metric of all groups has a name in its place."""
        return outcome.to_dict() | {"group": outcome.group or "all groups"}

    def _facets(self, report: Any) -> tuple[Facet, ...]:
        groups = self.groups_of(report)
        return groups.facets if groups else ()


class NumericLimits(MetricLimits):
    """Limits on metrics of declared groups whose label and prediction are numbers."""

    limit, outcome = NumericLimit, NumericLimitResult
    about = "errors of numbers"

    def judge(self, limit: MetricLimit, results: AuditResults) -> NumericLimitResult:
        compared = results.numeric_metrics or GroupMetrics(results.outcome.spec, (), (), ())
        judged = judge_metric(limit, compared)
        return NumericLimitResult(**{**vars(judged), "kind": "numeric_metric"})

    def groups_of(self, report: Any) -> Groups | None:
        """Those with means and errors."""
        groups: Groups | None = report.numeric_groups
        return groups


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
        The grouping was not counted, or the limit looks the wrong way.
    """
    problem = problem_of_direction(limit, metrics.spec.favourable_outcome)
    if problem is not None:
        raise SpecError(f"{words.capital(problem)}.")
    facet = _facet(limit, metrics)
    metric = _metric(limit, facet, scores)
    limit = both_ways(limit)
    known, left_out = _evidence(metric, facet, metrics.spec.significance.min_rows)
    if not known:
        reason = next((one for one in metric.undefined_reason if one), "no group has enough rows")
        sentence: str = say(
            "{subject} is not testable: {reason}.", subject=_subject(limit, metrics.spec), reason=of_ours(reason)
        )
        sentence = sentences(sentence, _of_rows(metric, facet))
        return _result(limit, metrics, metric, facet, None, sentence, 0, left_out)
    judged = judge(known, tolerated_by(limit))
    sentence = _sentence(limit, metric, judged, facet, metrics.spec)
    if left_out:
        sentence = sentences(sentence, say("Not judged, for too few rows: {list}.", list=_first_of(left_out)))
    undefined = _undefined(metric, left_out)
    if undefined:
        sentence = sentences(sentence, say("Undefined for: {list}.", list=_first_of(undefined)))
    sentence = sentences(sentence, _of_rows(metric, facet))
    # A range has one value, of all groups that are not left out.
    groups = len(known) if judged.decides.of is not None else sum(n > 0 for n in facet.rows) - len(left_out)
    return _result(limit, metrics, metric, facet, judged, sentence, groups, left_out)


def tolerated_by(limit: MetricLimit) -> Tolerated:
    """The values that a limit on a metric tolerates."""
    return Tolerated(limit.min, limit.max, limit.rule)


def both_ways(limit: MetricLimit) -> MetricLimit:
    """The limit with both its ends: a largest signed difference alone is meant in either direction.

    Which group is the reference must not decide.

    Examples
    --------
    >>> limits = [MetricLimit(metric=one, facet="sex", max=0.1) for one in ("DPL", "demographic_parity_difference")]
    >>> [both_ways(one).min for one in limits]
    [-0.1, None]
    """
    if limit.min is None and limit.max is not None and is_both_ways(limit):
        return limit.model_copy(update={"min": -limit.max})
    return limit


def check_name(limit: MetricLimit) -> str:
    """Metric and grouping as one name.

    Examples
    --------
    >>> check_name(MetricLimit(metric="disparate_impact", facet=["race", "sex"], min=0.8))
    'disparate_impact by race & sex'
    """
    return f"{limit.metric} by {' & '.join(limit.facets)}"


def _facet(limit: MetricLimit, metrics: GroupMetrics) -> FacetMetrics:
    for facet in metrics.facets:
        if facet.metrics.facets == limit.facets:
            return facet
    known = [" & ".join(one.metrics.facets) for one in metrics.facets]
    name = " & ".join(limit.facets)
    raise SpecError(
        f'The gate limits {limit.metric} by "{name}", which was not counted. {did_you_mean(name, known)} '
        "Name it in groups.facets, and count again."
    )


def _metric(limit: MetricLimit, facet: FacetMetrics, scores: GroupScores | None) -> Metric:
    name = GATE_METRICS[limit.metric]
    if name == "bias_score":
        return _score(limit, scores)
    metric = next((one for one in facet.metrics.metrics if one.name == name), None)
    if metric is not None:
        return metric
    reason = "needs a label, a prediction and for some metrics a score (see groups)"
    return Metric(name, "range", ((),), (None,), (None,), (None,), (reason,), (0.0,), (0.0,))


def _score(limit: MetricLimit, scores: GroupScores | None) -> Metric:
    score = next((one.score for one in (scores.scores if scores else ()) if one.facets == limit.facets), None)
    if score is None:
        reason = ("needs a label and a prediction",)
        return Metric("bias_score", "range", ((),), (None,), (None,), (None,), reason, (0.0,), (0.0,))
    return Metric(
        "bias_score", "range", ((),), (score.score,), (score.low,), (score.high,), (score.undefined_reason,),
        (0.0,), (0.0,), p_value=score.p_value, excluded=tuple((name,) for name in score.excluded),
    )  # fmt: skip


def _evidence(metric: Metric, facet: FacetMetrics, min_rows: int) -> tuple[list[Evidence[str | None]], tuple[str, ...]]:
    """Groups that can be judged, and those with too few rows."""
    sizes = dict(zip(facet.groups, facet.sizes, strict=True))
    of_each = (n / max(size, 1) for n, size in zip(facet.rows, facet.sizes, strict=True))
    rows_of_person = dict(zip(facet.groups, of_each, strict=True))
    known, left_out = [], [group_name(one) for one in metric.excluded]
    for i, group in enumerate(metric.values):
        value = metric.estimate[i]
        few = FEWEST_IN_DENOMINATOR * rows_of_person.get(group, 1.0)
        if group and (sizes.get(group, min_rows) < min_rows or metric.n[i] < few):
            if sizes.get(group):
                left_out.append(group_name(group))
        elif value is not None:
            low, high = metric.low[i], metric.high[i]
            if metric.together_low is not None and metric.together_high is not None:
                low, high = metric.together_low[i], metric.together_high[i]
            known.append(Evidence(group_name(group) if group else None, value, low, high))
    return known, tuple(left_out)


def _undefined(metric: Metric, left_out: tuple[str, ...]) -> list[str]:
    """Groups with enough rows for which the metric has no value; the reference itself is none of them."""
    return [
        say("{value} ({note})", value=group_name(group), note=of_ours(reason))
        for group, reason in zip(metric.values, metric.undefined_reason, strict=True)
        if group and reason is not None and reason != IS_REFERENCE and group_name(group) not in left_out
    ]


def _first_of(names: Sequence[str]) -> str:
    """The first of several names."""
    return joined([*names[:_NAMED], *(["..."] if len(names) > _NAMED else [])], ", ")


def _result(
    limit: MetricLimit,
    metrics: GroupMetrics,
    metric: Metric,
    facet: FacetMetrics,
    judged: Judgement[str | None] | None,
    sentence: str,
    groups: int,
    left_out: tuple[str, ...],
) -> MetricLimitResult:
    alpha = metrics.spec.significance.alpha
    evidence = judged.decides if judged else None
    unseen, _ = facet.metrics.unseen(metric.name)
    return MetricLimitResult.of(
        limit,
        judged.verdict if judged else "not_testable",
        sentence,
        judged,
        kind="metric",
        check=check_name(limit),
        metric=limit.metric,
        facet=" & ".join(limit.facets),
        group=evidence.of if evidence else None,
        minimum=limit.min,
        maximum=limit.max,
        rule=limit.rule,
        value=evidence.value if evidence else None,
        confidence=1.0 - alpha,
        p_value=metric.p_value,
        smallest_visible=_visible(limit, metric, evidence, alpha) if evidence else None,
        groups_judged=groups,
        left_out=left_out,
        rows_seen=facet.metrics.rows - unseen,
        rows_unseen=unseen,
    )


def _sentence(
    limit: MetricLimit, metric: Metric, judged: Judgement[str | None], facet: FacetMetrics, spec: AuditSpec
) -> str:
    evidence, tolerated, alpha = judged.decides, tolerated_by(limit), spec.significance.alpha
    value = words.number(evidence.value)
    if evidence.low is not None and evidence.high is not None:
        interval = say(
            "[{N} % CI {low} to {high}]",
            N=Numeral(f"{100 * (1 - alpha):.4g}"),
            low=words.number(evidence.low),
            high=words.number(evidence.high),
        )
        value = joined([value, interval], " ")
    subject, between = _subject(limit, spec), _extremes(metric, facet, spec)
    statement: str = say("{subject} is {value}", subject=subject, value=value)
    if evidence.of is not None:
        statement = say("{subject} is {value} for {group}", subject=subject, value=value, group=evidence.of)
    elif between:
        lowest, highest = between
        statement = say(
            "{subject} is {value} between {group} and {other}",
            subject=subject,
            value=value,
            group=lowest,
            other=highest,
        )
    if facet.persons is not None:
        statement = joined([statement, say("among {N} persons", N=words.count(sum(facet.persons)))], ", ")
    kind: Literal["ratio", "value"] = "ratio" if is_ratio(metric.name) else "value"
    visible = _visible(limit, metric, evidence, alpha)
    return sentences(
        clauses(statement, allowed_and_why(judged, tolerated)), would_have_been_found(judged, visible, kind)
    )


def _of_rows(metric: Metric, facet: FacetMetrics) -> str:
    """How many rows the limit saw, where it did not see all."""
    unseen, columns = facet.metrics.unseen(metric.name)
    return judged_on(facet.metrics.rows - unseen, unseen, columns)


def _visible(limit: MetricLimit, metric: Metric, evidence: Evidence[str | None], alpha: float) -> float | None:
    return found_beyond(evidence, tolerated_by(limit), alpha, ratio=is_ratio(metric.name))


def _subject(limit: MetricLimit, spec: AuditSpec) -> str:
    """The metric and its groups, what is set against what, and which outcome counts."""
    name = GATE_METRICS[limit.metric]
    notes: list[str] = []
    criterion = CRITERIA.get(plain_name(name))
    if name in CLARIFY:
        notes.append(of_ours(CLARIFY[name].how))
    elif criterion is not None and criterion.of_favourable:
        notes.append(say("lowest over highest"))
    if notes and spec.favourable_outcome is not None and depends_on_favourable(name):
        label, prediction = spec.group_columns()
        column = label if name in CLARIFY and CLARIFY[name].stage == "pre_training" else prediction
        if column is not None:
            message = (
                "favourable: {column} is positive"
                if spec.favourable_outcome == "positive"
                else "favourable: {column} is negative"
            )
            notes.append(say(message, column=Column(column)))
    metric, columns = of_ours(spoken_name(limit.metric)), joined([Column(column) for column in limit.facets], " & ")
    if not notes:
        return say("{metric} by {facet}", metric=metric, facet=columns)
    return say("{metric} by {facet} ({note})", metric=metric, facet=columns, note=joined(notes, "; "))


def _extremes(metric: Metric, facet: FacetMetrics, spec: AuditSpec) -> tuple[str, str] | None:
    """Between which groups a range lies; where it says who is worse off, that one first."""
    criterion = CRITERIA.get(plain_name(metric.name))
    if criterion is None or criterion.rate is None:
        return None
    rate = facet.metrics[criterion.rate]
    known = sorted(
        (value, group_name(group))
        for value, group in zip(rate.estimate, rate.values, strict=True)
        if value is not None and group not in metric.excluded
    )
    if criterion.of_favourable and spec.favourable_outcome == "negative":
        known.reverse()
    return (known[0][1], known[-1][1]) if known else None
