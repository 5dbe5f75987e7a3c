"""A column becomes cells: intervals of numbers, or values as they are; "missing" is a cell like others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Level, canonical, code_column, column, level_order, numbers, smallest_unsigned
from bdt_core.groups.conditions import GroupCondition
from bdt_core.said import Text

Codes = NDArray[np.unsignedinteger]
Numbers = NDArray[np.float64]

SAME_VALUE = "every row has the same value"
NOT_COMPARABLE = "it holds values that cannot be compared, such as lists"


@dataclass(frozen=True)
class LeftOutColumn:
    """A column that a search could not use, and why."""

    name: str
    reason: Text


@dataclass(frozen=True)
class OrderedColumn:
    """A column of numbers.

    Attributes
    ----------
    name : str
    edges : tuple of float
        An interval reaches up to and with its edge; the last has none.
    whole : bool
        Whether all numbers are whole.
    lone : tuple of float or None
        The number of each interval that is told as that number, for it has no other.
    """

    name: str
    edges: tuple[float, ...]
    whole: bool
    lone: tuple[float | None, ...] = ()
    is_ordered = True

    @property
    def cells(self) -> int:
        """Intervals, and "missing"."""
        return len(self.edges) + 2

    def codes(self, frame: pd.DataFrame) -> Codes:
        """Cell of each row, from 0."""
        return interval_positions(numbers(column(frame, self.name), self.name), self.edges)

    def condition(self, inside: NDArray[np.bool_]) -> GroupCondition:
        """What a choice of cells says, of which those that are intervals are neighbours."""
        known, missing = np.flatnonzero(inside[:-1]), bool(inside[-1])
        if known.size in (0, self.cells - 1):
            return GroupCondition(self.name, "missing", missing=missing)
        first, last = int(known[0]), int(known[-1])
        only = self.lone[first] if self.lone else None
        if first == last and only is not None:
            return GroupCondition(self.name, "values", values=(canonical(only),), missing=missing)
        return GroupCondition(
            self.name,
            "interval",
            low=self.edges[first - 1] if first else None,
            high=self.edges[last] if last < len(self.edges) else None,
            whole=self.whole,
            missing=missing,
        )


@dataclass(frozen=True)
class LevelsColumn:
    """A column of categories.

    Attributes
    ----------
    name : str
    levels : tuple
        None is "missing".
    has_others : bool
        Whether there are others, which are one cell, the last.
    """

    name: str
    levels: tuple[Level, ...]
    has_others: bool
    is_ordered = False

    @property
    def cells(self) -> int:
        """Levels, and all others."""
        return len(self.levels) + self.has_others

    def codes(self, frame: pd.DataFrame) -> Codes:
        """Cell of each row, from 0; a level that is not known has the last one."""
        coded = code_column(frame, self.name)
        cell_of = {level: i for i, level in enumerate(self.levels)}
        unseen = self.cells - 1
        cells = [cell_of.get(level, unseen) for level in coded.levels] or [0]
        codes: Codes = np.array(cells, dtype=smallest_unsigned(self.cells))[coded.codes]
        return codes

    def condition(self, inside: NDArray[np.bool_]) -> GroupCondition:
        """What a choice of cells says."""
        chosen = {level for level, is_in in zip(self.levels, inside, strict=False) if is_in}
        known = sorted((one for one in self.levels if one is not None), key=level_order)
        within, without = (tuple(x for x in known if (x in chosen) == wanted) for wanted in (True, False))
        missing, with_others = None in chosen, self.has_others and bool(inside[-1])
        if not (within or with_others) or not (without or (self.has_others and not with_others)):
            return GroupCondition(self.name, "missing", missing=missing)
        excluded = with_others if self.has_others else len(within) > len(without)
        never_missing = None not in self.levels  # "not a" then goes without saying "and not missing"
        return GroupCondition(
            self.name,
            "values",
            values=without if excluded else within,
            excluded=excluded,
            missing=missing or (excluded and never_missing),
        )


CodedColumn = OrderedColumn | LevelsColumn


def interval_positions(values: Numbers, edges: Sequence[float]) -> Codes:
    """Number of edges strictly below each value; the number of edges plus one where it is missing."""
    position = np.zeros(values.size, dtype=smallest_unsigned(len(edges) + 2))
    for edge in edges:
        position += values > edge
    position[np.isnan(values)] = len(edges) + 1
    return position


def known_numbers(frame: pd.DataFrame, name: str) -> Numbers:
    """The numbers of a column, sorted, without those that are missing."""
    values = numbers(column(frame, name), name)
    return np.sort(values[~np.isnan(values)])


def are_whole(known: Numbers) -> bool:
    """Whether all numbers are whole."""
    parts = known[:1000], known[1000:]  # of most columns the first numbers tell
    return all((np.isfinite(part) & (part == np.floor(part))).all() for part in parts)


def counted_levels(frame: pd.DataFrame, name: str) -> dict[Level, int] | None:
    """Rows of each level of a column; None where these cannot be compared."""
    try:
        return code_column(frame, name).counted()
    except DataError:
        return None
