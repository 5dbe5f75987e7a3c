"""Counts of every slice with enough rows, from a few joint histograms of many columns each.

Columns are packed into groups of few combined levels. A histogram over k groups holds every combination of k of
their columns as sums over its other axes, so that the C(G, k) histograms of G groups cover all combinations of k
columns in one pass over the rows each: 20 passes instead of 220 for the triples of 12 columns. The outcome is one
more axis. Where a histogram would have more cells than there are rows, its combinations are counted one by one, each
over the combinations of all but its last column that have enough rows (slices with a rarer part are rare themselves).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.coding import smallest_unsigned

MOST_CELLS = 1 << 18
"""Columns are packed so that a histogram has up to so many cells, 1 MiB: they stay in the second-level cache."""
FEWEST_CELLS = 1 << 12
"""So many cells are no burden, however few the rows."""
THREADED_ROWS = 1 << 19
"""Fewer rows are not worth a second thread."""
NO_ITEM = -1

Codes = NDArray[np.uint8]
Combination = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True)
class SliceCounts:
    """Slices and what was counted in them.

    Attributes
    ----------
    items : ndarray of int32, shape (slices, max_conditions)
        Conditions as items, ascending, -1 where a slice has fewer. The items of a column are its levels, one after
        the other, the columns in their order: item = offsets[column] + level.
    totals : ndarray of shape (slices, outcomes)
        Rows per outcome (int64), or rows, sum and sum of squares of the values (float64).
    """

    items: NDArray[np.int32]
    totals: NDArray[Any]


def count_slices(
    codes: Codes, levels: Sequence[int], payload: NDArray[Any], *, max_conditions: int, min_rows: int
) -> SliceCounts:
    """Count every conjunction of conditions that holds for enough rows.

    Parameters
    ----------
    codes : ndarray of uint8, shape (columns, n)
        One code per column and row.
    levels : sequence of int, length columns
        Codes below this are items; the code that equals it stands for "any other level" and is no item.
    payload : ndarray of shape (n,)
        uint8 outcome codes, which are counted, or float64 values, which are added up with their squares.
    max_conditions : int
        Most columns of a conjunction.
    min_rows : int
        Fewest rows of a slice, at least 1.

    Returns
    -------
    SliceCounts
        By number of conditions, then by items. Counts do not depend on the order of the rows, and sums of values do
        not if the rows come sorted by value.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> counted = count_slices(codes, [2, 2], np.array([0, 1, 1, 1], np.uint8), max_conditions=2, min_rows=1)
    >>> counted.items[[0, 4]].tolist(), counted.totals[[0, 4]].tolist()
    ([[0, -1], [0, 2]], [[1, 1], [1, 0]])
    """
    most = min(max_conditions, len(levels))
    outcomes = int(payload.max(initial=0)) + 1 if payload.dtype.kind == "u" else 3
    packed = Packed(codes, tuple(levels), payload, most, outcomes)
    counter = _Counter(packed, max(min_rows, 1))
    wanted = [one for k in range(1, most + 1) for one in combinations(range(len(levels)), k)]
    found = [one for part in in_threads(counter.count, packed.blocks(wanted), payload.size) for one in part]
    return joined(found, max_conditions, outcomes, np.int64 if packed.counts_outcomes else np.float64)


def in_threads(work: Callable[[Block], T], blocks: Sequence[Block], rows: int) -> list[T]:
    """Work on blocks of combinations, in threads where there are many rows; results in their order."""
    if rows < THREADED_ROWS or len(blocks) < 2:
        return [work(block) for block in blocks]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(work, blocks))


@dataclass(frozen=True)
class Block:
    """Groups whose joint histogram gives the counts of some combinations of columns."""

    groups: tuple[int, ...]
    wanted: tuple[Combination, ...]


class Packed:
    """Coded rows, their columns packed into groups for counting.

    Parameters
    ----------
    codes, levels, payload
        As in `count_slices`.
    max_conditions : int
        No more than there are columns.
    outcomes : int
        Length of the last axis of histograms.
    power : float, optional
        The values are counted in whole steps; see `bdt_core.slices.kernels.joint_steps`.
    """

    def __init__(
        self,
        codes: Codes,
        levels: tuple[int, ...],
        payload: NDArray[Any],
        max_conditions: int,
        outcomes: int,
        power: float | None = None,
    ) -> None:
        self.codes, self.levels, self.payload, self.outcomes, self.power = codes, levels, payload, outcomes, power
        self.max_conditions = max_conditions
        highest = codes.max(axis=1, initial=0).tolist()
        self.sizes = tuple(max(one, most + 1) for one, most in zip(levels, highest, strict=True))
        self.counts_outcomes = payload.dtype.kind == "u"
        self.most_cells = max(payload.size, FEWEST_CELLS)
        limit = int((min(self.most_cells, MOST_CELLS) / outcomes) ** (1.0 / max(max_conditions, 1)) + 1e-9)
        self.members = pack(self.sizes, min(limit, 256))
        self.groups = self._group_codes()

    def blocks(self, wanted: Iterable[Combination]) -> list[Block]:
        """Combinations of up to `max_conditions` columns in blocks, so that few histograms give all of them."""
        group_of = {column: g for g, members in enumerate(self.members) for column in members}
        size = min(self.max_conditions, len(self.members))
        by_groups: dict[tuple[int, ...], list[Combination]] = {}
        for one in wanted:
            groups = {group_of[column] for column in one}
            others = (g for g in range(len(self.members)) if g not in groups)
            groups |= {g for g, _ in zip(others, range(size - len(groups)), strict=False)}
            by_groups.setdefault(tuple(sorted(groups)), []).append(one)
        return [Block(groups, tuple(several)) for groups, several in by_groups.items()]

    def margins(self, block: Block) -> Margins | None:
        """The joint histogram of a block; None when it would have more cells than there are rows."""
        columns = [column for g in block.groups for column in self.members[g]]
        shape = [self.sizes[column] for column in columns]
        if math.prod(shape) * self.outcomes > self.most_cells:
            return None
        sizes = [math.prod(self.sizes[column] for column in self.members[g]) for g in block.groups]
        joint = self.histogram(self.groups, block.groups, sizes)
        return Margins(joint.reshape(*shape, self.outcomes), columns)

    def histogram(self, codes: NDArray[Any], chosen: Sequence[int], sizes: Sequence[int]) -> NDArray[Any]:
        """Joint histogram of some rows of `codes`, shape (product of sizes, outcomes)."""
        from bdt_core.slices import kernels  # the compiler takes a third of a second to import

        unit = self.outcomes if self.counts_outcomes else 1
        strides = np.array([unit * math.prod(sizes[j + 1 :]) for j in range(len(sizes))], dtype=np.int64)
        where = np.array(chosen, dtype=np.int64)
        if self.counts_outcomes:
            counts = np.zeros(math.prod(sizes) * self.outcomes, dtype=np.int32)
            kernels.joint_counts(codes, where, strides, self.payload, counts)
            return counts.reshape(-1, self.outcomes)
        if self.power is not None:
            steps = np.zeros((math.prod(sizes), self.outcomes), dtype=np.int64)
            kernels.joint_steps(codes, where, strides, self.payload, self.power, steps)
            return steps
        moments = np.zeros((math.prod(sizes), 3))
        kernels.joint_moments(codes, where, strides, self.payload, moments)
        return moments

    def _group_codes(self) -> NDArray[np.uint8]:
        if all(len(members) == 1 for members in self.members):
            return self.codes[[members[0] for members in self.members]] if self.members else self.codes
        groups = np.zeros((len(self.members), self.payload.size), dtype=np.uint8)
        for code, members in zip(groups, self.members, strict=True):
            for column in members:
                code *= np.uint8(self.sizes[column])
                code += self.codes[column]
        return groups


class _Counter:
    """Finds the slices with enough rows."""

    def __init__(self, packed: Packed, min_rows: int) -> None:
        self.packed, self.min_rows = packed, min_rows
        self.offsets = np.concatenate([[0], np.cumsum(packed.levels)]).astype(np.int32)

    def count(self, block: Block) -> list[SliceCounts]:
        """Slices over the combinations of a block, from its joint histogram when that has fewer cells than rows."""
        margins = self.packed.margins(block)
        if margins is None:
            return list(self._one_by_one(block.wanted))
        return [self._frequent(margins.of(one), self._items_of_columns(one)) for one in block.wanted]

    def _one_by_one(self, wanted: Iterable[Combination]) -> Iterator[SliceCounts]:
        by_prefix: dict[Combination, list[int]] = {}
        for one in wanted:
            by_prefix.setdefault(one[:-1], []).append(one[-1])
        for prefix, last_columns in by_prefix.items():
            codes, items = self._frequent_conjunctions(prefix)
            for last in last_columns:
                both = np.stack([codes, self.packed.codes[last].astype(codes.dtype)])
                counts = self.packed.histogram(both, (0, 1), (len(items) + 1, self.packed.sizes[last]))
                counts = counts.reshape(len(items) + 1, self.packed.sizes[last], self.packed.outcomes)
                yield self._frequent(counts, [items, self._items_of(last)])

    def _frequent_conjunctions(self, columns: Combination) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Number the conjunctions over some columns that have enough rows; the number of each row, and their items.

        Rows of no such conjunction have the number that follows the last one.
        """
        codes: NDArray[Any] = np.zeros(self.packed.payload.size, dtype=np.uint8)
        items = np.zeros((1, 0), dtype=np.int32)
        for column in columns:
            cells = codes.astype(np.int32) * self.packed.sizes[column] + self.packed.codes[column]
            counts = np.bincount(cells, minlength=(len(items) + 1) * self.packed.sizes[column])
            counts = counts.reshape(len(items) + 1, -1)
            frequent = np.zeros(counts.shape, dtype=bool)
            frequent[:-1, : self.packed.levels[column]] = counts[:-1, : self.packed.levels[column]] >= self.min_rows
            before, level = np.nonzero(frequent)
            items = np.column_stack([items[before], self._items_of(column)[level]])
            number = np.full(frequent.shape, len(items), dtype=smallest_unsigned(len(items) + 1))
            number[before, level] = np.arange(len(items))
            codes = number.reshape(-1)[cells]
        return codes, items

    def _items_of(self, column: int) -> NDArray[np.int32]:
        return np.arange(self.offsets[column], self.offsets[column + 1], dtype=np.int32)[:, None]

    def _items_of_columns(self, columns: Combination) -> list[NDArray[np.int32]]:
        return [self._items_of(column) for column in columns]

    def _frequent(self, totals: NDArray[Any], items: Sequence[NDArray[np.int32]]) -> SliceCounts:
        """Cells of a histogram, shape (codes, ..., outcomes), that are slices with enough rows."""
        totals = totals[tuple(slice(len(one)) for one in items)]
        rows = totals.sum(axis=-1) if self.packed.counts_outcomes else totals[..., 0]
        cells = np.nonzero(rows >= self.min_rows)
        return SliceCounts(np.column_stack([one[at] for one, at in zip(items, cells, strict=True)]), totals[cells])


class Margins:
    """Sums of a joint histogram over all but some columns, each made from the smallest known one."""

    def __init__(self, joint: NDArray[Any], columns: Sequence[int]) -> None:
        self.known = {tuple(sorted(columns)): np.moveaxis(joint, range(len(columns)), np.argsort(np.argsort(columns)))}
        sizes = dict(zip(columns, joint.shape, strict=False))
        self.small_first = sorted(columns, key=lambda column: (sizes[column], column))

    def of(self, columns: Combination) -> NDArray[Any]:
        """Sum over all other columns; the last axis is the outcome."""
        if columns not in self.known:
            more = next(one for one in self.small_first if one not in columns)
            wider = tuple(sorted((*columns, more)))
            margin = self.of(wider)
            self.known[columns] = margin.sum(axis=wider.index(more), dtype=margin.dtype)
        return self.known[columns]


def pack(sizes: Sequence[int], limit: int) -> list[tuple[int, ...]]:
    """Pack columns into few groups whose sizes multiply to at most a limit: first fit, largest first.

    Examples
    --------
    >>> pack([5, 5, 5, 2, 2], 25)
    [(0, 1), (2, 3, 4)]
    """
    groups: list[list[int]] = []
    for column in sorted(range(len(sizes)), key=lambda one: (-sizes[one], one)):
        for group in groups:
            if math.prod(sizes[one] for one in group) * sizes[column] <= limit:
                group.append(column)
                break
        else:
            groups.append([column])
    return [tuple(sorted(group)) for group in groups]


def joined(parts: Sequence[SliceCounts], width: int, outcomes: int, kind: type[np.generic]) -> SliceCounts:
    """All slices in one table, by number of conditions, then by items."""
    items = np.full((sum(len(one.items) for one in parts), width), NO_ITEM, dtype=np.int32)
    totals = np.zeros((len(items), outcomes), dtype=kind)
    start = 0
    for one in parts:
        stop = start + len(one.items)
        items[start:stop, : one.items.shape[1]] = one.items
        totals[start:stop] = one.totals
        start = stop
    order = np.lexsort((*items.T[::-1], (items != NO_ITEM).sum(axis=1)))
    return SliceCounts(items[order], totals[order])
