"""Evidence of all searches: who is proven to fare worse decides before a limit's own search does.

"Is anybody worse off by more than x?" is one question. A confirmed finding whose lower bound is beyond x breaks the
limit, whichever search it is of; only where none does, the limit's own search tells "ruled out" from "cannot tell".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from bdt_core import words
from bdt_core.groups.conditions import GroupCondition
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, joined, of_ours, say
from bdt_core.spec import FoundBy
from bdt_core.verdict.judge import LimitOutcome, Tolerated
from bdt_core.verdict.scope import Scope
from bdt_core.verdict.words import sentences, severity_of, stops, worse_in_words

if TYPE_CHECKING:
    from bdt_core.ranking import Finding, Findings

_FOUND_BY: dict[FoundBy, str] = {
    "worst_groups": "The search for the worst group found them.",
    "groups": "The comparison of declared groups found them.",
    "clusters": "The search for clusters found them.",
    "slices": "The search of intersections found them.",
    "local_bias": "The search for local bias found them.",
}
_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Proven(Result):
    """People who are confirmed to fare worse, as a limit sees them: differences count harm as positive.

    Attributes
    ----------
    who : str
    found_by : str
    rows : int
    share : float
    as_found, at_least, at_most : float
        Difference with its interval, in what the limit is on: raw, or what remains among people alike.
    p_value : float
    better : {"lower", "higher"}
        Of what is measured of them.
    conditions : tuple of GroupCondition
        Empty where no conditions say who they are.
    within_place : bool
        Whether they are compared with others of the same place of the data.
    groups_before : int
        How many groups the same search had found before: without factors they are compared with people alike in those.
    """

    who: Text
    found_by: FoundBy
    rows: int
    share: float
    as_found: float
    at_least: float
    at_most: float
    p_value: float
    better: Literal["lower", "higher"]
    conditions: tuple[GroupCondition, ...] = ()
    within_place: bool = False
    groups_before: int = 0

    def than(self, scope: Scope) -> str:
        """Whom they are compared with."""
        if self.within_place:
            return say("others of the same place")
        if self.groups_before:
            return words.people_alike_in_groups(self.groups_before)
        return scope.than or say("everybody else")


@dataclass(frozen=True, kw_only=True)
class SearchedLimitOutcome(LimitOutcome):
    """What a limit on people says who were searched for.

    Attributes
    ----------
    limit : float
        Largest tolerated difference, in units of the bias variable.
    difference : float or None
        What decides; harm counts as positive.
    scope : Scope or None
        Of whom, against whom and how surely it says so; None in reports of earlier versions.
    broken_by : Proven or None
        Who breaks it, where another search than the limit's own confirmed them.
    not_judged : tuple of Proven
        Who would break it, but for the share of the people that the limit asks for.
    reopened_by : {"finding", "blanks"} or None
        Why it is no pass, though the limit's own search gives one: people who are confirmed to fare worse were found to
        by more, or would if all outcomes that are missing were bad.
    """

    limit: float
    difference: float | None
    scope: Scope | None = None
    broken_by: Proven | None = None
    not_judged: tuple[Proven, ...] = ()
    reopened_by: Literal["finding", "blanks"] | None = None

    @property
    def tolerated(self) -> Tolerated:
        """Any difference up to the limit."""
        return Tolerated(maximum=self.limit)

    @property
    def estimate(self) -> float | None:
        """The difference that decides."""
        return self.difference

    @property
    def who(self) -> str | None:
        """Who breaks it, by whichever search."""
        return self.broken_by.who if self.broken_by is not None else self.found_by_its_search

    @property
    def found_by_its_search(self) -> str | None:
        """Who decides by the limit's own search; None where nobody can be named."""
        return None


class WorstCase(Protocol):
    """What blank outcomes could come to."""

    @property
    def worst_case(self) -> float | None: ...
    @property
    def who(self) -> str | None: ...


Searched = TypeVar("Searched", bound=SearchedLimitOutcome)


def by_all_evidence(
    own: Searched,
    scope: Scope,
    ranked: Findings | None,
    unit: str,
    blanks: WorstCase | None = None,
    settled: float | None = None,
) -> Searched:
    """What a limit says, knowing who is confirmed to fare worse by any search, and what the blanks could come to.

    Parameters
    ----------
    own : SearchedLimitOutcome
        By the limit's own search.
    scope : Scope
    ranked : Findings or None
    unit : str
        Of the limit's amounts.
    blanks : WorstCase, optional
        People whose outcome is not known.
    settled : float, optional
        The limit that would pass by its own search with the same rows. It is named where nothing else would reopen it.

    Returns
    -------
    SearchedLimitOutcome
        fail: a confirmed finding of at least the limit's share, in the same measure, is beyond the limit for certain.
        A pass becomes inconclusive where one was found beyond it, or where the blanks could be.
    """
    proven = sorted(_proven(ranked, scope), key=lambda one: one.at_least, reverse=True)
    least = scope.min_share or 0.0
    judged = [one for one in proven if one.share >= least]
    beyond = [one for one in judged if one.at_least > own.limit]
    worst = None if blanks is None else blanks.worst_case
    verdict, sentence, broken_by = own.verdict, own.sentence, None
    reopened_by: Literal["finding", "blanks"] | None = None
    if beyond and verdict != "fail":
        verdict, broken_by = "fail", beyond[0]
        sentence = _broken(broken_by, own.limit, scope, unit, ranked)
    elif verdict == "pass":
        found_beyond = next((one for one in judged if one.as_found > own.limit), None)
        if found_beyond is not None:
            verdict, reopened_by = "inconclusive", "finding"
            yet = say(
                "Yet it was found to be more for people who are confirmed to fare worse: {who}.",
                who=of_ours(found_beyond.who),
            )
            sentence = sentences(sentence, yet)
        elif worst is not None and worst > own.limit:
            verdict, reopened_by = "inconclusive", "blanks"
            yet = say(
                "Yet outcomes are missing: if all of these people fared badly, it would be {size} for {who}.",
                size=words.size(worst, unit),
                who=of_ours((blanks.who if blanks else None) or words.NOTHING),
            )
            sentence = sentences(sentence, yet)
    elif (
        verdict == "inconclusive"
        and settled is not None
        and max([worst or 0.0, *(one.as_found for one in judged)]) <= settled
    ):
        would_pass = say("These rows can settle a limit of {size}.", size=words.size(settled, unit))
        sentence = sentences(sentence, would_pass)
    smaller = tuple(one for one in proven if one.share < least and one.as_found > own.limit)[:_MOST_NAMED]
    if smaller:
        named = [
            say(
                "{who} ({N} of the people, at least {size})",
                who=of_ours(one.who),
                N=words.percent(one.share),
                size=words.size(one.at_least, unit),
            )
            for one in smaller
        ]
        not_judged = say(
            "Not judged, for they are smaller groups, though proven to fare worse: {who}.", who=joined(named, "; ")
        )
        sentence = sentences(sentence, not_judged)
    changed = replace(
        own,
        verdict=verdict,
        blocks=stops(verdict, own.inconclusive),
        sentence=sentences(sentence, scope.sentence),
        scope=scope,
        broken_by=broken_by,
        not_judged=smaller,
        reopened_by=reopened_by,
    )
    if broken_by is None:
        return changed
    return replace(
        changed,
        difference=broken_by.as_found,
        low=broken_by.at_least,
        high=broken_by.at_most,
        p_value=broken_by.p_value,
        severity=severity_of(broken_by.as_found, None, own.limit),
    )


def _proven(ranked: Findings | None, scope: Scope) -> Iterator[Proven]:
    """Confirmed findings in the limit's measure, by the difference that the limit is on."""
    if ranked is None:
        return
    raw = scope.of == "raw"
    findings: Sequence[Finding] = (*ranked.confirmed, *(ranked.at_first_sight if raw else ()))
    for finding in dict.fromkeys(findings):
        if finding.measured != scope.measured:
            continue
        alike = None if raw else finding.remaining
        as_found, low, high = (
            (finding.difference, finding.low, finding.high)
            if alike is None
            else (alike.remaining, alike.remaining_low, alike.remaining_high)
        )
        if alike is not None and not alike.has_people_alike:
            continue
        more_is_worse = (
            finding.mean_inside > finding.mean_outside if finding.compared_with else scope.better != "higher"
        )
        yield Proven(
            who=finding.who, found_by=finding.found_by, rows=finding.rows, share=finding.share,
            as_found=as_found, at_least=low, at_most=high, p_value=finding.p_value,
            better="lower" if more_is_worse else "higher", conditions=finding.conditions,
            within_place=bool(finding.compared_with),
            groups_before=finding.groups_before if finding.remaining is None else 0,
        )  # fmt: skip


def _broken(proven: Proven, limit: float, scope: Scope, unit: str, ranked: Findings | None) -> str:
    """Who breaks the limit, by how much, and what found them."""
    counted: Literal["people", "rows"] = "rows" if ranked is not None and ranked.counted == "rows" else "people"
    known = worse_in_words(
        proven.who, proven.rows, counted, better=proven.better, measured=scope.measured, than=proven.than(scope),
        size=words.size(proven.as_found, unit), least=words.size(proven.at_least, unit),
        confidence=Numeral(f"{scope.confidence * 100:.4g}"),
    )  # fmt: skip
    allowed = say("at most {size} is allowed.", size=words.size(limit, unit))
    return joined([joined([known, allowed], "; "), say(_FOUND_BY[proven.found_by])], " ")
