"""A limit on declared groups by the bias variable: each group's difference against the one that is tolerated."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bdt_core import words
from bdt_core.errors import SpecError, did_you_mean
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
    limit: WorstGroupLimit, found: DeclaredOutcomes | None, default: float
) -> WorstGroupLimitResult:
    """Hold every declared group against one limit.

    Parameters
    ----------
    limit : WorstGroupLimit
        With ``check: declared_group``.
    found : DeclaredOutcomes or None
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
    facets = facets_of(limit, found)
    least = limit.min_share or 0.0
    groups = [one for facet in facets for one in facet.groups if one.share >= least]
    known = [one for one in (_evidence(each, found) for each in groups) if one is not None]
    shared: dict[str, Any] = {
        "kind": "worst_group", "check": limit.check, "limit": most, "min_share": limit.min_share,
        "confidence": None if found is None else 1.0 - found.alpha, "rows_to_settle": None,
    }  # fmt: skip
    if found is None or not known:
        reasons = [one.reason for one in facets if one.reason is not None]
        reasons_told = [say("{reason}.", reason=words.capital(of_ours(one))) for one in reasons]
        sentence = sentences(NOT_COMPARED, *reasons_told)
        return WorstGroupLimitResult.of(limit, "not_testable", sentence, None, **shared, group=None, difference=None)
    tolerated = Tolerated(maximum=most)
    judged = judge(known, tolerated, nearest="bound")
    one, unit = judged.decides, _unit(found)
    who = words.all_of([each.words for each in one.of.conditions])
    direction, low, high = which_way(one.value, one.low, one.high, better=found.better, certain=one.rejects)
    told = say(
        "{slice}: {size} {way} in {measure} than everybody else {interval}",
        size=words.size(one.value, unit),
        slice=who,
        way=direction,
        measure=of_ours(found.measured),
        interval=words.interval(low, high, confidence=1.0 - found.alpha, unit=unit),
    )
    sentence = clauses(told, allowed_and_why(judged, tolerated, partial(words.size, unit=unit)))
    small = [words.all_of([each.words for each in group.conditions]) for group in groups if group.difference is None]
    if small:
        named = joined([*small[:_NAMED], *(["..."] if len(small) > _NAMED else [])], ", ")
        sentence = sentences(sentence, say("Not judged, for too few rows: {list}.", list=named))
    return WorstGroupLimitResult.of(
        limit, judged.verdict, sentence, judged, **shared, group=who, difference=one.value, p_value=one.of.p_adjusted
    )


def facets_of(limit: WorstGroupLimit, found: DeclaredOutcomes | None) -> tuple[DeclaredFacet, ...]:
    """The groupings that a limit is on.

    Raises
    ------
    SpecError
        A grouping that was not compared.
    """
    facets = found.facets if found is not None else ()
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


def _evidence(one: DeclaredGroup, found: DeclaredOutcomes | None) -> Evidence[DeclaredGroup] | None:
    """Difference and interval with harm counted as positive."""
    difference, low, high = one.difference, one.difference_low, one.difference_high
    if found is None or difference is None or low is None or high is None:
        return None
    if found.better == "higher":
        return Evidence(one, -difference, -high, -low, bool(one.significant))
    return Evidence(one, difference, low, high, bool(one.significant))


def _unit(found: DeclaredOutcomes) -> words.Unit:
    return "rate" if found.is_rate else "value"
