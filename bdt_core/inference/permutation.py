"""The studentised permutation test of two means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference.exchange import drawn_counts

PERMUTATIONS = 9_999
FEWEST_ROWS = 30
SKEW_LIMIT = 0.05
LARGEST_DRAW = 10_000
MOST_VALUES = 2_000
SHUFFLE_UP_TO = 1_000
MOST_ROWS_DRAWN = 999_999_999
"""NumPy draws no tables of more."""

_TIE = 1e-9
_NO_VARIANCE = 1e-13
_CELLS_AT_ONCE = 2_000_000
_ROWS_AT_HAND = 2_000_000


class PermutationResult(NamedTuple):
    """Two-sided p-value, and the values of t that leave alpha / 2 below and above under permutation."""

    p_value: float
    low_t: float
    high_t: float


def skewness_of_difference(second: float, third: float, n_a: int, n_b: int) -> float:
    """Absolute skewness of mean(a) - mean(b), from the second and third moment around the group means in both groups.

    The two are samples of one distribution; see `bdt_core.inference.comparison.needs_permutation`.
    """
    over_a, over_b = 1.0 / n_a, 1.0 / n_b
    imbalance = abs(over_a**2 - over_b**2) / (over_a + over_b) ** 1.5
    return float(abs(third) / second**1.5 * imbalance)


def permutation_test_of_counts(
    values: NDArray[np.float64],
    in_a: NDArray[np.int64],
    in_b: NDArray[np.int64],
    *,
    alpha: float = 0.05,
    random_state: int = 0,
) -> PermutationResult:
    """Permutation test of equal means with Welch's t as its statistic, from how often each value occurs.

    Exact when both samples come from one distribution, and valid for large samples when only the means agree (that is
    what the studentising is for; Janssen 1997, Statistics & Probability Letters 36, 9-21). `values` rise, shape (v,),
    at least 2 of them; `in_a` and `in_b` are the rows of the two samples with each, at least 2 in each sample and
    together 1 of each value.

    The p-value is twice the smaller of the two tails, each (1 + permutations at least as extreme) / (permutations + 1),
    so that each direction has half of the error; never below 2e-4 (Phipson & Smyth 2010, SAGMB 9(1), 39). The interval
    from difference - high_t * standard error to difference - low_t * standard error excludes 0 exactly when p_value <=
    alpha.

    The pooled values are sorted and counted first, so that the order of the rows does not matter. With few distinct
    values a permutation is one multivariate hypergeometric draw of their counts, at a cost that does not grow with the
    rows.
    """
    counts = in_a + in_b
    n_a, n_b = int(in_a.sum()), int(in_b.sum())
    centred = values - (values * counts).sum() / counts.sum()
    centred /= np.abs(centred).max()
    squared = centred**2
    smaller, larger = sorted((n_a, n_b))
    totals = float((counts * centred).sum()), float((counts * squared).sum())

    drawn = in_a if n_a <= n_b else in_b
    rng = np.random.default_rng(random_state)
    sums, squares = (
        _draw_counts(centred, counts, smaller, rng)
        if _counting_is_cheaper(values.size, smaller, smaller + larger)
        else _draw_rows(centred, counts, smaller, rng)
    )
    # The observed split comes first; it is one of the permutations.
    sums, squares = np.r_[(drawn * centred).sum(), sums], np.r_[(drawn * squared).sum(), squares]
    t = _welch_t(sums, squares, smaller, larger, totals)
    if n_a > n_b:
        t = -t
    if n_a == n_b:  # the other half of every split is as likely, and makes a and b exchangeable
        t = np.concatenate([t, -t])

    # No `permutation_p_value`: the observed split is one of `t`, and twice so where the groups are of one size.
    observed = float(t[0])
    tie = _TIE * abs(observed) if np.isfinite(observed) else 0.0
    tail = min(int((t >= observed - tie).sum()), int((t <= observed + tie).sum()))
    # 2 tail / size <= alpha exactly when the tail holds at most this many.
    allowed = int(np.floor(0.5 * alpha * t.size + 1e-9))
    if allowed == 0:
        low_t, high_t = -np.inf, np.inf
    else:
        ordered = np.partition(t, [allowed, t.size - 1 - allowed])
        low_t, high_t = min(0.0, ordered[allowed]), max(0.0, ordered[t.size - 1 - allowed])
    widen = 1.0 + _TIE
    return PermutationResult(min(1.0, 2.0 * tail / t.size), float(low_t * widen), float(high_t * widen))


def _counting_is_cheaper(distinct: int, smaller: int, rows: int) -> bool:
    # One hypergeometric draw per distinct value takes about as long as moving seven rows.
    moves = rows if rows <= SHUFFLE_UP_TO else 1_500 + 1.5 * smaller
    return 7 * distinct <= moves


def _draw_counts(
    values: NDArray[np.float64], counts: NDArray[Any], size: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and sum of squares of `size` rows drawn without replacement, from the counts of distinct values."""
    # Sums, not matrix products: those may depend on the number of threads in their last digit.
    pieces = [
        ((drawn * values).sum(axis=1), (drawn * values**2).sum(axis=1))
        for drawn in drawn_counts(counts, size, PERMUTATIONS, rng)
    ]
    sums, squares = (np.concatenate(one) for one in zip(*pieces, strict=True))
    return sums, squares


def _draw_rows(
    values: NDArray[np.float64], counts: NDArray[Any], size: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum and sum of squares of `size` rows drawn without replacement, row by row."""
    sums, squares = np.empty(PERMUTATIONS), np.empty(PERMUTATIONS)
    ends = np.cumsum(counts)
    if ends[-1] > _ROWS_AT_HAND:
        for i in range(PERMUTATIONS):
            chosen = rng.choice(ends[-1], size, replace=False, shuffle=False)
            drawn = values[np.searchsorted(ends, chosen, side="right")]
            sums[i], squares[i] = drawn.sum(), np.square(drawn).sum()
        return sums, squares
    rows = np.repeat(values, counts)
    if rows.size > SHUFFLE_UP_TO:
        for i in range(PERMUTATIONS):
            drawn = rows[rng.choice(rows.size, size, replace=False, shuffle=False)]
            sums[i], squares[i] = drawn.sum(), np.square(drawn).sum()
        return sums, squares
    at_once = max(1, _CELLS_AT_ONCE // rows.size)
    for done in range(0, PERMUTATIONS, at_once):
        block = np.tile(rows, (min(at_once, PERMUTATIONS - done), 1))
        shuffled = rng.permuted(block, axis=1, out=block)[:, :size]
        sums[done : done + len(block)] = shuffled.sum(axis=1)
        squares[done : done + len(block)] = np.square(shuffled).sum(axis=1)
    return sums, squares


def _welch_t(
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    size: int,
    rest: int,
    totals: tuple[float, float],
) -> NDArray[np.float64]:
    """Welch's t of `size` drawn rows against the `rest` others, from sums and sums of squares."""
    other_sums, other_squares = totals[0] - sums, totals[1] - squares
    gap = sums / size - other_sums / rest
    variance = (squares - sums**2 / size) / (size - 1) / size
    variance += (other_squares - other_sums**2 / rest) / (rest - 1) / rest
    # Values lie in [-1, 1]: what is left of two constant groups is rounding.
    error = np.sqrt(np.where(variance * size < _NO_VARIANCE, 0.0, variance))
    with np.errstate(divide="ignore", invalid="ignore"):
        t: NDArray[np.float64] = np.where(np.abs(gap) <= _TIE * error, 0.0, gap / error)
    return np.where(np.isnan(t), 0.0, t)
