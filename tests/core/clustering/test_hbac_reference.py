"""engine="reference" gives what the package unsupervised-bias-detection 0.2.6 gives, and ours finds no worse splits."""

from __future__ import annotations

import importlib.resources

import numpy as np
import pandas as pd
import pytest
from kmodes.kmodes import KModes
from sklearn.cluster import KMeans
from sklearn.model_selection import train_test_split

from bdt_core.clustering import HBAC


def test_published_anchor_of_compas():
    people = pd.read_csv(str(importlib.resources.files("bdt_core") / "data" / "compas.csv"))
    features = people[["age_cat", "sex", "race", "c_charge_degree", "is_recid"]].copy()
    features["score_text"] = (people["score_text"] == "High").astype(int)
    y = ((people["is_recid"] == 0) & (people["score_text"] == "High")).to_numpy().astype(float)
    train, test, y_train, y_test = train_test_split(features, y, test_size=0.2, random_state=42)
    assert (len(train), len(test)) == (5771, 1443)
    model = HBAC("kmodes", engine="reference", max_iter=3, min_cluster_size=58).fit(train, y_train)
    assert model.gaps_.round(8).tolist() == [0.05290941, -0.02457072, -0.05428006]
    assert np.bincount(model.labels_).tolist() == [4626, 127, 1018]
    assert model.predict(train).tolist() == model.labels_.tolist()
    labels = model.predict(test)
    assert np.bincount(labels).tolist() == [1169, 39, 235]
    assert (y_test[labels == 0].sum(), y_test[labels != 0].sum()) == (83, 4)
    assert (labels != 0).sum() == 274


# Recorded by running BiasAwareHierarchicalKMeans(8, m, random_state=s, n_init=10) and
# BiasAwareHierarchicalKModes(8, m, random_state=s) of that package on the data below (its scores are ours with
# better="higher"). Sizes of the clusters and scores.
RECORDED: list[tuple[int, int, list[int], list[float], list[int], list[float]]] = [
    (
        0,
        6,
        [23, 29, 118, 57, 53, 53, 110, 50, 107],
        [
            3.4790549170031513,
            2.6069100689287388,
            1.797209649792426,
            1.7001186645071493,
            0.9517230605913758,
            -0.89158675679662,
            -1.6459374134153462,
            -1.7214544030401089,
            -2.082694534289743,
        ],
        [219, 6, 6, 88, 242, 27, 12],
        [
            0.2799443122430172,
            0.21446532546170993,
            0.057905135589621515,
            -0.14183746203048542,
            -0.14613574538696084,
            -0.23374383204977933,
            -0.23547418370176332,
        ],
    ),
    (
        1,
        6,
        [6, 121, 310, 115, 13, 18, 17],
        [
            0.36195286195286197,
            0.06582239169067794,
            0.020578420467185776,
            -0.008516360376512766,
            -0.026864106932250054,
            -0.2605956471935854,
            -0.3576833821006962,
        ],
        [28, 184, 40, 7, 43, 127, 140, 31],
        [
            0.2896506805090394,
            0.25161358123609023,
            0.22203868190125653,
            0.19617985908819746,
            -0.08069461153956847,
            -0.17415882945567096,
            -0.19443900851400486,
            -0.27042805699379724,
        ],
    ),
    (
        2,
        6,
        [21, 141, 111, 45, 13, 25, 114, 130],
        [
            3.8747874720795075,
            1.7984062167794368,
            1.733565510779035,
            0.7112751695036269,
            -1.194934367576787,
            -1.8911237727633798,
            -2.0005619137926023,
            -2.0985648423972836,
        ],
        [11, 196, 12, 235, 42, 89, 15],
        [
            0.2943944798117949,
            0.22275496305756015,
            0.08012454432395333,
            -0.09810312931734322,
            -0.1375484446258004,
            -0.15188345135171966,
            -0.1784023777470144,
        ],
    ),
    (
        3,
        30,
        [49, 322, 86, 49, 34, 60],
        [
            0.1348568465498722,
            0.027905625809911072,
            0.026558682472174466,
            -0.020704470535945818,
            -0.036063188526293866,
            -0.1870370370370371,
        ],
        [188, 35, 35, 114, 59, 137, 32],
        [
            0.2428417616687243,
            0.2336838874617691,
            0.16353287492150248,
            -0.10439324929544291,
            -0.11913241309404099,
            -0.18873829527980035,
            -0.2809343685373824,
        ],
    ),
    (
        4,
        30,
        [31, 98, 89, 49, 122, 150, 61],
        [
            2.654055263485999,
            2.590102734009091,
            1.5259607774112716,
            1.1751511914401296,
            -1.286397597825832,
            -1.9718880103413379,
            -2.045215763729692,
        ],
        [206, 219, 65, 110],
        [0.21826407395770675, -0.06754076513082907, -0.11180174922306052, -0.15198043724898214],
    ),
    (
        5,
        30,
        [42, 311, 49, 88, 51, 59],
        [
            0.10087045570916536,
            0.062995805471801,
            0.061409681840068175,
            0.019886363636363646,
            -0.15921997214186223,
            -0.1917979886587926,
        ],
        [204, 203, 109, 46, 38],
        [0.3205057349686511, -0.13037401252954328, -0.13634404129164224, -0.16472842810181187, -0.1821421259742041],
    ),
]


@pytest.mark.parametrize(("seed", "smallest", "sizes", "scores", "mode_sizes", "mode_scores"), RECORDED)
def test_recorded_results(seed, smallest, sizes, scores, mode_sizes, mode_scores):
    X, y, C, y_modes = recorded_data(seed)
    settings = {"engine": "reference", "better": "higher", "max_iter": 8, "random_state": seed}
    means = HBAC(min_cluster_size=smallest, **settings).fit(X, y)
    assert np.bincount(means.labels_).tolist() == sizes
    np.testing.assert_allclose(means.gaps_, scores, rtol=1e-12, atol=1e-14)
    assert means.predict(X).tolist() == means.labels_.tolist()
    modes = HBAC("kmodes", min_cluster_size=smallest, **settings).fit(C, y_modes)
    assert np.bincount(modes.labels_).tolist() == mode_sizes
    np.testing.assert_allclose(modes.gaps_, mode_scores, rtol=1e-12, atol=1e-14)
    assert modes.predict(C).tolist() == modes.labels_.tolist()


def recorded_data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 4)) * [1, 2, 0.5, 3]
    y = (X[:, 0] + rng.normal(size=600) > 0.5) * 1.0 if seed % 2 else rng.normal(size=600) + X[:, 1]
    C = rng.integers(0, 4, size=(600, 5))
    C[:, 0] = C[:, 1] // 2 + (rng.random(600) < 0.3)
    return X, y, C, (C[:, 0] == 1) * 0.5 + rng.random(600)


def test_order_of_columns_reaches_the_libraries_as_given():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"z": rng.normal(size=200), "a": 3 * rng.normal(size=200)})
    y = rng.normal(size=200)
    model = HBAC(engine="reference", max_iter=1, min_cluster_size=1).fit(frame, y)
    wanted = KMeans(2, n_init=10, random_state=0).fit_predict(frame.to_numpy())
    assert len(pd.crosstab(model.labels_, wanted).to_numpy().nonzero()[0]) == 2
    assert model.tree_.nodes[0].prototype["a"] == pytest.approx(frame["a"].mean())


# --- our splits cost no more than the libraries' ----------------------------------------------------------------


def mismatches(C, labels):
    return sum(
        int((labels == side).sum()) - np.bincount(column[labels == side]).max() for side in (0, 1) for column in C.T
    )


def within_squares(X, labels):
    return sum(((X[labels == side] - X[labels == side].mean(0)) ** 2).sum() for side in (0, 1))


def random_categories(seed, rows=None):
    rng = np.random.default_rng(seed)
    rows = rows or int(rng.choice([100, 300, 1000]))
    columns, levels = int(rng.integers(3, 12)), int(rng.integers(2, 8))
    C = rng.integers(0, levels, size=(rows, columns))
    if seed % 3:  # two of three with groups in them, more or less plain
        modes, group = rng.integers(0, levels, size=(3, columns)), rng.integers(0, 3, rows)
        C = np.where(rng.random((rows, columns)) < 0.2 + 0.15 * (seed % 4), modes[group], C)
    return C


def one_split(table, method):
    """Labels of a first split that is always kept."""
    y = np.arange(len(table)) % 2.0
    return HBAC(method, max_iter=1, min_cluster_size=1, scale=False).fit(table, y).labels_


@pytest.mark.parametrize("seed", range(30))
def test_k_modes_costs_no_more_than_the_package_kmodes(seed):
    C = random_categories(seed)
    cao = KModes(2, init="Cao", n_init=1, random_state=seed).fit(C)
    random = KModes(2, init="random", n_init=1, random_state=seed).fit(C)
    theirs = min(mismatches(C, model.labels_) for model in (cao, random))
    assert mismatches(C, one_split(C, "kmodes")) <= theirs


@pytest.mark.parametrize("seed", [0, 2, 6, 9])
def test_k_modes_of_more_rows_than_a_sample_costs_no_more_than_the_start_by_density(seed):
    C = random_categories(seed, rows=20_000)
    theirs = KModes(2, init="Cao", n_init=1, random_state=seed).fit(C)
    assert mismatches(C, one_split(C, "kmodes")) <= mismatches(C, theirs.labels_)


@pytest.mark.parametrize("rows", [500, 20_000])
@pytest.mark.parametrize("seed", range(3))
def test_k_means_costs_no_more_than_scikit_learn(seed, rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) + 2 * rng.integers(0, 3, size=(rows, 1))
    theirs = KMeans(2, n_init=10, random_state=seed).fit(X)
    assert within_squares(X, one_split(X, "kmeans")) <= theirs.inertia_ * (1 + 1e-4)
