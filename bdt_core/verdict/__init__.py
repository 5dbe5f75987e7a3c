"""Pass, fail, inconclusive or not testable: one function gives the verdict to everybody who asks."""

from bdt_core.verdict.clusters import NO_CLUSTERS, ClusterLimitResult, judge_clusters
from bdt_core.verdict.four_fifths import FourFifthsLimitResult, judge_four_fifths
from bdt_core.verdict.gate import GateResult, judge_gate, judge_limit, of_majority, overall
from bdt_core.verdict.groups import MetricLimitResult, NumericLimitResult, check_name, judge_metric
from bdt_core.verdict.judge import Evidence, LimitOutcome, Tolerated, judge
from bdt_core.verdict.kinds import LIMITS, AuditResults, LimitKind, PeopleLimitKind, Row, kind_named, kind_of, register
from bdt_core.verdict.local_bias import LocalBiasLimitResult, judge_local_bias
from bdt_core.verdict.slices import SliceLimitResult, judge_slices
from bdt_core.verdict.words import SEVEREST_FIRST, Verdict
from bdt_core.verdict.worst_group import WorstGroupLimitResult, judge_worst_group

__all__ = [
    "LIMITS",
    "NO_CLUSTERS",
    "SEVEREST_FIRST",
    "AuditResults",
    "ClusterLimitResult",
    "Evidence",
    "FourFifthsLimitResult",
    "GateResult",
    "LimitKind",
    "LimitOutcome",
    "LocalBiasLimitResult",
    "MetricLimitResult",
    "NumericLimitResult",
    "PeopleLimitKind",
    "Row",
    "SliceLimitResult",
    "Tolerated",
    "Verdict",
    "WorstGroupLimitResult",
    "check_name",
    "judge",
    "judge_clusters",
    "judge_four_fifths",
    "judge_gate",
    "judge_limit",
    "judge_local_bias",
    "judge_metric",
    "judge_slices",
    "judge_worst_group",
    "kind_named",
    "kind_of",
    "of_majority",
    "overall",
    "register",
]
