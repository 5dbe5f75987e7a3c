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

    An edge is the roundest number among those that split the rows within a tenth of a bin of the wanted share. Where
    nearly all rows have the largest number, the one below it is the only edge; there is none where all have it.

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
    if not edges:
        edges.update(ordered[ordered < ordered[-1:]][-1:].tolist())
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


def cut(frame: pd.DataFrame, name: str, bins: int, *, share: float = 1.0) -> tuple[float, ...] | str | None:
    """Edges of a column of numbers with many values; None when its values are conditions as they are.

    Parameters
    ----------
    frame : DataFrame
        The train rows, or a sample of them.
    name : str
    bins : int
    share : float
        Share of the train rows that the sample has.

    Returns
    -------
    tuple of float, None or str
        A text says why the column cannot be used.
    """
    series = column(frame, name)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or pd.api.types.is_timedelta64_dtype(series.dtype):
        return "it holds dates or times: turn them into a number, such as an age in years"
    if not is_number(frame, name):
        return None
    ordered = known_numbers(frame, name)
    distinct = _distinct(ordered)
    if not has_many_values(distinct, bins):
        return None
    if _looks_like_identifier(ordered, distinct, share):
        return "every row has a whole number of its own, as identifiers have"
    return quantile_edges(ordered, bins)


def is_number(frame: pd.DataFrame, name: str) -> bool:
    """Whether a column holds numbers, truth values not counted."""
    dtype = column(frame, name).dtype
    return bool(pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype))


def has_many_values(distinct: int, bins: int) -> bool:
    """Whether numbers with so many different values are cut into intervals."""
    return distinct > max(bins, FEW_VALUES)


def known_numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """The numbers of a column, sorted, without those that are missing."""
    values = _numbers(frame, name)
    return np.sort(values[~np.isnan(values)])


def level_counts(frame: pd.DataFrame, name: str) -> dict[Level, int] | None:
    """Rows of each value that occurs; None where values cannot be compared."""
    try:
        coded = code_column(frame, name)
    except DataError:
        return None
    rows = np.bincount(coded.codes, minlength=len(coded.levels)).tolist()
    return {level: n for level, n in zip(coded.levels, rows, strict=True) if n}


def interval_counts(frame: pd.DataFrame, name: str, edges: Sequence[float]) -> NDArray[np.int64]:
    """Rows of each interval, and at last those where the number is missing."""
    return np.bincount(interval_positions(_numbers(frame, name), edges), minlength=len(edges) + 2)


def from_intervals(name: str, edges: tuple[float, ...], rows: NDArray[Any], min_rows: int) -> FittedColumn | str:
    """How a column of numbers is coded, from the rows of its intervals; or why it cannot be used."""
    bounds = [None, *edges, None]
    candidates: list[tuple[Any, Condition, int]] = []
    for i in range(len(edges) + 1):
        text = interval_text(name, bounds[i], bounds[i + 1])
        candidates.append((i, Condition(name, text, "interval", None, bounds[i], bounds[i + 1]), int(rows[i])))
    candidates.append((None, Condition(name, f"{name} is missing", "missing"), int(rows[-1])))
    return _fitted(name, "intervals", edges, candidates, int(rows.sum()), min_rows)


def from_levels(name: str, rows: dict[Level, int] | None, max_levels: int, min_rows: int) -> FittedColumn | str:
    """How a column of values is coded, from the rows of each; or why it cannot be used."""
    if rows is None:
        return "it holds values that cannot be compared, such as lists"
    if len(rows) > max_levels:
        return too_many(f"{len(rows):,}", max_levels)
    candidates: list[tuple[Any, Condition, int]] = []
    for level in sorted(rows, key=level_order):
        kind: Literal["value", "missing"] = "missing" if level is None else "value"
        text = f"{name} is missing" if level is None else f"{name} = {_level_text(level)}"
        candidates.append((level, Condition(name, text, kind, level), rows[level]))
    return _fitted(name, "values", (), candidates, sum(rows.values()), min_rows)


def too_many(values: str, max_levels: int) -> str:
    """Why a column with so many values cannot be used."""
    return f"it has {values} different values, more than {max_levels}: group them"


def _fit(frame: pd.DataFrame, name: str, bins: int, max_levels: int, min_rows: int) -> FittedColumn | str:
    """How a column is coded, or why it cannot be used."""
    edges = cut(frame, name, bins)
    if isinstance(edges, str):
        return edges
    if edges is None:
        return from_levels(name, level_counts(frame, name), max_levels, min_rows)
    return from_intervals(name, edges, interval_counts(frame, name, edges), min_rows)


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


def _looks_like_identifier(ordered: NDArray[np.float64], distinct: int, share: float) -> bool:
    """Whether numbers are whole, all different and close together, like row numbers."""
    if distinct < max(ordered.size, _FEWEST_FOR_IDENTIFIER) or not np.isfinite([ordered[0], ordered[-1]]).all():
        return False
    close = (ordered[-1] - ordered[0]) * share < 10 * distinct
    return bool(close and (ordered == np.floor(ordered)).all())
