"""Rows as the climb takes them: cells, harm, and what was to be expected of people alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from bdt_core.scan.columns import ScannedColumn
from bdt_core.scan.language import Language

Floats = NDArray[np.float64]
Strata = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ScanRows:
    """Rows with a known outcome, in an order that depends on their content alone.

    Attributes
    ----------
    cells : ndarray of uint16, shape (n, columns)
    harm : ndarray of float64, shape (n,)
        The outcome, higher being worse: 1 and 0 for a rate.
    strata : ndarray of int64, shape (n,)
        People with the same number are alike; from 0.
    persons : ndarray of int64, shape (n,), or None
        Rows with the same number are one person's.
    is_rate : bool
    """

    cells: NDArray[np.uint16]
    harm: Floats
    strata: Strata
    persons: Strata | None
    is_rate: bool

    @property
    def rows(self) -> int:
        """How many."""
        return self.harm.size

    def within(self, inside: NDArray[np.bool_]) -> ScanRows:
        """The same rows where those of a group are alike among themselves only: its difference is expected."""
        return replace(self, strata=dense(2 * self.strata + inside))

    def take(self, rows: NDArray[np.intp]) -> ScanRows:
        """Some of them."""
        persons = None if self.persons is None else self.persons[rows]
        return ScanRows(self.cells[rows], self.harm[rows], dense(self.strata[rows]), persons, self.is_rate)

    def inside(self, state: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Which of them are in the group that a state says."""
        return state.astype(bool)[self.cells].all(axis=1)


def coded_rows(frame: pd.DataFrame, columns: tuple[ScannedColumn, ...], language: Language) -> NDArray[np.uint16]:
    """Cells of each row, shape (n, columns)."""
    cells = np.empty((len(frame), len(columns)), dtype=np.uint16)
    for j, one in enumerate(columns):
        cells[:, j] = one.codes(frame) + np.uint16(language.offsets[j])
    return cells


def dense(numbers: Strata) -> Strata:
    """The same numbers from 0, none left out."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, eq=False)
class Scored:
    """What the climb adds up of each row.

    Attributes
    ----------
    harm : ndarray of float64, shape (n,)
        1 or 0 for a rate; else the normal score of the rank, less its mean among people alike.
    expected : ndarray of float64, shape (n,)
        The rate among people alike; else the variance of the scores among them.
    """

    harm: Floats
    expected: Floats


def scored(rows: ScanRows) -> Scored:
    """Harm and expectation of each row, for the log likelihood ratio.

    Numbers are taken as normal scores of their ranks, so that no outlier decides (van der Waerden 1952).
    """
    if rows.is_rate:
        return Scored(rows.harm, stratum_means(rows.harm, rows.strata)[rows.strata])
    scores = ndtri((rankdata(rows.harm) - 0.5) / rows.rows)
    scores -= stratum_means(scores, rows.strata)[rows.strata]
    return Scored(scores, stratum_means(scores * scores, rows.strata)[rows.strata])


def stratum_means(values: Floats, strata: Strata) -> Floats:
    """Mean of each stratum."""
    return np.bincount(strata, weights=values) / np.bincount(strata)
