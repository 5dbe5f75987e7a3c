"""Confusion counts per group, and the contrasts between groups, from a count table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.counting import MAX_WEIGHT
from bdt_core.fairness.counts import FIXED_POINT, CountTable
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.fairness.persons import PersonMoments

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Confusion:
    """True and false positives and negatives, one entry per group; positive means favourable.

    Without a label every row counts as a negative one, without a prediction every row as predicted negative: then
    only rates that do not need the missing column are meaningful.
    """

    tp: Floats
    fp: Floats
    fn: Floats
    tn: Floats

    @cached_property
    def n(self) -> Floats:
        """Rows."""
        return self.tp + self.fp + self.fn + self.tn

    @cached_property
    def positives(self) -> Floats:
        """Rows with a positive label."""
        return self.tp + self.fn

    @cached_property
    def negatives(self) -> Floats:
        """Rows with a negative label."""
        return self.fp + self.tn

    @cached_property
    def predicted_positives(self) -> Floats:
        """Rows with a positive prediction."""
        return self.tp + self.fp

    @cached_property
    def predicted_negatives(self) -> Floats:
        """Rows with a negative prediction."""
        return self.fn + self.tn

    def combined(self, members: NDArray[Any]) -> Confusion:
        """Sum over groups: one new group per row of `members`, shape (new, groups)."""
        return Confusion(*(members @ one for one in (self.tp, self.fp, self.fn, self.tn)))

    def __sub__(self, other: Confusion) -> Confusion:
        return Confusion(self.tp - other.tp, self.fp - other.fp, self.fn - other.fn, self.tn - other.tn)

    def __getitem__(self, which: Any) -> Confusion:
        return Confusion(self.tp[which], self.fp[which], self.fn[which], self.tn[which])


@dataclass(frozen=True)
class Cells:
    """Rows, weights and squared weights of some groups; without weights all three are the rows.

    A rate's estimate is a ratio of weights; its interval takes Kish's effective number of rows,
    (sum of weights)^2 / (sum of squared weights). Where persons have several rows, `persons` says how much these have
    in common, and rates take their effective number of rows from there.
    """

    rows: Confusion
    weights: Confusion
    squares: Confusion
    persons: PersonMoments | None = None

    @property
    def size(self) -> Floats:
        """Persons of each group, which are the rows unless persons have several."""
        return self.rows.n if self.persons is None else self.persons.number()

    @property
    def weighted(self) -> bool:
        """Whether rows differ in weight."""
        return self.weights is not self.rows

    @property
    def effective_rows(self) -> Floats:
        """Kish's effective number of rows; the rows themselves without weights."""
        return kish_rows(self.rows.n, self.weights.n, self.squares.n) if self.weighted else self.rows.n

    def combined(self, members: NDArray[Any]) -> Cells:
        """Sum over groups, as `Confusion.combined` does."""
        cells = self._each(lambda one: one.combined(members))
        return cells if self.persons is None else replace(cells, persons=self.persons.combined(members))

    def total(self) -> Cells:
        """All groups as one."""
        return self.combined(np.ones((1, self.rows.tp.size)))

    def __sub__(self, other: Cells) -> Cells:
        rows = self.rows - other.rows
        if not self.weighted:
            return Cells(rows, rows, rows)
        persons = None if self.persons is None or other.persons is None else self.persons - other.persons
        return Cells(rows, self.weights - other.weights, self.squares - other.squares, persons)

    def __getitem__(self, which: Any) -> Cells:
        cells = self._each(lambda one: one[which])
        return cells if self.persons is None else replace(cells, persons=self.persons[which])

    def turned(self) -> Cells:
        """The same rows, with the other label and prediction called positive."""
        cells = self._each(lambda one: Confusion(tp=one.tn, fp=one.fn, fn=one.fp, tn=one.tp))
        return cells if self.persons is None else replace(cells, persons=self.persons.turned())

    def _each(self, change: Any) -> Cells:
        rows = change(self.rows)
        return Cells(rows, change(self.weights), change(self.squares)) if self.weighted else Cells(rows, rows, rows)


def coefficients(part: Callable[[Confusion], Floats]) -> Floats:
    """Which of the four counts a sum of them is made of, shape (..., 4)."""
    return np.asarray(part(Confusion(*np.eye(4))), dtype=np.float64)


def kish_rows(rows: Floats, weight: Floats, squares: Floats) -> Floats:
    """Kish's effective number of rows: (sum of weights)^2 / (sum of squared weights); 0 where nothing has weight.

    Squares of weights below .003 are 0 in fixed point; where there are no others, every row counts as one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(squares > 0, weight**2 / squares, np.where(weight > 0, rows, 0.0))


def confusion_cells(table: CountTable, positive: Positive, positive_prediction: Positive | None = None) -> Cells:
    """Reduce a count table to confusion counts per group.

    Parameters
    ----------
    table : CountTable
        Of known rows; see `CountTable.known`.
    positive : value, values or Threshold
        Label values that are favourable.
    positive_prediction : optional
        The same for predictions, where they are written differently.

    Returns
    -------
    Cells
        One entry per group of the table.
    """
    labels = favourable(table.labels, positive)
    predictions = favourable(table.predictions, positive if positive_prediction is None else positive_prediction)

    def reduced(array: NDArray[np.int64], unit: float) -> Confusion:
        by_outcome = array.sum(axis=(1, 4)) / unit if unit != 1.0 else array.sum(axis=(1, 4)).astype(np.float64)
        rows = np.stack([by_outcome[:, ~labels].sum(axis=1), by_outcome[:, labels].sum(axis=1)], axis=1)
        two = np.stack([rows[:, :, ~predictions].sum(axis=2), rows[:, :, predictions].sum(axis=2)], axis=2)
        return Confusion(tp=two[:, 1, 1], fp=two[:, 0, 1], fn=two[:, 1, 0], tn=two[:, 0, 0])

    rows = reduced(table.counts, 1.0)
    if table.weights is None or table.squared_weights is None:
        return Cells(rows, rows, rows)
    return Cells(rows, reduced(table.weights, FIXED_POINT), reduced(table.squared_weights, FIXED_POINT / MAX_WEIGHT))
