"""Coded rows: a byte per column, and the outcome."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.slices.columns import FittedColumn
from bdt_core.groups.slices.outcome import Outcome
from bdt_core.table.blocks import OUTCOME, Block, known_rows

Items = tuple[int, ...]
"""A conjunction: the number of each condition, ascending."""


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows with a known outcome.

    Attributes
    ----------
    codes : ndarray of uint8, shape (columns, n)
        A condition of the column, or the number of its conditions where none holds.
    values : ndarray of float64, shape (n,)
        Outcomes.
    offsets : ndarray of int64, shape (columns + 1,)
        Where the items of each column begin.
    outcome : Outcome
    """

    codes: NDArray[np.uint8]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]
    outcome: Outcome

    @cached_property
    def payload(self) -> NDArray[Any]:
        """What is counted or added up of each row."""
        return self.outcome.payload(self.values)

    def by_value(self) -> CodedRows:
        """The same rows in ascending order of their outcomes, so that no sum depends on the order they came in."""
        order = np.argsort(self.values, kind="stable")
        return CodedRows(self.codes[:, order], self.values[order], self.offsets, self.outcome)

    def inside(self, items: Items) -> NDArray[np.bool_]:
        """Which rows meet all conditions."""
        from bdt_core.groups.slices import kernels

        where = np.array(items, dtype=np.int64)
        columns = columns_of(items, self.offsets)
        inside = np.empty(self.values.size, dtype=np.bool_)
        kernels.in_slice(self.codes, columns, where - self.offsets[columns], inside)
        return inside


class Coding:
    """How any block of rows is coded.

    Parameters
    ----------
    columns : tuple of FittedColumn
    outcome : Outcome
    """

    def __init__(self, columns: tuple[FittedColumn, ...], outcome: Outcome) -> None:
        self.columns, self.outcome = columns, outcome
        self.levels = tuple(len(one.sliced.conditions) for one in columns)
        self.offsets = np.concatenate([[0], np.cumsum(self.levels, dtype=np.int64)]).astype(np.int64)
        self.names = [*(one.sliced.name for one in columns), OUTCOME]
        self._last: tuple[weakref.ref[Block], CodedRows] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Coding, (self.columns, self.outcome)

    def of(self, block: Block) -> CodedRows:
        """The coded rows of a block; of one that stays, as a table in memory does, they are made once."""
        last = self._last
        if last is not None and last[0]() is block:
            return last[1]
        frame, values = known_rows(block)
        codes = np.empty((len(self.columns), values.size), dtype=np.uint8)
        for row, column in zip(codes, self.columns, strict=True):
            row[:] = column.codes(frame)
        coded = CodedRows(codes, values, self.offsets, self.outcome)
        self._last = weakref.ref(block), coded
        return coded


def columns_of(items: Items, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The column of each item."""
    return np.searchsorted(offsets, np.array(items, dtype=np.int64), side="right") - 1
