"""Standard errors that the bounds of a difference reach, by how many people it is about.

A rate has Wilson's interval. A mean has Student's, whose level rests on the shape of the outcome: of few skewed amounts
the largest are mostly missing, and the mean and its standard error are too small together. So the studentised mean of
as many outcomes drawn from everybody's says how far the bound has to reach; a group may have another mean and another
spread, and is taken to have no other shape. Persons with several rows count by their number, and by how alike their
rows are.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri, stdtrit

from bdt_core.groups.scan.rows import Floats, ScanRows, stratum_means
from bdt_core.groups.scan.settings import SEED

_SIZES = 32
"""Of twice as many people each."""
_FEWEST, _MOST = 4, 11
"""Of 16 to 2,048 people means are drawn; of more, what is left of the skewness falls with the root of their number."""
_DRAWS = 1_000
_WITHOUT_SPREAD = 0.01
"""Share of draws without any spread from which on a value is counted once more."""


def reach_of_bounds(rows: ScanRows, alpha: float) -> Floats:
    """One-sided bounds at level alpha; see `bdt_core.groups.scan.kernels.climb`.

    Parameters
    ----------
    rows : ScanRows
    alpha : float

    Returns
    -------
    ndarray of float64, shape (3, sizes)
    """
    z = float(ndtri(1.0 - alpha))
    reach = np.zeros((3, _SIZES))
    reach[:2] = z
    if rows.is_rate and rows.persons is None:
        return reach
    freedom = np.maximum(2.0 ** np.arange(_SIZES) - 1.0, 1.0)
    reach[:2] = stdtrit(freedom, 1.0 - alpha)
    apart = rows.harm - stratum_means(rows.harm, rows.strata)[rows.strata]
    of_people = apart if rows.persons is None else np.asarray(np.bincount(rows.persons, weights=apart), np.float64)
    if not rows.is_rate:
        _widen_for_shape(reach, of_people, alpha, z)
    if rows.persons is not None:
        reach[:2] *= math.sqrt(max(1.0, float(of_people @ of_people) / float(apart @ apart)))
    return reach


def _widen_for_shape(reach: Floats, apart: Floats, alpha: float, z: float) -> None:
    rng = np.random.default_rng([SEED, 5])
    once_more = float(np.square(apart).mean() / np.abs(apart).mean())
    for size in range(_FEWEST, _MOST + 1):
        people = 1 << size
        drawn = apart[rng.integers(0, apart.size, (_DRAWS, people))]
        means, spread = drawn.mean(axis=1), drawn.std(axis=1, ddof=1)
        if np.mean(spread == 0.0) >= _WITHOUT_SPREAD:
            reach[2, size] = once_more
            with_more = (drawn.sum(axis=1) + once_more) / (people + 1)
            squares = (np.square(drawn).sum(axis=1) + once_more**2) / (people + 1)
            means, spread = with_more, np.sqrt((squares - with_more**2) * (people + 1) / people)
            people += 1
        spread = np.maximum(spread, np.finfo(np.float64).tiny)
        above, below = (np.quantile(side * means / spread, 1.0 - alpha) * math.sqrt(people) for side in (-1.0, 1.0))
        reach[:2, size] = np.maximum(reach[:2, size], (above, below))
    reach[:, :_FEWEST] = reach[:, [_FEWEST]]
    further = np.sqrt(2.0 ** (_MOST - np.arange(_MOST + 1, _SIZES)))
    reach[:2, _MOST + 1 :] = z + (reach[:2, [_MOST]] - z) * further
