"""Columns become cells: numbers are cut at values that occur; "missing" is a value like others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Level, canonical, code_column, column, level_order, numbers
from bdt_core.scan.conditions import GroupCondition
from bdt_core.scan.results import LeftOutColumn, SearchedColumn
from bdt_core.table.cuts import HOLDS_TIMES, IS_IDENTIFIER, holds_times, looks_like_identifier, roundest
from bdt_core.table.facts import holds_numbers

BINS = 20
"""Intervals of a number with many values, where there are enough rows."""
_ROWS_PER_BIN = 25
MOST_LEVELS = 100
"""Of a column with more values, the rarer ones are not told apart."""

Codes = NDArray[np.uint16]


@dataclass(frozen=True)
class OrderedColumn:
    """A column of numbers.

    Attributes
    ----------
    name : str
    edges : tuple of float
        An interval reaches up to and with its edge; the last has none.
    lone : tuple of float or None
        The number of each interval that has but one.
    whole : bool
        Whether all numbers are whole.
    """

    name: str
    edges: tuple[float, ...]
    lone: tuple[float | None, ...]
    whole: bool
    is_ordered = True

    @property
    def cells(self) -> int:
        """Intervals, and "missing"."""
        return len(self.edges) + 2

    @property
    def searched(self) -> SearchedColumn:
        """What is said about it."""
        return SearchedColumn(self.name, "ordered", len(self.edges) + 1)

    def codes(self, frame: pd.DataFrame) -> Codes:
        """Cell of each row, from 0."""
        values = numbers(column(frame, self.name), self.name)
        codes = np.searchsorted(self.edges, values, side="left").astype(np.uint16)
        codes[np.isnan(values)] = len(self.edges) + 1
        return codes

    def condition(self, inside: NDArray[np.bool_]) -> GroupCondition:
        """What a choice of cells says."""
        known, missing = np.flatnonzero(inside[:-1]), bool(inside[-1])
        if known.size in (0, self.cells - 1):
            return GroupCondition(self.name, "missing", missing=missing)
        first, last = int(known[0]), int(known[-1])
        only = self.lone[first]
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
        The most frequent first; None is "missing".
    has_others : bool
        Whether there are rarer ones, which are one cell.
    """

    name: str
    levels: tuple[Level, ...]
    has_others: bool
    is_ordered = False

    @property
    def cells(self) -> int:
        """Levels, and all others."""
        return len(self.levels) + self.has_others

    @property
    def searched(self) -> SearchedColumn:
        """What is said about it."""
        return SearchedColumn(self.name, "values", len(self.levels) - (None in self.levels))

    def codes(self, frame: pd.DataFrame) -> Codes:
        """Cell of each row, from 0."""
        coded = code_column(frame, self.name)
        cell_of = {level: i for i, level in enumerate(self.levels)}
        unseen = self.cells - 1
        table = np.array([cell_of.get(level, unseen) for level in coded.levels] or [0], dtype=np.uint16)
        codes: Codes = table[coded.codes]
        return codes

    def condition(self, inside: NDArray[np.bool_]) -> GroupCondition:
        """What a choice of cells says."""
        chosen = {level for level, is_in in zip(self.levels, inside, strict=False) if is_in}
        known = sorted((one for one in self.levels if one is not None), key=level_order)
        within, without = (tuple(x for x in known if (x in chosen) == wanted) for wanted in (True, False))
        missing = None in chosen
        if not without or not within:
            return GroupCondition(self.name, "missing", missing=missing)
        excluded = bool(inside[-1]) if self.has_others else len(within) > len(without)
        never_missing = None not in self.levels  # "not a" then goes without saying "and not missing"
        return GroupCondition(
            self.name,
            "values",
            values=without if excluded else within,
            excluded=excluded,
            missing=missing or (excluded and never_missing),
        )


ScannedColumn = OrderedColumn | LevelsColumn


def fit_columns(
    sample: pd.DataFrame, names: Sequence[str], share: float
) -> tuple[list[ScannedColumn], list[LeftOutColumn]]:
    """How each column is searched.

    Parameters
    ----------
    sample : DataFrame
        Rows with a known outcome.
    names : sequence of str
    share : float
        Share of all rows that the sample has.

    Returns
    -------
    columns : list of ScannedColumn
    left_out : list of LeftOutColumn
    """
    columns: list[ScannedColumn] = []
    left_out = []
    for name in names:
        fitted = fit_column(sample, name, share=share)
        if isinstance(fitted, str):
            left_out.append(LeftOutColumn(name, fitted))
        else:
            columns.append(fitted)
    return columns, left_out


def fit_column(sample: pd.DataFrame, name: str, *, bins: int = BINS, share: float = 1.0) -> ScannedColumn | str:
    """How one column is searched, or why it cannot be."""
    values = column(sample, name)
    if holds_times(values):
        return HOLDS_TIMES
    if holds_numbers(values):
        return _fit_numbers(sample, name, bins, share)
    return _fit_levels(sample, name)


def _fit_numbers(sample: pd.DataFrame, name: str, bins: int, share: float) -> ScannedColumn | str:
    values = numbers(column(sample, name), name)
    known = np.sort(values[~np.isnan(values)])
    if not known.size or (known[0] == known[-1] and known.size == values.size):
        return "every row has the same value"
    if looks_like_identifier(known, np.unique(known).size, share):
        return IS_IDENTIFIER
    return cut_at(name, known, quantile_ends(known, min(bins, max(known.size // _ROWS_PER_BIN, 2))))


def cut_at(name: str, known: NDArray[np.float64], ends: NDArray[np.intp]) -> OrderedColumn:
    """A column of sorted numbers whose intervals, but for the last, end at these places among them."""
    whole = bool((np.isfinite(known) & (known == np.floor(known))).all())
    last = np.concatenate([ends, [known.size - 1]])
    first = np.concatenate([[0], last[:-1] + 1])
    largest, smallest = known[last].tolist(), known[first].tolist()
    edges = largest[:-1] if whole else [_between(*two) for two in zip(largest, smallest[1:], strict=False)]
    lone = tuple(low if low == high else None for low, high in zip(smallest, largest, strict=True))
    return OrderedColumn(name, tuple(edges), lone, whole)


def _between(low: float, high: float) -> float:
    """The number with the fewest digits that parts two neighbours: not below the one, and below the other."""
    if not math.isfinite(low) or not math.isfinite(high):
        return low
    edge = roundest(low, high)
    return edge if edge < high else low


def quantile_ends(known: NDArray[np.float64], bins: int) -> NDArray[np.intp]:
    """Where all intervals but the last end, of sorted numbers cut into about equally large ones.

    No number lies in two intervals; each is one of its own where there are few.

    Examples
    --------
    >>> quantile_ends(np.arange(100.0), 4).tolist(), quantile_ends(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), 4).tolist()
    ([24, 49, 74], [3, 4])
    """
    ends = np.flatnonzero(np.diff(known))  # the last place of each value but the largest
    if ends.size < bins:
        return ends
    wanted = np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf")
    chosen = np.searchsorted(known, np.unique(wanted), side="right") - 1
    return chosen[chosen < known.size - 1]


def _fit_levels(sample: pd.DataFrame, name: str) -> ScannedColumn | str:
    try:
        rows = code_column(sample, name).counted()
    except DataError:
        return "it holds values that cannot be compared, such as lists"
    if len(rows) < 2:
        return "every row has the same value"
    by_rows = sorted(rows, key=lambda level: (-rows[level], level_order(level)))
    if len(rows) > MOST_LEVELS:
        by_rows = [level for level in by_rows[:MOST_LEVELS] if rows[level] > 1]
        if not by_rows:
            return f"it has {len(rows):,} different values, each of one row"
    return LevelsColumn(name, tuple(by_rows), len(by_rows) < len(rows))
