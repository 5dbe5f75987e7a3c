"""The largest score where nobody fares worse than people alike: permutations of the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdt_core.scan.climbing import Climb
from bdt_core.scan.rows import Scored
from bdt_core.shards.pool import mapped

_AT_ONCE = 20


@dataclass(frozen=True, eq=False)
class Null:
    """Largest scores of permuted outcomes.

    Attributes
    ----------
    scores : ndarray of float64, shape (permutations,)
    """

    scores: NDArray[np.float64]

    def p_value(self, score: float) -> float:
        """Share of the permutations, the data's own order counted as one, with at least this score."""
        return float((1 + np.sum(self.scores >= score)) / (1 + self.scores.size))


def permuted(climb: Climb, scores: Scored, score: float, permutations: int, alpha: float, random_state: int) -> Null:
    """Search again in permuted outcomes, until a score can no longer be significant.

    Outcomes are permuted among people alike.

    Parameters
    ----------
    climb : Climb
    scores : Scored
    score : float
        The score in question.
    permutations : int
    alpha : float
    random_state : int
    """
    order = np.argsort(climb.rows.strata, kind="stable")
    found: list[float] = []
    most = alpha * (permutations + 1)
    while len(found) < permutations:
        draws = range(len(found), min(len(found) + _AT_ONCE, permutations))
        search = partial(_largest_score, climb, scores, order, random_state)
        found += mapped(search, draws)
        if 1 + sum(one >= score for one in found) > most:
            break
    return Null(np.array(found))


def _largest_score(climb: Climb, scores: Scored, order: NDArray[np.intp], random_state: int, permutation: int) -> float:
    rng = np.random.default_rng([random_state, 2, permutation])
    shuffled = np.empty_like(scores.harm)
    strata = climb.rows.strata[order]
    shuffled[order] = scores.harm[order[np.argsort(strata + rng.random(order.size))]]
    return climb.best(Scored(shuffled, scores.expected)).score
