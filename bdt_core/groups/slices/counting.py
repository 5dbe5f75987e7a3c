"""Counts of slices in coded rows, from a few joint histograms of many columns each.

Columns are packed into groups of few combined levels. A histogram over k groups holds every combination of k of
their columns as sums over its other axes, so that the C(G, k) histograms of G groups cover all combinations of k
columns in one pass over the rows each: 20 passes instead of 220 for the triples of 12 columns. A code of the outcome is
one more axis. Where a histogram would have more cells than there are rows, its combinations are counted one by one,
each over the combinations of all but its last column that have enough rows (slices with a rarer part are rare
themselves).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import smallest_unsigned
from bdt_core.table.pool import mapped

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
    totals : ndarray of int64, shape (slices, numbers)
        Rows per code of the outcome; or rows, and the sum of each number.
    """

    items: NDArray[np.int32]
    totals: NDArray[Any]


@dataclass(frozen=True)
class Chosen:
    """Slices over the same columns.

    Attributes
    ----------
    columns : tuple of int
    levels : ndarray of int32, shape (slices, columns)
        Codes of the conditions.
    """

    columns: Combination
    levels: NDArray[np.int32]


def count_slices(
    codes: Codes,
    levels: Sequence[int],
    payload: NDArray[Any],
    *,
    min_rows: int,
    max_conditions: int,
    chosen: Sequence[Combination] | None = None,
    numbers: int | None = None,
) -> SliceCounts:
    """Count every conjunction of conditions that holds for enough rows.

    Parameters
    ----------
    codes : ndarray of uint8, shape (columns, n)
        One code per column and row.
    levels : sequence of int, length columns
        Codes below this are items; the code that equals it stands for "any other level" and is no item.
    payload : ndarray of shape (n,) or (n, 4)
        uint8 codes of the outcome, which are counted, or int32 numbers, which are added up.
    min_rows : int
        Fewest rows of a slice, at least 1.
    max_conditions : int
        Most columns of a conjunction.
    chosen : sequence of tuple of int, optional
        Combinations of columns; by default all.
    numbers : int, optional
        How many totals a slice has; by default as many as `payload` shows.

    Returns
    -------
    SliceCounts
        By number of conditions, then by items.

    Examples
    --------
    >>> codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8)
    >>> counted = count_slices(codes, [2, 2], np.array([0, 1, 1, 1], np.uint8), max_conditions=2, min_rows=1)
    >>> counted.items[[0, 4]].tolist(), counted.totals[[0, 4]].tolist()
    ([[0, -1], [0, 2]], [[1, 1], [1, 0]])
    """
    most = min(max_conditions, len(levels))
    if chosen is None:
        chosen = all_combinations(len(levels), most)
    packed = Packed(codes, tuple(levels), payload, chosen, numbers)
    counter = _Counter(packed, max(min_rows, 1))
    joints = packed.map_joints(counter.count, chosen)
    return _together([one for of_joint in joints for one in of_joint], max_conditions, packed.numbers)


def count_chosen(
    codes: Codes, levels: Sequence[int], payload: NDArray[Any], chosen: Sequence[Chosen], numbers: int
) -> NDArray[Any]:
    """Count chosen slices.

    Parameters
    ----------
    codes, levels, payload, numbers
        As in `count_slices`.
    chosen : sequence of Chosen
        No two over the same columns.

    Returns
    -------
    ndarray of shape (slices, numbers)
        Slice after slice; counts in the smallest type that holds them.
    """
    packed = Packed(codes, tuple(levels), payload, [one.columns for one in chosen], numbers)
    levels_of = {one.columns: one.levels for one in chosen}

    def count(joint: Joint) -> dict[Combination, NDArray[Any]]:
        margins = packed.margins(joint)
        if margins is None:
            return {one: _numbered(packed, one, levels_of[one]) for one in joint.combinations}
        return {one: margins.of(one)[tuple(levels_of[one].T)] for one in joint.combinations}

    totals: dict[Combination, NDArray[Any]] = {}
    for of_joint in packed.map_joints(count, levels_of):
        totals |= of_joint
    counted = np.concatenate([totals[one.columns] for one in chosen])
    if packed.counts_codes:
        return counted.astype(smallest_unsigned(int(counted.max(initial=0)) + 1))
    return counted


def all_combinations(columns: int, most: int) -> list[Combination]:
    """Combinations of 1 to `most` columns."""
    return [one for k in range(1, most + 1) for one in combinations(range(columns), k)]


def slice_keys(items: NDArray[np.int32], base: int) -> NDArray[np.int64]:
    """Number slices, in the order of their items.

    Parameters
    ----------
    items : ndarray of int32, shape (slices, width)
        From -1 to base - 2.
    base : int

    Raises
    ------
    DataError
        There are so many items that conjunctions of this width cannot be numbered.
    """
    width = items.shape[1]
    if base**width >= 1 << 63:
        raise DataError(
            f"{base:,} conditions are too many to combine {width} at a time. Name fewer columns, or lower "
            '"max_conditions".'
        )
    keys = np.zeros(len(items), dtype=np.int64)
    for column in items.T:
        keys = keys * base + (column + 1)
    return keys


@dataclass(frozen=True)
class Joint:
    """Groups whose joint histogram gives the counts of some combinations of columns."""

    groups: tuple[int, ...]
    combinations: tuple[Combination, ...]


class Packed:
    """Coded rows, their columns packed into groups for counting.

    Parameters
    ----------
    codes, levels, payload, numbers
        As in `count_slices`; `numbers` is the length of the last axis of histograms.
    chosen : sequence of tuple of int
        Combinations of columns that will be counted: no others are packed.
    """

    def __init__(
        self,
        codes: Codes,
        levels: tuple[int, ...],
        payload: NDArray[Any],
        chosen: Sequence[Combination],
        numbers: int | None,
    ) -> None:
        self.codes, self.levels, self.payload = codes, levels, payload
        self.max_conditions = max(map(len, chosen), default=0)
        self.rows = len(payload)
        self.counts_codes = payload.ndim == 1
        shown = int(payload.max(initial=0)) + 1 if self.counts_codes else 1 + payload.shape[1]
        self.numbers = shown if numbers is None else numbers
        highest = codes.max(axis=1, initial=0).tolist()
        self.sizes = tuple(max(one, most + 1) for one, most in zip(levels, highest, strict=True))
        self.most_cells = max(self.rows, FEWEST_CELLS)
        limit = int((min(self.most_cells, MOST_CELLS) / self.numbers) ** (1.0 / max(self.max_conditions, 1)) + 1e-9)
        used = sorted({column for one in chosen for column in one})
        groups = pack([self.sizes[column] for column in used], min(limit, 256))
        self.members = [tuple(used[i] for i in group) for group in groups]
        self.groups = self._group_codes()

    def map_joints(self, function: Callable[[Joint], T], chosen: Iterable[Combination]) -> list[T]:
        """Apply a function to the groups that give some combinations, in threads where there are many rows."""
        return mapped(function, self.joints(chosen), None if self.rows >= THREADED_ROWS else 1)

    def joints(self, chosen: Iterable[Combination]) -> list[Joint]:
        """Groups that give combinations of up to `max_conditions` columns from few histograms."""
        group_of = {column: g for g, members in enumerate(self.members) for column in members}
        size = min(self.max_conditions, len(self.members))
        by_groups: dict[tuple[int, ...], list[Combination]] = {}
        for combination in chosen:
            groups = {group_of[column] for column in combination}
            others = (g for g in range(len(self.members)) if g not in groups)
            groups |= {g for g, _ in zip(others, range(size - len(groups)), strict=False)}
            by_groups.setdefault(tuple(sorted(groups)), []).append(combination)
        return [Joint(groups, tuple(same)) for groups, same in by_groups.items()]

    def margins(self, joint: Joint) -> Margins | None:
        """The joint histogram; None when it would have more cells than there are rows."""
        columns = [column for g in joint.groups for column in self.members[g]]
        shape = [self.sizes[column] for column in columns]
        if math.prod(shape) * self.numbers > self.most_cells:
            return None
        sizes = [math.prod(self.sizes[column] for column in self.members[g]) for g in joint.groups]
        histogram = self.histogram(self.groups, joint.groups, sizes)
        return Margins(histogram.reshape(*shape, self.numbers), columns)

    def histogram(self, codes: NDArray[Any], chosen: Sequence[int], sizes: Sequence[int]) -> NDArray[Any]:
        """Joint histogram of some rows of `codes`, shape (product of sizes, numbers)."""
        from bdt_core.groups.slices import kernels  # the compiler takes a third of a second to import

        unit = self.numbers if self.counts_codes else 1
        strides = np.array([unit * math.prod(sizes[j + 1 :]) for j in range(len(sizes))], dtype=np.int64)
        where, cells = np.array(chosen, dtype=np.int64), math.prod(sizes)
        if self.counts_codes:
            counts = np.zeros(cells * self.numbers, dtype=np.int32)
            kernels.joint_counts(codes, where, strides, self.payload, counts)
            return counts.reshape(cells, self.numbers)
        sums = np.zeros((cells, self.numbers), dtype=np.int64)
        kernels.joint_sums(codes, where, strides, self.payload, sums)
        return sums

    def _group_codes(self) -> NDArray[np.uint8]:
        if all(len(members) == 1 for members in self.members):
            return self.codes[[members[0] for members in self.members]] if self.members else self.codes
        groups = np.zeros((len(self.members), self.rows), dtype=np.uint8)
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

    def count(self, joint: Joint) -> list[SliceCounts]:
        """Slices over some combinations, from their joint histogram when that has fewer cells than rows."""
        margins = self.packed.margins(joint)
        if margins is None:
            return list(self._one_by_one(joint.combinations))
        return [
            self._frequent(margins.of(one), [self._items_of(column) for column in one]) for one in joint.combinations
        ]

    def _one_by_one(self, chosen: Iterable[Combination]) -> Iterator[SliceCounts]:
        by_prefix: dict[Combination, list[int]] = {}
        for combination in chosen:
            by_prefix.setdefault(combination[:-1], []).append(combination[-1])
        for prefix, last_columns in by_prefix.items():
            codes, items = self._frequent_conjunctions(prefix)
            for last in last_columns:
                both = np.stack([codes, self.packed.codes[last].astype(codes.dtype)])
                counts = self.packed.histogram(both, (0, 1), (len(items) + 1, self.packed.sizes[last]))
                counts = counts.reshape(len(items) + 1, self.packed.sizes[last], self.packed.numbers)
                yield self._frequent(counts, [items, self._items_of(last)])

    def _frequent_conjunctions(self, columns: Combination) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Number the conjunctions over some columns that have enough rows; the number of each row, and their items.

        Rows of no such conjunction have the number that follows the last one.
        """
        codes: NDArray[Any] = np.zeros(self.packed.rows, dtype=np.uint8)
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

    def _frequent(self, totals: NDArray[Any], items: Sequence[NDArray[np.int32]]) -> SliceCounts:
        """Cells of a histogram, shape (codes, ..., numbers), that are slices with enough rows."""
        totals = totals[tuple(slice(len(one)) for one in items)]
        rows = totals.sum(axis=-1) if self.packed.counts_codes else totals[..., 0]
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


def _numbered(packed: Packed, columns: Combination, levels: NDArray[np.int32]) -> NDArray[Any]:
    """Totals of slices whose joint histogram would be too large: every row gets the number of its slice."""
    number: NDArray[Any] = np.zeros(packed.rows, dtype=np.uint8)
    prefixes = np.zeros(len(levels), dtype=np.int64)
    numbers = 1
    for j, column in enumerate(columns):
        size = packed.sizes[column]
        cells, prefixes = np.unique(prefixes * size + levels[:, j], return_inverse=True)
        table = np.full((numbers + 1) * size, len(cells), dtype=smallest_unsigned(len(cells) + 1))
        table[cells] = np.arange(len(cells))
        number, numbers = table[number.astype(np.intp) * size + packed.codes[column]], len(cells)
    return packed.histogram(number[None], (0,), (numbers + 1,))[prefixes]


def _together(parts: Sequence[SliceCounts], width: int, numbers: int) -> SliceCounts:
    """All slices in one table, by number of conditions, then by items."""
    items = np.full((sum(len(one.items) for one in parts), width), NO_ITEM, dtype=np.int32)
    totals = np.zeros((len(items), numbers), dtype=np.int64)
    start = 0
    for part in parts:
        stop = start + len(part.items)
        items[start:stop, : part.items.shape[1]] = part.items
        totals[start:stop] = part.totals
        start = stop
    return in_order(SliceCounts(items, totals))


def in_order(counted: SliceCounts) -> SliceCounts:
    """The same slices by number of conditions, then by items."""
    order = np.lexsort((*counted.items.T[::-1], (counted.items != NO_ITEM).sum(axis=1)))
    return SliceCounts(counted.items[order], counted.totals[order])
