"""The compiled loops of LOGAN against plain twins that work everything out anew."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bdt_core.local_bias import kernels


def on_grid(values, dtype):
    return np.ascontiguousarray((np.rint(values * 2**12) / 2**12).astype(dtype))


def random_rows(generator, n, p, groups, ranked, dtype="float64", left_out=0.0):
    value = generator.integers(0, 2, n).astype(np.int8)
    value[generator.random(n) < left_out] = -1
    rank = generator.integers(0, 7, n).astype(np.int32) if ranked else np.empty(0, np.int32)
    group = generator.integers(0, groups, n).astype(np.int32)
    return kernels.SearchRows(on_grid(generator.normal(size=(p, n)), dtype), group, value, rank)


def empty_tally(rows, k, groups, ranked):
    classes = 7 if ranked else 0
    return kernels.Tally(
        rows=np.zeros(k, np.int64),
        sums=np.zeros((len(rows.numeric), k)),
        counts=np.zeros((k, groups, 2), np.int64),
        wins=np.zeros((k, groups), np.int64),
        below=np.zeros((k, groups, 2, classes + 1), np.int64),
        lowest=np.zeros((k, groups)),
        highest=np.zeros((k, groups)),
        squared_gap=np.zeros(k),
        change=np.zeros((k, groups, 2, 2)),
    )


def gap_twin(rows, inside, groups, ranked, smallest):
    metrics = []
    for group in range(groups):
        mine = inside & (rows.group == group) & (rows.value >= 0)
        label = rows.value[mine]
        if ranked:
            if min((label == 0).sum(), (label == 1).sum()) >= smallest:
                metrics.append(area_twin(label, rows.rank[mine]))
        elif len(label) >= smallest:
            metrics.append(label.mean())
    return max(metrics) - min(metrics) if len(metrics) > 1 else 0.0


def objective_twin(rows, labels, centres, weight, groups, ranked, smallest):
    total = 0.0
    for j in range(len(centres)):
        inside = labels == j
        total += np.square(rows.numeric.T[inside].astype(float) - centres[j].astype(float)).sum()
        total -= weight * gap_twin(rows, inside, groups, ranked, smallest) ** 2
    return total


def search_twin(rows, labels, centres, weight, groups, ranked, smallest):
    """Two passes; every candidate move is judged by the whole objective, worked out anew."""
    labels, centres = labels.copy(), centres.copy()
    for _ in range(2):
        for j in range(len(centres)):
            centres[j] = rows.numeric.T[labels == j].mean(axis=0)
        for i in range(len(labels)):
            costs = []
            for j in range(len(centres)):
                tried = labels.copy()
                tried[i] = j
                costs.append(objective_twin(rows, tried, centres, weight, groups, ranked, smallest))
            best = int(np.argmin(costs))
            if costs[best] < costs[labels[i]] - 1e-9 and (labels == labels[i]).sum() > 1:
                labels[i] = best
    return labels, centres


def area_twin(label, score):
    apart = score[label == 1][:, None] - score[label == 0]
    return ((apart > 0) + 0.5 * (apart == 0)).mean()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("n", "p"), [(1, 1), (255, 3), (700, 70)])
def test_squared_distances(dtype, n, p):
    generator = np.random.default_rng(n + p)
    numeric = generator.normal(size=(p, n)).astype(dtype)
    centres = generator.normal(size=(5, p)).astype(dtype)
    distances = np.empty((5, n))
    kernels.squared_distances(numeric, centres, distances)
    twin = np.zeros((5, n))
    for left in range(0, p, kernels.COLUMNS):
        part = np.zeros((5, n), dtype)
        for q in range(left, min(left + kernels.COLUMNS, p)):
            part += (numeric[q] - centres[:, [q]]) ** 2
        twin += part
    assert distances.tobytes() == twin.tobytes()
    labels = np.empty(n, np.int32)
    kernels.assign_nearest(numeric, centres, labels)
    assert (labels == twin.argmin(axis=0)).all()


@pytest.mark.parametrize("ranked", [False, True])
@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("weight", [0.0, 3.0, 40.0])
def test_search_moves_rows_as_the_whole_objective_says(ranked, groups, weight):
    generator = np.random.default_rng([groups, ranked])
    rows = random_rows(generator, 60, 2, groups, ranked, left_out=0.1)
    labels = generator.integers(0, 3, 60).astype(np.int32)
    centres = np.ascontiguousarray(rows.numeric[:, :3].T)
    expected, means = search_twin(rows, labels, centres, weight, groups, ranked, 3)
    tally = empty_tally(rows, 3, groups, ranked)
    kernels.count_all(rows, labels, 3, tally)
    total = float((rows.numeric**2).sum())
    history = np.empty(3)
    entries, undone = kernels.search(rows, labels, centres, total, weight, 3, 60.0, 0.0, 2, tally, history)
    assert not undone
    assert (labels == expected).all()
    assert centres == pytest.approx(means, abs=1e-12)
    assert (np.diff(history[:entries]) <= 0).all()
    last = objective_twin(rows, expected, means, weight, groups, ranked, 3)
    assert history[entries - 1] == pytest.approx(last, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("ranked", [False, True])
def test_running_counts_are_those_counted_anew(ranked):
    generator = np.random.default_rng(5)
    rows = random_rows(generator, 2000, 3, 3, ranked, "float32", left_out=0.2)
    labels = generator.integers(0, 6, 2000).astype(np.int32)
    centres = np.ascontiguousarray(rows.numeric[:, :6].T)
    tally = empty_tally(rows, 6, 3, ranked)
    kernels.count_all(rows, labels, 10, tally)
    total = float((rows.numeric.astype(float) ** 2).sum())
    before = labels.copy()
    kernels.search(rows, labels, centres, total, 20.0, 10, 2000.0, 0.0, 30, tally, np.empty(31))
    assert (labels != before).any()
    anew = empty_tally(rows, 6, 3, ranked)
    kernels.count_all(rows, labels, 10, anew)
    for name in ("rows", "sums", "counts", "wins", "below", "lowest", "highest", "squared_gap"):
        assert getattr(tally, name).tobytes() == getattr(anew, name).tobytes(), name


@pytest.mark.parametrize("ranked", [False, True])
def test_a_pass_that_puts_too_many_rows_off_their_centres_leaves_no_trace(ranked):
    rows = random_rows(np.random.default_rng(5), 500, 2, 3, ranked)
    centres = np.ascontiguousarray(rows.numeric[:, :4].T)
    labels = np.empty(500, np.int32)
    kernels.assign_nearest(rows.numeric, centres, labels)
    tally, anew = (empty_tally(rows, 4, 3, ranked) for _ in range(2))
    for one in (tally, anew):
        kernels.count_all(rows, labels, 5, one)
    total = float((rows.numeric.astype(float) ** 2).sum())
    history, before = np.empty(31), (labels.copy(), centres.copy())
    assert kernels.search(rows, labels, centres, total, 50.0, 5, 5.0, 0.0, 30, tally, history) == (1, True)
    assert (labels == before[0]).all()
    assert (centres == before[1]).all()
    for name in kernels.Tally._fields:
        assert getattr(tally, name).tobytes() == getattr(anew, name).tobytes(), name
    # As many as there are: nothing is undone.
    entries, undone = kernels.search(rows, labels, centres, total, 50.0, 5, 500.0, 0.0, 30, tally, history)
    assert entries > 2
    assert not undone
    assert (labels != before[0]).sum() > 5


def test_a_cluster_keeps_its_last_row():
    numeric = np.array([[0.0, 0.1, 0.2, 0.3]])
    rows = kernels.SearchRows(numeric, np.zeros(4, np.int32), np.zeros(4, np.int8), np.empty(0, np.int32))
    labels = np.array([0, 0, 0, 1], np.int32)
    tally = empty_tally(rows, 2, 2, False)
    kernels.count_all(rows, labels, 1, tally)
    centres = np.array([[0.1], [50.0]])
    kernels.search(rows, labels, centres, float((numeric**2).sum()), 0.0, 1, 4.0, 0.0, 1, tally, np.empty(2))
    assert (tally.rows > 0).all()


def test_wins_by_group():
    generator = np.random.default_rng(6)
    score = generator.integers(0, 9, 400).astype(float)
    label = generator.integers(0, 2, 400).astype(np.int8)
    group = generator.integers(0, 3, 400)
    order = np.argsort(score)
    ordered = score[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
    wins = np.zeros(3, np.int64)
    kernels.wins_by_group(label[order], group[order], starts, wins)
    for one in range(3):
        mine = group == one
        pairs = (label[mine] == 0).sum() * (label[mine] == 1).sum()
        assert wins[one] / (2 * pairs) == pytest.approx(roc_auc_score(label[mine], score[mine]), abs=1e-12)
