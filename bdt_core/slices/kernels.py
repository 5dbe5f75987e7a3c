"""The compiled loops of the slice search, serial and free of the interpreter lock.

Each has a NumPy twin in the tests that it must equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

CHUNK = 2048
"""Rows per chunk: their cells stay in the first-level cache."""

Array = np.ndarray[Any, Any]

compiled = njit(nogil=True, cache=True)
inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


@compiled  # type: ignore[untyped-decorator]
def joint_counts(groups: Array, chosen: Array, strides: Array, outcome: Array, counts: Array) -> None:
    """Count rows over the cells of some groups of columns and an outcome.

    Parameters
    ----------
    groups : unsigned array of shape (groups, n)
    chosen, strides : int64 arrays of shape (k,)
        Which groups, and how far apart in `counts` neighbouring codes of each lie.
    outcome : uint8 array of shape (n,)
        The stride of the outcome is 1.
    counts : int32 array of shape (cells,)
        Added to in place.
    """
    cell = np.empty(CHUNK, np.int32)
    for first in range(0, outcome.size, CHUNK):
        part = outcome[first : first + CHUNK]
        for i in range(part.size):
            cell[i] = part[i]
        _add_strides(groups, chosen, strides, first, cell[: part.size])
        for i in range(part.size):
            counts[cell[i]] += 1


@compiled  # type: ignore[untyped-decorator]
def joint_moments(groups: Array, chosen: Array, strides: Array, values: Array, moments: Array) -> None:
    """Add up 1, the value and its square over the cells of some groups of columns, row after row.

    Parameters
    ----------
    groups, chosen, strides
        As in `joint_counts`.
    values : float64 array of shape (n,)
    moments : float64 array of shape (cells, 3)
        Added to in place.
    """
    cell = np.empty(CHUNK, np.int32)
    for first in range(0, values.size, CHUNK):
        part = values[first : first + CHUNK]
        for i in range(part.size):
            cell[i] = 0
        _add_strides(groups, chosen, strides, first, cell[: part.size])
        for i in range(part.size):
            sums = moments[cell[i]]
            sums[0] += 1.0
            sums[1] += part[i]
            sums[2] += part[i] * part[i]


@compiled  # type: ignore[untyped-decorator]
def joint_steps(groups: Array, chosen: Array, strides: Array, values: Array, power: float, steps: Array) -> None:
    """Add up 1, the value and its square over the cells of some groups of columns, in whole numbers.

    Value and square are each rounded to whole steps of 1 / power, and what is left to whole steps of 1 / power**2, so
    that the sums do not depend on the order of the rows.

    Parameters
    ----------
    groups, chosen, strides
        As in `joint_counts`.
    values : float64 array of shape (n,)
        From -1 to 1.
    power : float
        A power of two, at most 2**62 / n.
    steps : int64 array of shape (cells, 5)
        Rows, then steps and what is left of values, then of squares. Added to in place.
    """
    cell = np.empty(CHUNK, np.int32)
    for first in range(0, values.size, CHUNK):
        part = values[first : first + CHUNK]
        for i in range(part.size):
            cell[i] = 0
        _add_strides(groups, chosen, strides, first, cell[: part.size])
        for i in range(part.size):
            sums = steps[cell[i]]
            sums[0] += 1
            x = part[i]
            for j in (1, 3):
                whole = np.rint(x * power)
                sums[j] += np.int64(whole)
                sums[j + 1] += np.int64(np.rint((x * power - whole) * power))
                x = x * x


@inner  # type: ignore[untyped-decorator]
def _add_strides(groups: Array, chosen: Array, strides: Array, first: int, cell: Array) -> None:
    for j in range(chosen.size):
        code = groups[chosen[j]][first : first + cell.size]
        stride = np.int32(strides[j])
        for i in range(cell.size):
            cell[i] += stride * np.int32(code[i])


@compiled  # type: ignore[untyped-decorator]
def in_slice(codes: Array, columns: Array, levels: Array, inside: Array) -> None:
    """Mark the rows that meet all conditions of one slice.

    Parameters
    ----------
    codes : uint8 array of shape (columns, n)
    columns, levels : int64 arrays of shape (conditions,)
    inside : bool array of shape (n,)
        Written to.
    """
    for i in range(inside.size):
        inside[i] = True
    for j in range(columns.size):
        code = codes[columns[j]]
        level = np.uint8(levels[j])
        for i in range(inside.size):
            inside[i] &= code[i] == level
