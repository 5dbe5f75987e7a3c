"""Pass, fail, inconclusive or not testable: one function gives the verdict to everybody who asks."""

from bdt_core.verdict.clusters import NO_CLUSTERS, ClusterLimitResult, judge_clusters
from bdt_core.verdict.gate import GateResult, LimitResult, judge, judge_gate, overall
from bdt_core.verdict.groups import MetricLimitResult, check_name, judge_metric
from bdt_core.verdict.words import SEVEREST_FIRST, Verdict

__all__ = [
    "NO_CLUSTERS",
    "SEVEREST_FIRST",
    "ClusterLimitResult",
    "GateResult",
    "LimitResult",
    "MetricLimitResult",
    "Verdict",
    "check_name",
    "judge",
    "judge_clusters",
    "judge_gate",
    "judge_metric",
    "overall",
]
