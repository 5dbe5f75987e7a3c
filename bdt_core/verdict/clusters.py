"""A limit on clusters: the tested clusters against the difference that is tolerated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from bdt_core import words
from bdt_core.errors import SpecError
from bdt_core.inference import Comparison, difference_found_beyond
from bdt_core.metrics import as_harm
from bdt_core.said import Numeral, of_ours, say
from bdt_core.significance.clusters import ClusterSignificance, ComparedCluster
from bdt_core.spec import AlertSeverity, Limit
from bdt_core.spec.wording import wording
from bdt_core.verdict.evidence import SearchedLimitOutcome
from bdt_core.verdict.judge import (
    Evidence,
    Judgement,
    Tolerated,
    allowed_and_why,
    judge,
    would_have_been_found,
)
from bdt_core.verdict.kinds import AuditResults, PeopleLimitKind, default_limit
from bdt_core.verdict.scope import Scope, scope_of
from bdt_core.verdict.words import Verdict, clauses, sentences, which_way

NO_CLUSTERS = say(
    "the search found no way to divide the train rows, so there is no cluster to test; "
    "bring more rows or features, or lower clustering.min_cluster_size"
)


@dataclass(frozen=True, kw_only=True)
class ClusterLimitResult(SearchedLimitOutcome):
    """What a limit on clusters says.

    ``difference``, ``low`` and ``high`` count harm as positive, whichever way the bias variable points.
    ``smallest_visible`` is the smallest difference that would have been found beyond the limit with 80 % power.
    """

    kind: Literal["cluster"]
    cluster: int | None
    smallest_visible: float | None
    severity: AlertSeverity | None = None


class ClusterLimits(PeopleLimitKind[Limit, ClusterLimitResult]):
    """Limits on clusters."""

    limit, outcome = Limit, ClusterLimitResult
    about = "cluster"
    compared = (
        "Harm in {measure} of the worst cluster",
        "The clusters of two reports are different groups of people.",
    )

    def by_its_own_search(self, limit: Limit, results: AuditResults) -> ClusterLimitResult:
        return judge_clusters(limit, results.significance)

    def scope_in(self, limit: Limit, most: float, results: AuditResults) -> Scope:
        shared = self.shared_scope(limit, most, results)
        if limit.check == "worst_cluster":
            return scope_of("cluster", **shared)
        return scope_of("clusters", **shared, tested=len(results.significance.clusters) if results.significance else 0)

    def title(self, outcome: ClusterLimitResult) -> str:
        return say("Most deviating cluster") if outcome.check == "worst_cluster" else say("Any cluster")

    def subject(self, outcome: ClusterLimitResult, measured: str) -> str:
        if outcome.check == "worst_cluster":
            return say("Difference in {measure} of the most deviating cluster", measure=of_ours(measured))
        return say("Difference in {measure} of any cluster", measure=of_ours(measured))

    def judged_by(self, outcome: ClusterLimitResult) -> str:
        if outcome.cluster is None:
            return ""
        return say("decisive: cluster {number}", number=words.number(outcome.cluster))


def judge_clusters(limit: Limit, tested: ClusterSignificance | None) -> ClusterLimitResult:
    """Hold the tested clusters against one limit.

    Parameters
    ----------
    limit : Limit
        ``worst_cluster`` judges the most deviating cluster: that of each split, all splits together, where there are
        several. ``any_cluster`` judges the cluster with the largest lower bound, by intervals that hold for all
        clusters at once.
    tested : ClusterSignificance or None
        None: no clusters were searched.

    Returns
    -------
    ClusterLimitResult

    Raises
    ------
    SpecError
        No clusters were searched.
    """
    if tested is None:
        raise SpecError(f'The gate limits "{limit.check}", and "clustering: null" searches no clusters.')
    most = limit.max_difference
    if most is None:
        most = default_limit(tested.two_valued, tested.test_sd)
    if tested.primary is None:
        return _result(
            limit, most, "not_testable", say("Not testable: {reason}.", reason=NO_CLUSTERS), None, None, tested
        )
    candidates = [tested.primary] if limit.check == "worst_cluster" else list(tested.clusters)
    known = [one for one in (_evidence(each, limit, tested) for each in candidates) if one is not None]
    if not known:
        reason = _compared(tested.primary, limit, tested).reason or "too few test rows"
        sentence: str = say("Not testable: {reason}", reason=of_ours(reason))
        return _result(limit, most, "not_testable", sentence, tested.primary, None, tested)
    tolerated = Tolerated(maximum=most)
    judged = judge(known, tolerated, nearest="bound")
    verdict, sentence = judged.verdict, _sentence(judged, limit, most, tested)
    untested = [str(one.cluster.label) for one in candidates if _compared(one, limit, tested).status != "tested"]
    if verdict == "pass" and untested:
        verdict = "inconclusive"
        yet = say("Yet cluster {as_is} had too few test rows to be tested.", as_is=", ".join(untested))
        sentence = sentences(sentence, yet)
    return _result(limit, most, verdict, sentence, judged.decides.of, judged, tested)


def _evidence(cluster: ComparedCluster, limit: Limit, tested: ClusterSignificance) -> Evidence[ComparedCluster] | None:
    """Difference and interval with harm counted as positive."""
    compared = _compared(cluster, limit, tested)
    difference, low, high, p = compared.difference, compared.low, compared.high, compared.p_value
    if limit.check == "any_cluster":
        low, high = cluster.simultaneous or (low, high)
        p = cluster.p_adjusted
    if difference is None or low is None or high is None:
        return None
    rejects = p is not None and p <= tested.spec.significance.alpha
    return Evidence(cluster, *as_harm(difference, low, high, tested.spec.bias_variable.better), rejects)


def _visible(cluster: ComparedCluster, limit: Limit, most: float, tested: ClusterSignificance) -> float | None:
    """Of several clusters the power is that of an interval for all."""
    comparisons = float(len(tested.clusters)) if limit.check == "any_cluster" else 1.0
    harm_is_up = tested.spec.bias_variable.better == "lower"
    return difference_found_beyond(_compared(cluster, limit, tested), most, comparisons, harm_is_up=harm_is_up)


def _compared(cluster: ComparedCluster, limit: Limit, tested: ClusterSignificance) -> Comparison:
    """All splits together; a cluster by itself where a limit is on each of those of the audit's own split."""
    return tested.repeats.together if tested.repeats and limit.check == "worst_cluster" else cluster.comparison


def _result(
    limit: Limit,
    most: float,
    verdict: Verdict,
    sentence: str,
    cluster: ComparedCluster | None,
    judged: Judgement[ComparedCluster] | None,
    tested: ClusterSignificance,
) -> ClusterLimitResult:
    return ClusterLimitResult.of(
        limit,
        verdict,
        sentence,
        judged,
        kind="cluster",
        check=limit.check,
        cluster=cluster.cluster.label if cluster else None,
        limit=most,
        difference=judged.decides.value if judged else None,
        p_value=_compared(cluster, limit, tested).p_value if cluster else None,
        smallest_visible=_visible(cluster, limit, most, tested) if cluster else None,
    )


def _sentence(judged: Judgement[ComparedCluster], limit: Limit, most: float, tested: ClusterSignificance) -> str:
    evidence, unit = judged.decides, tested.unit
    comparison = _compared(evidence.of, limit, tested)
    better = tested.spec.bias_variable.better
    direction, low, high = which_way(
        evidence.value, evidence.low, evidence.high, better=better, certain=evidence.rejects
    )
    interval = words.interval(low, high, confidence=comparison.confidence, unit=unit)
    if tested.repeats is not None and limit.check == "worst_cluster":
        message = (
            "The {measure} of cluster 0, found anew on each of {N} splits, is {size} {way} than everybody else's "
            "{interval}, on {rows} that their searches never saw"
        )
        values = {"N": Numeral(len(tested.repeats.p_values)), "rows": of_ours(tested.repeats.rows_in_words)}
    elif tested.persons is not None:
        message = (
            "The {measure} of cluster {as_is} is {size} {way} than everybody else's {interval}, among {rows} with "
            "{rows2}"
        )
        values = {
            "as_is": str(evidence.of.cluster.label),
            "rows": say("{N} persons", N=words.count(tested.persons)),
            "rows2": say("{N} rows", N=words.count(tested.test_rows)),
        }
    else:
        message = "The {measure} of cluster {as_is} is {size} {way} than everybody else's {interval}"
        values = {"as_is": str(evidence.of.cluster.label)}
    difference = say(
        message,
        size=words.size(evidence.value, unit),
        measure=of_ours(wording(tested.spec.bias_variable).name),
        way=direction,
        interval=interval,
        **values,
    )
    write = partial(words.size, unit=unit)
    return sentences(
        clauses(difference, allowed_and_why(judged, Tolerated(maximum=most), write)),
        would_have_been_found(judged, _visible(evidence.of, limit, most, tested), "difference", write),
    )
