"""The best split of a set of rows in two: many starts on a sample, the best of them on all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import kernels
from bdt_core.clustering.split import (
    BLOCK_ROWS,
    Block,
    Floats,
    Integers,
    Layout,
    MapBlocks,
    Prototypes,
    Splits,
    Statistics,
    bounds_of_blocks,
    cost,
    prototypes,
    squared_norm,
    statistics,
)
from bdt_core.clustering.starts import (
    SAMPLE_ROWS,
    Candidates,
    Sample,
    candidates,
    densest,
    densest_start,
    draw_sample,
    starts,
)
from bdt_core.table.encoding import Encoded

LARGER_SAMPLE_ROWS = 32_768
"""Distinct rows that the best starts are worked out on before all rows, when these are many more."""

FULL_RUNS = 2
"""Of the sample's solutions, at most so many are refined on all rows."""

POLISHED = 3
"""So many of the solutions of k-modes are worth polishing."""

POLISHED_CELLS = 4_000_000
"""Polishing looks at all cells once for each of two modes per column: wider tables would wait for it."""

MAX_PASSES = 100

TOLERANCE = 1e-4
"""Stop when both prototypes together move by less than this share of a column's variance (squared distance), as
scikit-learn's KMeans does by default; when all rows are in the sample, only when nothing changes any more."""


@dataclass(frozen=True)
class Found:
    """A split, its side b, and its cost (see `bdt_core.clustering.split.cost`)."""

    split: Splits
    side_b: Statistics
    cost: float


class NodeRows(Protocol):
    """The rows of one node, wherever they are."""

    @property
    def rows(self) -> int:
        """How many."""

    def candidates(self, key: np.uint64, limit: np.uint64, size: int) -> Candidates:
        """See `bdt_core.clustering.starts.candidates`."""

    def refine(self, a: Prototypes, b: Prototypes, whole: Statistics, layout: Layout, tolerance: float) -> list[Found]:
        """See the function `refine`."""

    def densest_start(self, whole: Statistics, layout: Layout) -> tuple[Prototypes, Prototypes]:
        """See `bdt_core.clustering.starts.densest_start`."""


@dataclass(frozen=True)
class TableRows:
    """The rows from start to stop of a table in memory.

    Attributes
    ----------
    hashes : uint64 ndarray of shape (n,)
        Content hash of each row of the table.
    """

    table: Encoded
    start: int
    stop: int
    hashes: npt.NDArray[np.uint64]
    map_blocks: MapBlocks = map
    block_rows: int = BLOCK_ROWS

    @property
    def rows(self) -> int:
        return self.stop - self.start

    @property
    def blocks(self) -> list[Block]:
        """The rows, cut."""
        nothing = np.empty(0)
        return [Block(self.table, *one, nothing) for one in bounds_of_blocks(self.start, self.stop, self.block_rows)]

    def candidates(self, key: np.uint64, limit: np.uint64, size: int) -> Candidates:
        return candidates(self.table, self.start, self.stop, self.hashes, key, limit, size)

    def refine(self, a: Prototypes, b: Prototypes, whole: Statistics, layout: Layout, tolerance: float) -> list[Found]:
        blocks = self.blocks
        if len(blocks) == 1:
            return refine_at_once(blocks[0], a, b, whole, layout, tolerance)
        statistics_of = partial(statistics, blocks, layout=layout, map_blocks=self.map_blocks)
        return refine(statistics_of, a, b, whole, layout, tolerance, self.table.numeric.dtype)

    def densest_start(self, whole: Statistics, layout: Layout) -> tuple[Prototypes, Prototypes]:
        return densest_start(densest(self.blocks, self.hashes, whole, layout, self.map_blocks))


def best_split(
    node: NodeRows,
    whole: Statistics,
    layout: Layout,
    seed: Sequence[int],
    n_init: int,
    min_rows: int = 1,
) -> Found | None:
    """Split the rows of a node in two.

    Of the splits that the starts lead to, the cheapest with at least ``min_rows`` rows on either side; where there
    is none, the cheapest. Without that preference a few outliers, the cheapest split of many a skewed table,
    would keep a leaf from ever being divided.

    Parameters
    ----------
    node : NodeRows
    whole : Statistics
        Of the rows, S = 1.
    layout : Layout
    seed : sequence of int
        Everything random follows from it and from the content of the rows.
    n_init : int
        Number of starts.
    min_rows : int
        Fewest rows wanted on either side.

    Returns
    -------
    Found or None
        None when the rows cannot be told apart.
    """
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(list(seed))))
    key = np.uint64(generator.integers(0, 2**64, dtype=np.uint64))
    is_large = node.rows > 4 * LARGER_SAMPLE_ROWS
    size = LARGER_SAMPLE_ROWS if is_large else SAMPLE_ROWS
    larger = draw_sample(lambda limit: node.candidates(key, limit, size), node.rows, size)
    sample = larger.first(SAMPLE_ROWS)
    if len(sample.weights) < 2:
        return None
    total = whole if sample.complete else sample.statistics(layout)
    share = min_rows / node.rows
    a, b = starts(sample, total, layout, generator, n_init)
    tolerance = TOLERANCE * layout.variance
    found = refine_at_once(sample.block, a, b, total, layout, 0.0 if sample.complete else tolerance)
    if not found:
        return None
    if sample.complete:
        width = len(layout.levels)
        if not layout.fields and 2 * width * width * sample.table.rows <= POLISHED_CELLS:
            found = polish(sample, found, total, layout)
        return _large_enough_first(found, total, share)[0]
    a, b = _promising(_large_enough_first(found, total, share), total, layout)
    if is_large:
        total = larger.statistics(layout)
        found = refine_at_once(larger.block, a, b, total, layout, tolerance)
        if found:
            a, b = _promising(_large_enough_first(found, total, share)[:1], total, layout)
    if not layout.fields:
        dense_a, dense_b = node.densest_start(whole, layout)
        a, b = _joined([a, dense_a]), _joined([b, dense_b])
    found = node.refine(a, b, whole, layout, tolerance)
    found = _large_enough_first(found, whole, share)
    return found[0] if found else None


def refine_at_once(
    block: Block, a: Prototypes, b: Prototypes, whole: Statistics, layout: Layout, tolerance: float
) -> list[Found]:
    """What `refine` gives on a single block, in one compiled loop: passes over few rows are short."""
    table = block.table
    size = len(a.means)
    a, b = (Prototypes(one.means.astype(np.float64), one.modes.astype(np.int64)) for one in (a, b))  # copies
    linear: npt.NDArray[Any] = np.empty((size, layout.fields), table.numeric.dtype)
    splits = Splits(linear, np.empty(size, linear.dtype), a.modes, b.modes, layout.gamma)
    side_b = Statistics(np.empty(size), np.empty(linear.shape), np.empty((size, int(layout.offsets[-1]))))
    costs = np.empty(size)
    kernels.refine(
        table.numeric,
        table.codes,
        block.weights,
        block.start,
        block.stop,
        a.means,
        a.modes,
        b.means,
        b.modes,
        whole.rows[0],
        whole.sums[0],
        whole.counts[0],
        layout.gamma,
        layout.offsets,
        tolerance,
        MAX_PASSES,
        splits.linear,
        splits.thresholds,
        side_b.rows,
        side_b.sums,
        side_b.counts,
        costs,
    )
    return _cheapest_first(splits, side_b, costs)


def _cheapest_first(splits: Splits, side_b: Statistics, costs: Floats) -> list[Found]:
    """By rising cost, one of each; of equal ones the first. Infinite cost means that a side was left empty."""
    distinct: list[Found] = []
    for index in np.argsort(costs, kind="stable").tolist():
        price = float(costs[index])
        if np.isfinite(price) and (not distinct or price > distinct[-1].cost):
            one = slice(index, index + 1)
            distinct.append(Found(splits[one], side_b[one], price))
    return distinct


def refine(
    statistics_of: Callable[[Splits], Statistics],
    a: Prototypes,
    b: Prototypes,
    whole: Statistics,
    layout: Layout,
    tolerance: float,
    dtype: Any,
) -> list[Found]:
    """Move S pairs of prototypes to the centres of their rows until they rest.

    A start that leaves a side empty is abandoned.

    Parameters
    ----------
    statistics_of : callable
        Side b of each of some splits: one pass over the rows.
    dtype : dtype
        Of the encoded numbers.

    Returns
    -------
    list of Found
        By rising cost, one of each; of equal ones the earlier start.
    """
    rested: list[tuple[int, Found]] = []
    ids = np.arange(len(a.means))
    before = np.full(len(ids), np.inf)
    for passes in range(MAX_PASSES):
        splits = Splits.between(a, b, layout.gamma, dtype)
        side_b = statistics_of(splits)
        side_a = whole - side_b
        full = (side_a.rows > 0) & (side_b.rows > 0)
        ids, before, a, b = ids[full], before[full], a[full], b[full]
        splits, side_a, side_b = splits[full], side_a[full], side_b[full]
        if not len(ids):
            break
        new_a, new_b = prototypes(side_a, layout), prototypes(side_b, layout)
        costs = cost(side_a, new_a.means, layout) + cost(side_b, new_b.means, layout)
        shift = squared_norm(new_a.means - a.means) + squared_norm(new_b.means - b.means)
        modes = (new_a.modes != a.modes).any(axis=1) | (new_b.modes != b.modes).any(axis=1)
        going = (costs < before) & (modes | (shift > tolerance)) & (passes + 1 < MAX_PASSES)
        rested += [
            (int(ids[index]), Found(splits[[index]], side_b[[index]], float(costs[index])))
            for index in np.flatnonzero(~going)
        ]
        if not going.any():
            break
        ids, before, a, b = ids[going], costs[going], new_a[going], new_b[going]
    rested.sort(key=lambda one: (one[1].cost, one[0]))
    distinct: list[Found] = []
    for _, found in rested:
        if not distinct or found.cost > distinct[-1].cost:
            distinct.append(found)
    return distinct


def polish(sample: Sample, found: list[Found], whole: Statistics, layout: Layout) -> list[Found]:
    """Leave the local optima of k-modes: start again with one mode at a time moved to its runner-up.

    Modes jump where means glide, so k-modes gets stuck far more often than k-means does.

    Returns
    -------
    list of Found
        By rising cost; the first one cannot be improved any more by moving a single mode to its runner-up.
    """
    columns = np.arange(len(layout.levels))
    means = np.empty((2 * len(columns), 0))
    polished = []
    for best in found[:POLISHED]:
        while True:
            b, second_b = _modes_and_runners_up(best.side_b, layout)
            a, second_a = _modes_and_runners_up(whole - best.side_b, layout)
            moved_a, moved_b = (np.repeat(one, 2 * len(columns), axis=0) for one in (a, b))
            moved_a[columns, columns] = second_a
            moved_b[len(columns) + columns, columns] = second_b
            tried = refine_at_once(
                sample.block, Prototypes(means, moved_a), Prototypes(means, moved_b), whole, layout, 0.0
            )
            if not tried or tried[0].cost >= best.cost:
                break
            best = tried[0]
        polished.append(best)
    return sorted([*polished, *found[POLISHED:]], key=lambda one: one.cost)


def _modes_and_runners_up(group: Statistics, layout: Layout) -> tuple[Integers, Integers]:
    """Most and second most frequent level of each column: (1, q) and (q,)."""
    first = prototypes(group, layout).modes
    second = np.empty(len(layout.levels), dtype=np.int64)
    for k, mode in enumerate(first[0]):
        counts = group.counts[0, layout.offsets[k] : layout.offsets[k + 1]].copy()
        counts[mode] = -1.0
        second[k] = counts.argmax()
    return first, second


def _large_enough_first(found: list[Found], total: Statistics, share: float) -> list[Found]:
    """Splits with at least that share of the rows on either side, then the others, each by rising cost."""
    wanted = share * float(total.rows[0]) * (1.0 - 1e-12)

    def too_small(one: Found) -> bool:
        size_b = float(one.side_b.rows[0])
        return min(size_b, float(total.rows[0]) - size_b) < wanted

    return sorted(found, key=too_small)


def _promising(found: list[Found], total: Statistics, layout: Layout) -> tuple[Prototypes, Prototypes]:
    """Prototypes of the best solutions on the sample, as starts on all rows."""
    kept = found[:FULL_RUNS]
    return (
        _joined([prototypes(total - one.side_b, layout) for one in kept]),
        _joined([prototypes(one.side_b, layout) for one in kept]),
    )


def _joined(points: Sequence[Prototypes]) -> Prototypes:
    return Prototypes(np.concatenate([one.means for one in points]), np.concatenate([one.modes for one in points]))
