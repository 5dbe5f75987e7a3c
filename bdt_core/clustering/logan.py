"""LOGAN, the estimator: clusters of similar rows inside which groups are treated differently."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import NotFittedError

from bdt_core.clustering import logan_kernels as kernels
from bdt_core.clustering.row_kernels import hash_rows
from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.table.encoding import level_name

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Metric = Literal["accuracy", "tpr", "fpr", "auc"]

SCORE_CLASSES = 1024
"""The search orders scores into at most so many classes; what is reported uses the scores themselves."""

SAMPLE_ROWS = 8192
"""With more than four times as many rows, starts first rest on so many of them."""

FULL_RUNS = 2
"""Starts, the best on the sample, that go on to all rows."""

THREADED_CELLS = 20_000_000
"""Smaller searches (rows x columns x clusters) are not worth a second thread."""

_LARGEST = {"float32": 1e15, "float64": 1e140}


@dataclass(frozen=True)
class Outcome:
    """What the metric is computed from, row by row.

    Attributes
    ----------
    metric : {"accuracy", "tpr", "fpr", "auc"}
    value : int8 ndarray of shape (n,)
        1 counts as an event of the rate, 0 does not, -1 is outside its denominator. For "auc": the label.
    score : float64 ndarray of shape (n,) or None
        Of "auc" only.
    """

    metric: Metric
    value: npt.NDArray[np.int8]
    score: Floats | None = None

    def __getitem__(self, rows: Any) -> Outcome:
        return Outcome(self.metric, self.value[rows], None if self.score is None else self.score[rows])

    @property
    def ranks(self) -> tuple[npt.NDArray[np.int32], int]:
        """Class of each row's score and number of classes; none for rates."""
        if self.score is None:
            return np.empty(0, np.int32), 0
        scores, position = np.unique(self.score, return_inverse=True)
        classes = min(len(scores), SCORE_CLASSES)
        return (position * classes // len(scores)).astype(np.int32), classes


@dataclass(frozen=True)
class Partition:
    """Clusters of the training rows, and where further rows belong.

    Attributes
    ----------
    labels : int64 ndarray of shape (n,)
        Cluster of each training row, after merging.
    centres : float64 ndarray of shape (k, p)
        Before merging, as distances from `mean`.
    merged_into : int64 ndarray of shape (k,)
        Cluster that each of the k became part of.
    inertia : float
        Sum of squared distances of the training rows from their centre, before merging.
    mean : float64 ndarray of shape (p,), exponent : int64 ndarray of shape (p,), dtype : str
        How numbers are centred and rounded before distances are taken.
    """

    labels: Integers
    centres: Floats
    merged_into: Integers
    inertia: float
    mean: Floats
    exponent: Integers
    dtype: str

    @property
    def n_clusters(self) -> int:
        """Number of clusters after merging."""
        return int(self.merged_into.max()) + 1

    def predict(self, X: Any) -> Integers:
        """Cluster of the nearest centre for each row of a table or 2-d array with the columns of the training rows."""
        matrix = _matrix(X, self.dtype)[0]
        if matrix.shape[1] != len(self.mean):
            raise DataError(
                f"X has {matrix.shape[1]} features, but LOGAN is expecting {len(self.mean)} features as input."
            )
        numeric = np.empty(matrix.shape[::-1], self.dtype)
        for column in range(len(self.mean)):
            values = matrix[:, column].astype(np.float64) - self.mean[column]
            numeric[column] = _on_grid(values, int(self.exponent[column]))
        nearest = np.empty(len(matrix), np.int32)
        kernels.assign_nearest(numeric, self.centres.astype(self.dtype), nearest)
        return self.merged_into[nearest]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able data, without the labels of the training rows."""
        return {
            "centres": self.centres.tolist(),
            "merged_into": self.merged_into.tolist(),
            "inertia": self.inertia,
            "mean": self.mean.tolist(),
            "exponent": self.exponent.tolist(),
            "dtype": self.dtype,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Partition:
        """Read what `to_dict` wrote; it predicts the same to the bit."""
        return cls(
            labels=np.empty(0, np.int64),
            centres=np.array(data["centres"], dtype=np.float64),
            merged_into=np.array(data["merged_into"], dtype=np.int64),
            inertia=float(data["inertia"]),
            mean=np.array(data["mean"], dtype=np.float64),
            exponent=np.array(data["exponent"], dtype=np.int64),
            dtype=str(data["dtype"]),
        )


class LOGAN(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Local group bias detection by clustering.

    Finds clusters of similar rows inside which a metric of an algorithm (its accuracy, say) differs between
    groups: k-means whose objective also rewards the gap between groups in every cluster.

    Parameters
    ----------
    n_clusters : int
        Number k of clusters before small ones are merged.
    weight : float
        How much gaps count against distances. The objective is (sum of squared distances from the cluster's
        centre) / (the same with one cluster for all) - weight x (mean over the k clusters of the squared gap), so
        that neither the units of X nor the number of rows matter. 0 is k-means. From about 0.1 on clusters
        are made of outcomes more than of places, and gaps go to 1 whatever the data are.
    metric : {"accuracy", "tpr", "fpr", "auc"}
        What is compared between groups: share of correct predictions, true or false positive rate, or area under
        the ROC curve.
    min_group_size : int
        A group counts for a cluster's gap when its metric rests on at least so many rows of the cluster: all its
        rows for the accuracy, its positives for "tpr", its negatives for "fpr", the scarcer of both for "auc". A
        cluster with fewer than two such groups is merged into the one whose centre is nearest.
    min_clusters : int
        Merging stops when so many clusters are left.
    init : "k-means++" or array of shape (n_clusters, p)
        Where the search starts.
    n_init : int
        Number of starts; the one with the least objective counts. One if `init` is an array.
    max_iter : int
        Most passes over the rows, of k-means and of the search with gaps each.
    tol : float
        Rest when the centres move, together and squared, by no more than this share of the columns' mean variance.
    random_state : int or None
        Seed of the starts. The same seed, settings and rows give the same clusters for any order of the rows (but
        that rows equal in everything may swap) and any number of threads. None draws a new one.

    Attributes
    ----------
    labels_ : int64 ndarray of shape (n,)
        Cluster of each training row. With weight > 0 a row need not be in the cluster of its nearest centre.
    n_clusters_ : int
        After merging.
    gaps_ : float64 ndarray of shape (n_clusters_,)
        Largest minus least metric of the groups that count in each cluster of training rows; NaN when fewer than
        two count. The search made them large: they say nothing about other rows.
    cluster_centers_ : float64 ndarray of shape (k, p)
        Before merging, in the units of X.
    merged_into_ : int64 ndarray of shape (k,)
        The cluster that each of the k became part of.
    inertia_ : float
        Sum of squared distances of rows from their centre, before merging.
    objective_ : float
        inertia_ - lambda_ x (sum of squared gaps), before merging. Never above that of `kmeans_`.
    objective_history_ : float64 ndarray
        Of the best start: when gaps came in, and after each pass; it falls throughout.
    lambda_ : float
        The weight in squared distances, as in the paper: weight x (sum of squares around the mean) / k.
    kmeans_ : Partition
        Plain k-means from the same starts (the one of least inertia), merged by the same rule.
    partition_ : Partition
        LOGAN's own.
    groups_ : tuple of str
        Names in the order of their codes.
    notes_ : tuple of str
        What a person should know, such as "fewer different rows than clusters".
    n_iter_ : int
        Passes of the best start with gaps.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when the training table had named columns.

    See Also
    --------
    bdt_core.clustering.local_bias.find_local_bias : tests on other rows what was found.

    Notes
    -----
    Every start first rests as k-means (Lloyd's passes from k-means++) and goes on with gaps from there. A pass
    offers each row every cluster and moves it to where the whole objective, with the gaps that the two clusters
    would then have, is least; running counts make that O(n k (p + 1)). Centres rest during a pass and become
    means after it. Labels persist from pass to pass and a row only moves when the objective falls, so it falls at
    every pass. A cluster never loses its last row.

    Differs from the implementation published with the paper in what its text says otherwise, or leaves open: the
    bonus for a move is the change of the squared gaps rather than their level, labels are not reset at each
    pass, starts are compared by the whole objective, small clusters go to the *nearest* cluster, and groups below
    `min_group_size` do not count during the search either, only in clusters that are large enough gaps are
    more than the luck of a few rows.

    References
    ----------
    J. Zhao, K.-W. Chang, "LOGAN: Local Group Bias Detection by Clustering", EMNLP 2020.

    D. Arthur, S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (300, 2)), rng.normal(9, 1, (300, 2))])
    >>> group = np.tile(["a", "b"], 300)
    >>> correct = np.ones(600)
    >>> correct[300::4] = 0  # in the second cloud half of group a's predictions are wrong
    >>> model = LOGAN(n_clusters=2).fit(X, correct, group)
    >>> model.gaps_[model.predict([[0, 0], [9, 9]])].tolist()
    [0.0, 0.5]
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        weight: float = 0.05,
        metric: Metric = "accuracy",
        min_group_size: int = 20,
        min_clusters: int = 5,
        init: str | npt.ArrayLike = "k-means++",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | None = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.metric = metric
        self.min_group_size = min_group_size
        self.min_clusters = min_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        correct: Any = None,
        group: Any = None,
        *,
        y_true: Any = None,
        y_pred: Any = None,
        y_score: Any = None,
    ) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : DataFrame or 2-d array of shape (n, p)
            Numbers, all finite. float32 is searched in float32, everything else in float64. Columns are not scaled.
        correct : array of shape (n,), optional
            Whether each prediction was right, for metric "accuracy"; y_true and y_pred will do as well.
        group : array of shape (n,)
            Group of each row; at least two different ones.
        y_true, y_pred : arrays of shape (n,), optional
            Label and prediction, 1 being positive; "tpr" and "fpr" need both.
        y_score : array of shape (n,), optional
            A number that is higher for rows more likely positive; "auc" needs it and y_true.

        Returns
        -------
        LOGAN
            Itself.

        Raises
        ------
        DataError
            Arrays of different lengths, values missing or not finite, one group only.
        SpecError
            A setting out of range.
        """
        seed = _checked_seed(self)
        matrix, names = _matrix(X)
        outcome = outcome_of(self.metric, len(matrix), correct=correct, y_true=y_true, y_pred=y_pred, y_score=y_score)
        self.groups_, codes = group_codes(group, len(matrix))
        search = Search.prepare(matrix, codes, len(self.groups_), outcome, self)
        plain, notes = search.kmeans(seed, self.init)
        found = search.with_gaps(plain) if self.weight > 0.0 else plain
        best = min(found, key=lambda one: one.objective)
        best_plain = min(plain, key=lambda one: one.inertia)
        self.partition_ = search.partition(best)
        self.kmeans_ = search.partition(best_plain)
        self.labels_ = self.partition_.labels
        self.n_clusters_ = self.partition_.n_clusters
        self.merged_into_ = self.partition_.merged_into
        self.cluster_centers_ = self.partition_.centres + search.mean
        self.inertia_ = best.inertia
        self.objective_ = best.objective
        self.objective_history_ = best.history
        self.lambda_ = search.lambda_
        self.n_iter_ = len(best.history) - 1
        self.notes_ = notes
        values = metric_by_group(self.labels_, self.n_clusters_, codes, len(self.groups_), outcome)
        self.gaps_ = gaps(values.value, values.counted, self.min_group_size)
        self.n_features_in_ = matrix.shape[1]
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Integers:
        """Find the clusters and return that of each training row; parameters are those of `fit`, y is correct."""
        return self.fit(X, y, **fit_params).labels_

    def predict(self, X: Any) -> Integers:
        """Cluster of the nearest centre for each row; outcomes and groups of further rows play no part.

        Parameters
        ----------
        X : DataFrame or 2-d array of shape (m, p)
            Columns in the order of the training rows.

        Returns
        -------
        int64 ndarray of shape (m,)
        """
        if not hasattr(self, "partition_"):
            raise NotFittedError("This LOGAN instance is not fitted yet. Call fit before predict.")
        return self.partition_.predict(X)


@dataclass(frozen=True)
class Solution:
    """Where a start came to rest; labels in the order of the search."""

    labels: npt.NDArray[np.int32]
    centres: npt.NDArray[np.floating[Any]]
    inertia: float
    objective: float
    history: Floats


@dataclass(frozen=True)
class Search:
    """Rows in an order of their content, ready to be clustered.

    Attributes
    ----------
    rows : kernels.Rows
    order : int64 ndarray of shape (n,)
        Position among the rows given of each row here.
    mean, exponent : ndarrays of shape (p,)
        See `Partition`.
    total : float
        Sum of squares around the mean.
    groups, classes : int
        Number of groups, and of score classes (0 for rates).
    settings : LOGAN
    """

    rows: kernels.Rows
    order: Integers
    mean: Floats
    exponent: Integers
    total: float
    groups: int
    classes: int
    settings: LOGAN

    @classmethod
    def prepare(
        cls,
        matrix: npt.NDArray[np.floating[Any]],
        group: npt.NDArray[np.int32],
        groups: int,
        outcome: Outcome,
        settings: LOGAN,
    ) -> Search:
        """Centre the numbers, put them on a grid, and bring rows into an order that depends on their content only."""
        numeric = np.ascontiguousarray(matrix.T) + matrix.dtype.type(0)  # a copy, without -0
        rank, classes = outcome.ranks
        hashes = np.empty(len(matrix), np.uint64)
        bits = numeric.view(np.uint32 if numeric.dtype == np.float32 else np.uint64)
        hash_rows(bits, np.empty((0, len(matrix)), np.uint8), 0, len(matrix), hashes)
        keys = (rank,) if classes else ()
        order = np.lexsort((*keys, outcome.value, group, hashes))
        mean, exponent = np.empty(len(numeric)), np.empty(len(numeric), np.int64)
        total = 0.0
        for column, values in enumerate(numeric):
            ordered = values[order].astype(np.float64)
            mean[column] = ordered.mean()
            ordered -= mean[column]
            # n numbers of standard deviation s add up to at most n s in absolute values: with steps of n s 2**-50
            # any sum of them is exact in float64.
            spread = float(np.square(ordered).mean()) ** 0.5
            if spread <= 1e-12 * abs(mean[column]):
                spread = 0.0  # constant but for the rounding of the mean
            exponent[column] = math.frexp(spread)[1] + math.frexp(len(order))[1] - 50 if spread else 2000
            values[:] = _on_grid(ordered, int(exponent[column]))
            total += float(np.square(values.astype(np.float64)).sum())
        rows = kernels.Rows(numeric, group[order], outcome.value[order], rank[order] if classes else rank)
        return cls(rows, order, mean, exponent, total, groups, classes, settings)

    @property
    def lambda_(self) -> float:
        """Weight of the squared gaps in squared distances."""
        return float(self.settings.weight) * self.total / int(self.settings.n_clusters)

    def kmeans(self, seed: int, init: str | npt.ArrayLike) -> tuple[list[Solution], tuple[str, ...]]:
        """Let every start rest as k-means.

        Returns
        -------
        list of Solution
            Of the starts that went on to all rows.
        tuple of str
            Notes.
        """
        wanted = int(self.settings.n_clusters)
        numeric = self.rows.numeric
        if not isinstance(init, str):
            return [self._rest(self._given(init), 0.0)], ()
        sample = numeric
        if numeric.shape[1] > 4 * SAMPLE_ROWS:
            sample = np.ascontiguousarray(numeric[:, :SAMPLE_ROWS])
        seeds = np.random.SeedSequence(seed).spawn(int(self.settings.n_init))

        def start(one: np.random.SeedSequence) -> npt.NDArray[np.floating[Any]]:
            generator = np.random.Generator(np.random.PCG64(one))
            return kmeans_plus_plus(sample, wanted, generator)

        with _threads(sample.size * wanted) as mapped:
            starts = list(mapped(start, seeds))
        if sample is not numeric:
            part = self._first(SAMPLE_ROWS)
            with _threads(sample.size * wanted) as mapped:
                rested = list(mapped(lambda one: part._rest(one, 0.0), starts))
            # Copies of few rows can fill a sample: more clusters before less inertia.
            rested.sort(key=lambda one: (-len(one.centres), one.inertia))
            starts = [one.centres for one in rested[:FULL_RUNS]]
            if len(starts[0]) < wanted:
                starts = [
                    kmeans_plus_plus(numeric, wanted, np.random.Generator(np.random.PCG64(one)))
                    for one in seeds[:FULL_RUNS]
                ]
        most = max(map(len, starts))
        with _threads(numeric.size * wanted) as mapped:
            found = list(mapped(lambda one: self._rest(one, 0.0), [one for one in starts if len(one) == most]))
        notes: tuple[str, ...] = ()
        if most < wanted:
            notes = (
                f"X has only {most:,} different row{'s'[: most != 1]}: {most:,} cluster{'s'[: most != 1]} instead of "
                f"the {wanted:,} asked for.",
            )
        return found, notes

    def with_gaps(self, solutions: Sequence[Solution], group: npt.NDArray[np.int32] | None = None) -> list[Solution]:
        """Go on from k-means solutions with gaps in the objective; `group` replaces the groups, in this order."""
        search = self if group is None else self.with_groups(group)
        rest = partial(_continued, search)
        with _threads(self.rows.numeric.size * int(self.settings.n_clusters)) as mapped:
            return list(mapped(rest, solutions))

    def partition(self, solution: Solution) -> Partition:
        """Merge small clusters, and give rows their labels in the order they came in."""
        tally = self._tally(solution.labels, len(solution.centres))
        merged_into = merge_small(
            solution.centres.astype(np.float64),
            np.asarray(tally.rows),
            _counted(np.asarray(tally.counts), self.classes > 0),
            int(self.settings.min_group_size),
            int(self.settings.min_clusters),
        )
        labels = np.empty(len(self.order), np.int64)
        labels[self.order] = merged_into[solution.labels]
        return Partition(
            labels=labels,
            centres=solution.centres.astype(np.float64),
            merged_into=merged_into,
            inertia=solution.inertia,
            mean=self.mean,
            exponent=self.exponent,
            dtype=str(self.rows.numeric.dtype),
        )

    def _rest(
        self,
        start: npt.NDArray[np.floating[Any]],
        weight: float,
        labels: npt.NDArray[np.int32] | None = None,
    ) -> Solution:
        numeric = self.rows.numeric
        centres = np.ascontiguousarray(start).copy()
        if labels is None:
            labels = np.empty(numeric.shape[1], np.int32)
            kernels.assign_nearest(numeric, centres, labels)
        else:
            labels = labels.copy()
        smallest, passes = max(int(self.settings.min_group_size), 1), int(self.settings.max_iter)
        tally = self._tally(labels, len(centres))
        history = np.empty(passes + 1)
        variance = self.total / max(numeric.size, 1)
        entries = kernels.search(
            self.rows, labels, centres, self.total, weight, smallest, float(self.settings.tol) * variance, passes,
            tally, history,
        )  # fmt: skip
        history = history[:entries]
        objective = float(history[-1])
        inertia = objective + weight * float(np.asarray(tally.squared_gap).sum())
        if inertia < 1e-12 * self.total:  # nothing but rounding
            inertia = 0.0
        return Solution(labels, centres, inertia, objective, history)

    def _tally(self, labels: npt.NDArray[np.int32], k: int) -> kernels.Tally:
        columns, groups = len(self.rows.numeric), self.groups
        tally = kernels.Tally(
            rows=np.zeros(k, np.int64),
            sums=np.zeros((columns, k)),
            counts=np.zeros((k, groups, 2), np.int64),
            wins=np.zeros((k, groups), np.int64),
            below=np.zeros((k, groups, 2, self.classes + 1), np.int64),
            lowest=np.zeros((k, groups)),
            highest=np.zeros((k, groups)),
            squared_gap=np.zeros(k),
            change=np.zeros((k, groups, 2, 2)),
        )
        kernels.count_all(self.rows, labels, max(int(self.settings.min_group_size), 1), tally)
        return tally

    def with_groups(self, group: npt.NDArray[np.int32]) -> Search:
        rows = self.rows._replace(group=group)
        return Search(rows, self.order, self.mean, self.exponent, self.total, self.groups, self.classes, self.settings)

    def _first(self, size: int) -> Search:
        """The first rows of the order: a random sample, for it is an order by hash."""
        numeric = np.ascontiguousarray(self.rows.numeric[:, :size])
        rank = self.rows.rank[:size]
        rows = kernels.Rows(numeric, self.rows.group[:size], self.rows.value[:size], rank)
        total = float(np.square(numeric.astype(np.float64)).sum())
        return Search(rows, self.order, self.mean, self.exponent, total, self.groups, self.classes, self.settings)

    def _given(self, init: npt.ArrayLike) -> npt.NDArray[np.floating[Any]]:
        wanted = (int(self.settings.n_clusters), len(self.mean))
        centres = np.asarray(init, dtype=np.float64)
        if centres.shape != wanted or not np.isfinite(centres).all():
            raise SpecError(
                f"init must hold finite numbers in the shape (n_clusters, columns of X) = {wanted}, "
                f"found the shape {centres.shape}."
            )
        return (centres - self.mean).astype(self.rows.numeric.dtype)


def _continued(search: Search, solution: Solution) -> Solution:
    return search._rest(solution.centres, search.lambda_, solution.labels)


def kmeans_plus_plus(
    numeric: npt.NDArray[np.floating[Any]], k: int, generator: np.random.Generator
) -> npt.NDArray[np.floating[Any]]:
    """Rows far apart to start k-means from.

    Each further row is drawn with a probability in proportion to its squared distance from the nearest row drawn so
    far; of 2 + ln k candidates the one that lowers the sum of these distances most is taken (the greedy variant of
    Arthur and Vassilvitskii, section 6).

    Parameters
    ----------
    numeric : array of shape (p, n)
    k : int
    generator : numpy Generator

    Returns
    -------
    ndarray of shape (at most k, p)
        Fewer than k when there are fewer different rows.
    """
    candidates = 2 + int(math.log(k))
    chosen = [int(generator.integers(numeric.shape[1]))]
    nearest = _distances(numeric, np.array(chosen))[0]
    while len(chosen) < k:
        total = np.cumsum(nearest)
        if total[-1] <= 0.0:
            break
        drawn = np.searchsorted(total, generator.random(candidates) * total[-1], side="right")
        drawn = np.minimum(drawn, len(total) - 1)
        closer = np.minimum(_distances(numeric, drawn), nearest)
        best = int(closer.sum(axis=1).argmin())
        if closer[best].sum() >= total[-1]:
            # A candidate that rounding drew at distance 0.
            drawn[best] = int(nearest.argmax())
            closer[best] = np.minimum(_distances(numeric, drawn[best : best + 1])[0], nearest)
        chosen.append(int(drawn[best]))
        nearest = closer[best]
    return np.ascontiguousarray(numeric[:, chosen].T)


def _distances(numeric: npt.NDArray[np.floating[Any]], rows: npt.NDArray[Any]) -> Floats:
    distances = np.empty((len(rows), numeric.shape[1]))
    kernels.squared_distances(numeric, np.ascontiguousarray(numeric[:, rows].T), distances)
    return distances


def merge_small(centres: Floats, rows: Integers, counted: Integers, smallest: int, fewest: int) -> Integers:
    """Merge clusters in which fewer than two groups have enough rows.

    The cluster whose second largest group is smallest goes first, into the cluster whose centre (the mean of what
    it holds by then) is nearest, until all are large enough or only `fewest` are left.

    Parameters
    ----------
    centres : float64 ndarray of shape (k, p)
    rows : int64 ndarray of shape (k,)
    counted : int64 ndarray of shape (k, G)
        Rows that each group's metric rests on.
    smallest, fewest : int

    Returns
    -------
    int64 ndarray of shape (k,)
        The number, from 0 up without gaps, of the cluster that each became part of.
    """
    centres, rows, counted = centres.copy(), rows.copy(), counted.copy()
    into = np.arange(len(rows))
    left = np.ones(len(rows), dtype=bool)
    while left.sum() > max(fewest, 1):
        support = np.sort(counted, axis=1)[:, -2] if counted.shape[1] > 1 else np.zeros(len(rows), np.int64)
        small = np.flatnonzero(left & (support < smallest))
        if not len(small):
            break
        one = small[np.lexsort((small, rows[small], support[small]))[0]]
        apart = np.square(centres - centres[one]).sum(axis=1)
        apart[~left] = np.inf
        apart[one] = np.inf
        other = int(apart.argmin())
        together = rows[one] + rows[other]
        if together:
            centres[other] = (rows[one] * centres[one] + rows[other] * centres[other]) / together
        rows[other] = together
        counted[other] += counted[one]
        left[one] = False
        into[into == one] = other
    numbers: Integers = np.searchsorted(np.flatnonzero(left), into).astype(np.int64)
    return numbers


@dataclass(frozen=True)
class GroupMetrics:
    """The metric of each group in each cluster.

    Attributes
    ----------
    rows : int64 ndarray of shape (k, G)
    counts : int64 ndarray of shape (k, G, 2)
        Rows with value 0 and 1.
    counted : int64 ndarray of shape (k, G)
        Rows that the metric rests on: the rate's denominator; the scarcer label for the area under the curve.
    value : float64 ndarray of shape (k, G)
        In [0, 1]; NaN when undefined.
    """

    rows: Integers
    counts: Integers
    counted: Integers
    value: Floats


def metric_by_group(
    labels: npt.NDArray[Any], k: int, group: npt.NDArray[Any], groups: int, outcome: Outcome
) -> GroupMetrics:
    """Compute the metric of every group in every cluster.

    Parameters
    ----------
    labels, group : integer ndarrays of shape (n,)
        Below k and below groups.
    k, groups : int
    outcome : Outcome

    Returns
    -------
    GroupMetrics
    """
    cell = labels.astype(np.int64) * groups + group
    rows = np.bincount(cell, minlength=k * groups).reshape(k, groups)
    known = outcome.value >= 0
    counts = np.bincount(2 * cell[known] + outcome.value[known], minlength=2 * k * groups).reshape(k, groups, 2)
    counted = _counted(counts, outcome.score is not None)
    with np.errstate(divide="ignore", invalid="ignore"):
        if outcome.score is None:
            value = counts[:, :, 1] / counted
        else:
            wins = np.zeros(k * groups, np.int64)
            by_score = np.argsort(outcome.score, kind="stable")
            ordered = outcome.score[by_score]
            starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1], [True]]))
            kernels.wins_by_group(outcome.value[by_score], cell[by_score], starts, wins)
            value = wins.reshape(k, groups) / (2.0 * counts[:, :, 0] * counts[:, :, 1])
    return GroupMetrics(rows, counts, counted, np.asarray(value, dtype=np.float64))


def _counted(counts: Integers, ranked: bool) -> Integers:
    counted: Integers = counts.min(axis=2) if ranked else counts.sum(axis=2)
    return counted


def gaps(value: Floats, counted: Integers, smallest: int) -> Floats:
    """Largest minus least metric of the groups that count in each cluster.

    Parameters
    ----------
    value, counted : ndarrays of shape (k, G) or (..., k, G)
        See `GroupMetrics`.
    smallest : int
        A group counts when its metric rests on at least so many rows.

    Returns
    -------
    float64 ndarray of shape (k,) or (..., k)
        In [0, 1]; NaN where fewer than two groups count.

    Examples
    --------
    >>> gaps(np.array([[0.5, 0.75], [1.0, 0.0]]), np.array([[40, 20], [40, 19]]), 20)
    array([0.25,  nan])
    """
    counts = (counted >= max(smallest, 1)) & ~np.isnan(value)
    high = np.where(counts, value, -np.inf).max(axis=-1)
    low = np.where(counts, value, np.inf).min(axis=-1)
    with np.errstate(invalid="ignore"):
        gap: Floats = np.where(counts.sum(axis=-1) >= 2, high - low, np.nan)
    return gap


def outcome_of(
    metric: str, rows: int, *, correct: Any = None, y_true: Any = None, y_pred: Any = None, y_score: Any = None
) -> Outcome:
    """Turn labels and predictions into what a metric counts; parameters are those of `LOGAN.fit`.

    Raises
    ------
    SpecError
        An unknown metric.
    DataError
        An array that the metric needs is not given, has another length or holds something else than 0 and 1.

    Examples
    --------
    >>> outcome_of("tpr", 4, y_true=[1, 1, 0, 0], y_pred=[1, 0, 1, 0]).value.tolist()
    [1, 0, -1, -1]
    """
    if metric not in get_args(Metric):
        raise SpecError(f"There is no metric {metric!r} of local bias. {did_you_mean(str(metric), get_args(Metric))}")
    if metric == "accuracy" and correct is not None:
        return Outcome("accuracy", _binary(correct, "correct", rows))
    label = _binary(y_true, "y_true", rows, needed_by=metric)
    if metric == "auc":
        return Outcome("auc", label, _scores(y_score, rows))
    prediction = _binary(y_pred, "y_pred", rows, needed_by=metric)
    if metric == "accuracy":
        return Outcome("accuracy", (label == prediction).astype(np.int8))
    counted = label == (1 if metric == "tpr" else 0)
    return Outcome("tpr" if metric == "tpr" else "fpr", np.where(counted, prediction, -1).astype(np.int8))


def group_codes(group: Any, rows: int) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Names of the groups, sorted, and the position of each row's group among them.

    Raises
    ------
    DataError
        A group is missing, there is only one, or there is not one per row.
    """
    if group is None:
        raise DataError("group is not given: LOGAN compares groups and needs the group of each row.")
    values = np.asarray(group.to_numpy() if hasattr(group, "to_numpy") else group, dtype=object)
    _one_per_row(values, "group", rows)
    missing = sum(one is None or one != one for one in values)
    if missing:
        raise DataError(f"group is missing in {missing:,} rows. Leave these rows out, or give them a group.")
    names, codes = np.unique(np.array([level_name(one) for one in values], dtype=str), return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f'All {rows:,} rows are of one group ("{names[0]}"): a gap needs at least two. '
            "Name another column, or bring rows of other groups."
        )
    return tuple(names.tolist()), codes.astype(np.int32)


def _binary(values: Any, name: str, rows: int, needed_by: str | None = None) -> npt.NDArray[np.int8]:
    if values is None:
        raise DataError(
            f'{name} is not given: metric "{needed_by}" needs it, one 0 or 1 per row.'
            if needed_by != "accuracy"
            else 'Metric "accuracy" needs correct, or y_true and y_pred: one 0 or 1 per row.'
        )
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    _one_per_row(array, name, rows)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.full(rows, np.nan)
    strange = int(np.count_nonzero((numbers != 0.0) & (numbers != 1.0)))
    if strange:
        raise DataError(
            f"{name} must be 0 or 1 (or False and True); {strange:,} of {rows:,} rows hold something else or nothing. "
            "Say which values are positive, and leave out rows without a value."
        )
    return numbers.astype(np.int8)


def _scores(values: Any, rows: int) -> Floats:
    if values is None:
        raise DataError('y_score is not given: metric "auc" needs it, one number per row.')
    try:
        scores = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("y_score must hold numbers, one per row, none missing.") from None
    _one_per_row(scores, "y_score", rows)
    bad = int(np.count_nonzero(~np.isfinite(scores)))
    if bad:
        raise DataError(f"y_score is missing or infinite in {bad:,} of {rows:,} rows. Leave these rows out.")
    return scores


def _one_per_row(values: npt.NDArray[Any], name: str, rows: int) -> None:
    if values.ndim != 1 or len(values) != rows:
        raise DataError(f"X has {rows:,} rows and {name} has the shape {values.shape}: one value per row is needed.")


def _matrix(X: Any, dtype: str | None = None) -> tuple[npt.NDArray[np.floating[Any]], tuple[str, ...] | None]:
    """X in float32 or float64, and the names of its columns."""
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    array = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"X must be a table with rows and columns (2-d array), found the shape {array.shape}.")
    if dtype is None:
        dtype = "float32" if array.dtype == np.float32 else "float64"
    try:
        matrix = array.astype(dtype, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            "X must hold numbers only. Turn categories into columns of 0 and 1 first, or use find_local_bias, which "
            "encodes tables."
        ) from None
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(matrix) <= _LARGEST[dtype])
    if bad.any():
        columns = np.flatnonzero(bad.any(axis=0))
        shown = ", ".join(f'"{names[i]}"' if names else str(i) for i in columns[:5]) + (
            ", ..." if len(columns) > 5 else ""
        )
        raise DataError(
            f"X has {int(bad.sum()):,} values that are missing, infinite or beyond {_LARGEST[dtype]:g}, in "
            f"{int(bad.any(axis=1).sum()):,} rows and {len(columns):,} columns ({shown}). "
            "Fill or drop them."
        )
    return matrix, names


def _on_grid(values: Floats, exponent: int) -> Floats:
    if exponent >= 2000:  # a constant column
        return np.zeros(len(values))
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent) + 0.0)


def _checked_seed(model: LOGAN) -> int:
    """Check the settings; SpecError names the first wrong one."""
    for name, least in (("n_clusters", 1), ("min_group_size", 1), ("min_clusters", 1), ("n_init", 1), ("max_iter", 1)):
        value = getattr(model, name)
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise SpecError(f"{name} must be a whole number from {least} up, not {value!r}.")
    for name in ("weight", "tol"):
        value = getattr(model, name)
        if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 <= float(value) < math.inf:
            raise SpecError(f"{name} must be a number from 0 up, not {value!r}.")
    if isinstance(model.init, str) and model.init != "k-means++":
        raise SpecError(f'init must be "k-means++" or an array of centres, not {model.init!r}.')
    seed = model.random_state
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise SpecError(f"random_state must be a whole number from 0 up or None, not {seed!r}.")
    return int(seed)


@contextmanager
def _threads(cells: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """``map`` for small searches, a thread pool's for large ones."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if cpus == 1 or cells < THREADED_CELLS:
        yield map
        return
    with ThreadPoolExecutor(cpus) as pool:
        yield pool.map
