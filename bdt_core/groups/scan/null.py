"""The best score where nobody fares worse than people alike: outcomes are permuted among them."""

from __future__ import annotations

from functools import partial

import numpy as np

from bdt_core.groups.scan.climbing import Climb
from bdt_core.groups.scan.rows import Floats, Scored, scored
from bdt_core.groups.scan.settings import SEED
from bdt_core.groups.scan.units import Units
from bdt_core.inference.exchange import permutation_p_value
from bdt_core.table.pool import mapped

_AT_ONCE = 20


def scores_by_chance(
    climb: Climb, score: float, permutations: int, alpha: float, number: int, at_once: int = _AT_ONCE
) -> Floats:
    """The best score in each of some permutations, until one can no longer be significant.

    Parameters
    ----------
    climb : Climb
    score : float
        The one in question.
    permutations : int
    alpha : float
    number : int
        Of the search: other permutations are drawn for each.
    at_once : int
        After so many it is asked again whether the score can still be significant.

    Returns
    -------
    ndarray of float64, shape (at most permutations,)
    """
    search = partial(_best_of_permuted, climb, scored(climb.rows), Units.of(climb.rows), number)
    by_chance: list[float] = []
    while len(by_chance) < permutations and p_value(score, np.array(by_chance), permutations) <= alpha:
        by_chance += mapped(search, range(len(by_chance), min(len(by_chance) + at_once, permutations)))
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
    return permutation_p_value(int(np.sum(by_chance >= score)), permutations or by_chance.size)


def _best_of_permuted(climb: Climb, scores: Scored, units: Units, number: int, permutation: int) -> float:
    rng = np.random.default_rng([SEED + number, 2, permutation])
    return climb.best(scores.permuted(units.permuted(rng))).score
