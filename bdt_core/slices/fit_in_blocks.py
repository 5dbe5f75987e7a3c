"""Columns of a large table become conditions: which values there are is counted block by block.

Quantiles cannot be added up, so numbers are cut at those of a sample; how many rows each interval has is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import Level
from bdt_core.slices.chosen import known_outcome
from bdt_core.slices.columns import (
    ExcludedColumn,
    FittedColumn,
    cut,
    from_intervals,
    from_levels,
    has_many_values,
    interval_counts,
    is_number,
    known_numbers,
    level_counts,
    quantile_edges,
    too_many,
)
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.rows import Rows

MOST_COUNTED = 65_536
"""More different values than these are not told apart: no column with so many is searched value by value."""

Levels = dict[Level, int] | str
"""Rows of each value; or why they were not counted."""
_TOO_MANY, _NOT_COMPARABLE = "too many", "not comparable"


def fit_columns_in_blocks(
    train: Rows,
    sample: pd.DataFrame,
    names: Sequence[str],
    *,
    rows: int,
    bins: int,
    max_levels: int,
    min_rows: int,
) -> tuple[list[FittedColumn], list[ExcludedColumn]]:
    """Find the conditions of each column on the train rows of a large table.

    Parameters
    ----------
    train : Rows
    sample : DataFrame
        Rows of it that have a bias variable; numbers are cut at their quantiles.
    names : sequence of str
    rows : int
        Train rows with a bias variable.
    bins, max_levels, min_rows
        As in `fit_columns`, which gives the same when the sample holds all rows.

    Returns
    -------
    fitted : list of FittedColumn
    excluded : list of ExcludedColumn
    """
    cuts = {name: cut(sample, name, bins, share=len(sample) / rows) for name in names}
    uncut = [name for name in names if cuts[name] is None]
    levels = _levels(train, uncut)
    for name in uncut:
        if is_number(sample, name) and _has_many_values(levels[name], bins):  # the sample has not shown them all
            cuts[name] = quantile_edges(known_numbers(sample, name), bins)
    edges = {name: one for name, one in cuts.items() if isinstance(one, tuple) and one}
    intervals = _intervals(train, edges)
    fitted, excluded = [], []
    for name in names:
        if name in edges:
            one = from_intervals(name, edges[name], intervals[name], min_rows)
        elif isinstance(cuts[name], str):
            one = str(cuts[name])
        elif cuts[name] is not None:
            one = "nearly every row has the same value"
        else:
            one = _from_levels(name, levels[name], max_levels, min_rows)
        if isinstance(one, str):
            excluded.append(ExcludedColumn(name, one))
        else:
            fitted.append(one)
    return fitted, excluded


def _from_levels(name: str, levels: Levels, max_levels: int, min_rows: int) -> FittedColumn | str:
    if levels == _TOO_MANY:
        return too_many(f"more than {MOST_COUNTED:,}", max_levels)
    return from_levels(name, levels if isinstance(levels, dict) else None, max_levels, min_rows)


def _has_many_values(levels: Levels, bins: int) -> bool:
    if isinstance(levels, str):
        return levels == _TOO_MANY
    return has_many_values(len(levels) - (None in levels), bins)


def _levels(train: Rows, names: Sequence[str]) -> dict[str, Levels]:
    """Rows of each value, over all blocks."""
    if not names:
        return {}
    merged: dict[str, Levels] = {name: {} for name in names}
    for block in train.map_blocks(partial(_levels_of_block, names=tuple(names))):
        for name, more in block.items():
            merged[name] = _added(merged[name], more)
    return merged


def _levels_of_block(table: AuditTable, names: Sequence[str]) -> dict[str, Levels]:
    frame = _known(table)
    found: dict[str, Levels] = {}
    for name in names:
        levels = level_counts(frame, name)
        found[name] = _NOT_COMPARABLE if levels is None else levels if len(levels) <= MOST_COUNTED else _TOO_MANY
    return found


def _added(first: Levels, second: Levels) -> Levels:
    if isinstance(first, str) or isinstance(second, str):
        return _NOT_COMPARABLE if _NOT_COMPARABLE in (first, second) else _TOO_MANY
    added = dict(first)
    for level, rows in second.items():
        added[level] = added.get(level, 0) + rows
    return added if len(added) <= MOST_COUNTED else _TOO_MANY


def _intervals(train: Rows, edges: Mapping[str, tuple[float, ...]]) -> dict[str, NDArray[np.int64]]:
    """Rows of each interval, over all blocks."""
    if not edges:
        return {}
    blocks = train.map_blocks(partial(_intervals_of_block, edges=dict(edges)))
    return {name: np.sum([one[name] for one in blocks], axis=0) for name in edges}


def _intervals_of_block(table: AuditTable, edges: Mapping[str, tuple[float, ...]]) -> dict[str, NDArray[np.int64]]:
    frame = _known(table)
    return {name: interval_counts(frame, name, of) for name, of in edges.items()}


def _known(table: AuditTable) -> pd.DataFrame:
    known = known_outcome(table)[1]
    return table.frame if known.all() else table.frame[known]
