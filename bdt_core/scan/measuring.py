"""A named group against everybody else, on all rows: added up block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdt_core.scan.alike import Alike
from bdt_core.scan.conditions import GroupCondition
from bdt_core.scan.rows import Floats, Numbers, ScanRows
from bdt_core.table.blocks import OUTCOME, Block, Blocks, known_rows


@dataclass(frozen=True)
class Measured:
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


def measure(table: Blocks, conditions: Sequence[GroupCondition], alike: Alike) -> Measured:
    """A group against everybody else, on all rows of a table."""
    names = [*dict.fromkeys([*(one.column for one in conditions), *(one.name for one in alike.factors), OUTCOME])]
    parts = table.map_blocks(partial(_sums_of_block, conditions=tuple(conditions), alike=alike), names)
    return _measured(np.sum(parts, axis=0))


def measured(values: Floats, inside: NDArray[np.bool_], strata: Numbers) -> Measured:
    """A group against everybody else, on rows at hand."""
    return _measured(_sums(values, inside, strata, int(strata.max()) + 1))


def _sums_of_block(block: Block, conditions: tuple[GroupCondition, ...], alike: Alike) -> Floats:
    frame, values = known_rows(block)
    inside = np.ones(values.size, dtype=bool)
    for one in conditions:
        inside &= one.holds(frame)
    return _sums(values, inside, alike.of(frame), alike.strata)


def _sums(values: Floats, inside: NDArray[np.bool_], strata: Numbers, size: int) -> Floats:
    """Rows, sum and sum of squares outside of a group and inside, shape (2, strata, 3)."""
    cells = inside * size + strata
    sums = [np.bincount(cells, weights=one, minlength=2 * size) for one in (np.ones_like(values), values, values**2)]
    return np.stack(sums, axis=-1).reshape(2, size, 3)


def _measured(sums: Floats) -> Measured:
    (all_outside, total_outside, _), (all_inside, total_inside, _) = sums.sum(axis=1).tolist()
    both = (sums[..., 0] > 0).all(axis=0)
    (outside, harm_outside, squares_outside), (inside, harm, squares) = (part[both].T for part in sums)
    weights = outside * inside / (outside + inside)
    apart = harm / inside - harm_outside / outside
    left, left_outside = squares - harm**2 / inside, squares_outside - harm_outside**2 / outside
    if weights.size == 1:
        variance = left / inside / (inside - 1.0) + left_outside / outside / (outside - 1.0)
    else:  # either part of a stratum may have a single row: they share a variance
        variance = (left + left_outside) / np.maximum(outside + inside - 2.0, 1.0) / weights
    total = weights.sum()
    return Measured(
        rows=int(all_inside),
        all_rows=int(all_inside + all_outside),
        mean_inside=total_inside / all_inside,
        mean_outside=total_outside / all_outside,
        difference=float(weights @ apart / total) if total else 0.0,
        error=float(math.sqrt(max(float(weights**2 @ variance), 0.0)) / total) if total else 0.0,
    )


def design_effect(rows: ScanRows, inside: NDArray[np.bool_]) -> float:
    """Variance of a group's difference over that of as many rows of different persons; at least 1.

    Each row adds a part to the difference; those of one person are added before they are squared (Liang & Zeger 1986).
    """
    if rows.persons is None:
        return 1.0
    size = int(rows.strata.max()) + 1
    sums = _sums(rows.harm, inside, rows.strata, size)
    n = sums[..., 0]
    means = np.divide(sums[..., 1], n, out=np.zeros_like(n), where=n > 0)
    side, strata = inside.astype(np.int64), rows.strata
    weight = n[1 - side, strata] / n.sum(axis=0)[strata]
    parts = np.where(inside, weight, -weight) * (rows.harm - means[side, strata])
    by_person = np.bincount(rows.persons, weights=parts)
    alone = float(parts @ parts)
    return max(1.0, float(by_person @ by_person) / alone) if alone else 1.0
