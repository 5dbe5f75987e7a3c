"""Columns become conditions: values as they are, numbers cut at quantiles of the train rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Level, code_column, column, level_order, numbers

MOST_LEVELS = 250
"""Codes are single bytes."""
FEW_VALUES = 10
"""Numbers with no more distinct values than this, or than bins, are not binned."""
_FEWEST_FOR_IDENTIFIER = 50
_SLACK = 0.1


@dataclass(frozen=True)
class Condition:
    """What holds for one column of a slice.

    Attributes
    ----------
    column : str
    text : str
        Readable, such as "sex = f", "25 < age <= 40" or "income is missing".
    kind : {"value", "interval", "missing"}
    value : bool, int, float, str or None
        Of a value.
    low, high : float or None
        Of an interval: strictly above `low`, up to and with `high`; None is no bound.
    """

    column: str
    text: str
    kind: Literal["value", "interval", "missing"]
    value: Level = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class SlicedColumn:
    """A column that the search uses.

    Attributes
    ----------
    name : str
    kind : {"values", "intervals"}
    conditions : tuple of Condition
        Those that hold for enough train rows.
    other_rows : int
        Train rows for which none of them holds.
    """

    name: str
    kind: Literal["values", "intervals"]
    conditions: tuple[Condition, ...]
    other_rows: int


@dataclass(frozen=True)
class ExcludedColumn:
    """A column that the search cannot use, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class FittedColumn:
    """How one column of any table is coded."""

    sliced: SlicedColumn
    edges: tuple[float, ...]
    """Of intervals; an interval reaches up to and with its edge."""
    code_of: dict[Any, int]
    """Code per level, or per position of an interval; None is "missing"."""

    def codes(self, frame: pd.DataFrame) -> NDArray[np.uint8]:
        """Code per row; a level without a condition has the code that follows the last one."""
        if self.sliced.kind == "values":
            coded = code_column(frame, self.sliced.name)
            keys, positions = list(coded.levels), coded.codes
        else:
            keys = [*range(len(self.edges) + 1), None]
            positions = interval_positions(_numbers(frame, self.sliced.name), self.edges)
        other = len(self.sliced.conditions)
        table = np.array([self.code_of.get(one, other) for one in keys] or [other], dtype=np.uint8)
        codes: NDArray[np.uint8] = table[positions]
        return codes


def fit_columns(
    train: pd.DataFrame, names: Sequence[str], *, bins: int, max_levels: int, min_rows: int
) -> tuple[list[FittedColumn], list[ExcludedColumn]]:
    """Find the conditions of each column on the train rows.

    Parameters
    ----------
    train : DataFrame
    names : sequence
        Columns of it.
    bins : int
        Intervals of a number with many values, of about equally many rows.
    max_levels : int
        Columns with more values are excluded.
    min_rows : int
        Rows for which a condition must hold, and rows for which it must not.

    Returns
    -------
    fitted : list of FittedColumn
    excluded : list of ExcludedColumn
    """
    fitted, excluded = [], []
    for name in names:
        one = _fit(train, name, bins, max_levels, min_rows)
        if isinstance(one, str):
            excluded.append(ExcludedColumn(name, one))
        else:
            fitted.append(one)
    return fitted, excluded


def quantile_edges(ordered: NDArray[np.float64], bins: int) -> tuple[float, ...]:
    """Cut sorted numbers into intervals of about equally many rows, at edges that are easy to read.

    An edge is the roundest number among those that split the rows within a tenth of a bin of the wanted share.

    Examples
    --------
    >>> quantile_edges(np.arange(18.0, 83.0, 0.01), 5)
    (30.0, 45.0, 57.0, 70.0)
    """
    edges = set()
    for i in range(1, bins):
        low, high = (
            float(np.quantile(ordered, (i + slack) / bins, method="inverted_cdf")) for slack in (-_SLACK, _SLACK)
        )
        edge = roundest(low, high)
        if ordered[0] <= edge < ordered[-1]:
            edges.add(edge)
    return tuple(sorted(edges))


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits in [low, high]; of several the one nearest to the middle.

    Examples
    --------
    >>> roundest(23.1, 26.4), roundest(0.123, 0.129), roundest(3.0, 3.0)
    (25.0, 0.125, 3.0)
    """
    if low == high:
        return low
    middle = low + 0.5 * (high - low)
    exponent = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(exponent, exponent - 17, -1):
        for multiple in (5, 2.5, 1) if power < 0 else (5, 1):
            step = multiple * 10.0**power
            candidate = float(f"{round(middle / step) * step:.15g}")
            if low <= candidate <= high:
                return candidate
    return middle


def interval_positions(values: NDArray[np.float64], edges: Sequence[float]) -> NDArray[np.uint8]:
    """Number of edges strictly below each value; the number of edges plus one where it is missing."""
    position = np.zeros(values.size, dtype=np.uint8)
    for edge in edges:
        position += values > edge
    position[np.isnan(values)] = len(edges) + 1
    return position


def _fit(frame: pd.DataFrame, name: str, bins: int, max_levels: int, min_rows: int) -> FittedColumn | str:
    """How a column is coded, or why it cannot be used."""
    series = column(frame, name)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        return "it holds dates or times: turn them into a number, such as an age in years"
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        values = _numbers(frame, name)
        ordered = np.sort(values[~np.isnan(values)])
        distinct = _distinct(ordered)
        if distinct > max(bins, FEW_VALUES):
            if _looks_like_identifier(ordered, distinct):
                return "every row has a whole number of its own, as identifiers have"
            return _fit_intervals(name, values, quantile_edges(ordered, bins), min_rows)
    return _fit_values(frame, name, max_levels, min_rows)


def _fit_intervals(
    name: str, values: NDArray[np.float64], edges: tuple[float, ...], min_rows: int
) -> FittedColumn | str:
    rows = np.bincount(interval_positions(values, edges), minlength=len(edges) + 2)
    bounds = [None, *edges, None]
    candidates: list[tuple[Any, Condition, int]] = []
    for i in range(len(edges) + 1):
        text = interval_text(name, bounds[i], bounds[i + 1])
        candidates.append((i, Condition(name, text, "interval", None, bounds[i], bounds[i + 1]), int(rows[i])))
    candidates.append((None, Condition(name, f"{name} is missing", "missing"), int(rows[-1])))
    return _fitted(name, "intervals", edges, candidates, values.size, min_rows)


def _fit_values(frame: pd.DataFrame, name: str, max_levels: int, min_rows: int) -> FittedColumn | str:
    try:
        coded = code_column(frame, name)
    except DataError:
        return "it holds values that cannot be compared, such as lists"
    rows = np.bincount(coded.codes, minlength=len(coded.levels))
    occurring = [i for i in range(len(coded.levels)) if rows[i] > 0]
    if len(occurring) > max_levels:
        return f"it has {len(occurring):,} different values, more than {max_levels}: group them"
    candidates = []
    for i in sorted(occurring, key=lambda i: level_order(coded.levels[i])):
        level = coded.levels[i]
        kind: Literal["value", "missing"] = "missing" if level is None else "value"
        text = f"{name} is missing" if level is None else f"{name} = {_level_text(level)}"
        candidates.append((level, Condition(name, text, kind, level), int(rows[i])))
    return _fitted(name, "values", (), candidates, len(frame), min_rows)


def _fitted(
    name: str,
    kind: Literal["values", "intervals"],
    edges: tuple[float, ...],
    candidates: Sequence[tuple[Any, Condition, int]],
    total: int,
    min_rows: int,
) -> FittedColumn | str:
    if sum(rows > 0 for *_, rows in candidates) < 2:
        return "every row has the same value"
    kept = [one for one in candidates if min_rows <= one[2] <= total - min_rows]
    if not kept:
        return f"no value of it splits the rows into two parts of at least {min_rows:,}"
    sliced = SlicedColumn(name, kind, tuple(one for _, one, _ in kept), total - sum(rows for *_, rows in kept))
    return FittedColumn(sliced, edges, {level: i for i, (level, _, _) in enumerate(kept)})


def interval_text(name: str, low: float | None, high: float | None) -> str:
    """An interval in words.

    Examples
    --------
    >>> interval_text("age", None, 25.0), interval_text("age", 25.0, 40.0), interval_text("age", 40.0, None)
    ('age <= 25', '25 < age <= 40', 'age > 40')
    """
    if high is None:
        return f"{name} > {low:.12g}"
    return f"{name} <= {high:.12g}" if low is None else f"{low:.12g} < {name} <= {high:.12g}"


def _level_text(level: Level) -> str:
    return f"{level:.12g}" if isinstance(level, float) else str(level)


def _numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    return numbers(column(frame, name), name)


def _distinct(ordered: NDArray[np.float64]) -> int:
    return int(np.count_nonzero(np.diff(ordered))) + 1 if ordered.size else 0


def _looks_like_identifier(ordered: NDArray[np.float64], distinct: int) -> bool:
    """Whether numbers are whole, all different and close together, like row numbers."""
    if distinct < max(ordered.size, _FEWEST_FOR_IDENTIFIER) or not np.isfinite([ordered[0], ordered[-1]]).all():
        return False
    return bool(ordered[-1] - ordered[0] < 10 * distinct and (ordered == np.floor(ordered)).all())
