"""A limit on groups of people: who was confirmed, and what is ruled out, against the difference that is tolerated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bdt_core import words
from bdt_core.said import Numeral, Text, joined, of_ours, say
from bdt_core.spec import WorstGroupLimit
from bdt_core.verdict.evidence import SearchedLimitOutcome
from bdt_core.verdict.judge import Evidence, Judgement, Tolerated, judge
from bdt_core.verdict.words import Verdict, sentences, worse_in_words

if TYPE_CHECKING:
    from bdt_core.groups.scan.results import Certificate, WorstGroup, WorstGroups

_SMALLER = "Smaller groups, from {N} of the people on, were searched, and none is proven to fare worse by more."
NOT_SEARCHED = "No search for the worst group was asked for."


@dataclass(frozen=True, kw_only=True)
class WorstGroupLimitResult(SearchedLimitOutcome):
    """What a limit on the worst group says.

    Attributes
    ----------
    group : str or None
        The confirmed group that decides; None where none is confirmed.
    limit : float
        In units of the bias variable.
    min_share : float or None
        Groups of at least this share of the people are ruled out where it passes.
    difference : float or None
        How much worse the group fares than everybody else, as found; harm counts as positive. 0 where none is
        confirmed.
    low : float or None
        How much worse it fares at least; 0 where none is confirmed.
    high : float or None
        No group that could have been found fares worse by more.
    confidence : float or None
        Of either bound.
    rows_to_settle : int or None
        How many rows would tell, about, where these cannot.
    """

    kind: Literal["worst_group"]
    check: Literal["worst_group", "declared_group"]
    group: Text | None
    min_share: float | None
    confidence: float | None
    rows_to_settle: int | None

    @property
    def is_of_score(self) -> bool:
        """Whether it is on how far a score is off, either way, and not on the bias variable."""
        return self.scope is not None and self.scope.people == "scored"

    @property
    def found_by_its_search(self) -> str | None:
        """The group."""
        return self.group


def judge_worst_group(
    limit: WorstGroupLimit, worst: WorstGroups | None, default: float, than: str = "everybody else"
) -> WorstGroupLimitResult:
    """Hold the worst group against one limit.

    Parameters
    ----------
    limit : WorstGroupLimit
    worst : WorstGroups or None
        None where none was searched for.
    default : float
        What is tolerated where the limit names nothing: that of clusters.
    than : str
        Whom people are compared with.

    Returns
    -------
    WorstGroupLimitResult
        fail: a confirmed group fares worse by more than the limit at least. pass: no group that the search could have
        found does so by more. Otherwise inconclusive, with the number of rows that would tell.
    """
    most = default if limit.max_difference is None else limit.max_difference
    ruled_out = ruled_out_for(limit, worst)
    if worst is None or ruled_out is None:
        reason: str = NOT_SEARCHED
        if worst is not None:
            reason = say("No group could be searched for: {reason}.", reason=of_ours(worst.reason or ""))
        return outcome_of(limit, most, "not_testable", reason, None, None)
    tolerated = Tolerated(maximum=most)
    judged = judge(_evidence(limit, worst, ruled_out), tolerated, nearest="bound")
    verdict, sentence = judged.verdict, _sentence(judged, most, worst, ruled_out, than, limit.min_share)
    if verdict == "pass":
        searched = (worst.certificate or ruled_out).min_share
        verdict, sentence = passed(sentence, limit, worst.min_share, searched, ruled_out, _SMALLER)
    return outcome_of(limit, most, verdict, sentence, judged, ruled_out)


def passed(
    sentence: str, limit: WorstGroupLimit, min_share: float, searched: float, ruled_out: Certificate, of_smaller: str
) -> tuple[Verdict, str]:
    """What becomes of a pass where groups are limited, or were searched, that are too small to be ruled out.

    Parameters
    ----------
    sentence : str
        Of the pass.
    limit : WorstGroupLimit
    min_share : float
        Of the search, as it was asked for.
    searched : float
        The share from which groups were searched.
    ruled_out : Certificate
    of_smaller : str
        What is said of groups that were searched, and are too small to be ruled out.
    """
    least, smallest = limit.ruled_out_among(min_share), max(limit.min_share or 0.0, searched)
    if least >= ruled_out.min_share:
        smaller = say(of_smaller, N=words.percent(smallest)) if smallest < ruled_out.min_share else ""
        return "pass", sentences(sentence, smaller)
    yet = say(
        "Yet groups from {N} of the people are limited, and smaller ones were not searched: lower "
        "worst_groups.min_share, or bring more rows.",
        N=words.percent(least),
    )
    return "inconclusive", sentences(sentence, yet)


def ruled_out_for(limit: WorstGroupLimit, worst: WorstGroups | None) -> Certificate | None:
    """What the search rules out of the groups that a pass has to rule out; None where none could be searched."""
    return None if worst is None else worst.ruled_out(limit.ruled_out_among(worst.min_share))


def settled_limit(limit: WorstGroupLimit, worst: WorstGroups | None) -> float | None:
    """The least difference that, were it the limit, would pass with these rows by this search.

    Parameters
    ----------
    limit : WorstGroupLimit
        On the groups that it is on, whatever it tolerates.
    worst : WorstGroups or None

    Returns
    -------
    float or None
        As it is printed, rounded up. None where a proven group that is too small to be ruled out lies above it, or
        where too few people were there to search all groups that are limited.
    """
    ruled_out = ruled_out_for(limit, worst)
    if worst is None or ruled_out is None or limit.ruled_out_among(worst.min_share) < ruled_out.min_share:
        return None
    bound = ruled_out.largest_difference
    if any(evidence.high != bound for evidence in _evidence(limit, worst, ruled_out)):
        return None
    return words.rounded_up(bound, "rate" if worst.is_rate else "value")


def _evidence(
    limit: WorstGroupLimit, worst: WorstGroups, ruled_out: Certificate
) -> Sequence[Evidence[WorstGroup | None]]:
    """Each confirmed group from its lower bound to what is ruled out for all; without one, from no difference."""
    least = limit.min_share or 0.0
    sign = worst.harm_sign
    known: list[Evidence[WorstGroup | None]] = []
    for group in worst.groups:
        low = worst.at_least(group)
        if low is not None and low > 0.0 and group.share >= least:
            known.append(Evidence(group, sign * group.difference, low, max(ruled_out.largest_difference, low)))
    return known or [Evidence(None, 0.0, 0.0, ruled_out.largest_difference)]


def _sentence(
    judged: Judgement[WorstGroup | None],
    most: float,
    worst: WorstGroups,
    ruled_out: Certificate,
    than: str,
    least_share: float | None,
) -> str:
    unit: words.Unit = "rate" if worst.is_rate else "value"
    evidence = judged.decides
    size = words.size(most, unit)
    confidence = Numeral(f"{ruled_out.confidence * 100:.4g}")
    bound = say(
        "no group of {N} to {Nmost} of the people that conditions on these columns describe fares worse in {measure} "
        "than {than} by more than {size} ({Nlevel} % confidence)",
        N=words.percent(ruled_out.min_share),
        Nmost=words.percent(ruled_out.max_share),
        measure=of_ours(worst.outcome),
        than=of_ours(than),
        size=words.size_at_most(ruled_out.largest_difference, unit),
        Nlevel=confidence,
    )
    if judged.verdict == "pass":
        return joined([words.capital(bound), say("at most {size} is allowed.", size=size)], "; ")
    if evidence.of is not None:
        known = worse_in_words(
            evidence.of.words, evidence.of.rows, "people" if worst.key is None else "rows", better=worst.better,
            measured=worst.outcome, than=than if worst.legitimate else worst.others(evidence.of),
            size=words.size(evidence.value, unit), least=words.size(evidence.low, unit), confidence=confidence,
        )  # fmt: skip
    elif least_share is None:
        known = say("The search for the worst group confirms none that fares worse than {than}", than=of_ours(than))
    else:
        known = say(
            "The search for the worst group confirms none of at least {N} of the people that fares worse than {than}",
            N=words.percent(least_share),
            than=of_ours(than),
        )
    if judged.verdict == "fail":
        return joined([known, say("at most {size} is allowed.", size=size)], "; ")
    open_end = say("at most {size} is allowed, so these rows cannot tell.", size=size)
    sentence = joined([known, bound, open_end], "; ")
    rows = ruled_out.rows_to_settle(most)
    return sentence if rows is None else sentences(sentence, say("About {N} rows would tell.", N=words.count(rows)))


def outcome_of(
    limit: WorstGroupLimit,
    most: float,
    verdict: Verdict,
    sentence: str,
    judged: Judgement[Any] | None,
    ruled_out: Certificate | None,
) -> WorstGroupLimitResult:
    """The outcome of a limit on any group; evidence is of a group with words and a p-value, or of nobody."""
    evidence = judged.decides if judged else None
    return WorstGroupLimitResult.of(
        limit,
        verdict,
        sentence,
        judged,
        kind="worst_group",
        check=limit.check,
        group=evidence.of.words if evidence and evidence.of else None,
        limit=most,
        min_share=ruled_out.min_share if ruled_out else None,
        difference=evidence.value if evidence else None,
        high=ruled_out.largest_difference if ruled_out else None,
        confidence=ruled_out.confidence if ruled_out else None,
        p_value=evidence.of.p_value if evidence and evidence.of else None,
        rows_to_settle=ruled_out.rows_to_settle(most) if ruled_out and verdict == "inconclusive" else None,
    )
