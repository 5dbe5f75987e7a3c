"""Columns become conditions: values as they are, numbers cut at quantiles of the train rows.

Which values there are is counted block by block. Quantiles cannot be added up, so that those of many rows are those of
a sample; how many rows each interval has is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.coding import Level, column, level_order, numbers
from bdt_core.groups.cells import (
    NOT_COMPARABLE,
    SAME_VALUE,
    CodedColumn,
    LeftOutColumn,
    LevelsColumn,
    OrderedColumn,
    are_whole,
    counted_levels,
    interval_positions,
    known_numbers,
)
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.written import WrittenCondition
from bdt_core.said import Numeral, say
from bdt_core.table.blocks import OUTCOME, Block, Blocks, known_rows
from bdt_core.table.cuts import HOLDS_TIMES, IS_IDENTIFIER, holds_times, looks_like_identifier, roundest
from bdt_core.table.facts import holds_numbers

MOST_LEVELS = 250
"""Codes are single bytes."""
MOST_COUNTED = 65_536
"""More different values than these are not told apart: no column with so many is searched value by value."""
FEW_VALUES = 10
"""Numbers with no more distinct values than this, or than bins, are not binned."""
_SLACK = 0.1

Levels = dict[Level, int] | str
"""Rows of each value; or why they were not counted."""
_TOO_MANY, _NOT_COMPARABLE = "too many", "not comparable"


@dataclass(frozen=True)
class SlicedColumn:
    """A column that the search uses.

    Attributes
    ----------
    name : str
    kind : {"values", "intervals"}
    conditions : tuple of GroupCondition
        Those that hold for enough train rows.
    other_rows : int
        Train rows for which none of them holds.
    """

    name: str
    kind: Literal["values", "intervals"]
    conditions: tuple[WrittenCondition, ...]
    other_rows: int


@dataclass(frozen=True)
class FittedColumn:
    """How one column of any table is coded.

    Attributes
    ----------
    sliced : SlicedColumn
    cells : CodedColumn
        Of values, those with a condition, and one cell for all others.
    items : tuple of int
        Of intervals and "missing": the condition of each, or the number of conditions.
    """

    sliced: SlicedColumn
    cells: CodedColumn
    items: tuple[int, ...] = ()

    def codes(self, frame: pd.DataFrame) -> NDArray[np.uint8]:
        """Code per row; a level without a condition has the code that follows the last one."""
        cells = self.cells.codes(frame)
        if isinstance(self.cells, LevelsColumn):
            return cells
        codes: NDArray[np.uint8] = np.array(self.items, dtype=np.uint8)[cells]
        return codes


def fit_columns(
    train: Blocks,
    sample: pd.DataFrame,
    names: Sequence[str],
    *,
    rows: int,
    bins: int,
    max_levels: int,
    min_rows: int,
) -> tuple[list[FittedColumn], list[LeftOutColumn]]:
    """Find the conditions of each column on the train rows.

    Parameters
    ----------
    train : Blocks
    sample : DataFrame
        Rows of it with a known outcome; numbers are cut at their quantiles.
    names : sequence of str
        Columns of it.
    rows : int
        Train rows with a known outcome.
    bins : int
        Intervals of a number with many values, of about equally many rows.
    max_levels : int
        Columns with more values are excluded.
    min_rows : int
        Rows for which a condition must hold, and rows for which it must not.

    Returns
    -------
    fitted : list of FittedColumn
    excluded : list of LeftOutColumn
    """
    cuts = {name: _cut(sample, name, bins, share=len(sample) / rows) for name in names}
    uncut = [name for name in names if cuts[name] is None]
    levels = _levels(train, uncut)
    for name in uncut:
        if holds_numbers(column(sample, name)) and _has_many_values(
            levels[name], bins
        ):  # the sample has not shown them all
            cuts[name] = quantile_edges(known_numbers(sample, name), bins)
    edges = {name: one for name, one in cuts.items() if isinstance(one, tuple) and one}
    intervals = _intervals(train, edges)
    fitted, excluded = [], []
    for name in names:
        fit: FittedColumn | str
        if name in edges:
            fit = _from_intervals(name, edges[name], intervals[name], min_rows)
        elif (reason := cuts[name]) is None:
            fit = _from_levels(name, levels[name], max_levels, min_rows)
        else:
            fit = reason if isinstance(reason, str) else "nearly every row has the same value"
        if isinstance(fit, str):
            excluded.append(LeftOutColumn(name, fit))
        else:
            fitted.append(fit)
    return fitted, excluded


def quantile_edges(ordered: NDArray[np.float64], bins: int) -> tuple[float, ...]:
    """Cut sorted numbers into intervals of about equally many rows, at edges that are easy to read.

    An edge is the roundest number among those that split the rows within a tenth of a bin of the wanted share. Where
    nearly all rows have the largest number, the one below it is the only edge; there is none where all have it.

    Examples
    --------
    >>> quantile_edges(np.arange(18.0, 83.0, 0.01), 5)
    (30.0, 45.0, 57.0, 70.0)
    """
    edges = set()
    shares = [(i + slack) / bins for i in range(1, bins) for slack in (-_SLACK, _SLACK)]
    # All at once: each call sorts the numbers in part.
    around = np.quantile(ordered, shares, method="inverted_cdf").reshape(-1, 2).tolist()
    for low, high in around:
        edge = roundest(low, high)
        if ordered[0] <= edge < ordered[-1]:
            edges.add(edge)
    if not edges:
        edges.update(ordered[ordered < ordered[-1:]][-1:].tolist())
    return tuple(sorted(edges))


def _cut(sample: pd.DataFrame, name: str, bins: int, share: float) -> tuple[float, ...] | str | None:
    """Edges of a column of numbers with many values; None when its values are conditions as they are.

    Parameters
    ----------
    sample : DataFrame
    name : str
    bins : int
    share : float
        Share of the train rows that the sample has.

    Returns
    -------
    tuple of float, None or str
        A text says why the column cannot be used.
    """
    values = column(sample, name)
    if holds_times(values):
        return HOLDS_TIMES
    if not holds_numbers(values):
        return None
    ordered = known_numbers(sample, name)
    distinct = int(np.count_nonzero(np.diff(ordered))) + 1 if ordered.size else 0
    if distinct <= max(bins, FEW_VALUES):
        return None
    if looks_like_identifier(ordered, distinct, share):
        return IS_IDENTIFIER
    return quantile_edges(ordered, bins)


def _has_many_values(levels: Levels, bins: int) -> bool:
    """Whether numbers with so many different values are cut into intervals."""
    if isinstance(levels, str):
        return levels == _TOO_MANY
    return len(levels) - (None in levels) > max(bins, FEW_VALUES)


def _levels(train: Blocks, names: Sequence[str]) -> dict[str, Levels]:
    """Rows of each value, over all blocks."""
    merged: dict[str, Levels] = {name: {} for name in names}
    if names:
        for block in train.map_blocks(partial(_levels_of_block, names=tuple(names)), [*names, OUTCOME]):
            merged = {name: _added(merged[name], more) for name, more in block.items()}
    return merged


def _levels_of_block(block: Block, names: Sequence[str]) -> dict[str, Levels]:
    frame, _ = known_rows(block)
    return {name: _levels_of_column(frame, name) for name in names}


def _levels_of_column(frame: pd.DataFrame, name: str) -> Levels:
    levels = counted_levels(frame, name)
    return _NOT_COMPARABLE if levels is None else _few(levels)


def _added(first: Levels, second: Levels) -> Levels:
    if isinstance(first, str) or isinstance(second, str):
        return _NOT_COMPARABLE if _NOT_COMPARABLE in (first, second) else _TOO_MANY
    added = dict(first)
    for level, rows in second.items():
        added[level] = added.get(level, 0) + rows
    return _few(added)


def _few(levels: dict[Level, int]) -> Levels:
    return levels if len(levels) <= MOST_COUNTED else _TOO_MANY


@dataclass(frozen=True)
class _Intervals:
    """Rows of each interval, and at last those where the number is missing; and whether all numbers are whole."""

    rows: NDArray[np.int64]
    whole: bool

    def __add__(self, other: _Intervals) -> _Intervals:
        return _Intervals(self.rows + other.rows, self.whole and other.whole)


def _intervals(train: Blocks, edges: Mapping[str, tuple[float, ...]]) -> dict[str, _Intervals]:
    """The intervals of each column, over all blocks."""
    if not edges:
        return {}
    blocks = train.map_blocks(partial(_intervals_of_block, edges=dict(edges)), [*edges, OUTCOME])
    return reduce(lambda one, other: {name: one[name] + other[name] for name in edges}, blocks)


def _intervals_of_block(block: Block, edges: Mapping[str, tuple[float, ...]]) -> dict[str, _Intervals]:
    frame, _ = known_rows(block)
    return {name: _intervals_of_column(numbers(column(frame, name), name), of) for name, of in edges.items()}


def _intervals_of_column(values: NDArray[np.float64], edges: tuple[float, ...]) -> _Intervals:
    rows = np.bincount(interval_positions(values, edges), minlength=len(edges) + 2)
    return _Intervals(rows, are_whole(values[~np.isnan(values)]))


def _from_intervals(name: str, edges: tuple[float, ...], counted: _Intervals, min_rows: int) -> FittedColumn | str:
    """How a column of numbers is coded, from the rows of its intervals; or why it cannot be used."""
    cells = OrderedColumn(name, edges, counted.whole)
    kept = _kept(counted.rows, min_rows)
    if isinstance(kept, str):
        return kept
    conditions = tuple(cells.condition(np.arange(cells.cells) == cell) for cell in kept)
    items = [kept.index(cell) if cell in kept else len(kept) for cell in range(cells.cells)]
    other_rows = int(counted.rows.sum() - counted.rows[kept].sum())
    return FittedColumn(SlicedColumn(name, "intervals", conditions, other_rows), cells, tuple(items))


def _from_levels(name: str, rows: Levels, max_levels: int, min_rows: int) -> FittedColumn | str:
    """How a column of values is coded, from the rows of each; or why it cannot be used."""
    if rows == _NOT_COMPARABLE:
        return NOT_COMPARABLE
    if isinstance(rows, str) or len(rows) > max_levels:
        values = say("more than {N}", N=words.count(MOST_COUNTED)) if isinstance(rows, str) else words.count(len(rows))
        return say("it has {N} different values, more than {Nmost}: group them", N=values, Nmost=Numeral(max_levels))
    levels = sorted(rows, key=level_order)
    of_levels = np.array([rows[level] for level in levels], dtype=np.int64)
    kept = _kept(of_levels, min_rows)
    if isinstance(kept, str):
        return kept
    cells = LevelsColumn(name, tuple(levels[i] for i in kept), has_others=True)
    conditions = tuple(GroupCondition.of_level(name, level) for level in cells.levels)
    return FittedColumn(SlicedColumn(name, "values", conditions, int(of_levels.sum() - of_levels[kept].sum())), cells)


def _kept(rows: NDArray[np.int64], min_rows: int) -> list[int] | str:
    """Which values or intervals have enough rows, inside and outside; or why none are."""
    if np.count_nonzero(rows) < 2:
        return SAME_VALUE
    kept: list[int] = np.flatnonzero((rows >= min_rows) & (rows <= rows.sum() - min_rows)).tolist()
    return kept or say("no value of it splits the rows into two parts of at least {N}", N=words.count(min_rows))
