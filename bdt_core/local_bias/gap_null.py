"""The published summary of gaps, beside what it would be if groups were treated alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.inference.exchange import Pool, exchanged, permutation_p_value
from bdt_core.local_bias import kernels
from bdt_core.local_bias.logan import LOGAN
from bdt_core.local_bias.metrics import Floats, Integers, LocalOutcome, gaps, metric_by_group
from bdt_core.local_bias.results import GapNull, GapSummary, or_none
from bdt_core.local_bias.rows import LocalSides, Side
from bdt_core.local_bias.search import ClusterSearch
from bdt_core.local_bias.settings import LocalBiasSettings
from bdt_core.metrics import LOCAL_METRICS

EQUAL = 1e-12
"""Gaps closer than this to the threshold are taken to reach it: of 17/20 - 4/5 floats make less than .05."""


def summarise_gaps(
    events: NDArray[Any],
    counted: NDArray[Any],
    *,
    rows: NDArray[Any] | None = None,
    threshold: float = 0.05,
    smallest: int = 20,
    permutations: int = 999,
    random_state: int = 0,
) -> GapSummary:
    """The published summary of a table of clusters, beside its permutation null.

    `events` (correct predictions, say) and `counted` rows have shape (k, G); `rows` are all rows of each cluster, by
    default those counted. `threshold` is the least gap of a biased cluster, in rates; a group of fewer than `smallest`
    rows does not count for it. Groups of the rows are permuted within each cluster; the counts then are draws from a
    multivariate hypergeometric distribution, at no cost in rows. 0 permutations leave the null out.
    """
    events, counted = np.asarray(events, dtype=np.int64), np.asarray(counted, dtype=np.int64)
    if events.shape != counted.shape or events.ndim != 2 or (events < 0).any() or (events > counted).any():
        raise DataError("Events and rows must be tables of one shape (clusters x groups), with events <= rows.")
    sizes = counted.sum(axis=1) if rows is None else np.asarray(rows, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = gaps(events / counted, counted, smallest)
    rng = np.random.default_rng([random_state, 1])
    drawn = np.full((permutations, len(events)), np.nan)
    for j in np.flatnonzero(~np.isnan(observed)):
        draws = rng.multivariate_hypergeometric(counted[j], int(events[j].sum()), size=permutations, method="marginals")
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn[:, j] = gaps(draws / counted[j], counted[j], smallest)
    return _summary(observed, sizes, threshold, drawn)


def summary_of(side: Side, labels: Integers, k: int, smallest: int, settings: LocalBiasSettings) -> GapSummary:
    """The summary of one part's rows in k clusters, beside its permutation null.

    Groups change hands within clusters, for "auc" among rows with the same label; where persons may have several rows,
    those of a person in a cluster stay of one group.
    """
    table = side.metrics(labels, k)
    rows = table.rows.sum(axis=1)
    if side.rows.persons is None and not LOCAL_METRICS[settings.metric].is_area:
        return summarise_gaps(
            table.counts[:, :, 1],
            table.counted,
            rows=rows,
            threshold=settings.threshold,
            smallest=smallest,
            permutations=settings.permutations,
            random_state=settings.random_state,
        )
    observed = gaps(table.value, table.counted, smallest)
    drawn = np.full((settings.permutations, len(rows)), np.nan)
    rng = np.random.default_rng([settings.random_state, 1])
    if side.rows.persons is not None:
        pools = exchangeable(labels, side.rows.outcome, side.group, side.rows.persons)
        for draw in range(settings.permutations):
            permuted = metric_by_group(
                labels, k, exchanged(side.group, pools, rng), len(side.groups), side.rows.outcome
            )
            drawn[draw] = gaps(permuted.value, permuted.counted, smallest)
        return _summary(observed, rows, settings.threshold, np.where(np.isnan(observed), np.nan, drawn))
    for j in np.flatnonzero(~np.isnan(observed)):
        inside = labels == j
        outcome, group = side.rows.outcome[inside], side.group[inside]
        values = _permuted_areas(outcome, group, len(side.groups), settings.permutations, rng)
        drawn[:, j] = gaps(values, table.counted[j], smallest)
    return _summary(observed, rows, settings.threshold, drawn)


def whole_search_null(sides: LocalSides, train_X: NDArray[Any], model: LOGAN, summary: GapSummary) -> GapNull | None:
    """Permute groups within the clusters of k-means and search again, from the same starts.

    `summary` is of the clusters of train rows of the model, which was fitted on `train_X`. None when no cluster has a
    gap.
    """
    if summary.bcr is None:
        return None
    settings, train, outcome = sides.settings, sides.train, sides.train.rows.outcome
    search = ClusterSearch.prepare(np.asarray(train_X), train.group.astype(np.int32), len(sides.groups), outcome, model)
    starts, _ = search.kmeans(settings.random_state, "k-means++")
    persons = None if train.rows.persons is None else train.rows.persons[search.order]
    pools = exchangeable(model.kmeans_.labels[search.order], outcome[search.order], search.rows.group, persons)
    rng = np.random.default_rng([settings.random_state, 2])
    figures = []
    for _ in range(settings.refits):
        group = exchanged(search.rows.group, pools, rng)
        best = min(search.with_gaps(starts, group), key=lambda one: one.objective)
        permuted = np.empty_like(group)
        permuted[search.order] = group
        partition = search.with_groups(group).partition(best)
        table = metric_by_group(partition.labels, partition.n_clusters, permuted, len(sides.groups), outcome)
        gap = gaps(table.value, table.counted, settings.min_group_size)
        figures.append([float(one) for one in gap_figures(gap, table.rows.sum(axis=1), settings.threshold)])
    bcr, bir, mean, largest = np.array(figures).T
    return null_of(summary, (bcr, bir, mean, largest))


def gap_figures(gap: Floats, rows: Integers, threshold: float) -> tuple[Floats, Floats, Floats, Floats]:
    """BCR, BIR, mean gap of biased clusters and largest gap; gaps and rows have shape (k,) or (draws, k)."""
    known = ~np.isnan(gap)
    biased = known & (np.nan_to_num(gap, nan=-1.0) >= threshold - EQUAL)
    with np.errstate(divide="ignore", invalid="ignore"):
        bcr = biased.sum(axis=-1) / known.sum(axis=-1)
        bir = (biased * rows).sum(axis=-1) / (known * rows).sum(axis=-1)
        mean = np.where(biased, gap, 0.0).sum(axis=-1) / biased.sum(axis=-1)
    largest = np.where(known, gap, -np.inf).max(axis=-1)
    return bcr, bir, mean, np.where(np.isinf(largest), np.nan, largest)


def null_of(summary: GapSummary, drawn: tuple[Floats, Floats, Floats, Floats]) -> GapNull:
    """What is expected by chance, and how often chance does as much, from the figures of each draw."""
    bcr, bir, mean, largest = drawn
    # A draw without a single cluster large enough shows no bias.
    bcr, bir, largest = (np.nan_to_num(one, nan=0.0) for one in (bcr, bir, largest))

    def p_value(values: Floats, observed: float | None) -> float:
        assert observed is not None
        return permutation_p_value(int((values >= observed - EQUAL).sum()), len(values))

    return GapNull(
        permutations=len(bcr),
        bcr=float(bcr.mean()),
        bir=float(bir.mean()),
        mean_gap=None if np.isnan(mean).all() else float(np.nanmean(mean)),
        largest_gap=float(largest.mean()),
        p_bcr=p_value(bcr, summary.bcr),
        p_bir=p_value(bir, summary.bir),
        p_largest_gap=p_value(largest, summary.largest_gap),
    )


def exchangeable(
    labels: Integers, outcome: LocalOutcome, group: NDArray[Any], persons: NDArray[np.uint64] | None
) -> list[Pool]:
    """Rows whose groups may be exchanged: of one cluster, and alike in what the metric conditions on."""
    stratum = 3 * labels
    metric = LOCAL_METRICS[outcome.metric]
    if metric.is_area:
        stratum = stratum + outcome.value
    elif metric.among is not None:
        stratum = stratum + (outcome.value >= 0)
    pools = [Pool(np.flatnonzero(stratum == one)) for one in np.unique(stratum)]
    return pools if persons is None else [_by_persons(pool.rows, group, persons) for pool in pools]


def _by_persons(rows: NDArray[np.intp], group: NDArray[Any], persons: NDArray[np.uint64]) -> Pool:
    who, number = np.unique(persons[rows], return_inverse=True)
    _, first, unit = np.unique(number + len(who) * group[rows].astype(np.int64), return_index=True, return_inverse=True)
    return Pool(rows, unit, first)


def _permuted_areas(
    outcome: LocalOutcome, group: NDArray[Any], groups: int, permutations: int, rng: np.random.Generator
) -> Floats:
    """Areas under the curve of each group when groups are permuted among rows with the same label: (draws, G)."""
    assert outcome.score is not None
    order = np.lexsort((group, outcome.value, outcome.score))
    score, label, group = outcome.score[order], outcome.value[order], group[order]
    starts = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1], [True]]))
    pools = [Pool(np.flatnonzero(label == value)) for value in (0, 1)]
    sizes = [np.bincount(group[pool.rows], minlength=groups) for pool in pools]
    pairs = 2.0 * sizes[0] * sizes[1]
    areas = np.empty((permutations, groups))
    for draw in range(permutations):
        group = exchanged(group, pools, rng)
        wins = np.zeros(groups, np.int64)
        kernels.wins_by_group(label, group, starts, wins)
        with np.errstate(divide="ignore", invalid="ignore"):
            areas[draw] = wins / pairs
    return areas


def _summary(observed: Floats, rows: Integers, threshold: float, drawn: Floats | None) -> GapSummary:
    bcr, bir, mean_gap, largest = (float(one) for one in gap_figures(observed, rows, threshold))
    considered = int((~np.isnan(observed)).sum())
    summary = GapSummary(
        clusters=considered,
        biased=int((observed >= threshold - EQUAL).sum()),
        bcr=or_none(bcr),
        bir=or_none(bir),
        mean_gap=or_none(mean_gap),
        largest_gap=or_none(largest),
    )
    if drawn is None or not len(drawn) or not considered:
        return summary
    return replace(summary, within_clusters=null_of(summary, gap_figures(drawn, rows, threshold)))
