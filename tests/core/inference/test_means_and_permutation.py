"""t statistics, intervals of means, Hedges' g and the studentised permutation test."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from bdt_core.errors import SpecError
from bdt_core.inference import mean_interval, welch_interval
from bdt_core.inference.comparison import needs_permutation
from bdt_core.inference.means import hedges_g, pooled_t, welch_t
from bdt_core.inference.permutation import PermutationResult, permutation_test_of_counts, skewness_of_difference
from bdt_core.inference.summaries import count_values


def summary(a, b):
    return a.mean(), a.var(ddof=1), a.size, b.mean(), b.var(ddof=1), b.size


@pytest.mark.parametrize("seed", range(5))
def test_t_tests_and_intervals_against_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(1, 2, rng.integers(2, 40)), rng.normal(0, 1, rng.integers(2, 400))
    for ours, equal_var in ((pooled_t, True), (welch_t, False)):
        theirs = stats.ttest_ind(a, b, equal_var=equal_var)
        result = ours(*summary(a, b))
        assert float(result.statistic) == pytest.approx(theirs.statistic, rel=1e-12)
        assert float(result.df) == pytest.approx(theirs.df, rel=1e-12)
        assert float(result.p_value) == pytest.approx(theirs.pvalue, rel=1e-9)
    assert welch_interval(*summary(a, b), confidence=0.9) == pytest.approx(
        stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    )
    assert mean_interval(a.mean(), a.var(ddof=1), a.size) == pytest.approx(
        stats.t.interval(0.95, a.size - 1, a.mean(), stats.sem(a))
    )


def test_means_work_over_arrays():
    low, high = mean_interval(np.array([0.0, 10.0]), np.array([1.0, 4.0]), np.array([9, 16]))
    assert (low[1], high[1]) == pytest.approx(mean_interval(10.0, 4.0, 16))
    assert np.isnan(mean_interval(3.0, np.nan, 1)).all()
    with pytest.raises(SpecError):
        mean_interval(0.0, 1.0, 9, confidence=1.0)


def test_two_constant_groups():
    assert float(welch_t(1.0, 0.0, 9, 0.0, 0.0, 9).statistic) == np.inf
    assert float(welch_t(1.0, 0.0, 9, 0.0, 0.0, 9).p_value) == 0.0
    assert np.isnan(welch_t(1.0, 0.0, 9, 1.0, 0.0, 9).p_value)
    assert np.isnan(hedges_g(1.0, 0.0, 9, 0.0, 0.0, 9))


def test_hedges_g_published():
    # Borenstein et al. (2009), Introduction to Meta-Analysis, chapter 4: d = .5970, J = .9921, g = .5924.
    assert float(hedges_g(103.0, 5.5**2, 50, 100.0, 4.5**2, 50)) == pytest.approx(0.5924, abs=1e-4)


def permutation_test(a: np.ndarray, b: np.ndarray) -> PermutationResult:
    in_a, in_b = count_values(a, b)
    return permutation_test_of_counts(in_a.values, in_a.counts, in_b.counts)


def test_permutation_p_value_approaches_the_full_enumeration():
    a, b = np.array([3.1, 0.2, 7.7, 9.0, 4.4]), np.array([0.1, 0.3, 2.2, 1.4, 0.9, 1.8, 2.9])
    pooled = np.concatenate([a, b])
    t = []
    for chosen in combinations(range(12), 5):
        mask = np.isin(np.arange(12), chosen)
        t.append(stats.ttest_ind(pooled[mask], pooled[~mask], equal_var=False).statistic)
    observed = stats.ttest_ind(a, b, equal_var=False).statistic
    exact = 2 * min(np.mean(np.array(t) >= observed - 1e-9), np.mean(np.array(t) <= observed + 1e-9))
    assert permutation_test(a, b).p_value == pytest.approx(exact, abs=4 * np.sqrt(2 * exact / 9999))


def test_counting_and_shuffling_draw_from_one_distribution():
    # 0.001 apart, the values are distinct and must be shuffled; rounded, they are counted.
    rng = np.random.default_rng(4)
    a, b = rng.poisson(1.0, 60).astype(float), rng.poisson(1.4, 500).astype(float)
    counted = permutation_test(a, b)
    shuffled = permutation_test(a + rng.normal(0, 1e-6, 60), b + rng.normal(0, 1e-6, 500))
    assert counted.p_value == pytest.approx(shuffled.p_value, abs=4 * np.sqrt(2 * counted.p_value / 9999))
    assert counted.low_t == pytest.approx(shuffled.low_t, abs=0.15)
    assert counted.high_t == pytest.approx(shuffled.high_t, abs=0.15)


def test_critical_values_of_normal_samples_approach_the_normal_quantiles():
    # More than 1,000 rows of distinct values: drawn by index.
    rng = np.random.default_rng(5)
    result = permutation_test(rng.normal(size=300), rng.normal(size=900))
    assert result.low_t == pytest.approx(-1.96, abs=0.1)
    assert result.high_t == pytest.approx(1.96, abs=0.1)


def test_which_samples_need_permutation():
    def needed(a, b):
        return needs_permutation(*count_values(a, b))

    rng = np.random.default_rng(6)
    normal = rng.normal(size=1000)
    assert not needed(normal[:100], normal)
    assert needed(normal[:29], normal)
    assert needed(np.zeros(50), normal)
    some, skewed = rng.exponential(size=200), rng.exponential(size=20_000)
    assert needed(some, skewed)
    assert not needed(some, rng.exponential(size=200))  # equal sizes cancel
    heavy, many = rng.pareto(1.5, size=11_000), rng.pareto(1.5, size=110_000)
    assert not needed(heavy, many)  # drawing would take too long
    assert needed(np.floor(heavy.clip(max=500)), np.floor(many.clip(max=500)))


@pytest.mark.parametrize("factor", [1.0, 1e-160, 1e160])
def test_skewness_of_a_difference_of_means(factor):
    # Exponential: g = 2; n_a = 100 against a very large group leaves g / sqrt(n_a) = .2.
    rng = np.random.default_rng(7)
    groups = count_values(rng.exponential(size=100) * factor, rng.exponential(size=1_000_000) * factor)
    second, third = np.sum([one.powers_around_mean() for one in groups], axis=0) / 1_000_100
    assert skewness_of_difference(second, third, 100, 1_000_000) == pytest.approx(0.2, rel=0.02)
