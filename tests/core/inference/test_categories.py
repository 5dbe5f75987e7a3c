"""Whole-table comparison of two groups over levels."""

import json

import numpy as np
import pytest
from scipy import stats

from bdt_core.errors import DataError
from bdt_core.inference import compare_category_counts, compare_counts


def test_against_scipy():
    counts = np.array([[40, 35, 60], [90, 120, 55]])
    result = compare_category_counts(*counts)
    statistic, p, dof, expected = stats.chi2_contingency(counts, correction=False)
    assert result.test == "chi-squared"
    assert result.statistic == pytest.approx(statistic, rel=1e-12)
    assert result.p_value == result.chi_squared_p_value == pytest.approx(p, rel=1e-9)
    assert result.dof == dof
    assert result.smallest_expected == pytest.approx(expected.min())
    assert result.effect_size == pytest.approx(stats.contingency.association(counts, method="cramer"))


def test_zero_cells_stay_in():
    # 0 of 500 against 30 of 500: a table with a zero cell and an overwhelming difference.
    result = compare_category_counts([500, 0], [470, 30])
    assert result.p_value < 1e-7
    assert result.comparisons[1].p_value < 1e-7
    assert result.comparisons[1].ratio == 0.0


def test_absent_levels_are_dropped_and_codes_kept():
    result = compare_category_counts([30, 0, 20, 0], [40, 0, 35, 0])
    assert result.levels == (0, 2)
    assert result.dof == 1
    assert result.comparisons[1] == compare_counts(20, 50, 35, 75)


def test_sampled_p_value_against_the_full_enumeration():
    counts_a, counts_b = np.array([3, 5, 22]), np.array([1, 12, 67])
    totals, rows = counts_a + counts_b, 110
    null = stats.multivariate_hypergeom(totals, 30)
    expected = totals * 30 / rows

    def statistic(x):
        return (np.square(x - expected) / expected).sum() + (
            np.square(totals - x - (totals - expected)) / (totals - expected)
        ).sum()

    observed, exact = statistic(counts_a), 0.0
    for i in range(totals[0] + 1):
        for j in range(totals[1] + 1):
            x = np.array([i, j, 30 - i - j])
            if x[2] >= 0 and x[2] <= totals[2] and statistic(x) >= observed * (1 - 1e-9):
                exact += null.pmf(x)
    result = compare_category_counts(counts_a, counts_b)
    assert result.test == "chi-squared by permutation"
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999))


def test_swapping_and_relabelling_keep_the_result():
    a, b = np.array([30, 40, 2, 0]), np.array([100, 90, 3, 9])
    result, swapped = compare_category_counts(a, b), compare_category_counts(b, a)
    assert swapped.p_value == result.p_value
    assert swapped.statistic == pytest.approx(result.statistic)
    assert [one.difference for one in swapped.comparisons] == pytest.approx(
        [-one.difference for one in result.comparisons]
    )
    relabelled = compare_category_counts(a[::-1], b[::-1])
    assert relabelled.statistic == pytest.approx(result.statistic)
    assert relabelled.p_value == pytest.approx(result.p_value, abs=0.02)


def test_too_few_rows_show_no_shares():
    result = compare_category_counts([10, 5], [100, 90])
    assert (result.status, result.n_a, result.n_b, result.p_value) == ("not_testable", 15, 190, None)
    assert "at least 30" in result.reason
    assert all(one.mean_a is None and one.mean_b is None for one in result.comparisons)
    assert compare_category_counts([0, 0], [0, 0], min_rows=0).status == "not_testable"


def test_one_level_only():
    result = compare_category_counts([50, 0], [70, 0])
    assert (result.status, result.statistic, result.dof, result.p_value) == ("tested", 0.0, 0, 1.0)


def test_json():
    text = json.dumps(compare_category_counts([50, 0, 3], [70, 10, 0]).to_dict(), allow_nan=False)
    assert json.loads(text)["comparisons"][2]["ratio"] == "Infinity"


def test_bad_counts_are_refused():
    with pytest.raises(DataError, match="whole numbers"):
        compare_category_counts([3, -1], [0, 1])
    with pytest.raises(DataError, match="whole numbers"):
        compare_category_counts([0.5, 1], [0, 1])
    with pytest.raises(DataError, match="one count per level"):
        compare_category_counts([1, 2, 3], [1, 2])
