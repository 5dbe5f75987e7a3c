"""Looking after every batch: the e-process, its confidence sequence and e-BH."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from bdt_core.errors import DataError
from bdt_core.inference.sequential import compare_rates_over_time, discoveries

counts = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12
)


def split(batches):
    return [np.array([min(one[0], one[1]) for one in batches]), np.array([one[1] for one in batches]),
            np.array([min(one[2], one[3]) for one in batches]), np.array([one[3] for one in batches])]  # fmt: skip


def test_the_formula_by_hand():
    found = compare_rates_over_time([30], [100], [20], [100], effect=0.1)
    pooled = 50.5 / 201
    v, t2, d = pooled * (1 - pooled) * 0.02, 0.01, 0.1
    expected = math.sqrt(v / (v + t2)) * math.exp(d**2 * t2 / (2 * v * (v + t2)))
    assert found.e_value[0] == pytest.approx(expected, rel=1e-12)
    assert found.difference[0] == pytest.approx(0.1)


def test_the_sequence_leaves_out_zero_about_when_the_e_value_reaches_its_level():
    found = compare_rates_over_time([30] * 30, [100] * 30, [22] * 30, [100] * 30)
    rejects, outside = found.e_value >= 20, found.low > 0
    assert rejects.any()
    assert abs(int(rejects.argmax()) - int(outside.argmax())) <= 1


@given(counts)
def test_swapping_the_sides_turns_the_sign(batches):
    a, n, b, m = split(batches)
    one, other = compare_rates_over_time(a, n, b, m), compare_rates_over_time(b, m, a, n)
    np.testing.assert_allclose(one.difference, -other.difference, atol=1e-12)
    np.testing.assert_allclose(one.low, -other.high, atol=1e-12)
    np.testing.assert_allclose(one.e_value, other.e_value, rtol=1e-9)


@given(counts)
def test_an_empty_batch_changes_nothing(batches):
    a, n, b, m = split(batches)
    one = compare_rates_over_time(a, n, b, m)
    more = compare_rates_over_time(*(np.append(x, 0) for x in (a, n, b, m)))
    assert more.e_value[-1] == one.e_value[-1]
    assert (one.p_value <= 1).all()
    assert (np.diff(more.p_value) <= 0).all()


def test_a_side_without_rows_is_no_evidence():
    found = compare_rates_over_time([1, 5], [10, 10], [0, 3], [0, 10])
    assert found.e_value[0] == 1
    assert math.isnan(found.difference[0])
    assert found.difference[1] == pytest.approx(0.0)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.sampled_from([0.01, 0.05, 0.2]))
def test_e_bh_is_bh_on_one_over_e(values, alpha):
    m = len(values)
    assume(all(abs(one * k * alpha - m) > 1e-9 * m for one in values for k in range(1, m + 1)))  # ties round either way
    p = np.minimum(1.0, 1.0 / np.maximum(values, 1e-300))
    assert list(discoveries(values, alpha)) == list(multipletests(p, alpha=alpha, method="fdr_bh")[0])


def test_nothing_to_discover():
    assert discoveries([]) == ()
    assert discoveries([float("nan"), 1.0]) == (False, False)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (([-1], [2], [0], [2]), "negative"),
        (([3], [2], [0], [2]), "more than rows"),
    ],
)
def test_impossible_counts_are_refused(arguments, advice):
    with pytest.raises(DataError, match=advice):
        compare_rates_over_time(*arguments)


def test_settings_out_of_range_are_refused():
    with pytest.raises(DataError, match="alpha must lie"):
        compare_rates_over_time([1], [2], [1], [2], alpha=0)
    with pytest.raises(DataError, match="effect above 0"):
        compare_rates_over_time([1], [2], [1], [2], effect=0)
