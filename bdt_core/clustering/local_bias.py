"""The stage that looks for local group bias: places where an algorithm treats groups differently.

Clusters are found on the train rows and judged on the test rows, because a search for gaps finds gaps in noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bdt_core.clustering import logan_kernels as kernels
from bdt_core.clustering.cluster_topics import ClusterTopic, feature_differences, nearest_rows, top_words
from bdt_core.clustering.logan import (
    LOGAN,
    GroupMetrics,
    Metric,
    Outcome,
    Partition,
    Search,
    gaps,
    group_codes,
    metric_by_group,
    outcome_of,
)
from bdt_core.errors import DataError, SpecError
from bdt_core.inference import adjust_p_values, area_under_curve, compare_counts
from bdt_core.result import Result
from bdt_core.table.encoding import Encoder, level_name

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EQUAL = 1e-12
"""Gaps closer than this to the threshold are taken to reach it: of 17/20 - 4/5 floats make less than .05."""


@dataclass(frozen=True)
class LocalBiasSettings:
    """What is looked for.

    Attributes
    ----------
    group : str
        Column with the groups.
    embeddings : tuple of str, str or None
        Columns to cluster on, or a ``.npy`` file with one row per row of the table; None: the features.
    n_clusters, weight, metric, min_group_size, min_clusters, n_init, random_state
        As in `LOGAN`.
    threshold : float
        A cluster with a gap of at least this counts as biased in the published summaries.
    alpha : float
        Level of the tests, corrected by Benjamini-Hochberg over the clusters; intervals are at 1 - alpha.
    min_test_rows : int
        Fewest test rows of either group, counted as in `min_group_size`, for a test.
    permutations : int
        Of the groups within clusters.
    refits : int
        Repetitions of the whole search on permuted groups; 0 leaves that out.
    """

    group: str = "group"
    embeddings: tuple[str, ...] | str | None = None
    n_clusters: int = 10
    weight: float = 0.05
    metric: Metric = "accuracy"
    min_group_size: int = 20
    min_clusters: int = 5
    n_init: int = 10
    threshold: float = 0.05
    alpha: float = 0.05
    min_test_rows: int = 10
    permutations: int = 999
    refits: int = 0
    random_state: int = 0


@dataclass(frozen=True)
class LocalRows:
    """One part of the rows, array by array.

    Attributes
    ----------
    X : DataFrame or 2-d array of shape (n, p)
        Features, which are encoded and standardised on the train rows, or embeddings, which are taken as they are.
    group : array of shape (n,)
        Rows without a group are left out, and counted.
    correct, y_true, y_pred, y_score : arrays of shape (n,), optional
        As `LOGAN.fit` takes them; rows without a value are left out, and counted.
    texts : sequence of str, optional
        What the rows say: clusters are then described by their words.
    """

    X: Any
    group: Any
    correct: Any = None
    y_true: Any = None
    y_pred: Any = None
    y_score: Any = None
    texts: Sequence[str] | None = None


@dataclass(frozen=True)
class GroupValue:
    """The metric of one group in one cluster.

    Attributes
    ----------
    group : str
    rows : int
    counted : int
        Rows that the metric rests on: all for the accuracy, positives for "tpr", negatives for "fpr", the scarcer of
        both for "auc".
    events : int or None
        Of the rate; None for "auc".
    value : float or None
        In [0, 1]; None without rows to compute it from.
    """

    group: str
    rows: int
    counted: int
    events: int | None
    value: float | None


@dataclass(frozen=True)
class HeldOutGap:
    """The test, on rows that the search has not seen, of the gap that it found.

    Attributes
    ----------
    status : {"tested", "not_testable"}
    reason : str or None
        Why no test was made.
    test : str or None
        "exact mid-p" or "DeLong".
    higher, lower : str or None
        The groups with the highest and lowest metric in this cluster of *train* rows, whichever way it is now.
    counted_higher, counted_lower : int
        Test rows that their metrics rest on.
    gap, low, high : float or None
        Metric of `higher` minus that of `lower` with its interval (Newcombe's; for "auc" from DeLong's). Negative
        when the gap points the other way here.
    p_value : float or None
        Two-sided.
    p_adjusted : float or None
        Benjamini-Hochberg over the clusters.
    significant : bool or None
        p_adjusted <= alpha.
    confirmed : bool
        Significant, and the same group is ahead as among the train rows.
    minimum_detectable_gap : float or None
        At 80 % power, uncorrected; None for "auc".
    """

    status: Literal["tested", "not_testable"]
    reason: str | None
    test: str | None = None
    higher: str | None = None
    lower: str | None = None
    counted_higher: int = 0
    counted_lower: int = 0
    gap: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    significant: bool | None = None
    confirmed: bool = False
    minimum_detectable_gap: float | None = None


@dataclass(frozen=True)
class LocalCluster:
    """A cluster, or all rows.

    Attributes
    ----------
    label : int or None
        0 has the largest gap among the train rows; None is all rows together.
    train_rows, test_rows : int
    train, test : tuple of GroupValue
    train_gap, test_gap : float or None
        Largest minus least metric of the groups that count; None when fewer than two do.
    held_out : HeldOutGap
    about : ClusterTopic
    """

    label: int | None
    train_rows: int
    test_rows: int
    train: tuple[GroupValue, ...]
    test: tuple[GroupValue, ...]
    train_gap: float | None
    test_gap: float | None
    held_out: HeldOutGap
    about: ClusterTopic = field(default_factory=ClusterTopic)


@dataclass(frozen=True)
class GapNull:
    """What the summary would be if groups were treated alike.

    Attributes
    ----------
    permutations : int
    bcr, bir : float
        Means over the permutations.
    mean_gap : float or None
        The same, over those with any biased cluster.
    largest_gap : float
    p_bcr, p_bir, p_largest_gap : float
        Share of permutations with as large a figure, the data themselves counted as one.
    """

    permutations: int
    bcr: float
    bir: float
    mean_gap: float | None
    largest_gap: float
    p_bcr: float
    p_bir: float
    p_largest_gap: float


@dataclass(frozen=True)
class GapSummary:
    """The figures of Zhao and Chang (2020) over the clusters in which at least two groups count.

    Attributes
    ----------
    clusters, biased : int
        Clusters that can have a gap, and those whose gap reaches the threshold.
    bcr : float or None
        Biased cluster ratio: biased / clusters. None without clusters.
    bir : float or None
        Biased instance ratio: share of these clusters' rows that are in biased ones.
    mean_gap : float or None
        Mean gap of the biased clusters ("|Bias|"); None when there are none.
    largest_gap : float or None
    within_clusters : GapNull or None
        Groups permuted within clusters. Among test rows, and for k-means among train rows as well, its p-values hold.
        Among LOGAN's train rows they are too small: these clusters were made for their gaps.
    whole_search : GapNull or None
        The search repeated on groups permuted within the clusters of k-means (train rows, when `refits` were asked
        for): what the search finds where there is nothing.
    """

    clusters: int
    biased: int
    bcr: float | None
    bir: float | None
    mean_gap: float | None
    largest_gap: float | None
    within_clusters: GapNull | None = None
    whole_search: GapNull | None = None


@dataclass(frozen=True)
class LocalClustering:
    """Clusters of one kind, and what came of them.

    Attributes
    ----------
    method : {"LOGAN", "k-means"}
    clusters : tuple of LocalCluster
        The largest gap among the train rows first; clusters without one last.
    train, test : GapSummary
    inertia : float
        Of the train rows, before merging.
    inertia_ratio : float or None
        To that of k-means; None when that is 0.
    merged : int
        Clusters that were too small.
    off_centre : float
        Share of train rows that are not in the cluster of their nearest centre: what is found in them cannot be
        found again, for a further row's outcome does not decide on its cluster.
    confirmed : int
        Clusters whose gap was found again among the test rows.
    """

    method: Literal["LOGAN", "k-means"]
    clusters: tuple[LocalCluster, ...]
    train: GapSummary
    test: GapSummary
    inertia: float
    inertia_ratio: float | None
    merged: int
    off_centre: float
    confirmed: int


@dataclass(frozen=True)
class LocalBias(Result):
    """Local group bias, by LOGAN and by plain k-means.

    Attributes
    ----------
    settings : LocalBiasSettings
    groups : tuple of str
    train_rows, test_rows : int
        That were used.
    left_out : dict
        Reason: rows, train and test together.
    everywhere : LocalCluster
        All rows as one cluster: the global gap.
    logan, kmeans : LocalClustering
    notes : tuple of str
    model_state : dict
        What `predict` needs.
    """

    settings: LocalBiasSettings
    groups: tuple[str, ...]
    train_rows: int
    test_rows: int
    left_out: dict[str, int]
    everywhere: LocalCluster
    logan: LocalClustering
    kmeans: LocalClustering
    notes: tuple[str, ...]
    model_state: dict[str, Any] = field(repr=False)

    @cached_property
    def _models(self) -> tuple[Encoder | None, dict[str, tuple[Partition, Integers]]]:
        state = self.model_state
        encoder = None if state["encoder"] is None else Encoder.from_dict(state["encoder"])
        partitions = {
            name: (Partition.from_dict(state[name]), np.array(state[f"{name}_labels"])) for name in ("logan", "kmeans")
        }
        return encoder, partitions

    def predict(self, X: Any, method: Literal["logan", "kmeans"] = "logan") -> Integers:
        """Cluster of each row of a table, or array of embeddings, like the one that was searched."""
        encoder, partitions = self._models
        partition, label = partitions[method]
        found: Integers = label[partition.predict(X if encoder is None else _encoded(encoder, X))]
        return found


def find_local_bias(train: LocalRows, test: LocalRows, settings: LocalBiasSettings) -> LocalBias:
    """Cluster the train rows by LOGAN and by k-means, and test the gaps that were found on the test rows.

    Parameters
    ----------
    train, test : LocalRows
        With the same columns.
    settings : LocalBiasSettings

    Returns
    -------
    LocalBias

    Raises
    ------
    DataError
        X and the other arrays differ in length, X holds what no distance can be computed with, a part has no rows
        left, or the train rows are all of one group.
    SpecError
        A setting out of range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def draw(n):
    ...     x = rng.normal(size=(n, 2)) + 6 * rng.integers(0, 2, (n, 1))
    ...     group = rng.choice(["f", "m"], n)
    ...     wrong = rng.random(n) < np.where((x[:, 0] > 3) & (group == "f"), 0.4, 0.1)
    ...     return LocalRows(x, group, correct=~wrong)
    >>> result = find_local_bias(draw(2000), draw(1000), LocalBiasSettings(n_clusters=2))
    >>> [one.held_out.confirmed for one in result.logan.clusters]
    [True, False]
    >>> result.logan.clusters[0].held_out.lower
    'f'
    """
    _check(settings)
    train_part, test_part = _read(train, settings, "train"), _read(test, settings, "test")
    groups, codes = group_codes(train_part.group, train_part.rows)
    position = {name: code for code, name in enumerate(groups)}
    test_codes = np.array([position.get(level_name(one), -1) for one in test_part.group], dtype=np.int64)
    unknown = int((test_codes < 0).sum())
    if unknown:
        test_part = test_part.where(test_codes >= 0, "of a group that no train row has")
        test_codes = test_codes[test_codes >= 0]
        test_part.check_not_empty()
    encoder, train_X, test_X = _matrices(train_part.X, test_part.X)
    model = LOGAN(
        settings.n_clusters,
        weight=settings.weight,
        metric=settings.metric,
        min_group_size=settings.min_group_size,
        min_clusters=settings.min_clusters,
        n_init=settings.n_init,
        random_state=settings.random_state,
    ).fit(train_X, group=train_part.group, **train_part.outcomes)
    sides = _Sides(settings, groups, train_part, codes, test_part, test_codes)
    found = {}
    state: dict[str, Any] = {"encoder": None if encoder is None else encoder.to_dict()}
    for name, partition in (("logan", model.partition_), ("kmeans", model.kmeans_)):
        order = _by_gap(partition, codes, groups, train_part.outcome, settings)
        found[name] = _clustering(sides, name, partition, order, model, train_X, test_X)
        state |= {name: partition.to_dict(), f"{name}_labels": np.argsort(order).tolist()}
    if settings.refits:
        null = _whole_search(sides, train_X, model)
        logan = found["logan"]
        found["logan"] = replace(logan, train=replace(logan.train, whole_search=null(logan.train)))
    left_out = {
        reason: train_part.left_out.get(reason, 0) + test_part.left_out.get(reason, 0)
        for reason in (*train_part.left_out, *test_part.left_out)
    }
    everything = np.zeros(train_part.rows, np.int64), np.zeros(test_part.rows, np.int64)
    return LocalBias(
        settings=settings,
        groups=groups,
        train_rows=train_part.rows,
        test_rows=test_part.rows,
        left_out=left_out,
        everywhere=replace(_clusters(sides, *everything, 1)[0], label=None),
        logan=found["logan"],
        kmeans=found["kmeans"],
        notes=_notes(model, found["logan"], groups, codes, settings),
        model_state=state,
    )


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

    Parameters
    ----------
    events, counted : integer arrays of shape (k, G)
        Events (correct predictions, say) and rows of each group in each cluster.
    rows : integer array of shape (k,), optional
        All rows of each cluster; by default those counted.
    threshold : float
        Least gap of a biased cluster, in rates.
    smallest : int
        Fewest rows of a group that counts for the gap.
    permutations : int
        Of the groups of the rows within each cluster; the counts then are draws from a multivariate
        hypergeometric distribution, at no cost in rows. 0 leaves the null out.
    random_state : int

    Returns
    -------
    GapSummary

    Examples
    --------
    >>> summary = summarise_gaps(np.array([[90, 80], [50, 49]]), np.array([[100, 100], [60, 60]]))
    >>> summary.bcr, summary.bir, round(summary.mean_gap, 3)
    (0.5, 0.625, 0.1)
    >>> round(summary.within_clusters.bcr, 2)  # so many clusters look biased when nothing is
    0.47
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


def read_embeddings(path: str | Path, rows: int) -> NDArray[Any]:
    """Open a ``.npy`` file with one row per row of a table; it stays on disk until it is used.

    Raises
    ------
    DataError
        No such file, not a table of numbers, or another number of rows.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise DataError(
            f'Cannot read the embeddings in "{path}": {error}. Expected a 2-d array of numbers written by numpy.save.'
        ) from None
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        raise DataError(
            f'The embeddings in "{path}" are an array of {array.dtype} in the shape {array.shape}. Expected numbers in '
            "two dimensions: one row per row of the table, one column per component."
        )
    if len(array) != rows:
        raise DataError(
            f'The embeddings in "{path}" have {len(array):,} rows and the table has {rows:,}. They must match row by '
            "row: compute them from the same table, in its order, before any row is left out."
        )
    return np.asanyarray(array)


@dataclass(frozen=True)
class _Part:
    """The rows of a part that can be used."""

    name: str
    X: Any
    group: NDArray[Any]
    outcomes: dict[str, Any]
    outcome: Outcome
    texts: list[str] | None
    positions: Integers
    left_out: dict[str, int]

    @property
    def rows(self) -> int:
        return len(self.positions)

    def where(self, kept: NDArray[np.bool_], reason: str) -> _Part:
        return replace(
            self,
            X=self.X[kept],
            group=self.group[kept],
            outcomes={name: values[kept] for name, values in self.outcomes.items()},
            outcome=self.outcome[kept],
            texts=None if self.texts is None else [self.texts[i] for i in np.flatnonzero(kept).tolist()],
            positions=self.positions[kept],
            left_out=self.left_out | {reason: int((~kept).sum())},
        )

    def check_not_empty(self) -> None:
        if not self.rows:
            reasons = ", ".join(f"{rows:,} {reason}" for reason, rows in self.left_out.items())
            raise DataError(f"No {self.name} row can be used for local bias: {reasons or 'there are none'}.")


@dataclass(frozen=True)
class _Sides:
    """Both parts with the codes of their groups."""

    settings: LocalBiasSettings
    groups: tuple[str, ...]
    train: _Part
    train_group: NDArray[Any]
    test: _Part
    test_group: NDArray[Any]

    def metrics(self, labels: Integers, k: int, part: Literal["train", "test"]) -> GroupMetrics:
        rows, group = (self.train, self.train_group) if part == "train" else (self.test, self.test_group)
        return metric_by_group(labels, k, group, len(self.groups), rows.outcome)


def _read(part: LocalRows, settings: LocalBiasSettings, name: str) -> _Part:
    """Check the arrays' lengths and leave out rows with anything missing."""
    X = part.X if isinstance(part.X, pd.DataFrame) else np.asarray(part.X)
    rows = len(X)
    arrays = {"group": part.group} | {
        key: getattr(part, key) for key in ("correct", "y_true", "y_pred", "y_score") if getattr(part, key) is not None
    }
    columns: dict[str, NDArray[Any]] = {}
    for key, values in arrays.items():
        columns[key] = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        if columns[key].ndim != 1 or len(columns[key]) != rows:
            raise DataError(
                f"In the {name} part X has {rows:,} rows and {key} has {len(columns[key]):,}: the same rows are needed "
                "in both, in the same order."
            )
    if part.texts is not None and len(part.texts) != rows:
        raise DataError(f"In the {name} part X has {rows:,} rows and there are {len(part.texts):,} texts.")
    kept = np.ones(rows, dtype=bool)
    left_out = {}
    for key, values in columns.items():
        missing = pd.isna(values) & kept
        if missing.any():
            left_out[f"without {settings.group if key == 'group' else key}"] = int(missing.sum())
            kept &= ~missing
    positions = np.flatnonzero(kept)
    group = columns.pop("group").astype(object)[kept]
    outcomes = {key: values[kept] for key, values in columns.items()}
    texts = None if part.texts is None else [part.texts[i] for i in positions.tolist()]
    outcome = outcome_of(settings.metric, len(positions), **outcomes)
    used = _Part(name, X[kept], group, outcomes, outcome, texts, positions, left_out)
    used.check_not_empty()
    return used


def _matrices(train: Any, test: Any) -> tuple[Encoder | None, Any, Any]:
    """Embeddings as they are; tables standardised, with categories as columns of their own."""
    if not isinstance(train, pd.DataFrame):
        return None, train, test
    encoder = Encoder.fit(train)
    return encoder, _encoded(encoder, train), _encoded(encoder, test)


def _encoded(encoder: Encoder, table: Any) -> NDArray[np.floating[Any]]:
    """Rows of two levels are sqrt(gamma) apart, where a standard deviation is 1; gamma as in k-prototypes."""
    encoded = encoder.transform(table)
    gamma = 0.5 if any(column.std > 0.0 for column, flag in encoder.fields if not flag) else 1.0
    size = np.sqrt(0.5 * gamma)
    parts = [encoded.numeric]
    for column, codes in zip(encoder.categorical, encoded.codes, strict=True):
        levels = np.arange(len(column.levels))[:, None]
        parts.append(np.where(codes == levels, size, 0.0).astype(encoded.numeric.dtype))
    matrix: NDArray[np.floating[Any]] = np.ascontiguousarray(np.concatenate(parts).T)
    return matrix


def _by_gap(
    partition: Partition, group: NDArray[Any], groups: tuple[str, ...], outcome: Outcome, settings: LocalBiasSettings
) -> Integers:
    """Clusters by falling gap among the train rows, those without one last, larger ones first."""
    table = metric_by_group(partition.labels, partition.n_clusters, group, len(groups), outcome)
    gap = gaps(table.value, table.counted, settings.min_group_size)
    order: Integers = np.lexsort((-table.rows.sum(axis=1), -np.nan_to_num(gap, nan=-1.0)))
    return order


def _clustering(
    sides: _Sides,
    name: str,
    partition: Partition,
    order: Integers,
    model: LOGAN,
    train_X: NDArray[Any],
    test_X: NDArray[Any],
) -> LocalClustering:
    settings = sides.settings
    k = len(order)
    number = np.argsort(order)
    train_labels, test_labels = number[partition.labels], number[partition.predict(test_X)]
    clusters = _described(sides, _clusters(sides, train_labels, test_labels, k), train_labels, test_labels, train_X)
    summaries = []
    for labels, part in ((train_labels, "train"), (test_labels, "test")):
        table = sides.metrics(labels, k, part)  # type: ignore[arg-type]
        smallest = settings.min_group_size if part == "train" else settings.min_test_rows
        rows = sides.train if part == "train" else sides.test
        group = sides.train_group if part == "train" else sides.test_group
        summaries.append(_summary_of(table, labels, group, rows.outcome, smallest, settings))
    baseline = model.kmeans_.inertia
    return LocalClustering(
        method="LOGAN" if name == "logan" else "k-means",
        clusters=clusters,
        train=summaries[0],
        test=summaries[1],
        inertia=partition.inertia,
        inertia_ratio=partition.inertia / baseline if baseline > 0.0 else None,
        merged=len(partition.merged_into) - k,
        off_centre=float((number[partition.predict(train_X)] != train_labels).mean()),
        confirmed=sum(one.held_out.confirmed for one in clusters),
    )


def _clusters(sides: _Sides, train_labels: Integers, test_labels: Integers, k: int) -> tuple[LocalCluster, ...]:
    settings = sides.settings
    train, test = sides.metrics(train_labels, k, "train"), sides.metrics(test_labels, k, "test")
    train_gap = gaps(train.value, train.counted, settings.min_group_size)
    test_gap = gaps(test.value, test.counted, settings.min_test_rows)
    tests = [_held_out(sides, train, test, test_labels, label) for label in range(k)]
    adjusted = adjust_p_values([one.p_value for one in tests], "bh")
    clusters = []
    for label, (one, p) in enumerate(zip(tests, adjusted, strict=True)):
        if one.p_value is not None and one.gap is not None:
            significant = bool(p <= settings.alpha)
            one = replace(one, p_adjusted=float(p), significant=significant, confirmed=significant and one.gap > 0.0)
        clusters.append(
            LocalCluster(
                label=label,
                train_rows=int(train.rows[label].sum()),
                test_rows=int(test.rows[label].sum()),
                train=_values(sides, train, label),
                test=_values(sides, test, label),
                train_gap=_or_none(train_gap[label]),
                test_gap=_or_none(test_gap[label]),
                held_out=one,
            )
        )
    return tuple(clusters)


def _values(sides: _Sides, table: GroupMetrics, label: int) -> tuple[GroupValue, ...]:
    rate = sides.settings.metric != "auc"
    return tuple(
        GroupValue(
            group=name,
            rows=int(table.rows[label, code]),
            counted=int(table.counted[label, code]),
            events=int(table.counts[label, code, 1]) if rate else None,
            value=_or_none(table.value[label, code]),
        )
        for code, name in enumerate(sides.groups)
    )


def _held_out(sides: _Sides, train: GroupMetrics, test: GroupMetrics, test_labels: Integers, label: int) -> HeldOutGap:
    """Test, on test rows, the two groups that are furthest apart among the train rows of a cluster."""
    settings = sides.settings
    counts = np.flatnonzero(train.counted[label] >= settings.min_group_size)
    if len(counts) < 2:
        return HeldOutGap(
            "not_testable",
            f"fewer than two groups with {settings.min_group_size} train rows that the metric can be computed from",
        )
    values = train.value[label, counts]
    higher, lower = int(counts[values.argmax()]), int(counts[::-1][values[::-1].argmin()])
    result = HeldOutGap(
        "tested",
        None,
        higher=sides.groups[higher],
        lower=sides.groups[lower],
        counted_higher=int(test.counted[label, higher]),
        counted_lower=int(test.counted[label, lower]),
    )
    if min(result.counted_higher, result.counted_lower) < settings.min_test_rows:
        return replace(
            result,
            status="not_testable",
            reason=f"{result.counted_higher} test rows against {result.counted_lower}: each group needs at least "
            f"{settings.min_test_rows}",
        )
    if settings.metric == "auc":
        return _compare_areas(sides, result, test_labels == label, higher, lower)
    events = test.counts[label, :, 1]
    comparison = compare_counts(
        int(events[higher]),
        result.counted_higher,
        int(events[lower]),
        result.counted_lower,
        alpha=settings.alpha,
        min_rows=settings.min_test_rows,
    )
    return replace(
        result,
        test=comparison.test,
        gap=comparison.difference,
        low=comparison.low,
        high=comparison.high,
        p_value=comparison.p_value,
        minimum_detectable_gap=comparison.minimum_detectable_difference,
    )


def _compare_areas(sides: _Sides, result: HeldOutGap, inside: NDArray[np.bool_], higher: int, lower: int) -> HeldOutGap:
    """Difference of two areas under the curve by DeLong's intervals of each, which are independent."""
    alpha = sides.settings.alpha
    outcome, group = sides.test.outcome, sides.test_group
    assert outcome.score is not None
    areas = []
    for code in (higher, lower):
        rows = inside & (group == code)
        score, label = outcome.score[rows], outcome.value[rows]
        area = area_under_curve(score[label == 1], score[label == 0], alpha=alpha)
        areas.append(np.array([area.auc, area.low, area.high], dtype=np.float64))  # both labels occur: no None
    (a, low_a, high_a), (b, low_b, high_b) = (one.tolist() for one in areas)
    gap = a - b
    # The square-and-add interval of two independent estimates (Zou & Donner 2008), and the errors that the
    # intervals' lengths stand for.
    low = gap - float(np.hypot(a - low_a, high_b - b))
    high = gap + float(np.hypot(high_a - a, b - low_b))
    error = float(np.hypot(high_a - low_a, high_b - low_b)) / (2.0 * float(special.ndtri(1.0 - 0.5 * alpha)))
    p_value = float(2.0 * special.ndtr(-abs(gap) / error))
    return replace(result, test="DeLong", gap=gap, low=max(low, -1.0), high=min(high, 1.0), p_value=p_value)


def _described(
    sides: _Sides,
    clusters: tuple[LocalCluster, ...],
    train_labels: Integers,
    test_labels: Integers,
    train_X: NDArray[Any],
) -> tuple[LocalCluster, ...]:
    """Say what each cluster is about, by what the rows are made of."""
    k = len(clusters)
    words: Sequence[Any] = [()] * k
    nearest: Sequence[Any] = [()] * k
    features: Sequence[Any] = [()] * k
    if sides.train.texts is not None:
        names = [word for name in sides.groups for word in name.lower().split()]
        found = top_words(sides.train.texts, train_labels, exclude=names)
        words = [*found, *words[len(found) :]]
    if isinstance(sides.test.X, pd.DataFrame):
        features = feature_differences(sides.test.X, test_labels, k, alpha=sides.settings.alpha)
    else:
        nearest = [tuple(int(sides.train.positions[i]) for i in rows) for rows in nearest_rows(train_X, train_labels)]
    return tuple(
        replace(one, about=ClusterTopic(tuple(words[i]), tuple(nearest[i]), tuple(features[i])))
        for i, one in enumerate(clusters)
    )


def _summary_of(
    table: GroupMetrics,
    labels: Integers,
    group: NDArray[Any],
    outcome: Outcome,
    smallest: int,
    settings: LocalBiasSettings,
) -> GapSummary:
    rows = table.rows.sum(axis=1)
    if settings.metric != "auc":
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
    for j in np.flatnonzero(~np.isnan(observed)):
        inside = labels == j
        values = _permuted_areas(outcome[inside], group[inside], table.rows.shape[1], settings.permutations, rng)
        drawn[:, j] = gaps(values, table.counted[j], smallest)
    return _summary(observed, rows, settings.threshold, drawn)


def _permuted_areas(
    outcome: Outcome, group: NDArray[Any], groups: int, permutations: int, rng: np.random.Generator
) -> Floats:
    """Areas under the curve of each group when groups are permuted among rows with the same label: (draws, G)."""
    assert outcome.score is not None
    order = np.lexsort((group, outcome.value, outcome.score))
    score, label, group = outcome.score[order], outcome.value[order], group[order]
    starts = np.flatnonzero(np.concatenate([[True], score[1:] != score[:-1], [True]]))
    pools = [np.flatnonzero(label == value) for value in (0, 1)]
    sizes = [np.bincount(group[pool], minlength=groups) for pool in pools]
    pairs = 2.0 * sizes[0] * sizes[1]
    areas = np.empty((permutations, groups))
    for draw in range(permutations):
        for pool in pools:
            group[pool] = rng.permutation(group[pool])
        wins = np.zeros(groups, np.int64)
        kernels.wins_by_group(label, group, starts, wins)
        with np.errstate(divide="ignore", invalid="ignore"):
            areas[draw] = wins / pairs
    return areas


def _summary(observed: Floats, rows: Integers, threshold: float, drawn: Floats | None) -> GapSummary:
    bcr, bir, mean_gap, largest = (float(one) for one in _figures(observed, rows, threshold))
    considered = int((~np.isnan(observed)).sum())
    summary = GapSummary(
        clusters=considered,
        biased=int((observed >= threshold - EQUAL).sum()),
        bcr=_or_none(bcr),
        bir=_or_none(bir),
        mean_gap=_or_none(mean_gap),
        largest_gap=_or_none(largest),
    )
    if drawn is None or not len(drawn) or not considered:
        return summary
    return replace(summary, within_clusters=_null(summary, _figures(drawn, rows, threshold)))


def _figures(gap: Floats, rows: Integers, threshold: float) -> tuple[Floats, Floats, Floats, Floats]:
    """BCR, BIR, mean gap of biased clusters and largest gap; gaps and rows have shape (k,) or (draws, k)."""
    known = ~np.isnan(gap)
    biased = known & (np.nan_to_num(gap, nan=-1.0) >= threshold - EQUAL)
    with np.errstate(divide="ignore", invalid="ignore"):
        bcr = biased.sum(axis=-1) / known.sum(axis=-1)
        bir = (biased * rows).sum(axis=-1) / (known * rows).sum(axis=-1)
        mean = np.where(biased, gap, 0.0).sum(axis=-1) / biased.sum(axis=-1)
    largest = np.where(known, gap, -np.inf).max(axis=-1)
    return bcr, bir, mean, np.where(np.isinf(largest), np.nan, largest)


def _null(summary: GapSummary, drawn: tuple[Floats, Floats, Floats, Floats]) -> GapNull:
    bcr, bir, mean, largest = drawn
    # A draw without a single cluster large enough shows no bias.
    bcr, bir, largest = (np.nan_to_num(one, nan=0.0) for one in (bcr, bir, largest))

    def p_value(values: Floats, observed: float | None) -> float:
        assert observed is not None
        return float((1 + (values >= observed - EQUAL).sum()) / (1 + len(values)))

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


def _whole_search(sides: _Sides, train_X: NDArray[Any], model: LOGAN) -> Callable[[GapSummary], GapNull | None]:
    """Permute groups within the clusters of k-means and search again, from the same starts."""
    settings, outcome = sides.settings, sides.train.outcome
    search = Search.prepare(np.asarray(train_X), sides.train_group.astype(np.int32), len(sides.groups), outcome, model)
    starts, _ = search.kmeans(settings.random_state, "k-means++")
    here = outcome[search.order]
    # Rows whose groups may be exchanged: of one cluster, and alike in what the metric conditions on.
    stratum = 3 * model.kmeans_.labels[search.order]
    if settings.metric == "auc":
        stratum = stratum + here.value
    elif settings.metric in ("tpr", "fpr"):
        stratum = stratum + (here.value >= 0)
    pools = [np.flatnonzero(stratum == one) for one in np.unique(stratum)]
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
        figures.append([float(one) for one in _figures(gap, table.rows.sum(axis=1), settings.threshold)])
    bcr, bir, mean, largest = np.array(figures).T
    return lambda summary: None if summary.bcr is None else _null(summary, (bcr, bir, mean, largest))


def _notes(
    model: LOGAN, logan: LocalClustering, groups: tuple[str, ...], codes: NDArray[Any], settings: LocalBiasSettings
) -> tuple[str, ...]:
    notes = list(model.notes_)
    few = [
        f'"{name}" ({rows:,})'
        for name, rows in zip(groups, np.bincount(codes, minlength=len(groups)), strict=True)
        if rows < settings.min_group_size
    ]
    if few:
        notes.append(
            f"Groups with fewer than {settings.min_group_size} train rows count in no cluster: {', '.join(few)}."
        )
    if not logan.train.clusters:
        notes.append(
            f"No cluster has two groups with {settings.min_group_size} train rows that the metric can be computed "
            "from: nothing can be said about local bias. Lower min_group_size or n_clusters, or bring more rows."
        )
    return tuple(notes)


def _check(settings: LocalBiasSettings) -> None:
    for name, low, high in (("threshold", 0.0, 1.0), ("alpha", 0.0, 1.0)):
        value = getattr(settings, name)
        if not low < value < high:
            raise SpecError(f"{name} must lie between {low:g} and {high:g}, both excluded; found {value!r}.")
    for name, least in (("min_test_rows", 1), ("permutations", 0), ("refits", 0)):
        value = getattr(settings, name)
        if value != int(value) or value < least:
            raise SpecError(f"{name} must be a whole number from {least} up, not {value!r}.")


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
