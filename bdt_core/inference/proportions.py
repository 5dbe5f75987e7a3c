"""Confidence intervals for a proportion, a difference of two and a ratio of two.

All functions take numbers or arrays (broadcast against each other) and are evaluated for all entries at once.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bdt_core.inference._checks import counts_pair, fraction

Numbers = NDArray[Any] | list[int] | list[float]
Floats = NDArray[np.float64]
Limits = tuple[Floats, Floats]

JEFFREYS_BELOW = 40
"""Below this number of rows `rate_interval` takes Jeffreys' interval, from it on Wilson's."""


@overload
def wilson_interval(events: float, n: float, confidence: float = ...) -> tuple[float, float]: ...
@overload
def wilson_interval(events: Numbers, n: Numbers | float, confidence: float = ...) -> Limits: ...
def wilson_interval(events: Any, n: Any, confidence: float = 0.95) -> tuple[Any, Any]:
    """Wilson's score interval for a proportion.

    Parameters
    ----------
    events, n : float or array
        Events and rows. Weighted counts need not be whole numbers.
    confidence : float, default 0.95
        Coverage wanted.

    Returns
    -------
    low, high : float or array of float64
        Limits inside [0, 1]; NaN where n is 0.

    Raises
    ------
    DataError
        Events outside 0..n, or not finite.
    SpecError
        Confidence outside (0, 1).

    References
    ----------
    Wilson, E. B. (1927). JASA 22, 209-212. Newcombe, R. G. (1998). Statistics in Medicine 17, 857-872, method
    3.

    Examples
    --------
    >>> low, high = wilson_interval(81, 263)
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    """
    x, rows = counts_pair(events, n)
    return _plain(*wilson_limits(x, rows, _z(confidence)))


@overload
def rate_interval(events: float, n: float, confidence: float = ...) -> tuple[float, float]: ...
@overload
def rate_interval(events: Numbers, n: Numbers | float, confidence: float = ...) -> Limits: ...
def rate_interval(events: Any, n: Any, confidence: float = 0.95) -> tuple[Any, Any]:
    """Interval for a proportion: Jeffreys' below 40 rows, Wilson's from 40 on.

    That is the recommendation of Brown, Cai and DasGupta (2001), section 5. Parameters, results and errors
    are those of `wilson_interval`. Jeffreys' limits are quantiles of Beta(events + 1/2, n - events + 1/2); the lower
    one is 0 without events, and the upper one 1 when every row is an event.

    References
    ----------
    Brown, L. D., Cai, T. T., DasGupta, A. (2001). Statistical Science 16, 101-133, sections 4.1.1 and 5.

    Examples
    --------
    >>> low, high = rate_interval(0, 10)
    >>> low, round(high, 4)
    (0.0, 0.2172)
    >>> rate_interval(30, 200) == wilson_interval(30, 200)
    True
    """
    x, rows = counts_pair(events, n)
    x, rows = np.broadcast_arrays(x, rows)
    low, high = wilson_limits(x, rows, _z(confidence))
    few = rows < JEFFREYS_BELOW
    if few.any():
        exact_low, exact_high = _jeffreys(x, rows, confidence)
        low, high = np.where(few, exact_low, low), np.where(few, exact_high, high)
    return _plain(low, high)


@overload
def newcombe_interval(
    events_a: float, n_a: float, events_b: float, n_b: float, confidence: float = ...
) -> tuple[float, float]: ...
@overload
def newcombe_interval(
    events_a: Numbers, n_a: Numbers, events_b: Numbers, n_b: Numbers, confidence: float = ...
) -> Limits: ...
def newcombe_interval(events_a: Any, n_a: Any, events_b: Any, n_b: Any, confidence: float = 0.95) -> tuple[Any, Any]:
    """Newcombe's hybrid score interval for the difference of two proportions, a minus b.

    Parameters
    ----------
    events_a, n_a, events_b, n_b : float or array
        Events and rows of the two groups.
    confidence : float, default 0.95
        Coverage wanted.

    Returns
    -------
    low, high : float or array of float64
        Limits inside [-1, 1], positive when a has the higher rate; NaN where a group has no rows.

    Raises
    ------
    DataError
        Events outside 0..n, or not finite.
    SpecError
        Confidence outside (0, 1).

    References
    ----------
    Newcombe, R. G. (1998). Interval estimation for the difference between independent proportions. Statistics
    in Medicine 17, 873-890, method 10.

    Examples
    --------
    >>> low, high = newcombe_interval(56, 70, 48, 80)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    z = _z(confidence)
    x_a, rows_a = counts_pair(events_a, n_a)
    x_b, rows_b = counts_pair(events_b, n_b)
    low_a, high_a = wilson_limits(x_a, rows_a, z)
    low_b, high_b = wilson_limits(x_b, rows_b, z)
    rate_a, rate_b = _divide(x_a, rows_a), _divide(x_b, rows_b)
    low, high = difference_limits(rate_a, low_a, high_a, rate_b, low_b, high_b)
    return _plain(np.maximum(low, -1.0), np.minimum(high, 1.0))


def wilson_limits(events: Floats, n: Floats, critical: ArrayLike) -> Limits:
    """Wilson's limits at critical values that broadcast against the counts; NaN without rows.

    Parameters
    ----------
    events, n : ndarray of float64
        Events and rows; weighted counts need not be whole numbers.
    critical : float or ndarray of float64
        Quantiles of the standard normal distribution, or larger ones, for several intervals at once.
    """
    z = np.asarray(critical, dtype=np.float64)
    square = z * z
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (events + 0.5 * square) / (n + square)
        half = z / (n + square) * np.sqrt(np.maximum(events * (n - events) / n, 0.0) + 0.25 * square)
    low = np.where(events == 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(events == n, 1.0, np.minimum(centre + half, 1.0))
    return np.where(n == 0, np.nan, low), np.where(n == 0, np.nan, high)


def difference_limits(a: Floats, low_a: Floats, high_a: Floats, b: Floats, low_b: Floats, high_b: Floats) -> Limits:
    """Interval of a - b from the limits of each: square-and-add, or MOVER (method of variance estimates recovery).

    With Wilson's limits this is Newcombe's interval.

    References
    ----------
    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702.
    """
    with np.errstate(invalid="ignore"):
        return a - b - np.hypot(a - low_a, high_b - b), a - b + np.hypot(high_a - a, b - low_b)


@overload
def koopman_interval(
    events_a: float, n_a: float, events_b: float, n_b: float, confidence: float = ...
) -> tuple[float, float]: ...
@overload
def koopman_interval(
    events_a: Numbers, n_a: Numbers, events_b: Numbers, n_b: Numbers, confidence: float = ...
) -> Limits: ...
def koopman_interval(events_a: Any, n_a: Any, events_b: Any, n_b: Any, confidence: float = 0.95) -> tuple[Any, Any]:
    """Koopman's score interval for the ratio of two proportions, a over b.

    All ratios whose score statistic, with both proportions estimated under that ratio, stays within the
    normal quantile. The limits are found step by step on the logarithm of the ratio, to about 1e-12.

    Parameters
    ----------
    events_a, n_a, events_b, n_b : float or array
        Events and rows of the two groups.
    confidence : float, default 0.95
        Coverage wanted.

    Returns
    -------
    low, high : float or array of float64
        0 <= low <= high <= inf, above 1 when a has the higher rate. Without events in a the lower limit is 0,
        without events in b the upper limit is infinite. NaN where a group has no rows.

    Raises
    ------
    DataError
        Events outside 0..n, or not finite.
    SpecError
        Confidence outside (0, 1).

    References
    ----------
    Koopman, P. A. R. (1984). Confidence intervals for the ratio of two binomial proportions. Biometrics 40,
    513-517.

    Examples
    --------
    >>> low, high = koopman_interval(36, 40, 16, 80)
    >>> round(low, 2), round(high, 2)
    (2.94, 7.15)
    """
    z = _z(confidence)
    x_a, rows_a = counts_pair(events_a, n_a)
    x_b, rows_b = counts_pair(events_b, n_b)
    x_a, rows_a, x_b, rows_b = (np.asarray(one) for one in np.broadcast_arrays(x_a, rows_a, x_b, rows_b))
    empty = (rows_a == 0) | (rows_b == 0)
    lower, upper = _ratio_limits(x_a, rows_a, x_b, rows_b, z)
    low, high = np.where(x_a == 0, 0.0, lower), np.where(x_b == 0, np.inf, upper)
    return _plain(np.where(empty, np.nan, low), np.where(empty, np.nan, high))


def _ratio_limits(
    x_a: NDArray[np.float64],
    rows_a: NDArray[np.float64],
    x_b: NDArray[np.float64],
    rows_b: NDArray[np.float64],
    z: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ratios at which the signed score statistic, which falls as the ratio grows, equals z and -z.

    NaN where there is none to look for: the lower one without events in a, the upper one without events in b.
    """
    counts = np.tile(np.stack([one.ravel() for one in (x_a, rows_a, x_b, rows_b)]), 2)
    target = np.repeat([z, -z], x_a.size)
    roots = np.full(target.size, np.nan)
    sought = np.flatnonzero((counts[1] > 0) & (counts[3] > 0) & (np.where(target > 0, counts[0], counts[2]) > 0))
    roots[sought] = np.exp(_log_ratios(counts[:, sought], target[sought]))
    return roots[: x_a.size].reshape(x_a.shape), roots[x_a.size :].reshape(x_a.shape)


def _log_ratios(counts: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms of the ratios at which the score equals its target: secant steps inside a shrinking bracket."""
    rate_a, rate_b = (counts[0] + 0.5) / (counts[1] + 1.0), (counts[2] + 0.5) / (counts[3] + 1.0)
    # Near the estimate the score is close to linear, with the inverse of this standard error as its slope.
    error = np.sqrt((1.0 - rate_a) / (counts[0] + 0.5) + (1.0 - rate_b) / (counts[2] + 0.5))
    here = np.clip(np.log(rate_a / rate_b) - target * error, -49.0, 49.0)
    low, high = np.full(here.size, -50.0), np.full(here.size, 50.0)
    roots: NDArray[np.float64] = np.empty_like(here)
    left = np.arange(here.size)
    last, at_last = np.full(here.size, np.nan), np.full(here.size, np.nan)
    for step in range(120):
        excess = _ratio_score(counts[0], counts[1], counts[2], counts[3], np.exp(here)) - target
        too_low, met = excess > 0.0, excess == 0.0
        low, high = np.where(too_low, here, low), np.where(too_low, high, here)
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = here - excess * (here - last) / (excess - at_last) if step else here + excess * error
        close = (np.abs(secant - here) < 1e-11) | met
        # Where the score bends too much for secants, every second step halves the bracket.
        halve = ~((secant > low) & (secant < high)) | (step > 8 and step % 2 == 0)
        following = np.where(met, here, np.where(close | ~halve, secant, 0.5 * (low + high)))
        done = close | (high - low < 1e-13)
        roots[left] = following
        if done.all():
            break
        last, at_last, here = here, excess, following
        if done.any():
            keep = ~done
            counts, target, left = counts[:, keep], target[keep], left[keep]
            last, at_last, here = last[keep], at_last[keep], here[keep]
            low, high, error = low[keep], high[keep], error[keep]
    return roots


def _ratio_score(
    x_a: NDArray[np.float64],
    rows_a: NDArray[np.float64],
    x_b: NDArray[np.float64],
    rows_b: NDArray[np.float64],
    ratio: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Signed score statistic of the hypothesis rate_a = ratio * rate_b."""
    # Restricted maximum likelihood: rate b is the smaller root of a r^2 - b r + c = 0, written as
    # 2c / (b + sqrt(b^2 - 4ac)) because that does not cancel.
    a = (rows_a + rows_b) * ratio
    b = rows_a * ratio + x_a + rows_b + x_b * ratio
    c = x_a + x_b
    with np.errstate(divide="ignore", invalid="ignore"):
        rate_b = 2.0 * c / (b + np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0)))
        rate_b = np.minimum(np.maximum(rate_b, 0.0), np.minimum(1.0, 1.0 / ratio))
        rate_a = np.minimum(ratio * rate_b, 1.0)
        variance = rate_a * (1.0 - rate_a) / rows_a + ratio**2 * rate_b * (1.0 - rate_b) / rows_b
        gap = x_a / rows_a - ratio * (x_b / rows_b)
        score: NDArray[np.float64] = np.where(gap == 0.0, 0.0, gap / np.sqrt(variance))
    return score


def _jeffreys(
    x: NDArray[np.float64], n: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    tail = 0.5 * (1.0 - confidence)
    low = np.where(x == 0, 0.0, special.betaincinv(x + 0.5, n - x + 0.5, tail))
    high = np.where(x == n, 1.0, special.betaincinv(x + 0.5, n - x + 0.5, 1.0 - tail))
    return np.where(n == 0, np.nan, low), np.where(n == 0, np.nan, high)


def _z(confidence: float) -> float:
    return float(special.ndtri(0.5 + 0.5 * fraction(confidence, "confidence")))


def _divide(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: NDArray[np.float64] = numerator / denominator
    return quotient


def _plain(low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[Any, Any]:
    """Arrays stay arrays; a pair of single numbers becomes a pair of floats."""
    if np.ndim(low) == 0 and np.ndim(high) == 0:
        return float(low), float(high)
    return low, high
