"""The estimator's contract, and what it says to data it cannot use."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bdt_core.errors import DataError, SpecError
from bdt_core.mitigation import GroupThresholds

SCORES = [1, 2, 3, 4, 5, 6, 7, 8] * 2
LABELS = [0, 0, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1]
GROUP = ["a"] * 8 + ["b"] * 8


def fit(scores=SCORES, labels=LABELS, group=GROUP, constraint="demographic_parity", **settings):
    return GroupThresholds(constraint, **{"tolerance": 0.1} | settings).fit(scores, labels, group)


def test_clone_and_pickle():
    model = fit(tolerance=0.2)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "thresholds_")
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(SCORES, GROUP).tolist() == model.predict(SCORES, GROUP).tolist()
    assert [one.gap for one in again.frontier()] == [one.gap for one in model.frontier()]


@pytest.mark.parametrize(
    "group",
    [
        np.array(GROUP),
        pd.Series(GROUP, index=range(100, 116)),
        pd.Categorical(GROUP, categories=["b", "a", "never"]),
        pd.Series(GROUP, dtype="category"),
    ],
    ids=["array", "series", "categorical", "categories"],
)
def test_containers_of_groups_make_no_difference(group):
    assert fit(group=group).thresholds_ == fit().thresholds_


def test_numbers_as_groups_and_booleans_as_labels():
    model = fit(labels=np.array(LABELS, dtype=bool), group=[0.0] * 8 + [1.0] * 8)
    assert model.groups_ == (0, 1)
    assert model.predict([8], [1]).tolist() == [1]
    assert list(model.thresholds_.values()) == list(fit().thresholds_.values())


def test_ties_are_stated():
    assert "12.5 %" in fit().notes_[0]
    rng = np.random.default_rng(0)
    fine = fit(rng.random(400), rng.integers(0, 2, 400), np.repeat(["a", "b"], 200))
    assert not any("tied" in one for one in fine.notes_)


def test_useless_thresholds_are_called_so():
    # Within a tolerance of 0 only "nobody" and "everybody" are equal here: 3 and 4 rows share no other rate.
    model = fit([1, 2, 3, 1, 2, 3, 4], [0, 0, 1, 0, 0, 0, 1], ["a"] * 3 + ["b"] * 4, tolerance=0.0)
    assert model.gap_ == 0.0
    assert any("select nobody in any group: equal, and of no use" in one for one in model.notes_)


def test_one_constant_group_is_noted():
    model = fit([5] * 8 + SCORES[8:])
    assert any('Every row of "a" has the same score' in one for one in model.notes_)


def test_lots_need_a_seed_and_follow_their_chances():
    rng = np.random.default_rng(1)
    score, group = rng.integers(1, 6, 3000).astype(float), np.repeat(["a", "b", "c"], 1000)
    label = rng.random(3000) < (score + (group == "b")) / 8
    model = GroupThresholds("demographic_parity", tolerance=0.0, randomized=True).fit(score, label, group)
    assert any(len(one) > 1 for one in model.mixtures_.values())
    assert any("Lots are drawn" in one for one in model.notes_)
    with pytest.raises(SpecError, match="random_state"):
        model.predict(score, group)
    drawn = model.predict(score, group, random_state=3)
    assert drawn.tolist() == model.predict(score, group, random_state=3).tolist()
    chance = model.selection_chance(score, group)
    mean = np.mean([model.predict(score, group, random_state=seed) for seed in range(200)], axis=0)
    assert np.abs(mean - chance).max() < 0.2
    assert mean.mean() == pytest.approx(chance.mean(), abs=0.005)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"group": ["a"] * 16}, 'All rows are of one group, "a"'),
        ({"scores": [3] * 16}, r"Every row has the same score \(3\)"),
        ({"scores": [*SCORES[:15], np.nan]}, "Scores hold 1 missing or infinite values among 16"),
        ({"scores": ["high"] * 16}, "Scores must be numbers"),
        ({"labels": [*LABELS[:15], 2]}, "Labels must be 0 and 1; found 3 different values"),
        ({"labels": ["yes", "no"] * 8}, "labels == value"),
        ({"labels": [*LABELS[:15], None]}, "1 of 16 labels are missing"),
        ({"group": [*GROUP[:15], None]}, "1 of 16 groups are missing"),
        ({"group": GROUP[:15]}, "16 scores, 16 labels, 15 groups"),
        ({"scores": [], "labels": [], "group": []}, "no rows"),
        ({"labels": [0] * 8 + LABELS[8:], "constraint": "equal_opportunity"}, 'Nobody in "a" has a positive label'),
        ({"labels": [1] * 8 + LABELS[8:], "constraint": "equalized_odds"}, 'Nobody in "a" has a negative label'),
        ({"labels": [1] * 16, "objective": "balanced_accuracy"}, "No row has a negative label"),
        ({"objective": lambda tp, fp, fn, tn: 1.0}, "must return 9 finite numbers"),
        ({"objective": lambda tp, fp, fn, tn: tp / (tp + fp)}, "missing or infinite ones"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_unusable_data_is_refused_with_what_to_do(changed, told):
    with pytest.raises(DataError, match=told):
        fit(**changed)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"constraint": "equal_oportunity"}, 'Did you mean "equal_opportunity"'),
        ({"objective": "acuracy"}, 'Did you mean "accuracy"'),
        ({"tolerance": 1.5}, "between 0 and 1; found 1.5"),
        ({"tolerance": float("nan")}, "between 0 and 1"),
        ({"constraint": "predictive_parity", "randomized": True}, "cannot be randomized"),
    ],
)
def test_settings_that_cannot_be(changed, told):
    with pytest.raises(SpecError, match=told):
        fit(**changed)


def test_a_tolerance_that_cannot_be_met_names_the_smallest_that_can():
    # Precisions in a: 1, 1/2, ...; in b at most 1/2, and never equal to one of a's.
    scores, labels = [4, 3, 2, 1, 3, 2, 1], [1, 1, 1, 0, 0, 1, 0]
    group = ["a"] * 4 + ["b"] * 3
    with pytest.raises(SpecError, match=r"tolerance of 0\.1 .*smallest that some meet on these rows is 0\.25"):
        fit(scores, labels, group, "predictive_parity")
    model = fit(scores, labels, group, "predictive_parity", tolerance=0.25)
    assert model.gap_ == pytest.approx(0.25)
    assert model.smallest_gap_ == pytest.approx(0.25)


def test_an_unseen_group_is_refused_by_name():
    with pytest.raises(DataError, match='No threshold is known for "c": the fit had "a", "b"'):
        fit().predict([1, 2], ["a", "c"])


def test_before_the_fit():
    with pytest.raises(NotFittedError):
        GroupThresholds().predict([1], ["a"])
    with pytest.raises(NotFittedError):
        GroupThresholds().frontier()


def test_a_million_distinct_scores_take_seconds():
    rng = np.random.default_rng(0)
    n = 1_000_000
    score, group = rng.random(n), rng.integers(0, 3, n)
    label = rng.random(n) < 0.2 + 0.6 * score
    import time

    start = time.process_time()
    model = GroupThresholds("demographic_parity", tolerance=0.01).fit(score, label, group)
    assert time.process_time() - start < 20
    assert model.gap_ <= 0.01 + 1e-12
    json.dumps({str(key): value for key, value in model.thresholds_.items()})
