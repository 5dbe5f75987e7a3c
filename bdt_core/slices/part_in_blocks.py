"""The train or the test rows of a large table: slices are counted block by block."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference import Comparison, compare_samples, compare_summaries, drawing_needs_rows
from bdt_core.inference.summaries import Scale, Seen, Summary, summarise
from bdt_core.slices.chosen import Chosen, Coding, count_chosen, known_outcome
from bdt_core.slices.contrasts import sums_and_rows
from bdt_core.slices.counting import Combination, SliceCounts, joined
from bdt_core.slices.measure import Measure, Payload, TwoValues
from bdt_core.slices.part import Items, Part, compare_rates, rows_inside
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.rows import Rows

Floats = NDArray[np.float64]

MOST_CELLS_HELD = 1 << 25
"""So many counts of all blocks are held at a time; more slices are counted in several passes."""


class PartInBlocks:
    """Rows with a known outcome, wherever they are; the same questions as `bdt_core.slices.part.Part`.

    Parameters
    ----------
    table : Rows
    coding : Coding
    measure : Measure
    seen : Seen
        Which outcomes there are.
    blocks : int
        Number of blocks.
    sample : callable
        Gives a sample of the rows, for what needs single rows.
    """

    def __init__(
        self, table: Rows, coding: Coding, measure: Measure, seen: Seen, blocks: int, sample: Callable[[], Part]
    ) -> None:
        self.table, self.coding, self.measure, self.seen = table, coding, measure, seen
        self.blocks, self._sample = blocks, sample
        nothing, of = np.zeros(0), coding.outcome
        unknown = nothing.astype(bool)
        self.payload = (
            Payload(unknown, nothing.astype(np.uint8), None, of.lower, of.step)
            if isinstance(of, TwoValues)
            else Payload(unknown, None, nothing, centre=math.ldexp(of.centre, of.power))
        )
        self.offsets = np.concatenate([[0], np.cumsum(coding.levels, dtype=np.int64)]).astype(np.int64)
        self._known: dict[Items, NDArray[Any]] = {}

    @property
    def rows(self) -> int:
        """Rows with a known outcome."""
        return self.seen.span.rows

    @property
    def columns(self) -> int:
        """How many columns are searched."""
        return len(self.coding.columns)

    @property
    def lowest(self) -> float:
        """No outcome is lower."""
        return self.payload.lower if self.payload.codes is not None else self.seen.span.low

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same outcome."""
        return self.seen.span.low == self.seen.span.high

    @cached_property
    def in_rows(self) -> Part:
        """A sample of the rows, for what needs single rows."""
        return self._sample()

    @property
    def has_permuted(self) -> bool:
        """Whether single rows were needed."""
        return "in_rows" in vars(self)

    @property
    def whole(self) -> NDArray[Any]:
        """Totals of all rows."""
        return np.asarray(self.totals_of([()])[0])

    def value(self) -> float | None:
        """The metric over all rows; None without rows in its denominator."""
        (total,), (n,) = sums_and_rows(self.measure, self.payload, self.whole[None])
        return float(self.payload.zero + self.payload.step * total / n) if n else None

    def count(self, max_conditions: int, min_rows: int) -> SliceCounts:
        """Every slice with enough rows, as `count_slices` finds them.

        Slices of one and two conditions are counted in the first pass over the rows, and in every further one those
        of one condition more, all of whose parts have enough rows: in a block it cannot be known which slices will.
        """
        most = min(max_conditions, self.columns)
        rounds = [[size for size in (1, 2) if size <= most], *([size] for size in range(3, most + 1))]
        found: list[SliceCounts] = []
        parts: dict[Combination, SliceCounts] = {}
        for sizes in rounds:
            wanted = [self._candidates(one, parts) for size in sizes for one in combinations(range(self.columns), size)]
            wanted = [one for one in wanted if len(one.levels)]
            for one, counted in zip(wanted, self._counts(wanted), strict=True):
                enough = self._rows_of(counted) >= min_rows
                items = (one.levels[enough] + self.offsets[list(one.columns)]).astype(np.int32)
                parts[one.columns] = SliceCounts(items, self.coding.totals(counted[enough]))
                found.append(parts[one.columns])
        outcomes, kind = (2, np.int64) if self.payload.codes is not None else (3, np.float64)
        return joined(found, max_conditions, outcomes, kind)

    def totals_of(self, several: Sequence[Items]) -> NDArray[Any]:
        """Totals of some slices; the empty one is everybody."""
        missing = sorted({(), *several} - set(self._known))
        by_columns: dict[Combination, list[Items]] = {}
        for items in missing:
            columns = np.searchsorted(self.offsets, items, side="right") - 1
            by_columns.setdefault(tuple(columns.tolist()), []).append(items)
        wanted = [
            Chosen(columns, np.array(same, dtype=np.int32).reshape(len(same), -1) - self.offsets[list(columns)])
            for columns, same in by_columns.items()
        ]
        for same, counted in zip(by_columns.values(), self._counts(wanted), strict=True):
            self._known |= dict(zip(same, self.coding.totals(counted), strict=True))
        found = np.array([self._known[items] for items in several])
        return found.reshape(len(several), -1 if several else len(self._known[()]))

    def compare(
        self, several: list[Items], *, alpha: float, min_rows: int, permuting: bool, random_state: int
    ) -> list[tuple[NDArray[Any], Comparison, int]]:
        """Totals and rows of some slices, and their comparison with everybody else."""
        totals = self.totals_of(several)
        rows = self._rows_of(totals).astype(int).tolist()
        if self.payload.codes is not None:
            compared = compare_rates(self.measure, self.payload, totals, self.whole, alpha, min_rows)
        else:
            settings: dict[str, Any] = {"alpha": alpha, "min_rows": min_rows, "random_state": random_state}
            compared = [
                self._compare_means(items, inside, rest, permuting, **settings)
                for items, (inside, rest) in zip(several, self._summaries(several), strict=True)
            ]
        return list(zip(totals, compared, rows, strict=True))

    def _compare_means(
        self, items: Items, inside: Summary, rest: Summary, permuting: bool, **settings: Any
    ) -> Comparison:
        """As with rows at hand: Welch's t, and where it rejects but cannot be relied on, permutations in its place.

        They are drawn from counts of the values, or, where there are too many values, from a sample of the rows.
        """
        found = compare_summaries(inside, rest, test="welch", **settings)
        if not permuting or found.p_value is None or found.p_value > settings["alpha"]:
            return found
        if not drawing_needs_rows(inside, rest):
            return compare_summaries(inside, rest, **settings)
        values = self.in_rows.payload.values
        assert values is not None
        mask = self.in_rows.inside(items)
        drawn = compare_samples(values[mask], values[~mask], test="permutation", **settings)
        if drawn.p_value is None:
            return found
        return _with_test_of(found, drawn)

    def _summaries(self, several: Sequence[Items]) -> Iterator[tuple[Summary, Summary]]:
        """Values in some slices, and in everybody else."""
        how = self.coding.outcome if self.seen.values is None else self.seen.values
        assert not isinstance(how, TwoValues)
        room = max(1, MOST_CELLS_HELD // (self.blocks * 2 * (64 if isinstance(how, Scale) else how.size)))
        for first in range(0, len(several), room):
            wanted = tuple(several[first : first + room])
            summarised = partial(_summarised, coding=self.coding, how=how, several=wanted, offsets=self.offsets)
            for pairs in zip(*self.table.map_blocks(summarised), strict=True):
                yield reduce(operator.add, (one for one, _ in pairs)), reduce(operator.add, (one for _, one in pairs))

    def _candidates(self, columns: Combination, parts: dict[Combination, SliceCounts]) -> Chosen:
        """Conjunctions over some columns, all of whose parts with one condition less have enough rows.

        Single conditions have: the columns were fitted so.
        """
        items = np.zeros((1, 0), dtype=np.int32)
        for i, column in enumerate(columns):
            if i == len(columns) - 1 >= 2:
                items = _items(columns[:-1], parts)
            last = np.arange(self.offsets[column], self.offsets[column + 1], dtype=np.int32)
            items = np.column_stack([np.repeat(items, len(last), axis=0), np.tile(last, len(items))])
        if len(columns) > 2:
            for j in range(len(columns) - 1):
                known = _items(columns[:j] + columns[j + 1 :], parts)
                items = items[_among(np.delete(items, j, axis=1), known)]
        return Chosen(columns, (items - self.offsets[list(columns)]).astype(np.int32))

    def _counts(self, wanted: Sequence[Chosen]) -> Iterator[NDArray[np.int64]]:
        """Sums over all blocks, for each combination of columns."""
        for several in self._passes(wanted):
            blocks = self.table.map_blocks(partial(count_chosen, coding=self.coding, chosen=several))
            total = np.zeros((sum(len(one.levels) for one in several), self.coding.outcomes), dtype=np.int64)
            for one in blocks:
                total += one
            ends = np.cumsum([len(one.levels) for one in several])
            yield from np.split(total, ends[:-1])

    def _passes(self, wanted: Iterable[Chosen]) -> Iterator[tuple[Chosen, ...]]:
        """Combinations whose counts of all blocks can be held at the same time."""
        room = MOST_CELLS_HELD // (self.blocks * self.coding.outcomes)
        several: list[Chosen] = []
        for one in wanted:
            if several and sum(len(other.levels) for other in several) + len(one.levels) > room:
                yield tuple(several)
                several = []
            several.append(one)
        if several:
            yield tuple(several)

    def _rows_of(self, counted: NDArray[np.int64]) -> NDArray[np.int64]:
        return counted.sum(axis=1) if self.payload.codes is not None else counted[:, 0]


def _items(columns: Combination, parts: dict[Combination, SliceCounts]) -> NDArray[np.int32]:
    """Conjunctions over some columns that have enough rows."""
    known = parts.get(columns)
    return np.zeros((0, len(columns)), dtype=np.int32) if known is None else known.items


def _among(rows: NDArray[np.int32], known: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows are among known ones, both of the same width."""
    if not len(rows):
        return np.zeros(0, dtype=bool)
    _, number = np.unique(np.concatenate([rows, known]), axis=0, return_inverse=True)
    return np.isin(number[: len(rows)], number[len(rows) :])


def _with_test_of(found: Comparison, drawn: Comparison) -> Comparison:
    """A comparison of all rows with the p-value that a sample of them gave, and an interval as wide as the sample's."""
    low = high = None
    if found.difference is not None and drawn.difference is not None:
        low = None if drawn.low is None else found.difference - (drawn.difference - drawn.low)
        high = None if drawn.high is None else found.difference + (drawn.high - drawn.difference)
    return replace(found, test=drawn.test, p_value=drawn.p_value, low=low, high=high)


def _summarised(
    table: AuditTable, coding: Coding, how: Floats | Scale, several: Sequence[Items], offsets: NDArray[np.int64]
) -> list[tuple[Summary, Summary]]:
    """Values of one block in some slices, and in everybody else."""
    values, known = known_outcome(table)
    codes = coding.codes(table.frame if known.all() else table.frame[known])
    found = []
    for items in several:
        is_inside = rows_inside(codes, offsets, items).astype(np.int64)
        rest, inside = summarise(values, is_inside, 2, how)
        found.append((inside, rest))
    return found
