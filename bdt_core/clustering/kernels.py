"""The compiled loops of the clustering, serial and free of the interpreter lock.

A caller maps them over blocks of rows with as many threads as it likes. Each works on one contiguous array per
column, in chunks of rows that stay in the first-level cache, and each has a NumPy twin in the tests that it
must equal to the bit.

Scores are computed column after column for every row alike, without reordering, so a row's side never depends
on the rows around it. Sums are sums of multiples of a power of two that stay below 2**53 of them (see
`bdt_core.table.encoding.Encoder`), so they are exact, and only there may the compiler reorder (``reassoc``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64, int64, njit, uint8

CHUNK = 1024
"""Rows per chunk: ten float32 columns of it are 40 kB."""

CHUNK_FROM_MEMORY = 128
"""The same for numbers that come from memory: with short turns per column the processor reads further ahead."""

CACHED_CELLS = 1 << 22
"""Tables of more numbers are taken to come from memory."""

Array = np.ndarray[Any, Any]

_WITHIN = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled = njit(nogil=True, cache=True, no_cfunc_wrapper=True)
inner = njit(**_WITHIN)  # called by the others only: quicker to compile
exact_sum = njit(**_WITHIN, fastmath={"reassoc"})


@compiled  # type: ignore[untyped-decorator]
def split_statistics(
    numeric: Array,
    codes: Array,
    weights: Array,
    start: int,
    stop: int,
    first_split: int,
    last_split: int,
    linear: Array,
    thresholds: Array,
    modes_a: Array,
    modes_b: Array,
    gamma: Any,
    offsets: Array,
    rows: Array,
    sums: Array,
    counts: Array,
) -> None:
    """Add what falls to side b of the splits from the first to before the last, over the rows from start to stop.

    Parameters
    ----------
    numeric : array of shape (p, n)
    codes : array of shape (q, n)
    weights : float64 array of shape (n,) or (0,)
        How often each row counts; once when empty.
    linear : array of shape (S, p), thresholds : array of shape (S,)
        In the dtype of numeric, like gamma.
    modes_a, modes_b : int64 arrays of shape (S, q)
    offsets : int64 array of shape (q,)
        Where each column's counts begin.
    rows, sums, counts : float64 arrays of shape (S,), (S, p), (S, L)
        Added to in place.
    """
    score = np.empty(CHUNK, numeric.dtype)
    match = np.empty(CHUNK, np.int16)
    side = np.empty(CHUNK, np.bool_)
    chosen = np.empty(CHUNK, np.int32)
    step = CHUNK if codes.shape[0] or numeric.size <= CACHED_CELLS else CHUNK_FROM_MEMORY
    for first in range(start, stop, step):
        last = min(first + step, stop)
        for s in range(first_split, last_split):
            _sides(
                numeric, codes, first, last, linear[s], thresholds[s], modes_a[s], modes_b[s], gamma,
                score, match, side,
            )  # fmt: skip
            if weights.size:
                weight = weights[first:last]
                rows[s] += _sum_where(weight, side)
                for j in range(numeric.shape[0]):
                    sums[s, j] += _sum_where_weighted(numeric[j][first:last], weight, side)
            else:
                rows[s] += _count(side[: last - first])
                for j in range(numeric.shape[0]):
                    sums[s, j] += _sum_where(numeric[j][first:last], side)
            if codes.shape[0]:
                size = 0
                for i in range(last - first):
                    chosen[size] = i
                    size += side[i]
                for k in range(codes.shape[0]):
                    _tally(codes[k][first:last], chosen[:size], weights[first:last], counts[s], offsets[k])


@compiled  # type: ignore[untyped-decorator]
def assign(
    numeric: Array,
    codes: Array,
    start: int,
    stop: int,
    linear: Array,
    threshold: Any,
    modes_a: Array,
    modes_b: Array,
    gamma: Any,
    sides: Array,
) -> None:
    """Write to ``sides[start:stop]`` which rows lie on side b of one split."""
    score = np.empty(CHUNK, numeric.dtype)
    match = np.empty(CHUNK, np.int16)
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        _sides(
            numeric, codes, first, last, linear, threshold, modes_a, modes_b, gamma,
            score, match, sides[first:last],
        )  # fmt: skip


@inner  # type: ignore[untyped-decorator]
def _sides(
    numeric: Array,
    codes: Array,
    first: int,
    last: int,
    linear: Array,
    threshold: Any,
    modes_a: Array,
    modes_b: Array,
    gamma: Any,
    score: Array,
    match: Array,
    side: Array,
) -> None:
    size = last - first
    score = score[:size]
    match = match[:size]
    for i in range(size):
        score[i] = 0
    for j in range(numeric.shape[0]):
        column = numeric[j][first:last]
        weight = linear[j]
        for i in range(size):
            score[i] += weight * column[i]
    if codes.shape[0]:
        for i in range(size):
            match[i] = 0
        for k in range(codes.shape[0]):
            code = codes[k][first:last]
            a = code.dtype.type(modes_a[k])
            b = code.dtype.type(modes_b[k])
            if a != b:
                for i in range(size):
                    match[i] += np.int16(code[i] == b) - np.int16(code[i] == a)
        for i in range(size):
            score[i] += gamma * score.dtype.type(match[i])
    for i in range(size):
        side[i] = score[i] > threshold


@exact_sum  # type: ignore[untyped-decorator]
def _sum_where(values: Array, side: Array) -> Any:
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i]) if side[i] else 0.0
    return total


@exact_sum  # type: ignore[untyped-decorator]
def _sum_where_weighted(values: Array, weight: Array, side: Array) -> Any:
    total = 0.0
    for i in range(values.size):
        total += weight[i] * np.float64(values[i]) if side[i] else 0.0
    return total


@inner  # type: ignore[untyped-decorator]
def _count(side: Array) -> Any:
    total = 0
    for i in range(side.size):
        total += side[i]
    return total


@inner  # type: ignore[untyped-decorator]
def _tally(code: Array, chosen: Array, weight: Array, counts: Array, offset: int) -> None:
    if weight.size:
        for n in range(chosen.size):
            i = chosen[n]
            counts[offset + code[i]] += weight[i]
    else:
        for n in range(chosen.size):
            counts[offset + code[chosen[n]]] += 1.0


@compiled  # type: ignore[untyped-decorator]
def refine(
    numeric: Array,
    codes: Array,
    weights: Array,
    start: int,
    stop: int,
    means_a: Array,
    modes_a: Array,
    means_b: Array,
    modes_b: Array,
    whole_rows: float,
    whole_sums: Array,
    whole_counts: Array,
    gamma: float,
    offsets: Array,
    tolerance: float,
    max_passes: int,
    linear: Array,
    thresholds: Array,
    rows: Array,
    sums: Array,
    counts: Array,
    costs: Array,
) -> None:
    """Move S pairs of prototypes to the centres of their rows until they rest, on rows that fit into a cache.

    Parameters
    ----------
    numeric, codes, weights, start, stop
        As in `split_statistics`.
    means_a, means_b : float64 arrays of shape (S, p), modes_a, modes_b : int64 arrays of shape (S, q)
        Changed in place, to the prototypes of the last split.
    whole_rows, whole_sums, whole_counts
        Statistics of all these rows, shapes (), (p,) and (L,).
    tolerance : float
        Rest when both prototypes together move by no more than this squared distance.
    linear, thresholds, rows, sums, counts : arrays
        As in `split_statistics`: the last split and its side b are written here.
    costs : float64 array of shape (S,)
        Cost of the last split, infinite where a side was left empty.
    """
    weight = numeric.dtype.type(gamma)
    sums_a = np.empty_like(whole_sums)
    counts_a = np.empty_like(whole_counts)
    new_means_a = np.empty_like(whole_sums)
    new_means_b = np.empty_like(whole_sums)
    new_modes_a = np.empty(codes.shape[0], np.int64)
    new_modes_b = np.empty(codes.shape[0], np.int64)
    sides = np.empty(stop, np.bool_)
    for s in range(costs.size):
        mean_a = means_a[s]
        mean_b = means_b[s]
        mode_a = modes_a[s]
        mode_b = modes_b[s]
        sum_b = sums[s]
        count_b = counts[s]
        costs[s] = np.inf
        for done in range(1, max_passes + 1):
            for j in range(whole_sums.size):
                linear[s, j] = 2.0 * (mean_b[j] - mean_a[j])
            thresholds[s] = _squared_norm(mean_b) - _squared_norm(mean_a)
            if done == 1:
                rows[s] = 0.0
                for j in range(sum_b.size):
                    sum_b[j] = 0.0
                for j in range(count_b.size):
                    count_b[j] = 0.0
                split_statistics(
                    numeric, codes, weights, start, stop, s, s + 1, linear, thresholds, modes_a, modes_b, weight,
                    offsets, rows, sums, counts,
                )  # fmt: skip
                assign(numeric, codes, start, stop, linear[s], thresholds[s], mode_a, mode_b, weight, sides)
            else:
                _change_sides(
                    numeric, codes, weights, start, stop, linear[s], thresholds[s], mode_a, mode_b, weight, offsets,
                    sides, rows[s : s + 1], sum_b, count_b,
                )  # fmt: skip
            rows_a = whole_rows - rows[s]
            if rows_a <= 0.0 or rows[s] <= 0.0:
                costs[s] = np.inf
                break
            _subtract(whole_sums, sum_b, sums_a)
            _subtract(whole_counts, count_b, counts_a)
            before = costs[s]
            costs[s] = _centre(rows_a, sums_a, counts_a, gamma, offsets, new_means_a, new_modes_a) + _centre(
                rows[s], sum_b, count_b, gamma, offsets, new_means_b, new_modes_b
            )
            shift = _squared_distance(new_means_a, mean_a) + _squared_distance(new_means_b, mean_b)
            moved = shift > tolerance or _differ(new_modes_a, mode_a) or _differ(new_modes_b, mode_b)
            if not (costs[s] < before and moved) or done == max_passes:
                break
            _copy(new_means_a, mean_a)
            _copy(new_means_b, mean_b)
            _copy(new_modes_a, mode_a)
            _copy(new_modes_b, mode_b)


@inner  # type: ignore[untyped-decorator]
def _change_sides(
    numeric: Array,
    codes: Array,
    weights: Array,
    start: int,
    stop: int,
    linear: Array,
    threshold: Any,
    modes_a: Array,
    modes_b: Array,
    gamma: Any,
    offsets: Array,
    sides: Array,
    rows: Array,
    sums: Array,
    counts: Array,
) -> None:
    """Bring ``sides``, and the sums of side b, up to date: from one pass to the next few rows change sides."""
    score = np.empty(CHUNK, numeric.dtype)
    match = np.empty(CHUNK, np.int16)
    side = np.empty(CHUNK, np.bool_)
    moved = np.zeros(CHUNK, np.bool_)
    eights = moved.view(np.uint64)
    chosen = np.empty(CHUNK, np.int32)
    change = np.empty(CHUNK, np.float64)
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        _sides(numeric, codes, first, last, linear, threshold, modes_a, modes_b, gamma, score, match, side)
        before = sides[first:last]
        for i in range(before.size):
            moved[i] = side[i] != before[i]
            before[i] = side[i]
        for i in range(before.size, CHUNK):
            moved[i] = False
        size = 0
        for eight in range(eights.size):
            if eights[eight]:
                for i in range(8 * eight, 8 * eight + 8):
                    chosen[size] = i
                    size += moved[i]
        for n in range(size):
            i = chosen[n]
            weight = weights[first + i] if weights.size else 1.0
            change[n] = weight if side[i] else -weight
            rows[0] += change[n]
        for j in range(numeric.shape[0]):
            column = numeric[j][first:last]
            for n in range(size):
                sums[j] += change[n] * np.float64(column[chosen[n]])
        for k in range(codes.shape[0]):
            code = codes[k][first:last]
            for n in range(size):
                counts[offsets[k] + code[chosen[n]]] += change[n]


@inner  # type: ignore[untyped-decorator]
def _centre(rows: float, sums: Array, counts: Array, gamma: float, offsets: Array, means: Array, modes: Array) -> Any:
    """Write the means and modes of a group of rows; return its cost around them."""
    for j in range(means.size):
        means[j] = sums[j] / rows
    mismatches = rows * modes.size
    for k in range(modes.size):
        mode = offsets[k]
        for level in range(offsets[k], offsets[k + 1]):
            if counts[level] > counts[mode]:
                mode = level
        modes[k] = mode - offsets[k]
        mismatches -= counts[mode]
    return gamma * mismatches - rows * _squared_norm(means)


@inner  # type: ignore[untyped-decorator]
def _squared_norm(point: Array) -> Any:
    total = 0.0
    for j in range(point.size):
        total += point[j] * point[j]
    return total


@inner  # type: ignore[untyped-decorator]
def _squared_distance(a: Array, b: Array) -> Any:
    total = 0.0
    for j in range(a.size):
        total += (a[j] - b[j]) * (a[j] - b[j])
    return total


# Assignments and comparisons of whole arrays take ten times as long to compile as these loops.


@inner  # type: ignore[untyped-decorator]
def _subtract(a: Array, b: Array, difference: Array) -> None:
    for j in range(a.size):
        difference[j] = a[j] - b[j]


@inner  # type: ignore[untyped-decorator]
def _differ(a: Array, b: Array) -> Any:
    for j in range(a.size):  # noqa: SIM110 - a loop compiles, a generator does not
        if a[j] != b[j]:
            return True
    return False


@inner  # type: ignore[untyped-decorator]
def _copy(source: Array, target: Array) -> None:
    for j in range(source.size):
        target[j] = source[j]


_ROWS = float32[:, ::1], uint8[:, ::1], float64[::1], int64, int64
_SPLITS = float32[:, ::1], float32[::1]
_VALUES, _MEANS, _MODES, _OFFSETS = float64[::1], float64[:, ::1], int64[:, ::1], int64[::1]
CALLED_WITH = {
    refine: (
        *_ROWS, _MEANS, _MODES, _MEANS, _MODES, float64, _VALUES, _VALUES, float64, _OFFSETS, float64, int64, *_SPLITS,
        _VALUES, _MEANS, _MEANS, _VALUES,
    ),
    split_statistics: (*_ROWS, int64, int64, *_SPLITS, _MODES, _MODES, float32, _OFFSETS, _VALUES, _MEANS, _MEANS),
}  # fmt: skip
"""What takes longest to compile, and the types that it is called with for numbers of 32 bits and at most 256 levels."""
