"""Repairs of training data: changed labels, or drawn rows, that make label and group independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.fairness.coding import Coded
from bdt_core.inference._checks import finite_vector
from bdt_core.mitigation.checks import coded, same_length, zero_or_one
from bdt_core.mitigation.reweighing import cell_counts, expected_counts


class Massaged(NamedTuple):
    """Labels of which as few as possible were changed, nearest to the border first.

    Attributes
    ----------
    labels : ndarray of shape (n,), int64
    promoted, demoted : ndarray of int
        Positions whose label went from 0 to 1, and from 1 to 0; equally many.
    """

    labels: NDArray[np.int64]
    promoted: NDArray[np.intp]
    demoted: NDArray[np.intp]


def massage(labels: ArrayLike, group: ArrayLike, scores: ArrayLike) -> Massaged:
    """Change the fewest labels so that every group has the overall share of positives, to the nearest row.

    In groups with too few positives the negatives with the highest scores become positive, in groups with too many
    the positives with the lowest scores become negative.

    Parameters
    ----------
    labels : array of shape (n,)
        0 or 1.
    group : array of shape (n,)
    scores : array of shape (n,)
        A ranker's scores, higher meaning more likely positive. Ties are taken in the order of the rows.

    Returns
    -------
    Massaged

    Raises
    ------
    DataError
        Labels other than 0 and 1, missing values or different lengths.

    References
    ----------
    Kamiran, F., Calders, T. (2012), section 4.1; with more than two groups each is brought to the overall share.

    Examples
    --------
    >>> found = massage([1, 1, 1, 0, 1, 0, 0, 0], ["m"] * 4 + ["f"] * 4, [9, 8, 4, 3, 7, 6, 2, 1])
    >>> found.promoted.tolist(), found.demoted.tolist()
    ([5], [2])
    """
    positive, groups = _positive_and_groups(labels, group)
    ranks = _ranks(scores, positive.size)
    rows = np.bincount(groups.codes, minlength=len(groups.levels))
    now = np.bincount(groups.codes, weights=positive, minlength=len(groups.levels)).astype(np.int64)
    wanted = _whole(rows * positive.mean(), int(positive.sum()))
    promoted, demoted = [], []
    for i, change in enumerate((wanted - now).tolist()):
        inside = groups.codes == i
        if change > 0:
            negatives = np.flatnonzero(inside & ~positive)
            promoted.append(negatives[np.argsort(-ranks[negatives], kind="stable")[:change]])
        elif change < 0:
            positives = np.flatnonzero(inside & positive)
            demoted.append(positives[np.argsort(ranks[positives], kind="stable")[:-change]])
    up, down = (np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *one])) for one in (promoted, demoted))
    changed = positive.astype(np.int64)
    changed[up], changed[down] = 1, 0
    return Massaged(changed, up, down)


def resample(
    labels: ArrayLike, group: ArrayLike, *, scores: ArrayLike | None = None, random_state: int = 0
) -> NDArray[np.intp]:
    """Draw as many rows as there are, such that every group has the overall share of positives.

    Cells of group x label with too many rows lose some, those with too few have some twice or more.

    Parameters
    ----------
    labels : array of shape (n,)
        0 or 1.
    group : array of shape (n,)
    scores : array of shape (n,), optional
        With scores, the rows nearest to the border are left out or repeated first (preferential sampling): positives
        with the lowest scores, negatives with the highest. Without, rows are drawn at random (uniform sampling).
    random_state : int
        Seed of the draws.

    Returns
    -------
    ndarray of int
        Positions of the rows, rising; repeated ones several times. Their number is n unless a cell that should have
        rows has none.

    Raises
    ------
    DataError
        Labels other than 0 and 1, missing values or different lengths.

    References
    ----------
    Kamiran, F., Calders, T. (2012), section 4.3.

    Examples
    --------
    >>> resample([1, 1, 1, 0, 1, 0, 0, 0], ["m"] * 4 + ["f"] * 4, scores=[9, 8, 4, 3, 7, 6, 2, 1]).tolist()
    [0, 1, 3, 3, 4, 4, 6, 7]
    """
    positive, groups = _positive_and_groups(labels, group)
    ranks = None if scores is None else _ranks(scores, positive.size)
    counts = cell_counts(Coded(positive.astype(np.int64), (0, 1)), groups)
    wanted = _whole(expected_counts(counts).ravel(), positive.size).reshape(counts.shape)
    rng = np.random.default_rng(random_state)
    drawn = [np.zeros(0, dtype=np.intp)]
    for i in range(counts.shape[0]):
        for j in (0, 1):
            rows = np.flatnonzero((groups.codes == i) & (positive == bool(j)))
            if not rows.size:
                continue
            if ranks is None:
                order = rng.permutation(rows)
            else:
                order = rows[np.argsort(ranks[rows] if j else -ranks[rows], kind="stable")]
            drawn.append(_border_first(order, int(wanted[i, j])))
    return np.sort(np.concatenate(drawn))


def _border_first(order: NDArray[np.intp], wanted: int) -> NDArray[np.intp]:
    """Leave out the first rows, or repeat them, so that `wanted` are left."""
    if wanted <= order.size:
        return order[order.size - wanted :]
    times, more = divmod(wanted, order.size)
    return np.concatenate([np.tile(order, times), order[:more]])


def _whole(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Whole numbers nearest to the shares that sum to a total: the largest remainders are rounded up."""
    floor = np.floor(shares + 1e-9)
    missing = total - int(floor.sum())
    up = np.argsort(-(shares - floor), kind="stable")[:missing]
    floor[up] += 1
    return floor.astype(np.int64)


def _positive_and_groups(labels: ArrayLike, group: ArrayLike) -> tuple[NDArray[np.bool_], Coded]:
    positive, groups = zero_or_one(labels), coded(group, "groups")
    same_length(labels=positive.size, groups=groups.codes.size)
    return positive, groups


def _ranks(scores: ArrayLike, rows: int) -> NDArray[np.float64]:
    values = finite_vector(scores, "Scores").astype(np.float64)
    same_length(scores=values.size, labels=rows)
    return values
