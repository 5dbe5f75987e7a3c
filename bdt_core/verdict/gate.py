"""The gate: all limits together. Everybody who asks for the verdict, asks here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from bdt_core import words
from bdt_core.fairness.declared_groups import GroupMetrics, GroupScores
from bdt_core.result import Result, Shown
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.spec import AnyLimit, FourFifthsLimit, LocalBiasLimit, MetricLimit, SliceLimit, WorstGroupLimit
from bdt_core.verdict.clusters import ClusterLimitResult, default_limit, judge_clusters
from bdt_core.verdict.four_fifths import FourFifthsLimitResult, judge_four_fifths
from bdt_core.verdict.groups import MetricLimitResult, judge_metric
from bdt_core.verdict.local_bias import LocalBiasLimitResult, judge_local_bias
from bdt_core.verdict.slices import SliceLimitResult, judge_slices, worst_confirmed
from bdt_core.verdict.words import SEVEREST_FIRST, Verdict, stops
from bdt_core.verdict.worst_group import WorstGroupLimitResult, judge_worst_group, worst_proven

if TYPE_CHECKING:
    import pandas as pd

    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.scan.results import WorstGroups
    from bdt_core.slices.results import Slices
    from bdt_core.table.measured import MeasuredOutcome

LimitResult = (
    ClusterLimitResult
    | MetricLimitResult
    | WorstGroupLimitResult
    | SliceLimitResult
    | LocalBiasLimitResult
    | FourFifthsLimitResult
)

Searched = TypeVar("Searched", ClusterLimitResult, SliceLimitResult)


class Findings(Protocol):
    """What limits are held against; None for what was not asked for."""

    @property
    def outcome(self) -> MeasuredOutcome: ...
    @property
    def significance(self) -> ClusterSignificance | None: ...
    @property
    def group_metrics(self) -> GroupMetrics | None: ...
    @property
    def group_scores(self) -> GroupScores | None: ...
    @property
    def selection_rules(self) -> SelectionRules | None: ...
    @property
    def worst_groups(self) -> WorstGroups | None: ...
    @property
    def slices(self) -> Slices | None: ...
    @property
    def local_bias(self) -> LocalBias | None: ...


@dataclass(frozen=True, repr=False)
class GateResult(Result, Shown):
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

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(
    ...     frame, outcome="error", slices=None, worst_groups=None, clustering={"stability": 0},
    ...     gate=[{"check": "worst_cluster", "max_difference": 0.2}],
    ... )
    >>> result.gate.to_frame()[["check", "verdict", "maximum"]].values.tolist()
    [['worst_cluster', 'fail', 0.2]]
    >>> result.gate.blocks
    True
    """

    verdict: Verdict
    blocks: bool
    sentence: str
    limits: tuple[LimitResult, ...]

    def to_frame(self) -> pd.DataFrame:
        """One row per limit, in the order of the specification.

        Returns
        -------
        DataFrame
            check, verdict, blocks; value, low, high (what was found: a difference or a metric); minimum, maximum (what
            is tolerated of it); p_value, severity, sentence.
        """
        import pandas as pd  # not needed to judge

        return pd.DataFrame([_row(one) for one in self.limits], columns=list(_COLUMNS))

    def _glance(self) -> tuple[str, pd.DataFrame]:
        told = f"Gate: {self.verdict}{', blocks' if self.blocks else ''}. {self.sentence}"
        return told, self.to_frame()[["check", "verdict", "blocks", "value", "low", "high", "minimum", "maximum"]]


_COLUMNS = (
    "check", "verdict", "blocks", "value", "low", "high", "minimum", "maximum", "p_value", "severity", "sentence"
)  # fmt: skip


def _row(one: LimitResult) -> dict[str, Any]:
    """A limit with the names that all kinds of them share."""
    found = {name: getattr(one, name, None) for name in _COLUMNS}
    if not isinstance(one, MetricLimitResult | FourFifthsLimitResult):
        found |= {"value": one.difference, "maximum": one.limit}
    return found


def judge_gate(limits: Sequence[AnyLimit], require: Literal["all", "majority"], found: Findings) -> GateResult:
    """Hold the results against all limits.

    Parameters
    ----------
    limits : sequence of limits
    require : {"all", "majority"}
        all: the severest verdict counts. majority: more than half must pass, and fewer than half may fail.
    found : Findings

    Returns
    -------
    GateResult

    Raises
    ------
    SpecError
        A limit on groups that were not counted.
    """
    results = [judge_limit(one, found) for one in limits]
    verdict = overall([one.verdict for one in results], require)
    if require == "majority" and results:
        held = sum(one.verdict == "pass" for one in results)
        sentence = f"{held} of {len(results)} limits hold; more than half must."
        blocks = verdict == "fail" or (verdict != "pass" and any(one.blocks for one in results))
    else:
        sentence = next((one.sentence for one in results if one.verdict == verdict), "No limit is set.")
        blocks = any(one.blocks for one in results)
    if verdict == "pass" and results:
        sentence += f" Nothing but {words.listing([_subject(one) for one in results])} was judged."
    return GateResult(verdict, blocks, sentence, tuple(results))


def judge_limit(limit: AnyLimit, found: Findings) -> LimitResult:
    """Hold the results against one limit."""
    outcome = found.outcome
    match limit:
        case MetricLimit():
            counted = found.group_metrics or GroupMetrics(outcome.spec, (), (), ())
            return judge_metric(limit, counted, found.group_scores)
        case WorstGroupLimit():
            return judge_worst_group(limit, found.worst_groups, default_limit(outcome.two_valued, outcome.sd))
        case SliceLimit():
            most = default_limit(outcome.two_valued, outcome.sd)
            return _beside_other_searches(judge_slices(limit, found.slices, most), found)
        case LocalBiasLimit():
            return judge_local_bias(limit, found.local_bias)
        case FourFifthsLimit():
            return judge_four_fifths(limit, found.selection_rules)
        case _:
            return _beside_other_searches(judge_clusters(limit, found.significance), found)


def _beside_other_searches(result: Searched, found: Findings) -> Searched:
    """What a limit on clusters or intersections says, knowing the other searches: people beyond it forbid a pass."""
    group = None if found.worst_groups is None else worst_proven(found.worst_groups, result.limit)
    of_slices = isinstance(result, SliceLimitResult)
    place = None if found.slices is None or of_slices else worst_confirmed(found.slices, result.limit)
    if result.verdict != "pass" or (group is None and place is None):
        return result
    check, who = ("worst_group", group.words) if group else ("worst_slice", place.name if place else "")
    sentence = (
        f"{result.sentence} Yet another search found people who are worse off by more than that, confirmed: "
        f"{who}. A limit on {check} would judge them."
    )
    blocks = stops("inconclusive", result.inconclusive)
    return replace(result, verdict="inconclusive", blocks=blocks, sentence=sentence)


def _subject(result: LimitResult) -> str:
    """What a limit judged, in words."""
    match result:
        case MetricLimitResult():
            return result.check.replace("_", " ")
        case WorstGroupLimitResult():
            return "groups that conditions describe"
        case SliceLimitResult():
            return f"the {result.slices_tested} intersections that were tested"
        case LocalBiasLimitResult():
            return "gaps between groups within clusters"
        case FourFifthsLimitResult():
            return f"the four-fifths rule by {words.listing(result.facets)}"
        case ClusterLimitResult(check="any_cluster"):
            return "the clusters that were found"
        case _:
            return "the most deviating cluster"


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
