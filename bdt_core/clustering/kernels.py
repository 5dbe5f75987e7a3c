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

Array = np.ndarray[Any, Any]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        for s in range(thresholds.size):
            _sides(
                numeric, codes, first, last, linear[s], thresholds[s], modes_a[s], modes_b[s], gamma,
                score, match, side,
            )  # fmt: skip
            if weights.size:
                weight = weights[first:last]
                rows[s] += _sum_where_weighted(weight, weight, side, True)
                for j in range(numeric.shape[0]):
                    sums[s, j] += _sum_where_weighted(numeric[j][first:last], weight, side, False)
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


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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


@njit(nogil=True, cache=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
def _sum_where(values: Array, side: Array) -> Any:
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i]) if side[i] else 0.0
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc"})  # type: ignore[untyped-decorator]
def _sum_where_weighted(values: Array, weight: Array, side: Array, alone: bool) -> Any:
    total = 0.0
    for i in range(values.size):
        value = 1.0 if alone else np.float64(values[i])
        total += weight[i] * value if side[i] else 0.0
    return total


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count(side: Array) -> Any:
    total = 0
    for i in range(side.size):
        total += side[i]
    return total


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _tally(code: Array, chosen: Array, weight: Array, counts: Array, offset: int) -> None:
    if weight.size:
        for i in chosen:
            counts[offset + code[i]] += weight[i]
    else:
        for i in chosen:
            counts[offset + code[i]] += 1.0


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _mixed(value: Any) -> Any:
    # The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
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
