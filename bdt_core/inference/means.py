"""Two means: t statistics, intervals and effect size, all from rows, means and variances.

The functions take numbers or arrays (broadcast against each other). Variances are sample variances (ddof 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference._checks import fraction


class TTest(NamedTuple):
    """A t statistic (positive when a has the higher mean), its degrees of freedom and two-sided p-value."""

    statistic: NDArray[np.float64]
    df: NDArray[np.float64]
    p_value: NDArray[np.float64]


def welch_t(mean_a: Any, var_a: Any, n_a: Any, mean_b: Any, var_b: Any, n_b: Any) -> TTest:
    """Welch's t test of equal means, with the Welch-Satterthwaite degrees of freedom.

    Two constant groups with different means give an infinite statistic and a p-value of 0; with equal means, or with
    fewer than two rows on a side, everything is NaN.
    """
    rows_a, rows_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
    error, df = welch_error(var_a, rows_a, var_b, rows_b)
    return _t_test(np.asarray(mean_a) - mean_b, error, df, (rows_a < 2) | (rows_b < 2))


def pooled_t(mean_a: Any, var_a: Any, n_a: Any, mean_b: Any, var_b: Any, n_b: Any) -> TTest:
    """Student's t test of equal means with one pooled variance; edge cases as in `welch_t`."""
    rows_a, rows_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = pooled_sd(var_a, rows_a, var_b, rows_b) * np.sqrt(1.0 / rows_a + 1.0 / rows_b)
    return _t_test(np.asarray(mean_a) - mean_b, error, rows_a + rows_b - 2.0, (rows_a < 2) | (rows_b < 2))


def welch_interval(
    mean_a: Any, var_a: Any, n_a: Any, mean_b: Any, var_b: Any, n_b: Any, confidence: float = 0.95
) -> tuple[Any, Any]:
    """Welch's interval for the difference of two means, a minus b.

    Parameters
    ----------
    mean_a, var_a, n_a, mean_b, var_b, n_b : float or array
        Mean, sample variance (ddof 1) and rows of the two groups.
    confidence : float, default 0.95
        Coverage wanted.

    Returns
    -------
    low, high : float or array of float64
        In the variable's units, positive when a has the higher mean. NaN with fewer than two rows on a side
        or no variance on both.

    Raises
    ------
    SpecError
        Confidence outside (0, 1).

    References
    ----------
    Welch, B. L. (1947). Biometrika 34, 28-35.

    Examples
    --------
    >>> low, high = welch_interval(5.0, 4.0, 20, 4.0, 9.0, 30)
    >>> round(low, 4), round(high, 4)
    (-0.4217, 2.4217)
    """
    error, df = welch_error(var_a, n_a, var_b, n_b)
    return _around(np.asarray(mean_a, dtype=np.float64) - mean_b, error, df, confidence)


def mean_interval(mean: Any, variance: Any, n: Any, confidence: float = 0.95) -> tuple[Any, Any]:
    """Student's interval for one mean.

    Parameters
    ----------
    mean, variance, n : float or array
        Mean, sample variance (ddof 1) and rows.
    confidence : float, default 0.95
        Coverage wanted.

    Returns
    -------
    low, high : float or array of float64
        In the variable's units; NaN with fewer than two rows.

    Raises
    ------
    SpecError
        Confidence outside (0, 1).

    Examples
    --------
    >>> low, high = mean_interval(10.0, 4.0, 16)
    >>> round(low, 3), round(high, 3)
    (8.934, 11.066)
    """
    rows = np.asarray(n, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.asarray(variance, dtype=np.float64) / rows)
    return _around(np.asarray(mean, dtype=np.float64), error, rows - 1.0, confidence)


def hedges_g(mean_a: Any, var_a: Any, n_a: Any, mean_b: Any, var_b: Any, n_b: Any) -> NDArray[np.float64]:
    """Standardised difference of means over the pooled standard deviation, corrected for small samples.

    Exact correction of Hedges (1981, Journal of Educational Statistics 6, 107-128). NaN without variance.
    """
    rows_a, rows_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
    df = rows_a + rows_b - 2.0
    spread = pooled_sd(var_a, rows_a, var_b, rows_b)
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.exp(special.gammaln(df / 2.0) - special.gammaln((df - 1.0) / 2.0)) / np.sqrt(df / 2.0)
        g = correction * (np.asarray(mean_a) - mean_b) / spread
    return np.where(spread > 0.0, g, np.nan)


def pooled_sd(var_a: Any, n_a: Any, var_b: Any, n_b: Any) -> NDArray[np.float64]:
    """Pooled standard deviation inside two groups."""
    rows_a, rows_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = (rows_a - 1.0) * var_a + (rows_b - 1.0) * var_b
        root: NDArray[np.float64] = np.sqrt(squares / (rows_a + rows_b - 2.0))
    return root


def welch_error(var_a: Any, n_a: Any, var_b: Any, n_b: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard error of the difference of two means, and the Welch-Satterthwaite degrees of freedom."""
    rows_a, rows_b = np.asarray(n_a, dtype=np.float64), np.asarray(n_b, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        part_a, part_b = var_a / rows_a, var_b / rows_b
        total = part_a + part_b
        # Shares instead of squares: variances of 1e-300 would otherwise vanish.
        share = part_a / total
        df = 1.0 / (share**2 / (rows_a - 1.0) + (1.0 - share) ** 2 / (rows_b - 1.0))
        return np.sqrt(total), np.where((rows_a < 2) | (rows_b < 2), np.nan, df)


def shrink_of_few(df: float, alpha: float) -> float:
    """What effective rows are divided by where their variance has few degrees of freedom: squared t over normal."""
    return float(special.stdtrit(df, 1.0 - 0.5 * alpha) / special.ndtri(1.0 - 0.5 * alpha)) ** 2


def _t_test(difference: Any, error: Any, df: Any, undefined: Any) -> TTest:
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(undefined, np.nan, difference / error)
    p_value = np.where(np.isinf(statistic), 0.0, 2.0 * special.stdtr(df, -np.abs(statistic)))
    return TTest(statistic, df, np.where(np.isnan(statistic), np.nan, p_value))


def _around(centre: Any, error: Any, df: Any, confidence: float) -> tuple[Any, Any]:
    reach = special.stdtrit(df, 0.5 + 0.5 * fraction(confidence, "confidence")) * error
    low, high = centre - reach, centre + reach
    return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)
