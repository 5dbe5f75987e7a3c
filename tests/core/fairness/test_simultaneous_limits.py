"""Critical values for several intervals at once, and the range over pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bdt_core.fairness.simultaneous import (
    confidence_of,
    contrasts_critical_value,
    difference_limits,
    pairs_critical_value,
    range_of_pairs,
    ratio_limits,
    reference_critical_value,
    wilson_limits,
)
from bdt_core.inference import koopman_interval, newcombe_interval


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


def test_one_contrast_is_the_normal_quantile():
    for found in (pairs_critical_value(2), reference_critical_value(np.ones(2), 0), contrasts_critical_value(1)):
        assert found == pytest.approx(1.959964, abs=1e-6)
        assert confidence_of(found) == pytest.approx(0.95, abs=1e-9)


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
