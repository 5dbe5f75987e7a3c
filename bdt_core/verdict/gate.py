"""The gate: all limits together. Everybody who asks for the verdict, asks here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from bdt_core import words
from bdt_core.fairness.declared_groups import GroupMetrics, GroupScores
from bdt_core.local_bias.metrics import METRIC_NAMES
from bdt_core.result import Result, Shown
from bdt_core.significance.clusters import ClusterSignificance
from bdt_core.spec import AnyLimit, FourFifthsLimit, Limit, LocalBiasLimit, MetricLimit, SliceLimit, WorstGroupLimit
from bdt_core.spec.wording import compared_with, factors_compared, wording
from bdt_core.verdict.clusters import ClusterLimitResult, default_limit, judge_clusters
from bdt_core.verdict.declared_group import facets_of, judge_declared_group
from bdt_core.verdict.evidence import WorstCase, by_all_evidence
from bdt_core.verdict.four_fifths import FourFifthsLimitResult, judge_four_fifths
from bdt_core.verdict.groups import MetricLimitResult, judge_metric
from bdt_core.verdict.local_bias import LocalBiasLimitResult, judge_local_bias
from bdt_core.verdict.scope import Scope, scope_of, width_of
from bdt_core.verdict.slices import SliceLimitResult, judge_slices
from bdt_core.verdict.words import SEVEREST_FIRST, Verdict
from bdt_core.verdict.worst_group import WorstGroupLimitResult, judge_worst_group

if TYPE_CHECKING:
    import pandas as pd

    from bdt_core.declared import DeclaredOutcomes
    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.ranking import Findings as RankedFindings
    from bdt_core.scan.results import WorstGroups
    from bdt_core.slices.results import Slices
    from bdt_core.table.measured import MeasuredOutcome

OfPeople = Limit | WorstGroupLimit | SliceLimit | LocalBiasLimit
"""Limits on people who were searched for."""
OfPeopleResult = ClusterLimitResult | WorstGroupLimitResult | SliceLimitResult | LocalBiasLimitResult
LimitResult = OfPeopleResult | MetricLimitResult | FourFifthsLimitResult

NO_LIMIT = "No limit was set, so nothing is allowed and nothing is forbidden."


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
    @property
    def declared(self) -> DeclaredOutcomes | None: ...
    @property
    def ranked(self) -> RankedFindings | None: ...
    @property
    def blanks(self) -> WorstCase | None: ...


@dataclass(frozen=True, repr=False)
class GateResult(Result, Shown):
    """What all limits together say.

    Attributes
    ----------
    verdict : {"pass", "fail", "inconclusive", "not_testable", "no_limit"}
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
        sentence = of_majority(results)
        blocks = verdict == "fail" or (verdict != "pass" and any(one.blocks for one in results))
    else:
        sentence = next((one.sentence for one in results if one.verdict == verdict), NO_LIMIT)
        blocks = any(one.blocks for one in results)
    if verdict == "pass":
        sentence += f" Nothing but {words.listing([_subject(one) for one in results])} was judged."
    return GateResult(verdict, blocks, sentence, tuple(results))


def of_majority(results: Sequence[LimitResult]) -> str:
    """How many limits hold; over one that is broken for certain, by whom it is, or in what.

    :meta private:
    """
    held = sum(one.verdict == "pass" for one in results)
    told = f"{held} of {len(results)} limits hold; more than half must."
    broken = [one for one in results if one.verdict == "fail"]
    if not broken:
        return told
    return f"{told} Broken: {'; '.join(dict.fromkeys(_broken_for(one) for one in broken))}."


def _broken_for(result: LimitResult) -> str:
    """Who breaks a limit, or what it is on where nobody can be named."""
    who = getattr(result, "broken_by", None)
    if who is not None:
        return str(who.who)
    named = (getattr(result, name, None) for name in ("group", "slice"))
    return next((str(name) for name in named if name is not None), _subject(result))


def judge_limit(limit: AnyLimit, found: Findings) -> LimitResult:
    """Hold the results against one limit; one on people who were searched for, against all confirmed findings."""
    match limit:
        case MetricLimit():
            counted = found.group_metrics or GroupMetrics(found.outcome.spec, (), (), ())
            return judge_metric(limit, counted, found.group_scores)
        case FourFifthsLimit():
            return judge_four_fifths(limit, found.selection_rules)
    own = _by_its_own_search(limit, found)
    blanks = None if isinstance(limit, LocalBiasLimit) else found.blanks
    return by_all_evidence(own, _scope(limit, own.limit, found), found.ranked, _unit(limit, found), blanks)


def _by_its_own_search(limit: OfPeople, found: Findings) -> OfPeopleResult:
    """What a limit on people says by the search that it is about."""
    match limit:
        case LocalBiasLimit():
            return judge_local_bias(limit, found.local_bias)
        case WorstGroupLimit(check="declared_group"):
            return judge_declared_group(limit, found.declared, _default(found))
        case WorstGroupLimit():
            than = compared_with(limit.of, found.outcome.spec)
            return judge_worst_group(limit, _searched(limit, found), _default(found), than)
        case SliceLimit():
            return judge_slices(limit, found.slices, _default(found))
        case _:
            return judge_clusters(limit, found.significance)


def _searched(limit: WorstGroupLimit, found: Findings) -> WorstGroups | None:
    """The search for the worst group that a limit is on: with the legitimate factors, or without them."""
    searched = found.worst_groups
    raw = searched.raw if searched is not None and limit.of == "raw" else None
    return raw or searched


def _default(found: Findings) -> float:
    """The tolerated difference where a limit names none."""
    return default_limit(found.outcome.two_valued, found.outcome.sd)


def _unit(limit: OfPeople, found: Findings) -> words.Unit:
    if isinstance(limit, LocalBiasLimit):
        metric = found.local_bias.settings.metric if found.local_bias else None
        return words.limit_unit("local_bias", "rate", metric)
    return found.outcome.unit


def _scope(limit: OfPeople, most: float, found: Findings) -> Scope:
    """Of whom a limit on people who were searched for says something."""
    outcome, clusters = found.outcome, found.significance
    spec = outcome.spec
    shared: dict[str, Any] = {
        "measured": wording(spec.bias_variable).name,
        "better": spec.bias_variable.better,
        "confidence": 1.0 - spec.significance.alpha,
        "default": getattr(limit, "max_difference", 0.0) is None,
        "width": width_of(most, None if outcome.two_valued else outcome.sd),
    }
    match limit:
        case WorstGroupLimit(check="declared_group"):
            columns = [name for facet in facets_of(limit, found.declared) for name in facet.columns]
            return scope_of(
                "declared", **shared, columns=tuple(dict.fromkeys(columns)), min_share=limit.min_share
            )  # fmt: skip
        case WorstGroupLimit():
            alike = factors_compared(limit.of, spec)
            searched = _searched(limit, found)
            ruled_out = searched.ruled_out(limit.min_share) if searched else None
            return scope_of(
                "groups", **shared, of="remaining" if alike else "raw", alike=alike, min_share=limit.min_share,
                conditions=searched.searched.max_conditions if searched else None,
                ruled_out_from=ruled_out.min_share if ruled_out else None,
            )  # fmt: skip
        case SliceLimit():
            several = found.slices
            return scope_of(
                "intersections", **shared, tested=several.tests if several else 0,
                conditions=several.max_conditions if several else None,
            )  # fmt: skip
        case LocalBiasLimit():
            local = found.local_bias
            places = [one for one in local.logan.clusters if one.held_out.status == "tested"] if local else []
            shared |= {"better": None, "default": False, "width": width_of(most, None)}
            shared["measured"] = METRIC_NAMES[local.settings.metric] if local else shared["measured"]
            return scope_of("places", **shared, tested=len(places))
        case Limit(check="any_cluster"):
            return scope_of("clusters", **shared, tested=len(clusters.clusters) if clusters else 0)
        case _:
            return scope_of("cluster", **shared)


def _subject(result: LimitResult) -> str:
    """What a limit judged, in words."""
    match result:
        case MetricLimitResult():
            return result.check.replace("_", " ")
        case FourFifthsLimitResult():
            return f"the four-fifths rule by {words.listing(result.facets)}"
        case _:
            return result.scope.text if result.scope else result.check.replace("_", " ")


def overall(verdicts: Sequence[Verdict], require: Literal["all", "majority"] = "all") -> Verdict:
    """One verdict for several; without any there is no limit, which is no pass.

    Examples
    --------
    >>> overall(["pass", "fail", "pass"]), overall(["pass", "fail", "pass"], "majority")
    ('fail', 'pass')
    >>> overall(["pass", "inconclusive"], "majority"), overall([])
    ('inconclusive', 'no_limit')
    """
    if require == "majority" and verdicts:
        if 2 * verdicts.count("pass") > len(verdicts):
            return "pass"
        if 2 * verdicts.count("fail") >= len(verdicts):
            return "fail"
        return min((one for one in verdicts if one != "fail" and one != "pass"), key=SEVEREST_FIRST.index)
    return min(verdicts, key=SEVEREST_FIRST.index, default="no_limit")
