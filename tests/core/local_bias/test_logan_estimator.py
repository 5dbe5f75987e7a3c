"""LOGAN as an estimator: k-means without weight, a falling objective with it, and clear refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from bdt_core.errors import BDTError, DataError, SpecError
from bdt_core.local_bias import search
from bdt_core.local_bias.inputs import outcome_of
from bdt_core.local_bias.logan import LOGAN, Partition
from bdt_core.local_bias.partition import merge_small
from bdt_core.local_bias.search import kmeans_plus_plus
from bdt_core.table import pool


def noise(n=600, p=4, seed=0, share=0.4, rate=0.8, dtype="float64"):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) + 3 * rng.integers(0, 3, (n, 1))).astype(dtype)
    return X, rng.random(n) < rate, np.where(rng.random(n) < share, "b", "a")


def objective_of(model, X, correct, group, smallest):
    """The objective before merging, from its definition; only for models in which nothing was merged."""
    total = 0.0
    for label in range(model.n_clusters_):
        inside = model.labels_ == label
        total += np.square(X[inside] - model.cluster_centers_[label]).sum()
        rates = [correct[inside & (group == one)] for one in np.unique(group)]
        means = [one.mean() for one in rates if len(one) >= smallest]
        if len(means) > 1:
            total -= model.lambda_ * (max(means) - min(means)) ** 2
    return total


@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-4), ("float64", 0.0), ("float32", 1e-4)])
@pytest.mark.parametrize("seed", range(3))
def test_without_weight_it_is_lloyds_k_means(dtype, tol, seed):
    X, correct, group = noise(900, 5, seed, dtype=dtype)
    start = X[np.random.default_rng(seed).choice(len(X), 6, replace=False)]
    ours = LOGAN(6, weight=0.0, init=start, min_group_size=1, tol=tol).fit(X, correct, group)
    theirs = KMeans(6, init=start, n_init=1, tol=tol, algorithm="lloyd").fit(X)
    assert (ours.labels_ == theirs.labels_).all()
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-5 if dtype == "float32" else 1e-9)
    assert ours.cluster_centers_ == pytest.approx(theirs.cluster_centers_, abs=1e-4)
    assert (ours.predict(X) == ours.labels_).all()
    assert (ours.kmeans_.labels == ours.labels_).all()


@pytest.mark.parametrize("weight", [0.02, 0.05, 0.3])
def test_the_objective_falls_at_every_pass_and_ends_below_k_means(weight):
    X, correct, group = noise(800, 3, 1)
    model = LOGAN(6, weight=weight, min_group_size=10, min_clusters=6, max_off_centre=1.0).fit(X, correct, group)
    assert (np.diff(model.objective_history_[:-1]) < 0).all()
    assert model.objective_history_[-1] <= model.objective_history_[-2]
    assert model.objective_ == pytest.approx(objective_of(model, X, correct, group, 10), rel=1e-9)
    plain = LOGAN(6, weight=0.0, min_group_size=10, min_clusters=6).fit(X, correct, group)
    assert (plain.labels_ == model.kmeans_.labels).all()
    plain.lambda_ = model.lambda_
    assert model.objective_ < objective_of(plain, X, correct, group, 10)
    assert np.nansum(model.gaps_**2) > np.nansum(plain.gaps_**2)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(2, 60),
    st.integers(1, 4),
    st.integers(2, 4),
    st.sampled_from(["accuracy", "tpr", "fpr", "auc"]),
    st.sampled_from([0.0, 0.01, 0.2, 5.0]),
)
def test_on_any_data_the_objective_falls_and_every_row_has_a_cluster(seed, n, p, groups, metric, weight):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, p)).astype(float)
    group = rng.permutation(np.arange(n) % groups)
    model = LOGAN(5, weight=weight, metric=metric, min_group_size=2, n_init=2, random_state=seed)
    model.fit(
        X,
        group=group,
        y_true=rng.integers(0, 2, n),
        y_pred=rng.integers(0, 2, n),
        y_score=rng.integers(0, 6, n) / 5,
    )
    assert (np.diff(model.objective_history_) <= 1e-9 * max(abs(model.objective_), 1.0)).all()
    assert set(model.labels_) == set(range(model.n_clusters_))
    known = model.gaps_[~np.isnan(model.gaps_)]
    assert ((known >= 0) & (known <= 1)).all()


@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_neither_the_order_of_rows_nor_threads_nor_samples_of_starts_matter(metric, monkeypatch):
    X, correct, group = noise(1500, 3, 2, dtype="float32")
    rng = np.random.default_rng(0)
    score = rng.random(len(X))
    outcomes = {"y_true": correct, "y_pred": np.ones(len(X)), "y_score": score}
    monkeypatch.setattr(search, "SAMPLE_ROWS", 200)  # starts rest on a sample first
    first = LOGAN(5, metric=metric, weight=0.1).fit(X, group=group, **outcomes)
    order = rng.permutation(len(X))
    monkeypatch.setattr(search, "THREADED_CELLS", 0)
    monkeypatch.setattr(pool, "processors", lambda: 3)
    again = LOGAN(5, metric=metric, weight=0.1).fit(
        X[order], group=group[order], **{name: values[order] for name, values in outcomes.items()}
    )
    assert (again.labels_ == first.labels_[order]).all()
    assert again.objective_ == first.objective_
    assert again.cluster_centers_.tobytes() == first.cluster_centers_.tobytes()


def test_starts_from_a_sample_are_as_good(monkeypatch):
    X, correct, group = noise(4000, 2, 3)
    whole = LOGAN(6, weight=0.0).fit(X, correct, group)
    monkeypatch.setattr(search, "SAMPLE_ROWS", 500)
    sampled = LOGAN(6, weight=0.0).fit(X, correct, group)
    assert sampled.inertia_ <= 1.01 * whole.inertia_


@pytest.mark.parametrize("unit", [2.0**-20, 1e6])
def test_units_do_not_matter(unit):
    X, correct, group = noise(700, 3, 4)
    model = LOGAN(5, weight=0.1).fit(X, correct, group)
    other = LOGAN(5, weight=0.1, tol=1e-4).fit(X * unit, correct, group)
    assert other.inertia_ == pytest.approx(model.inertia_ * unit**2, rel=1e-2)
    assert other.lambda_ == pytest.approx(model.lambda_ * unit**2, rel=1e-9)


def test_a_place_where_one_group_is_treated_worse_is_found():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 2))
    group = np.where(rng.random(4000) < 0.5, "b", "a")
    worse = (X[:, 0] > 0.8) & (group == "b")
    correct = rng.random(4000) < np.where(worse, 0.5, 0.9)
    model = LOGAN(8).fit(X, correct, group)
    cluster = int(np.nanargmax(model.gaps_))
    assert X[model.labels_ == cluster, 0].mean() > 0.8
    assert model.gaps_[cluster] > 0.3
    assert model.inertia_ < 1.01 * model.kmeans_.inertia


def clouds(n=1600, seed=8):
    """Eight clear clouds, outcomes and groups at random."""
    rng = np.random.default_rng(seed)
    X = 5 * rng.normal(size=(8, 4))[rng.integers(0, 8, n)] + rng.normal(size=(n, 4))
    return X, rng.random(n) < 0.8, rng.integers(0, 2, n)


def test_the_search_stops_before_clusters_follow_outcomes():
    """With weight 0.05, and no limit, some cluster of pure noise has all of one group right, all of the other wrong."""
    X, correct, group = clouds()
    free = LOGAN(10, weight=0.05, max_off_centre=1.0).fit(X, correct, group)
    assert (free.predict(X) != free.labels_).mean() > 0.05
    assert np.nanmax(free.gaps_) > 0.9
    model = LOGAN(10, weight=0.05).fit(X, correct, group)
    assert (model.predict(X) != model.labels_).mean() <= 0.02
    assert np.nanmax(model.gaps_) < 0.4
    assert [one for one in model.notes_ if "more than 2.0 % of the train rows would not lie" in one]
    assert not LOGAN(10).fit(X, correct, group).notes_


def test_the_default_weight_leaves_clear_clouds_where_they_are():
    X, correct, group = clouds()
    model = LOGAN(10, max_off_centre=1.0).fit(X, correct, group)
    assert (model.labels_ != model.kmeans_.labels).mean() < 0.01
    assert np.nanmax(model.gaps_) < 0.25


def test_many_groups_have_the_gap_between_the_best_and_the_worst():
    X, correct, _ = noise(900, 2, 5)
    group = np.random.default_rng(1).integers(0, 3, 900)
    model = LOGAN(4, weight=0.1, min_group_size=5).fit(X, correct, group)
    for label in range(model.n_clusters_):
        inside = model.labels_ == label
        rates = [correct[inside & (group == one)].mean() for one in range(3) if (inside & (group == one)).sum() >= 5]
        assert model.gaps_[label] == pytest.approx(max(rates) - min(rates), abs=1e-12)


@pytest.mark.parametrize("metric", ["tpr", "fpr", "auc"])
def test_other_metrics(metric):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(1500, 2))
    group, label = rng.integers(0, 2, 1500), rng.integers(0, 2, 1500)
    score = np.round(rng.random(1500) + 0.2 * label, 2)
    model = LOGAN(4, weight=0.1, metric=metric, min_group_size=10)
    model.fit(X, group=group, y_true=label, y_pred=score > 0.6, y_score=score)
    for cluster in range(model.n_clusters_):
        values = []
        for one in (0, 1):
            mine = (model.labels_ == cluster) & (group == one)
            if metric == "auc":
                values.append(roc_auc_score(label[mine], score[mine]))
            else:
                values.append((score[mine & (label == (metric == "tpr"))] > 0.6).mean())
        assert model.gaps_[cluster] == pytest.approx(abs(values[0] - values[1]), abs=1e-12)
    plain = LOGAN(4, weight=0.0, metric=metric, min_group_size=10)
    plain.fit(X, group=group, y_true=label, y_pred=score > 0.6, y_score=score)
    assert (model.gaps_**2).sum() > (plain.gaps_**2).sum()


def test_accuracy_from_labels_is_accuracy_from_hits():
    X, label, group = noise(300, 2, 9)
    prediction = np.random.default_rng(0).integers(0, 2, 300)
    one = LOGAN(3, min_group_size=5).fit(X, label == prediction, group)
    other = LOGAN(3, min_group_size=5).fit(X, group=group, y_true=label, y_pred=prediction)
    assert (one.labels_ == other.labels_).all()


def test_small_clusters_go_to_the_nearest_centre():
    centres = np.array([[0.0], [1.0], [10.0], [11.5]])
    counted = np.array([[30, 30], [30, 5], [30, 30], [40, 19]])
    rows = counted.sum(axis=1)
    assert merge_small(centres, rows, counted, 20, 1).tolist() == [0, 0, 1, 1]
    assert merge_small(centres, rows, counted, 20, 3).tolist() == [0, 0, 1, 2]
    assert merge_small(centres, rows, counted, 5, 1).tolist() == [0, 1, 2, 3]
    # Of three groups two are enough.
    three = np.concatenate([counted, np.full((4, 1), 25)], axis=1)
    assert merge_small(centres, rows, three, 20, 1).tolist() == [0, 1, 2, 3]


def test_merging_stops_at_min_clusters_and_further_rows_follow():
    X, correct, group = noise(500, 2, 10, share=0.05)
    model = LOGAN(10, weight=0.0, min_clusters=3).fit(X, correct, group)
    assert 3 <= model.n_clusters_ < 10
    assert len(model.merged_into_) == len(model.cluster_centers_) == 10
    assert (model.predict(X) == model.labels_).all()


def test_fewer_different_rows_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]], 40, axis=0)
    correct, group = np.arange(120) % 3 > 0, np.arange(120) % 2
    model = LOGAN(10).fit(X, correct, group)
    assert model.n_clusters_ == 3
    assert model.inertia_ == 0
    assert "only 3 different rows" in model.notes_[0]
    constant = LOGAN(10).fit(np.ones((120, 2)) / 3, correct, group)
    assert constant.n_clusters_ == 1
    assert (constant.labels_ == 0).all()


def test_copies_that_fill_the_sample_do_not_hide_other_rows(monkeypatch):
    monkeypatch.setattr(search, "SAMPLE_ROWS", 50)
    X = np.zeros((1000, 1))
    X[:5, 0] = [5, 6, 7, 8, 9]
    model = LOGAN(4, n_init=3, min_group_size=1).fit(X, np.arange(1000) % 2, np.arange(1000) % 2)
    assert model.n_clusters_ == 4
    assert not model.notes_


def test_starts_are_different_rows_far_apart():
    numeric = np.array([[0.0] * 50 + [100.0] * 2 + [200.0]])
    for seed in range(5):
        found = kmeans_plus_plus(numeric, 3, np.random.default_rng(seed))
        assert sorted(found[:, 0]) == [0, 100, 200]
    assert len(kmeans_plus_plus(numeric, 9, np.random.default_rng(0))) == 3


def test_tables_clones_and_copies():
    X, correct, group = noise(200, 2, 11)
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = LOGAN(3, weight=0.02, min_group_size=5)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(frame, correct, pd.Series(group))
    assert model.feature_names_in_.tolist() == ["u", "v"]
    assert model.groups_ == ("a", "b")
    assert (pickle.loads(pickle.dumps(model)).predict(frame) == model.predict(X)).all()
    assert (model.fit_predict(X, correct, group=group) == model.labels_).all()
    assert not hasattr(model, "feature_names_in_")
    restored = Partition.from_dict(model.partition_.to_dict())
    assert (restored.predict(X) == model.predict(X)).all()


def broken(**changes):
    X, correct, group = noise(100, 2, 12)
    return {"X": X, "correct": correct, "group": group} | changes


NAN = np.r_[np.nan, np.zeros(99)]
REFUSED = [
    ({"group": None}, "group is not given"),
    ({"group": np.full(100, "a")}, 'of one group ("a")'),
    ({"group": np.array([None] + ["a", "b", "a"] * 33, dtype=object)}, "missing in 1 rows"),
    ({"group": np.zeros(99)}, "X has 100 rows and group has the shape (99,)"),
    ({"correct": None}, "correct, or y_true and y_pred"),
    ({"correct": NAN}, "1 of 100 rows hold something else or nothing"),
    ({"correct": np.full(100, "yes")}, "100 of 100 rows"),
    ({"X": np.full((100, 2), np.nan)}, "200 values that are missing, infinite"),
    ({"X": np.full((100, 2), 1e200)}, "beyond 1e+140"),
    ({"X": np.zeros(100)}, "shape (100,)"),
    ({"X": np.full((100, 1), "red")}, "numbers only"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_cannot_be_clustered_is_refused(changes, message):
    with pytest.raises(DataError) as error:
        LOGAN(3).fit(**broken(**changes))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("metric", "given", "lacking"),
    [("tpr", ("y_true",), "y_pred"), ("fpr", ("y_pred",), "y_true"), ("auc", ("y_true",), "y_score")],
)
def test_what_a_metric_needs_is_asked_for(metric, given, lacking):
    with pytest.raises(DataError, match=f'{lacking} is not given: metric "{metric}"'):
        outcome_of(metric, 4, **{name: [0, 1, 0, 1] for name in given})
    with pytest.raises(DataError, match="missing or infinite in 1 of 4"):
        outcome_of("auc", 4, y_true=[0, 1, 0, 1], y_score=[0.1, np.nan, 0.3, 0.4])


@pytest.mark.parametrize(
    "setting",
    [
        {"n_clusters": 0},
        {"n_clusters": 2.5},
        {"weight": -1},
        {"weight": np.inf},
        {"max_off_centre": 1.5},
        {"metric": "acuracy"},
        {"min_group_size": 0},
        {"n_init": 0},
        {"tol": np.nan},
        {"init": "random"},
        {"init": np.zeros((4, 2))},
        {"random_state": -1},
    ],
)
def test_wrong_settings_are_named(setting):
    with pytest.raises(SpecError, match=next(iter(setting))):
        LOGAN(**{"n_clusters": 3} | setting).fit(**broken())


def test_further_rows_must_have_the_same_columns():
    model = LOGAN(3).fit(**broken())
    with pytest.raises(BDTError, match="X has 3 features, but LOGAN is expecting 2"):
        model.predict(np.zeros((4, 3)))
