"""Counts of chosen slices in one block of rows; the counts of several blocks add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import smallest_unsigned
from bdt_core.inference.summaries import Scale
from bdt_core.slices.columns import FittedColumn
from bdt_core.slices.counting import Block, Combination, Packed, in_threads
from bdt_core.slices.measure import TwoValues
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable

_BITS = 30
"""Steps of two to this power in the largest value: eight thousand million rows do not overflow."""


@dataclass(frozen=True)
class Chosen:
    """Slices over the same columns.

    Attributes
    ----------
    columns : tuple of int
    levels : ndarray of int32, shape (slices, columns)
        Codes of the conditions.
    """

    columns: Combination
    levels: NDArray[np.int32]


@dataclass(frozen=True)
class Coding:
    """How a block of rows is coded.

    Attributes
    ----------
    columns : tuple of FittedColumn
    outcome : TwoValues or Scale
        Of two values, or of more: then sums are made in whole steps of the scale.
    """

    columns: tuple[FittedColumn, ...]
    outcome: TwoValues | Scale

    @property
    def levels(self) -> tuple[int, ...]:
        """Conditions per column."""
        return tuple(len(one.sliced.conditions) for one in self.columns)

    @property
    def outcomes(self) -> int:
        """How many numbers are counted per slice."""
        return 2 if isinstance(self.outcome, TwoValues) else 5

    def codes(self, frame: pd.DataFrame) -> NDArray[np.uint8]:
        """Shape (columns, n)."""
        codes = np.empty((len(self.columns), len(frame)), dtype=np.uint8)
        for row, one in zip(codes, self.columns, strict=True):
            row[:] = one.codes(frame)
        return codes

    def totals(self, counted: NDArray[np.int64]) -> NDArray[Any]:
        """What `count_slices` counts, from sums over all blocks: rows per outcome, or rows, sum and sum of squares."""
        if isinstance(self.outcome, TwoValues):
            return counted
        coarse, fine = self.outcome.unit - _BITS, self.outcome.unit - 2 * _BITS
        steps = counted.astype(np.float64)
        sums = np.ldexp(steps[..., 1], coarse) + np.ldexp(steps[..., 2], fine)
        squares = np.ldexp(steps[..., 3], coarse) + np.ldexp(steps[..., 4], fine)
        return np.stack([steps[..., 0], sums, np.ldexp(squares, self.outcome.unit)], axis=-1)


def count_chosen(table: AuditTable, coding: Coding, chosen: Sequence[Chosen]) -> NDArray[Any]:
    """Count chosen slices in a block of rows.

    Parameters
    ----------
    table : AuditTable
    coding : Coding
    chosen : sequence of Chosen
        No two over the same columns.

    Returns
    -------
    ndarray of shape (slices, outcomes)
        Slice after slice; counts in the smallest type that holds them.
    """
    values, known = known_outcome(table)
    frame = table.frame if known.all() else table.frame[known]
    of, power = coding.outcome, None
    if isinstance(of, TwoValues):
        payload: NDArray[Any] = of.codes(values)
    else:
        payload = np.ldexp(np.ldexp(values, -of.power) - of.centre, -of.reach)
        power = float(1 << _BITS)
    width = max((len(one.columns) for one in chosen), default=0)
    packed = Packed(coding.codes(frame), coding.levels, payload, width, coding.outcomes, power)
    levels = {one.columns: one.levels for one in chosen}

    def count(block: Block) -> dict[Combination, NDArray[Any]]:
        margins = packed.margins(block)
        if margins is None:
            return {one: _numbered(packed, one, levels[one]) for one in block.wanted}
        return {one: margins.of(one)[tuple(levels[one].T)] for one in block.wanted}

    found: dict[Combination, NDArray[Any]] = {}
    for part in in_threads(count, packed.blocks(levels), values.size):
        found |= part
    counted = np.concatenate([found[one.columns].reshape(-1, coding.outcomes) for one in chosen])
    if packed.counts_outcomes:
        return counted.astype(smallest_unsigned(int(counted.max(initial=0)) + 1))
    return counted


def known_outcome(table: AuditTable) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The bias variable where there is one, and where that is."""
    values = table.frame[BIAS_VARIABLE].to_numpy(dtype=np.float64)
    known = ~np.isnan(values)
    return values if known.all() else values[known], known


def _numbered(packed: Packed, columns: Combination, levels: NDArray[np.int32]) -> NDArray[Any]:
    """Totals of slices whose joint histogram would be too large: every row gets the number of its slice."""
    number: NDArray[Any] = np.zeros(packed.payload.size, dtype=np.uint8)
    prefixes = np.zeros(len(levels), dtype=np.int64)
    numbers = 1
    for j, column in enumerate(columns):
        size = packed.sizes[column]
        cells, prefixes = np.unique(prefixes * size + levels[:, j], return_inverse=True)
        table = np.full((numbers + 1) * size, len(cells), dtype=smallest_unsigned(len(cells) + 1))
        table[cells] = np.arange(len(cells))
        number, numbers = table[number.astype(np.intp) * size + packed.codes[column]], len(cells)
    return packed.histogram(number[None], (0,), (numbers + 1,))[prefixes]
