"""Summaries of a large table's columns by group of rows, worked out block by block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.inference.summaries import Centring, Moments, Scale, SeenValues, Summary, ValueCounts, look, summarise
from bdt_core.table.audit_table import BIAS_VARIABLE, RANK, AuditTable
from bdt_core.table.ranks import lowest
from bdt_core.table.rows import Rows

Floats = NDArray[np.float64]
Groups = NDArray[np.int64]
How = Floats | Scale
"""How an outcome is summarised: by its values, where they are few, or by sums on a scale."""

MISSING = "(missing)"


@dataclass(frozen=True)
class Drawn:
    """Rows drawn by their hash, in place of a large table's, for what needs single rows."""

    rows: int
    of: int

    @classmethod
    def of_tables(cls, drawn: Sequence[AuditTable], tables: Sequence[Rows]) -> Drawn | None:
        """How many of the audited rows were drawn; None where they are all."""
        return cls.where_fewer(*(sum(one.audited_rows for one in several) for several in (drawn, tables)))

    @classmethod
    def where_fewer(cls, rows: int, of: int) -> Drawn | None:
        """So many of so many; None where they are all."""
        return cls(rows, of) if rows < of else None


@dataclass(frozen=True)
class Groupwise:
    """What a column holds, by group.

    Attributes
    ----------
    numbers : tuple of ValueCounts or of Moments
        Of a numeric column, its missing values left out; one per group.
    missing : tuple of int
        Rows without a value, per group.
    levels : dict of str to ndarray of int64, shape (groups,)
        Of a categorical column: rows of each group that have the level, a missing one being "(missing)".
    """

    numbers: tuple[Summary, ...] = ()
    missing: tuple[int, ...] = ()
    levels: dict[str, Groups] | None = None

    def __add__(self, other: Groupwise) -> Groupwise:
        levels = None
        if self.levels is not None and other.levels is not None:
            levels = {name: counts.copy() for name, counts in self.levels.items()}
            for name, counts in other.levels.items():
                levels[name] = levels[name] + counts if name in levels else counts
        return Groupwise(
            numbers=tuple(plus(one, more) for one, more in zip(self.numbers, other.numbers, strict=True)),
            missing=tuple(one + more for one, more in zip(self.missing, other.missing, strict=True)),
            levels=levels,
        )

    def group(self, chosen: Sequence[int]) -> Summary:
        """The numbers of several groups together; of none, a summary without rows."""
        return reduce(plus, [self.numbers[i] for i in chosen], self.numbers[0].without_rows())


def ways(table: Rows, columns: Sequence[str]) -> dict[str, How]:
    """How numeric columns of the audited rows are to be summarised: by these values, or on this scale."""
    looks = table.map_blocks(partial(_look, columns=tuple(columns)), [*columns, BIAS_VARIABLE])
    seen = {name: reduce(add, [one[name] for one in looks]) for name in columns}
    summarised: dict[str, How] = {name: one.values for name, one in seen.items() if one.values is not None}
    centrings = {name: Centring.of(one) for name, one in seen.items() if one.values is None}
    if centrings:
        counts = table.map_blocks(partial(_count_steps, centrings=centrings), [*centrings, BIAS_VARIABLE])
        summarised |= {name: one.scale(sum(block[name] for block in counts)) for name, one in centrings.items()}
    return summarised


def group_column(column: pd.Series, groups: Groups, n_groups: int, how: How | None) -> Groupwise:
    """Summarise one column of a block: a numeric one in the given way, a categorical one (None) by its levels."""
    if how is None:
        return Groupwise(levels=level_counts(column, groups, n_groups))
    values = numbers(column)
    absent = np.isnan(values)
    missing = np.bincount(groups[absent], minlength=n_groups)
    if absent.any():
        values, groups = values[~absent], groups[~absent]
    return Groupwise(tuple(summarise(values, groups, n_groups, how)), tuple(map(int, missing)))


def level_counts(column: pd.Series, groups: Groups, n_groups: int) -> dict[str, Groups]:
    """Rows of each group with each level that occurs."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, names = column.cat.codes.to_numpy().astype(np.int64), column.cat.categories
    else:
        found_codes, names = pd.factorize(column)
        codes = found_codes.astype(np.int64)
    width = len(names) + 1
    counts = np.bincount(groups * width + codes + 1, minlength=n_groups * width).reshape(n_groups, width)
    counted: dict[str, Groups] = {}
    for name, of_level in zip((MISSING, *map(str, names)), counts.T.astype(np.int64), strict=True):
        if of_level.any():
            counted[name] = counted[name] + of_level if name in counted else of_level
    return counted


def summarise_bias_variable(table: Rows) -> Summary:
    """All values of the bias variable."""
    how = ways(table, [BIAS_VARIABLE])[BIAS_VARIABLE]
    return reduce(plus, table.map_blocks(partial(_bias_variable, how=how), [BIAS_VARIABLE]))


def rests_of(summaries: Sequence[Summary]) -> list[Summary]:
    """Of each of some summaries, what all others have together."""
    before = list(accumulate(summaries, plus))
    behind = list(accumulate(reversed(summaries), plus))[::-1]
    nothing = [one.without_rows() for one in summaries[:1]]
    return [plus(one, other) for one, other in zip([*nothing, *before[:-1]], [*behind[1:], *nothing], strict=True)]


def mean_and_sd(summary: Summary) -> tuple[float, float]:
    """Mean and standard deviation (ddof 1; 0 for a single row), in the values' own units."""
    return summary.mean, math.sqrt(summary.mean_and_variance()[1]) * summary.unit


def audited(block: AuditTable, name: str) -> pd.Series:
    """A column of the audited rows, without a copy of the other columns."""
    kept = block.frame[BIAS_VARIABLE].notna().to_numpy()
    column = block.frame[name]
    return column if kept.all() else column[kept]


def numbers(column: pd.Series) -> Floats:
    """A numeric column as float64, NaN where missing."""
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy(dtype=np.float64)
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def rows_at_hand(table: Rows) -> AuditTable:
    """All rows; of a large table ``large_rows`` at most, drawn by their hash and in its order wherever they are."""
    if not table.is_large:
        return table.in_memory()
    sample = table.sample(table.spec.large_rows)
    if RANK not in sample.frame.columns:
        return sample
    order = lowest(sample.frame[RANK].to_numpy(), len(sample.frame))
    return replace(sample, frame=sample.frame.take(order).reset_index(drop=True))


def _look(block: AuditTable, columns: tuple[str, ...]) -> dict[str, SeenValues]:
    return {name: look(_known(block, name)) for name in columns}


def _count_steps(block: AuditTable, centrings: dict[str, Centring]) -> dict[str, int]:
    return {name: one.count(_known(block, name)) for name, one in centrings.items()}


def _bias_variable(block: AuditTable, how: How) -> Summary:
    y = block.y
    return summarise(y, np.zeros(len(y), dtype=np.int64), 1, how)[0]


def _known(block: AuditTable, name: str) -> Floats:
    values = numbers(audited(block, name))
    absent = np.isnan(values)
    return values[~absent] if absent.any() else values


def plus(summary: Summary, other: Summary) -> Summary:
    """The summary of the rows of both, which are of one column."""
    if isinstance(summary, ValueCounts) and isinstance(other, ValueCounts):
        return summary + other
    if isinstance(summary, Moments) and isinstance(other, Moments):
        return summary + other
    raise TypeError("Summaries of one column are of one kind.")
