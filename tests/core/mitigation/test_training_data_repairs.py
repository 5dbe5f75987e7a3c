"""Reweighing, massaging and resampling make label and group independent."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError
from bdt_core.mitigation import Reweighing, reweigh

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


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: reweigh([1, None], ["a", "b"]), "1 of 2 labels are missing"),
        (lambda: reweigh([1, 0], ["a"]), "2 labels, 1 groups"),
        (lambda: reweigh([], []), "no rows were given"),
    ],
)
def test_unusable_data(work, told):
    with pytest.raises(DataError, match=told):
        work()
