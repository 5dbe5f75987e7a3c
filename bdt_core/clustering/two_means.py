"""The best split of a set of rows in two: many starts on a sample, the best of them on all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bdt_core.clustering.refine import TOLERANCE, Found, refine_at_once
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
        dense_a, dense_b = node.densest_start(whole)
        a, b = _joined([a, dense_a]), _joined([b, dense_b])
    found = node.refine(a, b, whole, tolerance)
    found = _large_enough_first(found, whole, share)
    return found[0] if found else None


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
