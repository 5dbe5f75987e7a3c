"""The best split of a set of rows in two: many starts on a sample, the best of them on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from bdt_core.table.encoding import Encoded

SAMPLE_ROWS = 4096
"""Distinct rows that the starts are worked out on."""

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


def best_split(
    table: Encoded,
    start: int,
    stop: int,
    hashes: npt.NDArray[np.uint64],
    whole: Statistics,
    layout: Layout,
    seed: Sequence[int],
    n_init: int,
    min_rows: int = 1,
    map_blocks: MapBlocks = map,
    block_rows: int = BLOCK_ROWS,
) -> Found | None:
    """Split the rows from start to stop in two.

    Of the splits that the starts lead to, the cheapest with at least ``min_rows`` rows on either side; where there
    is none, the cheapest. Without that preference a few outliers, the cheapest split of many a skewed table,
    would keep a leaf from ever being divided.

    Parameters
    ----------
    table : Encoded
    hashes : uint64 ndarray of shape (n,)
        Content hash of each row.
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
    sample = draw_sample(table, start, stop, hashes, key)
    if len(sample.weights) < 2:
        return None
    all_of_it = Block(sample.table, 0, sample.table.rows, sample.weights)
    everything = Splits.all_to_b(layout, table.numeric.dtype)
    total = whole if sample.complete else statistics([all_of_it], everything, layout)
    share = min_rows / (stop - start)
    a, b = starts(sample, layout, generator, n_init)
    tolerance = TOLERANCE * layout.variance
    found = refine([all_of_it], a, b, total, layout, 0.0 if sample.complete else tolerance)
    if not found:
        return None
    if sample.complete:
        width = len(layout.levels)
        if not layout.fields and 2 * width * width * sample.table.rows <= POLISHED_CELLS:
            found = polish([all_of_it], found, total, layout)
        return _large_enough_first(found, total, share)[0]
    a, b = _promising(_large_enough_first(found, total, share), total, layout)
    if stop - start > 4 * LARGER_SAMPLE_ROWS:
        sample = draw_sample(table, start, stop, hashes, key, LARGER_SAMPLE_ROWS)
        all_of_it = Block(sample.table, 0, sample.table.rows, sample.weights)
        total = statistics([all_of_it], everything, layout)
        found = refine([all_of_it], a, b, total, layout, tolerance)
        if found:
            a, b = _promising(_large_enough_first(found, total, share)[:1], total, layout)
    nothing = np.empty(0)
    blocks = [Block(table, *bounds, nothing) for bounds in bounds_of_blocks(start, stop, block_rows)]
    found = _large_enough_first(refine(blocks, a, b, whole, layout, tolerance, map_blocks), whole, share)
    return found[0] if found else None


def refine(
    blocks: Sequence[Block],
    a: Prototypes,
    b: Prototypes,
    whole: Statistics,
    layout: Layout,
    tolerance: float,
    map_blocks: MapBlocks = map,
) -> list[Found]:
    """Move S pairs of prototypes to the centres of their rows until they rest.

    A start that leaves a side empty is abandoned.

    Returns
    -------
    list of Found
        By rising cost, one of each; of equal ones the earlier start.
    """
    dtype = blocks[0].table.numeric.dtype
    rested: list[tuple[int, Found]] = []
    ids = np.arange(len(a.means))
    before = np.full(len(ids), np.inf)
    for passes in range(MAX_PASSES):
        splits = Splits.between(a, b, layout.gamma, dtype)
        side_b = statistics(blocks, splits, layout, map_blocks)
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


def polish(blocks: Sequence[Block], found: list[Found], whole: Statistics, layout: Layout) -> list[Found]:
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
            tried = refine(blocks, Prototypes(means, moved_a), Prototypes(means, moved_b), whole, layout, 0.0)
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
    codes = sample.table.codes.astype(np.int64)
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
        for code in codes:
            apart += layout.gamma * (code != code[first])
        if index == 0 and density is not None:
            seconds[index] = (density * apart).argmax()
        else:
            seconds[index] = _draw(weights * apart, draws[index : index + 1, 1])[0]
    points = Prototypes(numeric.T, codes.T)
    return points[firsts], points[seconds]


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
        order = np.argsort(values, kind="stable")
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


def _draw(weights: Floats, uniform: Floats) -> npt.NDArray[np.intp]:
    """Positions drawn with probability in proportion to weights."""
    total = np.cumsum(weights)
    drawn: npt.NDArray[np.intp] = np.searchsorted(total, uniform * total[-1], side="right")
    return np.minimum(drawn, len(weights) - 1)


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
    a = [prototypes(total - one.side_b, layout) for one in kept]
    b = [prototypes(one.side_b, layout) for one in kept]
    return (
        Prototypes(np.concatenate([one.means for one in a]), np.concatenate([one.modes for one in a])),
        Prototypes(np.concatenate([one.means for one in b]), np.concatenate([one.modes for one in b])),
    )
