"""What HBAC computes, against a slow implementation written from the description, and one test per defect."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from bdt_core.clustering import HBAC
from bdt_core.errors import BDTError


def worst_first(labels, y):
    """Gap of each cluster, straight from the definition."""
    return [y[labels == one].mean() - y[labels != one].mean() for one in range(labels.max() + 1)]


class SlowHBAC:
    """Float64, brute force: the best of all two-way splits between pairs of rows, refined by plain Lloyd."""

    def __init__(self, numbers, categories, y, gamma, max_iter, min_rows, margin=0.0):
        self.numbers, self.categories, self.y, self.gamma = numbers, categories, y, gamma
        leaves, tried = [np.arange(len(y))], []
        for _ in range(max_iter):
            open_ = [one for one in leaves if not any(one is done for done in tried)]
            open_ = [one for one in open_ if y[one].std() > 1e-12 and len(one) >= 2 * min_rows]
            if not open_:
                break
            leaf = max(open_, key=lambda one: y[one].std())
            tried.append(leaf)
            b = self.best_split(leaf, min_rows)
            if b is None:
                continue
            parts = [leaf[~b], leaf[b]]
            if min(map(len, parts)) < min_rows:
                continue
            if max(map(self.gap, parts)) >= self.gap(leaf) + margin * y.std() - 1e-12:
                leaves = [one for one in leaves if one is not leaf] + parts
        leaves.sort(key=lambda one: -self.gap(one))
        self.labels = np.empty(len(y), int)
        for label, leaf in enumerate(leaves):
            self.labels[leaf] = label

    def gap(self, rows):
        others = np.setdiff1d(np.arange(len(self.y)), rows)
        return self.y[rows].mean() - self.y[others].mean() if len(others) else 0.0

    def distance(self, rows, mean, mode):
        return ((self.numbers[rows] - mean) ** 2).sum(1) + self.gamma * (self.categories[rows] != mode).sum(1)

    def centre(self, rows):
        modes = [np.bincount(column).argmax() for column in self.categories[rows].T]
        return self.numbers[rows].mean(0), np.array(modes, int)

    def best_split(self, rows, min_rows):
        """The cheapest split with enough rows on either side; without any such, the cheapest."""
        best, best_cost = None, (True, math.inf)
        for i, j in itertools.combinations(rows, 2):
            a, b = (self.numbers[i], self.categories[i]), (self.numbers[j], self.categories[j])
            side, before = None, math.inf
            while True:
                side = self.distance(rows, *b) < self.distance(rows, *a)
                if side.all() or not side.any():
                    break
                a, b = self.centre(rows[~side]), self.centre(rows[side])
                cost = self.distance(rows[~side], *a).sum() + self.distance(rows[side], *b).sum()
                if cost >= before - 1e-12:
                    too_small = min(side.sum(), (~side).sum()) < min_rows
                    if (too_small, cost + 1e-9) < best_cost:
                        best, best_cost = side, (too_small, cost)
                    break
                before = cost
        return best


def blobs(seed, kind):
    """Five groups far enough apart that the best split is no matter of luck."""
    generator = np.random.default_rng(seed)
    sizes = generator.permutation([6, 9, 12, 15, 20])
    group = np.repeat(np.arange(5), sizes)
    centres = np.array([[0, 0], [1, 7], [9, 1], [20, 3], [22, 15]], float)
    numbers = centres[group] + generator.normal(0, 0.3, (len(group), 2))
    levels = np.array(["abcde", "pppqq", "uvvvv", "xxyyy"])
    texts = np.array([[column[one] for column in levels] for one in group])
    frame = pd.DataFrame(numbers, columns=["n1", "n2"])
    if kind != "numeric":
        frame = frame.join(pd.DataFrame(texts, columns=["c1", "c2", "c3", "c4"]))
    y = generator.normal(0, 1, len(group)) + generator.normal(0, 2, 5)[group]
    return frame, y


@pytest.mark.parametrize("kind", ["numeric", "mixed"])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_slow_implementation(kind, seed):
    frame, y = blobs(seed, kind)
    numbers = frame[["n1", "n2"]].to_numpy()
    numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    texts = frame.drop(columns=["n1", "n2"])
    # Of equally frequent levels the more frequent one of the whole table is the mode, as codes say.
    codes = np.empty((len(y), texts.shape[1]), int)
    for index, name in enumerate(texts):
        counts = texts[name].value_counts()
        order = sorted(counts.index, key=lambda level, counts=counts: (-counts[level], level))
        codes[:, index] = texts[name].map({level: code for code, level in enumerate(order)})
    slow = SlowHBAC(numbers, codes, y, 0.5, max_iter=6, min_rows=4)
    model = HBAC(max_iter=6, min_cluster_size=4, n_init=30, dtype="float64").fit(frame, y)
    assert slow.labels.max() >= 2
    assert model.labels_.tolist() == slow.labels.tolist()


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_gaps_follow_the_definition_and_number_the_clusters(better):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(800, 4))
    y = X[:, 0] + generator.normal(size=800)
    model = HBAC(better=better, min_cluster_size=20).fit(X, y)
    turned = y if better == "lower" else -y
    assert model.n_clusters_ > 3
    np.testing.assert_allclose(model.gaps_, worst_first(model.labels_, turned), rtol=1e-12)
    assert (np.diff(model.gaps_) <= 0).all()
    assert np.bincount(model.labels_).min() >= 20
    root = model.tree_.nodes[0]
    assert (root.gap, root.rows) == (0.0, 800)
    np.testing.assert_allclose([root.mean, root.std], [y.mean(), y.std()], rtol=1e-12)


def test_splits_start_with_the_most_varied_leaf_and_are_kept_only_when_a_part_is_worse():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(1000, 3))
    y = (X[:, 0] > 0.3) * (1 + generator.normal(size=1000))
    for margin in (0.0, 0.1):
        tree = HBAC(max_iter=30, min_cluster_size=25, margin=margin).fit(X, y).tree_
        kept = [node for node in tree.nodes if node.accepted]
        assert kept
        for node in kept:
            parts = [tree.nodes[child] for child in node.children]
            assert min(part.rows for part in parts) >= 25
            assert max(part.gap for part in parts) >= node.gap + margin * y.std() - 1e-12
            assert sum(part.rows for part in parts) == node.rows


def test_a_split_that_worsens_nobody_is_refused():
    # Left and right differ in x; y is the same mixture on both sides except that it is exactly balanced.
    X = np.repeat([[0.0], [10.0]], 50, axis=0)
    y = np.tile([0.0, 1.0], 50)
    assert HBAC(margin=1e-9).fit(X, y).n_clusters_ == 1
    assert HBAC().fit(X, y).n_clusters_ == 2  # as bad is bad enough without a margin


# --- the defects of the existing tool -------------------------------------------------------------------------


def test_defect_1_rows_one_by_one_get_the_label_they_get_in_a_batch():
    generator = np.random.default_rng(1)
    X = generator.normal(size=(400, 3))
    model = HBAC().fit(X, (X[:, 0] > 0).astype(float))
    single = np.concatenate([model.predict(row[None, :]) for row in X])
    assert single.tobytes() == model.predict(X).tobytes() == model.labels_.tobytes()
    central = np.concatenate([model.predict(row[None, :], route="centroid") for row in X])
    assert central.tobytes() == model.predict(X, route="centroid").tobytes()
    for label in range(model.n_clusters_):  # a batch that falls into one cluster entirely
        batch = X[model.labels_ == label]
        assert model.predict(batch).tolist() == [label] * len(batch)


@pytest.mark.parametrize("engine", ["bdt", "reference"])
def test_defect_2_pure_clusters_are_not_split(engine):
    generator = np.random.default_rng(2)
    X = np.concatenate([generator.normal(0, 1, (100, 2)), generator.normal(30, 1, (100, 2))])
    y = np.repeat([0.0, 1.0], 100)
    model = HBAC(engine=engine, min_cluster_size=2).fit(X, y)
    assert model.n_clusters_ == 2
    assert model.gaps_.tolist() == [1.0, -1.0]


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e9])
def test_defect_3_the_unit_of_y_does_not_matter(factor):
    generator = np.random.default_rng(3)
    X = generator.normal(size=(500, 3))
    y = X[:, 0] + generator.normal(size=500)
    one, other = HBAC(margin=0.05).fit(X, y), HBAC(margin=0.05).fit(X, y * factor)
    assert one.n_clusters_ > 1
    assert one.labels_.tobytes() == other.labels_.tobytes()
    np.testing.assert_allclose(other.gaps_, one.gaps_ * factor, rtol=1e-9)


def test_defect_4_clusters_of_one_row_are_possible():
    generator = np.random.default_rng(4)
    X = generator.normal(size=(30, 2))
    model = HBAC(min_cluster_size=1, max_iter=200).fit(X, generator.normal(size=30))
    assert np.bincount(model.labels_).min() == 1
    assert model.predict(X).tolist() == model.labels_.tolist()


def test_defect_5_units_of_features_do_not_matter():
    generator = np.random.default_rng(5)
    X = generator.normal(size=(500, 2))
    X[:, 0] += 4 * (generator.random(500) < 0.3)
    y = (X[:, 0] > 2).astype(float)
    # Powers of two, so that not even rounding differs.
    assert HBAC().fit(X, y).labels_.tobytes() == HBAC().fit(X * [1, 2.0**20], y).labels_.tobytes()
    hidden = HBAC(scale=False, max_iter=1).fit(X * [1, 2.0**20], y)
    assert HBAC(max_iter=1).fit(X * [1, 1e6], y).gaps_[0] > 0.9 > hidden.gaps_[0]


def test_defect_6_the_seed_is_kept_and_used():
    generator = np.random.default_rng(6)
    X, y = generator.normal(size=(500, 5)), generator.normal(size=500)
    labels = {HBAC(random_state=seed, n_init=1).fit(X, y).labels_.tobytes() for seed in range(5)}
    assert len(labels) > 1
    assert HBAC(random_state=3).fit(X, y).labels_.tobytes() == HBAC(random_state=3).fit(X, y).labels_.tobytes()


def test_defect_13_a_hundred_thousand_categories_by_ten_take_well_under_a_second():
    import time

    generator = np.random.default_rng(7)
    frame = pd.DataFrame(generator.integers(0, 6, (100_000, 10)).astype("U1"))
    y = (generator.random(100_000) < 0.1 + 0.2 * (frame[0] == "1")).astype(float)
    HBAC().fit(frame[:100], y[:100])  # compiles
    before = time.process_time()
    HBAC().fit(frame, y)
    assert time.process_time() - before < 3.0  # the package kmodes takes 40


def test_small_leaves_do_not_use_up_attempts():
    generator = np.random.default_rng(8)
    X = generator.normal(size=(400, 2))
    y = generator.normal(size=400) * (1 + 3 * (X[:, 0] > 1.5))
    model = HBAC(max_iter=6, min_cluster_size=40).fit(X, y)
    tried = [node for node in model.tree_.nodes if node.accepted is not None]
    assert all(node.rows >= 80 for node in tried)
    assert model.n_iter_ == len(tried)


def test_the_unseen_and_the_missing_are_routed_and_never_raise():
    frame = pd.DataFrame({"n": [0.0, 1, 2, 10, 11, 12] * 5, "c": list("aaabbb") * 5})
    y = np.array([0, 0, 0, 1, 1, 1] * 5)
    model = HBAC(min_cluster_size=2).fit(frame, y)
    odd = pd.DataFrame({"n": [np.nan, 11.0, 1.0], "c": ["new", None, "new"]})
    assert model.predict(odd).tolist()[1:] == [0, 1]
    with pytest.raises(BDTError, match="inf"):
        model.predict(odd.assign(n=np.inf))
