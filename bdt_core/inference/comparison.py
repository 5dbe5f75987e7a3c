"""One group against another: the test, its interval, its effect size, and what the data could have shown."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import means
from bdt_core.inference._checks import counts_pair, finite_vector, fraction, number_or_none
from bdt_core.inference.exact import SMALLEST_P, mid_p_value
from bdt_core.inference.permutation import (
    FEWEST_ROWS,
    LARGEST_DRAW,
    MOST_ROWS_DRAWN,
    MOST_VALUES,
    SKEW_LIMIT,
    PermutationResult,
    permutation_test_of_counts,
    skewness_of_difference,
)
from bdt_core.inference.power import detectable_mean_difference, detectable_rate_difference
from bdt_core.inference.proportions import koopman_interval, newcombe_interval
from bdt_core.inference.summaries import Floats, Moments, Summary, ValueCounts, count_values
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, say

TestName = Literal["auto", "exact", "welch", "permutation"]

FEWEST_ROWS_OF_MEANS = 5
DETECTION_POWER = 0.8
EXACT = "exact mid-p"
ONE_VALUE = "every row of both groups holds the same value"


@dataclass(frozen=True)
class PersonsCompared:
    """Persons in two groups, where one may have several rows; see `bdt_core.inference.persons`.

    `design_effect` is the variance of the difference over that of as many rows of different persons, None where nothing
    was tested; `df` are the degrees of freedom of that variance.
    """

    a: int
    b: int
    design_effect: float | None
    df: float | None

    def shrink(self, alpha: float) -> float:
        """What rows are divided by to be effective counts at level alpha.

        With few persons the design effect is uncertain: normal intervals from these counts reach as far as those by t.
        1 where nothing was tested.
        """
        if self.design_effect is None or self.df is None:
            return 1.0
        return self.design_effect * means.shrink_of_few(self.df, alpha)

    def effective(self, comparison: Comparison, alpha: float) -> tuple[float, float, float, float]:
        """Events and rows of a, then of b, as many of different persons that would say as much at level alpha."""
        assert comparison.events_a is not None
        assert comparison.events_b is not None
        counts = (comparison.events_a, comparison.n_a, comparison.events_b, comparison.n_b)
        x, n, y, m = (one / self.shrink(alpha) for one in counts)
        return x, n, y, m


@dataclass(frozen=True)
class Comparison(Result):
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
        Student's and Welch's t statistics on the same rows (or persons), always reported beside. On a binary
        variable with a small group they reject far too often: they are no basis for a verdict.
    persons : PersonsCompared or None
        Where persons have several rows: how many there are, by whom intervals and tests then count.

    Notes
    -----
    A mid-p value and a score interval invert different statistics, so that close to the limit p <= alpha and
    "0 lies outside the interval" can disagree.
    """

    status: Literal["tested", "not_testable"]
    reason: Text | None
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
    persons: PersonsCompared | None = None


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
        `needs_permutation`). Welch and permutation can be asked for on two
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
    values_a, values_b = (
        finite_vector(a, "Values of the first group").astype(np.float64),
        finite_vector(b, "Values of the second group").astype(np.float64),
    )
    return compare_summaries(
        *count_values(values_a, values_b), test=test, alpha=alpha, min_rows=min_rows, random_state=random_state
    )


def compare_summaries(
    a: Summary,
    b: Summary,
    *,
    test: TestName = "auto",
    alpha: float = 0.05,
    min_rows: int = 30,
    random_state: int = 0,
) -> Comparison:
    """Compare two groups by the summaries of their values.

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
    Counts are as good as the rows. Of moments, which stand for more than 2,000 distinct values, the test is always
    Welch's, whatever the skewness: permutations need the rows. `drawing_needs_rows` tells whether `compare_samples`
    would draw them.

    Examples
    --------
    >>> values = np.array([0.0, 1.0])
    >>> a, b = ValueCounts(values, np.array([20, 40])), ValueCounts(values, np.array([160, 140]))
    >>> result = compare_summaries(a, b)
    >>> result.test, round(result.difference, 3), round(result.p_value, 4)
    ('exact mid-p', 0.2, 0.0048)
    """
    fraction(alpha, "alpha")
    if isinstance(a, Moments) and isinstance(b, Moments):
        _check_test(test, None)
        return _compare_means(a, b, None, test, alpha, min_rows, random_state)
    if not isinstance(a, ValueCounts) or not isinstance(b, ValueCounts):
        raise TypeError("Two groups are compared by counts or by moments, not one by these and the other by those.")
    two = _two_values(_occurring(a, b))
    _check_test(test, two)
    if two is None or test not in ("auto", "exact"):
        return _compare_means(a, b, two, test, alpha, min_rows, random_state)
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
        too_few = _too_few_rows(n, m, max(min_rows, 1))
        if too_few:
            results.append(not_testable("binary", n, m, alpha, too_few))
            continue
        has_ratio = lower == 0.0 and events + other > 0
        results.append(
            Comparison(
                status="tested",
                reason=None,
                kind="binary",
                test=EXACT,
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


def needs_permutation(a: Summary, b: Summary) -> bool:
    """Whether Welch's t cannot be relied on for two groups.

    It cannot when a side has fewer than 30 rows or no variance, or when the difference of means is still
    skewed. Its skewness, for two samples of one distribution with skewness g, is g (1/n_a^2 - 1/n_b^2) /
    (1/n_a + 1/n_b)^1.5. By Edgeworth's expansion each one-sided error of the t test shifts by about
    (2 z^2 + 1) phi(z) / 6 times that: .004 of .025 at z = 1.96 and the limit of .05 used here. g is measured
    around the group means in both groups together. Groups of equal size cancel each other's skewness and
    stay with Welch, whatever g is.

    With more than 10,000 rows on the smaller side and more than 2,000 distinct values Welch is kept, because
    drawing would take too long: the limit is then only passed by a skewness above 5.
    """
    if min(a.rows, b.rows) < FEWEST_ROWS or a.is_constant or b.is_constant:
        return True
    rows = a.rows + b.rows
    second, third = (
        (one + other) / rows for one, other in zip(a.powers_around_mean(), b.powers_around_mean(), strict=True)
    )
    if skewness_of_difference(second, third, a.rows, b.rows) <= SKEW_LIMIT:
        return False
    if min(a.rows, b.rows) <= LARGEST_DRAW:
        return True
    return isinstance(a, ValueCounts) and isinstance(b, ValueCounts) and _occurring(a, b).size <= MOST_VALUES


def drawing_needs_rows(a: Summary, b: Summary, test: TestName = "auto") -> bool:
    """Whether `compare_samples` would draw permutations of rows where `compare_summaries` cannot.

    Examples
    --------
    >>> values = np.array([0.0, 1.0])
    >>> drawing_needs_rows(ValueCounts(values, np.array([2, 4])), ValueCounts(values, np.array([6, 1])))
    False
    """
    return isinstance(a, Moments) and (test == "permutation" or (test == "auto" and needs_permutation(a, b)))


def _compare_means(
    a: Summary,
    b: Summary,
    two: tuple[float, float] | None,
    test: TestName,
    alpha: float,
    min_rows: int,
    random_state: int,
) -> Comparison:
    """Welch's t, or permutations where they are asked for, or needed, and the values are counted."""
    kind: Literal["binary", "continuous"] = "continuous" if two is None else "binary"
    too_few = _too_few_rows(a.rows, b.rows, max(min_rows, FEWEST_ROWS_OF_MEANS))
    if too_few:
        return not_testable(kind, a.rows, b.rows, alpha, too_few)
    if a.is_constant and b.is_constant and a.low == b.low:
        return not_testable(kind, a.rows, b.rows, alpha, ONE_VALUE)
    # In a power of two as the unit nothing is lost, and squares of very large or very small values stay in range.
    unit = a.unit
    summary = (*a.mean_and_variance(), a.rows, *b.mean_and_variance(), b.rows)
    difference = summary[0] - summary[3]
    welch, pooled = means.welch_t(*summary), means.pooled_t(*summary)
    error, df = means.welch_error(summary[1], a.rows, summary[4], b.rows)
    drawn = None
    if test == "permutation" or (test == "auto" and needs_permutation(a, b)):
        drawn = _permutation_test(a, b, alpha, random_state)
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
        n_a=a.rows,
        n_b=b.rows,
        events_a=_events(a, two),
        events_b=_events(b, two),
        mean_a=a.mean,
        mean_b=b.mean,
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


def _permutation_test(a: Summary, b: Summary, alpha: float, random_state: int) -> PermutationResult | None:
    """The test from counts; None of moments, and of more rows than can be drawn from."""
    if not isinstance(a, ValueCounts) or not isinstance(b, ValueCounts) or a.rows + b.rows > MOST_ROWS_DRAWN:
        return None
    occur = a.counts + b.counts > 0
    return permutation_test_of_counts(
        a.values[occur] / a.unit, a.counts[occur], b.counts[occur], alpha=alpha, random_state=random_state
    )


def _events(group: Summary, two: tuple[float, float] | None) -> int | None:
    """Rows with the higher one of two values."""
    return None if two is None or isinstance(group, Moments) else group.rows_with(two[1])


def _check_test(test: str, two: tuple[float, float] | None) -> None:
    if test not in get_args(TestName):
        raise SpecError(f"Unknown test {test!r}. Known: {', '.join(get_args(TestName))}.")
    if test == "exact" and two is None:
        raise DataError(
            "The exact test compares rates and needs a variable with two values; this one has more. "
            'Use test "auto", "welch" or "permutation".'
        )


def _occurring(a: ValueCounts, b: ValueCounts) -> Floats:
    """The values that occur in either group, rising."""
    return a.values[a.counts + b.counts > 0]


def _two_values(occurring: Floats) -> tuple[float, float] | None:
    """The lower and higher value when both groups together hold at most two, else None.

    One value only counts as a 0/1 variable when it is 0 or 1; otherwise it is returned twice.
    """
    if occurring.size > 2:
        return None
    if occurring.size == 0 or (occurring.size == 1 and occurring[0] in (0.0, 1.0)):
        return 0.0, 1.0
    return float(occurring[0]), float(occurring[-1])


def _too_few_rows(n_a: int, n_b: int, needed: int) -> str | None:
    if min(n_a, n_b) >= needed:
        return None
    return too_few("rows", n_a, n_b, needed)


def too_few(counted: Literal["rows", "persons"], n_a: int, n_b: int, needed: int) -> str:
    """That a side has too few rows, or persons, to be compared."""
    message = {
        "rows": "{N} rows against {Nother}: each side needs at least {Nleast} rows",
        "persons": "{N} persons against {Nother}: each side needs at least {Nleast} persons",
    }[counted]
    return say(message, N=Numeral(n_a), Nother=Numeral(n_b), Nleast=Numeral(needed))


def not_testable(kind: Literal["binary", "continuous"], n_a: int, n_b: int, alpha: float, reason: str) -> Comparison:
    """A comparison that was not made, and why."""
    undefined = {
        field.name: None
        for field in dataclasses.fields(Comparison)
        if field.name not in ("status", "reason", "kind", "n_a", "n_b", "confidence")
    }
    return Comparison(
        status="not_testable", reason=reason, kind=kind, n_a=n_a, n_b=n_b, confidence=1.0 - alpha, **undefined
    )
