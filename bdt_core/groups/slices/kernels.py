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

compiled = njit(nogil=True, cache=True, no_cfunc_wrapper=True)
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
def joint_sums(groups: Array, chosen: Array, strides: Array, numbers: Array, sums: Array) -> None:
    """Count rows and add up some numbers over the cells of some groups of columns.

    Parameters
    ----------
    groups, chosen, strides
        As in `joint_counts`, for cells.
    numbers : int32 array of shape (n, 4)
    sums : int64 array of shape (cells, 5)
        Rows, then the sum of each number. Added to in place.
    """
    cell = np.empty(CHUNK, np.int32)
    for first in range(0, len(numbers), CHUNK):
        part = numbers[first : first + CHUNK]
        for i in range(len(part)):
            cell[i] = 0
        _add_strides(groups, chosen, strides, first, cell[: len(part)])
        for i in range(len(part)):
            of_cell = sums[cell[i]]
            of_cell[0] += 1
            for j in range(4):
                of_cell[j + 1] += part[i, j]


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
