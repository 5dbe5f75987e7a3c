"""Conditions on columns: what each says in words, and for which rows it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.coding import Level, Threshold, code_column, column, is_among, numbers
from bdt_core.said import say


@dataclass(frozen=True)
class GroupCondition:
    """A set of values of one column.

    Attributes
    ----------
    column : str
    kind : {"interval", "values", "missing"}
    low, high : float or None
        Of an interval: strictly above `low`, up to and with `high`; None is no bound.
    whole : bool
        Of an interval: whether all numbers of the column are whole.
    values : tuple of bool, int, float or str
        Of a set.
    excluded : bool
        Of a set: all values but these.
    missing : bool
        Whether rows without a value are in it, too; of "missing", whether they alone are, or all others.
    """

    column: str
    kind: Literal["interval", "values", "missing"]
    low: float | None = None
    high: float | None = None
    whole: bool = False
    values: tuple[Level, ...] = ()
    excluded: bool = False
    missing: bool = False

    @classmethod
    def of_level(cls, column: str, level: Level, cut: Threshold | None = None) -> GroupCondition:
        """That a column has a level: a value, None for "missing", or a side of a cut."""
        if level is None:
            return cls(column, "missing", missing=True)
        if cut is None:
            return cls(column, "values", values=(level,))
        return cls(column, "interval", low=cut.value) if level == cut.above else cls(column, "interval", high=cut.value)

    def holds(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows of a table meet it."""
        if self.kind == "missing":
            missing: NDArray[np.bool_] = column(frame, self.column).isna().to_numpy(dtype=bool)
            return missing if self.missing else ~missing
        if self.kind == "interval":
            of_rows = numbers(column(frame, self.column), self.column)
            inside = ~np.isnan(of_rows) if self.low is None else of_rows > self.low  # which no missing one is
            if self.high is not None:
                inside &= of_rows <= self.high
            return inside | np.isnan(of_rows) if self.missing else inside
        return code_column(frame, self.column).rows_with(self._holds_for)

    def _holds_for(self, level: Level) -> bool:
        if level is None:
            return self.missing
        return is_among(level, self.values) != self.excluded

    @property
    def words(self) -> str:
        """Readable, such as "age 26 to 40", "city is a, b or c" or "income is missing"."""
        if self.kind == "missing":
            return words.value_condition(self.column, None, negated=not self.missing)
        if self.kind == "interval":
            known = words.interval_condition(self.column, self.low, self.high, whole=self.whole)
            return say("{condition} or missing", condition=known) if self.missing else known
        named = self.missing != self.excluded  # "missing" stands in the list of what the column is, or is not
        return words.value_condition(self.column, *self.values, *([None] if named else []), negated=self.excluded)


def members(frame: pd.DataFrame, conditions: Sequence[GroupCondition]) -> NDArray[np.bool_]:
    """Which rows of a table meet all of some conditions."""
    inside = np.ones(len(frame), dtype=bool)
    for condition in conditions:
        inside &= condition.holds(frame)
    return inside
