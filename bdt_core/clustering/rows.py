"""The rows while a tree grows: blocks, in each of which every node is a range.

A node is asked something (its statistics under some splits, candidates for its sample): each block answers for its own
rows, and the answers add up to those of all rows, to the bit. A table in memory is one block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import row_kernels
from bdt_core.clustering.outcome import WholeMoments
from bdt_core.clustering.refine import RestedSplit, refine, refine_at_once
from bdt_core.clustering.split import (
    BLOCK_ROWS,
    Floats,
    Integers,
    Layout,
    MapBlocks,
    Prototypes,
    Splits,
    Statistics,
    WeightedBlock,
    assign,
    bounds_of_blocks,
    statistics,
)
from bdt_core.clustering.starts import Dense, StartCandidates, candidates, densest, joined_candidates
from bdt_core.inference.exact_sums import Span, SumUnit, span_of
from bdt_core.table.encoding import Encoded

Answer = TypeVar("Answer")
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Kept:
    """A split that was kept, of the node at a position (see `bdt_core.clustering.grow.Grown`).

    After the ``last`` one only the order of the rows is asked for.
    """

    position: int
    split: Splits
    last: bool = False


@dataclass
class BlockRows:
    """The encoded rows of one block, reordered so that every node is a range.

    `table` and `whole`, the bias variable as whole numbers (higher is worse), are taken over and reordered; `y`, in its
    own units, stays in the order in which the rows came. `order` says where each row came (see `row_numbers`), `hashes`
    are those of `content_hashes`. `map_blocks` works on cuts of ``cut`` rows, and on columns. `ranges` says where the
    rows of each node begin and end, by position.
    """

    table: Encoded
    whole: npt.NDArray[np.int32]
    y: Floats
    order: npt.NDArray[np.unsignedinteger[Any]]
    hashes: npt.NDArray[np.uint64]
    layout: Layout
    map_blocks: MapBlocks = map
    cut: int = BLOCK_ROWS
    ranges: dict[int, tuple[int, int]] = field(default_factory=dict)
    _made: int = 0
    _sides: dict[int, Mask] = field(default_factory=dict)
    _density: dict[int, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ranges[1] = (0, len(self.y))

    def repeat(self, history: Sequence[Kept]) -> None:
        """Make those splits that were not made here yet."""
        for kept in history[self._made :]:
            start, stop = self.ranges[kept.position]
            sides = self.sides(kept.position, kept.split)
            columns = [self.order, self.whole.view(np.uint32)]
            if not kept.last:
                # Floats are moved as the integers of their size: one compiled loop for both.
                columns += [*_bits(self.table), *self.table.codes, self.hashes]
            self._move([column[start:stop] for column in columns], sides)
            middle = stop - int(np.count_nonzero(sides))
            self.ranges[2 * kept.position] = start, middle
            self.ranges[2 * kept.position + 1] = middle, stop
            self._made += 1
            self.forget()

    def _move(self, columns: Sequence[npt.NDArray[Any]], sides: Mask) -> None:
        list(self.map_blocks(lambda column: row_kernels.partition(column, sides), columns))

    def forget(self) -> None:
        """Let go of what was remembered from one question for the next."""
        self._sides, self._density = {}, {}

    def blocks(self, position: int) -> list[WeightedBlock]:
        """The rows of a node, cut; at least one piece."""
        start, stop = self.ranges[position]
        nothing = np.empty(0)
        return [
            WeightedBlock(self.table, *one, nothing)
            for one in bounds_of_blocks(start, stop, self.cut) or [(start, stop)]
        ]

    def sides(self, position: int, split: Splits) -> Mask:
        """Which rows of a node lie on side b of the split that is proposed for it: it never has more than one."""
        if position not in self._sides:
            self.place(position, assign(self.table, *self.ranges[position], split, self.map_blocks, self.cut))
        return self._sides[position]

    def place(self, position: int, sides: Mask) -> None:
        """Say which rows of a node lie on side b."""
        self._sides = {position: sides}

    def statistics(self, position: int, splits: Splits) -> Statistics:
        """Statistics of side b of each split of a node."""
        return statistics(self.blocks(position), splits, self.layout, self.map_blocks)

    def refined(
        self, position: int, a: Prototypes, b: Prototypes, whole: Statistics, tolerance: float
    ) -> list[RestedSplit]:
        """See `bdt_core.clustering.refine.refine_at_once`."""
        (block,) = self.blocks(position)
        return refine_at_once(block, a, b, whole, self.layout, tolerance)

    def candidates(self, position: int, key: np.uint64, limit: np.uint64, size: int) -> StartCandidates:
        """See `bdt_core.clustering.starts.candidates`."""
        return candidates(self.table, *self.ranges[position], self.hashes, key, limit, size)

    def densest(self, position: int, whole: Statistics, first: Integers) -> Dense | None:
        """See `bdt_core.clustering.starts.densest`; None without rows."""
        start, stop = self.ranges[position]
        if start == stop:
            return None
        search = partial(densest, self.blocks(position), self.hashes, whole, self.layout, map_blocks=self.map_blocks)
        if position not in self._density:
            self._density = {position: np.empty(stop)}
            if len(first):
                search(first[:0], self._density[position])  # which writes it
        return search(first, self._density[position])

    def moments(self, position: int, split: Splits | None = None) -> WholeMoments:
        """Moments of the bias variable in a node, or on side b of the split that is proposed for it."""
        start, stop = self.ranges[position]
        return WholeMoments.of(self.whole[start:stop], None if split is None else self.sides(position, split))

    def spans(self) -> dict[int, Span]:
        """Span of the bias variable in each node, by position."""
        y = self.y[self.order]
        return {position: span_of(y[slice(*rows)]) for position, rows in self.ranges.items()}

    def steps(self, steps: Mapping[int, SumUnit]) -> dict[int, int]:
        """Steps of the bias variable in each node, by position."""
        y = self.y[self.order]
        return {position: step.count(y[slice(*self.ranges[position])]) for position, step in steps.items()}

    def labels(self, positions: Sequence[int]) -> Integers:
        """In which of some nodes each row is, in the order in which the rows came."""
        labels = np.empty(len(self.order), dtype=np.int64)
        for label, position in enumerate(positions):
            labels[self.order[slice(*self.ranges[position])]] = label
        return labels


class AllRows(Protocol):
    """All rows of a search, in blocks, with encoded numbers of one `dtype`.

    A node of at most `at_once` rows is refined in one go where it is; 0 when its rows are in several blocks.
    """

    @property
    def rows(self) -> int: ...
    @property
    def at_once(self) -> int: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...

    def ask(self, history: Sequence[Kept], question: Callable[[BlockRows], Answer]) -> list[Answer]:
        """The answers of all blocks after these splits were made.

        The question is a pure function that can be pickled: who has lost the rows makes them again and repeats the
        splits.
        """


@dataclass(frozen=True)
class RowsInMemory:
    """A table in memory, as one block; see `AllRows`."""

    block: BlockRows

    @property
    def rows(self) -> int:
        return len(self.block.y)

    @property
    def at_once(self) -> int:
        return self.block.cut

    @property
    def layout(self) -> Layout:
        return self.block.layout

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.block.table.numeric.dtype

    def ask(self, history: Sequence[Kept], question: Callable[[BlockRows], Answer]) -> list[Answer]:
        self.block.repeat(history)
        return [question(self.block)]


@dataclass(frozen=True)
class NodeRows:
    """The rows of one node, over all blocks; `history` has the splits that made the node, among others."""

    all_rows: AllRows
    history: Sequence[Kept]
    position: int
    rows: int

    @property
    def layout(self) -> Layout:
        """What the columns are."""
        return self.all_rows.layout

    def statistics(self, splits: Splits) -> Statistics:
        """Statistics of side b of each split: one pass over the rows."""
        return reduce(Statistics.__add__, self._ask(BlockRows.statistics, splits=splits))

    def moments(self, split: Splits | None = None) -> WholeMoments:
        """Moments of the bias variable, or of side b of the split that is proposed."""
        return reduce(WholeMoments.__add__, self._ask(BlockRows.moments, split=split))

    def candidates(self, key: np.uint64, limit: np.uint64, size: int) -> StartCandidates:
        """See `bdt_core.clustering.starts.candidates`."""
        return joined_candidates(self._ask(BlockRows.candidates, key=key, limit=limit, size=size), size)

    def refine(self, a: Prototypes, b: Prototypes, whole: Statistics, tolerance: float) -> list[RestedSplit]:
        """See `bdt_core.clustering.refine.refine`."""
        if self.rows <= self.all_rows.at_once:
            (refined,) = self._ask(BlockRows.refined, a=a, b=b, whole=whole, tolerance=tolerance)
            return refined
        return refine(self.statistics, a, b, whole, self.layout, tolerance, self.all_rows.dtype)

    def densest_start(self, whole: Statistics) -> tuple[Prototypes, Prototypes]:
        """The start by density (see `bdt_core.clustering.starts.starts`) of all rows: a sample's is not quite the same.

        Of equally dense rows the one with the lower content hash counts, which does not depend on their order.
        """
        first = self._densest(whole, np.empty(0, dtype=np.int64))
        second = self._densest(whole, first)
        a, b = (Prototypes(np.empty((1, 0)), codes[None, :]) for codes in (first, second))
        return a, b

    def _densest(self, whole: Statistics, first: Integers) -> Integers:
        dense = self._ask(BlockRows.densest, whole=whole, first=first)
        return max((one for one in dense if one is not None), key=lambda one: one.order).codes

    def _ask(self, question: Callable[..., Answer], **about: Any) -> list[Answer]:
        return self.all_rows.ask(self.history, partial(question, position=self.position, **about))


def row_numbers(rows: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The numbers of the rows of a block, to be reordered with them."""
    return np.arange(rows, dtype=np.uint32 if rows < 2**32 else np.uint64)


def content_hashes(table: Encoded, varying: tuple[Mask, Mask], map_blocks: MapBlocks = map) -> npt.NDArray[np.uint64]:
    """A hash of each row's content.

    `varying`, shapes (p,) and (q,), says which numbers and codes are not constant: the others stay out, so that adding
    one changes nothing.
    """
    bits, codes = (
        columns if kept.all() else np.ascontiguousarray(columns[kept])
        for columns, kept in zip((_bits(table), table.codes), varying, strict=True)
    )
    hashes = np.empty(table.rows, dtype=np.uint64)
    list(map_blocks(lambda one: row_kernels.hash_rows(bits, codes, *one, hashes), bounds_of_blocks(0, table.rows)))
    return hashes


def varying_columns(table: Encoded) -> tuple[Mask, Mask]:
    """Which numbers and codes are not the same in all rows."""
    numbers, codes = (
        np.array([bool((one[:1000] != one[0]).any() or (one != one[0]).any()) for one in columns], dtype=np.bool_)
        for columns in (table.numeric, table.codes)
    )
    return numbers, codes


def _bits(table: Encoded) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The numbers as the whole numbers of their size."""
    bits: npt.NDArray[np.unsignedinteger[Any]] = table.numeric.view(np.dtype(f"u{table.numeric.dtype.itemsize}"))
    return bits
