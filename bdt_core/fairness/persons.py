"""Count the persons of declared groups, where one may have several rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import Threshold, code_column
from bdt_core.fairness.confusion import Positive, favourable
from bdt_core.fairness.counting import MAX_WEIGHT, code_groups
from bdt_core.fairness.counts import FIXED_POINT, CountTable
from bdt_core.fairness.person_moments import CELLS, PersonMoments
from bdt_core.inference.persons import Persons, PlacedSums
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import KEY
from bdt_core.table.persons import person_hashes
from bdt_core.table.source_blocks import SourceBlocks

Numbers = NDArray[np.int64]
T = TypeVar("T")


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
    wanted: tuple[Positive, Positive],
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
    wanted : tuple of Positive
        Favourable values of the label and of the prediction.
    cuts : mapping of column to Threshold
    """
    groups, codes, _ = code_groups(frame, table.facets, cuts)
    at = {group: i for i, group in enumerate(table.groups)}
    place = np.array([at.get(group, -1) for group in groups], dtype=np.int64)[codes.astype(np.intp)]
    known = place >= 0
    outcomes = []
    for name, positive in zip((table.label, table.prediction), wanted, strict=True):
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
