"""Area under the ROC curve of a score that tells two groups apart, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError
from bdt_core.inference._checks import finite_vector, fraction, whole_counts
from bdt_core.inference.means import shrink_of_few
from bdt_core.inference.proportions import wilson_interval
from bdt_core.inference.summaries import count_values
from bdt_core.result import Result


@dataclass(frozen=True)
class AUC(Result):
    """Area under the ROC curve of a score, with its confidence interval.

    Attributes
    ----------
    auc : float or None
        Chance that a random row of a scores higher than a random row of b, ties counted one half: .5 tells
        nothing, 1 tells the groups apart without error. None when a group is empty.
    low, high : float or None
        Confidence interval inside [0, 1].
    confidence : float
        1 - alpha.
    n_a, n_b : int
        Rows.
    """

    auc: float | None
    low: float | None
    high: float | None
    confidence: float
    n_a: int
    n_b: int


@dataclass(frozen=True)
class AreaSpread:
    """How far an area may be off by chance, as persons with several rows tell; see `bdt_core.inference.persons`.

    `variance` and `df` are of the area; the smaller group is worth at least `fewest` rows of different persons.
    """

    variance: float
    df: float
    fewest: float


def area_under_curve(scores_a: ArrayLike, scores_b: ArrayLike, *, alpha: float = 0.05) -> AUC:
    """Area under the ROC curve for telling group a from group b by a score.

    Parameters
    ----------
    scores_a, scores_b : array-like of numbers, shapes (n_a,) and (n_b,)
        Scores of the two groups, higher meaning "more likely a". A 0/1 score will do.
    alpha : float, default 0.05
        The interval has confidence 1 - alpha.

    Returns
    -------
    AUC

    Raises
    ------
    DataError
        Scores that are not finite numbers.
    SpecError
        alpha outside (0, 1).

    Notes
    -----
    The interval is Wilson's for as many independent rows as DeLong's variance is worth: area (1 - area) / variance
    (Mee 1990); the variance comes from midranks in O(n log n). Near 0 and 1 that variance rests on the few rows that
    lie on the wrong side, and is too small or 0. The worth is never below the rows of the smaller group, because the
    variance is at most area (1 - area) / min(n_a, n_b) (Birnbaum & Klose 1957): between these two numbers of rows a
    geometric mean is taken, with weight w / (w + 1/2) on DeLong's, where w = min(n_a, n_b) min(area, 1 - area) are
    those few rows. With 10 to 200 rows on a side, areas from .5 to .99 and scores that are normal of like and unlike
    spread, skewed, ratings or 0 and 1, coverage is at least .92 in all of them and .97 on average; DeLong's on the
    logit scale falls to .2, Newcombe's method 5 (2006) to .74.

    References
    ----------
    DeLong, E. R., DeLong, D. M., Clarke-Pearson, D. L. (1988). Biometrics 44, 837-845. Sun, X., Xu, W.
    (2014). IEEE Signal Processing Letters 21, 1389-1393. Mee, R. W. (1990). Confidence intervals for probabilities and
    tolerance regions based on a generalization of the Mann-Whitney statistic. JASA 85, 793-800. Newcombe, R. G. (2006).
    Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2. Statistics in Medicine
    25, 559-573. Birnbaum, Z. W., Klose, O. M. (1957). Annals of Mathematical Statistics 28, 933-945.

    Examples
    --------
    >>> result = area_under_curve([0.9, 0.8, 0.7, 0.4], [0.6, 0.5, 0.3, 0.2])
    >>> result.auc
    0.875
    """
    a = finite_vector(scores_a, "Scores of the first group").astype(np.float64)
    b = finite_vector(scores_b, "Scores of the second group").astype(np.float64)
    in_a, in_b = count_values(a, b)
    return area_under_curve_of_counts(in_a.counts, in_b.counts, alpha=alpha)


def area_under_curve_of_counts(
    counts_a: ArrayLike, counts_b: ArrayLike, *, alpha: float = 0.05, by_persons: AreaSpread | None = None
) -> AUC:
    """`area_under_curve` from how often each score occurs in the two groups.

    Parameters
    ----------
    counts_a, counts_b : array-like of int, shape (v,)
        Rows of the groups with the lowest score, the next one, and so on.
    alpha : float, default 0.05
        The interval has confidence 1 - alpha.
    by_persons : AreaSpread, optional
        Where persons have several rows: the interval is then theirs, and never narrower than that of the rows.

    Returns
    -------
    AUC

    Raises
    ------
    DataError
        Counts that are not whole numbers, or not of one length.
    SpecError
        alpha outside (0, 1).

    Examples
    --------
    >>> area_under_curve_of_counts([1, 3], [2, 2]).auc  # a score of 0 or 1
    0.625
    """
    confidence = 1.0 - fraction(alpha, "alpha")
    a, b = whole_counts(counts_a, "Counts of scores"), whole_counts(counts_b, "Counts of scores")
    if a.size != b.size:
        raise DataError(f"Both groups need one count per score; found {a.size} and {b.size} counts.")
    n_a, n_b = int(a.sum()), int(b.sum())
    if not n_a or not n_b:
        return AUC(None, None, None, confidence, n_a, n_b)
    placement_a = placements(b)
    placement_b = 1.0 - placements(a)
    auc = float((a * placement_a).sum() / n_a)
    variance = math.nan
    if min(n_a, n_b) > 1:
        variance = _variance(placement_a, a) / n_a + _variance(placement_b, b) / n_b
    rows = _rows_worth(auc, variance, min(n_a, n_b))
    if by_persons is not None:
        of_persons = _rows_worth(auc, by_persons.variance, by_persons.fewest)
        rows = min(rows, of_persons) / shrink_of_few(by_persons.df, alpha)
    low, high = wilson_interval(auc * rows, rows, confidence)
    return AUC(auc, low, high, confidence, n_a, n_b)


def placements(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of a group below each value, ties counted one half; NaN in a group without rows."""
    up_to = np.cumsum(counts)
    with np.errstate(invalid="ignore"):
        below: NDArray[np.float64] = (up_to - 0.5 * counts) / up_to[-1:]
    return below


def _rows_worth(auc: float, variance: float, fewest: float) -> float:
    """How many independent rows the area is worth, by its variance and by the rows of the smaller group."""
    if not (variance > 0.0 and 0.0 < auc < 1.0):
        return fewest
    by_variance = max(auc * (1.0 - auc) / variance, fewest)
    wrong = fewest * min(auc, 1.0 - auc)
    weight = wrong / (wrong + 0.5)
    return math.exp(weight * math.log(by_variance) + (1.0 - weight) * math.log(fewest))


def _variance(placed: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Sample variance of values that occur so many times; exactly 0 when all rows have one."""
    present = placed[counts > 0]
    if present[0] == present[-1]:
        return 0.0
    rows = counts.sum()
    mean = (placed * counts).sum() / rows
    return float((np.square(placed - mean) * counts).sum() / (rows - 1))
