"""The bias variable by group of declared columns: summaries, and sums of persons, added up over blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import Threshold, code_column
from bdt_core.fairness.counts import Group, group_order
from bdt_core.inference.persons import Persons, PersonSums, PlacedSums, Steps
from bdt_core.inference.summaries import Summary, summarise
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, AuditTable
from bdt_core.table.persons import numbers_of, persons_of
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import How, audited, plus

Counted = dict[Group, Summary]


@dataclass(frozen=True)
class Grouped:
    """The bias variable by group.

    Attributes
    ----------
    groups : dict of tuple to ValueCounts or Moments
        In the order of their values; a group has a value of every column.
    unknown : ValueCounts or Moments
        Of the rows that lack a value of some column.
    """

    groups: Counted
    unknown: Summary

    def __add__(self, other: Grouped) -> Grouped:
        both = dict(self.groups)
        for group, summary in other.groups.items():
            both[group] = plus(both[group], summary) if group in both else summary
        return Grouped(both, plus(self.unknown, other.unknown))

    def ordered(self) -> Grouped:
        """With its groups in the order of their values."""
        return Grouped({group: self.groups[group] for group in sorted(self.groups, key=group_order)}, self.unknown)


def summaries_by_group(
    table: Rows, groupings: Sequence[tuple[str, ...]], cuts: Mapping[str, Threshold], how: How
) -> list[Grouped]:
    """The bias variable of the audited rows by group, for each grouping.

    Parameters
    ----------
    table : Rows
    groupings : sequence of tuple of str
        Columns that make groups together.
    cuts : mapping of str to Threshold
        Numeric columns that are cut in two.
    how : ndarray of float64, or Scale
        How the bias variable is summarised; see `bdt_core.table.summaries.ways`.
    """
    count = partial(_count_block, groupings=groupings, cuts=cuts, how=how)
    names = sorted({name for columns in groupings for name in columns})
    blocks = table.map_blocks(count, [*names, BIAS_VARIABLE])
    return [reduce(add, of_grouping).ordered() for of_grouping in zip(*blocks, strict=True)]


@dataclass(frozen=True, eq=False)
class PersonsByGroup:
    """What persons have in each group, where they may have several rows.

    Attributes
    ----------
    size : int
        How many numbers of persons there are.
    steps : Steps
        What the bias variable is summed in.
    cells : tuple of PlacedSums
        One per grouping: rows and steps of a person in a group, at the place group * size + person.
    everybody : PersonSums
        Of all audited rows.
    """

    size: int
    steps: Steps
    cells: tuple[PlacedSums, ...]
    everybody: PersonSums

    def group(self, grouping: int, group: int) -> PersonSums:
        """What each person has in one group."""
        return sums_of_group(self.cells[grouping], group, self.size)


def persons_by_group(
    table: Rows,
    groupings: Sequence[tuple[str, ...]],
    cuts: Mapping[str, Threshold],
    how: How,
    groups: Sequence[Sequence[Group]],
) -> PersonsByGroup | None:
    """What persons have in each group of each grouping; None where rows are persons.

    Parameters
    ----------
    table, groupings, cuts, how
        As in `summaries_by_group`.
    groups : sequence of sequences of tuple
        The groups of each grouping, in the order of their numbers.
    """
    counted = persons_of(table)
    if counted is None:
        return None
    persons, steps = counted[0], Steps.of(how)
    places = [{group: i for i, group in enumerate(of_grouping)} for of_grouping in groups]
    count = partial(_persons_in_block, groupings=groupings, cuts=cuts, places=places, persons=persons, steps=steps)
    names = sorted({name for columns in groupings for name in columns})
    blocks = table.map_blocks(count, [*names, KEY, BIAS_VARIABLE])
    *together, everybody = [reduce(add, of_grouping) for of_grouping in zip(*blocks, strict=True)]
    return PersonsByGroup(persons.size, steps, tuple(together), sums_of_group(everybody, 0, persons.size))


def sums_of_group(cells: PlacedSums, group: int, size: int) -> PersonSums:
    """What each of so many persons has in one group."""
    first, last = np.searchsorted(cells.places, [group * size, (group + 1) * size])
    rows, steps = np.zeros((2, size), dtype=np.int64)
    who = cells.places[first:last] - group * size
    rows[who], steps[who] = cells.sums[:, first:last]
    return PersonSums(rows, steps)


def _places(
    block: AuditTable, columns: Sequence[str], cuts: Mapping[str, Threshold]
) -> tuple[list[Group], NDArray[np.intp]]:
    """The groups of a block, and which one each audited row is in; -1 where a value is missing."""
    coded = [code_column(audited(block, name).to_frame(), name, cuts.get(name)) for name in columns]
    shape = tuple(len(one.levels) for one in coded)
    cells, occurring = pd.factorize(np.ravel_multi_index([one.codes.astype(np.intp) for one in coded], shape))
    occurring_levels = zip(*np.unravel_index(occurring, shape), strict=True)
    groups: list[Group] = [tuple(one.levels[i] for one, i in zip(coded, at, strict=True)) for at in occurring_levels]
    known = np.array([None not in one for one in groups], dtype=np.bool_)
    place = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)
    return [one for one in groups if None not in one], place[cells]


def _count_block(
    block: AuditTable, groupings: Sequence[tuple[str, ...]], cuts: Mapping[str, Threshold], how: How
) -> list[Grouped]:
    """What each group of a block has of the bias variable."""
    grouped = []
    for columns in groupings:
        groups, places = _places(block, columns, cuts)
        *summaries, unknown = summarise(block.y, np.where(places < 0, len(groups), places), len(groups) + 1, how)
        grouped.append(Grouped(dict(zip(groups, summaries, strict=True)), unknown))
    return grouped


def _persons_in_block(
    block: AuditTable,
    groupings: Sequence[tuple[str, ...]],
    cuts: Mapping[str, Threshold],
    places: Sequence[Mapping[Group, int]],
    persons: Persons,
    steps: Steps,
) -> list[PlacedSums]:
    """What persons of a block have in each group; behind the groupings, of everybody."""
    who, values = numbers_of(persons, block), steps.count(block.y).astype(np.int64)
    sums = []
    for columns, place in zip(groupings, places, strict=True):
        groups, at = _places(block, columns, cuts)
        known = at >= 0
        cells = np.array([place[group] for group in groups], dtype=np.int64)[at[known]]
        rows = np.ones(cells.size, dtype=np.int64)
        sums.append(PlacedSums.of(cells * persons.size + who[known], rows, values[known]))
    return [*sums, PlacedSums.of(who, np.ones(who.size, dtype=np.int64), values)]
