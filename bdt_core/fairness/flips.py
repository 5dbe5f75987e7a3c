"""Flip test: do similar people of the other groups get another prediction?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness.coding import column
from bdt_core.fairness.neighbours import mean_of_nearest
from bdt_core.inference.persons import person_sums, shrink_of_mean
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, say
from bdt_core.table.facts import holds_numbers
from bdt_core.table.frames import AnyTable, handed_over

Sign = Literal["paper", "smclarify"]
Distance = Literal["standardised", "raw"]
Floats = NDArray[np.float64]

_TIE = 1e-9
_FEW_OF_A = 10


@dataclass(frozen=True)
class FlipTest(Result):
    """Result of the flip test.

    Attributes
    ----------
    estimate : float or None
        (F+ - F-) / n_d: positive when d is treated worse than similar rows of a (with ``sign="smclarify"``: negative).
    low, high : float or None
        Interval over the rows of d, the rows of a being taken as they are.
    undefined_reason : str or None
    n_d, n_a : int
        Rows.
    to_positive : int
        F+: rows of d predicted negative whose nearest rows of a are mostly predicted positive.
    to_negative : int
        F-: the reverse.
    sign : {"paper", "smclarify"}
    """

    estimate: float | None
    low: float | None
    high: float | None
    undefined_reason: Text | None
    n_d: int
    n_a: int
    to_positive: int
    to_negative: int
    sign: Sign


def flip_test(
    features: AnyTable,
    in_d: NDArray[np.bool_],
    predicted: NDArray[np.bool_],
    *,
    k: int = 5,
    sign: Sign = "paper",
    distance: Distance = "standardised",
    alpha: float = 0.05,
    workers: int = 1,
    persons: NDArray[np.int64] | None = None,
) -> FlipTest:
    """Compare each row of d with its k nearest rows of a.

    Parameters
    ----------
    features : DataFrame, Arrow table or dict of columns, n rows
        Columns that make rows similar: the facet and the label do not belong here.
    in_d : ndarray of bool, shape (n,)
        Rows of d; all others are a.
    predicted : ndarray of bool, shape (n,)
        Whether the prediction is favourable.
    k : int, default 5
        Neighbours that decide by majority; half is no majority.
    sign : {"paper", "smclarify"}
        "paper" as in Clarify's guide, positive against d; "smclarify" the opposite, as its code has it.
    distance : {"standardised", "raw"}
        Whether numbers count in standard deviations of all rows, or as they are, as Clarify's code has it: then also
        one neighbour decides where a has fewer than 10 rows.
    alpha : float
        The interval has confidence 1 - alpha.
    workers : int, default 1
        Threads; the result does not depend on them.
    persons : ndarray of int64, shape (n,), optional
        The number of each row's person, where one may have several rows: the interval then counts persons of d.

    Returns
    -------
    FlipTest

    Raises
    ------
    SpecError
        k below 1, or an unknown sign or distance.
    DataError
        No usable feature, or lengths that differ.

    Notes
    -----
    Distance is Euclidean. A number counts in standard deviations of all rows, unless ``distance="raw"``; a missing
    one is put at the mean and flagged. A category that differs counts as one standard deviation, and missing is a
    category. Neighbours are exact. When rows tie for the last places among the k nearest, their mean prediction fills
    those places, so that the order of rows does not matter.

    References
    ----------
    Das, S. et al. (2021). Fairness measures for machine learning in finance. Journal of Financial Data Science.
    Agresti, A., Min, Y. (2005). Statistics in Medicine 24, 729-740 (the interval).

    Examples
    --------
    >>> features = pd.DataFrame({"income": [1.0, 2.0, 9.0, 1.1, 2.1, 9.1]})
    >>> in_d = np.array([True] * 3 + [False] * 3)
    >>> predicted = np.array([False, True, True, True, True, True])
    >>> result = flip_test(features, in_d, predicted, k=1)
    >>> result.to_positive, result.to_negative, round(result.estimate, 4)
    (1, 0, 0.3333)
    """
    if k < 1:
        raise SpecError(f"k must be 1 or more; found {k}.")
    if sign not in ("paper", "smclarify"):
        raise SpecError(f'sign must be "paper" or "smclarify"; found "{sign}".')
    if distance not in ("standardised", "raw"):
        raise SpecError(f'distance must be "standardised" or "raw"; found "{distance}".')
    features = handed_over(features)
    if not len(features) == len(in_d) == len(predicted):
        raise DataError("features, in_d and predicted must have one entry per row.")
    n_d, n_a = int(np.count_nonzero(in_d)), int(np.count_nonzero(~in_d))
    if distance == "raw" and n_a < _FEW_OF_A:
        k = 1
    if not n_d or n_a < k:
        reason = "no rows in d" if not n_d else say("{N} rows in a: fewer than k = {Nk}", N=Numeral(n_a), Nk=Numeral(k))
        return FlipTest(None, None, None, reason, n_d, n_a, 0, 0, sign)
    points = _as_points(features, distance)
    share = mean_of_nearest(points[in_d], points[~in_d], predicted[~in_d], k, workers)
    of_d = predicted[in_d]
    flips = (~of_d & (share > 0.5 + _TIE)).astype(np.int64) - (of_d & (share < 0.5 - _TIE))
    to_positive, to_negative = int(np.count_nonzero(flips > 0)), int(np.count_nonzero(flips < 0))
    estimate = (to_positive - to_negative) / n_d
    shrink = 1.0
    if persons is not None:
        sums = person_sums(flips.astype(np.float64), persons[in_d], int(persons.max()) + 1)
        shrink = shrink_of_mean(sums, to_positive + to_negative, alpha)
    low, high = _interval(to_positive / shrink, to_negative / shrink, n_d / shrink, alpha)
    if sign == "smclarify":
        estimate, low, high = -estimate, -high, -low
    return FlipTest(estimate, low, high, None, n_d, n_a, to_positive, to_negative, sign)


def usable_features(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The named columns, or the error that says which is missing."""
    return pd.DataFrame({name: column(frame, name) for name in names})


def _as_points(features: pd.DataFrame, distance: Distance) -> Floats:
    """Rows as points; constant columns drop out."""
    columns: list[Floats] = []
    for name in features.columns:
        series = column(features, name)
        if holds_numbers(series):
            columns += _number(series.to_numpy(dtype=np.float64, na_value=np.nan), str(name), distance)
        else:
            columns += _category(series)
    if not columns:
        raise DataError("No feature differs between rows: nothing makes rows similar.")
    return np.stack(columns, axis=1)


def _number(values: Floats, name: str, distance: Distance) -> list[Floats]:
    missing = np.isnan(values)
    if np.isinf(values).any():
        raise DataError(f'Feature "{name}" holds infinite values. Remove or replace them.')
    flag = [missing.astype(np.float64)] if missing.any() and not missing.all() else []
    if missing.all():
        return []
    # Sorted sums do not depend on the order of rows.
    known = np.sort(values[~missing])
    mean, std = float(known.mean()), float(known.std())
    if std <= 1e-12 * max(1.0, abs(mean)):
        return flag
    unit = std if distance == "standardised" else 1.0
    return [np.where(missing, 0.0, (values - mean) / unit), *flag]


def _category(series: pd.Series[Any]) -> list[Floats]:
    codes, levels = pd.factorize(series.astype(object), use_na_sentinel=False)
    if len(levels) < 2:
        return []
    # Two rows that differ are a distance of 1 apart.
    if len(levels) == 2:
        return [codes.astype(np.float64)]
    return [(codes == code) / math.sqrt(2.0) for code in range(len(levels))]


def _interval(plus: float, minus: float, n: float, alpha: float) -> tuple[float, float]:
    """Wald's interval for a difference of paired proportions, with half a row added to each kind."""
    z = float(special.ndtri(1.0 - 0.5 * alpha))
    plus_rate, minus_rate = (plus + 0.5) / (n + 2.0), (minus + 0.5) / (n + 2.0)
    gap = plus_rate - minus_rate
    reach = z * math.sqrt((plus_rate + minus_rate - gap**2) / (n + 2.0))
    estimate = (plus - minus) / n
    return min(max(gap - reach, -1.0), estimate), max(min(gap + reach, 1.0), estimate)
