"""Randomised thresholds: mixtures of the corners of each group's ROC hull, chosen by a linear program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bdt_core.mitigation.curves import Curve, Floats

_NEGLIGIBLE = 1e-9


class Mixtures(NamedTuple):
    """Per group: points of its curve, and the chance with which each is used."""

    points: tuple[NDArray[np.intp], ...]
    chances: tuple[Floats, ...]


def hull_points(curve: Curve) -> NDArray[np.intp]:
    """The corners of the convex hull of a group's ROC curve, in the order of its points.

    Every decision that can be had by drawing lots between thresholds lies in this hull. Its upper side is the
    isotonic regression of the labels on the scores, its lower side the antitonic one.

    References
    ----------
    Fawcett, T., Niculescu-Mizil, A. (2007). PAV and the ROC convex hull. Machine Learning 68, 97-106.
    """
    from scipy.optimize import isotonic_regression

    positives, rows = np.diff(curve.tp), np.diff(curve.tp + curve.fp)
    kept = [np.array([0, curve.tp.size - 1])]
    used = np.flatnonzero(rows > 0)  # steps without weight change nothing
    for increasing in (False, True):
        fitted = isotonic_regression(positives[used] / rows[used], weights=rows[used], increasing=increasing)
        # A block ends before the step at which the next one begins.
        kept.append(used[fitted.blocks[1:-1]])
    return np.unique(np.concatenate(kept))


def best_mixtures(curves: Sequence[Curve], gains: Sequence[Floats], rates: Sequence[str], tolerance: float) -> Mixtures:
    """Mix thresholds so that the expected gain is largest and expected rates differ by at most the tolerance.

    Parameters
    ----------
    curves, gains : sequence, one per group
        The gain is linear in the counts.
    rates : sequence of str
        Linear in the counts for each group.
    tolerance : float

    References
    ----------
    Hardt, M., Price, E., Srebro, N. (2016). Equality of opportunity in supervised learning. NeurIPS 29.
    """
    from scipy.optimize import linprog

    corners = [hull_points(curve) for curve in curves]
    ends = np.cumsum([len(one) for one in corners])
    unknowns = int(ends[-1]) + len(rates)  # the chances, and the lowest value of each rate
    scale = sum(one.positives + one.negatives for one in curves)
    cost = np.zeros(unknowns)
    sums = np.zeros((len(curves), unknowns))
    bounds_left, bounds_right = [], []
    for i, (curve, gain, at) in enumerate(zip(curves, gains, corners, strict=True)):
        mine = slice(int(ends[i]) - len(at), int(ends[i]))
        cost[mine] = -gain[at] / scale
        sums[i, mine] = 1.0
        for k, name in enumerate(rates):
            row = np.zeros(unknowns)
            row[mine] = curve.rate(name)[at]
            row[int(ends[-1]) + k] = -1.0
            bounds_left += [row, -row]
            bounds_right += [tolerance, 0.0]
    solution = linprog(
        cost, A_ub=np.array(bounds_left), b_ub=bounds_right, A_eq=sums, b_eq=np.ones(len(curves)), bounds=(0.0, 1.0)
    )
    assert solution.x is not None, solution.message  # "nobody in every group" is always allowed
    points, chances = [], []
    for i, at in enumerate(corners):
        chance = solution.x[int(ends[i]) - len(at) : int(ends[i])]
        used = chance > _NEGLIGIBLE
        points.append(at[used])
        chances.append(chance[used] / chance[used].sum())
    return Mixtures(tuple(points), tuple(chances))
