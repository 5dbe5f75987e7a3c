"""What holds for the people of a group, one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import Level, code_column, column, numbers


@dataclass(frozen=True)
class GroupCondition:
    """A set of values of one column.

    Attributes
    ----------
    column : str
    kind : {"interval", "values", "missing"}
    low, high : float or None
        Of an interval: strictly above `low`, up to and with `high`; None is no bound. Both are values that occur.
    first, last : float or None
        Of an interval: the smallest and the largest value that occurs within its bounds.
    values : tuple of bool, int, float or str
        Of a set.
    excluded : bool
        Of a set: all values but these.
    missing : bool
        Whether rows without a value are in it, too.
    """

    column: str
    kind: Literal["interval", "values", "missing"]
    low: float | None = None
    high: float | None = None
    first: float | None = None
    last: float | None = None
    values: tuple[Level, ...] = ()
    excluded: bool = False
    missing: bool = False

    def holds(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows of a table meet it."""
        if self.kind == "interval":
            of_rows = numbers(column(frame, self.column), self.column)
            inside = ~np.isnan(of_rows)
            if self.low is not None:
                inside &= of_rows > self.low
            if self.high is not None:
                inside &= of_rows <= self.high
            return inside | np.isnan(of_rows) if self.missing else inside
        coded = code_column(frame, self.column)
        of_level = [self._holds_for(level) for level in coded.levels]
        return np.array(of_level or [False], dtype=bool)[coded.codes]

    def _holds_for(self, level: Level) -> bool:
        if level is None:
            return self.missing
        return self.kind == "values" and (level in self.values) != self.excluded

    @property
    def words(self) -> str:
        """Readable, such as "age 26 to 40", "city is a, b or c" or "income is missing"."""
        if self.kind == "missing":
            return f"{self.column} is {'missing' if self.missing else 'not missing'}"
        known = self._interval_words() if self.kind == "interval" else self._set_words()
        return f"{known} or missing" if self.missing else known

    def _interval_words(self) -> str:
        if self.low is None:
            return f"{self.column} {_written(self.last)} or less"
        if self.high is None:
            return f"{self.column} {_written(self.first)} or more"
        if self.first == self.last:
            return f"{self.column} is {_written(self.first)}"
        return f"{self.column} {_written(self.first)} to {_written(self.last)}"

    def _set_words(self) -> str:
        names = [_written(one) for one in self.values]
        joined = (
            names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {'and' if self.excluded else 'or'} {names[-1]}"
        )
        return f"{self.column} is {'not ' if self.excluded else ''}{joined}"


def group_words(conditions: Sequence[GroupCondition]) -> str:
    """The conditions of a group, joined by "and"."""
    return " and ".join(one.words for one in conditions)


def _written(value: Level) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
