"""Units that are permuted and drawn: rows, or persons with all their rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.scan.rows import Numbers, ScanRows

_FEWEST_ALIKE = 20

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Units:
    """Rows or persons, and which of them may change places.

    Attributes
    ----------
    kinds : ndarray of int64, shape (units,)
        Units of one kind are alike; from 0.
    first, size : ndarray of int64, shape (units,)
        Where the rows of each begin in `by_unit`, and how many they are.
    by_unit : ndarray of int64, shape (n,)
        Places of rows, unit after unit.
    """

    kinds: Numbers
    first: Places
    size: Places
    by_unit: Places

    @classmethod
    def of(cls, rows: ScanRows) -> Units:
        """Rows among people alike in one list; or persons of as many rows, of whom the first row is among people alike.

        Where there are fewer than twenty persons of a size, neighbouring sizes are one kind.
        """
        if rows.persons is None:
            each = np.arange(rows.rows)
            return cls(rows.exchangeable, each, np.ones_like(each), each)
        size = np.bincount(rows.persons)
        first, by_unit = np.cumsum(size) - size, np.argsort(rows.persons, kind="stable")
        return cls(_kinds(rows.strata[by_unit[first]], size), first, size, by_unit)

    def givers(self, units: Places) -> Places:
        """The row whose outcome each row gets, if each unit gets those of another.

        A unit of more rows is cut short, one of fewer taken twice.
        """
        if self.first.size == self.by_unit.size:
            return units
        turn = np.arange(self.by_unit.size) - np.repeat(self.first, self.size)
        turn %= np.repeat(self.size[units], self.size)
        rows = np.empty_like(self.by_unit)
        rows[self.by_unit] = self.by_unit[np.repeat(self.first[units], self.size) + turn]
        return rows

    def permuted(self, rng: np.random.Generator) -> Places:
        """The row whose outcome each row gets, if units of one kind change places at random."""
        units = np.empty_like(self._by_kind)
        units[self._by_kind] = np.argsort(self.kinds + rng.random(self.kinds.size))
        return self.givers(units)

    @cached_property
    def _by_kind(self) -> Places:
        """Units in the order of their kinds."""
        return np.argsort(self.kinds, kind="stable")


def _kinds(strata: Numbers, size: Places) -> Numbers:
    """Number persons by stratum and size, kinds that are too rare together with their neighbours."""
    order = np.lexsort((size, strata))
    ordered = np.stack([strata[order], size[order]])
    starts = [0]
    for start in np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1:
        if start - starts[-1] >= _FEWEST_ALIKE:
            starts.append(int(start))
    if len(starts) > 1 and size.size - starts[-1] < _FEWEST_ALIKE:
        starts.pop()
    kinds = np.empty(size.size, dtype=np.int64)
    kinds[order] = np.searchsorted(starts, np.arange(size.size), side="right") - 1
    return kinds
