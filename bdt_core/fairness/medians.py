"""Values of given ranks, such as medians, of columns that are read block by block: exactly, for many cells at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import column, numbers
from bdt_core.inference.persons import PlacedSums
from bdt_core.table.source_blocks import SourceBlocks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Cells = Callable[[pd.DataFrame], tuple[Integers, Floats]]
"""From a block to cells, and the finite value of each; a row may be in several cells. It can be pickled."""

_DIGITS = (48, 32, 16, 0)
"""Numbers are looked for 16 bits at a time, the highest first."""
_NOBODY = -1


class Ranked(NamedTuple):
    """A value that is looked for: the one with `rank` others of the cell before it, without the rows of `without`, a
    cell of which each row is in `cell` as well."""

    cell: int
    rank: int
    without: int = _NOBODY


def values_at_ranks(source: SourceBlocks, cells: Cells, ranked: Sequence[Ranked]) -> Floats:
    """The values of given ranks within cells of rows.

    Parameters
    ----------
    source : SourceBlocks
    cells : callable
    ranked : sequence of Ranked
        Ranks count from 0, and are below the number of the rows.

    Returns
    -------
    ndarray of float64, shape (ranked,)

    Notes
    -----
    The bits of a float, as a whole number, are in the order of the floats (those of negative ones turned round). Each
    pass counts the next 16 bits of those values that share what is known of one that is looked for, so that four passes
    find all of them, and the order of the blocks and their lengths do not matter.

    Examples
    --------
    >>> from bdt_core.table.source_blocks import in_blocks
    >>> def by_sex(block):
    ...     return block["sex"].to_numpy(), block["debt"].to_numpy()
    >>> source = in_blocks(pd.DataFrame({"sex": [0, 1, 0, 1, 0], "debt": [3.0, -1.0, 2.5, 10.0, 4.0]}))
    >>> values_at_ranks(source, by_sex, [Ranked(0, 1), Ranked(1, 0), Ranked(1, 1)]).tolist()
    [3.0, -1.0, 10.0]
    """
    ranks = [one.rank for one in ranked]
    insides = [one.cell for one in ranked]
    outsides = [one.without for one in ranked]
    known = np.zeros(len(ranked), dtype=np.uint64)
    levels: list[Integers] = []
    for shift in _DIGITS:
        counts = reduce(add, source.map_source_blocks(partial(_count, cells=cells, levels=levels)))
        digits = np.zeros(len(ranked), dtype=np.int64)
        for i, rank in enumerate(ranks):
            of_digit, rows = _of_cell(counts, insides[i])
            if outsides[i] != _NOBODY:
                others, fewer = _of_cell(counts, outsides[i])
                rows = rows.copy()
                rows[np.searchsorted(of_digit, others)] -= fewer
            upto = np.cumsum(rows)
            place = int(np.searchsorted(upto, rank, side="right"))
            ranks[i] = rank - int(upto[place] - rows[place])
            digits[i] = of_digit[place]
        known |= digits.astype(np.uint64) << np.uint64(shift)
        below = np.array(insides, dtype=np.int64) << 16 | digits
        beside = np.where(np.array(outsides) == _NOBODY, _NOBODY, np.array(outsides, dtype=np.int64) << 16 | digits)
        level = np.unique(np.concatenate([below, beside[beside != _NOBODY]]))
        levels.append(level)
        insides = np.searchsorted(level, below).tolist()
        outsides = np.where(beside == _NOBODY, _NOBODY, np.searchsorted(level, beside)).tolist()
    negative = known < np.uint64(1 << 63)
    return np.where(negative, ~known, known ^ np.uint64(1 << 63)).view(np.float64)


def median_of(source: SourceBlocks, name: str) -> float | None:
    """The median of a numeric column's finite values; of an even number of them, the mean of the middle two.

    Returns
    -------
    float or None
        None without a finite value.

    Examples
    --------
    >>> from bdt_core.table.source_blocks import in_blocks
    >>> median_of(in_blocks(pd.DataFrame({"score": [3.0, -1.0, None, 10.0, 4.0]})), "score")
    3.5
    """
    cells = partial(_one_cell, name=name)
    count = sum(one.size for one, _ in source.map_source_blocks(cells))
    if not count:
        return None
    return float(middle(values_at_ranks(source, cells, [Ranked(0, rank) for rank in middle_ranks(count)])))


def middle_ranks(rows: int) -> tuple[int, int]:
    """Ranks of the middle value, which are two of an even number."""
    return (rows - 1) // 2, rows // 2


def middle(values: Floats) -> Floats:
    """The median, of the values of the middle ranks, which are the last axis."""
    low, high = values[..., 0], values[..., 1]
    return np.where(low == high, low, 0.5 * low + 0.5 * high)


def _one_cell(frame: pd.DataFrame, name: str) -> tuple[Integers, Floats]:
    values = numbers(column(frame, name), name)
    values = values[np.isfinite(values)]
    return np.zeros(values.size, dtype=np.int64), values


def _count(frame: pd.DataFrame, cells: Cells, levels: Sequence[Integers]) -> PlacedSums:
    """How many values have each of the next 16 bits, of those that begin as a value that is looked for does."""
    at, values = cells(frame)
    bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
    ordered = np.where(bits >> np.uint64(63), ~bits, bits ^ np.uint64(1 << 63))
    at = at.astype(np.int64)
    for level, shift in zip(levels, _DIGITS, strict=False):
        begun = at << 16 | _digit(ordered, shift)
        place = np.minimum(np.searchsorted(level, begun), level.size - 1)
        same = level[place] == begun
        at, ordered = place[same], ordered[same]
    counted = pd.Series(at << 16 | _digit(ordered, _DIGITS[len(levels)])).value_counts(sort=False)
    return PlacedSums.of(counted.index.to_numpy().astype(np.int64), counted.to_numpy().astype(np.int64))


def _digit(ordered: NDArray[np.uint64], shift: int) -> Integers:
    return (ordered >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64)


def _of_cell(counts: PlacedSums, cell: int) -> tuple[Integers, Integers]:
    """The next bits that occur in a cell, and how often."""
    first, last = np.searchsorted(counts.places, [cell << 16, (cell + 1) << 16])
    return counts.places[first:last] - (cell << 16), counts.sums[0, first:last]
