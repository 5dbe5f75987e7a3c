"""Measurements about each limit that does not hold, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bdt_core import words
from bdt_core.fairness.metric_results import Estimate
from bdt_core.metrics import spoken_name
from bdt_core.mitigation.decisions import number_text
from bdt_core.mitigation.results import NOT_OF_DECISIONS, FrontierRow, GroupChange, MetricChange, Mitigation, Thresholds
from bdt_core.result import Result
from bdt_core.said import Column, Numeral, Text, joined, of_ours, say
from bdt_core.spec import GATE_METRICS
from bdt_core.verdict import LimitOutcome, MetricLimitResult, NumericLimitResult, Verdict, kind_of
from bdt_core.verdict.judge import Evidence, Tolerated, judge

Kept = Literal["yes", "no", "cannot tell"]
_KEEPS: dict[Kept, str] = {
    "yes": "The whole interval then keeps the limit ({allowed}).",
    "no": "The whole interval is then still beyond the limit ({allowed}).",
    "cannot tell": "The interval then lies on both sides of the limit ({allowed}): so many test rows cannot show that "
    "it holds.",
}
_KEPT: dict[Verdict, Kept] = {"pass": "yes", "fail": "no", "inconclusive": "cannot tell"}


@dataclass(frozen=True)
class Recommendation(Result):
    """What to do about one limit.

    Attributes
    ----------
    check : str
        The limit's name.
    verdict : str
        What the limit said.
    measured : bool
        Whether the effect on this limit's metric was measured.
    keeps_limit : {"yes", "no", "cannot tell"} or None
        Whether the whole interval after the change lies within the limit, beyond it, or on both sides.
    text : str
    """

    check: str
    verdict: Verdict
    measured: bool
    keeps_limit: Kept | None
    text: Text


def recommend(mitigation: Mitigation, limits: Sequence[LimitOutcome]) -> tuple[Recommendation, ...]:
    """Say for each limit that does not pass what the thresholds were measured to do about it.

    Parameters
    ----------
    mitigation : Mitigation
    limits : sequence of limit results
        Of the gate; those that pass are left out.

    Returns
    -------
    tuple of Recommendation
        In the order of the limits.
    """
    return tuple(_recommended(mitigation, one) for one in limits if one.verdict != "pass")


def _recommended(mitigation: Mitigation, limit: LimitOutcome) -> Recommendation:
    if not isinstance(limit, MetricLimitResult) or isinstance(limit, NumericLimitResult):
        # Thresholds are measured by metrics of decisions.
        what = kind_of(limit).about
        tried = say(
            "Thresholds by {as_is} were tried, not by {what}.", as_is=mitigation.settings.columns, what=of_ours(what)
        )
        proxies = _proxies(mitigation)
        return _unmeasured(limit, joined([tried, proxies], " ") if proxies else tried)
    if limit.facet != mitigation.settings.facet:
        return _unmeasured(
            limit,
            say(
                "Thresholds by {as_is} were tried, not by {as_is2}: set mitigation.group to {as_is3} to measure what "
                "they do to this metric.",
                as_is=mitigation.settings.columns,
                as_is2=_columns(limit.facet),
                as_is3=_columns(limit.facet),
            ),
        )
    if mitigation.thresholds is None:
        return _unmeasured(
            limit,
            say(
                "Thresholds by {as_is} could not be chosen. {reason}",
                as_is=mitigation.settings.columns,
                reason=of_ours(mitigation.reason or ""),
            ),
        )
    name = GATE_METRICS[limit.metric]
    if name == "bias_score":
        return _unmeasured(limit, _parts_of_the_score(mitigation))
    known = [
        Evidence(one, one.after.estimate, one.after.low, one.after.high)
        for one in mitigation.thresholds.metrics
        if one.metric == name and one.after.estimate is not None
    ]
    if not known:
        return _unmeasured(
            limit,
            say(
                "{metric} was not measured under other thresholds: {why}",
                metric=of_ours(spoken_name(limit.metric)),
                why=_undefined(mitigation.thresholds, name, mitigation.settings.metrics),
            ),
        )
    return _measured(mitigation, mitigation.thresholds, limit, known)


def _measured(
    mitigation: Mitigation, thresholds: Thresholds, limit: MetricLimitResult, known: list[Evidence[MetricChange]]
) -> Recommendation:
    settings = mitigation.settings
    tolerated = Tolerated(limit.minimum, limit.maximum)
    worst = max(known, key=lambda one: (tolerated.beyond(one.value), one.of.group or "")).of
    broke = next((one.of for one in known if one.of.group == limit.group), worst)
    both = [_metric_change(one, settings.alpha) for one in dict.fromkeys([broke, worst])]
    kept = _KEPT[judge(known, tolerated).verdict]
    goal = of_ours(settings.constraint.replace("_", " "))
    sentences = [
        say(
            "Thresholds by {as_is} on {as_is2}, chosen on {N} train rows for {goal} within {Nwithin}: {threshold}.",
            as_is=settings.columns,
            as_is2=Column(settings.score),
            N=words.count(mitigation.train_rows),
            goal=goal,
            Nwithin=Numeral(f"{settings.tolerance:g}"),
            threshold=joined([_threshold_change(one) for one in thresholds.groups], "; "),
        ),
        joined(
            [
                say("On the {N} test rows {what}", N=words.count(mitigation.test_rows), what=joined(both, "; ")),
                say(
                    "accuracy goes from {N} to {Nafter} ({change}).",
                    N=words.percent(thresholds.accuracy.before.estimate),
                    Nafter=words.percent(thresholds.accuracy.after.estimate),
                    change=_points(thresholds.accuracy_change, settings.alpha),
                ),
            ],
            "; ",
        ),
        *(
            [say("Nearest to the limit, or beyond it, is then {as_is}.", as_is=str(worst.group))]
            if worst is not broke
            else []
        ),
        say(_KEEPS[kept], allowed=of_ours(tolerated.in_words())),
    ]
    if worst.metric == settings.metric:
        sentences += _cheaper(thresholds, limit, settings.tolerance)
    elif worst.metric.removesuffix("_ratio") != settings.constraint:
        sentences.append(
            say(
                "They were not chosen for this metric, but for {goal}; mitigation.constraint says for which.", goal=goal
            )
        )
    return Recommendation(limit.check, limit.verdict, True, kept, joined(sentences, " "))


def _cheaper(thresholds: Thresholds, limit: MetricLimitResult, tolerance: float) -> list[str]:
    """The loosest thresholds whose gap on the train rows keeps the limit, where they are looser than those chosen."""
    within = [one for one in thresholds.frontier if limit.maximum is not None and one.train_gap <= limit.maximum]
    if not within:
        return []
    loosest: FrontierRow = within[0]
    if loosest.train_gap <= max(tolerance, thresholds.train_gap) or loosest.gap.estimate is None:
        return []
    return [
        say(
            "The loosest thresholds that keep it on the train rows (tolerance {N}) have a gap of {Ngap} and an "
            "accuracy of {Naccuracy} on the test rows.",
            N=Numeral(f"{loosest.tolerance:g}"),
            Ngap=words.number(loosest.gap.estimate),
            Naccuracy=words.percent(loosest.accuracy.estimate),
        )
    ]


def _unmeasured(limit: LimitOutcome, why: str) -> Recommendation:
    return Recommendation(limit.check, limit.verdict, False, None, why)


def _parts_of_the_score(mitigation: Mitigation) -> str:
    assert mitigation.thresholds is not None
    parts = [
        _metric_change(one, mitigation.settings.alpha)
        for one in mitigation.thresholds.metrics
        if one.metric in ("demographic_parity_difference", "equalized_odds_difference")
    ]
    return joined(
        [
            say("The composite score was not measured under other thresholds."),
            say("Near to it: {what}.", what=joined(parts, "; ")),
        ],
        " ",
    )


def _undefined(thresholds: Thresholds, name: str, asked: Sequence[str]) -> str:
    reasons = [
        side.undefined_reason
        for one in thresholds.metrics
        if one.metric == name
        for side in (one.before, one.after)
        if side.undefined_reason
    ]
    if reasons:
        return say("{reason}.", reason=of_ours(reasons[0]))
    if name in asked:
        return say("{reason}.", reason=say(NOT_OF_DECISIONS))
    return say("name {as_is} in mitigation.metrics to measure it.", as_is=name)


def _proxies(mitigation: Mitigation) -> str:
    """The features that tell a group best: through them a cluster can stand in for it."""
    strong = [one for one in (mitigation.proxies.proxies if mitigation.proxies else ()) if one.strength is not None][:3]
    if not strong:
        return ""
    features = [
        say(
            "{as_is} ({as_is2}: {measure} {N})",
            measure=of_ours(one.measure or ""),
            as_is=Column(one.feature),
            as_is2=Column(one.protected),
            N=Numeral(words.number(one.estimate)),
        )
        for one in strong
    ]
    return say("The features that tell a protected attribute best: {proxies}.", proxies=joined(features, ", "))


def _columns(facet: str) -> str:
    return joined([Column(one) for one in facet.split(" & ")], " & ")


def _threshold_change(change: GroupChange) -> str:
    if change.threshold_after is None:
        after = [
            say("{value} ({note})", value=_threshold(value), note=words.percent(chance))
            for value, chance in change.mixture
        ]
        return say("{as_is} draws lots between {what}", as_is=change.group, what=joined(after, " or "))
    after_it = _threshold(change.threshold_after)
    if change.threshold_before is None:
        return say("{as_is} {N}", as_is=change.group, N=after_it)
    if change.threshold_before == change.threshold_after:
        return say("{as_is} stays at {N}", as_is=change.group, N=after_it)
    return say(
        "{as_is} from {N} to {Nafter}", as_is=change.group, N=_threshold(change.threshold_before), Nafter=after_it
    )


def _threshold(value: float) -> str:
    if math.isinf(value):
        return say("nobody" if value > 0 else "everybody")
    return Numeral(number_text(value))


def _metric_change(change: MetricChange, alpha: float) -> str:
    goes = {
        "metric": of_ours(change.metric.replace("_", " ")),
        "before": _with_interval(change.before, alpha),
        "after": _with_interval(change.after, alpha),
    }
    if not change.group:
        return say("the {metric} goes from {before} to {after}", **goes)
    return say("the {metric} of {as_is} goes from {before} to {after}", **goes, as_is=change.group)


def _with_interval(estimate: Estimate, alpha: float) -> str:
    if estimate.estimate is None:
        return say("{value} ({note})", value=say("undefined"), note=of_ours(estimate.undefined_reason or ""))
    return say(
        "{N} [{Nlevel} % CI {low} to {high}]",
        N=words.number(estimate.estimate),
        Nlevel=Numeral(f"{100 * (1 - alpha):.4g}"),
        low=words.number(estimate.low),
        high=words.number(estimate.high),
    )


def _points(change: Estimate, alpha: float) -> str:
    return words.difference(change.estimate, change.low, change.high, confidence=1.0 - alpha, unit="rate")
