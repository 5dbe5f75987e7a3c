"""Looking after every batch: the e-process, its confidence sequence and e-BH."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.multitest import multipletests

from bdt_core.errors import DataError
from bdt_core.inference.sequential import compare_rates_over_time, discoveries, ratio_over_time

counts = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12
)


def split(batches):
    return [np.array([min(one[0], one[1]) for one in batches]), np.array([one[1] for one in batches]),
            np.array([min(one[2], one[3]) for one in batches]), np.array([one[3] for one in batches])]  # fmt: skip


def test_the_formula_by_hand():
    """One batch: eight differences either way, half as much weight with each doubling, and what has not begun yet."""
    found = compare_rates_over_time([30], [100], [20], [100], effect=0.02)
    surplus, variance, rate = 30 - 25, 100 * 100 * 50 * 150 / (200**2 * 199), 50.5 / 201
    total = 0.0
    for k in range(-4, 4):
        stake = math.log(1 + 0.02 * 2**k / (rate * (1 - rate)))
        price = variance * (math.exp(stake) - 1 - stake)
        total += 2 ** -abs(k) * (math.exp(stake * surplus - price) + math.exp(-stake * surplus - price)) / 2
    begun = 0.5 + 0.5 * 100 / (100 * 101)
    shares = sum(2 ** -abs(k) for k in range(-4, 4))
    assert found.e_value[0] == pytest.approx(begun * total / shares + 1 - begun, rel=1e-12)
    assert found.difference[0] == pytest.approx(0.1)


def test_the_limits_by_hand():
    """Robbins' normal mixture, at the first start's share of alpha, with events added to each side."""
    found = compare_rates_over_time([30, 10], [100, 50], [20, 40], [100, 150], effect=0.1)
    weights = [50, 37.5]
    middle = (50 * 0.1 + 37.5 * (10 / 50 - 40 / 150)) / 87.5
    level = 0.05 * (0.5 + 0.5 / 101)
    more = math.log(1 / level)
    v = 0.0
    for rates, rows in (((0.3, 0.2), (100, 50)), ((0.2, 40 / 150), (100, 150))):
        u = [w**2 / n for w, n in zip(weights, rows, strict=True)]
        rate, effective = sum(x * y for x, y in zip(u, rates, strict=True)) / sum(u), 87.5**2 / sum(u)
        p = (rate * effective + more) / (effective + 2 * more)
        v += p * (1 - p) / effective
    half = math.sqrt(v * (v + 0.01) / 0.01 * (2 * more + math.log(1 + 0.01 / v)))
    assert found.difference[1] == pytest.approx(middle)
    assert (found.low[1], found.high[1]) == pytest.approx((middle - half, middle + half))


def test_the_surplus_is_that_of_mantel_and_haenszel():
    """The score of all batches, squared and over its variance, is the statistic of an independent library."""
    rng = np.random.default_rng(1)
    n, m = rng.integers(5, 60, 12), rng.integers(5, 60, 12)
    x, y = rng.binomial(n, 0.4), rng.binomial(m, 0.3)
    rows, events = n + m, x + y
    surplus, variance = x - n * events / rows, n * m * events * (rows - events) / (rows**2 * (rows - 1))
    tables = [[[a, c - a], [b, d - b]] for a, c, b, d in zip(x, n, y, m, strict=True)]
    peer = StratifiedTable([np.array(one) for one in tables]).test_null_odds(correction=False)
    assert surplus.sum() ** 2 / variance.sum() == pytest.approx(peer.statistic)
    found = compare_rates_over_time(x, n, y, m).difference[-1]
    assert found == pytest.approx(surplus.sum() / (n * m / rows).sum())


@pytest.mark.parametrize(("n", "m", "events"), [(5, 5, 3), (3, 400, 2), (40, 60, 99), (200, 300, 7), (2, 1, 1)])
@pytest.mark.parametrize("effect", [0.02, 0.2])
def test_the_e_value_is_one_or_less_on_average_whatever_the_counts(n, m, events, effect):
    """Without a difference, by the exact distribution: also where an approximation for large counts would fail."""
    x = np.arange(max(0, events - m), min(n, events) + 1)
    e = [compare_rates_over_time([one], [n], [events - one], [m], effect=effect).e_value[0] for one in x]
    assert float(np.dot(stats.hypergeom.pmf(x, n + m, events, n), e)) <= 1.0 + 1e-12


def test_rates_that_move_together_are_no_difference_when_a_group_grows():
    """Both rates are the same on every day; of all rows put together, one group has twice the rate of the other."""
    days = np.arange(90)
    rate, n, m = 0.1 + 0.5 * days / 89, 10 + 10 * days, np.full(90, 500)
    found = compare_rates_over_time(rate * n, n, rate * m, m)
    assert (rate * n).sum() / n.sum() - (rate * m).sum() / m.sum() > 0.05
    assert found.difference == pytest.approx(np.zeros(90), abs=1e-12)
    assert found.e_value.max() <= 1.0
    assert (found.low < 0).all()
    assert (found.high > 0).all()


@pytest.mark.parametrize("per_day", [100, 500])
def test_a_difference_is_found_late_about_as_soon_as_from_the_start(per_day):
    """Expected counts, 30 % and 35 %, from day 120 on and from the first day on."""
    both = [np.full(200, per_day * rate) for rate in (0.35, 0.30)]
    before = np.full(120, per_day * 0.30)
    rows = np.full(320, per_day)
    at_once = compare_rates_over_time(both[0], rows[:200], both[1], rows[:200])
    late = compare_rates_over_time(np.append(before, both[0]), rows, np.append(before, both[1]), rows)
    soon, later = (int((one.e_value >= 20).argmax()) + 1 for one in (at_once, late))
    assert later - 120 <= 2 * soon
    limits, all_days = (int((one > 0).argmax()) for one in (late.at_least, late.low))
    assert limits - 120 <= 3 * soon  # the limits say so as well
    assert all_days > limits  # what all days together show only later
    assert (late.at_least >= late.low).all()
    assert (late.at_most <= late.high).all()


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
    assert more.e_value[-1] == pytest.approx(one.e_value[-1], rel=1e-9)
    assert (one.p_value <= 1).all()
    assert (np.diff(more.p_value) <= 0).all()


@pytest.mark.parametrize("compare", [compare_rates_over_time, ratio_over_time])
def test_what_is_said_of_a_batch_stays_when_others_come(compare):
    """Also of the first ones, before which there is nothing to look back at."""
    rng = np.random.default_rng(2)
    n, m = rng.integers(50, 200, 9), rng.integers(50, 200, 9)
    counts = rng.binomial(n, 0.35), n, rng.binomial(m, 0.3), m
    whole = vars(compare(*counts))
    for looked in range(1, 9):
        early = vars(compare(*(one[:looked] for one in counts)))
        for name, values in early.items():
            np.testing.assert_allclose(whole[name][:looked], values, rtol=1e-9, err_msg=name)


def test_a_side_without_rows_is_no_evidence():
    found = compare_rates_over_time([1, 5], [10, 10], [0, 3], [0, 10])
    assert found.e_value[0] == 1
    assert math.isnan(found.difference[0])
    assert found.difference[1] == pytest.approx(0.2)  # of the batch that has both


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


def test_a_ratio_over_time_is_that_of_mantel_and_haenszel_and_its_limits_close_in():
    found = ratio_over_time([30] * 20, [100] * 20, [60] * 20, [100] * 20)
    assert found.ratio == pytest.approx([0.5] * 20)
    assert (found.low < 0.5).all()
    assert (found.high > 0.5).all()
    assert found.high[-1] < 0.7
    assert found.high[0] > 0.7
