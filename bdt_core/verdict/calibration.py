"""A limit on how far a score may be off for any group: who was confirmed, and what is ruled out for all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.said import Numeral, joined, of_ours, say
from bdt_core.spec import WorstGroupLimit
from bdt_core.verdict.judge import Evidence, Judgement, Tolerated, judge
from bdt_core.verdict.words import sentences
from bdt_core.verdict.worst_group import WorstGroupLimitResult, outcome_of, passed

if TYPE_CHECKING:
    from bdt_core.calibration import CalibratedGroup, Calibration
    from bdt_core.groups.scan.results import Certificate

_SMALLER = (
    "Smaller groups, from {N} of the people on, were searched, and for none the score is proven to be off by more."
)
NOT_MEASURED = "Nobody looked for whom the score is off."
_TOO_LOW = (
    "{who}: the score is too low; it says {mean} on average, and {share} were positive, off by {size} as found, by at "
    "least {least} ({N} % confidence)"
)
_TOO_HIGH = (
    "{who}: the score is too high; it says {mean} on average, and {share} were positive, off by {size} as found, by at "
    "least {least} ({N} % confidence)"
)
DEFAULT_GAP = 0.05
"""What is tolerated where a limit names nothing."""


def judge_calibration(limit: WorstGroupLimit, calibration: Calibration | None) -> WorstGroupLimitResult:
    """Hold the groups for whom a score is off against one limit.

    Parameters
    ----------
    limit : WorstGroupLimit
        With ``of: calibration``.
    calibration : Calibration or None
        None where no score was looked at.

    Returns
    -------
    WorstGroupLimitResult
        fail: for a confirmed group, or for everybody, the score is off by more than the limit at least. pass: it is for
        no group that the search could have found. Otherwise inconclusive, with the number of rows that would tell. Its
        difference is without a sign.
    """
    most = DEFAULT_GAP if limit.max_difference is None else limit.max_difference
    ruled_out = gap_ruled_out_for(limit, calibration)
    if calibration is None or ruled_out is None:
        reason: str = NOT_MEASURED
        if calibration is not None:
            reason = say("No group could be searched for: {reason}.", reason=of_ours(calibration.reason or ""))
        return outcome_of(limit, most, "not_testable", reason, None, None)
    judged = judge(_evidence(limit, calibration, ruled_out), Tolerated(maximum=most), nearest="bound")
    verdict, sentence = judged.verdict, _sentence(judged, most, calibration, ruled_out)
    if verdict == "pass":
        searched = calibration.min_share
        verdict, sentence = passed(sentence, limit, searched, searched, ruled_out, _SMALLER)
    named = [one for one in calibration.groups if one.share < (limit.min_share or 0.0) and one.at_least > most]
    if named:
        who = joined(
            [say("{value} ({note})", value=of_ours(one.words), note=_people(one, calibration)) for one in named], "; "
        )
        not_judged = say(
            "Not judged, for they are smaller groups, though the score is proven to be off: {who}.", who=who
        )
        sentence = sentences(sentence, not_judged)
    return outcome_of(limit, most, verdict, sentence, judged, ruled_out)


def gap_ruled_out_for(limit: WorstGroupLimit, calibration: Calibration | None) -> Certificate | None:
    """What is ruled out of the groups that a pass has to rule out; None where none could be searched."""
    return None if calibration is None else calibration.certificate(limit.ruled_out_among(calibration.min_share))


def _evidence(
    limit: WorstGroupLimit, calibration: Calibration, ruled_out: Certificate
) -> Sequence[Evidence[CalibratedGroup | None]]:
    """Everybody and each group for whom the score is off for sure; without any, from no gap to what is ruled out."""
    bound, everybody = ruled_out.largest_difference, calibration.everybody
    of_all = [] if everybody is None else [everybody]
    farthest = max([bound, *(abs(end) for one in of_all for end in (one.low, one.high) if end is not None)])
    known = [one for one in (*of_all, *calibration.groups) if one.at_least and one.share >= (limit.min_share or 0.0)]
    sure: list[Evidence[CalibratedGroup | None]] = [
        Evidence(one, abs(one.gap or 0.0), one.at_least, max(farthest, one.at_least)) for one in known
    ]
    return sure or [Evidence(None, 0.0, 0.0, farthest)]


def _sentence(
    judged: Judgement[CalibratedGroup | None], most: float, calibration: Calibration, ruled_out: Certificate
) -> str:
    evidence, size = judged.decides, words.size(most, "rate")
    confidence = Numeral(f"{ruled_out.confidence * 100:.4g}")
    bound = say(
        "for no group of {N} to {Nmost} of the people that conditions on these columns describe the score is off by "
        "more than {size} ({Nlevel} % confidence)",
        N=words.percent(ruled_out.min_share),
        Nmost=words.percent(ruled_out.max_share),
        size=words.size_at_most(ruled_out.largest_difference, "rate"),
        Nlevel=confidence,
    )
    if judged.verdict == "pass":
        return joined([words.capital(bound), say("at most {size} is allowed.", size=size)], "; ")
    group = evidence.of
    if group is None:
        known = say("The search confirms no group for whom the score is off")
    else:
        known = say(
            _TOO_LOW if group.way == "too low" else _TOO_HIGH,
            who=say("{value} ({note})", value=of_ours(group.words), note=_people(group, calibration)),
            share=words.percent(group.share_positive),
            mean=words.percent(group.mean_score),
            size=words.size(evidence.value, "rate"),
            least=words.size(evidence.low, "rate"),
            N=confidence,
        )
    if judged.verdict == "fail":
        return joined([known, say("at most {size} is allowed.", size=size)], "; ")
    open_end = say("at most {size} is allowed, so these rows cannot tell.", size=size)
    sentence = joined([known, bound, open_end], "; ")
    rows = ruled_out.rows_to_settle(most)
    return sentence if rows is None else sentences(sentence, say("About {N} rows would tell.", N=words.count(rows)))


def _people(group: CalibratedGroup, calibration: Calibration) -> str:
    return say("{N} people" if calibration.key is None else "{N} rows", N=words.count(group.rows))
