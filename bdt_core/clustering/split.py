"""A two-way split: two prototypes, which of them a row is nearer to, and the statistics of what falls to each.

The squared distance of a row x to a minus that to b is linear in x, and a category adds gamma where its code is
not a prototype's mode (Huang 1998). So k-means, k-modes and k-prototypes are one rule: a row belongs to b iff

    sum_j 2 (b_j - a_j) x_j + gamma * (matches of b's modes - matches of a's modes) > |b|^2 - |a|^2,

and to a when they are equally near.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import kernels
from bdt_core.table.encoding import Encoded, Encoder

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BLOCK_ROWS = 1 << 16


class MapBlocks(Protocol):
    """``map``, or anything that does the same: a thread pool's, a cluster's."""

    def __call__(self, function: Callable[[Any], Any], blocks: Iterable[Any], /) -> Iterable[Any]: ...


@dataclass(frozen=True)
class WeightedBlock:
    """The rows from start to stop of an encoded table.

    ``weights`` (float64, shape (n,)) says how often each row counts; once when it is empty.
    """

    table: Encoded
    start: int
    stop: int
    weights: Floats


@dataclass(frozen=True)
class Layout:
    """What the columns are: p numeric ``fields``, and the size of each categorical column's count table.

    `gamma` is the weight of one categorical mismatch against a squared distance of 1, `variance` the mean variance of
    the numeric columns.
    """

    fields: int
    levels: tuple[int, ...]
    gamma: float
    variance: float = 1.0

    @classmethod
    def of(cls, encoder: Encoder) -> Layout:
        """Sizes of an encoder's columns; a category weighs half of the numbers' mean standard deviation (Huang)."""
        spreads = []
        for column, is_flag in encoder.fields:
            share = column.missing or 0.0
            own = math.sqrt(share * (1.0 - share)) if is_flag else column.std
            if own > 0.0:
                spreads.append(1.0 if encoder.scale else own)
        gamma = 0.5 * math.fsum(spreads) / len(spreads) if spreads else 1.0
        variance = math.fsum(one * one for one in spreads) / len(spreads) if spreads else 1.0
        return cls(len(encoder.fields), encoder.levels, gamma, variance)

    @cached_property
    def offsets(self) -> Integers:
        """Where each categorical column begins in a table of counts; one more entry for the end."""
        return np.concatenate([[0], np.cumsum(self.levels, dtype=np.int64)]).astype(np.int64)


@dataclass(frozen=True)
class Statistics:
    """Of S groups of rows: how many (S,), the sum of each numeric column (S, p), the count of each level (S, L).

    Every number is exact, so adding and subtracting statistics is, too.
    """

    rows: Floats
    sums: Floats
    counts: Floats

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(self.rows + other.rows, self.sums + other.sums, self.counts + other.counts)

    def __sub__(self, other: Statistics) -> Statistics:
        return Statistics(self.rows - other.rows, self.sums - other.sums, self.counts - other.counts)

    def __getitem__(self, which: Any) -> Statistics:
        return Statistics(self.rows[which], self.sums[which], self.counts[which])

    def same(self, other: Statistics) -> npt.NDArray[np.bool_]:
        """Which of the S groups are equal in every number."""
        return np.asarray(
            (self.rows == other.rows)
            & (self.sums == other.sums).all(axis=1)
            & (self.counts == other.counts).all(axis=1)
        )


@dataclass(frozen=True)
class Prototypes:
    """S points: the mean of each number (float64, shape (S, p)) and the mode of each category (int64, (S, q))."""

    means: Floats
    modes: Integers

    def __getitem__(self, which: Any) -> Prototypes:
        return Prototypes(self.means[which], self.modes[which])


@dataclass(frozen=True)
class Splits:
    """S two-way splits, ready to be applied.

    `linear`, shape (S, p), and `thresholds`, shape (S,), are in the dtype of the encoded numbers; modes are int64 of
    shape (S, q).
    """

    linear: npt.NDArray[np.floating[Any]]
    thresholds: npt.NDArray[np.floating[Any]]
    modes_a: Integers
    modes_b: Integers
    gamma: float

    def __getitem__(self, which: Any) -> Splits:
        return Splits(self.linear[which], self.thresholds[which], self.modes_a[which], self.modes_b[which], self.gamma)

    @classmethod
    def between(cls, a: Prototypes, b: Prototypes, gamma: float, dtype: Any) -> Splits:
        """Splits that send each row to the nearer of two prototypes."""
        return cls(
            linear=(2.0 * (b.means - a.means)).astype(dtype),
            thresholds=(squared_norm(b.means) - squared_norm(a.means)).astype(dtype),
            modes_a=a.modes,
            modes_b=b.modes,
            gamma=gamma,
        )

    @classmethod
    def all_to_b(cls, layout: Layout, dtype: Any) -> Splits:
        """One split with everything on side b, whose statistics are those of the whole."""
        modes = np.zeros((1, len(layout.levels)), dtype=np.int64)
        return cls(np.zeros((1, layout.fields), dtype), -np.ones(1, dtype), modes, modes, layout.gamma)

    def to_dict(self, which: int = 0) -> dict[str, Any]:
        """One split as plain data; float32 survives the trip through JSON."""
        return {
            "linear": self.linear[which].tolist(),
            "threshold": self.thresholds[which].item(),
            "modes_a": self.modes_a[which].tolist(),
            "modes_b": self.modes_b[which].tolist(),
            "gamma": self.gamma,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], dtype: Any) -> Splits:
        """Read what `to_dict` wrote."""
        return cls(
            np.array([data["linear"]], dtype=dtype),
            np.array([data["threshold"]], dtype=dtype),
            np.array([data["modes_a"]], dtype=np.int64),
            np.array([data["modes_b"]], dtype=np.int64),
            float(data["gamma"]),
        )


def block_statistics(block: WeightedBlock, splits: Splits, layout: Layout) -> Statistics:
    """Statistics of side b of each split, over one block of rows; a pure function of its arguments."""
    size = len(splits.thresholds)
    offsets = layout.offsets
    result = Statistics(np.zeros(size), np.zeros((size, layout.fields)), np.zeros((size, int(offsets[-1]))))
    table = block.table
    kernels.split_statistics(
        table.numeric,
        table.codes,
        block.weights,
        block.start,
        block.stop,
        0,
        size,
        splits.linear,
        splits.thresholds,
        splits.modes_a,
        splits.modes_b,
        table.numeric.dtype.type(splits.gamma),
        offsets,
        result.rows,
        result.sums,
        result.counts,
    )
    return result


def statistics(
    blocks: Sequence[WeightedBlock], splits: Splits, layout: Layout, map_blocks: MapBlocks = map
) -> Statistics:
    """Statistics of side b of each split, over all blocks, in whatever order they come back."""
    total: Statistics | None = None
    for part in map_blocks(lambda block: block_statistics(block, splits, layout), blocks):
        total = part if total is None else total + part
    assert total is not None
    return total


def assign(
    table: Encoded,
    start: int,
    stop: int,
    splits: Splits,
    map_blocks: MapBlocks = map,
    block_rows: int = BLOCK_ROWS,
) -> npt.NDArray[np.bool_]:
    """Which rows from start to stop lie on side b of the first split: bool ndarray of shape (stop - start,)."""
    numeric, codes = table.numeric, table.codes
    gamma = numeric.dtype.type(splits.gamma)
    sides = np.empty(stop, dtype=np.bool_)

    def one_block(bounds: tuple[int, int]) -> None:
        kernels.assign(
            numeric, codes, *bounds,
            splits.linear[0], splits.thresholds[0], splits.modes_a[0], splits.modes_b[0], gamma, sides,
        )  # fmt: skip

    list(map_blocks(one_block, bounds_of_blocks(start, stop, block_rows)))
    return sides[start:]


def bounds_of_blocks(start: int, stop: int, block_rows: int = BLOCK_ROWS) -> list[tuple[int, int]]:
    """Cut a range of rows into blocks."""
    return [(first, min(first + block_rows, stop)) for first in range(start, stop, block_rows)]


def prototypes(groups: Statistics, layout: Layout) -> Prototypes:
    """Mean and modes of each group; of equally frequent levels the one with the lower code is the mode."""
    offsets = layout.offsets
    modes = np.empty((len(groups.rows), len(layout.levels)), dtype=np.int64)
    for k in range(len(layout.levels)):
        modes[:, k] = groups.counts[:, offsets[k] : offsets[k + 1]].argmax(axis=1)
    return Prototypes(groups.sums / groups.rows[:, None], modes)


def cost(groups: Statistics, means: Floats, layout: Layout) -> Floats:
    """Cost of each group around its own means and modes, without the part that no split can change.

    The within sum of squares is the sum of all squares, which is left out, minus n |mean|^2; gamma times the
    number of categories that differ from the mode comes on top.
    """
    mismatches = groups.rows * len(layout.levels)
    offsets = layout.offsets
    for k in range(len(layout.levels)):
        mismatches = mismatches - groups.counts[:, offsets[k] : offsets[k + 1]].max(axis=1)
    return layout.gamma * mismatches - groups.rows * squared_norm(means)


def squared_norm(points: Floats) -> Floats:
    """Squared length of each row, added column after column, which is the same on every machine."""
    if points.shape[1] == 0:
        return np.zeros(len(points))
    return np.asarray(np.cumsum(points * points, axis=1)[:, -1])
