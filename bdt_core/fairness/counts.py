"""The count table: facet cells x stratum x label x prediction, from which every metric is computed.

Counts are whole numbers and sums of scores and weights are kept in fixed point, so that adding tables gives the
same table in any order, and the same as counting all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness import count_storage
from bdt_core.fairness.coding import Level, level_order

SCORE_BINS = 10
"""Bins of equal width over [0, 1]; two more hold rows without a score and rows with one outside [0, 1]."""
NO_SCORE, OUTSIDE = SCORE_BINS, SCORE_BINS + 1
FIXED_POINT = float(1 << 26)
"""Scores and weights are summed in units of 1 / FIXED_POINT (1.5e-8)."""
_AXES = ("groups", "strata", "labels", "predictions")
_SUMS = ("counts", "weights", "squared_weights", "scores", "squared_scores")

Group = tuple[Level, ...]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CountTable:
    """How many rows fall into each cell; tables with the same columns can be added.

    Made by `bdt_core.fairness.count_rows`. Missing values are a level of their own (None) on every axis: they
    are counted, and never mixed with a known value.

    Attributes
    ----------
    facets : tuple of str
        Facet columns.
    groups : tuple of tuple
        One value per facet; sorted, numbers before text before missing.
    stratum, label, prediction, score, weight : str or None
        The other columns; None when there was none, and then the axis has the single level None.
    strata, labels, predictions : tuple
        Levels, sorted likewise.
    counts : ndarray of int64, shape (groups, strata, labels, predictions, bins)
        Rows. The last axis has `SCORE_BINS` + 2 entries with a score, 1 without.
    weights, squared_weights : ndarray of int64 or None
        Sums of weights and of their squares, in units of 1 / `FIXED_POINT`; same shape.
    scores, squared_scores : ndarray of int64 or None
        (Weighted) sums of scores inside [0, 1] and of their squares, in the same units.

    Examples
    --------
    >>> from bdt_core.fairness import count_rows
    >>> table = count_rows(pd.DataFrame({"sex": ["f", "m", None], "y": [1, 0, 1]}), ["sex"], label="y")
    >>> table.groups, table.rows, table.missing()
    ((('f',), ('m',), (None,)), 3, {'sex': 1, 'y': 0})
    >>> (table + table).rows
    6
    """

    facets: tuple[str, ...]
    groups: tuple[Group, ...]
    stratum: str | None
    strata: tuple[Level, ...]
    label: str | None
    labels: tuple[Level, ...]
    prediction: str | None
    predictions: tuple[Level, ...]
    score: str | None
    weight: str | None
    counts: IntArray
    weights: IntArray | None = None
    squared_weights: IntArray | None = None
    scores: IntArray | None = None
    squared_scores: IntArray | None = None

    @property
    def rows(self) -> int:
        """All rows counted, those with missing values included."""
        return int(self.counts.sum())

    def missing(self) -> dict[str, int]:
        """Rows without a value, per column; a row can be missing several."""
        missing = {}
        for i, facet in enumerate(self.facets):
            missing[facet] = int(self.counts[[group[i] is None for group in self.groups]].sum())
        for axis, (name, levels) in enumerate(self._named_axes(), start=1):
            if name is not None:
                missing[name] = int(np.compress([one is None for one in levels], self.counts, axis=axis).sum())
        if self.score is not None:
            missing[self.score] = int(self.counts[..., NO_SCORE].sum())
        return missing

    def by(self, *facets: str) -> CountTable:
        """Sum over all facets but these.

        Raises
        ------
        SpecError
            A facet that was not counted.
        """
        for facet in facets:
            if facet not in self.facets:
                raise SpecError(f'The facet "{facet}" was not counted. {did_you_mean(facet, self.facets)}')
        positions = [self.facets.index(facet) for facet in facets]
        kept = [tuple(group[i] for i in positions) for group in self.groups]
        groups = tuple(sorted(set(kept), key=group_order))
        index = {group: i for i, group in enumerate(groups)}
        target = np.array([index[group] for group in kept], dtype=np.intp)

        def summed(array: IntArray) -> IntArray:
            out = np.zeros((len(groups), *array.shape[1:]), dtype=np.int64)
            np.add.at(out, target, array)
            return out

        return replace(self, facets=tuple(facets), groups=groups, **self.each_sum(summed))

    def known(self, *, in_strata: bool = False) -> CountTable:
        """Leave out rows with a missing facet, label or prediction.

        Parameters
        ----------
        in_strata : bool
            Leave out those with a missing stratum too, as only what compares inside the strata needs it.
        """
        keep = [np.array([None not in group for group in self.groups], dtype=bool)]
        for axis, (name, levels) in zip(_AXES[1:], self._named_axes(), strict=True):
            may_be_missing = name is None or (axis == "strata" and not in_strata)
            keep.append(np.array([may_be_missing or one is not None for one in levels], dtype=bool))
        if all(one.all() for one in keep):
            return self
        known: dict[str, Any] = {
            axis: tuple(one for one, is_known in zip(getattr(self, axis), mask, strict=True) if is_known)
            for axis, mask in zip(_AXES, keep, strict=True)
        }
        return replace(self, **known, **self.each_sum(lambda array: array[np.ix_(*keep)]))

    def __add__(self, other: CountTable) -> CountTable:
        """Merge with the counts of other rows; levels are united.

        Raises
        ------
        DataError
            The tables count different columns.
        """
        if not isinstance(other, CountTable):
            return NotImplemented
        if self._columns() != other._columns():
            raise DataError(f"Tables of different columns cannot be added: {self._columns()} and {other._columns()}.")
        united: dict[str, Any] = {
            axis: _united(getattr(self, axis), getattr(other, axis), axis == "groups") for axis in _AXES
        }
        first, second = self._spread(united), other._spread(united)
        sums: dict[str, Any] = {name: None if first[name] is None else first[name] + second[name] for name in _SUMS}
        return replace(self, **united, **sums)

    def __eq__(self, other: object) -> bool:
        """Same columns, levels and sums."""
        return isinstance(other, CountTable) and self.to_dict() == other.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """One line per cell that has rows: facets, stratum, label, prediction, score bin, and the sums."""
        where, sums = self._cells()
        lines: dict[str, Any] = {facet: [self.groups[g][i] for g in where[0]] for i, facet in enumerate(self.facets)}
        for (name, levels), codes in zip(self._named_axes(), where[1:], strict=False):
            if name is not None:
                lines[name] = [levels[code] for code in codes]
        if self.score is not None:
            lines["score_bin"] = where[4]
        return pd.DataFrame({**lines, **sums})

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data: levels, and one list of codes and sums per cell that has rows."""
        where, sums = self._cells()
        head = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _SUMS}
        return count_storage.to_dict(head, where, sums)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CountTable:
        """Undo `to_dict`.

        Raises
        ------
        DataError
            The data is not a count table of this schema.
        """
        head = count_storage.head_of(data, {field.name for field in fields(cls)} - set(_SUMS))
        shape = (*(len(head[axis]) for axis in _AXES), 1 if head["score"] is None else SCORE_BINS + 2)
        return cls(**head, **count_storage.sums_of(data, shape))

    def _columns(self) -> tuple[Any, ...]:
        return (self.facets, self.stratum, self.label, self.prediction, self.score, self.weight)

    def _named_axes(self) -> list[tuple[str | None, tuple[Level, ...]]]:
        return [
            (self.stratum, self.strata),
            (self.label, self.labels),
            (self.prediction, self.predictions),
        ]

    def each_sum(self, change: Callable[[IntArray], IntArray]) -> dict[str, Any]:
        """Apply one change to all sums, for `dataclasses.replace`."""
        return {name: None if getattr(self, name) is None else change(getattr(self, name)) for name in _SUMS}

    def _spread(self, levels: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
        """The sums laid out over more levels."""
        shape = (*(len(levels[axis]) for axis in _AXES), self.counts.shape[-1])
        if shape == self.counts.shape:
            return self.each_sum(lambda array: array)
        at = []
        for axis in _AXES:
            index = {level: i for i, level in enumerate(levels[axis])}
            at.append(np.array([index[level] for level in getattr(self, axis)], dtype=np.intp))
        where = np.ix_(*at, np.arange(self.counts.shape[-1]))

        def laid_out(array: IntArray) -> IntArray:
            out = np.zeros(shape, dtype=np.int64)
            out[where] = array
            return out

        return self.each_sum(laid_out)

    def _cells(self) -> tuple[tuple[IntArray, ...], dict[str, IntArray]]:
        where = np.nonzero(self.counts)
        return where, {name: getattr(self, name)[where] for name in _SUMS if getattr(self, name) is not None}


def merge(tables: Iterable[CountTable]) -> CountTable:
    """Add up count tables, in any order.

    Raises
    ------
    DataError
        No table, or tables of different columns.

    Examples
    --------
    >>> from bdt_core.fairness import count_rows
    >>> days = [pd.DataFrame({"sex": ["f"], "y": [1]}), pd.DataFrame({"sex": ["m"], "y": [0]})]
    >>> merge(count_rows(day, ["sex"], label="y") for day in days).groups
    (('f',), ('m',))
    """
    remaining = iter(tables)
    first = next(remaining, None)
    if first is None:
        raise DataError("There is no count table to merge.")
    return reduce(CountTable.__add__, remaining, first)


def group_order(group: Sequence[Level]) -> tuple[tuple[int, float, str], ...]:
    """Sort key of groups."""
    return tuple(level_order(level) for level in group)


def _united(first: tuple[Any, ...], second: tuple[Any, ...], are_groups: bool) -> tuple[Any, ...]:
    key: Callable[[Any], Any] = group_order if are_groups else level_order
    united: dict[Any, Any] = {}
    for level in (*first, *second):  # True equals 1: the number stays, whichever came first
        united[level] = min(united.get(level, level), level, key=repr)
    return tuple(sorted(united.values(), key=key))
