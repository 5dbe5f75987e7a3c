"""Refinement of a split: two prototypes move to the centres of their rows until they rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import kernels
from bdt_core.clustering.split import (
    Floats,
    Layout,
    Prototypes,
    Splits,
    Statistics,
    WeightedBlock,
    cost,
    prototypes,
    squared_norm,
)

MAX_PASSES = 100

TOLERANCE = 1e-4
"""Stop when both prototypes together move by less than this share of a column's variance (squared distance), as
scikit-learn's KMeans does by default; when all rows are in the sample, only when nothing changes any more."""


@dataclass(frozen=True)
class RestedSplit:
    """A split, its side b, and its cost (see `bdt_core.clustering.split.cost`)."""

    split: Splits
    side_b: Statistics
    cost: float


def refine_at_once(
    block: WeightedBlock, a: Prototypes, b: Prototypes, whole: Statistics, layout: Layout, tolerance: float
) -> list[RestedSplit]:
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


def _cheapest_first(splits: Splits, side_b: Statistics, costs: Floats) -> list[RestedSplit]:
    """By rising cost, one of each; of equal ones the first. Infinite cost means that a side was left empty."""
    distinct: list[RestedSplit] = []
    for index in np.argsort(costs, kind="stable").tolist():
        price = float(costs[index])
        if np.isfinite(price) and (not distinct or price > distinct[-1].cost):
            pair = slice(index, index + 1)
            distinct.append(RestedSplit(splits[pair], side_b[pair], price))
    return distinct


def refine(
    statistics_of: Callable[[Splits], Statistics],
    a: Prototypes,
    b: Prototypes,
    whole: Statistics,
    layout: Layout,
    tolerance: float,
    dtype: Any,
) -> list[RestedSplit]:
    """Move S pairs of prototypes to the centres of their rows until they rest; a start that leaves a side empty is
    abandoned.

    `statistics_of` gives side b of each of some splits, in one pass over the rows. Splits come by rising cost, one of
    each; of equal ones the earlier start.
    """
    rested: list[tuple[int, RestedSplit]] = []
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
            (int(ids[index]), RestedSplit(splits[[index]], side_b[[index]], float(costs[index])))
            for index in np.flatnonzero(~going)
        ]
        if not going.any():
            break
        ids, before, a, b = ids[going], costs[going], new_a[going], new_b[going]
    rested.sort(key=lambda one: (one[1].cost, one[0]))
    distinct: list[RestedSplit] = []
    for _, split in rested:
        if not distinct or split.cost > distinct[-1].cost:
            distinct.append(split)
    return distinct
