"""A named group against everybody else, on all rows: added up block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.groups.scan.alike import Alike
from bdt_core.groups.scan.rows import Floats, Numbers, ScanRows
from bdt_core.inference.summaries import Summary, summarise
from bdt_core.table.blocks import OUTCOME, Block, Blocks, known_rows, scale_of, seen_outcomes
from bdt_core.table.summaries import How


@dataclass(frozen=True)
class MeasuredGroup:
    """A group against everybody else.

    Attributes
    ----------
    rows, all_rows : int
    mean_inside, mean_outside : float
    difference : float
        Mean inside less mean outside, over strata with the weights of Mantel and Haenszel; of one stratum it is the
        plain difference.
    error : float
        Its standard error.
    """

    rows: int
    all_rows: int
    mean_inside: float
    mean_outside: float
    difference: float
    error: float


def way_to_summarise(table: Blocks) -> How:
    """How the outcome of a table is summarised."""
    seen = reduce(add, seen_outcomes(table))
    return scale_of(table, seen) if seen.values is None else seen.values


def measure(table: Blocks, conditions: Sequence[GroupCondition], alike: Alike, how: How) -> MeasuredGroup:
    """A group against everybody else, on all rows of a table; sums are exact, so that blocks do not matter."""
    names = [*dict.fromkeys([*(one.column for one in conditions), *alike.columns, OUTCOME])]
    summarised = partial(_summaries_of_block, conditions=tuple(conditions), alike=alike, how=how)
    cells: list[Any] = [reduce(add, of_cell) for of_cell in zip(*table.map_blocks(summarised, names), strict=True)]
    rows = np.array([one.rows for one in cells], dtype=np.float64)
    means = np.array([one.mean if one.rows else 0.0 for one in cells])
    squares = np.array([one.powers_around_mean()[0] * one.unit**2 if one.rows else 0.0 for one in cells])
    return _measured(*(one.reshape(2, alike.strata) for one in (rows, means, squares)))


def _summaries_of_block(
    block: Block, conditions: tuple[GroupCondition, ...], alike: Alike, how: How
) -> Sequence[Summary]:
    frame, values = known_rows(block)
    cells = alike.of(frame)
    cells += members(frame, conditions) * cells.dtype.type(alike.strata)
    return summarise(values, cells, 2 * alike.strata, how)


def measured(values: Floats, inside: NDArray[np.bool_], strata: Numbers) -> MeasuredGroup:
    """A group against everybody else, on rows at hand."""
    size = int(strata.max()) + 1
    cells = inside * size + strata
    rows = np.bincount(cells, minlength=2 * size).astype(np.float64)
    means = np.bincount(cells, weights=values, minlength=2 * size) / np.maximum(rows, 1.0)
    apart = np.square(values - means[cells])
    squares = np.asarray(np.bincount(cells, weights=apart, minlength=2 * size), dtype=np.float64)
    return _measured(rows.reshape(2, size), means.reshape(2, size), squares.reshape(2, size))


def _measured(rows: Floats, means: Floats, squares: Floats) -> MeasuredGroup:
    """From rows, means and squares around them outside of a group and inside, shape (2, strata)."""
    all_outside, all_inside = rows.sum(axis=1).tolist()
    mean_outside, mean_inside = ((rows * means).sum(axis=1) / rows.sum(axis=1)).tolist()
    both = (rows > 0).all(axis=0)
    (outside, inside), left = rows[:, both], squares[:, both]
    weights = outside * inside / (outside + inside)
    if weights.size == 1:
        variance = (left / rows[:, both] / (rows[:, both] - 1.0)).sum(axis=0)
    else:  # either part of a stratum may have a single row: they share a variance
        variance = left.sum(axis=0) / np.maximum(outside + inside - 2.0, 1.0) / weights
    total = float(weights.sum())
    return MeasuredGroup(
        rows=int(all_inside),
        all_rows=int(all_inside + all_outside),
        mean_inside=mean_inside,
        mean_outside=mean_outside,
        difference=float(weights @ (means[1] - means[0])[both]) / total if total else 0.0,
        error=math.sqrt(float(weights**2 @ variance)) / total if total else 0.0,
    )


def design_effect(rows: ScanRows, inside: NDArray[np.bool_]) -> float:
    """Variance of a group's difference over that of as many rows of different persons; at least 1.

    Each row adds a part to the difference; those of one person are added before they are squared (Liang & Zeger 1986).
    """
    if rows.persons is None:
        return 1.0
    cells = 2 * rows.strata + inside
    n = np.bincount(cells, minlength=cells.max() + 2 - cells.max() % 2).astype(np.float64)
    apart = rows.harm - (np.bincount(cells, weights=rows.harm, minlength=n.size) / np.maximum(n, 1.0))[cells]
    opposite = cells + 1 - 2 * inside
    weight = n[opposite] / (n[opposite] + n[cells])
    parts = np.where(inside, weight, -weight) * apart
    by_person = np.bincount(rows.persons, weights=parts)
    alone = float(parts @ parts)
    return max(1.0, float(by_person @ by_person) / alone) if alone else 1.0
