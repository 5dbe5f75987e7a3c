"""The compiled loops over the hashes of people, serial and free of the interpreter lock.

They do what `bdt_core.table.ranks.mixed` and `content_sums`, and pandas' hashes of float64 and of rows, do, to the bit.
Import this module where it is needed only: the compiler takes a third of a second to load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

compiled = njit(nogil=True, cache=True, no_cfunc_wrapper=True)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_NAN, _MINUS_ZERO = np.uint64(0x7FF8000000000000), np.uint64(0x8000000000000000)
_ABOVE_INFINITY, _WITHOUT_SIGN = np.uint64(0x7FF0000000000000), np.uint64(0x7FFFFFFFFFFFFFFF)


@njit(nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _scattered(value: Any) -> Any:
    value = (value ^ (value >> _30)) * _FIRST
    value = (value ^ (value >> _27)) * _SECOND
    return value ^ (value >> _31)


@njit(nogil=True, inline="always")  # type: ignore[untyped-decorator]
def _hash_of_bits(value: Any) -> Any:
    if (value & _WITHOUT_SIGN) > _ABOVE_INFINITY:
        value = _NAN
    elif value == _MINUS_ZERO:
        value = np.uint64(0)
    return _scattered(value)


@compiled  # type: ignore[untyped-decorator]
def scatter(values: Array) -> None:
    """Mix numbers to which the golden ratio was added already, in place: an uint64 array of shape (n,)."""
    for i in range(values.size):
        values[i] = _scattered(values[i])


@compiled  # type: ignore[untyped-decorator]
def hash_column(values: Array, is_bits: bool, hashes: Array, total: Array) -> None:
    """Mixed hashes of a column, and their sum over columns.

    Parameters
    ----------
    values : uint64 array of shape (n,)
        Hashes; or the bits of float64, of which one stands for all that are no number, and one for both zeros.
    is_bits : bool
    hashes : uint64 array of shape (n,)
        Is written.
    total : uint64 array of shape (n,)
        Is added to.
    """
    for i in range(values.size):
        value = _hash_of_bits(values[i]) if is_bits else values[i]
        value = _scattered(value + _GOLDEN)
        hashes[i] = value
        total[i] += value


@compiled  # type: ignore[untyped-decorator]
def combine_hashes(values: Array, is_bits: bool, multiplier: Any, hashes: Array) -> None:
    """Bring a further column into the hashes of rows, as pandas does.

    Parameters
    ----------
    values : uint64 array of shape (n,)
        As of `hash_column`.
    is_bits : bool
    multiplier : uint64
    hashes : uint64 array of shape (n,)
        Are changed.
    """
    for i in range(values.size):
        value = _hash_of_bits(values[i]) if is_bits else values[i]
        hashes[i] = (hashes[i] ^ value) * multiplier


@compiled  # type: ignore[untyped-decorator]
def least_hashes(values: Array, without: Array, most: Any, least: Array, rows: Array) -> None:
    """The least mixed hash of each bucket, and how many rows have it.

    Parameters
    ----------
    values, without : uint64 array of shape (n,)
        What is mixed is the difference.
    most : uint64
        Hashes above it within their bucket are passed over.
    least, rows : array of uint64 and of int64, shape (512,)
        Are brought up to date.
    """
    for i in range(values.size):
        value = _scattered(values[i] - without[i] + _GOLDEN)
        if value << np.uint64(9) <= most:
            bucket = value >> np.uint64(55)
            if value < least[bucket]:
                least[bucket], rows[bucket] = value, 1
            elif value == least[bucket]:
                rows[bucket] += 1


@compiled  # type: ignore[untyped-decorator]
def content_words(values: Array, sums: Array) -> None:
    """Sums of hashes that are mixed once more each time, the first of them mixed already.

    Parameters
    ----------
    values : uint64 array of shape (n,)
    sums : uint64 array
        Are added to.
    """
    for i in range(values.size):
        word = _scattered(values[i] + _GOLDEN)
        for k in range(sums.size):
            word = _scattered(word + _GOLDEN)
            sums[k] += word
