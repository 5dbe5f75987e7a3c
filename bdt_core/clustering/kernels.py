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
from numba import njit

CHUNK = 1024
"""Rows per chunk: ten float32 columns of it are 40 kB."""

CHUNK_FROM_MEMORY = 128
"""The same for numbers that come from memory: with short turns per column the processor reads further ahead."""

CACHED_CELLS = 1 << 22
"""Tables of more numbers are taken to come from memory."""

Array = np.ndarray[Any, Any]

_WITHIN = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
compiled = njit(nogil=True, cache=True)
inner = njit(**_WITHIN)  # called by the others only: quicker to compile
exact_sum = njit(**_WITHIN, fastmath={"reassoc"})


@compiled  # type: ignore[untyped-decorator]
def split_statistics(
    numeric: Array,
    codes: Array,
    weights: Array,
    start: int,
    stop: int,
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
    """Add what falls to side b of each of S splits, over the rows from start to stop.

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
        for s in range(thresholds.size):
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
        for i in chosen:
            counts[offset + code[i]] += weight[i]
    else:
        for i in chosen:
            counts[offset + code[i]] += 1.0


@compiled  # type: ignore[untyped-decorator]
def refine(
    numeric: Array,
    codes: Array,
    weights: Array,
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
    numeric, codes, weights
        As in `split_statistics`.
    means_a, means_b : float64 arrays of shape (S, p), modes_a, modes_b : int64 arrays of shape (S, q)
        Changed in place, to the prototypes of the last split.
    whole_rows, whole_sums, whole_counts
        Statistics of all rows, shapes (), (p,) and (L,).
    tolerance : float
        Rest when both prototypes together move by no more than this squared distance.
    linear, thresholds, rows, sums, counts : arrays
        As in `split_statistics`: the last split and its side b are written here.
    costs : float64 array of shape (S,)
        Cost of the last split, infinite where a side was left empty.
    """
    weight = numeric.dtype.type(gamma)
    start = np.int64(0)
    sums_a = np.empty_like(whole_sums)
    counts_a = np.empty_like(whole_counts)
    new_means_a = np.empty_like(whole_sums)
    new_means_b = np.empty_like(whole_sums)
    new_modes_a = np.empty(codes.shape[0], np.int64)
    new_modes_b = np.empty(codes.shape[0], np.int64)
    for s in range(costs.size):
        costs[s] = np.inf
        for done in range(1, max_passes + 1):
            for j in range(whole_sums.size):
                linear[s, j] = 2.0 * (means_b[s, j] - means_a[s, j])
            thresholds[s] = _squared_norm(means_b[s]) - _squared_norm(means_a[s])
            rows[s] = 0.0
            sums[s].fill(0.0)
            counts[s].fill(0.0)
            split_statistics(
                numeric, codes, weights, start, numeric.shape[1],
                linear[s : s + 1], thresholds[s : s + 1], modes_a[s : s + 1], modes_b[s : s + 1], weight, offsets,
                rows[s : s + 1], sums[s : s + 1], counts[s : s + 1],
            )  # fmt: skip
            rows_a = whole_rows - rows[s]
            if rows_a <= 0.0 or rows[s] <= 0.0:
                costs[s] = np.inf
                break
            _subtract(whole_sums, sums[s], sums_a)
            _subtract(whole_counts, counts[s], counts_a)
            before = costs[s]
            costs[s] = _centre(rows_a, sums_a, counts_a, gamma, offsets, new_means_a, new_modes_a) + _centre(
                rows[s], sums[s], counts[s], gamma, offsets, new_means_b, new_modes_b
            )
            shift = _squared_distance(new_means_a, means_a[s]) + _squared_distance(new_means_b, means_b[s])
            moved = shift > tolerance or _differ(new_modes_a, modes_a[s]) or _differ(new_modes_b, modes_b[s])
            if not (costs[s] < before and moved) or done == max_passes:
                break
            _copy(new_means_a, means_a[s])
            _copy(new_means_b, means_b[s])
            _copy(new_modes_a, modes_a[s])
            _copy(new_modes_b, modes_b[s])


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


@compiled  # type: ignore[untyped-decorator]
def densest(codes: Array, start: int, stop: int, counts: Array, offsets: Array, first: Array, hashes: Array) -> Any:
    """Of the rows from start to stop, the one whose levels are the most frequent ones: (density, position).

    Parameters
    ----------
    codes : array of shape (q, n)
    counts : float64 array of shape (L,), offsets : int64 array of shape (q,)
        How often each level occurs, and where each column's counts begin.
    first : int64 array of shape (q,) or (0,)
        Codes of another row; density counts times the number of columns that differ from it. Empty: just density.
    hashes : uint64 array of shape (n,)
        Of equally dense rows the one with the lowest counts.
    """
    best = -1.0
    row = start
    density = np.empty(CHUNK)
    apart = np.empty(CHUNK)
    for low in range(start, stop, CHUNK):
        size = min(low + CHUNK, stop) - low
        density.fill(0.0)
        apart.fill(0.0 if first.size else 1.0)
        for k in range(codes.shape[0]):
            code = codes[k][low : low + size]
            for i in range(size):
                density[i] += counts[offsets[k] + code[i]]
            if first.size:
                for i in range(size):
                    apart[i] += code[i] != first[k]
        for i in range(size):
            score = density[i] * apart[i]
            if score > best or (score == best and hashes[low + i] < hashes[row]):
                best = score
                row = low + i
    return best, row


@compiled  # type: ignore[untyped-decorator]
def hash_rows(bits: Array, codes: Array, start: int, stop: int, hashes: Array) -> None:
    """Write to ``hashes[start:stop]`` a 64-bit hash of each row's content.

    Parameters
    ----------
    bits : uint32 or uint64 array of shape (p, n)
        The numbers, seen as bits.
    codes : array of shape (q, n)
    hashes : uint64 array of shape (n,)
    """
    out = hashes[start:stop]
    for i in range(out.size):
        out[i] = 0
    for j in range(bits.shape[0]):
        column = bits[j][start:stop]
        for i in range(out.size):
            out[i] = _mixed(out[i] + np.uint64(column[i]))
    for k in range(codes.shape[0]):
        code = codes[k][start:stop]
        for i in range(out.size):
            out[i] = _mixed(out[i] + np.uint64(code[i]))


@compiled  # type: ignore[untyped-decorator]
def rows_below(hashes: Array, key: Any, limit: Any) -> Any:
    """Positions and values of the hashes, seeded with a key, that are at most limit; all uint64."""
    size = 0
    for i in range(hashes.size):
        size += _mixed(hashes[i] ^ key) <= limit
    where = np.empty(size + 1, np.int64)  # one spare place, so that the loop below needs no branch
    value = np.empty(size + 1, np.uint64)
    size = 0
    for i in range(hashes.size):
        seeded = _mixed(hashes[i] ^ key)
        where[size] = i
        value[size] = seeded
        size += seeded <= limit
    return where[:size], value[:size]


@inner  # type: ignore[untyped-decorator]
def _mixed(value: Any) -> Any:
    # The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@compiled  # type: ignore[untyped-decorator]
def partition(column: Array, sides: Array) -> None:
    """Move the values of side a to the front and those of side b to the back, each in their order.

    Parameters
    ----------
    column : array of shape (n,)
        Changed in place.
    sides : bool array of shape (n,)
        True for side b.
    """
    size = 0
    for i in range(sides.size):
        size += sides[i]
    later = np.empty(size + 1, column.dtype)
    a = 0
    b = 0
    for i in range(column.size):
        value = column[i]
        column[a] = value
        later[b] = value
        a += not sides[i]
        b += sides[i]
    for i in range(b):
        column[a + i] = later[i]


@compiled  # type: ignore[untyped-decorator]
def moments(values: Array) -> Any:
    """Sum and sum of squares of int32 values, exactly: (sum, high, low) with squares = high * 2**31 + low."""
    total = np.int64(0)
    high = np.int64(0)
    low = np.int64(0)
    for i in range(values.size):
        value = np.int64(values[i])
        square = value * value
        total += value
        high += square >> 31
        low += square & 0x7FFFFFFF
    return total, high, low
