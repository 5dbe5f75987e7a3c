"""The mid-p value against exact rational arithmetic, scipy and a table from the literature."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bdt_core.errors import DataError
from bdt_core.inference import mid_p_value
from bdt_core.inference.exact import SMALLEST_P


def by_fractions(events_a: int, n_a: int, events_b: int, n_b: int) -> Fraction:
    events, rows = events_a + events_b, n_a + n_b
    above = sum(comb(events, k) * comb(rows - events, n_a - k) for k in range(events_a + 1, min(events, n_a) + 1))
    observed = comb(events, events_a) * comb(rows - events, n_a - events_a)
    one_sided = Fraction(2 * above + observed, 2 * comb(rows, n_a))
    return min(2 * min(one_sided, 1 - one_sided), Fraction(1))


@st.composite
def two_groups(draw, largest=300):
    n_a, n_b = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    return draw(st.integers(0, n_a)), n_a, draw(st.integers(0, n_b)), n_b


@given(two_groups())
@settings(max_examples=150, deadline=None)
def test_equals_exact_rational_arithmetic(groups):
    assert mid_p_value(*groups) == pytest.approx(float(by_fractions(*groups)), rel=1e-12)


@given(two_groups(5000))
@settings(max_examples=100, deadline=None)
def test_groups_and_events_can_be_swapped(groups):
    events_a, n_a, events_b, n_b = groups
    p = mid_p_value(*groups)
    assert 0.0 < p <= 1.0
    assert mid_p_value(events_b, n_b, events_a, n_a) == pytest.approx(p, rel=1e-9)
    assert mid_p_value(n_a - events_a, n_a, n_b - events_b, n_b) == pytest.approx(p, rel=1e-9)


def test_tea_tasting_table():
    # Agresti (2013), section 3.5: one-sided exact p = .243, mid-p = .243 - .229 / 2 = .129; doubled .257.
    assert mid_p_value(3, 4, 1, 4) == pytest.approx(18 / 70)


def test_large_tables_agree_with_scipy():
    events_a, n_a, events_b, n_b = 20_500, 200_000, 79_000, 800_000
    null = stats.hypergeom(n_a + n_b, events_a + events_b, n_a)
    expected = 2 * (null.sf(events_a) + 0.5 * null.pmf(events_a))
    assert mid_p_value(events_a, n_a, events_b, n_b) == pytest.approx(expected, rel=1e-6)


def test_ten_million_rows_near_the_normal_approximation():
    events_a, n_a, events_b, n_b = 1_002_500, 5_000_000, 1_000_000, 5_000_000
    rate = (events_a + events_b) / (n_a + n_b)
    z = (events_a - events_b) / n_a / (rate * (1 - rate) * (1 / n_a + 1 / n_b)) ** 0.5
    assert mid_p_value(events_a, n_a, events_b, n_b) == pytest.approx(2 * stats.norm.sf(z), rel=1e-4)


def test_tiny_p_values_keep_their_digits():
    exact = by_fractions(500, 500, 0, 500)
    assert 1e-301 < float(exact) < 1e-299
    assert mid_p_value(500, 500, 0, 500) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("groups", [(600, 600, 0, 600), (0, 600, 600, 600), (5_000_000, 5_000_000, 0, 5_000_000)])
def test_a_p_value_is_never_zero(groups):
    assert mid_p_value(*groups) == SMALLEST_P > 0


@pytest.mark.parametrize("groups", [(0, 50, 0, 70), (50, 50, 70, 70), (0, 0, 3, 7), (1, 1, 1, 1)])
def test_one_possible_table_gives_one(groups):
    assert mid_p_value(*groups) == 1.0


@pytest.mark.parametrize("groups", [(5, 4, 0, 4), (-1, 4, 0, 4), (0, 4, 9, 4)])
def test_events_outside_the_rows_are_refused(groups):
    with pytest.raises(DataError, match="between 0 and"):
        mid_p_value(*groups)
