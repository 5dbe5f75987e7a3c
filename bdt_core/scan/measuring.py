"""A named group against everybody else, on all rows: counted block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdt_core.scan.alike import Alike
from bdt_core.scan.conditions import GroupCondition
from bdt_core.table.blocks import OUTCOME, Block, Blocks, known_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Rows, sum and sum of squares of the outcome, shape (2, strata, 3): outside of a group, and inside."""

    parts: Floats

    @property
    def rows(self) -> int:
        """Of the group."""
        return int(self.parts[1, :, 0].sum())

    @property
    def all_rows(self) -> int:
        """Of everybody."""
        return int(self.parts[..., 0].sum())

    @property
    def means(self) -> tuple[float, float]:
        """Outside and inside."""
        outside, inside = (float(one[1] / one[0]) if one[0] else math.nan for one in self.parts.sum(axis=1))
        return outside, inside

    def difference(self) -> tuple[float, float]:
        """Mean inside less mean outside, over strata with the weights of Mantel and Haenszel, and its standard error.

        A stratum weighs rows inside times rows outside over both; of one stratum it is the plain difference.
        """
        (n0, s0, q0), (n1, s1, q1) = (part.T for part in self.parts)
        both = (n0 > 0) & (n1 > 0)
        if not both.any():
            return 0.0, 0.0
        n0, s0, q0, n1, s1, q1 = (one[both] for one in (n0, s0, q0, n1, s1, q1))
        weights = n0 * n1 / (n0 + n1)
        difference = float(weights @ (s1 / n1 - s0 / n0) / weights.sum())
        # Within a stratum the variance is estimated from both parts together, since either may have a single row.
        squares = (q0 - s0 * s0 / n0) + (q1 - s1 * s1 / n1)
        pooled = np.maximum(squares, 0.0) / np.maximum(n0 + n1 - 2.0, 1.0)
        variance = weights**2 @ (pooled * (1.0 / n0 + 1.0 / n1)) / weights.sum() ** 2
        if both.size == 1:
            spread = [
                np.maximum(q - s * s / n, 0.0) / np.maximum(n - 1.0, 1.0) / n
                for n, s, q in ((n0, s0, q0), (n1, s1, q1))
            ]
            variance = float(spread[0][0] + spread[1][0])
        return difference, math.sqrt(variance)


def measure(table: Blocks, conditions: Sequence[GroupCondition], alike: Alike) -> Sums:
    """A group against everybody else, on all rows of a table."""
    names = [*dict.fromkeys([*(one.column for one in conditions), *(one.name for one in alike.factors), OUTCOME])]
    parts = table.map_blocks(partial(_sums_of_block, conditions=tuple(conditions), alike=alike), names)
    return Sums(np.sum(parts, axis=0))


def _sums_of_block(block: Block, conditions: tuple[GroupCondition, ...], alike: Alike) -> Floats:
    frame, values = known_rows(block)
    inside = np.ones(values.size, dtype=bool)
    for one in conditions:
        inside &= one.holds(frame)
    cell = inside * alike.strata + alike.of(frame)
    sums = [
        np.bincount(cell, weights=of, minlength=2 * alike.strata) for of in (np.ones_like(values), values, values**2)
    ]
    return np.stack(sums, axis=-1).reshape(2, alike.strata, 3)
