"""Worlds in which nobody fares worse than people alike: the outcomes are permuted among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from bdt_core.scan.climbing import Climb
from bdt_core.scan.rows import Floats, ScanRows, Scored
from bdt_core.shards.pool import mapped

_AT_ONCE = 20
_FEWEST_ALIKE = 20


@dataclass(frozen=True, eq=False)
class Permuting:
    """Permutations of rows among people alike, or of whole persons.

    Persons change places with persons of as many rows, and take all their outcomes with them. Where there are fewer
    than twenty of a size, neighbouring sizes are mixed: a person's outcomes are then cut short or taken twice.

    Attributes
    ----------
    rows : ScanRows
    """

    rows: ScanRows

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Whose outcome each row gets."""
        order, kinds = self._units
        among = order[np.argsort(kinds + rng.random(kinds.size))]  # shuffled within each kind
        if self.rows.persons is None:
            source = np.empty_like(order)
            source[order] = among
            return source
        first, size, by_person = self._persons
        giver = np.empty_like(order)
        giver[order] = among
        taken = np.arange(self.rows.rows) - np.repeat(first, size)
        source = np.empty(self.rows.rows, dtype=np.intp)
        source[by_person] = by_person[np.repeat(first[giver], size) + taken % np.repeat(size[giver], size)]
        return source

    @cached_property
    def _persons(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Where each person's rows begin and how many they are, when rows are in this order."""
        assert self.rows.persons is not None
        size = np.bincount(self.rows.persons)
        return np.cumsum(size) - size, size, np.argsort(self.rows.persons, kind="stable")

    @cached_property
    def _units(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Rows or persons in the order of their kinds, and these: only those of one kind change places."""
        if self.rows.persons is None:
            order = np.argsort(self.rows.strata, kind="stable")
            return order, self.rows.strata[order]
        first, size, by_person = self._persons
        stratum = self.rows.strata[by_person[first]]
        order = np.lexsort((size, stratum))
        return order, _mixed(np.column_stack([stratum, size])[order])


def _mixed(kinds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number sorted kinds; of those too rare to be permuted among themselves neighbours are one."""
    starts = np.flatnonzero(np.r_[True, (kinds[1:] != kinds[:-1]).any(axis=1)])
    merged = [0]
    for start in starts[1:].tolist():
        if start - merged[-1] >= _FEWEST_ALIKE:
            merged.append(start)
    if len(merged) > 1 and len(kinds) - merged[-1] < _FEWEST_ALIKE:
        merged.pop()
    return np.searchsorted(merged, np.arange(len(kinds)), side="right")


def scores_by_chance(
    climb: Climb, scores: Scored, score: float, permutations: int, alpha: float, random_state: int
) -> Floats:
    """The best score in each of some permutations, until one can no longer be significant.

    Parameters
    ----------
    climb : Climb
    scores : Scored
    score : float
        The one in question.
    permutations : int
    alpha : float
    random_state : int

    Returns
    -------
    ndarray of float64, shape (at most permutations,)
    """
    search = partial(_best_of_permuted, climb, scores, Permuting(climb.rows), random_state)
    by_chance: list[float] = []
    while len(by_chance) < permutations and p_value(score, np.array(by_chance), permutations) <= alpha:
        by_chance += mapped(search, range(len(by_chance), min(len(by_chance) + _AT_ONCE, permutations)))
    return np.array(by_chance)


def p_value(score: float, by_chance: Floats, permutations: int | None = None) -> float:
    """Share of the permutations, the data's own order counted as one, with at least this score.

    Parameters
    ----------
    score : float
    by_chance : ndarray
    permutations : int, optional
        How many there will be: the smallest p-value that is still possible.
    """
    return float((1 + np.sum(by_chance >= score)) / (1 + (permutations or by_chance.size)))


def _best_of_permuted(climb: Climb, scores: Scored, permuting: Permuting, random_state: int, permutation: int) -> float:
    source = permuting.draw(np.random.default_rng([random_state, 2, permutation]))
    return climb.best(scores.permuted(source)).score
