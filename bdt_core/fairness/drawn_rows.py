"""Draw rows by the hash of their content: the same ones however the rows are divided into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import code_column, column, numbers
from bdt_core.table.facts import holds_numbers
from bdt_core.table.ranks import mixed
from bdt_core.table.source_blocks import SourceBlocks

Hashes = NDArray[np.uint64]

MOST_HELD = 1 << 23
"""So many hashes of all blocks are held at a time; more are looked at in several passes."""
_MISSING = np.uint64(0x5851F42D4C957F2D)


def draw_rows(source: SourceBlocks, names: Sequence[str], rows: int) -> tuple[pd.DataFrame, int]:
    """Draw about so many rows.

    Of m rows with equal values, floor(share m + u) are drawn, where share is that of the rows wanted, and u, from 0
    to 1, is a hash of the values: every row has the same chance, and which ones are drawn follows from the rows alone.

    Parameters
    ----------
    source : SourceBlocks
    names : sequence of str
        Columns to read; rows with equal values in them are alike.
    rows : int
        Rows wanted; all are drawn when there are no more.

    Returns
    -------
    frame : DataFrame
        In the order of the hashes.
    total : int
        Rows of the source.

    Notes
    -----
    A block cannot know how often the values of a row occur in other blocks. But what is drawn occurs often enough for
    its hash in one of B blocks, if it occurs B times as often: so first each block names the hashes for which this may
    be so, then it counts these, and last it gives one row of each that was drawn.

    Examples
    --------
    >>> from bdt_core.table.source_blocks import in_blocks
    >>> frame = pd.DataFrame({"sex": list("fm") * 500})
    >>> drawn, total = draw_rows(in_blocks(frame), ["sex"], 100)
    >>> len(drawn), sorted(drawn.sex.value_counts()), total
    (100, [50, 50], 1000)
    """
    names = tuple(dict.fromkeys(names))
    sizes = source.map_source_blocks(len)
    share = min(1.0, rows / max(sum(sizes), 1))
    passes = -(-min(rows * len(sizes), sum(sizes)) // MOST_HELD)
    hashes, copies = [], []
    for at in range(passes):
        named = source.map_source_blocks(
            partial(_may_be_drawn, names=names, share=share * len(sizes), passes=passes, at=at)
        )
        candidates = np.unique(np.concatenate(named))
        counts = source.map_source_blocks(partial(_occurrences, names=names, hashes=candidates))
        drawn = np.floor(share * np.sum(counts, axis=0) + _uniform(candidates)).astype(np.int64)
        hashes.append(candidates[drawn > 0])
        copies.append(drawn[drawn > 0])
    drawn_hashes = np.concatenate(hashes)
    drawn_rows = pd.concat(
        source.map_source_blocks(partial(_rows_with, names=names, hashes=drawn_hashes)), ignore_index=True
    )
    content = _content(drawn_rows, names)
    _, first = np.unique(content, return_index=True)
    return drawn_rows.take(np.repeat(first, np.concatenate(copies))).reset_index(drop=True), sum(sizes)


def _may_be_drawn(frame: pd.DataFrame, names: Sequence[str], share: float, passes: int, at: int) -> Hashes:
    """Hashes of this pass that would be drawn if every block had as many of them."""
    hashes, counts = np.unique(_content(frame, names), return_counts=True)
    bounds = [np.uint64(min(i * 2**64 // passes, 2**64 - 1)) for i in (at, at + 1)]
    start, stop = np.searchsorted(hashes, bounds[0]), np.searchsorted(hashes, bounds[1])
    part = slice(start, len(hashes) if at == passes - 1 else stop)
    hashes, counts = hashes[part], counts[part]
    # A little more than needed, for the rounding of products.
    return np.asarray(hashes[share * counts * (1.0 + 1e-9) + _uniform(hashes) >= 1.0 - 1e-9])


def _occurrences(frame: pd.DataFrame, names: Sequence[str], hashes: Hashes) -> NDArray[np.int64]:
    content = _content(frame, names)
    if not len(hashes):
        return np.zeros(0, dtype=np.int64)
    at = np.minimum(np.searchsorted(hashes, content), len(hashes) - 1)
    return np.bincount(at[hashes[at] == content], minlength=len(hashes))


def _rows_with(frame: pd.DataFrame, names: Sequence[str], hashes: Hashes) -> pd.DataFrame:
    """The first row of each hash."""
    content, first = np.unique(_content(frame, names), return_index=True)
    return frame[list(names)].take(first[np.isin(content, hashes)])


def _uniform(hashes: Hashes) -> NDArray[np.float64]:
    """Numbers from 0 to 1, below 1."""
    return (mixed(hashes) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _content(frame: pd.DataFrame, names: Sequence[str]) -> Hashes:
    """Hash of the values of each row, whatever types they are stored in."""
    hashes = np.zeros(len(frame), dtype=np.uint64)
    for name in names:
        hashes = mixed(hashes ^ _of_column(frame, name))
    return hashes


def _of_column(frame: pd.DataFrame, name: str) -> Hashes:
    series = column(frame, name)
    if holds_numbers(series):
        values = numbers(series, name) + 0.0  # adding 0 turns -0 into 0
        return np.where(np.isnan(values), _MISSING, mixed(values.view(np.uint64)))
    coded = code_column(frame, name)
    if not coded.levels:
        return np.zeros(len(frame), dtype=np.uint64)
    texts = np.array([repr(level) for level in coded.levels], dtype=object)
    hashes = pd.util.hash_array(texts, categorize=False)
    hashes[[level is None for level in coded.levels]] = _MISSING
    return np.asarray(hashes[coded.codes])
