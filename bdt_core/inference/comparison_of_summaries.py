"""One group against another by summaries of their values: the comparison that the rows would give."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from bdt_core.inference._checks import fraction
from bdt_core.inference.comparison import (
    FEWEST_ROWS_OF_MEANS,
    ONE_VALUE,
    Comparison,
    TestName,
    check_test,
    compare_count_arrays,
    mean_comparison,
    not_testable,
    power_of_two,
    too_few_rows,
    two_values,
)
from bdt_core.inference.permutation import (
    LARGEST_DRAW,
    SKEW_LIMIT,
    permutation_test_of_counts,
    skewness_from_moments,
    too_few_or_constant,
)
from bdt_core.inference.summaries import Moments, Summary, ValueCounts

MOST_ROWS_DRAWN = 999_999_999
"""NumPy draws no tables of more."""


def compare_summaries(
    a: Summary,
    b: Summary,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    min_rows: int = 30,
    random_state: int = 0,
) -> Comparison:
    """Compare two groups by the summaries of their values; equals `compare_samples` on the rows, up to rounding.

    Parameters
    ----------
    a, b : ValueCounts or Moments
        Both of one kind, and made with the same values or the same scale.
    test, alpha, min_rows, random_state
        As in `compare_samples`.

    Returns
    -------
    Comparison

    Raises
    ------
    DataError
        "exact" on more than two values.
    SpecError
        An unknown test, or alpha outside (0, 1).

    Notes
    -----
    From counts the same test is made as from the rows. Of moments, which stand for more than 2,000 distinct values,
    the test is always Welch's, whatever the skewness: permutations need the rows. `drawing_needs_rows` tells whether
    `compare_samples` would have drawn them.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.0, 1.0])
    >>> a, b = ValueCounts(values, np.array([20, 40])), ValueCounts(values, np.array([160, 140]))
    >>> result = compare_summaries(a, b)
    >>> result.test, round(result.difference, 3), round(result.p_value, 4)
    ('exact mid-p', 0.2, 0.0048)
    """
    fraction(alpha, "alpha")
    if isinstance(a, Moments) and isinstance(b, Moments):
        check_test(test, None)
        return _compare_moments(a, b, alpha, min_rows)
    if not isinstance(a, ValueCounts) or not isinstance(b, ValueCounts):
        raise TypeError("Two groups are compared by counts or by moments, not one by these and the other by those.")
    two = two_values(a.present, b.present)
    check_test(test, two)
    if two is not None and test in ("auto", "exact"):
        low, high = two
        if low == high:
            return not_testable("binary", a.rows, b.rows, alpha, ONE_VALUE)
        return compare_count_arrays(
            [a.rows_with(high)],
            [a.rows],
            [b.rows_with(high)],
            [b.rows],
            alpha=alpha,
            min_rows=min_rows,
            lower=low,
            step=high - low,
        )[0]
    return _compare_means_of_counts(a, b, two, test, alpha, min_rows, random_state)


def drawing_needs_rows(a: Summary, b: Summary, test: TestName = "auto") -> bool:
    """Whether `compare_samples` would draw permutations of rows where `compare_summaries` cannot.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.0, 1.0])
    >>> drawing_needs_rows(ValueCounts(values, np.array([2, 4])), ValueCounts(values, np.array([6, 1])))
    False
    """
    if not isinstance(a, Moments) or not isinstance(b, Moments) or test not in ("auto", "permutation"):
        return False
    return test == "permutation" or (
        min(a.rows, b.rows) <= LARGEST_DRAW and _welch_is_unreliable(a, b, a.powers_around_mean, b.powers_around_mean)
    )


def _compare_moments(a: Moments, b: Moments, alpha: float, min_rows: int) -> Comparison:
    too_few = too_few_rows(a.rows, b.rows, max(min_rows, FEWEST_ROWS_OF_MEANS))
    if too_few:
        return not_testable("continuous", a.rows, b.rows, alpha, too_few)
    if a.is_constant and b.is_constant and a.span.low == b.span.low:
        return not_testable("continuous", a.rows, b.rows, alpha, ONE_VALUE)
    summary = (*a.mean_and_variance(), a.rows, *b.mean_and_variance(), b.rows)
    unit = math.ldexp(1.0, a.scale.unit)
    return mean_comparison("continuous", summary, unit, (a.mean, b.mean), (None, None), None, alpha)


def _compare_means_of_counts(
    a: ValueCounts,
    b: ValueCounts,
    two: tuple[float, float] | None,
    test: TestName,
    alpha: float,
    min_rows: int,
    random_state: int,
) -> Comparison:
    kind: Literal["binary", "continuous"] = "continuous" if two is None else "binary"
    too_few = too_few_rows(a.rows, b.rows, max(min_rows, FEWEST_ROWS_OF_MEANS))
    if too_few:
        return not_testable(kind, a.rows, b.rows, alpha, too_few)
    present = a.values[a.counts + b.counts > 0]
    if present.size == 1:
        return not_testable(kind, a.rows, b.rows, alpha, ONE_VALUE)
    unit = power_of_two(max(abs(present[0]), abs(present[-1])))
    summary = (*a.mean_and_variance(unit), a.rows, *b.mean_and_variance(unit), b.rows)
    events = (None, None) if two is None else (a.rows_with(two[1]), b.rows_with(two[1]))
    unreliable = test == "permutation" or (
        test == "auto"
        and _welch_is_unreliable(a, b, lambda: a.powers_around_mean(unit), lambda: b.powers_around_mean(unit))
    )
    drawn = None
    if unreliable and a.rows + b.rows <= MOST_ROWS_DRAWN:
        occur = a.counts + b.counts > 0
        drawn = permutation_test_of_counts(
            present / unit, a.counts[occur], b.counts[occur], alpha=alpha, random_state=random_state
        )
    return mean_comparison(kind, summary, unit, (summary[0] * unit, summary[3] * unit), events, drawn, alpha)


def _welch_is_unreliable(
    a: Summary,
    b: Summary,
    powers_of_a: Callable[[], tuple[float, float]],
    powers_of_b: Callable[[], tuple[float, float]],
) -> bool:
    """The rule of `needs_permutation`, but for what drawing costs."""
    if too_few_or_constant(a.rows, b.rows, a.is_constant or b.is_constant):
        return True
    rows = a.rows + b.rows
    second, third = ((one + other) / rows for one, other in zip(powers_of_a(), powers_of_b(), strict=True))
    return skewness_from_moments(second, third, a.rows, b.rows) > SKEW_LIMIT
