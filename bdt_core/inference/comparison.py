"""One group against another: the test, its interval, its effect size, and what the data could have shown."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import means
from bdt_core.inference._checks import counts_pair, finite_vector, fraction, json_number, number_or_none
from bdt_core.inference.exact import SMALLEST_P, mid_p_value
from bdt_core.inference.permutation import PermutationResult, needs_permutation, studentised_permutation_test
from bdt_core.inference.power import detectable_mean_difference, detectable_rate_difference
from bdt_core.inference.proportions import koopman_interval, newcombe_interval

TestName = Literal["auto", "exact", "welch", "permutation"]

FEWEST_ROWS_OF_MEANS = 5
DETECTION_POWER = 0.8
ONE_VALUE = "every row of both groups holds the same value"


@dataclass(frozen=True)
class Comparison:
    """One group (a) against another (b).

    Differences are a minus b and ratios a over b: positive, or above 1, when a has the higher mean. Whether
    higher is worse is the caller's to say. None stands for "undefined" or "not shown".

    Attributes
    ----------
    status : {"tested", "not_testable"}
    reason : str or None
        Why no test was made.
    kind : {"binary", "continuous"}
        Binary when both groups together hold two values.
    test : str or None
        "exact mid-p", "Welch's t" or "studentised permutation".
    n_a, n_b : int
        Rows.
    events_a, events_b : int or None
        Rows with the higher of the two values (binary only).
    mean_a, mean_b : float or None
        Means in the variable's units; rates for a 0/1 variable.
    difference, low, high : float or None
        Difference of means and its confidence interval, in the variable's units. Newcombe's interval for a
        binary variable, Welch's for others; with the permutation test the interval takes its critical values.
    confidence : float
        1 - alpha.
    ratio, ratio_low, ratio_high : float or None
        Ratio of rates with Koopman's interval, for a binary variable whose lower value is 0.
        Infinite when only a has events, None when nobody has.
    effect_size, effect_name : float and str, or None
        "Cohen's h" (binary) or "Hedges' g".
    p_value : float or None
        Two-sided.
    minimum_detectable_difference : float or None
        At 80 % power and two-sided alpha, in the variable's units; see `minimum_detectable_difference`.
    pooled_t, pooled_t_p_value, welch_t, welch_t_p_value : float or None
        Student's and Welch's t statistics on the same rows, always reported beside. On a binary
        variable with a small group they reject far too often: they are no basis for a verdict.

    Notes
    -----
    A mid-p value and a score interval invert different statistics, so that close to the limit p <= alpha and
    "0 lies outside the interval" can disagree.
    """

    status: Literal["tested", "not_testable"]
    reason: str | None
    kind: Literal["binary", "continuous"]
    test: str | None
    n_a: int
    n_b: int
    events_a: int | None
    events_b: int | None
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    confidence: float
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    effect_size: float | None
    effect_name: str | None
    p_value: float | None
    minimum_detectable_difference: float | None
    pooled_t: float | None
    pooled_t_p_value: float | None
    welch_t: float | None
    welch_t_p_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: infinite numbers as "Infinity" and "-Infinity", never NaN."""
        return {field.name: json_number(getattr(self, field.name)) for field in dataclasses.fields(self)}


def compare_samples(
    a: ArrayLike,
    b: ArrayLike,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    min_rows: int = 30,
    random_state: int = 0,
) -> Comparison:
    """Compare the values of two groups with the test that fits their kind.

    Parameters
    ----------
    a, b : array-like of numbers, shapes (n_a,) and (n_b,)
        Finite values of the two groups. Their order does not matter.
    test : {"auto", "exact", "welch", "permutation"}, default "auto"
        "auto" takes the exact mid-p test for two values; otherwise Welch's t, or the studentised permutation
        test when a side has fewer than 30 rows, no variance, or too much skewness for its size (see
        `bdt_core.inference.permutation.needs_permutation`). Welch and permutation can be asked for on two
        values, which are then treated as any numbers.
    alpha : float, default 0.05
        Two-sided level; intervals have confidence 1 - alpha.
    min_rows : int, default 30
        With fewer rows on a side nothing is tested and no mean is shown. Means always need 5 rows.
    random_state : int, default 0
        Seed of the permutations.

    Returns
    -------
    Comparison
        When all rows of both groups hold one value: for 0 or 1, rates of a 0/1 variable with p = 1 and an
        interval around 0; for any other value, or with "welch" and "permutation", not testable.

    Raises
    ------
    DataError
        Values that are not finite numbers, or "exact" on more than two values.
    SpecError
        An unknown test, or alpha outside (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> result = compare_samples(np.repeat([0, 1], [20, 40]), np.repeat([0, 1], [160, 140]))
    >>> result.test, round(result.difference, 3), round(result.p_value, 4)
    ('exact mid-p', 0.2, 0.0048)
    """
    fraction(alpha, "alpha")
    values_a, values_b = (
        finite_vector(a, "Values of the first group"),
        finite_vector(b, "Values of the second group"),
    )
    two = two_values(values_a, values_b)
    check_test(test, two)
    if two is not None and test in ("auto", "exact"):
        low, high = two
        if low == high:
            return not_testable("binary", values_a.size, values_b.size, alpha, ONE_VALUE)
        return compare_count_arrays(
            [np.count_nonzero(values_a == high)],
            [values_a.size],
            [np.count_nonzero(values_b == high)],
            [values_b.size],
            alpha=alpha,
            min_rows=min_rows,
            lower=low,
            step=high - low,
        )[0]
    return _compare_means(values_a, values_b, two, test, alpha, min_rows, random_state)


def compare_counts(
    events_a: int, n_a: int, events_b: int, n_b: int, *, alpha: float = 0.05, min_rows: int = 30
) -> Comparison:
    """Compare the rates of two groups from their counts; equals `compare_samples` on the 0/1 values.

    Parameters
    ----------
    events_a, n_a, events_b, n_b : int
        Events and rows of the two groups.
    alpha : float, default 0.05
        Two-sided level; intervals have confidence 1 - alpha.
    min_rows : int, default 30
        With fewer rows on a side nothing is tested and no rate is shown.

    Returns
    -------
    Comparison

    Raises
    ------
    DataError
        Events outside 0..n.
    SpecError
        alpha outside (0, 1).

    Examples
    --------
    >>> result = compare_counts(83, 1169, 4, 274)
    >>> round(result.difference, 4), round(result.low, 4), round(result.high, 4), round(result.p_value, 6)
    (0.0564, 0.0304, 0.0749, 7.5e-05)
    """
    fraction(alpha, "alpha")
    return compare_count_arrays([events_a], [n_a], [events_b], [n_b], alpha=alpha, min_rows=min_rows)[0]


def compare_count_arrays(
    events_a: ArrayLike,
    n_a: ArrayLike,
    events_b: ArrayLike,
    n_b: ArrayLike,
    *,
    alpha: float = 0.05,
    min_rows: int = 30,
    lower: float = 0.0,
    step: float = 1.0,
) -> list[Comparison]:
    """`compare_counts` for many pairs of groups at once, computed together.

    Parameters
    ----------
    events_a, n_a, events_b, n_b : array-like of int, shape (m,)
        Events and rows of the pairs.
    alpha, min_rows
        As in `compare_counts`.
    lower, step : float
        The lower of the variable's two values, and the distance to the higher one.

    Returns
    -------
    list of Comparison, length m

    Examples
    --------
    >>> pair = compare_count_arrays([10, 20], [50, 50], [10, 10], [100, 100])
    >>> [round(one.difference, 2) for one in pair]
    [0.1, 0.3]
    """
    x_a, rows_a = counts_pair(events_a, n_a)
    x_b, rows_b = counts_pair(events_b, n_b)
    x_a, rows_a, x_b, rows_b = np.broadcast_arrays(*np.atleast_1d(x_a, rows_a, x_b, rows_b))
    if any((one != np.floor(one)).any() for one in (x_a, rows_a, x_b, rows_b)):
        raise DataError("Counts of events and rows must be whole numbers.")
    confidence = 1.0 - alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        rate_a, rate_b = x_a / rows_a, x_b / rows_b
        pooled_rate = (x_a + x_b) / (rows_a + rows_b)
        ratio = rate_a / rate_b
        var_a, var_b = (
            rate_a * (1 - rate_a) * rows_a / (rows_a - 1),
            rate_b * (1 - rate_b) * rows_b / (rows_b - 1),
        )
        detectable = detectable_rate_difference(rows_a, rows_b, pooled_rate, alpha, DETECTION_POWER) * step
    low, high = newcombe_interval(x_a, rows_a, x_b, rows_b, confidence)
    ratio_low, ratio_high = koopman_interval(x_a, rows_a, x_b, rows_b, confidence)
    effect = 2.0 * (np.arcsin(np.sqrt(rate_a)) - np.arcsin(np.sqrt(rate_b)))
    pooled = means.pooled_t(rate_a, var_a, rows_a, rate_b, var_b, rows_b)
    welch = means.welch_t(rate_a, var_a, rows_a, rate_b, var_b, rows_b)

    results = []
    for i in range(x_a.size):
        n, m, events, other = int(rows_a[i]), int(rows_b[i]), int(x_a[i]), int(x_b[i])
        too_few = too_few_rows(n, m, max(min_rows, 1))
        if too_few:
            results.append(not_testable("binary", n, m, alpha, too_few))
            continue
        has_ratio = lower == 0.0 and events + other > 0
        results.append(
            Comparison(
                status="tested",
                reason=None,
                kind="binary",
                test="exact mid-p",
                n_a=n,
                n_b=m,
                events_a=events,
                events_b=other,
                mean_a=float(lower + step * rate_a[i]),
                mean_b=float(lower + step * rate_b[i]),
                difference=float(step * (rate_a[i] - rate_b[i])),
                low=float(step * low[i]),
                high=float(step * high[i]),
                confidence=confidence,
                ratio=float(ratio[i]) if has_ratio else None,
                ratio_low=float(ratio_low[i]) if has_ratio else None,
                ratio_high=float(ratio_high[i]) if has_ratio else None,
                effect_size=float(effect[i]),
                effect_name="Cohen's h",
                p_value=mid_p_value(events, n, other, m),
                minimum_detectable_difference=float(detectable[i]),
                pooled_t=number_or_none(pooled.statistic[i]),
                pooled_t_p_value=number_or_none(pooled.p_value[i]),
                welch_t=number_or_none(welch.statistic[i]),
                welch_t_p_value=number_or_none(welch.p_value[i]),
            )
        )
    return results


def _compare_means(
    values_a: NDArray[Any],
    values_b: NDArray[Any],
    two: tuple[float, float] | None,
    test: TestName,
    alpha: float,
    min_rows: int,
    random_state: int,
) -> Comparison:
    kind: Literal["binary", "continuous"] = "continuous" if two is None else "binary"
    n_a, n_b = values_a.size, values_b.size
    too_few = too_few_rows(n_a, n_b, max(min_rows, FEWEST_ROWS_OF_MEANS))
    if too_few:
        return not_testable(kind, n_a, n_b, alpha, too_few)
    # Sorted, every sum below is the same for any order of the rows; a power of two as the unit loses nothing
    # and keeps squares of very large or very small values in range.
    a, b = np.sort(values_a.astype(np.float64)), np.sort(values_b.astype(np.float64))
    events = (None, None) if two is None else (int((a == two[1]).sum()), int((b == two[1]).sum()))
    if a[0] == a[-1] == b[0] == b[-1]:
        return not_testable(kind, n_a, n_b, alpha, ONE_VALUE)
    unit = power_of_two(max(abs(a[0]), abs(a[-1]), abs(b[0]), abs(b[-1])))
    a, b = a / unit, b / unit
    summary = (*_mean_and_variance(a), n_a, *_mean_and_variance(b), n_b)
    drawn = None
    if test == "permutation" or (test == "auto" and needs_permutation(a, b)):
        drawn = studentised_permutation_test(a, b, alpha=alpha, random_state=random_state)
    return mean_comparison(kind, summary, unit, (summary[0] * unit, summary[3] * unit), events, drawn, alpha)


def mean_comparison(
    kind: Literal["binary", "continuous"],
    summary: tuple[float, float, int, float, float, int],
    unit: float,
    own_means: tuple[float, float],
    events: tuple[int | None, int | None],
    drawn: PermutationResult | None,
    alpha: float,
) -> Comparison:
    """The comparison of two means, variances and numbers of rows, in ``unit``; by permutation where one was drawn."""
    n_a, n_b = summary[2], summary[5]
    difference = summary[0] - summary[3]
    welch, pooled = means.welch_t(*summary), means.pooled_t(*summary)
    error, df = means.welch_error(summary[1], n_a, summary[4], n_b)
    if drawn is not None:
        name = "studentised permutation"
        p_value = drawn.p_value
        low, high = difference - drawn.high_t * float(error), difference - drawn.low_t * float(error)
    else:
        name = "Welch's t"
        p_value = max(float(welch.p_value), SMALLEST_P)
        low, high = means.welch_interval(*summary, confidence=1.0 - alpha)
    return Comparison(
        status="tested",
        reason=None,
        kind=kind,
        test=name,
        n_a=n_a,
        n_b=n_b,
        events_a=events[0],
        events_b=events[1],
        mean_a=own_means[0],
        mean_b=own_means[1],
        difference=difference * unit,
        low=number_or_none(low * unit),
        high=number_or_none(high * unit),
        confidence=1.0 - alpha,
        ratio=None,
        ratio_low=None,
        ratio_high=None,
        effect_size=number_or_none(float(means.hedges_g(*summary))),
        effect_name="Hedges' g",
        p_value=p_value,
        minimum_detectable_difference=number_or_none(
            float(detectable_mean_difference(error, df, alpha, DETECTION_POWER)) * unit
        ),
        pooled_t=number_or_none(float(pooled.statistic)),
        pooled_t_p_value=number_or_none(float(pooled.p_value)),
        welch_t=number_or_none(float(welch.statistic)),
        welch_t_p_value=number_or_none(float(welch.p_value)),
    )


def check_test(test: str, two: tuple[float, float] | None) -> None:
    if test not in get_args(TestName):
        raise SpecError(f"Unknown test {test!r}. Known: {', '.join(get_args(TestName))}.")
    if test == "exact" and two is None:
        raise DataError(
            "The exact test compares rates and needs a variable with two values; this one has more. "
            'Use test "auto", "welch" or "permutation".'
        )


def two_values(a: NDArray[Any], b: NDArray[Any]) -> tuple[float, float] | None:
    """The lower and higher value when both groups together hold at most two, else None.

    One value only counts as a 0/1 variable when it is 0 or 1; otherwise it is returned twice.
    """
    filled = [one for one in (a, b) if one.size]
    if not filled:
        return 0.0, 1.0
    low, high = min(one.min() for one in filled), max(one.max() for one in filled)
    if low == high:
        return (0.0, 1.0) if low in (0, 1) else (float(low), float(high))
    for one in filled:
        if np.count_nonzero(one == low) + np.count_nonzero(one == high) != one.size:
            return None
    return float(low), float(high)


def _mean_and_variance(ordered: NDArray[np.float64]) -> tuple[float, float]:
    if ordered[0] == ordered[-1]:  # exactly, without the rounding of a sum
        return float(ordered[0]), 0.0
    return float(ordered.mean()), float(ordered.var(ddof=1))


def power_of_two(largest: float) -> float:
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def too_few_rows(n_a: int, n_b: int, needed: int) -> str | None:
    if min(n_a, n_b) >= needed:
        return None
    return f"{n_a} rows against {n_b}: each side needs at least {needed} rows"


def not_testable(kind: Literal["binary", "continuous"], n_a: int, n_b: int, alpha: float, reason: str) -> Comparison:
    undefined = {
        field.name: None
        for field in dataclasses.fields(Comparison)
        if field.name not in ("status", "reason", "kind", "n_a", "n_b", "confidence")
    }
    return Comparison(
        status="not_testable", reason=reason, kind=kind, n_a=n_a, n_b=n_b, confidence=1.0 - alpha, **undefined
    )
