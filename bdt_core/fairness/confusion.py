"""Confusion counts per group, and the contrasts between groups, from a count table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Level, Threshold, Value, is_same, values_of
from bdt_core.fairness.counting import MAX_WEIGHT
from bdt_core.fairness.counts import FIXED_POINT, CountTable
from bdt_core.fairness.person_moments import PersonMoments

Positive = Value | Iterable[Value] | Threshold
"""The favourable value, several of them, or a threshold that favourable values exceed."""
Floats = NDArray[np.float64]
_SHOWN = 5


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


def favourable(levels: tuple[Level, ...], positive: Positive) -> NDArray[np.bool_]:
    """Which levels are favourable; numbers are also the texts that write them.

    Examples
    --------
    >>> favourable((0, 1, "yes"), [1, "yes"]).tolist(), favourable(("<= 5", "> 5"), Threshold(5)).tolist()
    ([False, True, True], [False, True])
    """
    wanted = (positive.above,) if isinstance(positive, Threshold) else values_of(positive)
    return np.array([any(is_same(level, one) for one in wanted) for level in levels], dtype=bool)


def refuse_absent(table: CountTable, positive: Positive, positive_prediction: Positive, keys: tuple[str, str]) -> None:
    """Refuse favourable values that no row has: all rates would be 0, and every limit on a difference held.

    Parameters
    ----------
    table : CountTable
        Of all rows.
    positive, positive_prediction : value, values or Threshold
        Favourable values of the label and of the prediction.
    keys : tuple of str
        Where these two stand, for the message.

    Raises
    ------
    DataError
        No row of the label or of the prediction has any of its favourable values. A prediction that never is, though
        some label of the same values is, favours nobody, and is none; and the other way round.
    """
    label, prediction = (
        tuple(one for one in several if one is not None) for several in (table.labels, table.predictions)
    )
    for name, levels, others, wanted, key in (
        (table.label, label, prediction, positive, keys[0]),
        (table.prediction, prediction, label, positive_prediction, keys[1]),
    ):
        if name is None or not levels or favourable(levels, wanted).any():
            continue
        alike = set(levels) <= set(others) or {*levels, *others} <= {0, 1}
        if alike and favourable(others, wanted).any():
            continue
        asked = [wanted.above] if isinstance(wanted, Threshold) else [repr(one) for one in values_of(wanted)]
        shown = [str(one) if isinstance(wanted, Threshold) else repr(one) for one in levels[:_SHOWN]]
        mend = (
            "Set a lower threshold."
            if isinstance(wanted, Threshold)
            else "Name one that it has, or list one for each of label and prediction."
        )
        raise DataError(
            f'{key}: no row of "{name}" has the favourable value {", ".join(asked)}; the values there are: '
            f"{', '.join(shown)}{', ...' if len(levels) > _SHOWN else ''}. {mend}"
        )
