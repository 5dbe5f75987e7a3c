"""What a data scientist expects of an estimator: distances, a score, text, weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bdt_core import HBAC
from bdt_core.errors import DataError
from tests.core.clustering.test_hbac_as_estimator import people


def test_distances_are_those_from_the_means_of_the_clusters() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.random(400)
    model = HBAC(scale=False, dtype="float64", min_cluster_size=40).fit(X, y)
    assert model.n_clusters_ > 2
    centres = np.array([X[model.labels_ == label].mean(axis=0) for label in range(model.n_clusters_)])
    assert model.transform(X) == pytest.approx(pairwise_distances(X, centres), abs=1e-9)
    fitted = KMeans(model.n_clusters_, init=centres, n_init=1, max_iter=1).fit(centres)
    assert model.transform(X) == pytest.approx(fitted.transform(X), abs=1e-9)
    assert list(model.get_feature_names_out()) == [f"hbac{label}" for label in range(model.n_clusters_)]


def test_distances_count_categories_and_the_nearest_centre_is_the_route_of_centroids() -> None:
    frame, y = people()
    model = HBAC().fit(frame, y)
    assert (model.transform(frame).argmin(axis=1) == model.predict(frame, route="centroid")).all()
    one = frame.iloc[[0]]
    same, other = (model.transform(one.assign(city=city))[0] ** 2 for city in ("Gouda", "Delft"))
    moved = {round(float(x), 9) for x in np.abs(same - other)}
    assert moved <= {0.0, round(model.tree_.gamma, 9)}
    assert round(model.tree_.gamma, 9) in moved


@pytest.mark.parametrize(("better", "sign"), [("lower", 1), ("higher", -1)])
def test_the_score_is_the_gap_of_the_worst_cluster_on_any_rows(better, sign) -> None:
    frame, y = people()
    model = HBAC(better=better).fit(frame, y)
    assert model.score(frame, y) == pytest.approx(model.gaps_[0], rel=1e-12)
    more, outcome = people(seed=1)
    inside = model.predict(more) == 0
    by_hand = sign * (outcome[inside].mean() - outcome[~inside].mean())
    assert model.score(more, outcome) == pytest.approx(by_hand, rel=1e-12)
    weights = np.random.default_rng(2).random(len(more))
    weighted = sign * (
        np.average(outcome[inside], weights=weights[inside]) - np.average(outcome[~inside], weights=weights[~inside])
    )
    assert model.score(more, outcome, weights) == pytest.approx(weighted, rel=1e-12)
    assert np.isnan(model.score(more[~inside], outcome[~inside]))
    assert HBAC(min_cluster_size=0.9).fit(frame, y).score(more, outcome) == 0.0


def test_it_is_scored_on_folds_and_behind_a_pipeline() -> None:
    frame, y = people(1_200)
    scores = cross_val_score(HBAC(max_iter=3), frame, y, cv=KFold(3))
    by_hand = [
        HBAC(max_iter=3).fit(frame.iloc[train], y[train]).score(frame.iloc[test], y[test])
        for train, test in KFold(3).split(frame)
    ]
    assert scores.tolist() == by_hand
    X = frame[["income"]].to_numpy()
    assert make_pipeline(StandardScaler(), HBAC(max_iter=2)).fit(X, y).transform(X).shape[0] == len(X)
    assert HBAC(max_iter=2).set_output(transform="pandas").fit_transform(frame, y).shape[0] == len(frame)


def test_a_row_that_weighs_three_stands_three_times() -> None:
    frame, y = people()
    weights = np.random.default_rng(3).integers(0, 4, len(frame))
    rows = np.repeat(np.arange(len(frame)), weights)
    weighted = HBAC(min_cluster_size=30).fit(frame, y, sample_weight=weights)
    repeated = HBAC(min_cluster_size=30).fit(frame.iloc[rows], y[rows])
    assert weighted.tree_.to_dict() == repeated.tree_.to_dict()
    assert weighted.labels_[rows].tobytes() == repeated.labels_.tobytes()
    assert len(weighted.labels_) == len(frame)  # rows that weigh nothing have a label, too
    assert weighted.tree_.to_dict() != HBAC(min_cluster_size=30).fit(frame, y).tree_.to_dict()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.5] * 600, "whole numbers from 0 up"),
        ([-1] * 600, "whole numbers from 0 up"),
        ([np.nan] * 600, "whole numbers from 0 up"),
        ([0] * 600, "zero in every row"),
        ([1] * 599, "X has 600 rows and sample_weight has 599"),
        (np.ones((600, 2)), "1D array"),
        (["a"] * 600, "whole numbers"),
    ],
)
def test_weights_that_are_no_counts_are_refused(weights, message) -> None:
    frame, y = people()
    with pytest.raises(DataError, match=message):
        HBAC().fit(frame, y, sample_weight=weights)


def test_the_text_has_every_group_once_and_leaves_with_their_clusters() -> None:
    frame, y = people()
    model = HBAC(max_iter=4).fit(frame, y)
    lines = model.export_text().splitlines()
    assert len(lines) == len(model.tree_.nodes)
    for node in model.tree_.nodes:
        (line,) = [
            one
            for one in lines
            if f"({node.rows:,} rows, mean {node.mean:.3g}" in one and model.tree_.step(node) in one
        ]
        assert line.endswith(")" if node.label is None else f"-> cluster {node.label}")
    worst = [one for one in lines if one.endswith("-> cluster 0")]
    assert model.tree_.path(0)[-1] in worst[0]


def test_the_tree_is_drawn_by_the_report() -> None:
    import matplotlib.pyplot as plt

    frame, y = people()
    model = HBAC(max_iter=3).fit(frame, y)
    axes = model.plot_tree(outcome="errors")
    texts = [one.get_text() for one in axes.texts]
    plt.close(axes.figure)
    assert sum(one.startswith("Cluster ") for one in texts) == model.n_clusters_
    assert f"errors {model.tree_.nodes[0].mean:.3g}" in texts
    figure, (left, right) = plt.subplots(1, 2)
    assert model.plot_tree(ax=right) is right
    assert not left.texts
    plt.close(figure)


def test_numbers_in_a_frame_and_in_an_array_are_the_same() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "b"])
    y = np.arange(100.0)
    weights = np.arange(100) % 3
    named, plain = (HBAC().fit(X, y, weights) for X in (frame, frame.to_numpy()))
    assert named.labels_.tobytes() == plain.labels_.tobytes()
    assert not hasattr(plain, "feature_names_in_")
