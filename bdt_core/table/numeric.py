"""Numeric columns: their mean and spread, and their values on a grid on which sums are exact."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.errors import DataError
from bdt_core.inference.exact_sums import Span, mean_and_std_within
from bdt_core.table.pool import mapped, width_for

Floats = npt.NDArray[np.float64]

_LARGEST = 1e140
"""Numbers beyond this cannot be squared in float64."""

_FARTHEST = 1e18
"""The square of a distance must fit into float32."""

_TOGETHER = 4
"""Columns read at a time: tables by rows are read as often as there are such groups, not once per column."""

_PART = 1 << 13
"""Rows read at a time, so few that what lies between two values of a column stays in a cache."""


@dataclass(frozen=True)
class NumericColumn:
    """A number, and how it is standardised.

    Attributes
    ----------
    name : str
    mean, std : float
        Of the training rows that have a value, in the column's own units (ddof 0). ``std`` is 0 for a constant
        column, which is encoded as 0 everywhere and so has no weight.
    missing : float or None
        Share of training rows without a value; None when none was missing, and then there is no flag column.
    """

    name: str
    mean: float
    std: float
    missing: float | None = None


@dataclass(frozen=True)
class Numbers:
    """The values of a column.

    Attributes
    ----------
    name : str
    values : float64 ndarray of shape (n,)
        NaN where missing.
    low, high : float
        The smallest and the largest; NaN when all are missing.
    missing : bool
        Whether any is.
    """

    name: str
    values: Floats
    low: float
    high: float
    missing: bool

    @property
    def known(self) -> Floats:
        """The values that are not missing."""
        return self.values[~np.isnan(self.values)] if self.missing else self.values

    @property
    def span(self) -> Span:
        """How many are known, the smallest and the largest; adding 0 turns -0 into 0."""
        known = len(self.known)
        return Span(known, self.low + 0.0, self.high + 0.0) if known else Span()


def numbers_in_turn(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[Numbers]:
    """One column after the other; see `numbers_together`."""
    for group in numbers_together(frame, names):
        yield from group


def numbers_together(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[list[Numbers]]:
    """A few columns after the other, in place where they can be; memory that copies take serves later columns again.

    Raises
    ------
    DataError
        When a column holds something else than numbers, or numbers too large to square.
    """
    rows = len(frame)
    memory = np.empty((min(len(names), _TOGETHER), rows))
    for first in range(0, len(names), _TOGETHER):
        group = names[first : first + _TOGETHER]
        sources = [_readable(frame[name]) for name in group]
        values = [_in_place(source) for source in sources]
        copied = [(memory[place], source) for place, source in enumerate(sources) if values[place] is None]
        for start in range(0, rows, _PART) if copied else ():
            part = slice(start, start + _PART)
            for copy, source in copied:
                copy[part] = source[part]
        measured = [memory[place] if one is None else one for place, one in enumerate(values)]
        yield mapped(lambda one: _measured(*one), list(zip(group, measured, strict=True)), width_for(rows))


def fit_numbers(numbers: Numbers, centre: bool) -> NumericColumn:
    """Mean and spread of a column; see `bdt_core.table.encoding.Encoder` for ``centre``."""
    if not centre:
        return NumericColumn(numbers.name, 0.0, 1.0)
    known, rows = numbers.known, len(numbers.values)
    return numeric_column(numbers.name, mean_and_std_within(known, numbers.span), len(known), rows)


def numeric_column(name: str, mean_and_std: tuple[float, float], known: int, rows: int) -> NumericColumn:
    """A column of which so many values are known."""
    return NumericColumn(name, *mean_and_std, (rows - known) / rows if known < rows else None)


def encode_numbers(
    column: NumericColumn, numbers: Numbers, out: npt.NDArray[Any], *, rows: int, scale: bool, centre: bool
) -> None:
    """Write the encoded values to ``out[0]`` and, where the column has one, the flag of missing ones to ``out[1]``.

    Raises
    ------
    DataError
        When values are missing and must not be, or are too far from the mean.
    """
    from bdt_core.inference.sum_kernels import standardise

    if not centre:
        if numbers.missing:
            raise DataError(
                f'Column "{column.name}" has missing values, which the reference engine cannot use. '
                'Fill or drop them, or use engine="bdt".'
            )
        out[0] = numbers.values
        return
    if column.std == 0.0:
        out[0] = 0.0
    else:
        divisor = column.std if scale else 1.0
        if max(numbers.high - column.mean, column.mean - numbers.low) / divisor > _FARTHEST:
            raise DataError(
                f'Column "{column.name}" has values too far from its mean to compute distances with. '
                "Remove the outliers, take logarithms, or keep scale=True."
            )
        standardise(numbers.values, column.mean, divisor, *_steps(column.std / divisor, rows), out[0])
    if column.missing is None:
        return
    spread = math.sqrt(column.missing * (1.0 - column.missing))
    if spread == 0.0:
        out[1] = 0.0
    else:
        divisor = spread if scale else 1.0
        absent = np.isnan(numbers.values).astype(np.float64)
        standardise(absent, column.missing, divisor, *_steps(spread / divisor, rows), out[1])


def _steps(std: float, rows: int) -> tuple[float, float]:
    """What to multiply by so that steps of the grid are whole numbers, and its inverse."""
    # n rows of standard deviation s have |values| summing to at most n s, so with steps of
    # s n 2**-50 a sum is below 2**50 steps and exact in the 53 bits of float64.
    exponent = math.frexp(std)[1] + math.frexp(max(rows, 1))[1] - 50
    return math.ldexp(1.0, -exponent), math.ldexp(1.0, exponent)


def _readable(column: pd.Series[Any]) -> npt.NDArray[Any]:
    """The column as an array of numbers, in place where it is one."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy()
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(
            f'Column "{column.name}" was expected to hold numbers, but has other values. '
            "Make it numeric, or declare it categorical."
        ) from None


def _in_place(source: npt.NDArray[Any]) -> Floats | None:
    """The values where they are, for compiled loops, which read them only; None where a copy is needed."""
    if source.dtype != np.float64 or not source.flags.c_contiguous or not source.flags.aligned:
        return None
    values = source.view()
    try:
        values.setflags(write=True)  # the loops are compiled for such arrays
    except ValueError:
        return None
    return values


def _measured(name: str, values: Floats) -> Numbers:
    low, high = float(values.min()), float(values.max())
    missing = math.isnan(low)
    if missing:
        low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    largest = max(-low, high)
    if largest > _LARGEST:
        what = "inf" if math.isinf(largest) else "values beyond 1e140"
        raise DataError(
            f'Column "{name}" contains {what}, with which no distance can be computed. '
            "Replace them by a number, or leave them empty (missing)."
        )
    return Numbers(name, values, low, high, missing)
