"""The gate: all limits together. Everybody who asks for the verdict, asks here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bdt_core import words
from bdt_core.result import Result, Shown
from bdt_core.said import Text, joined, of_ours, say
from bdt_core.spec import AnyLimit
from bdt_core.verdict.any_group import WorstGroupLimits
from bdt_core.verdict.clusters import ClusterLimits
from bdt_core.verdict.evidence import SearchedLimitOutcome
from bdt_core.verdict.four_fifths import FourFifthsLimits
from bdt_core.verdict.groups import MetricLimits, NumericLimits
from bdt_core.verdict.judge import LimitOutcome
from bdt_core.verdict.kinds import AuditResults, LimitResult, kind_named, kind_of, register
from bdt_core.verdict.local_bias import LocalBiasLimits
from bdt_core.verdict.slices import SliceLimits
from bdt_core.verdict.words import SEVEREST_FIRST, Verdict, sentences

if TYPE_CHECKING:
    import pandas as pd

for _kind in (
    WorstGroupLimits(),
    ClusterLimits(),
    MetricLimits(),
    NumericLimits(),
    SliceLimits(),
    LocalBiasLimits(),
    FourFifthsLimits(),
):
    register(_kind)

NO_LIMIT = say("No limit was set, so nothing is allowed and nothing is forbidden.")


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
    held_back : tuple of str
        What is no limit and keeps the verdict from being a pass; see `bdt_core.sealed.answer.GateAnswer`.

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
    held_back: tuple[Text, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per limit, in the order of the specification.

        Returns
        -------
        DataFrame
            check, verdict, blocks; value, low, high (what was found: a difference or a metric); minimum, maximum (what
            is tolerated of it); p_value, severity, sentence.
        """
        import pandas as pd  # not needed to judge

        return pd.DataFrame([_row(each) for each in self.limits], columns=list(_COLUMNS))

    def _glance(self) -> tuple[str, pd.DataFrame]:
        sentence = f"Gate: {self.verdict}{', blocks' if self.blocks else ''}. {self.sentence}"
        return sentence, self.to_frame()[["check", "verdict", "blocks", "value", "low", "high", "minimum", "maximum"]]


_COLUMNS = (
    "check", "verdict", "blocks", "value", "low", "high", "minimum", "maximum", "p_value", "severity", "sentence"
)  # fmt: skip


def _row(outcome: LimitOutcome) -> dict[str, Any]:
    """A limit with the names that all kinds of them share."""
    tolerated = outcome.tolerated
    shared = {"value": outcome.estimate, "minimum": tolerated.minimum, "maximum": tolerated.maximum}
    return {name: getattr(outcome, name, None) for name in _COLUMNS} | shared


def judge_gate(limits: Sequence[AnyLimit], require: Literal["all", "majority"], results: AuditResults) -> GateResult:
    """Hold the results against all limits.

    Parameters
    ----------
    limits : sequence of limits
    require : {"all", "majority"}
        all: the severest verdict counts. majority: more than half must pass, and fewer than half may fail.
    results : AuditResults

    Returns
    -------
    GateResult

    Raises
    ------
    SpecError
        A limit on groups that were not counted.
    """
    outcomes = [judge_limit(one, results) for one in limits]
    verdict = overall([one.verdict for one in outcomes], require)
    if require == "majority" and outcomes:
        sentence = of_majority(outcomes)
        blocks = verdict == "fail" or (verdict != "pass" and any(one.blocks for one in outcomes))
    else:
        sentence = next((one.sentence for one in outcomes if one.verdict == verdict), NO_LIMIT)
        blocks = any(one.blocks for one in outcomes)
    if verdict == "pass":
        judged = words.listing([of_ours(kind_of(one).scope(one)) for one in outcomes])
        sentence = sentences(sentence, say("Nothing but {what} was judged.", what=judged))
    return GateResult(verdict, blocks, sentence, tuple(outcomes))


def of_majority(results: Sequence[LimitOutcome]) -> str:
    """How many limits hold; over one that is broken for certain, by whom it is, or in what.

    :meta private:
    """
    held = sum(one.verdict == "pass" for one in results)
    count = say("{N} of {Nall} limits hold; more than half must.", N=words.count(held), Nall=words.count(len(results)))
    broken = [one for one in results if one.verdict == "fail"]
    if not broken:
        return count
    who = joined(list(dict.fromkeys(_broken_for(one) for one in broken)), "; ")
    return sentences(count, say("Broken: {who}.", who=who))


def _broken_for(outcome: LimitOutcome) -> str:
    """Who breaks a limit, or what it is on where nobody can be named."""
    if outcome.who is None:
        return of_ours(kind_of(outcome).scope(outcome))
    return of_ours(outcome.who) if isinstance(outcome, SearchedLimitOutcome) else outcome.who


def judge_limit(limit: AnyLimit, results: AuditResults) -> LimitOutcome:
    """Hold the results against one limit; one on people who were searched for, against all confirmed findings."""
    outcome: LimitOutcome = kind_named(limit.kind).judge(limit, results)
    return outcome


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
