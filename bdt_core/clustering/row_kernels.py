"""The compiled loops over rows one by one: their hashes, samples, order and density; see `kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bdt_core.clustering.kernels import CHUNK, Array, compiled, inner


@compiled  # type: ignore[untyped-decorator]
def densest(
    codes: Array, start: int, stop: int, counts: Array, offsets: Array, first: Array, ranks: Array, density: Array
) -> Any:
    """Of the rows from start to stop, the one whose levels are the most frequent ones: (density, position).

    Parameters
    ----------
    codes : array of shape (q, n)
    counts : float64 array of shape (L,), offsets : int64 array of shape (q,)
        How often each level occurs, and where each column's counts begin.
    first : int64 array of shape (q,) or (0,)
        Codes of another row; density counts times the number of columns that differ from it. Empty: just density.
    ranks : uint64 array of shape (n,)
        Of equally dense rows the one of lowest rank counts.
    density : float64 array of shape (n,)
        Written to when ``first`` is empty, else read.
    """
    best = -1.0
    row = start
    apart = np.empty(CHUNK, np.int16)
    for low in range(start, stop, CHUNK):
        size = min(low + CHUNK, stop) - low
        here = density[low : low + size]
        apart.fill(1)
        if first.size:
            apart.fill(0)
            for k in range(codes.shape[0]):
                code = codes[k][low : low + size]
                other = code.dtype.type(first[k])
                for i in range(size):
                    apart[i] += np.int16(code[i] != other)
        else:
            for i in range(size):
                here[i] = 0.0
            for k in range(codes.shape[0]):
                code = codes[k][low : low + size]
                for i in range(size):
                    here[i] += counts[offsets[k] + code[i]]
        for i in range(size):
            score = here[i] * apart[i]
            if score > best or (score == best and ranks[low + i] < ranks[row]):
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
    """Move the values of side a to the front and those of side b (True) to the back, each in their order, in place."""
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
def moments(values: Array, chosen: Array) -> Any:
    """Sum and sum of squares of the chosen int32 values, exactly.

    Parameters
    ----------
    values : int32 array of shape (n,)
    chosen : bool array of shape (n,)

    Returns
    -------
    tuple of int
        (rows, sum, high, low) with squares = high * 2**31 + low.
    """
    rows = np.int64(0)
    total = np.int64(0)
    high = np.int64(0)
    low = np.int64(0)
    for i in range(values.size):
        value = np.int64(values[i]) if chosen[i] else np.int64(0)
        square = value * value
        rows += chosen[i]
        total += value
        high += square >> 31
        low += square & 0x7FFFFFFF
    return rows, total, high, low
