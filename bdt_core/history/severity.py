"""How bad a broken limit is: by how much of it is reached."""

from __future__ import annotations

from typing import Literal

Severity = Literal["low", "medium", "high", "critical"]
SEVEREST_FIRST: tuple[Severity, ...] = ("critical", "high", "medium", "low")
_FROM: tuple[tuple[float, Severity], ...] = ((0.9, "low"), (0.75, "medium"), (0.5, "high"))


def severity(smaller: float, larger: float) -> Severity:
    """Severity by the ratio of limit and value, whichever of them is the smaller.

    Examples
    --------
    >>> severity(0.05, 0.052), severity(0.05, 0.2)
    ('low', 'critical')
    """
    reached = smaller / larger if larger > 0.0 else 0.0
    return next((word for least, word in _FROM if reached >= least), "critical")


def severest(several: list[Severity]) -> Severity | None:
    """The worst of several.

    Examples
    --------
    >>> severest(["low", "high"])
    'high'
    """
    return min(several, key=SEVEREST_FIRST.index, default=None)
