"""Starts of two-way splits: a sample of distinct rows, and pairs of rows far apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import row_kernels
from bdt_core.clustering.plus_plus import drawn_by_weight, rows_far_apart
from bdt_core.clustering.split import (
    Floats,
    Integers,
    Layout,
    MapBlocks,
    Prototypes,
    Splits,
    Statistics,
    WeightedBlock,
    block_statistics,
)
from bdt_core.table.encoding import Encoded

SAMPLE_ROWS = 4096
"""Distinct rows that the starts are worked out on."""


@dataclass(frozen=True)
class Sample:
    """Distinct rows with their numbers of copies; `complete` when every row of the set has its copy here."""

    table: Encoded
    weights: Floats
    complete: bool

    @property
    def block(self) -> WeightedBlock:
        """All its rows, without weights where there are no copies: that is quicker to add up."""
        return WeightedBlock(
            self.table, 0, self.table.rows, self.weights if (self.weights > 1.0).any() else np.empty(0)
        )

    def first(self, size: int) -> Sample:
        """The sample that `draw_sample` makes of that size."""
        if len(self.weights) <= size:
            return self
        return Sample(self.table.take(np.arange(size)), self.weights[:size], complete=False)

    def statistics(self, layout: Layout) -> Statistics:
        """Of all its rows, S = 1."""
        return block_statistics(self.block, Splits.all_to_b(layout, self.table.numeric.dtype), layout)


@dataclass(frozen=True)
class StartCandidates:
    """Distinct rows of the smallest seeded hashes, which rise, and how often each is there.

    `distinct` is the number of distinct rows below the limit; more than there are here where only the first were
    wanted.
    """

    hashes: npt.NDArray[np.uint64]
    copies: Integers
    table: Encoded
    distinct: int


def candidates(
    table: Encoded, start: int, stop: int, hashes: npt.NDArray[np.uint64], key: np.uint64, limit: np.uint64, size: int
) -> StartCandidates:
    """Of the rows from start to stop, the distinct ones whose seeded hash is at most the limit; the first ``size``."""
    where, values = row_kernels.rows_below(hashes[start:stop], key, limit)
    order = np.argsort(values)  # equal values are copies of one row, in whatever order
    ordered = values[order]
    first = _firsts(ordered)
    copies = np.diff(np.append(first, len(ordered)))[:size]
    chosen = start + where[order[first[:size]]]
    return StartCandidates(ordered[first[:size]], copies, table.take(chosen), len(first))


def joined_candidates(parts: Sequence[StartCandidates], size: int) -> StartCandidates:
    """What `candidates` gives on all the rows of several parts."""
    if len(parts) == 1:
        return parts[0]
    hashes = np.concatenate([one.hashes for one in parts])
    order = np.argsort(hashes, kind="stable")
    first = _firsts(hashes[order])
    copies = np.add.reduceat(np.concatenate([one.copies for one in parts])[order], first) if len(first) else first
    chosen = order[first[:size]]
    numeric, codes = (
        np.concatenate([getattr(one.table, name) for one in parts], axis=1) for name in ("numeric", "codes")
    )
    distinct = max([len(first), *(one.distinct for one in parts)])
    return StartCandidates(hashes[chosen], copies[:size], Encoded(numeric, codes).take(chosen), distinct)


def _firsts(ordered: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Where each value first occurs."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])


def draw_sample(below: Callable[[np.uint64], StartCandidates], rows: int, size: int = SAMPLE_ROWS) -> Sample:
    """The distinct rows with the smallest seeded hashes, in that order, each with its number of copies.

    Which rows these are depends on their content and the key alone, not on their order. Copies of a row share its hash,
    so many copies cannot crowd other rows out. `below` gives the candidates up to a limit; `rows` counts all, `size`
    the distinct rows wanted.
    """
    share = 1.0 if rows <= 2 * size else 1.25 * size / rows
    while True:
        drawn = below(np.uint64(2**64 - 1) if share >= 1.0 else np.uint64(int(share * 2.0**64)))
        if drawn.distinct >= size or share >= 1.0:
            break
        share *= 8.0
    complete = share >= 1.0 and drawn.distinct <= size
    return Sample(drawn.table, drawn.copies.astype(np.float64), complete)


def starts(
    sample: Sample, total: Statistics, layout: Layout, generator: np.random.Generator, n_init: int
) -> tuple[Prototypes, Prototypes]:
    """Pairs of rows to start from.

    The first row is drawn by weight, the second by weight times its dissimilarity from the first (k-means++,
    Arthur & Vassilvitskii 2007). With categories, one start is by density instead: the row whose levels are the
    most frequent ones, and the row with the largest product of that density and its dissimilarity from the
    first (Cao, Liang & Bai 2009).
    """
    numeric = sample.table.numeric.astype(np.float64)
    codes = sample.table.codes
    weights = sample.weights
    draws = generator.random((n_init, 2))
    firsts = drawn_by_weight(weights, draws[:, 0])
    seconds = np.empty_like(firsts)
    by_density = int(len(layout.levels) > 0 and not layout.fields)
    if by_density:
        ranks, density = np.arange(len(weights), dtype=np.uint64), np.empty(len(weights))
        dense = partial(densest, [sample.block], ranks, total, layout, density=density)
        first = dense(first=np.empty(0, dtype=np.int64))
        firsts[0], seconds[0] = first.rank, dense(first=first.codes).rank

    def squared_distances(rows: npt.NDArray[Any]) -> Floats:
        apart = np.zeros((len(rows), len(weights)))
        for row, distances in zip(rows, apart, strict=True):
            for column in numeric:
                distances += (column - column[row]) ** 2
            distances += layout.gamma * (codes != codes[:, [row]]).sum(axis=0)
        return apart

    for index in range(by_density, n_init):
        pair = rows_far_apart(int(firsts[index]), draws[index : index + 1, 1:], squared_distances, weights)
        seconds[index] = pair[-1]  # of one distinct row there is no other
    a, b = (
        Prototypes(np.ascontiguousarray(numeric[:, rows].T), np.ascontiguousarray(codes[:, rows].T, dtype=np.int64))
        for rows in (firsts, seconds)
    )
    return a, b


@dataclass(frozen=True)
class Dense:
    """The row of some rows with the largest score (see the kernel), of equal ones the one of lowest rank."""

    score: float
    rank: int
    codes: Integers

    @property
    def order(self) -> tuple[float, int]:
        """The largest is the one."""
        return self.score, -self.rank


def densest(
    blocks: Sequence[WeightedBlock],
    ranks: npt.NDArray[np.uint64],
    whole: Statistics,
    layout: Layout,
    first: Integers,
    density: Floats,
    map_blocks: MapBlocks = map,
) -> Dense:
    """The densest row; given another row's codes, that of the largest product of density and distance from it.

    Of equally dense rows the one of lowest rank counts. `blocks` are of one table; `whole`, of all rows, says how often
    each level occurs. `density`, shape (n,), is written to when `first` is empty, else read.
    """
    codes = blocks[0].table.codes
    counts, offsets = whole.counts[0], layout.offsets

    def best(block: WeightedBlock) -> tuple[float, int, int]:
        score, row = row_kernels.densest(codes, block.start, block.stop, counts, offsets, first, ranks, density)
        return score, -int(ranks[row]), row

    score, rank, row = max(map_blocks(best, blocks))
    return Dense(score, -rank, codes[:, row].astype(np.int64))
