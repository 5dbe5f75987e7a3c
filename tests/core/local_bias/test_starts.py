"""Starts on large tables: rest on a sample, the best two go on to all rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from bdt_core.local_bias import search
from bdt_core.local_bias.inputs import outcome_of
from bdt_core.local_bias.logan import LOGAN
from bdt_core.local_bias.search import ClusterSearch, kmeans_plus_plus

SAMPLE = 150
CLUSTERS = 6
SEED = 3


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    monkeypatch.setattr(search, "SAMPLE_ROWS", SAMPLE)


def prepared(X, **settings):
    rng = np.random.default_rng(1)
    group, correct = rng.integers(0, 2, len(X)).astype(np.int32), rng.random(len(X)) < 0.8
    return ClusterSearch.prepare(
        X, group, 2, outcome_of("accuracy", len(X), correct=correct), LOGAN(CLUSTERS, **settings)
    )


def without_pattern(rows):
    """Many places to rest: which start goes on shows."""
    return np.random.default_rng(0).random((rows, 4))


def drawn_starts(rows, n_init, seed=SEED):
    seeds = np.random.SeedSequence(seed).spawn(n_init)
    return [kmeans_plus_plus(rows, CLUSTERS, np.random.Generator(np.random.PCG64(each))) for each in seeds]


def rested(rows, start, tol):
    return KMeans(CLUSTERS, init=start, n_init=1, tol=tol, algorithm="lloyd").fit(rows.T)


def centres_of(solutions):
    return [solution.centres for solution in solutions]


@pytest.mark.parametrize(("rows", "go_on"), [(4 * SAMPLE, 7), (4 * SAMPLE + 1, 2)])
def test_all_starts_see_all_rows_up_to_four_samples(rows, go_on):
    prepared_search = prepared(without_pattern(rows), n_init=7)
    solutions, notes = prepared_search.kmeans(SEED, "k-means++")
    assert len(solutions) == go_on
    assert notes == ()


@pytest.mark.parametrize("tol", [0.0, 0.02])
def test_the_two_best_on_the_sample_go_on(tol):
    prepared_search = prepared(without_pattern(20 * SAMPLE), n_init=8, tol=tol)
    numeric = prepared_search.rows.numeric
    sample = np.ascontiguousarray(numeric[:, :SAMPLE])
    on_sample = sorted(
        (rested(sample, start, tol) for start in drawn_starts(sample, 8)), key=lambda model: model.inertia_
    )
    inertias = [model.inertia_ for model in on_sample]
    assert inertias[0] < inertias[1] < inertias[2] < inertias[-1]
    expected = [rested(numeric, model.cluster_centers_, tol).cluster_centers_ for model in on_sample[:2]]
    solutions, _ = prepared_search.kmeans(SEED, "k-means++")
    for found, wanted in zip(centres_of(solutions), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_what_rests_on_the_sample_does_not_look_at_gaps():
    X = without_pattern(20 * SAMPLE)
    without, much = (
        prepared(X, n_init=4, weight=weight, min_group_size=1).kmeans(SEED, "k-means++")[0] for weight in (0.0, 5.0)
    )
    for one, other in zip(centres_of(without), centres_of(much), strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_sample_of_copies_gives_way_to_all_rows():
    X = np.full((20 * SAMPLE, 4), -16.5)  # their hash is among the first: a sample of nothing else
    X[:40] = np.random.default_rng(5).normal(50, 10, (40, 4))
    prepared_search = prepared(X, n_init=5)
    numeric = prepared_search.rows.numeric
    assert len(np.unique(numeric[0, :SAMPLE])) < CLUSTERS < len(np.unique(numeric[0]))
    each = [rested(numeric, start, 0.0001).inertia_ for start in drawn_starts(numeric, 5)]
    expected = each[:2]
    assert min(np.diff(np.sort(each))) > 1
    solutions, notes = prepared_search.kmeans(SEED, "k-means++")
    assert [solution.inertia for solution in solutions] == pytest.approx(expected, rel=1e-6)
    assert notes == ()


def test_fewer_different_rows_than_clusters_are_told():
    X = np.repeat(np.arange(3.0), 10 * SAMPLE)[:, None]
    solutions, notes = prepared(X).kmeans(SEED, "k-means++")
    assert {len(centres) for centres in centres_of(solutions)} == {3}
    assert notes == ("X has only 3 different rows: 3 clusters instead of the 6 asked for.",)


@pytest.mark.parametrize(("k", "candidates"), [(2, 2), (3, 3), (7, 3), (8, 4), (20, 4), (21, 5)])
def test_a_further_row_is_the_best_of_two_and_ln_k(k, candidates):
    numeric = without_pattern(100).T.copy()
    drawn, other = np.random.default_rng(9), np.random.default_rng(9)
    kmeans_plus_plus(numeric, k, drawn)
    other.integers(100)
    other.random((k - 1) * candidates)
    assert drawn.random() == other.random()
