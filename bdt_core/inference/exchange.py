"""Values that change hands at random, for the permutation nulls of all rooms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CELLS_AT_ONCE = 2_000_000


def permutation_p_value(as_large: int, permutations: int) -> float:
    """Share of the permutations, the data's own order counted as one, whose statistic is at least as large.

    Never 0 (Phipson & Smyth 2010, SAGMB 9(1), 39).
    """
    return (1 + as_large) / (1 + permutations)


def drawn_counts(
    counts: NDArray[np.int64], size: int, draws: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """How many of each value there are among `size` rows drawn without replacement, in pieces (draws, values).

    A permutation of rows of which only such counts matter costs one draw for each value, however many rows there are.
    """
    at_once = max(1, _CELLS_AT_ONCE // counts.size)
    for done in range(0, draws, at_once):
        yield rng.multivariate_hypergeometric(counts, size, size=min(at_once, draws - done), method="marginals")


@dataclass(frozen=True)
class Pool:
    """Rows whose values may be exchanged; given units, rows of one unit have one value and keep one together.

    `unit` numbers the unit of each row, `first` is the place of a row of each unit among `rows`.
    """

    rows: NDArray[np.intp]
    unit: NDArray[np.intp] | None = None
    first: NDArray[np.intp] | None = None


def exchanged(values: NDArray[Any], pools: Sequence[Pool], rng: np.random.Generator) -> NDArray[Any]:
    """Values that changed hands within each pool."""
    permuted = values.copy()
    for pool in pools:
        inside = values[pool.rows]
        if pool.unit is None or pool.first is None:
            permuted[pool.rows] = rng.permutation(inside)
        else:
            permuted[pool.rows] = rng.permutation(inside[pool.first])[pool.unit]
    return permuted


def exchanged_by_persons(
    values: NDArray[np.float64], hashes: NDArray[np.uint64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Values that change hands as a whole, between persons with equally many rows; `hashes` say whose each row is."""
    # No pool of units: a person's values differ from row to row, and go over as a series.
    order = np.argsort(hashes, kind="stable")
    _, first, rows = np.unique(hashes[order], return_index=True, return_counts=True)
    permuted = values.copy()
    for size in np.unique(rows):
        starts = first[rows == size]
        given, taken = (order[one[:, None] + np.arange(size)] for one in (rng.permutation(starts), starts))
        permuted[taken] = values[given]
    return permuted
