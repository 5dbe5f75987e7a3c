"""Hash of each row's content, and the random number that follows from it: rows are drawn without knowing the others.

Rows of equal content are told apart by a running number, their occurrence. Which of them has which number depends on
the order of the rows, but they are equal, so what is drawn does not.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.table.pool import blocks_of, mapped, stretches

Hashes = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HASHED_TOGETHER = 1 << 16
"""Rows, so few that what lies between their values and their hashes stays in a cache."""
WORDS = 4
_PART_BITS = 2
_PARTS, _PART = 1 << _PART_BITS, np.uint64(64 - _PART_BITS)
"""Copies among many rows are numbered in parts, each by a thread: the first bits of a hash say in which it is."""
_PLACE_BITS = 22
"""So many bits of a hash at most say where it falls: a table of all places stays in a cache."""
_MORE = 1.05
"""So many times the rows that are to be drawn are looked at, lest too few have a rank that is low enough."""
_MIXED_TOGETHER = 1 << 14
"""Numbers, so few that they stay in a cache; of more, the compiled loop takes a quarter of the time."""


def row_hashes(frame: pd.DataFrame) -> Hashes:
    """Content hash of every row; it depends on neither the order of rows nor of columns."""
    from bdt_core.table.sketch_kernels import combine_hashes

    columns = [frame[name] for name in sorted(frame.columns)]
    # As pandas hashes the rows of a frame (which takes from Python's tuples how hashes are combined), in one go.
    multipliers = np.cumsum([1000003, *(82520 + 2 * left for left in range(len(columns), 1, -1))], dtype=np.uint64)
    hashes = np.empty(len(frame), dtype=np.uint64)

    def hash_stretch(rows: slice) -> None:
        hashes[rows] = 0x345678
        for column, multiplier in zip(columns, multipliers, strict=True):
            combine_hashes(*hashable(column.iloc[rows]), multiplier, hashes[rows])
        hashes[rows] += np.uint64(97531)

    mapped(hash_stretch, hashed_together(frame))
    return hashes


def hashable(column: pd.Series) -> tuple[Hashes, bool]:
    """What the compiled loops take: the bits of float64, and that they are such; pandas' hashes of other values."""
    is_bits = column.dtype == np.float64
    values = column.to_numpy().view(np.uint64) if is_bits else pd.util.hash_pandas_object(column, index=False)
    return np.ascontiguousarray(values), is_bits


def hashed_together(frame: pd.DataFrame) -> list[slice]:
    """Stretches of rows that are hashed in a go, each by a thread.

    Levels are hashed anew for each stretch, so it has no fewer rows than a column has levels.
    """
    levels = [len(dtype.categories) for dtype in frame.dtypes if isinstance(dtype, pd.CategoricalDtype)]
    return stretches(len(frame), max(_HASHED_TOGETHER, *levels, 0))


def rank_rows(hashes: Hashes, occurrences: Hashes) -> Hashes:
    """A uniform random number per row, from its content hash and its occurrence.

    Parameters
    ----------
    hashes, occurrences : uint64 ndarray of shape (n,)

    Examples
    --------
    >>> hashes = np.array([7, 9, 7], dtype=np.uint64)
    >>> occurrence_numbers(hashes).tolist()
    [0, 0, 1]
    >>> ranks = rank_rows(hashes, occurrence_numbers(hashes))
    >>> len(set(ranks.tolist()))
    3
    """
    ranks = np.empty(len(hashes), dtype=np.uint64)

    def rank_block(rows: slice) -> None:
        ranks[rows] = mixed(mixed(hashes[rows]) + occurrences[rows])

    mapped(rank_block, blocks_of(len(hashes)))
    return ranks


def occurrence_numbers(hashes: Hashes) -> Hashes:
    """How many rows of equal content stand before each row."""
    ordered = np.sort(hashes)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    number = np.zeros(len(hashes), dtype=np.uint64)

    def in_part(part: int) -> None:
        rows = np.flatnonzero(hashes >> _PART == part)
        number[rows] = _numbers_of_copies(hashes[rows], repeated[repeated >> _PART == part])

    if len(blocks_of(len(hashes))) == 1:
        return _numbers_of_copies(hashes, repeated)
    if len(repeated):
        mapped(in_part, range(_PARTS))
    return number


def _numbers_of_copies(hashes: Hashes, repeated: Hashes) -> Hashes:
    """Their occurrence numbers, of which those that are repeated are known."""
    number = np.zeros(len(hashes), dtype=np.uint64)
    # Rows without a copy need not be put in order: most of them are told by where their hashes fall, of a part by the
    # bits that are not the same in all of it.
    bits = min(_PLACE_BITS, len(hashes).bit_length() + 2)
    below = np.uint64(64 - _PART_BITS - bits)
    place = np.uint64((1 << bits) - 1)
    is_there = np.zeros(1 << bits, dtype=np.bool_)
    is_there[(repeated >> below) & place] = True
    rows = np.flatnonzero(is_there[(hashes >> below) & place])
    order = rows[np.argsort(hashes[rows], kind="stable")]
    is_first = begins_run(hashes[order])
    first = np.flatnonzero(is_first)
    number[order] = np.arange(len(order)) - first[np.cumsum(is_first) - 1]
    return number


def begins_run(ordered: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each value of a sorted array is the first of its kind."""
    return np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]


def has_copies(hashes: Hashes) -> bool:
    """Whether some rows have equal content; ten times as fast as to put them in order."""
    ordered = np.sort(hashes)
    return bool((ordered[1:] == ordered[:-1]).any())


def is_test(numbers: Hashes, test_size: float, seed: int) -> NDArray[np.bool_]:
    """Which rows are test rows: a share of about ``test_size`` of them, another one for each seed.

    Parameters
    ----------
    numbers : uint64 ndarray of shape (n,)
        Ranks; or hashes of a key, all rows of which are to stay together.
    """
    key = mixed(np.array([seed], dtype=np.uint64))
    share = np.uint64(math.ceil(test_size * 2.0**53))  # 53 bits are compared: a float holds them
    chosen = np.empty(len(numbers), dtype=np.bool_)

    def choose_in_block(rows: slice) -> None:
        chosen[rows] = (mixed(numbers[rows] ^ key) >> np.uint64(11)) < share

    mapped(choose_in_block, blocks_of(len(numbers)))
    return chosen


def lowest(ranks: Hashes, rows: int) -> NDArray[np.intp]:
    """Places of the rows with the lowest ranks, in the order of these: a draw of so many rows.

    Examples
    --------
    >>> lowest(np.array([5, 1, 9, 3], dtype=np.uint64), 2).tolist()
    [1, 3]
    """
    if rows >= len(ranks):
        return _in_order(ranks)
    share = _MORE * rows / len(ranks)
    drawn = np.flatnonzero(ranks <= np.uint64(int(share * 2**64))) if share < 1.0 else np.arange(len(ranks))
    if len(drawn) < rows:  # they are hardly ever so far from evenly spread
        drawn = np.arange(len(ranks))
    return drawn[_in_order(ranks[drawn])[:rows]]


def _in_order(ranks: Hashes) -> NDArray[np.intp]:
    """As a stable sort puts them, which takes three times as long where no two are equal, as they hardly ever are."""
    order = np.argsort(ranks)
    ordered = ranks[order]
    return np.argsort(ranks, kind="stable") if (ordered[1:] == ordered[:-1]).any() else order


def content_sums(hashes: Hashes) -> tuple[int, ...]:
    """Sums that say which rows there are, whatever their order; those of parts add up (modulo 2**64).

    Returns
    -------
    tuple of int
        The number of rows, and four sums of differently mixed hashes.
    """

    def of_block(rows: slice) -> tuple[int, ...]:
        word, sums = hashes[rows], list[int]()
        for _ in range(WORDS):
            word = mixed(word)
            sums.append(int(word.sum(dtype=np.uint64)))
        return tuple(sums)

    return (len(hashes), *added(mapped(of_block, blocks_of(len(hashes)) or [slice(0, 0)])))


def fingerprint(sums: tuple[int, ...]) -> str:
    """Content hash of a table from its `content_sums`; the same for the same rows in any order."""
    return "sha256:" + hashlib.sha256(",".join(map(str, sums)).encode()).hexdigest()


def added(sums: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The sums of several parts together."""
    return tuple(sum(one) % 2**64 for one in zip(*sums, strict=True))


def mixed(values: NDArray[Any]) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea & Flood 2014): a one-to-one function that looks random."""
    result: Hashes = np.asarray(values, dtype=np.uint64) + _GOLDEN
    if len(result) > _MIXED_TOGETHER:
        from bdt_core.table.sketch_kernels import scatter

        mapped(lambda rows: scatter(result[rows]), blocks_of(len(result)))
        return result
    result ^= result >> np.uint64(30)
    result *= np.uint64(0xBF58476D1CE4E5B9)
    result ^= result >> np.uint64(27)
    result *= np.uint64(0x94D049BB133111EB)
    result ^= result >> np.uint64(31)
    return result
