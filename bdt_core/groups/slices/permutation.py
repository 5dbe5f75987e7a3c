"""Max-T: adjusted p-values from permutations of the outcome, which keep how slices overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.slices.coding import CodedRows, Items
from bdt_core.groups.slices.outcome import CountedOutcome
from bdt_core.inference.exchange import permutation_p_value

_CELLS_AT_ONCE = 8_000_000
_EXACT_ROWS = 1 << 24  # whole numbers up to here are exact in float32
_TIE = 1e-9


def max_t_p_values(
    coded: CodedRows, harm_sign: float, slices: Sequence[Items], permutations: int, random_state: int
) -> NDArray[np.float64]:
    """Adjust one-sided p-values by the permutation distribution of the largest statistic.

    The statistic is the sum in the slice less its mean, over its standard deviation, both over all permutations of
    the outcome among the rows of the metric's denominator, positive when the slice fares worse. The adjusted p-value
    is the share of permutations (the data's own order counted as one) in which the largest statistic of all slices
    is at least as large.

    Parameters
    ----------
    coded : CodedRows
    harm_sign : float
        1 when higher is worse, -1 when lower is.
    slices : sequence of items
        At least one row of the denominator inside each, and one outside.
    permutations : int
    random_state : int

    Returns
    -------
    ndarray of float64, shape (slices,)
        They control the chance of any false discovery.

    References
    ----------
    Westfall, P. H., Young, S. S. (1993). Resampling-Based Multiple Testing, section 2.3.
    """
    values, rows = _outcome(coded)
    values *= harm_sign
    if values.min() == values.max():
        return np.ones(len(slices))
    rng = np.random.default_rng(random_state)
    at_once = max(1, _CELLS_AT_ONCE // max(values.size, 1))
    observed = _statistics(coded, slices, rows, values[:, None], at_once)[:, 0]
    largest = []
    for first in range(0, permutations, at_once):
        size = min(at_once, permutations - first)
        drawn = np.empty((values.size, size), dtype=values.dtype)
        for i in range(size):
            drawn[:, i] = rng.permutation(values)
        largest.append(_statistics(coded, slices, rows, drawn, at_once).max(axis=0))
    reached = np.sort(np.concatenate(largest))
    as_large = reached.size - np.searchsorted(reached, observed - _TIE, side="left")
    return np.array([permutation_p_value(n, permutations) for n in as_large.tolist()])


def _outcome(coded: CodedRows) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Outcome of the rows of the denominator, and where they are, in an order that depends on their content alone."""
    values: NDArray[Any]
    if isinstance(coded.outcome, CountedOutcome):
        rows = np.flatnonzero(coded.payload < 2)
        values = coded.payload[rows].astype(np.float32 if rows.size < _EXACT_ROWS else np.float64)
    else:
        rows = np.arange(coded.values.size)
        values = coded.values - coded.outcome.zero
    order = np.lexsort((*coded.codes[:, rows], values))
    return values[order], rows[order]


def _statistics(
    coded: CodedRows, slices: Sequence[Items], rows: NDArray[np.intp], outcomes: NDArray[Any], at_once: int
) -> NDArray[np.float64]:
    """Shape (slices, columns of `outcomes`)."""
    total, n = float(outcomes[:, 0].sum(dtype=np.float64)), len(outcomes)
    variance = float(outcomes[:, 0].var(ddof=1, dtype=np.float64))
    statistics = []
    for first in range(0, len(slices), at_once):
        inside = np.stack([coded.inside(one)[rows] for one in slices[first : first + at_once]])
        size = inside.sum(axis=1, dtype=np.float64)[:, None]
        sums = (inside.astype(outcomes.dtype) @ outcomes).astype(np.float64)
        deviation = np.sqrt(size * (n - size) / n * variance)
        statistics.append((sums - size * total / n) / deviation)
    return np.concatenate(statistics)
