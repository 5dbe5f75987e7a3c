"""The train or the test rows: slices are counted and compared block by block."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.inference import Comparison, compare_count_arrays, compare_samples, compare_summaries
from bdt_core.inference.comparison import drawing_needs_rows
from bdt_core.inference.summaries import Scale, Seen, Summary, ValueCounts, summarise
from bdt_core.slices.blocks import OUTCOME, Block, Blocks, known_rows
from bdt_core.slices.coding import CodedRows, Coding, Items, columns_of
from bdt_core.slices.counting import (
    NO_ITEM,
    Chosen,
    Combination,
    SliceCounts,
    all_combinations,
    count_chosen,
    count_slices,
    in_order,
    slice_keys,
)
from bdt_core.slices.measure import Measure
from bdt_core.slices.outcome import Counted, Outcome, Summed

T = TypeVar("T")
How = NDArray[np.float64] | Scale

MOST_CELLS_HELD = 1 << 25
"""So many counts of all blocks are held at a time; more slices are counted in several passes."""


class Part:
    """Rows with a known outcome, wherever they are.

    Parameters
    ----------
    table : Blocks
    coding : Coding
    measure : Measure
    looks : sequence of Seen
        The outcomes of each block.
    sample_rows : int
        Rows of a sample, for what needs single rows.
    """

    def __init__(
        self, table: Blocks, coding: Coding, measure: Measure, looks: Sequence[Seen], sample_rows: int
    ) -> None:
        self.table, self.coding, self.measure, self.sample_rows = table, coding, measure, sample_rows
        self.outcome: Outcome = coding.outcome
        self.seen, self.blocks = reduce(operator.add, looks), len(looks)
        self.rows = self.seen.span.rows
        self._known: dict[Items, NDArray[np.int64]] = {}

    @property
    def columns(self) -> int:
        """How many columns are searched."""
        return len(self.coding.columns)

    @property
    def lowest(self) -> float:
        """No outcome is lower."""
        return self.outcome.zero if isinstance(self.outcome, Counted) else self.seen.span.low

    @property
    def is_constant(self) -> bool:
        """Whether the outcome is the same in every row of the metric's denominator."""
        if isinstance(self.outcome, Summed):
            return self.seen.span.low == self.seen.span.high
        events, n = self.outcome.sums_and_rows(self.whole)
        return bool(events in (0, n)) or self.outcome.step == 0.0

    @cached_property
    def whole(self) -> NDArray[Any]:
        """Totals of all rows."""
        blocks = self.table.map_blocks(partial(_whole_block, outcome=self.outcome), [OUTCOME])
        return self.outcome.totals(np.sum(blocks, axis=0, dtype=np.int64))

    @cached_property
    def sample(self) -> CodedRows:
        """Single rows: all of them, or a sample."""
        return self.coding.of(self.table.sample(self.sample_rows)).by_value()

    @property
    def has_sampled(self) -> bool:
        """Whether single rows were needed."""
        return "sample" in vars(self)

    def value(self) -> float | None:
        """The metric over all rows; None without rows in its denominator."""
        total, n = self.outcome.sums_and_rows(self.whole)
        return float(self.outcome.zero + self.outcome.step * total / n) if n else None

    def count(self, max_conditions: int, min_rows: int) -> SliceCounts:
        """Every slice with enough rows.

        A block counts the slices that have at least half of the rows there that they need in all, for its size. What
        it does not count is below that, so that after one pass most slices are known to have enough rows or too few.
        The others are counted in a second one. A table of one block is counted once, and whole.

        References
        ----------
        Savasere, A., Omiecinski, E., Navathe, S. (1995). An efficient algorithm for mining association rules in large
        databases. VLDB 21, 432-444.
        """
        wanted = all_combinations(self.columns, min(max_conditions, self.columns))
        most = 2 * self.rows // min_rows + 1  # more slices over the same columns cannot have enough rows in a block

        def slices(columns: Combination) -> int:
            return min(math.prod(self.coding.levels[one] for one in columns), most)

        count = partial(_count_block, coding=self.coding, min_rows=min_rows, rows=self.rows, width=max_conditions)
        found = [
            self._enough(self.table.map_blocks(partial(count, wanted=some), self.coding.names), min_rows)
            for some in self._passes(wanted, slices)
        ]
        items, totals = (np.concatenate(one) for one in zip(*((one.items, one.totals) for one in found), strict=True))
        return in_order(SliceCounts(items, self.outcome.totals(totals)))

    def totals_of(self, several: Sequence[Items]) -> NDArray[Any]:
        """Totals of some slices."""
        return self.outcome.totals(self._counted(several))

    def _counted(self, several: Sequence[Items]) -> NDArray[np.int64]:
        missing = sorted(set(several) - set(self._known))
        by_columns: dict[Combination, list[Items]] = {}
        for items in missing:
            by_columns.setdefault(tuple(columns_of(items, self.coding.offsets).tolist()), []).append(items)
        chosen = [
            Chosen(columns, np.array(same, dtype=np.int32) - self.coding.offsets[list(columns)].astype(np.int32))
            for columns, same in by_columns.items()
        ]
        for some in self._passes(chosen, lambda one: len(one.levels)):
            blocks = self.table.map_blocks(
                partial(_count_chosen_block, coding=self.coding, chosen=some), self.coding.names
            )
            counted = np.sum(blocks, axis=0, dtype=np.int64)
            self._known |= dict(zip((items for one in some for items in by_columns[one.columns]), counted, strict=True))
        of_each = [self._known[items] for items in several]
        return np.array(of_each, dtype=np.int64).reshape(len(several), self.outcome.numbers)

    def compare(
        self, several: list[Items], *, alpha: float, min_rows: int, permuting: bool, random_state: int
    ) -> list[tuple[NDArray[Any], Comparison, int]]:
        """Totals and rows of some slices, and their comparison with everybody else."""
        totals = self.totals_of(several)
        if isinstance(self.outcome, Counted):
            events, n = self.outcome.sums_and_rows(totals)
            all_events, all_n = self.outcome.sums_and_rows(self.whole)
            compared = compare_count_arrays(
                events, n, all_events - events, all_n - n, alpha=alpha, min_rows=min_rows,
                lower=self.outcome.zero, step=self.outcome.step,
            )  # fmt: skip
        else:
            settings: dict[str, Any] = {"alpha": alpha, "min_rows": min_rows, "random_state": random_state}
            compared = [
                self._compare_means(items, inside, rest, permuting, **settings)
                for items, (inside, rest) in zip(several, self._summaries(several), strict=True)
            ]
        return list(zip(totals, compared, self.outcome.rows(totals).astype(int).tolist(), strict=True))

    def _compare_means(
        self, items: Items, inside: Summary, rest: Summary, permuting: bool, **settings: Any
    ) -> Comparison:
        """Welch's t, and where it rejects but cannot be relied on, a permutation test in its place.

        Both have to reject, which is as strict as the permutation test alone and spares most of its time. Permutations
        are drawn from counts of the values, or, where there are too many values, from single rows.
        """
        found = compare_summaries(inside, rest, test="welch", **settings)
        if not permuting or found.p_value is None or found.p_value > settings["alpha"]:
            return found
        if not drawing_needs_rows(inside, rest):
            return compare_summaries(inside, rest, **settings)
        mask = self.sample.inside(items)
        drawn = compare_samples(self.sample.values[mask], self.sample.values[~mask], test="permutation", **settings)
        return found if drawn.p_value is None else _with_test_of(found, drawn)

    def _summaries(self, several: Sequence[Items]) -> Iterator[tuple[Summary, Summary]]:
        """Values in some slices, and in everybody else."""
        assert isinstance(self.outcome, Summed)
        how: How = self.outcome.scale if self.seen.values is None else self.seen.values
        cells = 2 * (64 if isinstance(how, Scale) else how.size)
        for some in self._passes(several, lambda _: cells):
            blocks = self.table.map_blocks(
                partial(_summarised, coding=self.coding, how=how, several=some), self.coding.names
            )
            for pairs in zip(*blocks, strict=True):
                inside, rest = zip(*pairs, strict=True)
                yield reduce(operator.add, inside), reduce(operator.add, rest)

    def _enough(self, blocks: Sequence[BlockCounts], min_rows: int) -> SliceCounts:
        """The slices with enough rows, from what each block has counted."""
        rows_of = self.outcome.rows
        items = np.concatenate([one.counted.items for one in blocks])
        keys = slice_keys(items, int(self.coding.offsets[-1]) + 2)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        if not len(starts):
            return blocks[0].counted
        items = items[order[starts]]
        totals = np.add.reduceat(np.concatenate([one.counted.totals for one in blocks])[order], starts)
        missed = np.repeat([one.missed for one in blocks], [len(one.counted.items) for one in blocks])[order]
        missed = sum(one.missed for one in blocks) - np.add.reduceat(missed, starts)
        is_open = (missed > 0) & (rows_of(totals) + missed >= min_rows)
        totals[is_open] = self._counted([tuple(one[one != NO_ITEM].tolist()) for one in items[is_open]])
        enough = rows_of(totals) >= min_rows
        return SliceCounts(items[enough], totals[enough])

    def _passes(self, wanted: Iterable[T], cells: Callable[[T], int]) -> Iterator[tuple[T, ...]]:
        """What is counted in one pass over the rows: the counts of all blocks are held at the same time."""
        room = MOST_CELLS_HELD // (self.blocks * self.outcome.numbers)
        some: list[T] = []
        held = 0
        for one in wanted:
            if some and held + cells(one) > room:
                yield tuple(some)
                some, held = [], 0
            some.append(one)
            held += cells(one)
        if some:
            yield tuple(some)


@dataclass(frozen=True)
class BlockCounts:
    """What one block has counted.

    Attributes
    ----------
    counted : SliceCounts
    missed : int
        Any other slice has so many rows in the block at most.
    """

    counted: SliceCounts
    missed: int


def _count_block(
    block: Block, coding: Coding, min_rows: int, rows: int, width: int, wanted: Sequence[Combination]
) -> BlockCounts:
    coded = coding.of(block)
    n = coded.values.size
    least = min_rows if n == rows else max(1, min_rows * n // (2 * rows))
    counted = count_slices(
        coded.codes, coding.levels, coded.payload,
        min_rows=least, max_conditions=width, wanted=wanted, numbers=coding.outcome.numbers,
    )  # fmt: skip
    return BlockCounts(counted, least - 1)


def _count_chosen_block(block: Block, coding: Coding, chosen: Sequence[Chosen]) -> NDArray[Any]:
    coded = coding.of(block)
    return count_chosen(coded.codes, coding.levels, coded.payload, chosen, coding.outcome.numbers)


def _whole_block(block: Block, outcome: Outcome) -> NDArray[np.int64]:
    return outcome.whole(outcome.payload(known_rows(block)[1]))


def _summarised(block: Block, coding: Coding, how: How, several: Sequence[Items]) -> list[tuple[Summary, Summary]]:
    """Values of one block in some slices, and in everybody else."""
    coded = coding.of(block)
    masks = (coded.inside(items) for items in several)
    if isinstance(how, Scale):
        return [tuple(summarise(coded.values, mask.astype(np.int64), 2, how)[::-1]) for mask in masks]
    at = pd.Index(how).get_indexer(pd.Index(coded.values))
    return [
        tuple(ValueCounts(how, np.bincount(at[rows], minlength=how.size)) for rows in (mask, ~mask)) for mask in masks
    ]


def _with_test_of(found: Comparison, drawn: Comparison) -> Comparison:
    """A comparison of all rows with the p-value that single rows gave, and an interval as wide as theirs."""
    low = high = None
    if found.difference is not None and drawn.difference is not None:
        low = None if drawn.low is None else found.difference - (drawn.difference - drawn.low)
        high = None if drawn.high is None else found.difference + (drawn.high - drawn.difference)
    return replace(found, test=drawn.test, p_value=drawn.p_value, low=low, high=high)


def parts_of(items: Items) -> list[Items]:
    """All non-empty parts of a conjunction, those with the fewest conditions first.

    Examples
    --------
    >>> parts_of((1, 5))
    [(1,), (5,), (1, 5)]
    """
    return [part for k in range(1, len(items) + 1) for part in itertools.combinations(items, k)]
