"""The four answers of a limit."""

from __future__ import annotations

from typing import Literal

from bdt_core.spec import AlertSeverity

Verdict = Literal["pass", "fail", "inconclusive", "not_testable"]
_SEVERITY_FROM: tuple[tuple[float, AlertSeverity], ...] = ((0.9, "low"), (0.75, "medium"), (0.5, "high"))
SEVEREST_FIRST: tuple[Verdict, ...] = ("fail", "inconclusive", "not_testable", "pass")


def stops(verdict: Verdict, inconclusive: Literal["warn", "block"]) -> bool:
    """Whether what stands behind the gate is stopped."""
    return verdict == "fail" or (verdict != "pass" and inconclusive == "block")


def severity_of(value: float, minimum: float | None, maximum: float | None) -> AlertSeverity | None:
    """How bad it is that a value lies beyond its limit, by how much of one is reached by the other.

    Parameters
    ----------
    value : float
    minimum, maximum : float or None

    Returns
    -------
    str or None
        low, medium or high when at least .9, .75 or .5 is reached, else critical; None within the limit.

    Examples
    --------
    >>> severity_of(0.7, 0.8, None), severity_of(0.3, None, 0.1), severity_of(0.9, 0.8, None)
    ('medium', 'critical', None)
    """
    if minimum is not None and value < minimum:
        reached = max(value, 0.0) / minimum if minimum > 0 else abs(minimum) / abs(value)
    elif maximum is not None and value > maximum:
        reached = maximum / abs(value) if maximum >= 0 and value else 0.0
    else:
        return None
    return next((word for least, word in _SEVERITY_FROM if reached >= least), "critical")
