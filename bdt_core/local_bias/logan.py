"""LOGAN, the estimator: clusters of similar rows inside which groups are treated differently."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import NotFittedError

from bdt_core import words
from bdt_core.errors import SpecError
from bdt_core.local_bias.inputs import checked_matrix, group_codes, outcome_of
from bdt_core.local_bias.metrics import Integers, Metric, gaps, metric_by_group
from bdt_core.local_bias.partition import Partition
from bdt_core.local_bias.search import ClusterSearch
from bdt_core.said import say

__all__ = ["LOGAN", "Metric", "Partition"]


class LOGAN(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Local group bias detection by clustering.

    Finds clusters of similar rows inside which a metric of an algorithm (its accuracy, say) differs between
    groups: k-means whose objective also rewards the gap between groups in every cluster.

    It searches, and proves nothing: the gaps of its clusters are large because they were looked for, in pure noise
    too. `bdt_core.local_bias.find_local_bias`, and the section ``local_bias`` of an audit, test them on rows that the
    search has not seen. And it is not a step for a pipeline: `fit` needs the group of each row beside whether its
    prediction was right, so that ``fit(X, y)`` alone is refused. What scikit-learn asks of estimators otherwise
    holds.

    Parameters
    ----------
    n_clusters : int
        Number k of clusters before small ones are merged.
    weight : float
        How much gaps count against distances. The objective is (sum of squared distances from the cluster's
        centre) / (the same with one cluster for all) - weight x (mean over the k clusters of the squared gap), so
        that neither the units of X nor the number of rows matter. 0 is k-means. Where rows lie in clear clouds the
        distances within them are small beside the gaps: from 0.01 on clusters are made of outcomes, gaps go to 1 in
        pure noise, and fewer true ones are found again on other rows than by k-means. The default is from the study
        of `python -m benchmarks logan`.
    metric : {"accuracy", "tpr", "fpr", "auc"}
        What is compared between groups: share of correct predictions, true or false positive rate, or area under
        the ROC curve.
    min_group_size : int
        A group counts for a cluster's gap when its metric rests on at least so many rows of the cluster: all its
        rows for the accuracy, its positives for "tpr", its negatives for "fpr", the scarcer of both for "auc". A
        cluster with fewer than two such groups is merged into the one whose centre is nearest.
    min_clusters : int
        Merging stops when so many clusters are left.
    max_off_centre : float
        The search stops, and its last pass is undone, where more than this share of the rows would lie in another
        cluster than that of their nearest centre: such clusters follow outcomes, and other rows cannot follow them.
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
        Cluster of each training row. With weight > 0 a few rows may not be in the cluster of their nearest centre.
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
    bdt_core.local_bias.gaps.find_local_bias : tests on other rows what was found.

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
        weight: float = 0.003,
        metric: Metric = "accuracy",
        min_group_size: int = 20,
        min_clusters: int = 5,
        max_off_centre: float = 0.02,
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
        self.max_off_centre = max_off_centre
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
        X : DataFrame, Arrow table or dict of columns, or 2-d array of shape (n, p)
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
        matrix, names = checked_matrix(X)
        outcome = outcome_of(self.metric, len(matrix), correct=correct, y_true=y_true, y_pred=y_pred, y_score=y_score)
        self.groups_, codes = group_codes(group, len(matrix))
        search = ClusterSearch.prepare(matrix, codes, len(self.groups_), outcome, self)
        plain, notes = search.kmeans(seed, self.init)
        solutions = search.with_gaps(plain) if self.weight > 0.0 else plain
        best = min(solutions, key=lambda one: one.objective)
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
        if best.undone:
            notes = (*notes, say(_UNDONE, share=words.percent(self.max_off_centre), N=words.number(self.weight)))
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
        """Find the clusters and return that of each training row.

        Parameters
        ----------
        X, **fit_params
            As in `fit`.
        y : array of shape (n,), optional
            `correct` of `fit`.

        Returns
        -------
        int64 ndarray of shape (n,)

        Examples
        --------
        >>> X = np.repeat([[0.0], [9.0]], 100, axis=0)
        >>> group = np.tile(["a", "b"], 100)
        >>> found = LOGAN(n_clusters=2).fit_predict(X, np.ones(200), group=group)
        >>> bool(found[0] == found[99] != found[199])
        True
        """
        return self.fit(X, y, **fit_params).labels_

    def predict(self, X: Any) -> Integers:
        """Cluster of the nearest centre for each row; outcomes and groups of further rows play no part.

        Parameters
        ----------
        X : DataFrame, Arrow table or dict of columns, or 2-d array of shape (m, p)
            Columns in the order of the training rows.

        Returns
        -------
        int64 ndarray of shape (m,)

        Raises
        ------
        NotFittedError
            `fit` comes first.
        """
        if not hasattr(self, "partition_"):
            raise NotFittedError("This LOGAN instance is not fitted yet. Call fit before predict.")
        return self.partition_.predict(X)


_UNDONE = (
    "The search for gaps stopped where more than {share} of the train rows would not lie in the cluster of their "
    "nearest centre: with a weight of {N} clusters of these rows follow outcomes rather than places. A smaller weight "
    "goes on."
)


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
    share = model.max_off_centre
    if not isinstance(share, Real) or isinstance(share, bool) or not 0.0 <= float(share) <= 1.0:
        raise SpecError(f"max_off_centre must be a number from 0 to 1, not {share!r}.")
    if isinstance(model.init, str) and model.init != "k-means++":
        raise SpecError(f'init must be "k-means++" or an array of centres, not {model.init!r}.')
    seed = model.random_state
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise SpecError(f"random_state must be a whole number from 0 up or None, not {seed!r}.")
    return int(seed)
