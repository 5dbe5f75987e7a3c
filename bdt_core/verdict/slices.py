"""A limit on intersections: the worst of all that were tested against the difference that is tolerated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from bdt_core import words
from bdt_core.groups.slices.results import comparisons_of_selected
from bdt_core.inference import difference_found_beyond, interval_at_once, interval_of_selected
from bdt_core.said import Numeral, Text, of_ours, say
from bdt_core.spec import SliceLimit
from bdt_core.verdict.evidence import SearchedLimitOutcome
from bdt_core.verdict.judge import (
    Evidence,
    Judgement,
    Tolerated,
    allowed_and_why,
    judge,
    would_have_been_found,
)
from bdt_core.verdict.kinds import AuditResults, PeopleLimitKind, default_difference
from bdt_core.verdict.scope import Scope, scope_of
from bdt_core.verdict.words import Verdict, clauses, interval_of_several, sentences, which_way

if TYPE_CHECKING:
    from bdt_core.groups.slices.results import Slice, Slices

NOT_SEARCHED = say("intersections were not searched")


@dataclass(frozen=True, kw_only=True)
class SliceLimitResult(SearchedLimitOutcome):
    """What a limit on intersections says.

    Attributes
    ----------
    slice : str or None
        The intersection that decides: the one that is surest to be beyond the limit, or whose interval reaches
        farthest.
    limit : float
        In units of the bias variable.
    difference, low, high : float or None
        Slice less everybody else, harm counted as positive, on the test rows. The interval holds for all slices that
        were tested at once; its lower end counts each by its weight, as the test does.
    confidence : float or None
    slices_tested : int
    p_value : float or None
        Of this slice alone.
    smallest_visible : float or None
        The difference that would have been found beyond the limit with 80 % power, among so many slices.
    """

    kind: Literal["slice"]
    check: Literal["worst_slice"]
    slice: Text | None
    confidence: float | None
    slices_tested: int
    smallest_visible: float | None

    @property
    def found_by_its_search(self) -> str | None:
        """The intersection."""
        return self.slice


class SliceLimits(PeopleLimitKind[SliceLimit, SliceLimitResult]):
    """Limits on intersections."""

    limit, outcome = SliceLimit, SliceLimitResult
    about = "intersection"
    compared = (
        "Harm in {measure} of the worst intersection",
        "The worst intersections of two reports may be different people.",
    )
    published = frozenset({"slices_tested"})

    def by_its_own_search(self, limit: SliceLimit, results: AuditResults) -> SliceLimitResult:
        return judge_slices(limit, results.slices, default_difference(results))

    def scope_in(self, limit: SliceLimit, most: float, results: AuditResults) -> Scope:
        searched = results.slices
        return scope_of(
            "intersections",
            **self.shared_scope(limit, most, results),
            tested=searched.tests if searched else 0,
            conditions=searched.max_conditions if searched else None,
        )

    def measured(self, outcome: SliceLimitResult, report: Any) -> str:
        """Of a rate, as a stage of one's own may measure, its name."""
        searched = getattr(report, "slices", None)
        return super().measured(outcome, report) if searched is None else str(searched.measured)

    def title(self, outcome: SliceLimitResult) -> str:  # noqa: ARG002 - there is one check
        return say("Any intersection")

    def subject(self, outcome: SliceLimitResult, measured: str) -> str:  # noqa: ARG002
        return say("Difference in {measure} of any intersection", measure=of_ours(measured))

    def judged_by(self, outcome: SliceLimitResult) -> str:
        if outcome.slice is None:
            return ""
        return say(
            "decisive of {tested} tested: {people}",
            people=of_ours(outcome.slice),
            tested=words.count(outcome.slices_tested),
        )


def judge_slices(limit: SliceLimit, slices: Slices | None, default: float) -> SliceLimitResult:
    """Hold the intersections that were tested against one limit.

    Parameters
    ----------
    limit : SliceLimit
    slices : Slices or None
        None where none were searched.
    default : float
        What is tolerated where the limit names nothing: that of clusters.

    Returns
    -------
    SliceLimitResult
        By intervals that hold for all tested intersections at once. fail: one that is significantly worse, and whose
        whole interval is beyond the limit. pass: every interval lies within it.
    """
    most = default if limit.max_difference is None else limit.max_difference
    if slices is None or not slices.tests:
        reason = NOT_SEARCHED if slices is None else of_ours(slices.reason or say("none has enough test rows"))
        sentence: str = say("No intersection was tested: {reason}.", reason=reason)
        return _result(limit, most, "not_testable", sentence, None, slices)
    known = [one for one in (_evidence(each, slices) for each in slices.slices) if one is not None]
    if not known:
        return _result(limit, most, "not_testable", say("No intersection has enough test rows."), None, slices)
    tolerated = Tolerated(maximum=most)
    judged = judge(known, tolerated, nearest="bound")
    verdict, sentence = judged.verdict, _sentence(judged, most, slices)
    untested = sum(one.status != "tested" for one in slices.slices)
    if verdict == "pass" and untested:
        verdict = "inconclusive"
        message = (
            "Yet {N} intersection had too few test rows to be tested."
            if untested == 1
            else "Yet {N} intersections had too few test rows to be tested."
        )
        sentence = sentences(sentence, say(message, N=Numeral(untested)))
    return _result(limit, most, verdict, sentence, judged, slices)


def _evidence(group: Slice, slices: Slices) -> Evidence[Slice] | None:
    """Difference and interval for all slices at once, with harm counted as positive.

    A limit names one slice: its lower end is that of one selected among all, with the slice's share of the errors.
    """
    harm_is_up = slices.better == "lower"
    for_all = interval_at_once(group.comparison, slices.tests)
    selected = interval_of_selected(
        group.comparison, comparisons_of_selected(group.weight, slices.tests, 1), harm_is_up=harm_is_up
    )
    if group.comparison.difference is None or for_all is None or selected is None:
        return None
    if harm_is_up:
        return Evidence(group, group.comparison.difference, selected[0], for_all[1], bool(group.significant))
    return Evidence(group, -group.comparison.difference, -selected[1], -for_all[0], bool(group.significant))


def _sentence(judged: Judgement[Slice], most: float, slices: Slices) -> str:
    evidence, unit = judged.decides, _unit(judged.decides.of)
    direction, low, high = which_way(
        evidence.value, evidence.low, evidence.high, better=slices.better, certain=evidence.rejects
    )
    tests = say("{N} intersections", N=Numeral(slices.tests))
    difference = say(
        "{slice}: {size} {way} in {measure} than everybody else {interval}",
        size=words.size(evidence.value, unit),
        slice=of_ours(evidence.of.name),
        way=direction,
        measure=of_ours(slices.measured),
        interval=interval_of_several(low, high, 1.0 - slices.alpha, unit, tests),
    )
    write = partial(words.size, unit=unit)
    return sentences(
        clauses(difference, allowed_and_why(judged, Tolerated(maximum=most), write)),
        would_have_been_found(judged, _visible(evidence.of, slices, most), "difference", write),
    )


def _unit(group: Slice) -> words.Unit:
    """Whether the mean is a rate: that of a variable whose values are 0 and 1."""
    comparison = group.comparison
    return (
        "rate"
        if comparison.events_a is not None and comparison.mean_a == comparison.events_a / comparison.n_a
        else "value"
    )


def _visible(group: Slice, slices: Slices, most: float) -> float | None:
    share = comparisons_of_selected(group.weight, slices.tests, 1)
    return difference_found_beyond(group.comparison, most, share, harm_is_up=slices.better == "lower")


def _result(
    limit: SliceLimit,
    most: float,
    verdict: Verdict,
    sentence: str,
    judged: Judgement[Slice] | None,
    slices: Slices | None,
) -> SliceLimitResult:
    evidence = judged.decides if judged else None
    return SliceLimitResult.of(
        limit,
        verdict,
        sentence,
        judged,
        kind="slice",
        check=limit.check,
        slice=evidence.of.name if evidence else None,
        limit=most,
        difference=evidence.value if evidence else None,
        confidence=None if slices is None else 1.0 - slices.alpha,
        slices_tested=0 if slices is None else slices.tests,
        p_value=evidence.of.comparison.p_value if evidence else None,
        smallest_visible=_visible(evidence.of, slices, most) if evidence and slices else None,
    )
