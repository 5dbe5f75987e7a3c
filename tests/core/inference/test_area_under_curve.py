"""The area under the curve against its definition and a published example."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bdt_core.errors import DataError
from bdt_core.inference import area_under_curve, area_under_curve_of_counts, wilson_interval


def by_pairs(a, b):
    """Area and DeLong's variance from the n_a x n_b table of pairs."""
    wins = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    return wins.mean(), wins.mean(axis=1).var(ddof=1) / a.size + wins.mean(axis=0).var(ddof=1) / b.size


@pytest.mark.parametrize("digits", [0, 1, 8])
def test_against_all_pairs_and_scikit_learn(digits):
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.7, 1, 60).round(digits), rng.normal(0, 1, 90).round(digits)
    result = area_under_curve(a, b)
    area, variance = by_pairs(a, b)
    assert result.auc == pytest.approx(area)
    assert result.auc == pytest.approx(roc_auc_score(np.repeat([1, 0], [60, 90]), np.concatenate([a, b])))
    logit = np.log(area / (1 - area))
    reach = 1.959964 * np.sqrt(variance) / (area * (1 - area))
    assert (result.low, result.high) == pytest.approx(1 / (1 + np.exp([reach - logit, -reach - logit])), rel=1e-6)


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
        reach = 1.959963984540054 * np.sqrt(variance) / (area * (1 - area))
        assert found.high == pytest.approx(1 / (1 + np.exp(-reach - np.log(area / (1 - area)))), rel=1e-9)


def test_counts_of_scores_that_cannot_be():
    with pytest.raises(DataError, match="whole numbers"):
        area_under_curve_of_counts([0.5], [1])
    with pytest.raises(DataError, match="one count per score"):
        area_under_curve_of_counts([1], [1, 2])
    assert area_under_curve_of_counts([0, 0], [1, 2]).auc is None
