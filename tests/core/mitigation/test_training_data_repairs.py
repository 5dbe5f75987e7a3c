"""Reweighing, massaging and resampling make label and group independent."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError
from bdt_core.mitigation import Reweighing, massage, resample, reweigh

rows = st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc"), st.integers(0, 9)), min_size=4, max_size=80).map(
    lambda several: [np.array(one) for one in zip(*several, strict=True)]
)


def rates(label, group, weight=None):
    weight = np.ones(len(label)) if weight is None else weight
    return {one: np.average(label[group == one], weights=weight[group == one]) for one in np.unique(group)}


@settings(max_examples=80, deadline=None)
@given(rows)
def test_weighted_rates_are_the_overall_rate(table):
    label, group, _ = table
    found = reweigh(label, group)
    weight = found.weights(label, group)
    for one in np.unique(group):
        if len(np.unique(label[group == one])) == len(np.unique(label)):
            assert rates(label, group, weight)[one] == pytest.approx(label.mean())
    lost = sum(one.expected for one in found.cells if one.weight is None)
    assert weight.sum() == pytest.approx(len(label) - lost)
    assert len(found.empty) == sum(one.rows == 0 for one in found.cells)
    assert Reweighing.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found


def test_kamiran_calders_example():
    # Table 1 of the paper's running example: 5 men of whom 4 are hired, 5 women of whom 2 are.
    label, group = np.array([1, 1, 1, 1, 0, 1, 1, 0, 0, 0]), np.repeat(["m", "f"], 5)
    weights = {(one.group, one.label): one.weight for one in reweigh(label, group).cells}
    assert weights == {
        ("m", 1): pytest.approx(0.75),
        ("m", 0): pytest.approx(2.0),
        ("f", 1): pytest.approx(1.5),
        ("f", 0): pytest.approx(2 / 3),
    }


def test_more_than_two_labels_and_text():
    label, group = ["low", "mid", "high", "low", "low", "high"] * 10, ["a", "a", "a", "b", "b", "b"] * 10
    found = reweigh(label, group)
    assert found.empty == ("b with label mid",)
    assert sum(one.expected for one in found.cells) == pytest.approx(60)
    with pytest.raises(DataError, match="1 of 1 rows are of a group and label"):
        found.weights(["mid"], ["b"])


@settings(max_examples=80, deadline=None)
@given(rows)
def test_massaging_changes_the_fewest_labels_nearest_to_the_border(table):
    label, group, score = table
    found = massage(label, group, score)
    assert found.labels.sum() == label.sum()
    assert len(found.promoted) == len(found.demoted)
    assert (label[found.promoted] == 0).all()
    assert (label[found.demoted] == 1).all()
    assert not set(group[found.promoted]) & set(group[found.demoted])
    changed = np.flatnonzero(found.labels != label)
    assert sorted([*found.promoted, *found.demoted]) == changed.tolist()
    for one in np.unique(group):
        mine = group == one
        assert abs(found.labels[mine].sum() - mine.sum() * label.mean()) < 1
        kept_negative = mine & (found.labels == 0) & (label == 0)
        raised = [i for i in found.promoted if mine[i]]
        if raised and kept_negative.any():
            assert score[raised].min() >= score[kept_negative].max()
        kept_positive = mine & (found.labels == 1) & (label == 1)
        lowered = [i for i in found.demoted if mine[i]]
        if lowered and kept_positive.any():
            assert score[lowered].max() <= score[kept_positive].min()


@settings(max_examples=80, deadline=None)
@given(rows, st.booleans())
def test_resampling_brings_every_group_to_the_overall_rate(table, preferential):
    label, group, score = table
    cells = pd.crosstab(group, label)
    assume(cells.shape[1] == 2)
    at = resample(label, group, scores=score if preferential else None, random_state=1)
    assert (np.diff(at) >= 0).all()
    if (cells > 0).all(axis=None):
        assert len(at) == len(label)
    for one in np.unique(group):
        for y in (0, 1):
            before, after = ((of == one) & (was == y) for of, was in ((group, label), (group[at], label[at])))
            if before.any():
                assert abs(after.sum() - (group == one).sum() * (label == y).mean()) <= 1
                times = np.bincount(at, minlength=len(label))[before]
                assert times.max() - times.min() <= 1  # nobody is repeated twice before all are once
                if preferential and times.max() > times.min():
                    more, fewer = score[before][times == times.max()], score[before][times == times.min()]
                    # Kept rather than left out: far from the border. Repeated rather than not: near to it.
                    near_first = times.max() > 1
                    low_is_near = y == 1
                    if near_first == low_is_near:
                        assert more.max() <= fewer.min()
                    else:
                        assert more.min() >= fewer.max()


def test_uniform_resampling_follows_its_seed():
    rng = np.random.default_rng(0)
    label, group = rng.integers(0, 2, 200), rng.choice(["a", "b"], 200, p=[0.3, 0.7])
    one, same, other = (resample(label, group, random_state=seed).tolist() for seed in (0, 0, 1))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: reweigh([1, None], ["a", "b"]), "1 of 2 labels are missing"),
        (lambda: reweigh([1, 0], ["a"]), "2 labels, 1 groups"),
        (lambda: reweigh([], []), "no rows were given"),
        (lambda: massage([0, 1, 2], ["a", "b", "b"], [1, 2, 3]), "Labels must be 0 and 1; found 3"),
        (lambda: massage([0, 1], ["a", "b"], [1, np.nan]), "1 missing or infinite"),
        (lambda: massage([0, 1], ["a", "b"], [1]), "1 scores, 2 labels"),
        (lambda: resample(["0", "1"], ["a", "b"]), "Labels must be 0 and 1"),
    ],
)
def test_unusable_data(work, told):
    with pytest.raises(DataError, match=told):
        work()
