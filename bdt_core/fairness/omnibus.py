"""One test of "all groups have the same rate"."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bdt_core.inference.exact import SMALLEST_P

SMALLEST_EXPECTED = 5.0
DRAWS = 9_999
_CELLS = 4_000_000


def equal_rates_p_value(events: NDArray[np.float64], n: NDArray[np.float64]) -> float | None:
    """p-value of the hypothesis that all groups have one rate.

    Parameters
    ----------
    events, n : ndarray of shape (groups,)
        Events and rows of each group; effective counts where rows have weights.

    Returns
    -------
    float or None
        Pearson's chi-squared test. With an expected count below 5 (whole counts only): the share of tables at
        least as extreme among 9,999 drawn with the same margins (fewer above 400 groups, never below 999). 1 when
        nobody or everybody is an event, None with fewer than two groups. It depends on the counts alone, not on
        the order of groups.

    Examples
    --------
    >>> round(equal_rates_p_value(np.array([30.0, 45.0]), np.array([100.0, 100.0])), 4)
    0.0285
    """
    occupied = n > 0
    # Sorted, so that names do not enter the drawing.
    pairs = sorted(zip(n[occupied].tolist(), events[occupied].tolist(), strict=True))
    if len(pairs) < 2:
        return None
    rows, hits = np.array(pairs).T
    total, all_hits = rows.sum(), hits.sum()
    if all_hits in (0.0, total):
        return 1.0
    statistic = float(_statistic(hits[None], rows, all_hits)[0])
    rarer = min(all_hits, total - all_hits)
    whole = bool((rows == np.floor(rows)).all() and (hits == np.floor(hits)).all())
    if rows[0] * rarer / total >= SMALLEST_EXPECTED or not whole or total >= 1e9:
        return max(float(special.chdtrc(len(rows) - 1, statistic)), SMALLEST_P)
    draws = min(DRAWS, max(999, _CELLS // len(rows)))
    rng = np.random.default_rng(0)
    as_extreme, at_once = 0, max(1, 1_000_000 // len(rows))
    for done in range(0, draws, at_once):
        size = min(at_once, draws - done)
        tables = rng.multivariate_hypergeometric(rows.astype(np.int64), int(all_hits), size=size, method="marginals")
        as_extreme += int((_statistic(tables, rows, all_hits) >= statistic * (1.0 - 1e-9)).sum())
    return (1 + as_extreme) / (1 + draws)


def _statistic(hits: NDArray[Any], rows: NDArray[np.float64], all_hits: float) -> NDArray[np.float64]:
    rate = all_hits / rows.sum()
    return np.asarray(((hits - rows * rate) ** 2 / (rows * rate * (1.0 - rate))).sum(axis=1))
