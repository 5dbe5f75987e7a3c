"""A limit on declared groups by the bias variable: each group's difference against the one that is tolerated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.errors import SpecError, did_you_mean
from bdt_core.metrics import as_harm
from bdt_core.said import joined, of_ours, say
from bdt_core.spec import WorstGroupLimit
from bdt_core.verdict.judge import Evidence, Tolerated, allowed_and_why, judge
from bdt_core.verdict.words import clauses, sentences, which_way
from bdt_core.verdict.worst_group import WorstGroupLimitResult

if TYPE_CHECKING:
    from bdt_core.declared import DeclaredFacet, DeclaredGroup, DeclaredOutcomes

NOT_COMPARED = say("No declared group has enough people to be compared.")
_NAMED = 10


def judge_declared_group(
    limit: WorstGroupLimit, outcomes: DeclaredOutcomes | None, default: float
) -> WorstGroupLimitResult:
    """Hold every declared group against one limit.

    Parameters
    ----------
    limit : WorstGroupLimit
        With ``check: declared_group``.
    outcomes : DeclaredOutcomes or None
    default : float
        What is tolerated where the limit names nothing: that of clusters.

    Returns
    -------
    WorstGroupLimitResult
        By intervals that hold for all declared groups at once. fail: a group that is significantly worse off, and whose
        whole interval is beyond the limit. pass: every interval lies within it.

    Raises
    ------
    SpecError
        A grouping that was not compared.
    """
    most = default if limit.max_difference is None else limit.max_difference
    facets = facets_of(limit, outcomes)
    least = limit.min_share or 0.0
    groups = [one for facet in facets for one in facet.groups if one.share >= least]
    known = [one for one in (_evidence(each, outcomes) for each in groups) if one is not None]
    shared: dict[str, Any] = {
        "kind": "worst_group", "check": limit.check, "limit": most, "min_share": limit.min_share,
        "confidence": None if outcomes is None else 1.0 - outcomes.alpha, "rows_to_settle": None,
    }  # fmt: skip
    if outcomes is None or not known:
        reasons = [one.reason for one in facets if one.reason is not None]
        reasons_told = [say("{reason}.", reason=words.capital(of_ours(one))) for one in reasons]
        sentence = sentences(NOT_COMPARED, *reasons_told)
        return WorstGroupLimitResult.of(limit, "not_testable", sentence, None, **shared, group=None, difference=None)
    tolerated = Tolerated(maximum=most)
    judged = judge(known, tolerated, nearest="bound")
    evidence, unit = judged.decides, _unit(outcomes)
    who = words.all_of([each.words for each in evidence.of.conditions])
    direction, low, high = which_way(
        evidence.value, evidence.low, evidence.high, better=outcomes.better, certain=evidence.rejects
    )
    difference = say(
        "{slice}: {size} {way} in {measure} than everybody else {interval}",
        size=words.size(evidence.value, unit),
        slice=who,
        way=direction,
        measure=of_ours(outcomes.measured),
        interval=words.interval(low, high, confidence=1.0 - outcomes.alpha, unit=unit),
    )
    sentence = clauses(difference, allowed_and_why(judged, tolerated, partial(words.size, unit=unit)))
    small = [words.all_of([each.words for each in group.conditions]) for group in groups if group.difference is None]
    if small:
        named = joined([*small[:_NAMED], *(["..."] if len(small) > _NAMED else [])], ", ")
        sentence = sentences(sentence, say("Not judged, for too few rows: {list}.", list=named))
    return WorstGroupLimitResult.of(
        limit,
        judged.verdict,
        sentence,
        judged,
        **shared,
        group=who,
        difference=evidence.value,
        p_value=evidence.of.p_adjusted,
    )


def facets_of(limit: WorstGroupLimit, outcomes: DeclaredOutcomes | None) -> tuple[DeclaredFacet, ...]:
    """The groupings that a limit is on.

    Raises
    ------
    SpecError
        A grouping that was not compared.
    """
    facets = outcomes.facets if outcomes is not None else ()
    if not limit.facets:
        return facets
    named = tuple(one for one in facets if one.columns == limit.facets)
    if not named:
        name = " & ".join(limit.facets)
        raise SpecError(
            f'The gate limits declared_group by "{name}", which was not compared. '
            f"{did_you_mean(name, [one.facet for one in facets])} Name it in groups.facets, and audit again."
        )
    return named


def _evidence(group: DeclaredGroup, outcomes: DeclaredOutcomes | None) -> Evidence[DeclaredGroup] | None:
    """Difference and interval with harm counted as positive."""
    difference, low, high = group.difference, group.difference_low, group.difference_high
    if outcomes is None or difference is None or low is None or high is None:
        return None
    return Evidence(group, *as_harm(difference, low, high, outcomes.better), bool(group.significant))


def _unit(outcomes: DeclaredOutcomes) -> words.Unit:
    return "rate" if outcomes.is_rate else "value"
