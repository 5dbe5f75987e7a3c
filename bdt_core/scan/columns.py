"""Columns become cells: numbers are cut at values that occur; "missing" is a value like others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Level, code_column, column, level_order, numbers
from bdt_core.scan.conditions import GroupCondition
from bdt_core.scan.results import LeftOutColumn, SearchedColumn

BINS = 14
"""Intervals of a number with many values."""
MOST_LEVELS = 100
"""Of a column with more values, the rarer ones are not told apart."""
_FEWEST_FOR_IDENTIFIER = 50

Codes = NDArray[np.uint16]


@dataclass(frozen=True)
class OrderedColumn:
    """A column of numbers.

    Attributes
    ----------
    name : str
    edges : tuple of float
        The largest value of each interval but the last.
    extremes : tuple of (float, float)
        Smallest and largest value of each interval.
    """

    name: str
    edges: tuple[float, ...]
    extremes: tuple[tuple[float, float], ...]
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
        return GroupCondition(
            self.name,
            "interval",
            low=self.edges[first - 1] if first else None,
            high=self.edges[last] if last < len(self.edges) else None,
            first=self.extremes[first][0],
            last=self.extremes[last][1],
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
        return GroupCondition(
            self.name, "values", values=without if excluded else within, excluded=excluded, missing=missing
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
    dtype = column(sample, name).dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        return "it holds dates or times: turn them into a number, such as an age in years"
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return _fit_numbers(sample, name, bins, share)
    return _fit_levels(sample, name)


def _fit_numbers(sample: pd.DataFrame, name: str, bins: int, share: float) -> ScannedColumn | str:
    values = numbers(column(sample, name), name)
    known = np.sort(values[~np.isnan(values)])
    if not known.size or (known[0] == known[-1] and known.size == values.size):
        return "every row has the same value"
    if _looks_like_identifier(known, share):
        return "every row has a whole number of its own, as identifiers have"
    edges = quantile_edges(known, bins)
    first = np.concatenate([[0], np.searchsorted(known, edges, side="right")])
    last = np.concatenate([first[1:], [known.size]]) - 1
    return OrderedColumn(name, edges, tuple(zip(known[first].tolist(), known[last].tolist(), strict=True)))


def quantile_edges(known: NDArray[np.float64], bins: int) -> tuple[float, ...]:
    """Values that cut sorted numbers into about equally large intervals; all but the largest where there are few.

    Examples
    --------
    >>> quantile_edges(np.arange(100.0), 4), quantile_edges(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), 4)
    ((24.0, 49.0, 74.0), (0.0, 1.0))
    """
    values = np.unique(known)
    if values.size > bins:
        values = np.unique(np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf"))
    return tuple(values[values < known[-1]].tolist())


def _fit_levels(sample: pd.DataFrame, name: str) -> ScannedColumn | str:
    try:
        coded = code_column(sample, name)
    except DataError:
        return "it holds values that cannot be compared, such as lists"
    counts = np.bincount(coded.codes, minlength=len(coded.levels)).tolist()
    rows = {level: n for level, n in zip(coded.levels, counts, strict=True) if n}
    if len(rows) < 2:
        return "every row has the same value"
    by_rows = sorted(rows, key=lambda level: (-rows[level], level_order(level)))
    if len(rows) > MOST_LEVELS:
        by_rows = [level for level in by_rows[:MOST_LEVELS] if rows[level] > 1]
        if not by_rows:
            return f"it has {len(rows):,} different values, each of one row"
    return LevelsColumn(name, tuple(by_rows), len(by_rows) < len(rows))


def _looks_like_identifier(ordered: NDArray[np.float64], share: float) -> bool:
    """Whether numbers are whole, all different and close together, like row numbers."""
    if ordered.size < _FEWEST_FOR_IDENTIFIER or not np.isfinite(ordered[[0, -1]]).all():
        return False
    if (np.diff(ordered) == 0).any() or (ordered != np.floor(ordered)).any():
        return False
    return bool((ordered[-1] - ordered[0]) * share < 10 * ordered.size)
