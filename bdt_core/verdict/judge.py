"""The judge: an evidence meets a limit. Whatever is called a limit is decided, and put into words, here.

An evidence is a value with its interval. The whole interval within the limit passes, the whole interval beyond it
fails, if the test beside it rejects too; an interval on both sides cannot tell. "Not significant" is not "pass".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

from scipy.special import ndtri

from bdt_core import words
from bdt_core.result import Result
from bdt_core.said import Text, say
from bdt_core.spec import AlertSeverity, AnyLimit
from bdt_core.verdict.words import Verdict, severity_of, stops

Rule = Literal["interval", "point", "significant"]
Of = TypeVar("Of")
POWER = 0.8
_LEAST_FIRST: tuple[Verdict, ...] = ("pass", "inconclusive", "fail")


@dataclass(frozen=True)
class Tolerated:
    """The values that a limit tolerates.

    Attributes
    ----------
    minimum, maximum : float or None
        Both ends belong to it; None: no end on this side.
    rule : {"interval", "point", "significant"}
        point: the value alone decides. significant: a value beyond the limit fails where the test finds any difference
        at all, as the four-fifths rule has it.
    """

    minimum: float | None = None
    maximum: float | None = None
    rule: Rule = "interval"

    def verdict(self, value: float, low: float | None, high: float | None, *, rejects: bool = True) -> Verdict:
        """What the limit says of one value with its interval.

        Parameters
        ----------
        value : float
        low, high : float or None
            None or NaN where the interval is unknown: then nothing can be told.
        rejects : bool
            Whether the test beside the interval rejects too; without one, the interval decides.

        Returns
        -------
        str

        Examples
        --------
        >>> limit = Tolerated(maximum=0.05)
        >>> limit.verdict(0.2, 0.1, 0.3), limit.verdict(0.2, 0.01, 0.3), limit.verdict(0.0, -0.04, 0.04)
        ('fail', 'inconclusive', 'pass')
        """
        if self.rule == "point":
            return "fail" if self.beyond(value) > 0 else "pass"
        if self.rule == "significant" and self.beyond(value) > 0:
            return "fail" if rejects else "inconclusive"
        if low is None or high is None:
            return "inconclusive"
        if self.is_beyond(low, high):
            return "fail" if rejects else "inconclusive"
        within = (self.minimum is None or low >= self.minimum) and (self.maximum is None or high <= self.maximum)
        return "pass" if within else "inconclusive"

    def is_beyond(self, low: float, high: float) -> bool:
        """Whether a whole interval lies on one side beyond the limit."""
        return (self.minimum is not None and high < self.minimum) or (self.maximum is not None and low > self.maximum)

    def beyond(self, low: float, high: float | None = None) -> float:
        """How far a value, or the farther end of an interval, lies beyond the limit; negative within."""
        below = -math.inf if self.minimum is None else self.minimum - low
        above = -math.inf if self.maximum is None else (low if high is None else high) - self.maximum
        return max(below, above)

    def severity(self, value: float) -> AlertSeverity | None:
        """How bad it is that a value lies beyond the limit; None within."""
        return severity_of(value, self.minimum, self.maximum)

    def in_words(self, write: Callable[[float | None], str] = words.number) -> str:
        """The tolerated values.

        Examples
        --------
        >>> Tolerated(maximum=0.1).in_words(), Tolerated(0.8).in_words(), Tolerated(0.8, 1.25).in_words()
        ('at most 0.1', 'at least 0.8', '0.8 to 1.25')
        """
        if self.minimum is None:
            return say("at most {size}", size=write(self.maximum))
        if self.maximum is None:
            return say("at least {size}", size=write(self.minimum))
        return say("{N} to {Nhigh}", N=write(self.minimum), Nhigh=write(self.maximum))

    def allowed(self, write: Callable[[float | None], str] = words.number) -> str:
        """The same as the middle of a sentence.

        Examples
        --------
        >>> Tolerated(maximum=0.1).allowed(), Tolerated(0.8).allowed()
        ('at most 0.1 is allowed', 'at least 0.8 is required')
        """
        if self.minimum is not None and self.maximum is not None:
            return say("between {low} and {high} is allowed", low=write(self.minimum), high=write(self.maximum))
        if self.minimum is None:
            return say("at most {size} is allowed", size=write(self.maximum))
        return say("at least {size} is required", size=write(self.minimum))


@dataclass(frozen=True)
class Evidence(Generic[Of]):
    """What was measured of one group, or of all together.

    Attributes
    ----------
    of : object
        The cluster, group, slice or place it was measured of.
    value : float
    low, high : float or None
        Its interval; where several are judged together, one that holds for all of them at once.
    rejects : bool
        Whether the test rejects too. At low rates an interval alone errs more often to one side than to the other.
    """

    of: Of
    value: float
    low: float | None
    high: float | None
    rejects: bool = True


@dataclass(frozen=True)
class Judgement(Generic[Of]):
    """What a limit says of several evidences, and the one on which that rests."""

    verdict: Verdict
    decides: Evidence[Of]
    severity: AlertSeverity | None


@dataclass(frozen=True, kw_only=True)
class LimitOutcome(Result):
    """What a limit says: what the outcomes of all kinds of limit have in common.

    Attributes
    ----------
    kind : str
        The limit's kind.
    check : str
        What the limit is on.
    verdict : {"pass", "fail", "inconclusive", "not_testable"}
    blocks : bool
        Whether what stands behind the gate is stopped.
    inconclusive : {"warn", "block"}
        What the limit asks for where the data cannot tell.
    sentence : str
    low, high : float or None
        The interval that decides.
    p_value : float or None
        Of what decides.
    severity : {"low", "medium", "high", "critical"} or None
        By how much of the limit the value reaches, or of the value the limit (at least .9, .75, .5, below), where the
        value is beyond the limit.
    """

    kind: str
    check: str
    verdict: Verdict
    blocks: bool
    inconclusive: Literal["warn", "block"]
    sentence: Text
    low: float | None
    high: float | None
    p_value: float | None
    severity: AlertSeverity | None

    @property
    def tolerated(self) -> Tolerated:
        """The values that the limit tolerates: of outcomes with other members than these, each has its own."""
        least, most, rule = (getattr(self, name, None) for name in ("minimum", "maximum", "rule"))
        return Tolerated(least, most, rule or "interval")

    @property
    def estimate(self) -> float | None:
        """What was found, in the limit's unit."""
        value: float | None = getattr(self, "value", None)
        return value

    @property
    def who(self) -> str | None:
        """Who decides, in words; None where nobody can be named."""
        return None

    @classmethod
    def of(
        cls, limit: AnyLimit, verdict: Verdict, sentence: str, judged: Judgement[Any] | None, /, **its_own: Any
    ) -> Self:
        """The outcome of a limit; what else a kind of limit says is given by name."""
        shared: dict[str, Any] = {"low": None, "high": None, "p_value": None, "severity": None}
        if judged is not None:
            shared |= {"low": judged.decides.low, "high": judged.decides.high, "severity": judged.severity}
        blocks = stops(verdict, limit.inconclusive)
        return cls(
            verdict=verdict, blocks=blocks, inconclusive=limit.inconclusive, sentence=sentence, **shared | its_own
        )


def judge(
    evidence: Sequence[Evidence[Of]], tolerated: Tolerated, *, nearest: Literal["value", "bound"] = "value"
) -> Judgement[Of]:
    """Hold evidence against a limit: the severest verdict counts.

    Parameters
    ----------
    evidence : sequence of Evidence
        At least one.
    tolerated : Tolerated
    nearest : {"value", "bound"}
        On which of those with the severest verdict it rests: on the one whose value lies farthest beyond the limit,
        or on the one of which that is surest: when it fails the nearer end of the interval counts, else the farther.

    Returns
    -------
    Judgement

    Examples
    --------
    >>> several = [Evidence("a", 0.4, 0.06, 0.7), Evidence("b", 0.3, 0.2, 0.4), Evidence("c", 0.6, 0.0, 0.9)]
    >>> [judge(several, Tolerated(maximum=0.05), nearest=one).decides.of for one in ("value", "bound")]
    ['a', 'b']
    """
    verdicts = [tolerated.verdict(one.value, one.low, one.high, rejects=one.rejects) for one in evidence]

    def order(i: int) -> tuple[int, float]:
        case, verdict = evidence[i], verdicts[i]
        if nearest == "value" or case.low is None or case.high is None:
            far = tolerated.beyond(case.value)
        else:
            far = tolerated.beyond(case.high, case.low) if verdict == "fail" else tolerated.beyond(case.low, case.high)
        return _LEAST_FIRST.index(verdict), far

    decides = max(range(len(evidence)), key=order)
    return Judgement(verdicts[decides], evidence[decides], tolerated.severity(evidence[decides].value))


Reason = Literal[
    "significant", "not significant", "value beyond", "value within", "beyond", "within", "not rejected", "both sides"
]
_REASONS: Mapping[Reason, str] = {
    "significant": "{allowed}, and the value is beyond it, with a significant difference",
    "not significant": "{allowed}, and the value is beyond it, without a significant difference",
    "value beyond": (
        "{allowed}, and the value is beyond it (by the value alone; in small groups that often happens by chance)"
    ),
    "value within": (
        "{allowed}, and the value is within it (by the value alone; in small groups that often happens by chance)"
    ),
    "beyond": "{allowed}, and the whole interval is beyond it",
    "within": "{allowed}, and the whole interval is within it",
    "not rejected": "{allowed}, and the whole interval is beyond it, but the test does not reject",
    "both sides": "{allowed}, and the interval lies on both sides of it",
}


def reason_of(judged: Judgement[Of], tolerated: Tolerated) -> Reason:
    """Why the verdict is what it is.

    Examples
    --------
    >>> limit = Tolerated(maximum=0.05)
    >>> reason_of(judge([Evidence("a", 0.2, 0.1, 0.3)], limit), limit)
    'beyond'
    """
    evidence, verdict = judged.decides, judged.verdict
    if tolerated.rule == "significant" and tolerated.beyond(evidence.value) > 0:
        return "significant" if verdict == "fail" else "not significant"
    if tolerated.rule == "point":
        return "value beyond" if verdict == "fail" else "value within"
    if verdict != "inconclusive":
        return "beyond" if verdict == "fail" else "within"
    if evidence.low is not None and evidence.high is not None and tolerated.is_beyond(evidence.low, evidence.high):
        return "not rejected"
    return "both sides"


def why(judged: Judgement[Of], tolerated: Tolerated, allowed: str) -> str:
    """What is allowed, in words of the limit's own, and why the verdict is what it is."""
    return say(_REASONS[reason_of(judged, tolerated)], allowed=allowed)


def allowed_and_why(
    judged: Judgement[Of], tolerated: Tolerated, write: Callable[[float | None], str] = words.number
) -> str:
    """What is allowed, and why the verdict is what it is.

    Examples
    --------
    >>> limit = Tolerated(maximum=0.05)
    >>> allowed_and_why(judge([Evidence("a", 0.2, 0.1, 0.3)], limit), limit)
    'at most 0.05 is allowed, and the whole interval is beyond it'
    """
    return why(judged, tolerated, tolerated.allowed(write))


_FOUND = {
    "difference": "With these rows a difference of {size} would have been found beyond the limit (80 % power).",
    "gap": "With these rows a gap of {size} would have been found beyond the limit (80 % power).",
    "ratio": "With these rows a ratio of {size} would have been found beyond the limit (80 % power).",
    "value": "With these rows a value of {size} would have been found beyond the limit (80 % power).",
}


def would_have_been_found(
    judged: Judgement[Of],
    smallest: float | None,
    what: Literal["difference", "gap", "ratio", "value"],
    write: Callable[[float | None], str] = words.number,
) -> str:
    """What is said beside an interval on both sides, where it is known; nothing beside any other."""
    if judged.verdict != "inconclusive" or smallest is None:
        return ""
    return say(_FOUND[what], size=write(smallest))


def found_beyond(evidence: Evidence[Of], tolerated: Tolerated, alpha: float, *, ratio: bool = False) -> float | None:
    """The value whose interval lies beyond the limit with 80 % power, from the length of the interval that was found.

    Parameters
    ----------
    evidence : Evidence
    tolerated : Tolerated
        Where both ends are limited, the one that the value is nearer to.
    alpha : float
        The interval has confidence 1 - alpha.
    ratio : bool
        Whether lengths are those of logarithms.

    Returns
    -------
    float or None
        None where the interval is unknown or has no finite length.

    Examples
    --------
    >>> round(found_beyond(Evidence("a", 0.05, -0.05, 0.15), Tolerated(maximum=0.1), 0.05), 3)
    0.243
    >>> round(found_beyond(Evidence("a", 0.8, 0.6, 1.07), Tolerated(minimum=0.8), 0.05, ratio=True), 3)
    0.528
    """
    if evidence.low is None or evidence.high is None:
        return None
    below = tolerated.maximum is None or (
        tolerated.minimum is not None and evidence.value - tolerated.minimum < tolerated.maximum - evidence.value
    )
    end = tolerated.minimum if below else tolerated.maximum
    numbers = (evidence.low, evidence.value, evidence.high, end)
    if any(x is None or not math.isfinite(x) or (ratio and x <= 0.0) for x in numbers):
        return None
    low, value, high, limit = (math.log(x) if ratio else x for x in numbers if x is not None)
    stretch = 1.0 + float(ndtri(POWER) / ndtri(1.0 - alpha / 2.0))
    visible = limit - stretch * (high - value) if below else limit + stretch * (value - low)
    return math.exp(visible) if ratio else visible
