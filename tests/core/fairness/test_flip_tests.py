"""The flip test against a search through all pairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness import bias_metrics, flip_test, neighbours
from bdt_core.fairness.neighbours import TREE_UP_TO


def by_all_pairs(features: pd.DataFrame, in_d, predicted, k):
    """F+ and F- from the full matrix of distances, ties for the last places averaged."""
    squared = np.zeros((len(features), len(features)))
    for name in features:
        column = features[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(dtype=float)
            if np.nanstd(values):
                scaled = (values - np.nanmean(values)) / np.nanstd(values)
                filled = np.nan_to_num(scaled)
                squared += (filled[:, None] - filled) ** 2
            squared += np.isnan(values)[:, None] != np.isnan(values)
        else:
            codes = column.astype(object).where(column.notna(), "missing").to_numpy()
            squared += codes[:, None] != codes
    distance = np.sqrt(squared)[np.ix_(in_d, ~in_d)].round(9)
    plus = minus = 0
    for row, of_d in zip(distance, predicted[in_d], strict=True):
        last = np.sort(row)[k - 1]
        nearer, tied = row < last, row == last
        share = (predicted[~in_d][nearer].sum() + (k - nearer.sum()) * predicted[~in_d][tied].mean()) / k
        plus += int(not of_d and share > 0.5 + 1e-9)
        minus += int(of_d and share < 0.5 - 1e-9)
    return plus, minus


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(["numbers", "categories", "both"]))
@settings(max_examples=60, deadline=None)
def test_equals_the_search_through_all_pairs(seed, k, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 70))
    features = pd.DataFrame(index=range(n))
    if kind != "categories":
        features["x"] = rng.normal(size=n)
        features["grid"] = rng.integers(0, 3, n).astype(float)
        features.loc[rng.random(n) < 0.1, "grid"] = np.nan
    if kind != "numbers":
        features["c"] = rng.choice(["u", "v", "w", None], n)
        features["b"] = rng.random(n) < 0.5
        features["b"] = features["b"].map({True: "yes", False: "no"})
    in_d = np.arange(n) % 3 == 0
    predicted = rng.random(n) < 0.5
    found = flip_test(features, in_d, predicted, k=k)
    assert (found.to_positive, found.to_negative) == by_all_pairs(features, in_d, predicted, k)
    assert found.low <= found.estimate <= found.high
    order = rng.permutation(n)
    assert flip_test(features.iloc[order], in_d[order], predicted[order], k=k) == found


def test_scale_of_a_column_does_not_matter():
    rng = np.random.default_rng(0)
    features = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    in_d, predicted = rng.random(300) < 0.4, rng.random(300) < 0.5
    wide = features.assign(a=features.a * 1024 + 512)
    assert flip_test(wide, in_d, predicted) == flip_test(features, in_d, predicted)


def test_sign_says_who_is_worse_off():
    features = pd.DataFrame({"x": np.arange(40) // 2})
    in_d = np.arange(40) % 2 == 0
    predicted = ~in_d
    worse = flip_test(features, in_d, predicted, k=1)
    assert (worse.estimate, worse.to_positive, worse.to_negative) == (1.0, 20, 0)
    other = flip_test(features, in_d, predicted, k=1, sign="smclarify")
    assert (other.estimate, other.low, other.high) == (-1.0, -worse.high, -worse.low)


def test_it_is_one_of_the_metrics():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"g": rng.choice(list("ab"), 200), "x": rng.normal(size=200), "y": rng.integers(0, 2, 200)})
    frame["p"] = ((frame.x > 0) & ((frame.g == "b") | (frame.x > 1))).astype(int)
    frame.loc[::20, "g"] = None
    found = bias_metrics(frame, facet="g", label="y", prediction="p", features=["x"])["FT"]["a"]
    known = frame.dropna()
    direct = flip_test(known[["x"]], (known.g == "a").to_numpy(), (known.p == 1).to_numpy())
    assert found.estimate == direct.estimate
    assert found.estimate > 0.2


def test_what_cannot_be_compared():
    features = pd.DataFrame({"x": [1.0, 2.0, 3.0], "same": 1})
    some = np.array([True, False, False])
    assert "fewer than k" in flip_test(features, some, some).undefined_reason
    assert flip_test(features, ~some | some, some).undefined_reason.startswith("0 rows in a")
    assert flip_test(features, some & ~some, some).undefined_reason == "no rows in d"
    with pytest.raises(DataError, match="nothing makes rows similar"):
        flip_test(features[["same"]], some, some, k=1)
    with pytest.raises(DataError, match="infinite"):
        flip_test(features.assign(x=np.inf), some, some, k=1)
    with pytest.raises(SpecError, match="k must be"):
        flip_test(features, some, some, k=0)


@pytest.mark.parametrize("dimensions", [1, 3, TREE_UP_TO + 2])
@pytest.mark.parametrize("grid", [True, False])
@pytest.mark.parametrize("far_out", [1.0, 30.0, 1e4])  # the last is beyond single precision
def test_tree_and_blocks_agree(dimensions, grid, far_out, monkeypatch):
    rng = np.random.default_rng([dimensions, grid])
    points = rng.integers(0, 3, (4_000, dimensions)) / 2**0.5 if grid else rng.normal(size=(4_000, dimensions))
    points[0] *= far_out
    values = rng.random(3_000) < 0.5
    found = []
    for limit in (0, 1_000):
        monkeypatch.setattr(neighbours, "TREE_UP_TO", limit)
        found.append(neighbours.mean_of_nearest(points[3_000:], points[:3_000], values, 5))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("places", "k"), [(3, 3), (5, 5), (700, 650), (1_025, 600)])
def test_blocks_with_more_neighbours_than_chunks(places, k, monkeypatch):
    rng = np.random.default_rng(places)
    points, values = rng.normal(size=(places + 50, 2)), rng.random(places) < 0.5
    found = []
    for limit in (0, 1_000):
        monkeypatch.setattr(neighbours, "TREE_UP_TO", limit)
        found.append(neighbours.mean_of_nearest(points[places:], points[:places], values, k))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)
