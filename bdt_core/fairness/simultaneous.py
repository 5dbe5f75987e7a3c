"""Critical values that hold for several intervals at once, and intervals built from one-sample limits.

All are for estimates that are independent between groups and close to normal. "max-T" means: the value that the
largest of the studentised differences exceeds with probability 1 - confidence when nothing differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference import wilson_interval

Floats = NDArray[np.float64]


@cache
def pairs_critical_value(groups: int, confidence: float = 0.95) -> float:
    """Critical value for the differences of all pairs of groups: Tukey and Kramer's.

    The quantile of the range of `groups` independent standard normals, divided by sqrt(2). Exact for equal
    variances, conservative otherwise (Hayter 1984).

    Parameters
    ----------
    groups : int
        Two or more.
    confidence : float
        Chance that all intervals hold.

    Returns
    -------
    float
        1.96 for two groups at .95.

    References
    ----------
    Hayter, A. J. (1984). Annals of Statistics 12, 61-75. Agresti, A., Bini, M., Bertaccini, B., Ryu, E. (2008).
    Simultaneous confidence intervals for comparing binomial parameters. Biometrics 64, 1270-1275.

    Examples
    --------
    >>> [round(pairs_critical_value(k), 3) for k in (2, 3, 10)]
    [1.96, 2.344, 3.164]
    """
    z = np.linspace(-9.0, 9.0, 181)
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])

    def coverage(c: float) -> float:
        inside = special.ndtr(z) - special.ndtr(z - c * math.sqrt(2.0))
        return float(groups * (density @ inside ** (groups - 1)))

    return _solved(coverage, confidence, groups * (groups - 1) // 2)


def reference_critical_value(variances: Floats, reference: int, confidence: float = 0.95) -> float:
    """Critical value for the differences of all groups from one of them: Dunnett's.

    Parameters
    ----------
    variances : ndarray of shape (groups,)
        Variances of the groups' estimates, all positive.
    reference : int
        Position of the reference group.
    confidence : float
        Chance that all intervals hold.

    Returns
    -------
    float
        1.96 for two groups at .95.

    References
    ----------
    Dunnett, C. W. (1955). JASA 50, 1096-1121.

    Examples
    --------
    >>> round(reference_critical_value(np.ones(2), 0), 3), round(reference_critical_value(np.ones(6), 0), 3)
    (1.96, 2.511)
    """
    others = np.delete(variances, reference)
    # Differences share the reference's error: T_i = l_i Z + sqrt(1 - l_i^2) E_i.
    # Less shared error never makes the value smaller; .98 keeps the quadrature exact.
    shared = np.minimum(np.sqrt(variances[reference] / (others + variances[reference])), 0.98)
    own = np.sqrt(1.0 - shared**2)
    # Z and -Z give the same coverage: half of the axis will do.
    z = np.linspace(0.0, 8.0, 33)
    density = np.exp(-0.5 * z * z) * math.sqrt(2.0 / math.pi) * (z[1] - z[0])
    density[0] *= 0.5

    def coverage(c: float) -> float:
        centre = np.outer(z, shared)
        inside = special.ndtr((c - centre) / own) - special.ndtr((-c - centre) / own)
        return float(density @ inside.prod(axis=1))

    return _solved(coverage, confidence, len(others))


def contrasts_critical_value(contrasts: int, confidence: float = 0.95) -> float:
    """Critical value for contrasts of any dependence: Šidák's, never too small.

    Parameters
    ----------
    contrasts : int
        Number of different contrasts. A group against the rest and the rest against the group are one.
    confidence : float
        Chance that all intervals hold.

    References
    ----------
    Šidák, Z. (1967). JASA 62, 626-633.

    Examples
    --------
    >>> round(contrasts_critical_value(1), 3), round(contrasts_critical_value(5), 3)
    (1.96, 2.569)
    """
    return float(special.ndtri(0.5 + 0.5 * confidence ** (1.0 / max(contrasts, 1))))


def confidence_of(critical: float) -> float:
    """Two-sided confidence of one interval that takes this critical value."""
    return float(1.0 - 2.0 * special.ndtr(-critical))


def difference_limits(
    a: Floats, low_a: Floats, high_a: Floats, b: Floats, low_b: Floats, high_b: Floats
) -> tuple[Floats, Floats]:
    """Interval of a - b from the limits of each (MOVER: method of variance estimates recovery).

    With Wilson's limits this is Newcombe's interval.

    References
    ----------
    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702.
    """
    with np.errstate(invalid="ignore"):
        return a - b - np.hypot(a - low_a, high_b - b), a - b + np.hypot(high_a - a, b - low_b)


def ratio_limits(
    a: Floats, low_a: Floats, high_a: Floats, b: Floats, low_b: Floats, high_b: Floats
) -> tuple[Floats, Floats]:
    """Interval of a / b, none of them negative, from the limits of each (MOVER-R); infinite where b may be 0.

    References
    ----------
    Donner, A., Zou, G. Y. (2012). Closed-form confidence intervals for functions of the normal mean and standard
    deviation. Statistical Methods in Medical Research 21, 347-359.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        product = a * b
        up, down = low_a * (2 * a - low_a), high_b * (2 * b - high_b)
        low = up / (product + np.sqrt(np.maximum(product**2 - up * down, 0.0)))
        up, down = high_a * (2 * a - high_a), low_b * (2 * b - low_b)
        high = (product + np.sqrt(np.maximum(product**2 - up * down, 0.0))) / down
    low = np.where(low_a <= 0.0, 0.0, low)
    return np.where(np.isnan(low) & ~np.isnan(a + b), 0.0, low), np.where(low_b <= 0.0, np.inf, high)


def range_of_pairs(
    estimates: Floats,
    low: Floats,
    high: Floats,
    limits: Callable[[Floats, Floats, Floats, Floats, Floats, Floats], tuple[Floats, Floats]],
) -> tuple[float, float]:
    """Interval of the largest contrast over all ordered pairs, from the intervals of the pairs.

    When every pair's interval holds, so does this one: the largest contrast lies above every lower limit and
    below the largest upper limit. It holds "no difference" when the groups are equal.

    Parameters
    ----------
    estimates, low, high : ndarray of shape (groups,)
        One-sample estimates and their limits at the pairs' critical value.
    limits : callable
        `difference_limits` or `ratio_limits`.
    """
    below, above = estimates - low, high - estimates
    lowest = _largest(0, limits, _front(estimates, -below), _front(-estimates, -above), estimates, low, high)
    highest = _largest(1, limits, _front(estimates, above), _front(-estimates, below), estimates, low, high)
    return lowest, highest


def _largest(
    end: int,
    limits: Callable[[Floats, Floats, Floats, Floats, Floats, Floats], tuple[Floats, Floats]],
    ones: NDArray[np.intp],
    others: NDArray[np.intp],
    *sides: Floats,
) -> float:
    """Largest lower (0) or upper (1) limit over the pairs of different groups among `ones` and `others`."""
    found = limits(*(side[ones, None] for side in sides), *(side[others] for side in sides))[end]
    return float(np.where(ones[:, None] == others, -math.inf, found).max())


def _front(first: Floats, second: Floats) -> NDArray[np.intp]:
    """Groups that at most one other equals or exceeds in both respects.

    Limits rise with both, so that the extreme pair is among these: all pairs of thousands of groups need not be
    formed. One other is allowed because that other may be the second half of the pair.
    """
    order = np.lexsort((-second, -first))
    kept, best, runner_up = [], -math.inf, -math.inf
    for position, value in zip(order.tolist(), second[order].tolist(), strict=True):
        if value > runner_up:
            kept.append(position)
            best, runner_up = max(best, value), min(max(best, runner_up), max(value, runner_up))
    return np.array(kept, dtype=np.intp)


def wilson_limits(events: Floats, n: Floats, critical: float) -> tuple[Floats, Floats]:
    """Wilson's limits at a critical value."""
    low, high = wilson_interval(events, n, confidence_of(critical))
    return np.asarray(low), np.asarray(high)


def _solved(coverage: Callable[[float], float], confidence: float, contrasts: int) -> float:
    """The c at which a rising coverage reaches the confidence, by the Illinois form of regula falsi.

    It lies between the critical value of one contrast and Šidák's for all.
    """
    low, high = contrasts_critical_value(1, confidence), contrasts_critical_value(contrasts, confidence)
    if contrasts == 1:
        return low
    at_low, at_high = coverage(low) - confidence, coverage(high) - confidence
    if at_high <= 0.0:
        return high
    middle, kept = low, 0
    for _ in range(100):
        last = middle
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if abs(middle - last) < 1e-7:
            break
        at_middle = coverage(middle) - confidence
        # An end that stays twice counts half, so that it gets moved.
        if at_middle < 0.0:
            low, at_low = middle, at_middle
            at_high, kept = (0.5 * at_high if kept == 1 else at_high), 1
        else:
            high, at_high = middle, at_middle
            at_low, kept = (0.5 * at_low if kept == -1 else at_low), -1
    return middle
