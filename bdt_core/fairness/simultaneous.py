"""Critical values that hold for several intervals at once, and intervals built from one-sample limits.

All are for estimates that are independent between groups and close to normal. "max-T" means: the value that the
largest of the studentised differences exceeds with probability 1 - confidence when nothing differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference import Comparison, compare_counts

Floats = NDArray[np.float64]

_ALL_PAIRS_UP_TO = 100


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

    def coverage(c: Floats) -> Floats:
        inside = special.ndtr(z) - special.ndtr(z - c[:, None] * math.sqrt(2.0))
        return np.asarray(groups * (inside ** (groups - 1) @ density))

    return float(_solved(coverage, confidence, np.array([groups * (groups - 1) // 2]))[0])


def best_of_groups_p_value(p_value: float, groups: int) -> float:
    """Correct the p-value of a group against the best of several for choosing the best, and for comparing all with it.

    The chance that the largest difference among so many groups without any is as far in its errors as this one:
    Tukey and Kramer's, whose critical value is `pairs_critical_value`.

    Parameters
    ----------
    p_value : float
        Two-sided, of the two groups alone.
    groups : int
        Among which the best was chosen.

    Returns
    -------
    float
        Never below `p_value`, and the same for two groups.

    References
    ----------
    Tukey, J. W. (1953). The problem of multiple comparisons. Hayter, A. J. (1984). Annals of Statistics 12, 61-75.

    Examples
    --------
    >>> [round(best_of_groups_p_value(0.05, k), 3) for k in (2, 3, 5, 8)]
    [0.05, 0.122, 0.286, 0.509]
    """
    if groups <= 2 or not 0.0 < p_value < 1.0:
        return p_value
    apart = -math.sqrt(2.0) * float(special.ndtri(0.5 * p_value))
    z = np.arange(-9.0, 10.0 + apart, 0.05)
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * 0.05
    # The largest is at z, and of the others one is more than `apart` below it. So written, small p-values keep digits.
    below = special.ndtr(z)
    beyond = np.divide(special.ndtr(z - apart), below, out=np.zeros_like(z), where=below > 0.0)
    reached = below ** (groups - 1) * -np.expm1((groups - 1) * np.log1p(-np.minimum(beyond, 1.0 - 1e-16)))
    return float(np.clip(groups * (reached @ density), p_value, 1.0))


def compare_at_once(
    events: int, n: int, events_reference: int, n_reference: int, *, groups: int, chosen: bool, alpha: float
) -> Comparison:
    """One of several groups against a reference, with a p-value and intervals that hold for all of them at once.

    Parameters
    ----------
    events, n, events_reference, n_reference : int
    groups : int
        With the reference.
    chosen : bool
        Whether the reference is the group with the highest rate among them: then its choice is allowed for, too
        (Tukey and Kramer). One that was named is compared with all others (Šidák).
    alpha : float
        Of all groups together.
    """
    critical = (
        pairs_critical_value(groups, 1.0 - alpha) if chosen else contrasts_critical_value(groups - 1, 1.0 - alpha)
    )
    each = 2.0 * float(special.ndtr(-critical))
    alone = compare_counts(events, n, events_reference, n_reference, alpha=each, min_rows=1)
    if alone.p_value is None:
        return alone
    if chosen:
        return replace(alone, p_value=best_of_groups_p_value(alone.p_value, groups))
    others = -math.expm1((groups - 1) * math.log1p(-alone.p_value)) if alone.p_value < 1.0 else 1.0
    return replace(alone, p_value=others)


def reference_critical_value(variances: Floats, reference: int, confidence: float = 0.95) -> Any:
    """Critical value for the differences of all groups from one of them: Dunnett's.

    Parameters
    ----------
    variances : ndarray of shape (groups,), or (k, groups) for k families at once
        Variances of the groups' estimates, positive; NaN for a group that is not compared.
    reference : int
        Position of the reference group.
    confidence : float
        Chance that all intervals of a family hold.

    Returns
    -------
    float or ndarray of shape (k,)
        1.96 for two groups at .95; NaN where the reference has no variance.

    Notes
    -----
    Given the reference's error the differences are independent: their joint coverage is one integral over that
    error. Its integrand multiplies a factor per group that depends smoothly on the ratio of two standard errors;
    with many groups the sum of its logarithms is interpolated in that ratio, to about 1e-12.

    References
    ----------
    Dunnett, C. W. (1955). JASA 50, 1096-1121.

    Examples
    --------
    >>> round(reference_critical_value(np.ones(2), 0), 3), round(reference_critical_value(np.ones(6), 0), 3)
    (1.96, 2.511)
    """
    families = np.atleast_2d(variances)
    others = np.delete(families, reference, axis=1)
    # Differences share the reference's error: T_i = l_i Z + sqrt(1 - l_i^2) E_i, l_i / sqrt(1 - l_i^2) the ratio.
    # Less shared error never makes the value smaller; l_i up to .98 keeps the quadrature exact.
    with np.errstate(invalid="ignore"):
        ratio = np.minimum(np.sqrt(families[:, [reference]] / others), 0.98 / math.sqrt(1.0 - 0.98**2))
    compared = ~np.isnan(ratio)
    ratio, times = _nodes(np.where(compared, ratio, 1.0), compared)
    # Z and -Z give the same coverage: half of the axis will do.
    z = np.linspace(0.0, 8.0, 33)
    density = np.exp(-0.5 * z * z) * math.sqrt(2.0 / math.pi) * (z[1] - z[0])
    density[0] *= 0.5
    centre, spread = z[:, None] * ratio[:, None, :], np.sqrt(1.0 + ratio**2)

    def coverage(c: Floats) -> Floats:
        reach = (c[:, None] * spread)[:, None, :]
        inside = special.ndtr(reach - centre) - special.ndtr(-reach - centre)
        log_inside = np.log(np.maximum(inside, 1e-300))
        return np.asarray(np.exp((log_inside @ times[:, :, None])[..., 0]) @ density)

    contrasts = compared.sum(axis=1)
    critical = np.where(contrasts > 0, _solved(coverage, confidence, np.maximum(contrasts, 1)), np.nan)
    return critical if np.ndim(variances) > 1 else float(critical[0])


def _nodes(values: Floats, counted: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Points, and how often each counts, such that sums of a smooth function over the values are sums over the points.

    They are Chebyshev's, on the scale of asinh, and the values themselves where these are fewer.
    """
    scaled = np.arcsinh(values)
    low = np.where(counted, scaled, np.inf).min(axis=1, initial=np.inf)
    high = np.where(counted, scaled, -np.inf).max(axis=1, initial=-np.inf)
    low, high = (np.where(counted.any(axis=1), one, 0.0) for one in (low, high))
    size = 8 + math.ceil(12.0 * float((high - low).max(initial=0.0)))
    if size >= values.shape[1]:
        return values, counted.astype(np.float64)
    half = np.maximum(0.5 * (high - low), 1e-9)[:, None]
    middle = 0.5 * (high + low)[:, None]
    degree = np.arange(size)
    angle = math.pi * (degree + 0.5) / size
    # Sums over the values of Chebyshev's polynomials T_0, T_1, ...
    at = np.arccos(np.clip((scaled - middle) / half, -1.0, 1.0))
    moments = (np.cos(degree[:, None] * at[:, None, :]) * counted[:, None, :]).sum(axis=2)
    moments[:, 0] *= 0.5
    return np.sinh(middle + half * np.cos(angle)), moments @ (2.0 / size * np.cos(np.outer(degree, angle)))


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
        square = product * product
        up, down = low_a * (2 * a - low_a), high_b * (2 * b - high_b)
        low = up / (product + np.sqrt(np.maximum(square - up * down, 0.0)))
        up, down = high_a * (2 * a - high_a), low_b * (2 * b - low_b)
        high = (product + np.sqrt(np.maximum(square - up * down, 0.0))) / down
    low = np.where((low_a <= 0.0) | (np.isnan(low) & ~np.isnan(a + b)), 0.0, low)
    return low, np.where(low_b <= 0.0, np.inf, high)


def range_of_pairs(
    estimates: Floats,
    low: Floats,
    high: Floats,
    limits: Callable[[Floats, Floats, Floats, Floats, Floats, Floats], tuple[Floats, Floats]],
) -> tuple[Any, Any]:
    """Interval of the largest contrast over all ordered pairs, from the intervals of the pairs.

    When every pair's interval holds, so does this one: the largest contrast lies above every lower limit and
    below the largest upper limit. It holds "no difference" when the groups are equal.

    Parameters
    ----------
    estimates, low, high : ndarray of shape (groups,), or (k, groups) for k families at once
        One-sample estimates and their limits at the pairs' critical value; NaN for a group that is not compared.
    limits : callable
        `difference_limits` or `ratio_limits`.

    Returns
    -------
    low, high : float or list of k floats
        -inf without a pair.
    """
    sides = (estimates, low, high)
    if estimates.shape[-1] <= _ALL_PAIRS_UP_TO:
        of_pairs = limits(*(one[..., :, None] for one in sides), *(one[..., None, :] for one in sides))
        known = ~np.isnan(estimates)
        paired = known[..., :, None] & known[..., None, :] & ~np.eye(estimates.shape[-1], dtype=bool)
        lower, upper = (np.where(paired, one, -math.inf).max(axis=(-1, -2), initial=-math.inf) for one in of_pairs)
        return lower.tolist(), upper.tolist()
    if estimates.ndim > 1:
        lower, upper = zip(*(range_of_pairs(*one, limits) for one in zip(*sides, strict=True)), strict=True)
        return lower, upper
    known = ~np.isnan(estimates)
    if known.sum() < 2:
        return -math.inf, -math.inf
    estimates, low, high = sides = (estimates[known], low[known], high[known])
    below, above = estimates - low, high - estimates
    lowest = _largest(0, limits, _front(estimates, -below), _front(-estimates, -above), sides)
    highest = _largest(1, limits, _front(estimates, above), _front(-estimates, below), sides)
    return lowest, highest


def _largest(
    end: int,
    limits: Callable[[Floats, Floats, Floats, Floats, Floats, Floats], tuple[Floats, Floats]],
    ones: NDArray[np.intp],
    others: NDArray[np.intp],
    sides: tuple[Floats, Floats, Floats],
) -> float:
    """Largest lower (0) or upper (1) limit over the pairs of different groups among `ones` and `others`."""
    of_pairs = limits(*(side[ones, None] for side in sides), *(side[others] for side in sides))[end]
    return float(np.where(ones[:, None] == others, -math.inf, of_pairs).max())


def _front(first: Floats, second: Floats) -> NDArray[np.intp]:
    """Groups among which are all that at most one other equals or exceeds in both respects.

    Limits rise with both, so that the extreme pair is among these: all pairs of thousands of groups need not be
    formed. One other is allowed because that other may be the second half of the pair.
    """
    order = np.lexsort((-second, -first))
    layers = []
    for _ in range(2):  # those that no other exceeds, and those that only such a one exceeds
        best_before = np.maximum.accumulate(np.concatenate([[-math.inf], second[order][:-1]]))
        is_best = second[order] > best_before
        layers.append(order[is_best])
        order = order[~is_best]
    return np.concatenate(layers)


def _solved(coverage: Callable[[Floats], Floats], confidence: float, contrasts: NDArray[np.int64]) -> Floats:
    """The c at which each of several rising coverages reaches the confidence.

    It lies between the critical value of one contrast and Šidák's for all. Secant steps: log(-log(coverage)) is
    close to linear in the square of c.
    """
    low = contrasts_critical_value(1, confidence)
    high = np.asarray(special.ndtri(0.5 + 0.5 * confidence ** (1.0 / contrasts)))
    if (contrasts == 1).all():
        return np.full(contrasts.shape, low)

    def excess(square: Floats) -> Floats:
        reached = np.minimum(coverage(np.sqrt(square)), 1.0 - 2.0**-53)  # a sum may come out above 1
        return np.asarray(np.log(-np.log(reached)) - math.log(-math.log(confidence)))

    last, at_last = high**2, excess(high**2)
    square = np.clip(last + 2.0 * at_last * last / (1.0 + last), low**2, high**2)
    for _ in range(50):
        here = excess(square)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = here * (square - last) / (here - at_last)
        step = np.where(np.isfinite(step), step, 0.0)
        last, at_last, square = square, here, np.clip(square - step, low**2, high**2)
        if np.abs(square - last).max() < 1e-10:
            break
    return np.asarray(np.sqrt(square))
