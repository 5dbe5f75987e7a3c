"""Rows as the climb takes them: cells, harm, and what was to be expected of people alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.groups.scan.language import Language
from bdt_core.groups.scan.settings import SEED
from bdt_core.table.ranks import mixed

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


FEW_ROWS = 20_000
"""Of more rows in several strata what is expected is added up row by row: its last digits could decide something."""


@dataclass(frozen=True, eq=False)
class Marks:
    """A bit per row in each cell: whether the row has it. So rows are counted 64 at once.

    Rows of a stratum follow one another, and each stratum begins with a word of its own.

    Attributes
    ----------
    of_cells : ndarray of uint64, shape (cells up to the last that a row has, words)
    slots : ndarray of int64, shape (n,)
        Which bit each row has.
    firsts : ndarray of int64, shape (strata + 1,)
        First word of each stratum.
    one_of_each : ndarray of int64, shape (strata,)
        A row of each stratum.
    """

    of_cells: NDArray[np.uint64]
    slots: Numbers
    firsts: Numbers
    one_of_each: NDArray[np.intp]

    @classmethod
    def of(cls, cells: NDArray[np.uint16], strata: Numbers) -> Marks:
        """Of rows in some strata."""
        from bdt_core.groups.scan import kernels  # the compiler takes a third of a second to import

        order, size = np.argsort(strata, kind="stable"), np.bincount(strata)
        firsts = np.concatenate([[0], np.cumsum(-(-size // 64))])
        first_rows = np.cumsum(size) - size
        slots = np.empty(strata.size, dtype=np.int64)
        slots[order] = np.arange(strata.size) + np.repeat(64 * firsts[:-1] - first_rows, size)
        of_cells = np.zeros((int(cells.max()) + 1, firsts[-1]), dtype=np.uint64)
        kernels.mark(cells, slots, of_cells)
        return cls(of_cells, slots, firsts, order[first_rows])


NO_MARKS = Marks(np.empty((0, 0), np.uint64), *(np.empty(0, np.int64) for _ in range(3)))


@dataclass(frozen=True, eq=False)
class ScanRows:
    """Rows with a known outcome.

    Attributes
    ----------
    cells : ndarray of uint16, shape (n, columns)
        See `bdt_core.groups.scan.language.Language`.
    harm : ndarray of float64, shape (n,)
        The outcome, higher being worse: 1 and 0 for a rate.
    strata : ndarray of int64, shape (n,)
        People with the same number are alike; from 0.
    persons : ndarray of int64, shape (n,), or None
        Rows with the same number are one person's; from 0.
    is_rate : bool
    places : ndarray of int64, shape (n,)
        Where each stands in the table that they are made of.
    lists : ndarray of int64, shape (n,), or None
        Rows with the same number stand in one list, whose outcomes change places among themselves alone; from 0. Their
        outcomes are less the mean of the list already, so that nothing else needs to know of lists.
    variances : ndarray of float64, shape (n,), or None
        What the variance of each outcome is where nobody fares worse, if that is known.
    """

    cells: NDArray[np.uint16]
    harm: Floats
    strata: Numbers
    persons: Numbers | None
    is_rate: bool
    places: NDArray[np.intp]
    lists: Numbers | None = None
    variances: Floats | None = None

    @property
    def rows(self) -> int:
        """How many."""
        return self.harm.size

    @cached_property
    def people(self) -> Floats:
        """How much of a person each row is: 1, or one of as many as the person has.

        So each person counts in a group by the share of their rows that is in it.
        """
        if self.persons is None:
            return np.ones(self.rows)
        return np.asarray(1.0 / np.bincount(self.persons)[self.persons])

    @cached_property
    def exchangeable(self) -> Numbers:
        """Rows with the same number may change their outcomes if nobody fares worse: alike, and in one list."""
        if self.lists is None:
            return self.strata
        return dense(self.strata * (int(self.lists.max(initial=0)) + 1) + self.lists)

    @cached_property
    def marks(self) -> Marks | None:
        """Marks of a table of rates; None where each row has to be added up by itself."""
        strata = self.exchangeable
        number = int(strata.max(initial=0)) + 1
        if self.persons is not None or 64 * number > self.rows or (number > 1 and self.rows > FEW_ROWS):
            return None
        return Marks.of(self.cells, strata)

    @property
    def together(self) -> Numbers | None:
        """Rows with the same number are not parted: those of a person, or of a list; None where any may be."""
        return self.lists if self.persons is None else self.persons

    def in_order(self) -> ScanRows:
        """The same rows in an order that depends on their content alone."""
        content = np.zeros(self.rows, dtype=np.uint64)
        for column in self.cells.T:
            content = mixed(content + column)
        more = [one for one in (self.lists, self.persons) if one is not None]
        return self.take(np.lexsort((*more, self.strata, self.harm, content)))

    def drawn(self, most: int, number: int) -> ScanRows:
        """So many rows at most, at random, in their order; whole persons or lists.

        Other ones in each search, by its number.
        """
        if self.rows <= most:
            return self
        rng = np.random.default_rng([SEED + number, 3])
        if self.together is None:
            return self.take(np.sort(rng.choice(self.rows, most, replace=False)))
        chosen = rng.random(int(self.together.max()) + 1) < most / self.rows
        return self.take(np.flatnonzero(chosen[self.together]))

    def take(self, rows: NDArray[np.intp]) -> ScanRows:
        """Some of them."""
        persons, lists = (None if one is None else dense(one[rows]) for one in (self.persons, self.lists))
        variances = None if self.variances is None else self.variances[rows]
        return ScanRows(
            self.cells[rows], self.harm[rows], dense(self.strata[rows]), persons, self.is_rate, self.places[rows],
            lists, variances,
        )  # fmt: skip

    @property
    def apart(self) -> Floats:
        """How far each outcome is from the median of people alike."""
        order = np.lexsort((self.harm, self.strata))
        size = np.bincount(self.strata)
        first = np.cumsum(size) - size
        ordered = self.harm[order]
        medians = (ordered[first + (size - 1) // 2] + ordered[first + size // 2]) / 2.0
        return np.asarray(np.abs(self.harm - medians[self.strata]), dtype=np.float64)

    def with_harm(self, harm: Floats) -> ScanRows:
        """The same rows with other outcomes, which have no part in who is alike, and in which row has which bit."""
        rows, known = replace(self, harm=harm), vars(self)
        vars(rows).update({name: known[name] for name in ("exchangeable", "marks") if name in known})
        return rows

    def within(self, inside: NDArray[np.bool_]) -> ScanRows:
        """The same rows where those of a group are alike among themselves only: its difference is expected."""
        return replace(self, strata=dense(2 * self.strata + inside))

    def have_others_alike(self, inside: NDArray[np.bool_]) -> bool:
        """Whether anybody outside is like somebody inside, with whom those inside are compared."""
        strata = int(self.strata.max(initial=-1)) + 1
        sides = (np.bincount(self.strata[side], minlength=strata) > 0 for side in (inside, ~inside))
        return bool(np.logical_and(*sides).any())

    def inside(self, state: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of them are in the group that a state says."""
        meets, inside = state == 1, np.ones(self.rows, dtype=bool)
        for column in self.cells.T:
            inside &= meets.take(column)
        return inside


def coded_rows(frame: pd.DataFrame, language: Language) -> NDArray[np.uint16]:
    """Cells of each row, shape (n, columns)."""
    cells = np.empty((len(frame), len(language.columns)), dtype=np.uint16)
    for j, column in enumerate(language.columns):
        cells[:, j] = column.codes(frame) + np.uint16(language.offsets[j])
    return cells


def dense(numbers: NDArray[Any]) -> Numbers:
    """The same numbers from 0, none left out."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scored:
    """What the climb adds up of each row.

    Attributes
    ----------
    harm : ndarray of float64, shape (n,)
        1 or 0 for a rate; else the outcome less its mean among people alike.
    expected : ndarray of float64, shape (n,)
        The rate among people alike; else the variance of `harm` where that is known, or its square.
    is_rate : bool
    is_known : bool
        Whether `expected` is the same whatever the harm is.
    """

    harm: Floats
    expected: Floats
    is_rate: bool
    is_known: bool = False

    def permuted(self, source: NDArray[np.intp]) -> Scored:
        """Each row with the harm of another.

        Where persons are cut short or taken twice, the harm of all changes a little, and what is expected with it.
        """
        harm, total = self.harm[source], self.harm.sum()
        if self.is_rate:
            return replace(self, harm=harm, expected=self.expected * (harm.sum() / total))
        return _of_amounts(harm - (harm.sum() - total) / harm.size, self.expected if self.is_known else None)


def scored(rows: ScanRows) -> Scored:
    """Harm of each row, and what the score of a rate or of a mean needs beside it."""
    strata = rows.exchangeable
    means = stratum_means(rows.harm, strata)[strata]
    if rows.is_rate:
        return Scored(rows.harm, means, is_rate=True)
    return _of_amounts(rows.harm - means, rows.variances)


def _of_amounts(harm: Floats, variances: Floats | None) -> Scored:
    if variances is None:
        return Scored(harm, harm * harm, is_rate=False)
    return Scored(harm, variances, is_rate=False, is_known=True)


def stratum_means(values: Floats, strata: Numbers) -> Floats:
    """Mean of each stratum."""
    return np.bincount(strata, weights=values) / np.bincount(strata)
