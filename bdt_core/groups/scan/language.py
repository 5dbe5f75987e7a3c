"""The language of groups: cells, prices of conditions, and places to start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from bdt_core.groups.cells import CodedColumn
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.scan.settings import SEED

PRICE = 0.7
"""Of the description length of a condition. With less, groups grow conditions that mean nothing; with more, small
groups of three conditions are missed (on thirteen shapes of groups .7 found most, .4 and 1.0 a tenth fewer)."""
MAX_CONDITIONS = 3
"""Most conditions of a group that is searched for."""
MAX_DESCRIBED = 4
"""Most conditions of a group for whom something is ruled out."""
_STARTS, _FEWEST_STARTS = 16, 6
_WIDE = 40
_SHARES = (0.15, 0.6)
FORMS = 5
"""Of an interval, each with a price: open to one side, to none, "missing" or "not missing"; the first two with "or
missing"."""


@dataclass(frozen=True, eq=False)
class Language:
    """All groups that can be said.

    Attributes
    ----------
    columns : tuple of CodedColumn
    offsets : ndarray of int64, shape (columns + 1,)
        First cell of each column.
    ordered : ndarray of bool, shape (columns,)
    prices : ndarray of float64, shape (columns, most)
        See `bdt_core.groups.scan.kernels.climb`.
    starts : ndarray of uint8, shape (starts, cells)
        States that each search starts from.
    """

    columns: tuple[CodedColumn, ...]
    offsets: NDArray[np.int64]
    ordered: NDArray[np.bool_]
    prices: NDArray[np.float64]
    starts: NDArray[np.uint8]

    @classmethod
    def of(cls, columns: Sequence[CodedColumn], sample: pd.DataFrame) -> Language:
        """Of some columns; starts are as large as they are among the rows of a sample."""
        rows = [np.bincount(one.codes(sample), minlength=one.cells) for one in columns]
        offsets = np.concatenate([[0], np.cumsum([one.cells for one in columns])]).astype(np.int64)
        ordered = np.array([one.is_ordered for one in columns], dtype=bool)
        most = max(FORMS, *(one.cells + 1 for one in columns))
        prices = np.zeros((len(columns), most))
        for price, column, of_cells in zip(prices, columns, rows, strict=True):
            bins, has_missing = column.cells - 1, bool(of_cells[-1])
            forms = _interval_prices(bins, has_missing) if column.is_ordered else _set_prices(column.cells)
            price[: len(forms)] = forms + PRICE * np.log(len(columns))
        return cls(tuple(columns), offsets, ordered, prices, _starts(columns, rows, offsets))

    @classmethod
    def free(cls, columns: Sequence[CodedColumn], start: NDArray[np.uint8]) -> Language:
        """Of some columns, whose conditions cost nothing, and with one state to start from."""
        offsets = np.concatenate([[0], np.cumsum([one.cells for one in columns])]).astype(np.int64)
        ordered = np.array([one.is_ordered for one in columns], dtype=bool)
        prices = np.zeros((len(columns), max(FORMS, *(one.cells + 1 for one in columns))))
        return cls(tuple(columns), offsets, ordered, prices, start[None])

    def cells(self, state: NDArray[np.uint8]) -> list[tuple[CodedColumn, NDArray[np.bool_]]]:
        """Which cells of each column are in a state."""
        inside = np.split(state.astype(bool), self.offsets[1:-1])
        return list(zip(self.columns, inside, strict=True))

    def conditions(self, state: NDArray[np.uint8]) -> tuple[GroupCondition, ...]:
        """What a state says."""
        return tuple(one.condition(inside) for one, inside in self.cells(state) if not inside.all())

    def price(self, state: NDArray[np.uint8]) -> float:
        """What the conditions of a state cost."""
        from bdt_core.groups.scan import kernels  # the compiler takes a third of a second to import

        return float(kernels.price(state, self.offsets, self.ordered, self.prices))


def _interval_prices(bins: int, has_missing: bool) -> NDArray[np.float64]:
    """Price of the forms of an interval: which form, and which of its kind."""
    one_sided, two_sided = max(2 * (bins - 1), 1), max((bins - 1) * (bins - 2) // 2, 1)
    counts = np.array([one_sided, two_sided, 2, one_sided, two_sided], dtype=np.float64)
    forms = (2 if bins > 2 else 1) if not has_missing else (5 if bins > 2 else 3)
    return np.asarray(PRICE * (np.log(counts) + np.log(forms)), dtype=np.float64)


def _set_prices(levels: int) -> NDArray[np.float64]:
    """Price of a set of m of k levels: which m, and which of the C(k, m) sets.

    The likelihood ratio of the best m of k levels rises by chance with log C(k, m): that part has its full price.
    """
    m = np.arange(levels + 1)
    which = gammaln(levels + 1) - gammaln(m + 1) - gammaln(levels - m + 1)
    return np.asarray(which + PRICE * np.log(max(levels - 1, 1)), dtype=np.float64)


def _starts(
    columns: Sequence[CodedColumn], rows: Sequence[NDArray[np.int64]], offsets: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """States of two random conditions each, of a sixth to three fifths of the rows."""
    rng = np.random.default_rng([SEED, 1])
    starts = np.ones((random_starts(len(columns)), offsets[-1]), dtype=np.uint8)
    for state in starts:
        for j in rng.choice(len(columns), min(2, len(columns)), replace=False).tolist():
            state[offsets[j] : offsets[j + 1]] = _random_condition(rng, columns[j].is_ordered, rows[j])
    return starts


def random_starts(columns: int) -> int:
    """How many random states a search starts from: fewer of a wide table, each step of which takes longer."""
    return max(_FEWEST_STARTS, _STARTS * _WIDE // max(columns, _WIDE))


def _random_condition(rng: np.random.Generator, ordered: bool, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Neighbouring cells, or any cells, that have about a random share of the rows."""
    share = rng.uniform(*_SHARES)
    present = np.flatnonzero(rows)
    cells = np.roll(present, -rng.integers(present.size)) if ordered else rng.permutation(present)
    taken = np.cumsum(rows[cells]) <= share * rows.sum()
    taken[0] = True
    if ordered:
        taken &= cells >= cells[0]
    condition = np.zeros(rows.size, dtype=np.uint8)
    condition[cells[taken]] = 1
    return condition
