"""A limit on clusters: the tested clusters against the difference that is tolerated.

The interval of the difference inside the limit passes, outside it fails (if the test rejects too); an interval that
holds the limit cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bdt_core import words
from bdt_core.result import Result
from bdt_core.significance.clusters import ClusterSignificance, ComparedCluster
from bdt_core.spec import AlertSeverity, Limit
from bdt_core.table.bias_variable import wording
from bdt_core.verdict.harm import default_limit
from bdt_core.verdict.words import Verdict, severity_of, stops

NO_CLUSTERS = (
    "the search found no way to divide the train rows, so there is no cluster to test; "
    "bring more rows or features, or lower clustering.min_cluster_size"
)


@dataclass(frozen=True)
class ClusterLimitResult(Result):
    """What a limit on clusters says.

    ``difference``, ``low`` and ``high`` count harm as positive, whichever way the bias variable points.
    ``severity`` is by limit over difference where that is beyond the limit. ``smallest_visible`` is the smallest
    difference that this data would have shown with 80 % power.
    """

    kind: Literal["cluster"]
    check: str
    cluster: int | None
    limit: float
    verdict: Verdict
    blocks: bool
    inconclusive: Literal["warn", "block"]
    sentence: str
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    smallest_visible: float | None
    severity: AlertSeverity | None = None


def judge_clusters(limit: Limit, tested: ClusterSignificance) -> ClusterLimitResult:
    """Hold the tested clusters against one limit.

    Parameters
    ----------
    limit : Limit
        ``worst_cluster`` judges cluster 0 by its own interval. ``any_cluster`` judges the cluster with the largest
        lower bound, by intervals that hold for all clusters at once.
    tested : ClusterSignificance

    Returns
    -------
    ClusterLimitResult
    """
    most = _limit(limit, tested)
    if tested.primary is None:
        return _result(limit, most, "not_testable", f"Not testable: {NO_CLUSTERS}.", None, None)
    candidates = [tested.primary] if limit.check == "worst_cluster" else list(tested.clusters)
    intervals = [(one, _harm(one, limit, tested)) for one in candidates]
    known = [(one, harm) for one, harm in intervals if harm is not None]
    if not known:
        reason = tested.primary.comparison.reason or "too few test rows"
        return _result(limit, most, "not_testable", f"Not testable: {reason}", tested.primary, None)
    proven = [(one, harm) for one, harm in known if harm[1] > most and _is_significant(one, limit, tested)]
    if proven:
        verdict: Verdict = "fail"
        worst, harm = max(proven, key=lambda pair: pair[1][1])
    else:
        worst, harm = max(known, key=lambda pair: pair[1][2])
        verdict = "pass" if harm[2] <= most else "inconclusive"
    sentence = _sentence(verdict, worst, harm, most, tested)
    untested = [str(one.found.label) for one in candidates if one.comparison.status != "tested"]
    if verdict == "pass" and untested:
        verdict = "inconclusive"
        sentence += f" Yet cluster {', '.join(untested)} had too few test rows to be tested."
    return _result(limit, most, verdict, sentence, worst, harm)


def _limit(limit: Limit, tested: ClusterSignificance) -> float:
    if limit.max_difference is not None:
        return limit.max_difference
    return default_limit(tested.two_valued, tested.test_sd)


def _harm(one: ComparedCluster, limit: Limit, tested: ClusterSignificance) -> tuple[float, float, float] | None:
    """Difference and interval with harm counted as positive."""
    difference = one.comparison.difference
    low, high = one.comparison.low, one.comparison.high
    if limit.check == "any_cluster" and one.simultaneous is not None:
        low, high = one.simultaneous
    if difference is None or low is None or high is None:
        return None
    if tested.spec.bias_variable.better == "higher":
        return -difference, -high, -low
    return difference, low, high


def _is_significant(one: ComparedCluster, limit: Limit, tested: ClusterSignificance) -> bool:
    """Whether the test rejects too: at low rates an interval alone errs more often to one side than to the other."""
    p = one.p_adjusted if limit.check == "any_cluster" else one.comparison.p_value
    return p is not None and p <= tested.spec.significance.alpha


def _result(
    limit: Limit,
    most: float,
    verdict: Verdict,
    sentence: str,
    cluster: ComparedCluster | None,
    harm: tuple[float, float, float] | None,
) -> ClusterLimitResult:
    difference, low, high = harm or (None, None, None)
    return ClusterLimitResult(
        kind="cluster",
        check=limit.check,
        cluster=cluster.found.label if cluster else None,
        limit=most,
        verdict=verdict,
        blocks=stops(verdict, limit.inconclusive),
        inconclusive=limit.inconclusive,
        sentence=sentence,
        difference=difference,
        low=low,
        high=high,
        p_value=cluster.comparison.p_value if cluster else None,
        smallest_visible=cluster.comparison.minimum_detectable_difference if cluster else None,
        severity=None if difference is None else severity_of(difference, None, most),
    )


def _sentence(
    verdict: Verdict,
    one: ComparedCluster,
    harm: tuple[float, float, float],
    most: float,
    tested: ClusterSignificance,
) -> str:
    unit = tested.unit
    name = wording(tested.spec.bias_variable).name
    where = f"cluster {one.found.label}"
    up, down = ("higher", "lower") if tested.spec.bias_variable.better == "lower" else ("lower", "higher")
    direction = f"{up} (worse)" if harm[0] >= 0 else f"{down} (better)"
    interval = words.interval(harm[1], harm[2], confidence=one.comparison.confidence, unit=unit)
    told = f"The {name} of {where} is {words.size(harm[0], unit)} {direction} than everybody else's {interval}"
    allowed = words.size(most, unit)
    match verdict:
        case "fail":
            return f"{told}; at most {allowed} is allowed, and the whole interval is above it."
        case "pass":
            return f"{told}; at most {allowed} is allowed, and the whole interval is below it."
        case _:
            visible = words.size(one.comparison.minimum_detectable_difference, unit)
            return (
                f"{told}; at most {allowed} is allowed, and the interval lies on both sides of it. "
                f"With these rows a difference of {visible} would have shown (80 % power)."
            )
