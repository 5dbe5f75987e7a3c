"""Stability: structure is found again, noise is not."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, jaccard_score

from bdt_core.clustering import HBAC
from bdt_core.clustering.stability import adjusted_rand, best_jaccard, in_a_word, measure_stability


def contingency(a, b):
    return np.array([[((a == i) & (b == j)).sum() for j in np.unique(b)] for i in np.unique(a)])


@pytest.mark.parametrize("seed", range(10))
def test_rand_and_jaccard_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    shared = contingency(a, b)
    assert adjusted_rand(shared) == pytest.approx(adjusted_rand_score(a, b))
    wanted = [max(jaccard_score(a == i, b == j) for j in range(3)) for i in range(4)]
    assert best_jaccard(shared, np.eye(3, dtype=int)) == pytest.approx(wanted)
    nodes = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]])  # the first two leaves have a parent
    wanted = [max(x, jaccard_score(a == i, b < 2)) for i, x in enumerate(wanted)]
    assert best_jaccard(shared, nodes) == pytest.approx(wanted)


def test_rand_of_equal_and_trivial_clusterings():
    assert adjusted_rand(np.diag([3, 4, 5])) == 1.0
    assert adjusted_rand(np.array([[7]])) == 1.0


def test_separate_groups_are_stable_and_noise_is_not():
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1, 2], 400)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[group] + rng.normal(size=(1200, 2))
    y = np.array([0.0, 1.0, 2.0])[group] + rng.normal(
        scale=0.3, size=1200
    )  # which leaf varies most is no matter of luck
    found = measure_stability(HBAC(max_iter=2, min_cluster_size=0.1).fit(X, y), X, y, bootstraps=20)
    assert [one.word for one in found.clusters] == ["stable"] * 3
    assert found.rand_bootstraps > 0.97
    assert found.rand_seeds > 0.99
    noise = rng.normal(size=(1200, 6))
    y = (rng.random(1200) < 0.2).astype(float)
    found = measure_stability(HBAC(min_cluster_size=0.05).fit(noise, y), noise, y, bootstraps=20)
    assert found.clusters[0].word == "do not interpret"
    assert found.rand_bootstraps < 0.5


def test_the_same_seed_gives_the_same_numbers_and_progress_ends():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    model = HBAC(max_iter=3).fit(X, y)
    told = []
    one = measure_stability(model, X, y, bootstraps=4, random_state=5, progress=lambda *at: told.append(at))
    assert one == measure_stability(model, X, y, bootstraps=4, random_state=5)
    assert told[-1] == (9, 9)
    assert one != measure_stability(model, X, y, bootstraps=4, random_state=6)


def test_a_group_that_refits_divide_further_is_found_again():
    """Within the third group nothing differs, so that each refit divides it elsewhere, or not at all."""
    rng = np.random.default_rng(6)
    group = np.repeat([0, 1, 2], 400)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[group] + rng.normal(size=(1200, 2))
    y = np.array([0.0, 1.0, 2.0])[group] + rng.normal(scale=0.3, size=1200)
    model = HBAC(max_iter=2, min_cluster_size=0.1).fit(X, y)
    refits = HBAC(max_iter=6, min_cluster_size=0.1).fit(X, y)
    assert model.n_clusters_ == 3 < refits.n_clusters_
    refits.tree_, refits.labels_, refits.n_clusters_ = model.tree_, model.labels_, 3  # its settings, the groups' tree
    found = measure_stability(refits, X, y, bootstraps=20)
    assert [one.word for one in found.clusters] == ["stable"] * 3
    assert found.rand_bootstraps < 0.85


def test_leaves_of_nodes_are_those_that_rows_come_to():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    tree = HBAC(max_iter=4, min_cluster_size=0.05).fit(X, y).tree_
    rows = np.array([tree.leaf(label).rows for label in range(tree.n_leaves)])
    assert (rows @ tree.leaves_of_nodes).tolist() == [node.rows for node in tree.nodes[1:]]
    alone = HBAC(max_iter=1, min_cluster_size=0.9).fit(X, y).tree_
    assert alone.leaves_of_nodes.tolist() == [[1]]


def test_words_are_hennigs():
    assert [in_a_word(x) for x in (0.74, 0.75, 0.84, 0.85)] == [
        "do not interpret", "moderately stable", "moderately stable", "stable"
    ]  # fmt: skip


def test_on_rows_drawn_the_clusters_are_those_of_the_model_on_all_rows():
    rng = np.random.default_rng(4)
    group = np.repeat([0, 1, 2], 600)
    X = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])[group] + rng.normal(size=(1800, 2))
    y = np.array([0.0, 1.0, 2.0])[group] + rng.normal(scale=0.3, size=1800)
    model = HBAC(max_iter=2, min_cluster_size=400).fit(X, y)
    some = np.sort(rng.choice(1800, 450, replace=False))
    stored = HBAC.from_dict(model.to_dict())  # which has no labels of its own
    found = measure_stability(
        stored, X[some], y[some], labels=stored.predict(X[some]), fitted_rows=1800, bootstraps=10, seeds=2
    )
    assert found.rows == 450
    assert [one.word for one in found.clusters] == ["stable"] * 3  # 400 of 450 rows would allow no split
    same = measure_stability(model, X, y, bootstraps=3)
    assert same == measure_stability(stored, X, y, labels=model.labels_, fitted_rows=1800, bootstraps=3)
