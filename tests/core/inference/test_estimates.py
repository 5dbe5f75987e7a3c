"""Differences of means of the same people or of different ones: published intervals, and other libraries'."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep
from statsmodels.tools import add_constant

from bdt_core.inference import newcombe_interval
from bdt_core.inference.estimates import Difference, KnownMean, MeanOfGroups, MeanOfPersons, MeanOfRows, critical_value
from bdt_core.inference.persons import Steps, person_sums
from bdt_core.inference.summaries import count_values

Z = float(special.ndtri(0.975))
ZERO_ONE = Steps(0.0, 1.0)


def of_persons(values: NDArray[np.float64], persons: NDArray[np.int64], size: int, *, rate: bool) -> MeanOfPersons:
    steps = ZERO_ONE if rate else Steps(float(values.min()), float(np.ptp(values)) / 2.0**30)
    return MeanOfPersons(person_sums(steps.count(values), persons, size), steps, rate)


def paired(both: int, first: int, second: int, neither: int) -> Difference:
    """The rate of the first less that of the second, from a table of pairs."""
    n = both + first + second + neither
    one, other = (np.repeat(values, [both, first, second, neither]) for values in ([1.0, 1, 0, 0], [1.0, 0, 1, 0]))
    return Difference(*(of_persons(values, np.arange(n), n, rate=True) for values in (one, other)))


@pytest.mark.parametrize(
    ("table", "published"),
    [
        # Cavo et al. (2012) and Bentur et al. (2009) in Fagerland, Lydersen & Laake, Statistical Analysis of
        # Contingency Tables (2017), chapter 8: Newcombe's square-and-add interval.
        ((59, 6, 16, 80), (-0.0621, -0.1186, -0.0046)),
        ((1, 1, 7, 12), (-0.2857, -0.5069, -0.0256)),
    ],
)
def test_paired_rates_have_newcombes_published_interval(
    table: tuple[int, int, int, int], published: tuple[float, float, float]
) -> None:
    found = paired(*table)
    assert (found.value, *found.interval(Z)) == pytest.approx(published, abs=5e-5)


def test_other_people_have_newcombes_interval_for_independent_rates() -> None:
    a, b = count_values(np.repeat([0.0, 1.0], [14, 56]), np.repeat([0.0, 1.0], [32, 48]))
    found = Difference(MeanOfRows(a, True), MeanOfRows(b, True)).interval(Z)
    assert found == pytest.approx(newcombe_interval(56, 70, 48, 80), abs=1e-12)
    assert found == pytest.approx(confint_proportions_2indep(56, 70, 48, 80, method="newcomb"), abs=1e-9)
    same = paired(59, 6, 16, 80)
    apart = Difference(same.first, same.other, paired=False).interval(Z)
    assert apart == pytest.approx(newcombe_interval(65, 161, 75, 161), abs=1e-12)


def test_the_interval_leaves_out_zero_where_mcnemars_test_rejects() -> None:
    rng = np.random.default_rng(5)
    agree = []
    for first, second in rng.integers(0, 40, (300, 2)).tolist():
        low, high = paired(60, first, second, 100).interval(Z)
        p = mcnemar([[60, first], [second, 100]], exact=False, correction=False).pvalue
        if not 0.03 < p < 0.08 and first + second:
            agree.append((p <= 0.05) == (low > 0.0 or high < 0.0))
    assert len(agree) > 250
    assert all(agree)


def test_paired_means_have_the_interval_of_students_paired_t() -> None:
    rng = np.random.default_rng(1)
    before = rng.normal(10, 3, 60)
    after = before + rng.normal(0.4, 1, 60)
    persons = np.arange(60)
    found = Difference(*(of_persons(one, persons, 60, rate=False) for one in (after, before)))
    expected = stats.ttest_rel(after, before).confidence_interval(0.95)
    assert found.interval(Z) == pytest.approx((expected.low, expected.high), rel=1e-6)


def test_rows_of_a_person_are_clustered_as_in_statsmodels() -> None:
    rng = np.random.default_rng(2)
    persons = np.repeat(np.arange(300), rng.integers(1, 6, 300))
    own = rng.normal(0, 1, 300)[persons]
    before, after = own + rng.normal(0, 1, persons.size), own + 0.2 + rng.normal(0, 1, persons.size)
    found = Difference(*(of_persons(one, persons, 300, rate=False) for one in (after, before)))
    fitted = OLS(np.concatenate([after, before]), add_constant(np.repeat([1.0, 0.0], persons.size))).fit(
        cov_type="cluster", cov_kwds={"groups": np.tile(persons, 2), "use_correction": False}
    )
    error = float(np.sqrt(np.square(found.by_person).sum()))
    assert found.value == pytest.approx(fitted.params[1], rel=1e-6)
    assert error == pytest.approx(fitted.bse[1] * np.sqrt(300 / 299), rel=1e-6)
    low, high = found.interval(Z)
    assert (high - low) / 2 == pytest.approx(error * Z, rel=0.02)  # t by persons reaches a little farther


def test_a_gap_before_and_after_is_a_difference_of_differences() -> None:
    rng = np.random.default_rng(3)
    n, group = 4000, rng.random(4000) < 0.4
    before = (rng.random(n) < 0.3).astype(float)
    after = np.where(rng.random(n) < 0.85, before, rng.random(n) < 0.3 + 0.1 * group).astype(float)
    persons = np.arange(n)

    def mean(values: NDArray[np.float64], rows: NDArray[np.bool_]) -> MeanOfPersons:
        return of_persons(values[rows], persons[rows], n, rate=True)

    gaps = [Difference(mean(values, group), mean(values, ~group)) for values in (after, before)]
    found = Difference(*gaps)
    changes = (after - before)[group], (after - before)[~group]
    error = np.sqrt(sum(one.var(ddof=1) / one.size for one in changes))
    assert found.value == pytest.approx(changes[0].mean() - changes[1].mean())
    low, high = found.interval(Z)
    assert (high - low) / 2 == pytest.approx(Z * error, rel=0.02)
    assert gaps[0].interval(Z) == pytest.approx(
        newcombe_interval(after[group].sum(), group.sum(), after[~group].sum(), (~group).sum()), abs=1e-12
    )


def test_nobody_moved_is_not_a_division_by_zero() -> None:
    low, high = paired(30, 0, 0, 70).interval(Z)
    assert low < 0 < high
    low, high = paired(0, 0, 0, 50).interval(Z)
    assert low < 0 < high


def test_critical_values_allow_for_all_statements_and_for_the_search() -> None:
    assert critical_value(0.05, 1) == pytest.approx(stats.norm.isf(0.025))
    assert critical_value(0.05, 20) == pytest.approx(stats.norm.isf(0.025 / 20))
    searched = stats.norm.isf(0.025 / 100)  # as wide as for a hundred groups
    assert critical_value(0.05, 20, searched) == pytest.approx(stats.norm.isf(0.025 / 2000))
    assert critical_value(0.05, 20, 1.0) == critical_value(0.05, 20)


def test_groups_of_different_people_count_by_their_people():
    together = MeanOfGroups((KnownMean(0.2, 0.1, 0.3, 1.96, 100, 100), KnownMean(0.4, 0.3, 0.5, 1.96, 300, 300)))
    assert together.value == pytest.approx(0.25 * 0.2 + 0.75 * 0.4)
    assert together.arms(1.96) == pytest.approx((0.1 * (0.25**2 + 0.75**2) ** 0.5,) * 2)
