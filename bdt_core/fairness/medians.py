"""The median of a column that is read block by block, exactly."""

from __future__ import annotations

from functools import partial, reduce
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import column, numbers
from bdt_core.table.source_blocks import SourceBlocks

_DIGITS = (48, 32, 16, 0)
"""Numbers are looked for 16 bits at a time, the highest first."""


def median_of(source: SourceBlocks, name: str) -> float | None:
    """The median of a numeric column's finite values; of an even number of them, the mean of the middle two.

    Returns
    -------
    float or None
        None without a finite value.

    Notes
    -----
    The bits of a float, as a whole number, are in the order of the floats (those of negative ones turned round). Each
    pass counts the next 16 bits of those values that share what is known of the wanted one, so that four passes find it
    and no block hands on more than 65,536 counts.

    Examples
    --------
    >>> from bdt_core.table.source_blocks import in_blocks
    >>> median_of(in_blocks(pd.DataFrame({"score": [3.0, -1.0, None, 10.0, 4.0]})), "score")
    3.5
    """
    count = sum(source.map_source_blocks(partial(_finite, name=name)))
    if not count:
        return None
    lower = _ranked(source, name, (count - 1) // 2)
    return lower if count % 2 else 0.5 * (lower + _ranked(source, name, count // 2))


def _ranked(source: SourceBlocks, name: str, rank: int) -> float:
    """The value with so many finite ones before it."""
    known = 0
    for shift in _DIGITS:
        counts = reduce(add, source.map_source_blocks(partial(_count, name=name, known=known, shift=shift)))
        upto = np.cumsum(counts)
        digit = int(np.searchsorted(upto, rank, side="right"))
        rank -= int(upto[digit] - counts[digit])
        known = known << 16 | digit
    bits = np.array([known], dtype=np.uint64)
    negative = bits < np.uint64(1 << 63)
    return float(np.where(negative, ~bits, bits ^ np.uint64(1 << 63)).view(np.float64)[0])


def _finite(frame: pd.DataFrame, name: str) -> int:
    return int(np.isfinite(numbers(column(frame, name), name)).sum())


def _count(frame: pd.DataFrame, name: str, known: int, shift: int) -> NDArray[np.int64]:
    """How many values that begin with the known bits have each of the next 16."""
    values = numbers(column(frame, name), name)
    values = values[np.isfinite(values)] + 0.0  # -0.0 is 0.0
    bits = values.view(np.uint64)
    ordered = np.where(bits >> np.uint64(63), ~bits, bits ^ np.uint64(1 << 63))
    if shift < _DIGITS[0]:
        ordered = ordered[ordered >> np.uint64(shift + 16) == np.uint64(known)]
    return np.bincount((ordered >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64), minlength=1 << 16)
