"""Columns as the scan searches them: numbers are cut at values that occur, rare values are not told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.coding import column, level_order
from bdt_core.groups.cells import (
    NOT_COMPARABLE,
    SAME_VALUE,
    CodedColumn,
    LeftOutColumn,
    LevelsColumn,
    OrderedColumn,
    are_whole,
    counted_levels,
    known_numbers,
)
from bdt_core.said import say
from bdt_core.table.cuts import HOLDS_TIMES, IS_IDENTIFIER, holds_times, looks_like_identifier, roundest
from bdt_core.table.facts import holds_numbers

BINS = 20
"""Intervals of a number with many values, where there are enough rows."""
_ROWS_PER_BIN = 25
MOST_LEVELS = 100
"""Of a column with more values, the rarer ones are not told apart."""


def fit_columns(
    sample: pd.DataFrame, names: Sequence[str], share: float
) -> tuple[list[CodedColumn], list[LeftOutColumn]]:
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
    columns : list of CodedColumn
    left_out : list of LeftOutColumn
    """
    columns: list[CodedColumn] = []
    left_out = []
    for name in names:
        fitted = fit_column(sample, name, share=share)
        if isinstance(fitted, str):
            left_out.append(LeftOutColumn(name, fitted))
        else:
            columns.append(fitted)
    return columns, left_out


def fit_column(sample: pd.DataFrame, name: str, *, bins: int = BINS, share: float = 1.0) -> CodedColumn | str:
    """How one column is searched, or why it cannot be."""
    values = column(sample, name)
    if holds_times(values):
        return HOLDS_TIMES
    if holds_numbers(values):
        return _fit_numbers(sample, name, bins, share)
    return _fit_levels(sample, name)


def _fit_numbers(sample: pd.DataFrame, name: str, bins: int, share: float) -> CodedColumn | str:
    known = known_numbers(sample, name)
    if not known.size or (known[0] == known[-1] and known.size == len(sample)):
        return SAME_VALUE
    if looks_like_identifier(known, np.unique(known).size, share):
        return IS_IDENTIFIER
    return cut_at(name, known, quantile_ends(known, min(bins, max(known.size // _ROWS_PER_BIN, 2))))


def cut_at(name: str, known: NDArray[np.float64], ends: NDArray[np.intp]) -> OrderedColumn:
    """A column of sorted numbers whose intervals, but for the last, end at these places among them."""
    whole = are_whole(known)
    last = np.concatenate([ends, [known.size - 1]])
    first = np.concatenate([[0], last[:-1] + 1])
    largest, smallest = known[last].tolist(), known[first].tolist()
    edges = largest[:-1] if whole else [_between(*two) for two in zip(largest, smallest[1:], strict=False)]
    lone = tuple(low if low == high else None for low, high in zip(smallest, largest, strict=True))
    return OrderedColumn(name, tuple(edges), whole, lone)


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
    quantiles = np.quantile(known, np.arange(1, bins) / bins, method="inverted_cdf")
    chosen = np.searchsorted(known, np.unique(quantiles), side="right") - 1
    return chosen[chosen < known.size - 1]


def _fit_levels(sample: pd.DataFrame, name: str) -> CodedColumn | str:
    rows = counted_levels(sample, name)
    if rows is None:
        return NOT_COMPARABLE
    if len(rows) < 2:
        return SAME_VALUE
    by_rows = sorted(rows, key=lambda level: (-rows[level], level_order(level)))
    if len(rows) > MOST_LEVELS:
        by_rows = [level for level in by_rows[:MOST_LEVELS] if rows[level] > 1]
        if not by_rows:
            return say("it has {N} different values, each of one row", N=words.count(len(rows)))
    return LevelsColumn(name, tuple(by_rows), len(by_rows) < len(rows))
