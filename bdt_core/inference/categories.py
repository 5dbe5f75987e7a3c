"""Two groups over the levels of a categorical variable: the whole table, then each level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bdt_core.errors import DataError
from bdt_core.inference._checks import fraction, whole_counts
from bdt_core.inference.comparison import Comparison, compare_count_arrays, too_few
from bdt_core.inference.exact import SMALLEST_P
from bdt_core.inference.exchange import drawn_counts, permutation_p_value
from bdt_core.result import Result
from bdt_core.said import Text

SMALLEST_EXPECTED = 5.0
DRAWS = 9_999

_TIE = 1e-9
_CELLS_IN_ALL = 10_000_000
_LARGEST_TABLE = 1_000_000_000


@dataclass(frozen=True)
class CategoricalComparison(Result):
    """One group (a) against another (b) over all levels of a categorical variable.

    Attributes
    ----------
    status : {"tested", "not_testable"}
    reason : str or None
        Why no test was made.
    test : str or None
        "chi-squared", or "chi-squared by permutation" when an expected count is below 5.
    n_a, n_b : int
        Rows.
    statistic : float or None
        Pearson's chi-squared over all levels that occur, without continuity correction; cells of 0 are kept.
    dof : int or None
        Levels that occur, less one.
    p_value : float or None
        p-value of `test`.
    chi_squared_p_value : float or None
        p-value of the statistic by the chi-squared distribution, whatever `test` is.
    effect_size, effect_name : float and str, or None
        "Cramér's V", 0 to 1.
    smallest_expected : float or None
        Smallest expected count.
    confidence : float
        1 - alpha.
    levels : tuple of int
        Codes that occur in either group, rising.
    comparisons : tuple of Comparison
        Share of each of those levels in a against its share in b. With two levels both are one and the
        same test: count it once in a family.
    """

    status: Literal["tested", "not_testable"]
    reason: Text | None
    test: Text | None
    n_a: int
    n_b: int
    statistic: float | None
    dof: int | None
    p_value: float | None
    chi_squared_p_value: float | None
    effect_size: float | None
    effect_name: str | None
    smallest_expected: float | None
    confidence: float
    levels: tuple[int, ...]
    comparisons: tuple[Comparison, ...]


def compare_category_counts(
    counts_a: ArrayLike,
    counts_b: ArrayLike,
    *,
    alpha: float = 0.05,
    min_rows: int = 30,
    random_state: int = 0,
) -> CategoricalComparison:
    """Compare how two groups spread over levels, from the number of rows in each level.

    Parameters
    ----------
    counts_a, counts_b : array-like of int, shape (n_levels,)
        Rows of each group in each level. Levels that occur in neither group are left out.
    alpha : float, default 0.05
        Level of the intervals, whose confidence is 1 - alpha.
    min_rows : int, default 30
        With fewer rows on a side nothing is tested and no share is shown.
    random_state : int, default 0
        Seed of the drawn tables.

    Returns
    -------
    CategoricalComparison
        A variable with one level only has a statistic of 0 and p = 1.

    Raises
    ------
    DataError
        Counts that are not whole numbers, or not of one length.
    SpecError
        alpha outside (0, 1).

    Notes
    -----
    With an expected count below 5 the p-value is (1 + tables at least as extreme) / (tables + 1) over 9,999
    tables drawn with the margins of this one (fewer above 1,000 levels: the work is limited to 10 million
    cells, and never below 999 tables). Only counts enter, so that the order of rows does not matter.

    Examples
    --------
    >>> result = compare_category_counts([30, 5, 0], [60, 30, 9])
    >>> result.test, result.levels, round(result.statistic, 3)
    ('chi-squared by permutation', (0, 1, 2), 8.149)
    """
    fraction(alpha, "alpha")
    a, b = whole_counts(counts_a, "Counts of levels"), whole_counts(counts_b, "Counts of levels")
    if a.shape != b.shape:
        raise DataError(f"Both groups need one count per level; found {a.size} and {b.size} counts.")
    n_a, n_b = int(a.sum()), int(b.sum())
    levels = np.flatnonzero(a + b)
    a, b = a[levels], b[levels]
    comparisons = tuple(compare_count_arrays(a, n_a, b, n_b, alpha=alpha, min_rows=min_rows))
    needed = max(min_rows, 1)
    untested = CategoricalComparison(
        status="not_testable",
        reason=too_few("rows", n_a, n_b, needed),
        test=None,
        n_a=n_a,
        n_b=n_b,
        statistic=None,
        dof=None,
        p_value=None,
        chi_squared_p_value=None,
        effect_size=None,
        effect_name=None,
        smallest_expected=None,
        confidence=1.0 - alpha,
        levels=tuple(int(level) for level in levels),
        comparisons=comparisons,
    )
    if min(n_a, n_b) < needed:
        return untested
    statistic = float(_chi_squared(a[None, :], a + b, n_a, n_b)[0])
    dof = levels.size - 1
    expected = float((a + b).min()) * min(n_a, n_b) / (n_a + n_b)
    asymptotic = max(float(special.chdtrc(dof, statistic)), SMALLEST_P) if dof else 1.0
    drawn = dof > 0 and expected < SMALLEST_EXPECTED and n_a + n_b < _LARGEST_TABLE
    return replace(
        untested,
        status="tested",
        reason=None,
        test="chi-squared by permutation" if drawn else "chi-squared",
        statistic=statistic,
        dof=dof,
        p_value=_permutation_p(statistic, a + b, n_a, n_b, random_state) if drawn else asymptotic,
        chi_squared_p_value=asymptotic,
        effect_size=float(np.sqrt(min(1.0, statistic / (n_a + n_b)))),
        effect_name="Cramér's V",
        smallest_expected=expected,
    )


def _chi_squared(tables: NDArray[Any], totals: NDArray[Any], n: int, rest: int) -> NDArray[np.float64]:
    """Pearson's statistic of tables whose one row is given (draws x levels) and whose margins are fixed."""
    rows = n + rest
    expected = totals * (n / rows)
    # (x - e)^2 / e in one row and (x - e)^2 / (total - e) in the other add up to this.
    weights = rows / (rest * expected)
    statistic: NDArray[np.float64] = (np.square(tables - expected) * weights).sum(axis=1)
    return statistic


def _permutation_p(observed: float, totals: NDArray[np.int64], n_a: int, n_b: int, random_state: int) -> float:
    smaller, larger = sorted((n_a, n_b))
    draws = min(DRAWS, max(999, _CELLS_IN_ALL // totals.size))
    as_large = 0
    for tables in drawn_counts(totals, smaller, draws, np.random.default_rng(random_state)):
        statistics = _chi_squared(tables, totals, smaller, larger)
        as_large += int((statistics >= observed * (1.0 - _TIE)).sum())
    return permutation_p_value(as_large, draws)
