"""The two kinds of outcome: one that is counted, and one that is added up in whole steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.inference.summaries import Scale, SeenValues
from bdt_core.table.blocks import Blocks, scale_of

Floats = NDArray[np.float64]

_BITS = 30
_STEPS = 2.0**_BITS
"""Steps in the largest value: eight thousand million rows do not overflow."""


@dataclass(frozen=True)
class CountedOutcome:
    """A rate, or an outcome of two values. Totals of a slice are its rows per code.

    Attributes
    ----------
    zero, step : float
        The lower value (code 0), and the distance to the higher one (code 1).
    numbers : int
        2, or 3 where some rows are outside the denominator of a rate: these have the value 2, and the code 2.
    """

    zero: float = 0.0
    step: float = 1.0
    numbers: int = 2

    @classmethod
    def of(cls, low: float, high: float) -> CountedOutcome:
        """Of the smallest and the largest value; a lone 0 or 1 is one of two."""
        return cls() if low == high and low in (0, 1) else cls(low, high - low)

    def payload(self, values: Floats) -> NDArray[np.uint8]:
        """What is counted of each row: its code."""
        return (values > self.zero).astype(np.uint8) if self.numbers == 2 else values.astype(np.uint8)

    def whole(self, payload: NDArray[Any]) -> NDArray[np.int64]:
        """What is counted in all of some rows, shape (numbers,)."""
        return np.bincount(payload, minlength=self.numbers)

    def totals(self, counted: NDArray[np.int64]) -> NDArray[Any]:
        """Totals from what was counted, shape (..., numbers)."""
        return counted

    def rows(self, totals: NDArray[Any]) -> NDArray[Any]:
        """Rows of each slice."""
        return np.asarray(totals.sum(axis=-1))

    def sums_and_rows(self, totals: NDArray[Any]) -> tuple[Floats, Floats]:
        """Events, and rows in the denominator, of each slice."""
        return totals[..., 1].astype(np.float64), (totals[..., 0] + totals[..., 1]).astype(np.float64)

    def variance(self, whole: NDArray[Any]) -> float:
        """Variance over all rows, as if the two values were 0 and 1."""
        events, n = self.sums_and_rows(whole)
        rate = float(events / n) if n else 0.0
        return rate * (1.0 - rate)


@dataclass(frozen=True)
class Summed:
    """An outcome of more than two values. Totals of a slice are rows, and sum and sum of squares around the centre.

    Attributes
    ----------
    scale : Scale
        Values are added up in whole steps of it, so that sums do not depend on the order of the rows: value and
        square in steps of 2**-30 of the scale's unit, and what is left of them in steps of 2**-60.
    """

    scale: Scale
    numbers = 5
    step = 1.0

    @property
    def zero(self) -> float:
        """The centre, which is near the mean."""
        return math.ldexp(self.scale.centre, self.scale.power)

    def payload(self, values: Floats) -> NDArray[np.int32]:
        """What is added up of each row, shape (n, 4): steps of the value, what is left, and both of its square."""
        x = values * math.ldexp(1.0, -self.scale.power)
        x -= self.scale.centre
        x *= math.ldexp(1.0, -self.scale.reach)
        numbers = np.empty((values.size, 4), dtype=np.int32)
        for column, steps in ((0, x * _STEPS), (2, x * x * _STEPS)):
            whole = np.rint(steps)
            numbers[:, column] = whole
            numbers[:, column + 1] = np.rint((steps - whole) * _STEPS)
        return numbers

    def whole(self, payload: NDArray[Any]) -> NDArray[np.int64]:
        """What is added up over all of some rows, shape (numbers,)."""
        return np.concatenate([[len(payload)], payload.sum(axis=0, dtype=np.int64)])

    def totals(self, counted: NDArray[np.int64]) -> NDArray[np.float64]:
        """Totals from what was added up, shape (..., 3)."""
        coarse, fine = self.scale.unit - _BITS, self.scale.unit - 2 * _BITS
        steps = counted.astype(np.float64)
        sums = np.ldexp(steps[..., 1], coarse) + np.ldexp(steps[..., 2], fine)
        squares = np.ldexp(steps[..., 3], coarse) + np.ldexp(steps[..., 4], fine)
        return np.stack([steps[..., 0], sums, np.ldexp(squares, self.scale.unit)], axis=-1)

    def rows(self, totals: NDArray[Any]) -> NDArray[Any]:
        """Rows of each slice."""
        return totals[..., 0]

    def sums_and_rows(self, totals: NDArray[Any]) -> tuple[Floats, Floats]:
        """Sum around the centre, and rows, of each slice."""
        return totals[..., 1], totals[..., 0]

    def variance(self, whole: NDArray[Any]) -> float:
        """Variance over all rows."""
        n, total, squares = whole
        return float((squares - total * total / n) / (n - 1.0)) if n > 1 else 0.0


Outcome = CountedOutcome | Summed


def outcomes_alike(parts: Sequence[tuple[Blocks, SeenValues]], is_rate: bool) -> list[Outcome]:
    """How the outcome of each part is counted or added up: counted, if all parts together have two values.

    Parameters
    ----------
    parts : sequence of (Blocks, Seen)
    is_rate : bool
        Whether outcomes are 0, 1 and, outside the denominator of a rate, 2.
    """
    if is_rate:
        outside = any(seen.span.high > 1.0 for _, seen in parts)
        return [CountedOutcome(numbers=3 if outside else 2)] * len(parts)
    seen = parts[0][1]
    for _, other in parts[1:]:
        seen += other
    if seen.values is not None and seen.values.size <= 2:
        return [CountedOutcome.of(seen.span.low, seen.span.high)] * len(parts)
    return [Summed(scale_of(table, one)) for table, one in parts]
