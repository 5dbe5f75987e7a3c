"""The whole search, repeated on groups that were permuted: what it finds where there is nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.local_bias.gap_null import gap_figures, null_of
from bdt_core.local_bias.logan import LOGAN
from bdt_core.local_bias.metrics import Integers, Outcome, gaps, metric_by_group
from bdt_core.local_bias.results import GapNull, GapSummary
from bdt_core.local_bias.rows import Sides
from bdt_core.local_bias.search import Search


def whole_search_null(sides: Sides, train_X: NDArray[Any], model: LOGAN, found: GapSummary) -> GapNull | None:
    """Permute groups within the clusters of k-means and search again, from the same starts.

    Parameters
    ----------
    sides : Sides
    train_X : ndarray of shape (n, p)
    model : LOGAN
        Fitted on it.
    found : GapSummary
        Of the model's clusters of train rows.

    Returns
    -------
    GapNull or None
        None when no cluster has a gap.
    """
    if found.bcr is None:
        return None
    settings, train, outcome = sides.settings, sides.train, sides.train.rows.outcome
    search = Search.prepare(np.asarray(train_X), train.group.astype(np.int32), len(sides.groups), outcome, model)
    starts, _ = search.kmeans(settings.random_state, "k-means++")
    pools = _exchangeable(model.kmeans_.labels[search.order], outcome[search.order])
    rng = np.random.default_rng([settings.random_state, 2])
    figures = []
    for _ in range(settings.refits):
        group = search.rows.group.copy()
        for pool in pools:
            group[pool] = rng.permutation(group[pool])
        best = min(search.with_gaps(starts, group), key=lambda one: one.objective)
        permuted = np.empty_like(group)
        permuted[search.order] = group
        partition = search.with_groups(group).partition(best)
        table = metric_by_group(partition.labels, partition.n_clusters, permuted, len(sides.groups), outcome)
        gap = gaps(table.value, table.counted, settings.min_group_size)
        figures.append([float(one) for one in gap_figures(gap, table.rows.sum(axis=1), settings.threshold)])
    bcr, bir, mean, largest = np.array(figures).T
    return null_of(found, (bcr, bir, mean, largest))


def _exchangeable(labels: Integers, outcome: Outcome) -> list[NDArray[np.intp]]:
    """Rows whose groups may be exchanged: of one cluster, and alike in what the metric conditions on."""
    stratum = 3 * labels
    if outcome.metric == "auc":
        stratum = stratum + outcome.value
    elif outcome.metric in ("tpr", "fpr"):
        stratum = stratum + (outcome.value >= 0)
    return [np.flatnonzero(stratum == one) for one in np.unique(stratum)]
