"""Persons of declared groups, where one may have several rows, and how much these rows have in common.

A rate is (events) / (rows among which they are counted), both sums of the four confusion counts. What a person adds to
it is linear in his own four counts, so that the variance between persons of every rate of a group follows from one
matrix: the sum, over persons, of the products of these counts. Matrices of different persons add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bdt_core.fairness.coding import Threshold, code_column
from bdt_core.fairness.counting import MAX_WEIGHT, code_groups
from bdt_core.fairness.counts import FIXED_POINT, CountTable
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.inference.persons import Persons, PlacedSums
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import KEY
from bdt_core.table.persons import person_hashes
from bdt_core.table.source_blocks import SourceBlocks

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
T = TypeVar("T")
CELLS = 4
"""True and false positives, false and true negatives."""
_BITS = np.arange(1 << CELLS)[:, None] >> np.arange(CELLS) & 1
_CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class PersonMoments:
    """What persons have in each group.

    Attributes
    ----------
    products : ndarray of float64, shape (groups, 4, 4)
        Sum over persons of the products of their counts of true and false positives, false and true negatives.
    present : ndarray of float64, shape (groups, 16)
        Persons by which of the four counts are not 0; bit i for the i-th.
    shared : int
        Persons with rows in several groups.
    """

    products: Floats
    present: Floats
    shared: int = 0

    def __add__(self, other: PersonMoments) -> PersonMoments:
        return PersonMoments(self.products + other.products, self.present + other.present, self.shared + other.shared)

    def __sub__(self, other: PersonMoments) -> PersonMoments:
        return replace(self, products=self.products - other.products, present=self.present - other.present)

    def __getitem__(self, which: Any) -> PersonMoments:
        return replace(self, products=self.products[which], present=self.present[which])

    def combined(self, members: NDArray[Any]) -> PersonMoments:
        """Sum over groups: one new group per row of `members`, shape (new, groups)."""
        products = np.tensordot(members, self.products, axes=1)
        return replace(self, products=products, present=members @ self.present)

    def turned(self) -> PersonMoments:
        """The same rows, with the other label and prediction called positive."""
        reversed_bits = (_BITS[:, ::-1] << np.arange(CELLS)).sum(axis=1)
        return replace(self, products=self.products[:, ::-1, ::-1], present=self.present[:, reversed_bits])

    def number(self, among: Floats | None = None) -> Floats:
        """Persons of each group with any row that is counted: all, or those of some of the four counts.

        Parameters
        ----------
        among : ndarray of shape (..., 4), optional

        Returns
        -------
        ndarray of shape (..., groups)
        """
        counted = np.ones(CELLS) if among is None else among
        return np.asarray(((counted != 0) @ _BITS.T > 0) @ self.present.T, dtype=np.float64)

    def shrink(
        self, rows: Floats, among: Floats | None = None, events: Floats | None = None, happened: Floats | None = None
    ) -> Floats:
        """What rows are divided by to be effective counts; see `bdt_core.inference.persons`.

        Parameters
        ----------
        rows : ndarray of shape (..., groups)
            Among which events are counted.
        among, events : ndarray of shape (..., 4), optional
            Which of the four counts make up the rows and the events. Without events, and where all rows are events or
            none is, a person's rows count as all alike.
        happened : ndarray of shape (..., groups), optional
            The events.
        """
        counted = np.ones(CELLS) if among is None else among
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.einsum("...i,gij,...j->...g", counted, self.products, counted)
            effect = alike = squares / rows
            if events is not None and happened is not None:
                rate = happened / rows
                own = events[..., None, :] - rate[..., None] * counted[..., None, :]
                persons = self.number(counted)
                between = np.einsum("...gi,gij,...gj->...g", own, self.products, own) * persons / (persons - 1.0)
                effect = np.where((rate > 0.0) & (rate < 1.0), between / (rows * rate * (1.0 - rate)), alike)
        return _with_few_persons(effect, alike, rows)

    def shrink_of(self, rows: Floats, influence: Floats, spread: Floats) -> Floats:
        """What rows are divided by where a metric is no rate.

        Parameters
        ----------
        rows : ndarray of shape (groups,)
        influence : ndarray of shape (groups, 4)
            What a row of each count adds to the metric, less what the average row does.
        spread : ndarray of shape (groups,)
            Variance of that over the rows.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            alike = self.products.sum(axis=(1, 2)) / rows
            persons = self.number()
            between = np.einsum("gi,gij,gj->g", influence, self.products, influence) * persons / (persons - 1.0)
            effect = np.where(spread > 0.0, between / (rows * spread), alike)
        return _with_few_persons(effect, alike, rows)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "products": self.products.astype(np.int64).tolist(),
            "present": self.present.astype(np.int64).tolist(),
            "shared": self.shared,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PersonMoments:
        """Undo `to_dict`."""
        products, present = (np.array(data[name], dtype=np.float64) for name in ("products", "present"))
        return cls(products.reshape(-1, CELLS, CELLS), present.reshape(-1, 1 << CELLS), data["shared"])


@dataclass(frozen=True)
class KeyedBlocks:
    """The source's blocks, in each of which column `KEY` has the hash of each row's person."""

    source: SourceBlocks
    spec: AuditSpec

    def map_source_blocks(self, function: Callable[[pd.DataFrame], T]) -> list[T]:
        """See `SourceBlocks`."""
        return self.source.map_source_blocks(partial(_on_keyed, spec=self.spec, function=function))


def _on_keyed(frame: pd.DataFrame, spec: AuditSpec, function: Callable[[pd.DataFrame], T]) -> T:
    return function(frame.assign(**{KEY: person_hashes(frame, spec)}))


def persons_in(frame: pd.DataFrame) -> Persons:
    """Who is in a block that has `KEY`."""
    return Persons.of(frame[KEY].to_numpy())


class PersonCells(PlacedSums):
    """The confusion counts of each person in each group: places are (person * groups + group) * 4 + cell."""

    def moments(self, groups: int) -> PersonMoments:
        """The sums over persons."""
        pairs, where = np.unique(self.places // CELLS, return_inverse=True)
        counts = np.zeros((pairs.size, CELLS), dtype=np.int64)
        counts[where, self.places % CELLS] = self.sums[0]
        group, person = pairs % groups, pairs // groups
        products = np.zeros((groups, CELLS, CELLS), dtype=np.int64)
        np.add.at(products, group, counts[:, :, None] * counts[:, None, :])
        present = np.zeros((groups, 1 << CELLS), dtype=np.int64)
        np.add.at(present, (group, ((counts > 0) << np.arange(CELLS)).sum(axis=1)), 1)
        shared = int((np.unique(person, return_counts=True)[1] > 1).sum())
        return PersonMoments(products.astype(np.float64), present.astype(np.float64), shared)


def count_persons_of(
    frame: pd.DataFrame,
    numbers: Numbers,
    table: CountTable,
    positives: tuple[Positive, Positive],
    cuts: Mapping[str, Threshold],
) -> PersonCells:
    """Count the persons of some rows, which lack no facet, label or prediction.

    Parameters
    ----------
    frame : DataFrame
    numbers : ndarray of int64
        The number of each row's person.
    table : CountTable
        Of the known rows of all blocks: its groups are counted.
    positives : tuple of Positive
        Favourable values of the label and of the prediction.
    cuts : mapping of column to Threshold
    """
    groups, codes, _ = code_groups(frame, table.facets, cuts)
    at = {group: i for i, group in enumerate(table.groups)}
    place = np.array([at.get(group, -1) for group in groups], dtype=np.int64)[codes.astype(np.intp)]
    known = place >= 0
    outcomes = []
    for name, positive in zip((table.label, table.prediction), positives, strict=True):
        if name is None:
            outcomes.append(np.zeros(len(frame), dtype=np.int64))
            continue
        coded = code_column(frame, name, cuts.get(name))
        at_level = coded.codes.astype(np.intp)
        known &= np.array([one is not None for one in coded.levels], dtype=np.bool_)[at_level]
        outcomes.append(favourable(coded.levels, positive)[at_level].astype(np.int64))
    label, prediction = outcomes
    cell = np.where(prediction == 1, 1 - label, 3 - label)  # tp, fp, fn, tn
    places = (numbers * len(table.groups) + place) * CELLS + cell
    return PersonCells.of(places[known], np.ones(known.sum(), dtype=np.int64))


def as_persons(known: CountTable, moments: PersonMoments) -> CountTable:
    """Counts of known rows with squared weights as if all rows of a person were alike.

    Whatever is no rate, such as a mean score, takes its effective number of rows from these.
    """
    rows = known.counts.sum(axis=(1, 2, 3, 4)).astype(np.float64)
    shape = (-1, *(1,) * (known.counts.ndim - 1))
    squares = known.counts * moments.shrink(rows).reshape(shape) * (FIXED_POINT / MAX_WEIGHT)
    return replace(known, weights=known.counts * int(FIXED_POINT), squared_weights=np.rint(squares).astype(np.int64))


def _with_few_persons(effect: Floats, alike: Floats, rows: Floats) -> Floats:
    """The design effect, 1 or more, times what Student's t is wider than the normal where persons are few."""
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.maximum(rows / alike - 1.0, 1.0)
        few = special.stdtrit(df, 0.5 + 0.5 * _CONFIDENCE) / special.ndtri(0.5 + 0.5 * _CONFIDENCE)
    return np.where(rows > 0, np.maximum(np.nan_to_num(effect, nan=1.0, posinf=1.0), 1.0) * few**2, 1.0)
