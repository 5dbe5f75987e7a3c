"""A limit on local bias: the gaps between groups within clusters against the gap that is tolerated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from scipy.special import ndtri

from bdt_core import words
from bdt_core.inference import newcombe_interval
from bdt_core.metrics import LOCAL_METRICS
from bdt_core.said import Numeral, of_ours, say
from bdt_core.spec import LocalBiasLimit
from bdt_core.verdict.evidence import SearchedLimitOutcome
from bdt_core.verdict.judge import (
    Evidence,
    Judgement,
    Tolerated,
    found_beyond,
    judge,
    why,
    would_have_been_found,
)
from bdt_core.verdict.kinds import AuditResults, PeopleLimitKind
from bdt_core.verdict.scope import Scope, scope_of, width_of
from bdt_core.verdict.words import Verdict, clauses, interval_of_several, judged_on, sentences

if TYPE_CHECKING:
    from bdt_core.local_bias.results import HeldOutGap, LocalBias, LocalCluster


@dataclass(frozen=True, kw_only=True)
class LocalBiasLimitResult(SearchedLimitOutcome):
    """What a limit on local bias says.

    Attributes
    ----------
    cluster : int or None
        The cluster (of LOGAN) that decides: the one that is surest to be beyond the limit, or whose interval reaches
        farthest.
    metric : str or None
        What is compared between groups.
    higher, lower : str or None
        The two groups of the cluster that are compared, as they stand on the test rows.
    limit : float
    difference, low, high : float or None
        Metric of `higher` less that of `lower` on the test rows. The interval holds for all clusters that were tested
        at once.
    confidence : float or None
    clusters_tested : int
    rows_seen, rows_unseen : int or None
        Rows with a group and an outcome, and without; None where local bias was not looked for.
    p_value : float or None
        Of this gap alone.
    smallest_visible : float or None
        The gap that would have been told from none with 80 % power, among so many clusters.
    """

    kind: Literal["local_bias"]
    check: Literal["local_bias"]
    cluster: int | None
    metric: str | None
    higher: str | None
    lower: str | None
    confidence: float | None
    clusters_tested: int
    rows_seen: int | None = None
    rows_unseen: int | None = None
    smallest_visible: float | None


class LocalBiasLimits(PeopleLimitKind[LocalBiasLimit, LocalBiasLimitResult]):
    """Limits on local bias."""

    limit, outcome = LocalBiasLimit, LocalBiasLimitResult
    about = "the clusters of local bias"
    compared = (
        "Largest gap in {measure} within a cluster",
        "The clusters of two reports are different groups of people.",
    )
    published = frozenset({"metric", "clusters_tested"})
    counts_blanks = False  # a gap is of people whose outcome is known

    def by_its_own_search(self, limit: LocalBiasLimit, results: AuditResults) -> LocalBiasLimitResult:
        return judge_local_bias(limit, results.local_bias)

    def scope_in(self, limit: LocalBiasLimit, most: float, results: AuditResults) -> Scope:
        local = results.local_bias
        places = [one for one in local.logan.clusters if one.held_out.status == "tested"] if local else []
        shared = self.shared_scope(limit, most, results)
        shared |= {"better": None, "default": False, "width": width_of(most, None)}
        if local:
            metric = LOCAL_METRICS[local.settings.metric]
            shared["measured"] = metric.measured or metric.words
        return scope_of("places", **shared, tested=len(places))

    def unit_of(self, outcome: LocalBiasLimitResult, unit: words.Unit) -> str:  # noqa: ARG002 - whatever is audited
        return gap_unit(outcome.metric)

    def measured(self, outcome: LocalBiasLimitResult, report: Any) -> str:  # noqa: ARG002
        return metric_words(outcome.metric)

    def in_own_direction(
        self,
        outcome: LocalBiasLimitResult,
        better: str,  # noqa: ARG002 - a gap either way counts
    ) -> tuple[words.Number, words.Number, words.Number]:
        return outcome.estimate, outcome.low, outcome.high

    def title(self, outcome: LocalBiasLimitResult) -> str:  # noqa: ARG002 - there is one check
        return say("Local bias")

    def subject(self, outcome: LocalBiasLimitResult, measured: str) -> str:  # noqa: ARG002
        return say("Gap in {measure} between two groups in one place of the data", measure=of_ours(measured))

    def judged_by(self, outcome: LocalBiasLimitResult) -> str:
        if outcome.cluster is None:
            return ""
        return say(
            "decisive: {higher} against {lower} in cluster {number}",
            higher=str(outcome.higher),
            lower=str(outcome.lower),
            number=words.number(outcome.cluster),
        )


def gap_unit(metric: str | None) -> words.Unit:
    """The unit of gaps: those of areas are numbers, all others are of rates."""
    return "rate" if metric is None else LOCAL_METRICS[metric].unit


def metric_words(metric: str | None) -> str:
    """What is compared, within a sentence."""
    return "any metric" if metric is None else LOCAL_METRICS[metric].words


@dataclass(frozen=True)
class _Gap:
    """Two groups of a cluster, the one ahead on the test rows first."""

    cluster: LocalCluster
    higher: str | None
    lower: str | None


def judge_local_bias(limit: LocalBiasLimit, local_bias: LocalBias | None) -> LocalBiasLimitResult:
    """Hold the gaps on the test rows against one limit.

    Parameters
    ----------
    limit : LocalBiasLimit
    local_bias : LocalBias or None
        None where it was not looked for.

    Returns
    -------
    LocalBiasLimitResult
        By intervals that hold for all tested clusters at once. fail: a significant gap, whichever group is ahead,
        whose whole interval is beyond the limit. pass: every interval lies within it.
    """
    most = limit.max_gap
    if local_bias is None:
        return _result(limit, most, "not_testable", say("Local bias was not looked for."), None, None, 0)
    tested = [one for one in local_bias.logan.clusters if one.held_out.status == "tested"]
    known = [one for one in (_evidence(each, local_bias, len(tested)) for each in tested) if one is not None]
    if not known:
        reason = say("No cluster has enough test rows of two groups.")
        return _result(limit, most, "not_testable", reason, None, local_bias, len(tested))
    tolerated = Tolerated(-most, most)  # either group may be behind
    judged = judge(known, tolerated, nearest="bound")
    verdict, sentence = judged.verdict, _sentence(judged, most, local_bias, len(tested))
    sentence = sentences(sentence, judged_on(*_rows(local_bias), _lacking(local_bias)))
    untested = [one.title for one in local_bias.logan.clusters if one.held_out.status != "tested"]
    if verdict == "pass" and untested:
        verdict = "inconclusive"
        yet = say("Yet cluster {as_is} had too few test rows of two groups to be tested.", as_is=", ".join(untested))
        sentence = sentences(sentence, yet)
    return _result(limit, most, verdict, sentence, judged, local_bias, len(tested))


def _lacking(local_bias: LocalBias) -> dict[str, int]:
    """Of which column rows lack a value: a row without a group or an outcome is in no cluster."""
    start = "without "
    return {
        reason.removeprefix(start): n for reason, n in local_bias.left_out.items() if reason.startswith(start) and n
    }


def _rows(local_bias: LocalBias) -> tuple[int, int]:
    """How many rows were used, train and test together, and how many lack a value."""
    return local_bias.train_rows + local_bias.test_rows, sum(_lacking(local_bias).values())


def _evidence(cluster: LocalCluster, local_bias: LocalBias, tested: int) -> Evidence[_Gap] | None:
    """The gap with an interval for all clusters at once, from the group ahead on the test rows."""
    gap = cluster.held_out
    if gap.gap is None or gap.low is None or gap.high is None:
        return None
    low, high = _interval_at_once(cluster, gap.gap, gap.low, gap.high, local_bias.settings.alpha, tested)
    if gap.gap < 0:
        return Evidence(_Gap(cluster, gap.lower, gap.higher), -gap.gap, -high, -low, bool(gap.significant))
    return Evidence(_Gap(cluster, gap.higher, gap.lower), gap.gap, low, high, bool(gap.significant))


def _interval_at_once(
    cluster: LocalCluster, gap: float, low: float, high: float, alpha: float, tested: int
) -> tuple[float, float]:
    """Bonferroni's share: rates from their counts; areas by longer arms, as by normal quantiles (DeLong)."""
    if tested <= 1:
        return low, high
    values = {each.group: each for each in cluster.test}
    ahead, behind = values[str(cluster.held_out.higher)], values[str(cluster.held_out.lower)]
    persons = cluster.held_out.persons
    if ahead.events is not None and behind.events is not None:
        shrink = 1.0 if persons is None else persons.shrink(alpha / tested)
        return newcombe_interval(
            ahead.events / shrink,
            ahead.counted / shrink,
            behind.events / shrink,
            behind.counted / shrink,
            confidence=1.0 - alpha / tested,
        )
    stretch = float(ndtri(1.0 - alpha / (2.0 * tested)) / ndtri(1.0 - alpha / 2.0))
    return max(gap - stretch * (gap - low), -1.0), min(gap + stretch * (high - gap), 1.0)


def _sentence(judged: Judgement[_Gap], most: float, local_bias: LocalBias, tested: int) -> str:
    evidence, unit = judged.decides, gap_unit(local_bias.settings.metric)
    clusters = say("{N} clusters", N=Numeral(tested))
    metric = metric_words(local_bias.settings.metric)
    gap = say(
        "Cluster {as_is}: the {metric} of {as_is2} is higher than that of {as_is3} by {size} {interval}"
        if metric.startswith("the ")
        else "Cluster {as_is}: {metric} of {as_is2} is higher than that of {as_is3} by {size} {interval}",
        size=words.size(evidence.value, unit),
        as_is=evidence.of.cluster.title,
        metric=of_ours(metric.removeprefix("the ")),
        as_is2=str(evidence.of.higher),
        as_is3=str(evidence.of.lower),
        interval=interval_of_several(evidence.low, evidence.high, 1.0 - local_bias.settings.alpha, unit, clusters),
    )
    write = partial(words.size, unit=unit)
    allowed = say("at most {size} is allowed", size=words.size(most, unit))
    return sentences(
        clauses(gap, why(judged, Tolerated(-most, most), allowed)),
        would_have_been_found(judged, _visible(evidence, most, local_bias, tested), "gap", write),
    )


def _visible(evidence: Evidence[_Gap], most: float, local_bias: LocalBias, tested: int) -> float | None:
    return found_beyond(evidence, Tolerated(maximum=most), local_bias.settings.alpha / tested)


def _result(
    limit: LocalBiasLimit,
    most: float,
    verdict: Verdict,
    sentence: str,
    judged: Judgement[_Gap] | None,
    local_bias: LocalBias | None,
    tested: int,
) -> LocalBiasLimitResult:
    evidence = judged.decides if judged else None
    gap: HeldOutGap | None = evidence.of.cluster.held_out if evidence else None
    seen, unseen = (None, None) if local_bias is None else _rows(local_bias)
    return LocalBiasLimitResult.of(
        limit,
        verdict,
        sentence,
        judged,
        kind="local_bias",
        check=limit.check,
        cluster=evidence.of.cluster.label if evidence else None,
        metric=local_bias.settings.metric if local_bias else None,
        higher=evidence.of.higher if evidence else None,
        lower=evidence.of.lower if evidence else None,
        limit=most,
        difference=evidence.value if evidence else None,
        confidence=1.0 - local_bias.settings.alpha if local_bias else None,
        clusters_tested=tested,
        rows_seen=seen,
        rows_unseen=unseen,
        p_value=gap.p_value if gap else None,
        smallest_visible=_visible(evidence, most, local_bias, tested) if evidence and local_bias else None,
    )
