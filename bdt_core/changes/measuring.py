"""Means of groups in two tables, block by block, with what each person adds to their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.inference.estimates import GroupMean, MeanOfPersons, MeanOfRows
from bdt_core.inference.persons import Hashes, Persons, PersonSums, Steps, person_sums
from bdt_core.inference.summaries import Summary, summarise
from bdt_core.ranking.candidates import level_groups
from bdt_core.ranking.results import Finding
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, AuditTable
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import How, plus, ways

_FINE = 2.0**30


@dataclass(frozen=True)
class FollowedGroup:
    """People who are followed from A to B.

    Attributes
    ----------
    who : Finding, or tuple of GroupCondition
        What A's searches found, or what holds for a declared group.
    """

    who: Finding | tuple[GroupCondition, ...]

    def members(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows of a table belong to them."""
        return self.who.members(frame) if isinstance(self.who, Finding) else members(frame, self.who)


class Outcomes(NamedTuple):
    """The values that the bias variable has."""

    low: float
    high: float
    are_rates: bool

    @property
    def steps(self) -> Steps:
        """What sums of persons are counted in, in both tables."""
        return Steps(0.0, 1.0) if self.are_rates else Steps(self.low, (self.high - self.low) / _FINE or 1.0)


class Sides(NamedTuple):
    """A group and everybody else; None where there are too few of them for a mean."""

    inside: GroupMean | None
    outside: GroupMean | None


@dataclass(frozen=True)
class KeptPersons:
    """Which persons count, and their numbers.

    Attributes
    ----------
    kept : ndarray of uint64
        Hashes of those who count, rising.
    persons : Persons
        Of both tables.
    """

    kept: Hashes
    persons: Persons


def hashes_of(table: Rows) -> Hashes:
    """Hashes of all persons whose outcome is known, rising."""
    return np.unique(np.concatenate(table.map_blocks(_hashes, [KEY, BIAS_VARIABLE])))


def outcomes_of(*tables: Rows) -> Outcomes:
    """The values in all of some tables."""
    outcomes = [one for table in tables for one in table.map_blocks(_outcomes, [BIAS_VARIABLE])]
    return Outcomes(
        min(one.low for one in outcomes), max(one.high for one in outcomes), all(one.are_rates for one in outcomes)
    )


def declared_groups(tables: Sequence[Rows], facets: Sequence[tuple[str, ...]]) -> list[tuple[GroupCondition, ...]]:
    """Each level of the declared columns, or each that several columns have together, in any of the tables."""
    groups: list[tuple[GroupCondition, ...]] = []
    for columns in facets:
        of_facet = {
            conditions
            for table in tables
            for block in table.map_blocks(partial(_levels, columns=columns), [*columns, BIAS_VARIABLE])
            for conditions in block
        }
        groups += sorted(of_facet, key=lambda conditions: [str(one.values[0]) for one in conditions])
    return groups


def persons_sides(
    table: Rows, groups: Sequence[FollowedGroup], outcomes: Outcomes, counted: KeptPersons, fewest: int
) -> tuple[list[Sides], list[PersonSums]]:
    """Means of groups and of everybody else, where a key names persons.

    Parameters
    ----------
    table : Rows
    groups : sequence of FollowedGroup
    outcomes : Outcomes
    counted : KeptPersons
    fewest : int
        With fewer persons there is no mean.

    Returns
    -------
    list of Sides, list of PersonSums
        One for each group, and the sums of those inside.
    """
    blocks = table.map_blocks(partial(_block_sums, groups=groups, steps=outcomes.steps, counted=counted))
    everybody, *inside = (reduce(add, several) for several in zip(*blocks, strict=True))

    def mean(sums: PersonSums) -> MeanOfPersons | None:
        enough = sums.persons >= max(fewest, 2)
        return MeanOfPersons(sums, outcomes.steps, outcomes.are_rates) if enough else None

    return [Sides(mean(one), mean(everybody - one)) for one in inside], inside


def rows_sides(table: Rows, groups: Sequence[FollowedGroup], outcomes: Outcomes, fewest: int) -> list[Sides]:
    """`persons_sides` where every row is a person of its own."""
    how = ways(table, [BIAS_VARIABLE])[BIAS_VARIABLE]
    blocks = table.map_blocks(partial(_block_summaries, groups=groups, how=how))
    sides = [reduce(plus, several) for several in zip(*blocks, strict=True)]

    def mean(rows: Summary) -> MeanOfRows | None:
        return MeanOfRows(rows, outcomes.are_rates) if rows.rows >= max(fewest, 2) else None

    return [Sides(mean(inside), mean(outside)) for outside, inside in zip(sides[::2], sides[1::2], strict=True)]


def _hashes(block: AuditTable) -> Hashes:
    return np.unique(np.asarray(block.audited[KEY].to_numpy(), dtype=np.uint64))


def _outcomes(block: AuditTable) -> Outcomes:
    y = block.y
    low, high = float(y.min(initial=np.inf)), float(y.max(initial=-np.inf))
    return Outcomes(low, high, bool(np.isin(y, (0.0, 1.0)).all()))


def _levels(block: AuditTable, columns: tuple[str, ...]) -> list[tuple[GroupCondition, ...]]:
    return [conditions for conditions, _ in level_groups(block.audited, columns)]


def _block_sums(
    block: AuditTable, groups: Sequence[FollowedGroup], steps: Steps, counted: KeptPersons
) -> list[PersonSums]:
    """Of everybody who counts, then of each group."""
    frame = block.audited
    hashes = np.asarray(frame[KEY].to_numpy(), dtype=np.uint64)
    place = np.minimum(np.searchsorted(counted.kept, hashes), max(counted.kept.size - 1, 0))
    counts = counted.kept[place] == hashes if counted.kept.size else np.zeros(hashes.size, dtype=bool)
    frame, numbers = frame[counts], counted.persons.numbers(hashes[counts])
    values, size = steps.count(frame[BIAS_VARIABLE].to_numpy(dtype=np.float64)), counted.persons.size
    inside = [np.ones(len(frame), dtype=bool), *(one.members(frame) for one in groups)]
    return [person_sums(values[one], numbers[one], size) for one in inside]


def _block_summaries(block: AuditTable, groups: Sequence[FollowedGroup], how: How) -> list[Summary]:
    """Of everybody else and of the people of each group, in turn."""
    frame, y = block.audited, block.y
    return [rows for one in groups for rows in summarise(y, one.members(frame).astype(np.int64), 2, how)]
