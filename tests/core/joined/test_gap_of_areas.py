"""The gap of two groups' areas under the curve: each side's limits enter at their own place."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from bdt_core.inference import area_under_curve
from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.local_bias.results import HeldOutGap

SETTINGS = LocalBiasSettings(n_clusters=2, min_clusters=1, metric="auc", permutations=0, n_init=2)


def rows(seed: int, number: int, apart: dict[str, float], shares: dict[str, float]) -> LocalRows:
    """Two places; by group, how far positives score above negatives, everywhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(number, 2)) + 10.0 * rng.integers(0, 2, (number, 1))
    group = rng.choice(list(shares), number, p=list(shares.values()))
    label = rng.integers(0, 2, number)
    score = rng.normal(size=number) + label * np.array([apart[one] for one in group])
    return LocalRows(X, group, y_true=label, y_score=score)


@cache
def few_against_many() -> tuple[LocalRows, HeldOutGap]:
    """A few people for whom the score tells nearly everything, and many for whom it tells little; all test rows."""
    apart, shares = {"few": 2.5, "many": 0.5}, {"few": 0.05, "many": 0.95}
    train, test = rows(1, 4000, apart, shares), rows(2, 1200, apart, shares)
    return test, find_local_bias(train, test, SETTINGS).everywhere.held_out


def area(test: LocalRows, group: str, alpha: float = 0.05) -> np.ndarray:
    mine = test.group == group
    found = area_under_curve(
        test.y_score[mine & (test.y_true == 1)], test.y_score[mine & (test.y_true == 0)], alpha=alpha
    )
    return np.array([found.auc, found.low, found.high], dtype=float)


def test_the_interval_squares_and_adds_the_limits_that_face_each_other() -> None:
    test, found = few_against_many()
    assert (found.higher, found.lower, found.test) == ("few", "many", "DeLong")
    (a, low_a, high_a), (b, low_b, high_b) = area(test, "few"), area(test, "many")
    mine = test.group == "few"
    assert a == pytest.approx(roc_auc_score(test.y_true[mine], test.y_score[mine]))
    assert a - low_a > 1.3 * (high_a - a)  # lopsided: the wrong limit would show
    assert a - low_a > 1.3 * (high_b - b)
    assert found.gap == pytest.approx(a - b)
    assert found.low == pytest.approx(a - b - np.sqrt((a - low_a) ** 2 + (high_b - b) ** 2))
    assert found.high == pytest.approx(a - b + np.sqrt((high_a - a) ** 2 + (b - low_b) ** 2))


def test_the_p_value_rests_on_the_lengths_of_both_intervals() -> None:
    test, found = few_against_many()
    (a, low_a, high_a), (b, low_b, high_b) = area(test, "few"), area(test, "many")
    z_half = stats.norm.isf(0.025)
    error = np.sqrt(((high_a - low_a) / (2 * z_half)) ** 2 + ((high_b - low_b) / (2 * z_half)) ** 2)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(a - b) / error), rel=1e-9, abs=0.0)


def test_groups_by_other_names_have_the_same_gap() -> None:
    """Which group has the lower code must not decide."""
    apart, shares = {"z": 2.5, "many": 0.5}, {"z": 0.05, "many": 0.95}
    train, test = rows(1, 4000, apart, shares), rows(2, 1200, apart, shares)
    renamed = find_local_bias(train, test, SETTINGS).everywhere.held_out
    assert renamed == replace(few_against_many()[1], higher="z")


def test_a_gap_that_turned_on_the_test_rows_is_negative_and_not_confirmed() -> None:
    shares = {"few": 0.2, "many": 0.8}
    train = rows(1, 4000, {"few": 1.6, "many": 0.8}, shares)
    test = rows(2, 4000, {"few": 0.2, "many": 1.6}, shares)
    found = find_local_bias(train, test, SETTINGS).everywhere.held_out
    assert found.higher == "few"
    assert found.gap is not None
    assert found.high is not None
    assert found.gap < found.high < 0
    assert found.significant
    assert not found.confirmed
