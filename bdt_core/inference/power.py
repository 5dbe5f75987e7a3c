"""Power: the smallest difference that the data can show, and the rows that a wanted difference needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bdt_core.errors import SpecError
from bdt_core.inference._checks import fraction


def minimum_detectable_difference(
    n_a: float,
    n_b: float,
    *,
    base_rate: float | None = None,
    sd: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> float:
    """Smallest true difference between two groups that a two-sided test finds with the given power.

    Parameters
    ----------
    n_a, n_b : int
        Rows of the two groups.
    base_rate : float, optional
        For proportions: the rate that both groups share when there is no difference, in [0, 1].
    sd : float, optional
        For means: the standard deviation inside the groups, in the variable's units. Exactly one of
        `base_rate` and `sd` is given.
    alpha : float, default 0.05
        Two-sided level of the test.
    power : float, default 0.8
        Chance wanted of finding the difference.

    Returns
    -------
    float
        Positive difference, in rates or in the units of `sd`. Infinite when no possible difference of two
        proportions, or no finite difference of means, would be found with that power.

    Raises
    ------
    SpecError
        Neither or both of `base_rate` and `sd`, or a value out of range.

    Notes
    -----
    Proportions: one group is at the base rate p and the other moves away from it towards one half, the
    direction in which the variance grows and a difference is harder to see. By the variance-stabilising
    transform phi = arcsin(sqrt(p)) (Cohen 1988, chapter 6), the difference is sin^2(phi + d) - sin^2(phi)
    with d = (z_{1 - alpha/2} + z_{power}) sqrt(1/n_a + 1/n_b) / 2. At p = .3 and a group of 50, 200 and 1,000
    rows among 10,000 that is .193, .095 and .044; the cruder formula with one variance, (z + z) sqrt(p (1 -
    p) (1/n_a + 1/n_b)), gives .182, .092 and .043, the average of both directions, and is far too optimistic
    for low rates: at p = .02 and 30 rows it promises .072, where the mid-p test has a power of one half.

    Means: (t_{1 - alpha/2} + t_{power}) sd sqrt(1/n_a + 1/n_b), with n_a + n_b - 2 degrees of freedom.

    Examples
    --------
    >>> round(minimum_detectable_difference(50, 9950, base_rate=0.3), 3)
    0.193
    >>> round(minimum_detectable_difference(100, 100, sd=2.0), 3)
    0.796
    """
    fraction(alpha, "alpha")
    fraction(power, "power")
    if n_a < 1 or n_b < 1:
        raise SpecError(f"Both groups need at least one row; found {n_a} and {n_b}.")
    _one_of(base_rate, sd)
    if base_rate is not None:
        return float(detectable_rate_difference(n_a, n_b, np.float64(base_rate), alpha, power))
    assert sd is not None
    if n_a + n_b < 3:
        return math.inf
    return float(detectable_mean_difference(sd * math.sqrt(1.0 / n_a + 1.0 / n_b), n_a + n_b - 2.0, alpha, power))


def rate_difference_beyond(
    limit: float,
    n_a: float,
    n_b: float,
    *,
    base_rate: float,
    alpha: float = 0.05,
    power: float = 0.8,
    inflation: float = 1.0,
) -> float:
    """Smallest true difference of two rates whose interval lies beyond a limit with the given power.

    Parameters
    ----------
    limit : float
        Difference that is tolerated, 0 or more.
    n_a, n_b : int
        Rows of the group and of everybody else.
    base_rate : float
        Rate of everybody else; that of the group is higher by the difference.
    alpha, power : float
        The interval has confidence 1 - alpha.
    inflation : float, default 1.0
        Standard errors are larger than those of single rows by this factor, as where rows depend on each other.

    Returns
    -------
    float
        Above the limit; infinite where no rate up to 1 would do.

    Notes
    -----
    d = limit + z_{1 - alpha/2} s(limit) + z_{power} s(d), where s(x) is the standard error at the rates base_rate + x
    and base_rate: a score interval excludes the limit by the variance at the limit, while the estimate has the variance
    at d. With a limit of 0 it is the usual formula for two proportions (Fleiss, Levin & Paik 2003, chapter 4).

    Examples
    --------
    >>> round(rate_difference_beyond(0.0, 100, 2000, base_rate=0.1), 3)
    0.094
    >>> round(rate_difference_beyond(0.05, 100, 2000, base_rate=0.1), 3)
    0.158
    """
    fraction(alpha, "alpha")
    fraction(power, "power")
    if limit + base_rate >= 1.0:
        return math.inf
    of_rest = base_rate * (1.0 - base_rate) / n_b

    def error(difference: float) -> float:
        rate = base_rate + difference
        return inflation * math.sqrt(rate * (1.0 - rate) / n_a + of_rest)

    start = limit + float(special.ndtri(1.0 - 0.5 * alpha)) * error(limit)
    z = float(special.ndtri(power))

    def missing(difference: float) -> float:
        return start + z * error(difference) - difference

    most = 1.0 - base_rate
    return float(optimize.brentq(missing, limit, most, xtol=1e-12)) if missing(most) < 0.0 else math.inf


def required_rows(
    difference: float,
    *,
    base_rate: float | None = None,
    sd: float | None = None,
    share: float = 0.5,
    alpha: float = 0.05,
    power: float = 0.8,
) -> int:
    """Rows that the smaller group needs, so that a difference is found with the given power.

    The inverse of `minimum_detectable_difference`: the least n for which n rows against
    n (1 - share) / share rows detect `difference`.

    Parameters
    ----------
    difference : float
        Difference wanted, in rates or in the units of `sd`; its sign does not matter.
    base_rate, sd : float, optional
        As in `minimum_detectable_difference`; exactly one of them.
    share : float, default 0.5
        Share of the smaller group among all rows, in (0, .5].
    alpha, power : float
        Two-sided level and power.

    Returns
    -------
    int
        Rows of the smaller group; all rows together are this divided by `share`.

    Raises
    ------
    SpecError
        A difference of 0, or one that the base rate leaves no room for.

    Examples
    --------
    >>> required_rows(0.1, base_rate=0.3)
    356
    >>> required_rows(0.1, base_rate=0.3, share=0.05)
    188
    """
    fraction(alpha, "alpha")
    fraction(power, "power")
    _one_of(base_rate, sd)
    least = abs(float(difference))
    if not 0.0 < least < math.inf:
        raise SpecError(f"The difference to be found must be a number other than 0; found {difference}.")
    if not 0.0 < share <= 0.5:
        raise SpecError(f"share, the smaller group's part of all rows, must lie in (0, .5]; found {share}.")
    if base_rate is not None:
        lower = min(base_rate, 1.0 - base_rate)
        if lower + least > 1.0:
            raise SpecError(f"A rate of {base_rate} cannot differ by {least} in either direction.")
        angle = math.asin(math.sqrt(lower + least)) - math.asin(math.sqrt(lower))
        per_root = _normal_sum(alpha, power) / (2.0 * angle)
    else:
        assert sd is not None
        per_root = _normal_sum(alpha, power) * sd / least
    rows = max(1, math.ceil(per_root**2 * (1.0 - share)))

    def is_detectable(n: int) -> bool:
        others = max(n, round(n * (1.0 - share) / share))
        detectable = minimum_detectable_difference(n, others, base_rate=base_rate, sd=sd, alpha=alpha, power=power)
        return detectable <= least

    while rows > 1 and is_detectable(rows - 1):
        rows -= 1
    while not is_detectable(rows):
        rows += 1
    return rows


def detectable_rate_difference(n_a: Any, n_b: Any, base_rate: Any, alpha: float, power: float) -> NDArray[np.float64]:
    """`minimum_detectable_difference` for proportions, over arrays."""
    start = np.arcsin(np.sqrt(np.minimum(base_rate, 1.0 - base_rate)))
    end = start + 0.5 * _normal_sum(alpha, power) * np.sqrt(1.0 / np.asarray(n_a) + 1.0 / np.asarray(n_b))
    return np.where(end > 0.5 * np.pi, np.inf, np.sin(end) ** 2 - np.sin(start) ** 2)


def detectable_mean_difference(standard_error: Any, df: Any, alpha: float, power: float) -> Any:
    """`minimum_detectable_difference` for means, from the standard error of their difference."""
    return (special.stdtrit(df, 1.0 - 0.5 * alpha) + special.stdtrit(df, power)) * standard_error


def _normal_sum(alpha: float, power: float) -> float:
    return float(special.ndtri(1.0 - 0.5 * alpha) + special.ndtri(power))


def _one_of(base_rate: float | None, sd: float | None) -> None:
    if (base_rate is None) == (sd is None):
        raise SpecError("Give either base_rate (proportions) or sd (means), and not both.")
    if base_rate is not None and not 0.0 <= base_rate <= 1.0:
        raise SpecError(f"base_rate must lie in [0, 1]; found {base_rate}.")
    if sd is not None and not 0.0 <= sd < math.inf:
        raise SpecError(f"sd must be a finite number, 0 or more; found {sd}.")
