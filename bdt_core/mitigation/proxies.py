"""Features that stand in for a protected attribute: how well each one tells it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bdt_core import words
from bdt_core.fairness.coding import Coded, code_column, column
from bdt_core.inference import AUC, area_under_curve
from bdt_core.inference._checks import fraction
from bdt_core.inference.persons import area_by_persons, person_sums, shrink_of_mean
from bdt_core.mitigation.checks import in_order, persons_of_rows
from bdt_core.mitigation.reweighing import cell_counts, expected_counts
from bdt_core.result import Result
from bdt_core.said import Text, say
from bdt_core.table.facts import holds_numbers
from bdt_core.table.frames import AnyTable, handed_over

Measure = Literal["Cramér's V, bias-corrected", "AUC", "rank correlation"]

FEWEST_ROWS = 30
"""Fewer rows, of a group or altogether, tell nothing that could be shown."""
_MOST_CELLS = 10_000_000


@dataclass(frozen=True)
class Proxy:
    """How well one feature tells one protected attribute.

    Attributes
    ----------
    feature, protected : str
    measure : {"Cramér's V, bias-corrected", "AUC", "rank correlation"} or None
        Two categorical columns; a numeric and a categorical one; two numeric ones. None: not measured.
    level : str or None
        AUC: the category that the number tells best from all other rows, by the end of its interval nearest to .5.
    estimate, low, high : float or None
        V in [0, 1] (no interval is given for it); AUC in [0, 1], .5 telling nothing; correlation in [-1, 1].
    strength : float or None
        On one scale, 0 (tells nothing) to 1 (tells all): V, ``|2 AUC - 1|``, ``|correlation|``.
    rows : int
        Rows with both values; a missing category is a level of its own.
    reason : str or None
        Why nothing was measured.
    """

    feature: str
    protected: str
    measure: Measure | None
    level: str | None
    estimate: float | None
    low: float | None
    high: float | None
    strength: float | None
    rows: int
    reason: Text | None = None


@dataclass(frozen=True)
class ProxyTable(Result):
    """All pairs of feature and protected attribute, strongest first.

    Attributes
    ----------
    confidence : float
        Of each interval alone.
    proxies : tuple of Proxy
    """

    confidence: float
    proxies: tuple[Proxy, ...]

    def table(self) -> pd.DataFrame:
        """One line per pair, strongest first."""
        names = ("feature", "protected", "measure", "level", "estimate", "low", "high", "strength", "rows", "reason")
        return pd.DataFrame({name: [getattr(one, name) for one in self.proxies] for name in names})


def proxy_table(
    frame: AnyTable,
    features: Sequence[str],
    protected: Sequence[str],
    *,
    alpha: float = 0.05,
    person: str | None = None,
) -> ProxyTable:
    """Measure how well each feature tells each protected attribute.

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns
    features, protected : sequence of str
        Columns. Numeric ones with more than two values are taken as numbers, all others as categories.
    alpha : float
        Intervals of AUC and rank correlation (Bonett & Wright) have confidence 1 - alpha, each alone.
    person : str, optional
        Column that names the person, where one may have several rows: intervals then count persons.

    Returns
    -------
    ProxyTable
        A pair of the same column is left out.

    Raises
    ------
    DataError
        A column that does not exist.
    SpecError
        alpha outside (0, 1).

    Notes
    -----
    One feature at a time: several weak ones can tell an attribute together. Of several categories the one told best
    is shown, which errs towards the strong side where all are told badly. V is corrected for the value that it
    would have by chance (Bergsma 2013), so that 0 means "no more than chance".

    References
    ----------
    Bergsma, W. (2013). A bias-correction for Cramér's V and Tschuprow's T. Journal of the Korean Statistical
    Society 42, 323-328. Bonett, D. G., Wright, T. A. (2000). Psychometrika 65, 23-28.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": list("fm") * 50, "job": ["nurse", "pilot"] * 50, "age": range(100)})
    >>> found = proxy_table(frame, ["age", "job"], ["sex"])
    >>> [(one.feature, one.measure, round(one.strength, 2)) for one in found.proxies]
    [('job', "Cramér's V, bias-corrected", 1.0), ('age', 'AUC', 0.02)]
    """
    frame, confidence = handed_over(frame), 1.0 - fraction(alpha, "alpha")
    columns = {name: column(frame, name) for name in dict.fromkeys([*features, *protected])}
    numeric = {name: _is_number(one) for name, one in columns.items()}
    proxies, who = [], None if person is None else persons_of_rows(frame, person)
    for attribute in dict.fromkeys(protected):
        for feature in dict.fromkeys(features):
            if feature == attribute:
                continue
            if numeric[feature] and numeric[attribute]:
                proxies.append(_correlated(columns[feature], columns[attribute], alpha, who))
            elif numeric[feature]:
                proxies.append(_telling(columns[feature], columns[attribute], feature, attribute, alpha, who))
            elif numeric[attribute]:
                proxies.append(_telling(columns[attribute], columns[feature], feature, attribute, alpha, who))
            else:
                proxies.append(_associated(columns[feature], columns[attribute], who))
    order = sorted(proxies, key=lambda one: (one.strength is None, -(one.strength or 0.0), one.protected, one.feature))
    return ProxyTable(confidence, tuple(order))


def bias_corrected_cramers_v(counts: NDArray[Any]) -> float:
    """Cramér's V of a table of counts, less what chance alone would give; 0 to 1.

    Parameters
    ----------
    counts : ndarray of shape (r, c)
        Rows and columns without counts are left out. A table with a single row or column gives 0.

    References
    ----------
    Bergsma, W. (2013). Journal of the Korean Statistical Society 42, 323-328.

    Examples
    --------
    >>> bias_corrected_cramers_v(np.array([[50, 0], [0, 50]])), bias_corrected_cramers_v(np.array([[5, 5], [5, 5]]))
    (1.0, 0.0)
    """
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    n = table.sum()
    r, c = table.shape
    if min(r, c) < 2 or n < 2:
        return 0.0
    expected = expected_counts(table)
    phi2 = float(((table - expected) ** 2 / expected).sum() / n)
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    fewest = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1.0
    return min(1.0, math.sqrt(phi2 / fewest)) if fewest > 0.0 else 0.0


def _associated(feature: pd.Series[Any], protected: pd.Series[Any], who: NDArray[np.int64] | None) -> Proxy:
    names = (str(feature.name), str(protected.name))
    codes, other = _codes(feature), _codes(protected)
    rows = codes.codes.size
    sizes = (len(codes.levels), len(other.levels))
    if _worth(rows, who) < FEWEST_ROWS:
        return _nothing(*names, rows, _few(who))
    if max(sizes) > rows / 2:
        return _nothing(*names, rows, say("nearly every row has a value of its own"))
    if sizes[0] * sizes[1] > _MOST_CELLS:
        return _nothing(
            *names,
            rows,
            say(
                "{N} x {Nother} combinations are too many to count",
                N=words.count(sizes[0]),
                Nother=words.count(sizes[1]),
            ),
        )
    counts = cell_counts(other, codes)
    if min((counts.sum(axis=axis) > 0).sum() for axis in (0, 1)) < 2:
        return _nothing(*names, rows, say("one of the columns has a single value"))
    v = bias_corrected_cramers_v(counts)
    return Proxy(*names, "Cramér's V, bias-corrected", None, v, None, None, v, rows)


_NO_SIDES = "no two sides with {N} rows to compare"
_NO_SIDES_OF_PERSONS = "no two sides with {N} persons to compare"


def _telling(
    numbers: pd.Series[Any],
    categories: pd.Series[Any],
    feature: str,
    protected: str,
    alpha: float,
    who: NDArray[np.int64] | None,
) -> Proxy:
    """How well a number tells the category that it tells best."""
    x = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    known = np.isfinite(x)
    coded = _codes(categories)
    x, codes = x[known], coded.codes[known]
    whose = None if who is None else who[known]
    compared = [
        level
        for level in range(len(coded.levels))
        if min(
            _worth(int(one.sum()), None if whose is None else whose[one]) for one in (codes == level, codes != level)
        )
        >= FEWEST_ROWS
    ]
    if not compared:
        few = say(_NO_SIDES if who is None else _NO_SIDES_OF_PERSONS, N=words.count(FEWEST_ROWS))
        return _nothing(feature, protected, int(codes.size), few)
    areas = {level: _area(x, codes == level, whose, alpha) for level in compared}
    best = max(areas, key=lambda level: (_distance(areas[level]), _name(coded, level)))
    area = areas[best]
    assert area.auc is not None
    strength = abs(2.0 * area.auc - 1.0)
    return Proxy(
        feature, protected, "AUC", _name(coded, best), area.auc, area.low, area.high, strength, int(codes.size)
    )


def _area(x: NDArray[Any], inside: NDArray[np.bool_], who: NDArray[np.int64] | None, alpha: float) -> AUC:
    """How well a number tells some rows from all others."""
    if who is None:
        return area_under_curve(x[inside], x[~inside], alpha=alpha)
    return area_by_persons(x[inside], who[inside], x[~inside], who[~inside], alpha=alpha)


def _worth(rows: int, who: NDArray[np.int64] | None) -> int:
    """How many rows, or persons where they may have several."""
    return rows if who is None else len(np.unique(who))


def _few(who: NDArray[np.int64] | None) -> str:
    return say("fewer than {N} rows" if who is None else "fewer than {N} persons", N=words.count(FEWEST_ROWS))


def _distance(area: AUC) -> tuple[float, float]:
    """How far an interval lies from .5, then the estimate: few rows do not win by chance."""
    assert area.auc is not None
    assert area.low is not None
    assert area.high is not None
    return max(area.low - 0.5, 0.5 - area.high, 0.0), abs(area.auc - 0.5)


def _correlated(
    feature: pd.Series[Any], protected: pd.Series[Any], alpha: float, who: NDArray[np.int64] | None
) -> Proxy:
    names = (str(feature.name), str(protected.name))
    both = np.stack([one.to_numpy(dtype=np.float64, na_value=np.nan) for one in (feature, protected)])
    known = np.isfinite(both).all(axis=0)
    pair = pd.DataFrame(both[:, known].T, columns=["a", "b"])
    n = len(pair)
    is_few = _worth(n, None if who is None else who[known]) < FEWEST_ROWS
    if is_few or min(pair.nunique()) < 2:
        reason = _few(who) if is_few else "one of the columns has a single value"
        return _nothing(*names, n, reason)
    ranks = pair.rank()
    r = float(np.clip(np.corrcoef(ranks["a"], ranks["b"])[0, 1], -1.0, 1.0))
    low, high = r, r
    if abs(r) < 1.0:
        worth = n if who is None else n / _alike(ranks.to_numpy(), r, who[known], alpha)
        reach = float(special.ndtri(1.0 - 0.5 * alpha)) * math.sqrt((1.0 + 0.5 * r * r) / max(worth - 3.0, 1.0))
        low, high = math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
    return Proxy(*names, "rank correlation", None, r, low, high, abs(r), n)


def _alike(ranks: NDArray[np.float64], r: float, who: NDArray[np.int64], alpha: float) -> float:
    """What rows are divided by to be effective counts of a rank correlation, by what each row adds to it."""
    a, b = ((ranks - ranks.mean(axis=0)) / ranks.std(axis=0)).T
    added = a * b - 0.5 * r * (np.square(a) + np.square(b))
    steps = np.rint(added * 2.0**20)
    sums = person_sums(steps, who, int(who.max()) + 1)
    return shrink_of_mean(sums, float(np.square(steps).sum()), alpha)


def _nothing(feature: str, protected: str, rows: int, reason: str) -> Proxy:
    return Proxy(feature, protected, None, None, None, None, None, None, rows, reason)


def _is_number(series: pd.Series[Any]) -> bool:
    return holds_numbers(series) and series.nunique() > 2


def _codes(series: pd.Series[Any]) -> Coded:
    """Codes in the order of the levels."""
    return in_order(code_column(pd.DataFrame({"column": series.array}), "column"))


def _name(coded: Coded, level: int) -> str:
    return "(missing)" if coded.levels[level] is None else str(coded.levels[level])
