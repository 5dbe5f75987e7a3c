"""`compare_samples` and `compare_counts`: figures, edges and invariants."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import BDTError, DataError, SpecError
from bdt_core.inference import (
    compare_count_arrays,
    compare_counts,
    compare_samples,
    koopman_interval,
    mid_p_value,
    minimum_detectable_difference,
    newcombe_interval,
)

SIGNED = ("difference", "effect_size", "pooled_t", "welch_t")


def samples(events_a, n_a, events_b, n_b):
    return np.repeat([1, 0], [events_a, n_a - events_a]), np.repeat([1, 0], [events_b, n_b - events_b])


def close(one, other, rel=1e-9):
    """Both None, or equal up to rounding."""
    if one is None or other is None:
        return one is other
    return one == pytest.approx(other, rel=rel, abs=1e-12)


def test_compas_anchor():
    result = compare_samples(*samples(83, 1169, 4, 274))
    assert result.pooled_t == pytest.approx(3.543281931719914, rel=1e-13)
    assert result.pooled_t_p_value == pytest.approx(0.000407794522929353, rel=1e-12)
    assert (result.status, result.kind, result.test) == ("tested", "binary", "exact mid-p")
    assert (result.events_a, result.events_b) == (83, 4)
    assert result.difference == pytest.approx(83 / 1169 - 4 / 274)
    assert (result.low, result.high) == newcombe_interval(83, 1169, 4, 274)
    assert (result.ratio_low, result.ratio_high) == koopman_interval(83, 1169, 4, 274)
    assert result.ratio == pytest.approx(83 / 1169 / (4 / 274))
    assert result.p_value == mid_p_value(83, 1169, 4, 274)
    assert result.effect_size == pytest.approx(2 * (math.asin((83 / 1169) ** 0.5) - math.asin((4 / 274) ** 0.5)))
    assert result.minimum_detectable_difference == minimum_detectable_difference(1169, 274, base_rate=87 / 1443)


@given(st.integers(30, 300), st.integers(30, 300), st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.05, 0.01]))
@settings(max_examples=60, deadline=None)
def test_counts_equal_samples_and_swapping_flips_signs(n_a, n_b, part_a, part_b, alpha):
    counts = round(part_a * n_a), n_a, round(part_b * n_b), n_b
    result = compare_counts(*counts, alpha=alpha)
    assert compare_samples(*samples(*counts), alpha=alpha) == result
    swapped = compare_counts(*counts[2:], *counts[:2], alpha=alpha)
    for name in SIGNED:
        one = getattr(result, name)
        assert close(getattr(swapped, name), None if one is None else -one)
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low), abs=1e-12)
    assert close(swapped.p_value, result.p_value)
    assert close(swapped.minimum_detectable_difference, result.minimum_detectable_difference)


def same_bytes(one, other):
    return json.dumps(one.to_dict()) == json.dumps(other.to_dict())


CONTINUOUS = {
    "normal": lambda rng, n: rng.normal(3, 2, n),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "count": lambda rng, n: rng.poisson(0.6, n),
}


@pytest.mark.parametrize("kind", CONTINUOUS)
@pytest.mark.parametrize(("n_a", "n_b"), [(40, 200), (90, 90), (200, 40), (20, 20)])
def test_row_order_is_irrelevant_and_swapping_flips_signs(kind, n_a, n_b):
    rng = np.random.default_rng(11)
    a, b = CONTINUOUS[kind](rng, n_a), CONTINUOUS[kind](rng, n_b)
    result = compare_samples(a, b, min_rows=5)
    assert same_bytes(compare_samples(rng.permutation(a), rng.permutation(b), min_rows=5), result)
    swapped = compare_samples(b, a, min_rows=5)
    assert swapped.p_value == pytest.approx(result.p_value, rel=1e-9)
    assert (swapped.low, swapped.high) == pytest.approx((-result.high, -result.low))
    for name in SIGNED:
        assert getattr(swapped, name) == pytest.approx(-getattr(result, name))


@pytest.mark.parametrize("kind", CONTINUOUS)
@pytest.mark.parametrize("factor", [1e-200, 1e-6, 4.0, 1e200])
def test_scaling_scales_the_difference_and_keeps_p(kind, factor):
    rng = np.random.default_rng(12)
    a, b = CONTINUOUS[kind](rng, 50), CONTINUOUS[kind](rng, 400)
    result, scaled = compare_samples(a, b), compare_samples(a * factor, b * factor)
    assert scaled.p_value == pytest.approx(result.p_value, rel=1e-6)
    for name in ("mean_a", "mean_b", "difference", "low", "high", "minimum_detectable_difference"):
        assert getattr(scaled, name) == pytest.approx(getattr(result, name) * factor, rel=1e-9)
    for name in ("effect_size", "welch_t", "pooled_t"):
        assert getattr(scaled, name) == pytest.approx(getattr(result, name), rel=1e-9)


@pytest.mark.parametrize("kind", CONTINUOUS)
def test_adding_a_constant_changes_the_means_only(kind):
    rng = np.random.default_rng(13)
    a, b = CONTINUOUS[kind](rng, 50), CONTINUOUS[kind](rng, 400)
    result, moved = compare_samples(a, b), compare_samples(a + 1000, b + 1000)
    assert moved.mean_a == pytest.approx(result.mean_a + 1000)
    for name in ("p_value", "difference", "low", "high", "effect_size"):
        assert getattr(moved, name) == pytest.approx(getattr(result, name), rel=1e-6)


def test_two_values_other_than_zero_and_one():
    a, b = samples(20, 60, 30, 200)
    rates = compare_samples(a, b)
    five = compare_samples(5 * a, 5 * b)
    assert five.kind == "binary"
    assert five.p_value == rates.p_value
    assert five.mean_a == pytest.approx(5 * rates.mean_a)
    assert (five.low, five.high) == pytest.approx((5 * rates.low, 5 * rates.high))
    assert five.minimum_detectable_difference == pytest.approx(5 * rates.minimum_detectable_difference)
    assert five.ratio == rates.ratio
    one_two = compare_samples(a + 1, b + 1)
    assert one_two.mean_a == pytest.approx(1 + rates.mean_a)
    assert one_two.difference == pytest.approx(rates.difference)
    assert one_two.ratio is one_two.ratio_low is one_two.ratio_high is None
    negative = compare_samples(-a, -b)
    assert negative.difference == pytest.approx(-rates.difference)
    assert negative.p_value == pytest.approx(rates.p_value)
    assert compare_samples(a.astype(bool), b.astype(bool)) == rates


def test_ratio_edges_and_json():
    infinite = compare_counts(5, 50, 0, 50)
    assert infinite.ratio == infinite.ratio_high == math.inf
    assert infinite.to_dict()["ratio"] == "Infinity"
    nobody = compare_counts(0, 50, 0, 50)
    assert nobody.ratio is nobody.ratio_low is nobody.ratio_high is None
    for result in (infinite, nobody, compare_counts(1, 3, 0, 50), compare_counts(50, 50, 0, 50)):
        assert "NaN" not in json.dumps(result.to_dict(), allow_nan=False)
    assert compare_counts(50, 50, 0, 50).to_dict()["pooled_t"] == "Infinity"
    assert compare_counts(0, 50, 50, 50).to_dict()["pooled_t"] == "-Infinity"


@pytest.mark.parametrize("value", [0, 1])
def test_constant_rate_is_tested_and_shows_no_difference(value):
    result = compare_samples(np.full(40, value), np.full(90, value))
    assert (result.status, result.p_value, result.difference) == ("tested", 1.0, 0.0)
    assert result.low < 0 < result.high
    assert result.mean_a == result.mean_b == value


@pytest.mark.parametrize("test", ["auto", "welch", "permutation"])
def test_any_other_constant_is_not_testable(test):
    result = compare_samples(np.full(40, 2.5), np.full(90, 2.5), test=test)
    assert (result.status, result.p_value, result.low) == ("not_testable", None, None)
    assert "same value" in result.reason


@pytest.mark.parametrize("kind", ["binary", "continuous"])
def test_too_few_rows_show_counts_of_rows_only(kind):
    rng = np.random.default_rng(14)
    draw = (lambda n: rng.integers(0, 2, n)) if kind == "binary" else (lambda n: rng.normal(size=n))
    result = compare_samples(draw(29), draw(500))
    assert (result.status, result.kind, result.n_a, result.n_b) == ("not_testable", kind, 29, 500)
    assert "29 rows against 500" in result.reason
    assert "at least 30" in result.reason
    shown = {name for name, value in result.to_dict().items() if value is not None}
    assert shown == {"status", "reason", "kind", "n_a", "n_b", "confidence"}
    assert compare_samples(draw(30), draw(500)).status == "tested"


def test_means_need_five_rows_whatever_is_asked():
    rng = np.random.default_rng(15)
    assert compare_samples(rng.normal(size=4), rng.normal(size=50), min_rows=1).status == "not_testable"
    five = compare_samples(rng.normal(size=5), rng.normal(size=50), min_rows=1)
    assert five.test == "studentised permutation"
    assert compare_samples([], [], min_rows=0).status == "not_testable"
    assert compare_samples([1.0, 2.0, 3.5], [], min_rows=0).status == "not_testable"
    assert compare_counts(0, 0, 1, 9, min_rows=0).status == "not_testable"


@pytest.mark.parametrize("test", ["auto", "welch", "permutation"])
@pytest.mark.parametrize("kind", CONTINUOUS)
def test_interval_and_p_value_agree(test, kind):
    rng = np.random.default_rng(16)
    decisions = set()
    for shift in (0.0, 0.15, 0.3, 0.45, 0.6):
        a, b = CONTINUOUS[kind](rng, 60) + shift, CONTINUOUS[kind](rng, 300)
        result = compare_samples(a, b, test=test)
        assert (result.p_value <= 0.05) == (not result.low <= 0.0 <= result.high)
        assert result.low <= result.difference <= result.high
        decisions.add(result.p_value <= 0.05)
    assert len(decisions) == 2 or kind == "normal"


def test_a_side_without_variance():
    rng = np.random.default_rng(17)
    result = compare_samples(np.full(40, 0.1), rng.normal(0.5, 1, 200))
    assert result.test == "studentised permutation"
    assert result.mean_a == 0.1
    assert 0 < result.p_value <= 1
    two_constants = compare_samples(np.full(40, 0.1), np.full(60, 0.3), test="welch")
    assert two_constants.welch_t == -math.inf
    assert 0 < two_constants.p_value < 1e-300
    assert two_constants.minimum_detectable_difference in (None, 0.0)


def test_forced_tests_on_two_values():
    a, b = samples(20, 60, 30, 200)
    welch = compare_samples(a, b, test="welch")
    assert (welch.kind, welch.test, welch.events_a) == ("binary", "Welch's t", 20)
    assert welch.p_value == pytest.approx(compare_samples(a, b).welch_t_p_value)
    permuted = compare_samples(a, b, test="permutation")
    assert permuted.test == "studentised permutation"
    assert permuted.p_value == pytest.approx(compare_samples(a, b).p_value, abs=0.01)


def test_large_samples_take_welch():
    rng = np.random.default_rng(18)
    result = compare_samples(rng.normal(size=50_000), rng.normal(size=500_000))
    assert result.test == "Welch's t"


def test_pairs_at_once_equal_pairs_alone():
    events_a, events_b = np.arange(0, 60, 7), np.arange(60, 0, -7)
    together = compare_count_arrays(events_a, 60, events_b, [80] * 9)
    for x, y, one in zip(events_a, events_b, together, strict=True):
        alone = compare_counts(int(x), 60, int(y), 80)
        assert all(
            getattr(alone, name) == value or close(getattr(alone, name), value, rel=1e-12)
            for name, value in vars(one).items()
        )


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, np.nan], [0.0, 1.0], "first group hold 1 missing or infinite"),
        ([1.0, 2.0], [0.0, np.inf], "second group hold 1 missing or infinite"),
        ([[1.0, 2.0]], [0.0, 1.0], "one-dimensional"),
        (["x", "y"], [0.0, 1.0], "must be numbers"),
    ],
)
def test_bad_values_are_refused(a, b, message):
    with pytest.raises(DataError, match=message):
        compare_samples(a, b)


def test_bad_settings_are_refused():
    rng = np.random.default_rng(19)
    a, b = rng.normal(size=50), rng.normal(size=50)
    with pytest.raises(BDTError, match="exact test compares rates"):
        compare_samples(a, b, test="exact")
    with pytest.raises(SpecError, match="Unknown test"):
        compare_samples(a, b, test="t-test")
    with pytest.raises(SpecError, match="alpha"):
        compare_samples(a, b, alpha=5)
    with pytest.raises(SpecError, match="alpha"):
        compare_counts(1, 50, 1, 50, alpha=0)
    with pytest.raises(DataError, match="whole numbers"):
        compare_counts(1.5, 50, 1, 50)
    with pytest.raises(DataError, match="between 0 and"):
        compare_counts(51, 50, 1, 50)
