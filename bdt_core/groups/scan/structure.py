"""Whether columns tell who fares worse in a way that no few conditions describe: an omnibus test.

The climb sees groups that conditions describe. Two opposite corners, a ring, or many small effects that add up are none
of them. So people are put into parts at random; trees are boosted on how much worse those of all parts before fare than
people alike, and say what to expect of the next part. Where columns tell nothing, what is expected has nothing to do
with what happened, whatever the trees are, and what is seen so far says nothing of the next part either: the sum over
the parts is a martingale, of which one normal distribution holds (Dawid 1984).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from bdt_core.groups.scan.language import Language
from bdt_core.groups.scan.measuring import design_effect, measured
from bdt_core.groups.scan.results import Structure
from bdt_core.groups.scan.rows import Floats, Numbers, ScanRows, dense, stratum_means
from bdt_core.groups.scan.settings import SEED

PARTS = 5
_SHARE_OF_LEVEL = 0.2
"""It is asked beside the search for groups and names nobody: one in a hundred audits of harmless people may say it."""
_FEWEST = 400
"""People, or lists of them, without whom trees learn nothing that lasts."""
_TREES, _LEAVES, _LEAF_ROWS = 50, 8, 20
_MOST_EXPECTED = 0.1
"""Of the people, those of whom most is expected: how they fare says how strong what was seen is."""


def structure_beyond(rows: ScanRows, language: Language, level: float, alpha: float) -> Structure | None:
    """Test whether columns tell who fares worse than people alike.

    Parameters
    ----------
    rows : ScanRows
        Those of a confirmed group are alike among themselves only, so that its difference is none here.
    language : Language
        Of the columns of `rows`.
    level : float
        The largest p-value of a confirmed group; a fifth of it confirms structure.
    alpha : float
        Of the lower bound of the difference.

    Returns
    -------
    Structure or None
        None where there are too few people.
    """
    unit = np.arange(rows.rows) if rows.together is None else rows.together
    units = int(unit.max()) + 1
    if units < _FEWEST:
        return None
    rng = np.random.default_rng([SEED, 6])
    part = rng.permutation(np.arange(units) % PARTS)[unit]
    score = 0.0
    expected = np.zeros(rows.rows)
    for number in range(1, PARTS):
        within = np.flatnonzero(part == number)
        expected[within] = _expected(rows, language, np.flatnonzero(part < number), within)
        score += _studentised(expected[within], rows.harm[within], rows.strata[within], unit[within])
    score /= math.sqrt(PARTS - 1)
    tested = rows.take(np.flatnonzero(part > 0))
    expected = expected[part > 0]
    most = expected >= np.quantile(expected, 1.0 - _MOST_EXPECTED)
    difference = error = 0.0
    if not most.all():
        of_most = measured(tested.harm, most, tested.strata)
        difference, error = of_most.difference, of_most.error * math.sqrt(design_effect(tested, most))
    p_value = float(ndtr(-score))
    return Structure(
        p_value=p_value,
        confirmed=p_value <= _SHARE_OF_LEVEL * level,
        rows=tested.rows,
        share=float(most.mean()),
        difference=difference,
        at_least=difference - float(ndtri(1.0 - alpha)) * error,
    )


def _expected(rows: ScanRows, language: Language, before: NDArray[np.intp], within: NDArray[np.intp]) -> Floats:
    """How much worse some rows are expected to fare than people alike, by those of the parts before."""
    # Neither is needed to load definitions; the library takes half a second to import.
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    codes = rows.cells - language.offsets[:-1].astype(rows.cells.dtype)
    harm = _apart(rows.harm[before], rows.strata[before])
    trees = HistGradientBoostingRegressor(
        max_iter=_TREES,
        max_leaf_nodes=_LEAVES,
        min_samples_leaf=_LEAF_ROWS,
        categorical_features=~language.ordered,
        early_stopping=False,
        random_state=SEED,
    )
    # Sums in several threads come in another order each time: with one, the same bytes on every machine.
    with threadpool_limits(1, user_api="openmp"):
        return np.asarray(trees.fit(codes[before], harm).predict(codes[within]), dtype=np.float64)


def _studentised(expected: Floats, harm: Floats, strata: Numbers, unit: Numbers) -> float:
    """How well expected and observed harm agree among people alike: standard normal where they have nothing in common.

    Rows of one person are added before they are squared (Liang & Zeger 1986).
    """
    products = _apart(expected, strata) * _apart(harm, strata)
    error = math.sqrt(float(np.square(np.bincount(dense(unit), weights=products)).sum()))
    return float(products.sum()) / error if error else 0.0


def _apart(values: Floats, strata: Numbers) -> Floats:
    """Less the mean among people alike."""
    alike = dense(strata)
    return values - stratum_means(values, alike)[alike]
