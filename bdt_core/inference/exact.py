"""The mid-p test of two proportions, from the exact conditional distribution."""

from __future__ import annotations

import sys

import numpy as np

from bdt_core.errors import DataError

SMALLEST_P = sys.float_info.min
"""No p-value is reported as 0: below this number (2.2e-308) floats end, and the p-value is given as it."""

_NEGLIGIBLE = 1e-18


def mid_p_value(events_a: int, n_a: int, events_b: int, n_b: int) -> float:
    """Two-sided mid-p value for the equality of two proportions.

    Given all events of both groups, the events of group a follow a hypergeometric distribution when the
    proportions are equal. The one-sided mid-p is P(more extreme) + P(as observed) / 2; the two-sided value is
    twice the smaller of the two sides, so that each direction has half of the error.

    Parameters
    ----------
    events_a, n_a, events_b, n_b : int
        Events and rows of the two groups.

    Returns
    -------
    float
        In (0, 1]; 1 when the margins leave only one table (no events at all, only events, an empty group).

    Raises
    ------
    DataError
        Events outside 0..n.

    Notes
    -----
    Doubling was chosen over adding up all less likely tables. A mid-p test may exceed its level slightly:
    over 30 against 30 to 250 against 750 rows and base rates .02, .1, .3 and .5 the exact size at level .05
    is at most .056 for both ways (100 against 100 at .5); up to a base rate of .3 it is at most .0503 for
    doubling and .053 for the other, which also puts nearly all of its error on one side when the groups
    differ in size, and depends on ties between floats.

    No factorials are taken: the probabilities of all tables are summed relative to the observed one, by their
    ratio P(k + 1) / P(k) = (K - k)(n_a - k) / ((k + 1)(n_b - K + k + 1)), outwards until the terms vanish.
    That is exact to about 1e-13 relative at any number of rows, needs a number of terms proportional to the
    standard deviation, and holds down to 2.2e-308.

    References
    ----------
    Lancaster, H. O. (1961). Significance tests in discrete distributions. JASA 56, 223-234.
    Agresti, A. (2013). Categorical Data Analysis, 3rd ed., sections 3.5.5 and 16.6.

    Examples
    --------
    >>> round(mid_p_value(3, 4, 1, 4), 4)
    0.2571
    """
    if not (0 <= events_a <= n_a and 0 <= events_b <= n_b):
        raise DataError("Every count of events must lie between 0 and its number of rows.")
    events = events_a + events_b
    above = _sum_above(events_a, events, n_a, n_b)
    # The lower side of the events is the upper side of the non-events.
    below = _sum_above(n_a - events_a, n_a + n_b - events, n_a, n_b)
    side = min(above, below)
    one_sided = (0.5 + side) / (1.0 + above + below)
    return float(max(min(1.0, 2.0 * one_sided), SMALLEST_P))


def _sum_above(k: int, events: int, n_a: int, n_b: int) -> float:
    """Probability of more than k events in a, relative to that of k events; inf when it overflows."""
    last = min(events, n_a)
    total, weight, chunk = 0.0, 1.0, 64
    while k < last and weight > _NEGLIGIBLE * total:
        at = np.arange(k, min(k + chunk, last), dtype=np.float64)
        ratio = (events - at) * (n_a - at) / ((at + 1.0) * (n_b - events + at + 1.0))
        with np.errstate(over="ignore", invalid="ignore"):
            weights = weight * np.cumprod(ratio)
            total += float(weights.sum())
        if not np.isfinite(total):
            return float("inf")
        weight = float(weights[-1])
        k += len(at)
        chunk = min(2 * chunk, 65536)
    return total
