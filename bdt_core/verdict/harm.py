"""One difference with its interval against the difference that is tolerated."""

from __future__ import annotations

from dataclasses import dataclass

from bdt_core.result import Result
from bdt_core.spec import AlertSeverity
from bdt_core.verdict.words import Verdict, severity_of

DEFAULT_LIMIT_TWO_VALUED = 0.05
DEFAULT_LIMIT_IN_SD = 0.2  # a small effect in Cohen's words


def default_limit(two_valued: bool, sd: float) -> float:
    """The difference that is tolerated where the specification names none, in units of the bias variable.

    Examples
    --------
    >>> default_limit(True, 0.5), default_limit(False, 100.0)
    (0.05, 20.0)
    """
    return DEFAULT_LIMIT_TWO_VALUED if two_valued else DEFAULT_LIMIT_IN_SD * sd


@dataclass(frozen=True)
class Judged(Result):
    """A difference, harm counted as positive, and what its limit says."""

    verdict: Verdict
    sentence: str
    limit: float
    difference: float | None
    low: float | None
    high: float | None
    severity: AlertSeverity | None


def judged(
    verdict: Verdict,
    sentence: str,
    limit: float,
    interval: tuple[float | None, float | None, float | None] = (None, None, None),
) -> Judged:
    """Put a judgement together; severe by limit over difference."""
    difference, low, high = interval
    severity = None if difference is None or verdict == "pass" else severity_of(difference, None, limit)
    return Judged(verdict, sentence, limit, difference, low, high, severity)
