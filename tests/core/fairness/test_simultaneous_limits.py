"""Critical values for several intervals at once, and the range over pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bdt_core.fairness.simultaneous import (
    contrasts_critical_value,
    pairs_critical_value,
    range_of_pairs,
    ratio_limits,
    reference_critical_value,
)
from bdt_core.inference import difference_limits, koopman_interval, newcombe_interval, wilson_limits


@pytest.mark.parametrize("groups", [2, 3, 5, 20])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_pairs_take_the_studentised_range(groups, confidence):
    wanted = stats.studentized_range.ppf(confidence, groups, np.inf) / np.sqrt(2)
    assert pairs_critical_value(groups, confidence) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("groups", [3, 6, 15])
def test_reference_takes_dunnetts(groups):
    rng = np.random.default_rng(groups)
    variances = rng.uniform(0.2, 4.0, groups)
    draws = rng.standard_normal((200_000, groups)) * np.sqrt(variances)
    largest = np.abs((draws[:, 1:] - draws[:, :1]) / np.sqrt(variances[1:] + variances[0])).max(axis=1)
    assert np.mean(largest <= reference_critical_value(variances, 0)) == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize("ratio", [1e-6, 1e-2, 1e2, 1e6])
def test_reference_of_another_size_never_falls_short(ratio):
    variances = np.array([ratio, 1.0, 1.0, 1.0])
    found = reference_critical_value(variances, 0)
    assert contrasts_critical_value(1) <= found <= contrasts_critical_value(3) + 1e-9


@pytest.mark.parametrize("spread", [0.1, 1.0, 6.0])
def test_reference_with_thousands_of_groups_equals_the_direct_product(spread):
    rng = np.random.default_rng(4)
    variances = np.exp(spread * rng.uniform(-1, 1, 3_000))
    found = reference_critical_value(variances, 7)
    ratio = np.minimum(np.sqrt(variances[7] / np.delete(variances, 7)), 0.98 / np.sqrt(1 - 0.98**2))
    z = np.linspace(-8, 8, 129)
    reach, centre = found * np.sqrt(1 + ratio**2), np.outer(z, ratio)
    inside = np.log(stats.norm.cdf(reach - centre) - stats.norm.cdf(-reach - centre) + 1e-300).sum(axis=1)
    assert (stats.norm.pdf(z) * np.exp(inside)).sum() / 8 == pytest.approx(0.95, abs=1e-7)


def test_families_solved_together_equal_each_alone():
    rng = np.random.default_rng(5)
    variances = rng.uniform(0.5, 3.0, (4, 30))
    variances[1, 3:20] = np.nan
    variances[2, 1:] = np.nan
    variances[3, 4:] = np.nan
    found = reference_critical_value(variances, 0)
    for i in (0, 1, 3):
        alone = variances[i][~np.isnan(variances[i])]
        assert found[i] == pytest.approx(reference_critical_value(alone, 0), abs=1e-9)
    assert np.isnan(found[2])


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999, 1 - 1e-6])
def test_critical_values_reach_their_coverage(confidence):
    for groups in (3, 50, 5_000):
        found = pairs_critical_value(groups, confidence)
        z = np.linspace(-10, 10, 2_001)
        inside = (stats.norm.cdf(z) - stats.norm.cdf(z - found * np.sqrt(2))) ** (groups - 1)
        assert 1 - groups * (stats.norm.pdf(z) @ inside) / 100 == pytest.approx(1 - confidence, rel=1e-5)


def test_one_contrast_is_the_normal_quantile():
    for found in (pairs_critical_value(2), reference_critical_value(np.ones(2), 0), contrasts_critical_value(1)):
        assert found == pytest.approx(1.959964, abs=1e-6)


COUNTS = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 200)).map(sorted), min_size=2, max_size=12)


@given(COUNTS)
@settings(max_examples=100, deadline=None)
def test_range_equals_the_search_through_all_pairs(counts):
    events, n = np.array(counts, dtype=float).T
    n += 1
    low, high = wilson_limits(events, n, 2.5)
    rate = events / n
    for limits in (difference_limits, ratio_limits):
        pairs = [
            limits(
                *(np.array([side[i]]) for side in (rate, low, high)),
                *(np.array([side[j]]) for side in (rate, low, high)),
            )
            for i, j in itertools.permutations(range(len(n)), 2)
        ]
        found = range_of_pairs(rate, low, high, limits)
        assert found[0] == pytest.approx(max(float(pair[0][0]) for pair in pairs))
        assert found[1] == pytest.approx(max(float(pair[1][0]) for pair in pairs))


@pytest.mark.parametrize("highest", [3, 40, 5_000])
def test_range_of_many_groups_equals_the_search_through_all_pairs(highest):
    rng = np.random.default_rng(highest)
    n = rng.integers(1, highest + 1, 400).astype(float)
    events = np.floor(n * rng.random(400) ** 2)
    rate, (low, high) = events / n, wilson_limits(events, n, 3.0)
    pairs = ~np.eye(400, dtype=bool)
    for limits in (difference_limits, ratio_limits):
        every = limits(*(side[:, None] for side in (rate, low, high)), rate, low, high)
        assert range_of_pairs(rate, low, high, limits) == tuple(side[pairs].max() for side in every)


@pytest.mark.parametrize("groups", [6, 150])
def test_ranges_of_several_families_are_those_of_each_without_its_missing_groups(groups):
    rng = np.random.default_rng(groups)
    n = rng.integers(5, 200, (4, groups)).astype(float)
    events = np.floor(n * rng.random((4, groups)))
    low, high = wilson_limits(events, n, 3.0)
    rate = np.where(rng.random((4, groups)) < 0.3, np.nan, events / n)
    rate[3, 1:] = np.nan  # a single group: no pair
    for limits in (difference_limits, ratio_limits):
        found = range_of_pairs(rate, low, high, limits)
        for i in range(3):
            kept = ~np.isnan(rate[i])
            alone = range_of_pairs(*(side[i][kept] for side in (rate, low, high)), limits)
            assert (found[0][i], found[1][i]) == alone
        assert (found[0][3], found[1][3]) == (-np.inf, -np.inf)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_mover_is_newcombes_and_close_to_koopmans(x_a, more_a, x_b, more_b):
    n_a, n_b = x_a + more_a, x_b + more_b
    sides = []
    for x, n in ((x_a, n_a), (x_b, n_b)):
        low, high = wilson_limits(np.array([float(x)]), np.array([float(n)]), contrasts_critical_value(1))
        sides += [np.array([x / n]), low, high]
    gap = difference_limits(*sides)
    assert (gap[0][0], gap[1][0]) == pytest.approx(newcombe_interval(x_a, n_a, x_b, n_b), abs=1e-9)
    low, high = ratio_limits(*sides)
    other = koopman_interval(x_a, n_a, x_b, n_b)
    assert 0 <= low[0] <= high[0]
    assert (low[0] == 0) == (x_a == 0)
    assert np.isinf(high[0]) == (x_b == 0)
    if min(x_a, x_b) >= 10:
        assert (low[0], high[0]) == pytest.approx(other, rel=0.15)
