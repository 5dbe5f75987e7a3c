"""Daily looks: the e-process keeps its error, the daily and the peeked test do not, and a gap is found soon.

The probability of ever alarming is at most alpha: over 90 looks, over 365, while rates move and groups grow.
"""

import numpy as np
import pytest
from scipy import stats

from bdt_core.inference.sequential import compare_rates_over_time, discoveries

DAYS, ALPHA = 90, 0.05


def days(rng: np.random.Generator, rate_a: float, rate_b: float, per_day: int) -> list[np.ndarray]:
    n = np.full(DAYS, per_day)
    return [rng.binomial(n, rate_a), n, rng.binomial(n, rate_b), n]


def z_p_values(x_a, n_a, x_b, n_b):
    pooled = (x_a + x_b) / (n_a + n_b)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = (x_a / n_a - x_b / n_b) / np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    return np.nan_to_num(2 * stats.norm.sf(np.abs(z)), nan=1.0)


@pytest.mark.parametrize(("rate", "per_day"), [(0.1, 50), (0.3, 500), (0.05, 200)])
def test_false_alarms_over_ninety_looks(rate, per_day, full):
    runs = 4000 if full else 500
    rng = np.random.default_rng(int(1000 * rate) + per_day)
    alarms = misses = daily = peeked = 0
    for _ in range(runs):
        data = days(rng, rate, rate, per_day)
        found = compare_rates_over_time(*data, alpha=ALPHA)
        alarms += bool((found.e_value >= 1 / ALPHA).any())
        misses += bool(((found.at_least > 0) | (found.at_most < 0)).any())
        daily += bool((z_p_values(*data) <= ALPHA).any())
        peeked += bool((z_p_values(*(np.cumsum(one) for one in data)) <= ALPHA).any())
    bound = stats.binom.ppf(0.999, runs, ALPHA)
    assert alarms <= bound
    assert misses <= bound
    assert daily > 0.9 * runs  # what ours must not do
    assert peeked > 0.2 * runs


def test_a_gap_is_found_soon(full):
    """Delay beside a test of fixed size that knows the gap, and has to be planned for it."""
    runs = 500 if full else 100
    rng = np.random.default_rng(5)
    delays = []
    for _ in range(runs):
        found = compare_rates_over_time(*days(rng, 0.35, 0.30, 500), alpha=ALPHA)
        rejected = np.flatnonzero(found.e_value >= 1 / ALPHA)
        delays.append(rejected[0] + 1 if rejected.size else DAYS + 1)
    per_side = (stats.norm.isf(0.025) + stats.norm.isf(0.2)) ** 2 * (0.35 * 0.65 + 0.3 * 0.7) / 0.05**2
    fixed = per_side / 500
    assert np.median(delays) <= 3 * fixed
    assert max(delays) <= DAYS


@pytest.mark.parametrize("looks", [120, 365])
def test_rates_that_move_while_one_group_grows_alarm_no_more_often(looks, full):
    """Both rates are the same on every day. Of all rows put together they differ for certain."""
    runs = 1000 if full else 150
    rng = np.random.default_rng(looks)
    day = np.arange(looks)
    rate = 0.3 + 0.2 * day / looks
    n, m = np.round(50 + 450 * day / looks), np.full(looks, 300)
    alarms = misses = together = 0
    for _ in range(runs):
        x, y = rng.binomial(n.astype(int), rate), rng.binomial(m, rate)
        found = compare_rates_over_time(x, n, y, m, alpha=ALPHA)
        alarms += bool((found.e_value >= 1 / ALPHA).any())
        misses += bool(((found.at_least > 0) | (found.at_most < 0)).any())
        together += bool(z_p_values(*(one.sum() for one in (x, n, y, m))) <= ALPHA)
    print(f"{looks} looks: alarms {alarms / runs:.3f}, sequences that miss {misses / runs:.3f}, all rows put together "
          f"{together / runs:.3f}")  # fmt: skip
    assert alarms <= stats.binom.ppf(0.999, runs, ALPHA)
    assert misses <= stats.binom.ppf(0.999, runs, ALPHA)
    assert together > 0.95 * runs  # what ours must not do


def test_a_late_gap_is_found_about_as_soon_as_an_early_one(full):
    """30 % and 35 % of 200 rows a day, from the first day on, or from day 120 on."""
    runs = 500 if full else 80
    rng = np.random.default_rng(120)
    n = np.full(60, 200)
    delays = {0: [], 120: []}
    for before, its in delays.items():
        rows = np.full(before + 60, 200)
        for _ in range(runs):
            x = np.append(rng.binomial(200, 0.30, before), rng.binomial(n, 0.35))
            y = rng.binomial(rows, 0.30)
            found = compare_rates_over_time(x, rows, y, rows, alpha=ALPHA)
            late = found.e_value[before:] >= 1 / ALPHA
            its.append(int(late.argmax()) + 1 if late.any() else 61)
    at_first, later = (float(np.median(its)) for its in delays.values())
    print(f"found after {at_first:.0f} days from day 0, after {later:.0f} from day 120")
    assert later <= 2 * at_first
    assert max(delays[120]) <= 60


def test_the_sequence_covers_the_true_difference_at_all_times(full):
    runs = 2000 if full else 300
    rng = np.random.default_rng(6)
    left = 0
    for _ in range(runs):
        found = compare_rates_over_time(*days(rng, 0.25, 0.20, 100), alpha=ALPHA)
        left += bool(((found.at_least > 0.05) | (found.at_most < 0.05)).any())
    assert left <= stats.binom.ppf(0.999, runs, ALPHA)


def test_false_discoveries_over_many_streams(full):
    runs, streams, different = (400 if full else 60), 20, 5
    rng = np.random.default_rng(7)
    shares = []
    for _ in range(runs):
        e = [
            compare_rates_over_time(*days(rng, 0.3 if i >= different else 0.4, 0.3, 100), alpha=ALPHA).e_value[-1]
            for i in range(streams)
        ]
        found = np.array(discoveries(e, 0.1))
        shares.append(found[different:].sum() / max(found.sum(), 1))
    assert np.mean(shares) <= 0.1
