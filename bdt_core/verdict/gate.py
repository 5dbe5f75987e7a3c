"""The gate: all limits together. Everybody who asks for the verdict, asks here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bdt_core.fairness.declared_groups import GroupMetrics, GroupScores
from bdt_core.result import Result
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.spec import AnyLimit, Limit
from bdt_core.verdict.clusters import ClusterLimitResult, judge_clusters
from bdt_core.verdict.groups import MetricLimitResult, judge_metric
from bdt_core.verdict.words import SEVEREST_FIRST, Verdict

LimitResult = ClusterLimitResult | MetricLimitResult


@dataclass(frozen=True)
class GateResult(Result):
    """What all limits together say.

    Attributes
    ----------
    verdict : {"pass", "fail", "inconclusive", "not_testable"}
    blocks : bool
        Whether what stands behind the gate is stopped.
    sentence : str
        Why, for a person.
    limits : tuple
        One result per limit, in the order of the specification.
    """

    verdict: Verdict
    blocks: bool
    sentence: str
    limits: tuple[LimitResult, ...]


def judge_gate(
    limits: Sequence[AnyLimit],
    require: Literal["all", "majority"],
    tested: ClusterSignificance,
    metrics: GroupMetrics | None = None,
    scores: GroupScores | None = None,
) -> GateResult:
    """Hold the results against all limits.

    Parameters
    ----------
    limits : sequence of Limit or MetricLimit
    require : {"all", "majority"}
        all: the severest verdict counts. majority: more than half must pass, and fewer than half may fail.
    tested : ClusterSignificance
    metrics, scores : optional
        Needed by limits on metrics.

    Returns
    -------
    GateResult
    """
    results = [judge(one, tested, metrics, scores) for one in limits]
    verdict = overall([one.verdict for one in results], require)
    if require == "majority" and results:
        held = sum(one.verdict == "pass" for one in results)
        sentence = f"{held} of {len(results)} limits hold; more than half must."
        blocks = verdict == "fail" or (verdict != "pass" and any(one.blocks for one in results))
    else:
        sentence = next((one.sentence for one in results if one.verdict == verdict), "No limit is set.")
        blocks = any(one.blocks for one in results)
    return GateResult(verdict, blocks, sentence, tuple(results))


def judge(
    limit: AnyLimit,
    tested: ClusterSignificance,
    metrics: GroupMetrics | None = None,
    scores: GroupScores | None = None,
) -> LimitResult:
    """Hold the results against one limit."""
    if isinstance(limit, Limit):
        return judge_clusters(limit, tested)
    return judge_metric(limit, metrics or GroupMetrics(tested.spec, (), (), ()), scores)


def overall(verdicts: Sequence[Verdict], require: Literal["all", "majority"] = "all") -> Verdict:
    """One verdict for several; without any, everything passes.

    Examples
    --------
    >>> overall(["pass", "fail", "pass"]), overall(["pass", "fail", "pass"], "majority")
    ('fail', 'pass')
    >>> overall(["pass", "inconclusive"], "majority")
    'inconclusive'
    """
    if require == "majority" and verdicts:
        if 2 * verdicts.count("pass") > len(verdicts):
            return "pass"
        if 2 * verdicts.count("fail") >= len(verdicts):
            return "fail"
        return min((one for one in verdicts if one != "fail" and one != "pass"), key=SEVEREST_FIRST.index)
    return min(verdicts, key=SEVEREST_FIRST.index, default="pass")
