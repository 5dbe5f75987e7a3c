"""The tree of clusters in words and as data."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering import HBAC, ClusterTree
from bdt_core.clustering.split import Prototypes
from bdt_core.clustering.tree import in_own_units, number_in_words
from bdt_core.table.encoding import Encoder


@pytest.fixture(scope="module")
def fitted():
    """Young people with many priors are treated worst; within the others, those whose income is unknown."""
    rng = np.random.default_rng(0)
    rows = 900
    group = rng.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "age_cat": np.array(["Under 25", "25 - 45", "25 - 45"])[group],
            "priors": np.array([9.0, 1.0, 1.0])[group] + rng.integers(0, 3, rows),
            "income": np.where(group == 2, np.nan, 30_000.0 + rng.integers(0, 5000, rows)),
        }
    )
    y = (rng.random(rows) < np.array([0.8, 0.1, 0.5])[group]).astype(float)
    return frame, y, group, HBAC(max_iter=2, min_cluster_size=0.2).fit(frame, y)


def test_paths_name_what_sets_a_branch_apart(fitted):
    _, _, group, model = fitted
    assert model.n_clusters_ == 3
    assert [set(group[model.labels_ == label]) for label in range(3)] == [{0}, {2}, {1}]
    paths = [" / ".join(model.tree_.path(label)) for label in range(3)]
    assert "priors higher: mean 10" in paths[0]
    assert "age_cat is mostly 'Under 25' rather than '25 - 45'" in paths[0]
    assert "income missing more often: 100 % against 0 %" in paths[1]
    assert "income missing less often: 0 % against 100 %" in paths[2]
    assert len(model.tree_.path(0)) in (1, 2)


def test_prototypes_are_in_the_units_of_the_table(fitted):
    frame, y, _, model = fitted
    for label in range(model.n_clusters_):
        inside = model.labels_ == label
        leaf = model.tree_.leaf(label)
        assert leaf.rows == inside.sum()
        assert leaf.mean == pytest.approx(y[inside].mean())
        assert leaf.std == pytest.approx(y[inside].std())
        assert leaf.prototype["priors"] == pytest.approx(frame["priors"][inside].mean(), rel=1e-5)
        assert leaf.prototype["age_cat"] == frame["age_cat"][inside].mode()[0]
        known = frame["income"][inside].mean()
        assert leaf.missing["income"] == pytest.approx(frame["income"][inside].isna().mean(), abs=1e-6)
        if np.isnan(known):
            assert leaf.prototype["income"] is None
        else:
            assert leaf.prototype["income"] == pytest.approx(known, rel=1e-5)
    root = model.tree_.nodes[0]
    assert list(root.prototype) == list(frame.columns)


@pytest.mark.parametrize("missing", [5, 90, 200, 395])
def test_a_number_that_everybody_lacks_has_no_mean(missing):
    """Whatever rounding the flag of missing values went through."""
    for gone in range(missing, min(missing + 30, 400)):
        frame = pd.DataFrame({"income": np.where(np.arange(400) < gone, np.nan, np.arange(400.0))})
        encoder = Encoder.fit(frame)
        means = encoder.transform(frame).numeric[:, :gone].astype(np.float64).mean(axis=1)[None]
        values, shares = in_own_units(Prototypes(means, np.empty((1, 0), np.int64)), encoder)
        assert values["income"] is None
        assert shares["income"] == pytest.approx(1)


def test_nodes_as_data_hold_the_hierarchy(fitted):
    *_, model = fitted
    data = json.loads(json.dumps(model.tree_.to_dict(), allow_nan=False))
    nodes = data["nodes"]
    assert [node["id"] for node in nodes] == list(range(len(nodes)))
    assert sorted(node["label"] for node in nodes if node["children"] is None) == [0, 1, 2]
    for node in nodes:
        if node["children"]:
            assert node["label"] is None
            assert node["accepted"] is True
            assert sum(nodes[child]["rows"] for child in node["children"]) == node["rows"]
            assert all(nodes[child]["parent"] == node["id"] for child in node["children"])
    again = ClusterTree.from_dict(data)
    assert again.to_dict() == model.tree_.to_dict()


def test_an_unknown_cluster_is_an_error(fitted):
    with pytest.raises(KeyError, match="no cluster 7; there are 3"):
        fitted[-1].tree_.leaf(7)


def test_route_and_nearest_centre_can_disagree():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 3))
    model = HBAC(max_iter=8).fit(X, X[:, 0] + rng.normal(size=2000))
    tree, centroid = model.predict(X), model.predict(X, route="centroid")
    assert tree.tolist() == model.labels_.tolist()
    assert 0.02 < (tree != centroid).mean() < 0.6
    scaled = (X - X.mean(0)) / X.std(0)
    centres = np.stack([scaled[model.labels_ == label].mean(0) for label in range(model.n_clusters_)])
    nearest = ((scaled[:, None] - centres) ** 2).sum(-1).argmin(1)
    assert (centroid == nearest).mean() > 0.999


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (-1234.5, "-1,234"), (999.6, "1000"), (0.00012345, "0.000123"), (12.0, "12"), (1e20, "1e+20")],
)
def test_numbers_in_words(value, words):
    assert number_in_words(value) == words
