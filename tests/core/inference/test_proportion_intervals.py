"""Intervals of proportions against published figures, statsmodels and their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from bdt_core.errors import DataError, SpecError
from bdt_core.inference import (
    koopman_interval,
    newcombe_interval,
    rate_interval,
    wilson_interval,
)

# Newcombe (1998), Statistics in Medicine 17, 873-890, table II, method 10.
NEWCOMBE_TABLE = [
    ((56, 70, 48, 80), (0.0524, 0.3339)),
    ((9, 10, 3, 10), (0.1705, 0.8090)),
    ((6, 7, 2, 7), (0.0582, 0.8062)),
    ((5, 56, 0, 29), (-0.0381, 0.1926)),
    ((0, 10, 0, 20), (-0.1611, 0.2775)),
    ((0, 10, 0, 10), (-0.2775, 0.2775)),
    ((10, 10, 0, 20), (0.6791, 1.0000)),
    ((10, 10, 0, 10), (0.6075, 1.0000)),
]
# Newcombe (1998), Statistics in Medicine 17, 857-872, table I, method 3.
WILSON_TABLE = [
    ((81, 263), (0.2553, 0.3662)),
    ((15, 148), (0.0624, 0.1605)),
    ((0, 20), (0.0, 0.1611)),
    ((1, 29), (0.0061, 0.1718)),
]


@pytest.mark.parametrize(("groups", "limits"), NEWCOMBE_TABLE)
def test_newcombe_published(groups, limits):
    assert newcombe_interval(*groups) == pytest.approx(limits, abs=5.1e-5)


@pytest.mark.parametrize(("sample", "limits"), WILSON_TABLE)
def test_wilson_published(sample, limits):
    assert wilson_interval(*sample) == pytest.approx(limits, abs=5.1e-5)


def test_koopman_published():
    # Koopman (1984), Biometrics 40, 513-517: 36 of 40 against 16 of 80.
    assert koopman_interval(36, 40, 16, 80) == pytest.approx((2.94, 7.15), abs=5.1e-3)


@pytest.mark.parametrize(("events", "n"), [(3, 20), (19, 20), (150, 1000), (1, 100_000)])
def test_wilson_and_jeffreys_against_statsmodels(events, n):
    assert wilson_interval(events, n) == pytest.approx(proportion_confint(events, n, method="wilson"), rel=1e-10)
    assert rate_interval(events, n, 0.9) == pytest.approx(
        proportion_confint(events, n, alpha=0.1, method="jeffreys" if n < 40 else "wilson"), rel=1e-10
    )


@pytest.mark.parametrize("groups", [(3, 20, 30, 100), (83, 1169, 4, 274), (5, 9, 7, 8), (900, 1000, 100, 50_000)])
def test_differences_and_ratios_against_statsmodels(groups):
    difference = confint_proportions_2indep(*groups, compare="diff", method="newcomb")
    ratio = confint_proportions_2indep(*groups, compare="ratio", method="score", correction=False)
    assert newcombe_interval(*groups) == pytest.approx(difference, abs=1e-12)
    assert koopman_interval(*groups) == pytest.approx(ratio, rel=1e-7)


@given(st.integers(1, 400), st.integers(1, 400), st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=150, deadline=None)
def test_two_group_intervals_contain_the_estimate_and_swap(n_a, n_b, part_a, part_b, confidence):
    events_a, events_b = round(part_a * n_a), round(part_b * n_b)
    low, high = newcombe_interval(events_a, n_a, events_b, n_b, confidence)
    assert -1 <= low <= events_a / n_a - events_b / n_b + 1e-12
    assert events_a / n_a - events_b / n_b - 1e-12 <= high <= 1
    assert newcombe_interval(events_b, n_b, events_a, n_a, confidence) == pytest.approx((-high, -low), abs=1e-12)
    low, high = koopman_interval(events_a, n_a, events_b, n_b, confidence)
    if events_b:
        assert low <= events_a / n_a / (events_b / n_b) * (1 + 1e-9)
        assert high >= events_a / n_a / (events_b / n_b) * (1 - 1e-9)
    swapped = koopman_interval(events_b, n_b, events_a, n_a, confidence)
    inverse = (1 / high, np.inf if low == 0 else 1 / low)
    assert swapped == pytest.approx(inverse, rel=1e-9)


def test_koopman_limits_solve_the_score_equation():
    # At the limits the statistic of Koopman's chi-squared form equals the quantile 3.841459.
    events_a, n_a, events_b, n_b = 7, 40, 12, 300
    for ratio in koopman_interval(events_a, n_a, events_b, n_b):
        rates = np.linspace(1e-6, min(1, 1 / ratio) - 1e-6, 2_000_001)
        likelihood = (
            events_a * np.log(ratio * rates)
            + (n_a - events_a) * np.log1p(-ratio * rates)
            + events_b * np.log(rates)
            + (n_b - events_b) * np.log1p(-rates)
        )
        rate_b = rates[likelihood.argmax()]
        rate_a = ratio * rate_b
        u = (events_a - n_a * rate_a) ** 2 / (n_a * rate_a * (1 - rate_a))
        u += (events_b - n_b * rate_b) ** 2 / (n_b * rate_b * (1 - rate_b))
        assert u == pytest.approx(3.841459, abs=1e-3)


def test_edges():
    assert wilson_interval(0, 10)[0] == 0.0
    assert wilson_interval(10, 10)[1] == 1.0
    assert rate_interval(0, 10)[0] == 0.0
    assert rate_interval(10, 10)[1] == 1.0
    assert koopman_interval(0, 40, 16, 80)[0] == 0.0
    assert koopman_interval(5, 40, 0, 80)[1] == np.inf
    assert koopman_interval(0, 40, 0, 80) == (0.0, np.inf)
    for interval in (
        wilson_interval(0, 0),
        rate_interval(0, 0),
        newcombe_interval(1, 4, 0, 0),
        koopman_interval(1, 4, 0, 0),
    ):
        assert np.isnan(interval).all()


def test_rate_interval_changes_at_forty_rows():
    low, high = rate_interval([5, 5], [39, 40])
    assert (low[0], high[0]) == pytest.approx(proportion_confint(5, 39, method="jeffreys"), rel=1e-10)
    assert (low[1], high[1]) == wilson_interval(5, 40)


def test_arrays_equal_single_values_and_broadcast():
    events, rows = np.arange(0, 41, 4), np.full(11, 40)
    for interval in (wilson_interval, rate_interval):
        low, high = interval(events, 40)
        assert [(a, b) for a, b in zip(low, high, strict=True)] == [interval(int(x), 40) for x in events]
    for interval in (newcombe_interval, koopman_interval):
        low, high = interval(events, rows, 7, 90)
        assert np.allclose([low, high], np.transpose([interval(int(x), 40, 7, 90) for x in events]), rtol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(DataError, match="between 0 and"):
        wilson_interval(5, 4)
    with pytest.raises(DataError, match="finite"):
        newcombe_interval(1, 4, np.nan, 4)
    with pytest.raises(SpecError, match="confidence"):
        koopman_interval(1, 4, 1, 4, 95)
