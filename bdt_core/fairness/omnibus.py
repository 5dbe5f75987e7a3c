"""One test of "all groups have the same rate"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference.exact import SMALLEST_P
from bdt_core.inference.exchange import drawn_counts, permutation_p_value

SMALLEST_EXPECTED = 5.0
DRAWS = 9_999
MANY_GROUPS = 400


def equal_rates_p_value(events: NDArray[np.float64], n: NDArray[np.float64]) -> float | None:
    """p-value of the hypothesis that all groups have one rate.

    Parameters
    ----------
    events, n : ndarray of shape (groups,)
        Events and rows of each group; effective counts where rows have weights.

    Returns
    -------
    float or None
        Of Pearson's chi-squared statistic: by its usual distribution when no expected count is below 5 (or counts
        are not whole); else, with more than 400 groups and on average one event and one other or more in a group,
        by the gamma distribution that has the statistic's exact mean and variance given the margins; else the share
        of tables at least as extreme among 9,999 drawn with the same margins (fewer above 400 groups, never below
        999). 1 when nobody or everybody is an event, None with fewer than two groups. It depends on the counts
        alone, not on the order of groups.

    References
    ----------
    Dawson, R. B. (1954). A simplified expression for the variance of the chi-squared function on a contingency
    table. Biometrika 41, 280.

    Examples
    --------
    >>> round(equal_rates_p_value(np.array([30.0, 45.0]), np.array([100.0, 100.0])), 4)
    0.0285
    """
    occupied = n > 0
    order = np.lexsort((events[occupied], n[occupied]))  # sorted, so that names do not enter the drawing
    rows, hits = n[occupied][order], events[occupied][order]
    if rows.size < 2:
        return None
    total, all_hits = float(rows.sum()), float(hits.sum())
    if all_hits in (0.0, total):
        return 1.0
    statistic = float(_statistic(hits[None], rows, all_hits)[0])
    rarer = min(all_hits, total - all_hits)
    whole = bool((rows == np.floor(rows)).all() and (hits == np.floor(hits)).all())
    if rows[0] * rarer / total >= SMALLEST_EXPECTED or not whole or total >= 1e9:
        return max(float(special.chdtrc(rows.size - 1, statistic)), SMALLEST_P)
    if rows.size > MANY_GROUPS and rarer >= rows.size:
        return max(_by_moments(statistic, rows, all_hits), SMALLEST_P)
    return _by_drawing(statistic, rows, all_hits, min(DRAWS, max(999, DRAWS * MANY_GROUPS // rows.size)))


def _by_moments(statistic: float, rows: NDArray[np.float64], all_hits: float) -> float:
    """Tail of the gamma distribution with the mean and variance of the statistic over all tables of these margins."""
    groups, total = rows.size, float(rows.sum())
    mean = total * (groups - 1) / (total - 1)
    uneven_groups = (total * float((1.0 / rows).sum()) - groups**2) / (total - 2)
    uneven_outcomes = (total / all_hits + total / (total - all_hits) - 4) / (total - 2)
    spread_groups = (groups - 1) * (total - groups) / (total - 1) - uneven_groups
    spread_outcomes = (total - 2) / (total - 1) - uneven_outcomes
    variance = 2 * total / (total - 3) * spread_groups * spread_outcomes
    variance += total**2 / (total - 1) * uneven_groups * uneven_outcomes
    return float(special.gammaincc(mean * mean / variance, statistic * mean / variance))


def _by_drawing(statistic: float, rows: NDArray[np.float64], all_hits: float, draws: int) -> float:
    as_extreme = 0
    for tables in drawn_counts(rows.astype(np.int64), int(all_hits), draws, np.random.default_rng(0)):
        as_extreme += int((_statistic(tables, rows, all_hits) >= statistic * (1.0 - 1e-9)).sum())
    return permutation_p_value(as_extreme, draws)


def _statistic(hits: NDArray[Any], rows: NDArray[np.float64], all_hits: float) -> NDArray[np.float64]:
    rate = all_hits / rows.sum()
    return np.asarray(((hits - rows * rate) ** 2 / (rows * rate * (1.0 - rate))).sum(axis=1))
