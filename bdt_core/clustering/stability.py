"""Stability of a clustering on other draws of the rows, and from other seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bdt_core.table.pool import threads

if TYPE_CHECKING:
    from bdt_core.clustering.hbac import HBAC

MOST_ROWS = 100_000
SEEDS = 5
STABLE = 0.85
FOUND_AGAIN = 0.75

Word = Literal["stable", "moderately stable", "do not interpret"]
UNSTABLE: Word = "do not interpret"


@dataclass(frozen=True)
class ClusterStability:
    """How well one cluster is found again.

    ``jaccard`` is the mean, over the bootstrap refits, of the Jaccard similarity with the most similar node of the
    refit's tree: 1 when it is found exactly, whether the refit divided it further or not. At least .85 is stable;
    below .75 the cluster is not found again, and is no group to be interpreted (Hennig 2007).
    """

    label: int
    jaccard: float
    word: Word


@dataclass(frozen=True)
class Stability:
    """Stability of a clustering.

    Refits are on draws of the `rows` with replacement, and from other seeds on the same rows: all, or 100,000 drawn at
    random of more. Rand indices are the mean adjusted ones with the clustering itself: 1 when equal, 0 on average when
    unrelated.
    """

    bootstraps: int
    seeds: int
    rows: int
    clusters: tuple[ClusterStability, ...]
    rand_bootstraps: float
    rand_seeds: float


def measure_stability(
    model: HBAC,
    X: Any,
    y: NDArray[np.float64],
    *,
    labels: NDArray[np.int64] | None = None,
    fitted_rows: int | None = None,
    bootstraps: int = 50,
    seeds: int = SEEDS,
    random_state: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Stability:
    """Refit on bootstrap draws and from other seeds, and compare.

    The model is fitted on X and y, or on more rows (`fitted_rows`) of which these were drawn: a smallest cluster in
    rows is a share of them. X and y are in an order that does not depend on the source's. `labels` is the model's
    cluster of each row; by default its ``labels_``. `progress` is called with (refits done, refits).

    C. Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics & Data Analysis 52 (2007).
    """
    table = model.encoder_.transform(X)
    share = _share(model, table.rows if fitted_rows is None else fitted_rows)
    rows = min(table.rows, MOST_ROWS)
    judged = np.arange(rows)
    if rows < table.rows:
        chosen = np.random.default_rng([random_state, 1]).choice(table.rows, rows, replace=False)
        judged = np.sort(chosen)
    labels = (model.labels_ if labels is None else labels)[judged]
    judged_table = table.take(judged)
    settings = model.get_params(deep=False)

    def refit(number: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Contingency of the clusters with those of one refit, whose draw is its own whatever runs beside it.

        And how similar each is to the nearest node of the refit's tree.
        """
        is_bootstrap = number < bootstraps
        rng = np.random.default_rng([random_state, 1, number])
        # The order of rows is of no matter, and rows that lie together are read together.
        drawn = np.sort(rng.integers(0, table.rows, rows)) if is_bootstrap else judged
        seed = random_state + (0 if is_bootstrap else number + 1)
        again = type(model)(**{**settings, "min_cluster_size": share, "random_state": seed})
        again.fit_encoded(table.take(drawn), y[drawn], model.encoder_, model.method_)
        shared = _contingency(labels, again.tree_.route(judged_table), model.n_clusters_, again.n_clusters_)
        return shared, best_jaccard(shared, again.tree_.leaves_of_nodes)

    refitted = []
    with threads() as in_threads:
        for compared in in_threads(refit, range(bootstraps + seeds)):
            refitted.append(compared)
            if progress is not None:
                progress(len(refitted), bootstraps + seeds)
    jaccards = [jaccard for _, jaccard in refitted[:bootstraps]]
    rands = [adjusted_rand(shared) for shared, _ in refitted]
    means = np.mean(jaccards, axis=0) if jaccards else np.full(model.n_clusters_, np.nan)
    return Stability(
        bootstraps=bootstraps,
        seeds=seeds,
        rows=rows,
        clusters=tuple(
            ClusterStability(label, float(jaccard), in_a_word(float(jaccard))) for label, jaccard in enumerate(means)
        ),
        rand_bootstraps=float(np.mean(rands[:bootstraps])),
        rand_seeds=float(np.mean(rands[bootstraps:])),
    )


def in_a_word(jaccard: float) -> Word:
    """What a mean Jaccard similarity says (Hennig 2007)."""
    if jaccard >= STABLE:
        return "stable"
    return "moderately stable" if jaccard >= FOUND_AGAIN else "do not interpret"


def best_jaccard(shared: NDArray[np.int64], nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Jaccard similarity of each cluster with the most similar node of another tree.

    `shared`, shape (clusters, leaves), counts the rows that are in both; `nodes`, shape (leaves, nodes), is 1 where a
    leaf is under a node.
    """
    both = shared @ nodes
    union = shared.sum(axis=1, keepdims=True) + both.sum(axis=0, keepdims=True) - both
    best: NDArray[np.float64] = (both / np.maximum(union, 1)).max(axis=1)
    return best


def adjusted_rand(shared: NDArray[np.int64]) -> float:
    """Adjusted Rand index of two clusterings (Hubert & Arabie 1985), from their contingency table."""

    def pairs(counts: NDArray[np.int64]) -> float:
        sizes = counts.astype(np.float64)
        return float((sizes * (sizes - 1.0)).sum() / 2.0)

    together, ours, theirs = pairs(shared), pairs(shared.sum(axis=1)), pairs(shared.sum(axis=0))
    expected = ours * theirs / max(pairs(np.array([shared.sum()])), 1.0)
    highest = (ours + theirs) / 2.0
    return 1.0 if highest == expected else (together - expected) / (highest - expected)


def _contingency(ours: NDArray[np.int64], theirs: NDArray[Any], n_ours: int, n_theirs: int) -> NDArray[np.int64]:
    return np.bincount(ours * n_theirs + theirs, minlength=n_ours * n_theirs).reshape(n_ours, n_theirs)


def _share(model: HBAC, rows: int) -> float:
    """The smallest cluster as a share, so that refits on fewer rows ask for as much."""
    size = float(model.min_cluster_size)
    return size if size < 1.0 else min(size / rows, 0.999)
