"""The best split of a set of rows in two: many starts on a sample, the best of them on all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bdt_core.clustering.refine import TOLERANCE, RestedSplit, refine_at_once
from bdt_core.clustering.rows import NodeRows
from bdt_core.clustering.split import Integers, Layout, Prototypes, Statistics, prototypes
from bdt_core.clustering.starts import SAMPLE_ROWS, Sample, draw_sample, starts

LARGER_SAMPLE_ROWS = 32_768
"""Distinct rows that the best starts are worked out on before all rows, when these are many more."""

FULL_RUNS = 2
"""Of the sample's solutions, at most so many are refined on all rows."""

POLISHED = 3
"""So many of the solutions of k-modes are worth polishing."""

POLISHED_CELLS = 4_000_000
"""Polishing looks at all cells once for each of two modes per column: wider tables would wait for it."""


def best_split(
    node: NodeRows,
    whole: Statistics,
    seed: Sequence[int],
    n_init: int,
    min_rows: int = 1,
) -> RestedSplit | None:
    """Split the rows of a node in two; None when they cannot be told apart.

    Of the splits that the starts lead to, the cheapest with at least ``min_rows`` rows on either side; where there is
    none, the cheapest. Without that preference a few outliers, the cheapest split of many a skewed table, would keep a
    leaf from ever being divided. Everything random follows from the seed and from the content of the rows.
    """
    layout = node.layout
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
    splits = refine_at_once(sample.block, a, b, total, layout, 0.0 if sample.complete else tolerance)
    if not splits:
        return None
    if sample.complete:
        width = len(layout.levels)
        if not layout.fields and 2 * width * width * sample.table.rows <= POLISHED_CELLS:
            splits = polish(sample, splits, total, layout)
        return _large_enough_first(splits, total, share)[0]
    a, b = _promising(_large_enough_first(splits, total, share), total, layout)
    if is_large:
        total = larger.statistics(layout)
        splits = refine_at_once(larger.block, a, b, total, layout, tolerance)
        if splits:
            a, b = _promising(_large_enough_first(splits, total, share)[:1], total, layout)
    if not layout.fields:
        dense_a, dense_b = node.densest_start(whole)
        a, b = _joined([a, dense_a]), _joined([b, dense_b])
    splits = node.refine(a, b, whole, tolerance)
    splits = _large_enough_first(splits, whole, share)
    return splits[0] if splits else None


def polish(sample: Sample, splits: list[RestedSplit], whole: Statistics, layout: Layout) -> list[RestedSplit]:
    """Leave the local optima of k-modes: start again with one mode at a time moved to its runner-up.

    Modes jump where means glide, so k-modes gets stuck far more often than k-means does. Splits come by rising cost;
    the first one cannot be improved any more by moving a single mode to its runner-up.
    """
    columns = np.arange(len(layout.levels))
    means = np.empty((2 * len(columns), 0))
    polished = []
    for best in splits[:POLISHED]:
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
    return sorted([*polished, *splits[POLISHED:]], key=lambda one: one.cost)


def _modes_and_runners_up(group: Statistics, layout: Layout) -> tuple[Integers, Integers]:
    """Most and second most frequent level of each column: (1, q) and (q,)."""
    first = prototypes(group, layout).modes
    second = np.empty(len(layout.levels), dtype=np.int64)
    for k, mode in enumerate(first[0]):
        counts = group.counts[0, layout.offsets[k] : layout.offsets[k + 1]].copy()
        counts[mode] = -1.0
        second[k] = counts.argmax()
    return first, second


def _large_enough_first(splits: list[RestedSplit], total: Statistics, share: float) -> list[RestedSplit]:
    """Splits with at least that share of the rows on either side, then the others, each by rising cost."""
    needed = share * float(total.rows[0]) * (1.0 - 1e-12)

    def too_small(split: RestedSplit) -> bool:
        size_b = float(split.side_b.rows[0])
        return min(size_b, float(total.rows[0]) - size_b) < needed

    return sorted(splits, key=too_small)


def _promising(splits: list[RestedSplit], total: Statistics, layout: Layout) -> tuple[Prototypes, Prototypes]:
    """Prototypes of the best solutions on the sample, as starts on all rows."""
    kept = splits[:FULL_RUNS]
    return (
        _joined([prototypes(total - one.side_b, layout) for one in kept]),
        _joined([prototypes(one.side_b, layout) for one in kept]),
    )


def _joined(points: Sequence[Prototypes]) -> Prototypes:
    return Prototypes(np.concatenate([one.means for one in points]), np.concatenate([one.modes for one in points]))
