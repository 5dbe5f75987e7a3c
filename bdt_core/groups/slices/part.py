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
from numpy.typing import NDArray

from bdt_core.groups.slices.coding import CodedRows, Coding, Items, columns_of
from bdt_core.groups.slices.counting import (
    NO_ITEM,
    Chosen,
    Combination,
    SliceCounts,
    count_chosen,
    count_slices,
    in_order,
    slice_keys,
)
from bdt_core.groups.slices.measure import Measure
from bdt_core.groups.slices.outcome import CountedOutcome, Outcome, Summed
from bdt_core.groups.slices.settings import SliceSettings
from bdt_core.inference import Comparison, compare_count_arrays, compare_samples, compare_summaries
from bdt_core.inference.comparison import drawing_needs_rows
from bdt_core.inference.persons import Persons, PersonSums, Steps, compare_persons, person_sums, rows_alike
from bdt_core.inference.summaries import Scale, SeenValues, Summary, ValueCounts, places_of, summarise
from bdt_core.table.audit_table import KEY
from bdt_core.table.blocks import OUTCOME, Block, Blocks, known_rows
from bdt_core.table.persons import portions
from bdt_core.table.summaries import How

T = TypeVar("T")

MOST_CELLS_HELD = 1 << 25
"""So many counts of all blocks are held at a time; more slices are counted in several passes."""


class CodedPart:
    """Rows with a known outcome, wherever they are.

    Parameters
    ----------
    table : Blocks
    coding : Coding
    measure : Measure
    looks : sequence of SeenValues
        The outcomes of each block.
    sample_rows : int
        Rows of a sample, for what needs single rows.
    persons : Persons, optional
        Who is in the rows, where persons may have several.
    """

    def __init__(
        self,
        table: Blocks,
        coding: Coding,
        measure: Measure,
        looks: Sequence[SeenValues],
        sample_rows: int,
        persons: Persons | None = None,
    ) -> None:
        self.table, self.coding, self.measure, self.sample_rows = table, coding, measure, sample_rows
        self.outcome: Outcome = coding.outcome
        self.seen, self.blocks = reduce(operator.add, looks), len(looks)
        self.rows = self.seen.span.rows
        self.persons = persons
        self._known: dict[Items, NDArray[np.int64]] = {}

    @property
    def columns(self) -> int:
        """How many columns are searched."""
        return len(self.coding.columns)

    @property
    def per_person(self) -> float:
        """Rows that a person has on average."""
        return 1.0 if self.persons is None else self.rows / max(self.persons.number, 1)

    @cached_property
    def design_effect(self) -> float:
        """Of the outcome in any slice of whole persons: what their rows have in common, over all rows."""
        if self.persons is None:
            return 1.0
        unit = 1.0 if isinstance(self.outcome, CountedOutcome) else self._steps.length
        return rows_alike(self._whole_of_persons, self.outcome.variance(self.whole) / unit**2)

    @property
    def lowest(self) -> float:
        """No outcome is lower."""
        return self.outcome.zero if isinstance(self.outcome, CountedOutcome) else self.seen.span.low

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
        blocks = self.table.map_blocks(partial(_count_whole, outcome=self.outcome), [OUTCOME])
        return self.outcome.totals(_added(blocks))

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

    def count(self, combinations: Sequence[Combination], width: int, min_rows: int) -> SliceCounts:
        """Every slice with enough rows, over some combinations of columns; `width` is how many conditions one may have.

        A block counts the slices that have at least half of the rows there that they need in all, for its size. What
        it does not count is below that, so that after one pass most slices are known to have enough rows or too few.
        The others are counted in a second one. A table of one block is counted once, and whole.

        References
        ----------
        Savasere, A., Omiecinski, E., Navathe, S. (1995). An efficient algorithm for mining association rules in large
        databases. VLDB 21, 432-444.
        """
        most = 2 * self.rows // min_rows + 1  # more slices over the same columns cannot have enough rows in a block

        def slices(columns: Combination) -> int:
            return min(math.prod(self.coding.levels[i] for i in columns), most)

        count = partial(_count_frequent, coding=self.coding, min_rows=min_rows, rows=self.rows, width=width)
        passes = [
            self._frequent(self._map(partial(count, combinations=of_pass)), min_rows)
            for of_pass in self._passes(combinations, slices)
        ]
        items, totals = (np.concatenate([vars(one)[name] for one in passes]) for name in ("items", "totals"))
        return in_order(SliceCounts(items, self.outcome.totals(totals)))

    def totals_of(self, slices: Sequence[Items]) -> NDArray[Any]:
        """Totals of some slices."""
        return self.outcome.totals(self._counted(slices))

    def compare(
        self, slices: Sequence[Items], settings: SliceSettings, *, permuting: bool = True
    ) -> list[tuple[NDArray[Any], Comparison, int]]:
        """Totals of some slices, their comparison with everybody else, and their rows.

        Parameters
        ----------
        slices : sequence of items
        settings : SliceSettings
        permuting : bool
            Whether means take a permutation test where Welch's t cannot be relied on.
        """
        totals = self.totals_of(slices)
        if isinstance(self.outcome, CountedOutcome):
            events, n = self.outcome.sums_and_rows(totals)
            all_events, all_n = self.outcome.sums_and_rows(self.whole)
            comparisons = compare_count_arrays(
                events, n, all_events - events, all_n - n, alpha=settings.alpha, min_rows=settings.min_rows,
                lower=self.outcome.zero, step=self.outcome.step,
            )  # fmt: skip
        else:
            how = {name: getattr(settings, name) for name in ("alpha", "min_rows", "random_state")}
            comparisons = [
                self._compare_means(items, inside, rest, permuting, **how)
                for items, (inside, rest) in zip(slices, self._summaries(slices, self.outcome), strict=True)
            ]
        if self.persons is not None:
            comparisons = [
                compare_persons(
                    one, of_slice, self._whole_of_persons - of_slice, self._steps, min_rows=settings.min_rows
                )
                for one, of_slice in zip(comparisons, self._of_persons(slices), strict=True)
            ]
        return list(zip(totals, comparisons, self.outcome.rows(totals).astype(int).tolist(), strict=True))

    def _compare_means(self, items: Items, inside: Summary, rest: Summary, permuting: bool, **how: Any) -> Comparison:
        """Welch's t, and where it rejects but cannot be relied on, a permutation test in its place.

        Both have to reject, which is as strict as the permutation test alone and spares most of its time. Permutations
        are drawn from counts of the values, or, where there are too many values, from single rows.
        """
        welch = compare_summaries(inside, rest, test="welch", **how)
        if not permuting or self.persons is not None or welch.p_value is None or welch.p_value > how["alpha"]:
            return welch  # of persons with several rows t has errors by person
        if not drawing_needs_rows(inside, rest):
            return compare_summaries(inside, rest, **how)
        mask, values = self.sample.inside(items), self.sample.values
        drawn = compare_samples(values[mask], values[~mask], test="permutation", **how)
        return welch if drawn.p_value is None else _with_test_of(welch, drawn)

    @cached_property
    def _steps(self) -> Steps:
        if isinstance(self.outcome, CountedOutcome):
            return Steps(self.outcome.zero, self.outcome.step)
        return Steps.of(self.outcome.scale if self.seen.values is None else self.seen.values)

    @cached_property
    def _whole_of_persons(self) -> PersonSums:
        return next(self._of_persons([()]))

    def _of_persons(self, slices: Sequence[Items]) -> Iterator[PersonSums]:
        """What persons have in some slices."""
        assert self.persons is not None
        asked = partial(_of_persons, coding=self.coding, persons=self.persons, steps=self._steps)
        for of_pass in portions(slices, self.persons, self.blocks):
            blocks = self.table.map_blocks(partial(asked, slices=of_pass), [*self.coding.names, KEY])
            yield from (reduce(operator.add, of_slice) for of_slice in zip(*blocks, strict=True))

    def _summaries(self, slices: Sequence[Items], outcome: Summed) -> Iterator[tuple[Summary, Summary]]:
        """Values in some slices, and in everybody else."""
        how: How = outcome.scale if self.seen.values is None else self.seen.values
        cells = 2 * (64 if isinstance(how, Scale) else how.size)
        for of_pass in self._passes(slices, lambda _: cells):
            blocks = self._map(partial(_summarised, coding=self.coding, how=how, slices=of_pass))
            for pairs in zip(*blocks, strict=True):
                inside, rest = zip(*pairs, strict=True)
                yield reduce(operator.add, inside), reduce(operator.add, rest)

    def _counted(self, slices: Sequence[Items]) -> NDArray[np.int64]:
        """What is counted in some slices, shape (slices, numbers)."""
        by_columns: dict[Combination, list[Items]] = {}
        for items in sorted(set(slices) - set(self._known)):
            by_columns.setdefault(tuple(columns_of(items, self.coding.offsets).tolist()), []).append(items)
        chosen = [
            Chosen(columns, (np.array(same) - self.coding.offsets[list(columns)]).astype(np.int32))
            for columns, same in by_columns.items()
        ]
        for of_pass in self._passes(chosen, lambda one: len(one.levels)):
            counted = _added(self._map(partial(_count_chosen, coding=self.coding, chosen=of_pass)))
            new = (items for one in of_pass for items in by_columns[one.columns])
            self._known |= dict(zip(new, counted, strict=True))
        known = [self._known[items] for items in slices]
        return np.array(known, dtype=np.int64).reshape(len(slices), self.outcome.numbers)

    def _frequent(self, blocks: Sequence[BlockCounts], min_rows: int) -> SliceCounts:
        """The slices with enough rows, from those of each block; counted in all blocks where that is not known."""
        every = np.concatenate([one.slices.items for one in blocks])
        keys = slice_keys(every, int(self.coding.offsets[-1]) + 2)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        if not first.size:
            return blocks[0].slices

        def added(of_each: NDArray[Any]) -> NDArray[np.int64]:
            return np.asarray(np.add.reduceat(of_each[order], first), dtype=np.int64)

        items, totals = every[order[first]], added(np.concatenate([one.slices.totals for one in blocks]))
        missed = np.array([one.missed for one in blocks])
        missed = missed.sum() - added(np.repeat(missed, [len(one.slices.items) for one in blocks]))
        is_open = (missed > 0) & (self.outcome.rows(totals) + missed >= min_rows)
        totals[is_open] = self._counted([tuple(row[row != NO_ITEM].tolist()) for row in items[is_open]])
        enough = self.outcome.rows(totals) >= min_rows
        return SliceCounts(items[enough], totals[enough])

    def _map(self, function: Callable[[Block], T]) -> list[T]:
        return self.table.map_blocks(function, self.coding.names)

    def _passes(self, work: Iterable[T], cells: Callable[[T], int]) -> Iterator[tuple[T, ...]]:
        """Work in portions, one for each pass over the rows: the counts of all blocks are held at the same time."""
        room = MOST_CELLS_HELD // (self.blocks * self.outcome.numbers)
        portion: list[T] = []
        held = 0
        for task in work:
            if portion and held + cells(task) > room:
                yield tuple(portion)
                portion, held = [], 0
            portion.append(task)
            held += cells(task)
        if portion:
            yield tuple(portion)


@dataclass(frozen=True)
class BlockCounts:
    """The slices that are frequent in one block.

    Attributes
    ----------
    slices : SliceCounts
    missed : int
        Any other slice has so many rows in the block at most.
    """

    slices: SliceCounts
    missed: int


def _count_frequent(
    block: Block, coding: Coding, min_rows: int, rows: int, width: int, combinations: Sequence[Combination]
) -> BlockCounts:
    coded = coding.of(block)
    n = coded.values.size
    least = min_rows if n == rows else max(1, min_rows * n // (2 * rows))
    slices = count_slices(
        coded.codes, coding.levels, coded.payload,
        min_rows=least, max_conditions=width, chosen=combinations, numbers=coding.outcome.numbers,
    )  # fmt: skip
    return BlockCounts(slices, least - 1)


def _count_chosen(block: Block, coding: Coding, chosen: Sequence[Chosen]) -> NDArray[Any]:
    coded = coding.of(block)
    return count_chosen(coded.codes, coding.levels, coded.payload, chosen, coding.outcome.numbers)


def _count_whole(block: Block, outcome: Outcome) -> NDArray[np.int64]:
    return outcome.whole(outcome.payload(known_rows(block)[1]))


def _summarised(block: Block, coding: Coding, how: How, slices: Sequence[Items]) -> list[tuple[Summary, Summary]]:
    """Values of one block in some slices, and in everybody else."""
    coded = coding.of(block)
    masks = (coded.inside(items) for items in slices)
    if isinstance(how, Scale):
        both = (summarise(coded.values, mask.astype(np.int64), 2, how) for mask in masks)
        return [(inside, rest) for rest, inside in both]
    at = places_of(coded.values, how)

    def counts(rows: NDArray[np.bool_]) -> ValueCounts:
        return ValueCounts(how, np.bincount(at[rows], minlength=how.size))

    return [(counts(mask), counts(~mask)) for mask in masks]


def _of_persons(
    block: Block, coding: Coding, persons: Persons, steps: Steps, slices: Sequence[Items]
) -> list[PersonSums]:
    """What the persons of one block have in some slices; the slice without conditions is everybody."""
    coded = coding.of(block)
    who = persons.numbers(known_rows(block)[0][KEY].to_numpy())
    counted = coded.values <= steps.low + steps.length if isinstance(coding.outcome, CountedOutcome) else None
    values = steps.count(coded.values)
    sums = []
    for items in slices:
        inside = coded.inside(items) if items else np.ones(values.size, dtype=np.bool_)
        if counted is not None:
            inside &= counted
        sums.append(person_sums(values[inside], who[inside], persons.size))
    return sums


def _added(blocks: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The sum over all blocks, whatever the type of each."""
    total = blocks[0].astype(np.int64)
    for block in blocks[1:]:
        total += block
    return total


def _with_test_of(comparison: Comparison, drawn: Comparison) -> Comparison:
    """A comparison of all rows with the p-value that single rows gave, and an interval as wide as theirs."""
    low = high = None
    if comparison.difference is not None and drawn.difference is not None:
        low = None if drawn.low is None else comparison.difference - (drawn.difference - drawn.low)
        high = None if drawn.high is None else comparison.difference + (drawn.high - drawn.difference)
    return replace(comparison, test=drawn.test, p_value=drawn.p_value, low=low, high=high)


def parts_of(items: Items) -> list[Items]:
    """All non-empty parts of a conjunction, those with the fewest conditions first.

    Examples
    --------
    >>> parts_of((1, 5))
    [(1,), (5,), (1, 5)]
    """
    return [part for k in range(1, len(items) + 1) for part in itertools.combinations(items, k)]
