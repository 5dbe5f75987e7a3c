"""The area under the curve against its definition and a published example."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from bdt_core.errors import DataError
from bdt_core.inference import area_under_curve, area_under_curve_of_counts, wilson_interval


def by_pairs(a, b):
    """Area and DeLong's variance from the n_a x n_b table of pairs."""
    wins = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    return wins.mean(), wins.mean(axis=1).var(ddof=1) / a.size + wins.mean(axis=0).var(ddof=1) / b.size


def expected_interval(area, variance, fewest):
    """Wilson's interval for the rows that the area is worth: Mee's near .5, those of the smaller group near 1."""
    wrong = fewest * min(area, 1 - area)
    by_variance = max(area * (1 - area) / variance, fewest)
    rows = (by_variance**wrong * fewest**0.5) ** (1 / (wrong + 0.5))
    return proportion_confint(area * rows, rows, method="wilson")


def newcombe_method_5(area, n_a, n_b):
    """Newcombe (2006), Statistics in Medicine 25, 559-573: all values that lie no further than 1.96 errors off."""
    x, half = np.linspace(1e-6, 1 - 1e-6, 1_000_000), (n_a + n_b) / 2 - 1
    variance = x * (1 - x) * (1 + half * ((1 - x) / (2 - x) + x / (1 + x))) / (n_a * n_b)
    inside = x[(x - area) ** 2 <= 1.959964**2 * variance]
    return inside[0], inside[-1]


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_against_all_pairs_and_scikit_learn(digits):
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.7, 1, 60).round(digits), rng.normal(0, 1, 90).round(digits)
    result = area_under_curve(a, b)
    area, variance = by_pairs(a, b)
    assert result.auc == pytest.approx(area)
    assert result.auc == pytest.approx(roc_auc_score(np.repeat([1, 0], [60, 90]), np.concatenate([a, b])))
    assert (result.low, result.high) == pytest.approx(expected_interval(area, variance, 60), rel=1e-9)


@pytest.mark.parametrize(("n_a", "n_b", "shift"), [(20, 20, 2.3), (30, 300, 1.0), (100, 100, 1.2), (40, 60, 0.0)])
def test_scores_of_like_spread_have_the_interval_of_newcombes_method_5(n_a, n_b, shift):
    rng = np.random.default_rng(0)
    result = area_under_curve(rng.normal(shift, 1, n_a), rng.normal(0, 1, n_b))
    assert (result.low, result.high) == pytest.approx(newcombe_method_5(result.auc, n_a, n_b), abs=0.02)


def test_near_1_the_rows_on_the_wrong_side_are_not_all_that_is_trusted():
    # One of 20 lies wrong. DeLong's variance knows of it alone: on the logit scale its interval began at .77.
    result = area_under_curve(np.append(np.arange(19) + 100, 30), np.arange(50))
    area, variance = by_pairs(np.append(np.arange(19) + 100, 30), np.arange(50))
    logit, reach = np.log(area / (1 - area)), 1.959964 * np.sqrt(variance) / (area * (1 - area))
    assert result.low < 1 / (1 + np.exp(reach - logit)) - 0.01
    assert (result.low, result.high) == pytest.approx(expected_interval(area, variance, 20), rel=1e-9)


def test_swapping_groups_mirrors_the_result_and_order_is_irrelevant():
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 5, 40), rng.integers(1, 6, 70)
    result, swapped = area_under_curve(a, b), area_under_curve(b, a)
    assert swapped.auc == pytest.approx(1 - result.auc)
    assert (swapped.low, swapped.high) == pytest.approx((1 - result.high, 1 - result.low))
    assert area_under_curve(rng.permutation(a), rng.permutation(b)) == result
    assert area_under_curve(a * 7.0 - 3, b * 7.0 - 3) == result


def test_complete_separation_and_single_rows():
    result = area_under_curve(np.arange(20) + 100, np.arange(50))
    assert (result.auc, result.high) == (1.0, 1.0)
    assert (result.low, result.high) == wilson_interval(20, 20)
    single = area_under_curve([1.0], [0.0, 2.0])
    assert single.auc == 0.5
    assert single.low < 0.1 < 0.9 < single.high
    ties = area_under_curve(np.ones(30), np.ones(30))
    assert ties.auc == 0.5
    assert ties.low < 0.5 < ties.high


def test_empty_groups_are_undefined_and_bad_scores_refused():
    assert area_under_curve([], [1.0]).to_dict() == {
        "auc": None,
        "low": None,
        "high": None,
        "confidence": 0.95,
        "n_a": 0,
        "n_b": 1,
    }
    with pytest.raises(DataError, match="missing or infinite"):
        area_under_curve([np.nan, 1.0], [0.0])


@pytest.mark.parametrize("values", [1, 2, 7])
def test_counts_of_scores_give_what_the_rows_give(values):
    rng = np.random.default_rng(9)
    a, b = rng.integers(0, 40, values), rng.integers(1, 90, values)
    found = area_under_curve_of_counts(a, b)
    scores = np.arange(values) / 3
    assert found == area_under_curve(np.repeat(scores, a), np.repeat(scores, b))
    area, variance = by_pairs(np.repeat(scores, a), np.repeat(scores, b))
    assert found.auc == pytest.approx(area, rel=1e-14)
    with_empty = np.insert(a, 1, 0), np.insert(b, 1, 0)
    assert area_under_curve_of_counts(*with_empty) == found
    if values > 1:
        assert found.high == pytest.approx(expected_interval(area, variance, min(a.sum(), b.sum()))[1], rel=1e-9)


def test_counts_of_scores_that_cannot_be():
    with pytest.raises(DataError, match="whole numbers"):
        area_under_curve_of_counts([0.5], [1])
    with pytest.raises(DataError, match="one count per score"):
        area_under_curve_of_counts([1], [1, 2])
    assert area_under_curve_of_counts([0, 0], [1, 2]).auc is None


def test_a_group_of_one_score_adds_no_variance():
    a, b = np.full(40, 29.5), np.arange(50.0)
    area, variance = by_pairs(a, b)
    found = area_under_curve(a, b)
    assert found.auc == area
    assert (found.low, found.high) == pytest.approx(expected_interval(area, variance, 40), rel=1e-12)
