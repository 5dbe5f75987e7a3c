"""Where two-way splits start from: a sample of distinct rows, and pairs of rows far apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import kernels
from bdt_core.clustering.split import (
    Block,
    Floats,
    Layout,
    MapBlocks,
    Prototypes,
    Splits,
    Statistics,
    block_statistics,
)
from bdt_core.table.encoding import Encoded

SAMPLE_ROWS = 4096
"""Distinct rows that the starts are worked out on."""


@dataclass(frozen=True)
class Sample:
    """Distinct rows with their numbers of copies.

    Attributes
    ----------
    table : Encoded
    weights : float64 ndarray of shape (m,)
    complete : bool
        Whether every row of the set has its copy here.
    """

    table: Encoded
    weights: Floats
    complete: bool

    def statistics(self, layout: Layout) -> Statistics:
        """Of all its rows, S = 1."""
        everything = Splits.all_to_b(layout, self.table.numeric.dtype)
        return block_statistics(Block(self.table, 0, self.table.rows, self.weights), everything, layout)


def draw_sample(
    table: Encoded,
    start: int,
    stop: int,
    hashes: npt.NDArray[np.uint64],
    key: np.uint64,
    size: int = SAMPLE_ROWS,
) -> Sample:
    """The distinct rows with the smallest seeded hashes, in that order, each with its number of copies.

    Which rows these are depends on their content and the key alone, not on their order. Copies of a row share
    its hash, so many copies cannot crowd other rows out.
    """
    rows = stop - start
    share = 1.0 if rows <= 2 * size else 1.25 * size / rows
    while True:
        limit = np.uint64(2**64 - 1) if share >= 1.0 else np.uint64(int(share * 2.0**64))
        where, values = kernels.rows_below(hashes[start:stop], key, limit)
        order = np.argsort(values)  # equal values are copies of one row, in whatever order
        ordered = values[order]
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
        if len(first) >= size or share >= 1.0:
            break
        share *= 8.0
    complete = share >= 1.0 and len(first) <= size
    weights = np.diff(np.append(first, len(ordered))).astype(np.float64)[:size]
    chosen = start + where[order[first[:size]]]
    columns = Encoded(np.ascontiguousarray(table.numeric[:, chosen]), np.ascontiguousarray(table.codes[:, chosen]))
    return Sample(columns, weights, complete)


def starts(
    sample: Sample, layout: Layout, generator: np.random.Generator, n_init: int
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
    firsts = _draw(weights, draws[:, 0])
    density = None
    if len(layout.levels) and not layout.fields:
        density = np.zeros(len(weights))
        for code in codes:
            density += np.bincount(code, weights)[code]
        firsts[0] = density.argmax()
    seconds = np.empty_like(firsts)
    for index, first in enumerate(firsts):
        apart = np.zeros(len(weights))
        for column in numeric:
            apart += (column - column[first]) ** 2
        apart += layout.gamma * (codes != codes[:, [first]]).sum(axis=0)
        if index == 0 and density is not None:
            seconds[index] = (density * apart).argmax()
        else:
            seconds[index] = _draw(weights * apart, draws[index : index + 1, 1])[0]
    points = Prototypes(numeric.T, codes.T.astype(np.int64))
    return points[firsts], points[seconds]


def densest_start(
    blocks: Sequence[Block],
    hashes: npt.NDArray[np.uint64],
    whole: Statistics,
    layout: Layout,
    map_blocks: MapBlocks = map,
) -> tuple[Prototypes, Prototypes]:
    """The start by density (see `starts`) of all rows, where a sample's is not quite the same.

    Of equally dense rows the one with the lower content hash counts, which does not depend on their order.
    """
    codes = blocks[0].table.codes
    first = np.zeros((0,), dtype=np.int64)
    rows = []
    for _ in range(2):
        search = partial(_densest, codes=codes, whole=whole, layout=layout, first=first, hashes=hashes)
        _, _, row = max(map_blocks(search, blocks))
        first = codes[:, row].astype(np.int64)
        rows.append(Prototypes(np.empty((1, 0)), first[None, :]))
    return rows[0], rows[1]


def _densest(
    block: Block,
    *,
    codes: npt.NDArray[np.unsignedinteger[Any]],
    whole: Statistics,
    layout: Layout,
    first: npt.NDArray[np.int64],
    hashes: npt.NDArray[np.uint64],
) -> tuple[float, int, int]:
    """Density (see the kernel), hash, negated, and position of a block's densest row."""
    score, row = kernels.densest(codes, block.start, block.stop, whole.counts[0], layout.offsets, first, hashes)
    return score, -int(hashes[row]), row


def _draw(weights: Floats, uniform: Floats) -> npt.NDArray[np.intp]:
    """Positions drawn with probability in proportion to weights."""
    total = np.cumsum(weights)
    drawn: npt.NDArray[np.intp] = np.searchsorted(total, uniform * total[-1], side="right")
    return np.minimum(drawn, len(weights) - 1)
