"""The arithmetic of a change between two independent samples, from their confidence limits alone.

With estimates d1 (now) and d0 (before) and their limits l and u, the change D = d1 - d0 has the limits

    L = D - sqrt((d1 - l1)^2 + (u0 - d0)^2)
    U = D + sqrt((u1 - d1)^2 + (d0 - l0)^2)

(MOVER), which need no variances and keep intervals lopsided. Ratios are compared by their logarithms. For m changes
at once each arm is stretched by z(1 - alpha / 2m) / z(1 - alpha / 2), which is Bonferroni's correction.

References
----------
Zou, G. Y., Donner, A. (2008). Construction of confidence limits about effect measures: a general approach. Statistics
in Medicine 27, 1693-1702.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from scipy.special import ndtri

Change = Literal["worse", "not_in_baseline", "not_worse", "better"]
NO_INTERVAL = "there is no interval to tell a change from chance"
NO_FINITE_SIZE = "the change has no finite size, so the intervals decide that do or do not touch"
_LARGEST_EXPONENT = 700.0


class Measured(NamedTuple):
    """A value with its confidence limits."""

    value: float
    low: float | None
    high: float | None


class Compared(NamedTuple):
    """One value now and before; ``why`` says why its change has no size, if so."""

    change: Change
    group: str | None
    now: float | None
    before: float | None
    difference: tuple[float, float, float] | None
    why: str


def compared(
    group: str | None,
    now: Measured,
    before: Measured,
    *,
    above: bool,
    is_ratio: bool,
    stretches: tuple[float, float] = (1.0, 1.0),
) -> Compared:
    """Hold a value against the same value of an earlier sample.

    Parameters
    ----------
    group : str or None
        Whose value it is.
    now, before : Measured
        Without limits, a value that lies no farther in the harmful direction is not worse; one that does cannot be
        compared.
    above : bool
        Larger is worse; else smaller is.
    is_ratio : bool
        Compared by logarithms.
    stretches : tuple of float
        By how much the arms of the two intervals grow, from :func:`stretches_of`.

    Returns
    -------
    Compared

    Examples
    --------
    >>> now, before = Measured(0.30, 0.26, 0.34), Measured(0.20, 0.17, 0.23)
    >>> found = compared(None, now, before, above=True, is_ratio=False)
    >>> found.change, [round(one, 3) for one in found.difference]
    ('worse', [0.1, 0.05, 0.15])
    """
    values = now.value, before.value
    if now.low is None or now.high is None or before.low is None or before.high is None:
        farther = now.value > before.value if above else now.value < before.value
        return Compared("not_in_baseline" if farther else "not_worse", group, *values, None, NO_INTERVAL)
    first, second = (now.value, now.low, now.high), (before.value, before.low, before.high)
    difference = _change_of_ratio(first, second, stretches) if is_ratio else _change(first, second, stretches)
    if difference is not None:
        none = 1.0 if is_ratio else 0.0
        up, down = difference[1] > none, difference[2] < none
    else:
        up, down = now.low > before.high, now.high < before.low
    worse, better = (up, down) if above else (down, up)
    change: Change = "worse" if worse else "better" if better else "not_worse"
    return Compared(change, group, *values, difference, NO_FINITE_SIZE if difference is None else "")


def stretches_of(alpha: float, alpha_before: float, changes: int) -> tuple[float, float]:
    """By how much the arms of two intervals grow for so many changes at once.

    Parameters
    ----------
    alpha, alpha_before : float
        Of the intervals now and before; changes are told at the first.
    changes : int

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> [round(one, 3) for one in stretches_of(0.05, 0.05, 1)], [round(one, 3) for one in stretches_of(0.05, 0.1, 4)]
    ([1.0, 1.0], [1.274, 1.518])
    """
    wanted = ndtri(1.0 - alpha / (2.0 * changes))
    return float(wanted / ndtri(1.0 - alpha / 2.0)), float(wanted / ndtri(1.0 - alpha_before / 2.0))


_Triple = tuple[float, float, float]


def _change(now: _Triple, before: _Triple, stretches: tuple[float, float]) -> _Triple | None:
    """Difference and its limits; None where a value is infinite."""
    (d1, l1, u1), (d0, l0, u0) = now, before
    if not (math.isfinite(d1) and math.isfinite(d0)):
        return None
    change = d1 - d0
    low = change - math.hypot(stretches[0] * (d1 - l1), stretches[1] * (u0 - d0))
    high = change + math.hypot(stretches[0] * (u1 - d1), stretches[1] * (d0 - l0))
    return change, low, high


def _change_of_ratio(now: _Triple, before: _Triple, stretches: tuple[float, float]) -> _Triple | None:
    """Quotient of two ratios and its limits; None where one of them is 0 or infinite."""
    change = _change(_logarithms(now), _logarithms(before), stretches)
    if change is None:
        return None
    quotient, low, high = (math.inf if one > _LARGEST_EXPONENT else math.exp(one) for one in change)
    return quotient, low, high


def _logarithms(ratio: _Triple) -> _Triple:
    value, low, high = (-math.inf if one <= 0 else math.log(one) for one in ratio)
    return value, low, high
