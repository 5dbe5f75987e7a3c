"""HBAC, the estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from bdt_core.clustering.checks import bias_variable, checked_settings, settled_method, weights_as_counts
from bdt_core.clustering.grow import grow
from bdt_core.clustering.outcome import whole_numbers
from bdt_core.clustering.reference import ReferenceSplitter
from bdt_core.clustering.rows import AllRows, BlockRows, RowsInMemory, content_hashes, row_numbers, varying_columns
from bdt_core.clustering.split import Layout
from bdt_core.clustering.splitter import CompiledSplitter
from bdt_core.clustering.tree import ClusterTree, finish, leaves_of
from bdt_core.errors import DataError, SpecError
from bdt_core.metrics import harm_sign
from bdt_core.on_demand import lent
from bdt_core.table.encoding import Encoded, Encoder, Kind, as_frame, column_kind
from bdt_core.table.frames import is_table
from bdt_core.table.pool import threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT = "bdt.hbac/1"

THREADED_CELLS = 4_000_000
"""Smaller tables are not worth a second thread."""


class HBAC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Hierarchical bias-aware clustering.

    Finds groups of similar rows among which a bias variable (an error, a false positive, a denied loan) differs
    most from the rest. Starting with all rows as one cluster, it repeatedly takes the cluster in which the bias
    variable varies most, splits it in two by the features, and keeps the split when one of the two parts
    deviates at least as much as the whole did.

    Parameters
    ----------
    method : {"auto", "kmeans", "kmodes", "kprototypes"}
        How clusters are split: k-means for numbers, k-modes for categories (numbers are then taken as
        categories, too), k-prototypes for both. ``auto`` looks at the columns.
    max_iter : int
        Number of splits tried, whether kept or not.
    min_cluster_size : float or int
        Smallest cluster: a share of the rows below 1, else a number of rows.
    n_init : int
        Starts per split; the one of least cost counts.
    better : {"lower", "higher"}
        Whether a lower or a higher value of the bias variable is the better treatment.
    margin : float
        A split is kept only if a part's gap exceeds its parent's by this many standard deviations of the bias
        variable.
    scale : bool
        Standardise numeric columns on the training rows, so that their units do not matter.
    engine : {"bdt", "reference"}
        ``reference`` runs scikit-learn's KMeans on unscaled numbers, or the package kmodes, to reproduce the
        results of unsupervised-bias-detection 0.2.6. Two things differ from that package: clusters in which the
        bias variable is constant are not split further, and rows are routed by this tree in `predict`.
    dtype : {"float32", "float64"}
        Of encoded numbers. ``float64`` takes twice the time and memory.
    random_state : int, RandomState or None
        Seed of the starts. The same seed, settings and rows give the same clusters for any order of the rows
        and any number of threads. None draws a new one.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int64
        Cluster of each training row. Clusters are numbered by falling gap: 0 is the worst treated.
    n_clusters_ : int
    gaps_ : ndarray of shape (n_clusters_,)
        Mean of the bias variable inside the cluster minus its mean in all other training rows, in its own
        units, turned so that positive is worse.
    tree_ : ClusterTree
        The splits, with every node's size, mean, gap and prototype.
    encoder_ : Encoder
        How columns became numbers and codes.
    method_ : str
        What ``auto`` came to.
    n_iter_ : int
        Number of splits tried.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when the training table had named columns.

    Notes
    -----
    With N rows, a cluster c of n_c rows and means y_c and y, the gap is N (y_c - y) / (N - n_c). Categories
    count with the weight gamma against squared distances of numbers: half of the mean standard deviation of the
    numeric columns, 0.5 after standardisation, as Huang (1998) suggests; 1 when there are no numbers.

    References
    ----------
    J. Misztal-Radecka, B. Indurkhya, "Bias-Aware Hierarchical Clustering for detecting the discriminated groups
    of users in recommendation systems", Information Processing & Management 58(3), 2021.

    Z. Huang, "Extensions to the k-means algorithm for clustering large data sets with categorical values", Data
    Mining and Knowledge Discovery 2, 1998.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [21, 22, 23, 61, 62, 63] * 20, "sex": list("mfmmfm") * 20})
    >>> wrong = (frame["age"] > 60).astype(float)
    >>> model = HBAC(min_cluster_size=0.1).fit(frame, wrong)
    >>> model.n_clusters_, model.gaps_.tolist()
    (2, [1.0, -1.0])
    >>> model.predict(pd.DataFrame({"age": [70, 20], "sex": ["m", "m"]})).tolist()
    [0, 1]
    >>> model.tree_.path(0)
    ['age higher: mean 62 against 22']
    """

    def __init__(
        self,
        method: Literal["auto", "kmeans", "kmodes", "kprototypes"] = "auto",
        *,
        max_iter: int = 10,
        min_cluster_size: float = 0.01,
        n_init: int = 10,
        better: Literal["lower", "higher"] = "lower",
        margin: float = 0.0,
        scale: bool = True,
        engine: Literal["bdt", "reference"] = "bdt",
        dtype: Literal["float32", "float64"] = "float32",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.max_iter = max_iter
        self.min_cluster_size = min_cluster_size
        self.n_init = n_init
        self.better = better
        self.margin = margin
        self.scale = scale
        self.engine = engine
        self.dtype = dtype
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> Self:
        """Find the clusters.

        Parameters
        ----------
        X : DataFrame, Arrow table or dict of columns, or 2-d array of shape (n, p)
            The features. Numbers may be missing, not infinite.
        y : array of shape (n,)
            The bias variable, a finite number for each row.
        sample_weight : array of shape (n,), optional
            How many people each row stands for: whole numbers. The clusters are those of a table in which the row
            stands so many times, which also is what `min_cluster_size` counts; a row of 0 people only has a label.
        progress : callable, optional
            Called as ``progress(done, total)`` after each split tried.

        Returns
        -------
        HBAC
            Itself.

        Raises
        ------
        SpecError
            When a setting is not what it can be.
        DataError
            When X or y cannot be clustered; the message names the column and what to do.
        """
        checked_settings(self)
        frame = as_frame(X)
        names = [str(name) for name in frame.columns]
        outcome = bias_variable(y, len(frame))
        if sample_weight is not None:
            rows = np.repeat(np.arange(len(frame)), weights_as_counts(sample_weight, len(frame)))
            frame, outcome = frame.iloc[rows].reset_index(drop=True), outcome[rows]
        method = settled_method(self.method, {name: column_kind(frame[name]) for name in names}, self.engine)
        kinds: dict[str, Kind] = dict.fromkeys(names, "categorical") if method == "kmodes" else {}
        encoder, table = Encoder.fit_transform(
            frame,
            kinds=kinds,
            scale=self.scale,
            dtype="float64" if self.engine == "reference" else self.dtype,
            centre=self.engine == "bdt",
        )
        del frame  # as large as the data: not needed any more
        self.fit_encoded(table, outcome, encoder, method, progress=progress)
        self._set_shape(named=is_table(X))
        if sample_weight is not None:
            self.labels_ = self.predict(X)  # which gives training rows their label
        return self

    def fit_encoded(
        self,
        table: Encoded,
        y: npt.NDArray[np.float64],
        encoder: Encoder,
        method: str,
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> Self:
        """Find the clusters of rows that are encoded already; `fit` without its checks.

        Parameters
        ----------
        table : Encoded
            Taken over: its rows are reordered.
        y : float64 ndarray of shape (n,)
        encoder : Encoder
            What encoded the table.
        method : {"kmeans", "kmodes", "kprototypes"}
        progress : callable, optional

        Returns
        -------
        HBAC
            Itself.

        :meta private:
        """
        layout = Layout.of(encoder)
        with threads(table.rows * (len(table.numeric) + len(table.codes)), THREADED_CELLS) as map_blocks:
            hashes = content_hashes(table, varying_columns(table), map_blocks)
            whole = whole_numbers(y, self.better)
            block = BlockRows(table, whole, y, row_numbers(table.rows), hashes, layout, map_blocks)
            leaves = self.grow_tree(RowsInMemory(block), encoder, method, progress=progress)
        self.labels_ = block.labels(leaves)
        return self

    def grow_tree(
        self, rows: AllRows, encoder: Encoder, method: str, *, progress: Callable[[int, int], object] | None = None
    ) -> list[int]:
        """Find the clusters of rows that are encoded already, wherever they are; ``labels_`` is not set.

        Parameters
        ----------
        rows : AllRows
            In memory for the engine "reference".
        encoder : Encoder
            What encoded them.
        method : {"kmeans", "kmodes", "kprototypes"}
        progress : callable, optional

        Returns
        -------
        list of int
            Position of each cluster in the tree, in the order of the labels.

        :meta private:
        """
        settings = checked_settings(self)
        min_rows = settings.min_rows(rows.rows)
        if self.engine == "bdt":
            splitter = CompiledSplitter(rows, n_init=self.n_init, seed=settings.seed, min_rows=min_rows)
        else:
            splitter = ReferenceSplitter(rows, encoder, method=method, n_init=self.n_init, seed=settings.seed)
        grown = grow(
            splitter,
            max_iter=self.max_iter,
            min_rows=min_rows,
            margin=float(self.margin),
            count_hopeless=self.engine == "reference",
            progress=progress,
        )
        self.tree_ = finish(grown, splitter.moments_of_nodes(grown), self.better, encoder, rows.layout)
        self.encoder_ = encoder
        self.method_ = method
        self._set_shape(named=False)
        return [node.position for node in leaves_of(grown)]

    def fit_predict(self, X: Any, y: Any, **fit_params: Any) -> npt.NDArray[np.int64]:
        """Find the clusters and return the label of each training row.

        Parameters
        ----------
        X, y, **fit_params
            As in `fit`.

        Returns
        -------
        ndarray of shape (n,), int64

        Examples
        --------
        >>> X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
        >>> HBAC(min_cluster_size=2).fit_predict(X, y).tolist()
        [1, 1, 0, 0]
        """
        return self.fit(X, y, **fit_params).labels_

    def predict(self, X: Any, route: Literal["tree", "centroid"] = "tree") -> npt.NDArray[np.int64]:
        """Cluster of each row.

        Parameters
        ----------
        X : table like the one in `fit`
            Columns with names may come in any order.
        route : {"tree", "centroid"}
            ``tree`` sends a row down the tree, at each split to the nearer side; it gives training rows their
            label. ``centroid`` takes the leaf whose centre is nearest, which can be another one.

        Returns
        -------
        ndarray of shape (n,), int64
            A row's label does not depend on the rows around it.

        Raises
        ------
        SpecError
            Another route.
        """
        self._refuse_unfitted()
        if route not in ("tree", "centroid"):
            raise SpecError(f'route must be "tree" or "centroid", not {route!r}.')
        table = self.encoder_.transform(X)
        return self.tree_.route(table) if route == "tree" else self.tree_.nearest(table)

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Distance of each row from each cluster's centre.

        Parameters
        ----------
        X : table like the one in `fit`

        Returns
        -------
        ndarray of shape (n, n_clusters_), float64
            Root of the squared differences of (standardised) numbers and of gamma for each other category: what
            ``predict(X, route="centroid")`` compares.

        Examples
        --------
        >>> X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
        >>> model = HBAC(min_cluster_size=2, scale=False, dtype="float64").fit(X, y)
        >>> model.transform([[10.5], [0.5]]).round(6).tolist()
        [[0.0, 10.0], [10.0, 0.0]]
        """
        self._refuse_unfitted()
        table = self.encoder_.transform(X)
        squares = [self.tree_.squared_distance(table, label) for label in range(self.n_clusters_)]
        return np.sqrt(np.column_stack(squares))

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """How much worse cluster 0 fares than all other rows of a table.

        On the training rows it is too large, as the search looked for it; on other rows it tells the truth.

        Parameters
        ----------
        X : table like the one in `fit`
        y : array of shape (n,)
            The bias variable.
        sample_weight : array of shape (n,), optional
            Weights from 0 up.

        Returns
        -------
        float
            Mean of the bias variable in cluster 0 minus its mean in all other rows, turned so that positive is worse;
            0 where there is one cluster only, NaN where no row, or every row, is in cluster 0.

        Examples
        --------
        >>> X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
        >>> HBAC(min_cluster_size=2).fit(X, y).score([[0.5], [10.5], [11.0]], [0, 1, 0])
        0.5
        """
        inside = self.predict(X) == 0
        outcome = bias_variable(y, len(inside))
        if self.n_clusters_ == 1:
            return 0.0
        weights = np.ones(len(inside)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if not (weights[inside].sum() > 0 and weights[~inside].sum() > 0):
            return math.nan
        gap = np.average(outcome[inside], weights=weights[inside]) - np.average(
            outcome[~inside], weights=weights[~inside]
        )
        return float(harm_sign(self.better) * gap)

    def export_text(self) -> str:
        """The splits as text, a line per group, the worse side first.

        Returns
        -------
        str
            What sets the group apart from its sibling, its rows, its mean of the bias variable, its gap, and its
            cluster.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [20, 21, 22, 60, 61, 62], "sex": list("fmffmf")})
        >>> print(HBAC(min_cluster_size=2, max_iter=1).fit(frame, np.array([1, 1, 0, 0, 0, 0])).export_text())
        |--- everybody (6 rows, mean 0.333)
        |   |--- age lower: mean 21 against 61 (3 rows, mean 0.667, gap 0.667) -> cluster 0
        |   |--- age higher: mean 61 against 21 (3 rows, mean 0, gap -0.667) -> cluster 1
        """
        self._refuse_unfitted()
        return self.tree_.export_text()

    def plot_tree(self, ax: Axes | None = None, *, outcome: str = "mean") -> Axes:
        """Draw the splits as the report does.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw them; by default in a figure of its own.
        outcome : str
            What the bias variable is called.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
        >>> axes = HBAC(min_cluster_size=2, max_iter=1).fit(X, y).plot_tree(outcome="error")
        >>> any("error" in text.get_text() for text in axes.texts)
        True
        """
        self._refuse_unfitted()
        # The figures are on a higher floor, where nobody needs matplotlib before he draws.
        axes: Axes = lent(__name__, "plot_tree")(self.tree_, ax, outcome=outcome)
        return axes

    def to_dict(self) -> dict[str, Any]:
        """The fitted model as plain JSON-able data, without the labels of the training rows.

        `from_dict` makes a model of it that predicts the same to the bit.

        Examples
        --------
        >>> X, y = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1])
        >>> kept = HBAC(min_cluster_size=2).fit(X, y).to_dict()
        >>> HBAC.from_dict(kept).predict([[9.0], [2.0]]).tolist()
        [0, 1]
        """
        self._refuse_unfitted()
        params = self.get_params()
        if not isinstance(params["random_state"], Integral):
            params["random_state"] = None
        return {
            "format": FORMAT,
            "params": {key: getattr(value, "item", lambda value=value: value)() for key, value in params.items()},
            "method": self.method_,
            "named": hasattr(self, "feature_names_in_"),
            "encoder": self.encoder_.to_dict(),
            "tree": self.tree_.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Parameters
        ----------
        data : dict

        Returns
        -------
        HBAC
            Fitted.

        Raises
        ------
        DataError
            When it was not written by this version's `to_dict`.

        Examples
        --------
        >>> HBAC.from_dict({})
        Traceback (most recent call last):
            ...
        bdt_core.errors.DataError: Not a stored clustering: expected "format": "bdt.hbac/1", got None.
        """
        if data.get("format") != FORMAT:
            raise DataError(f'Not a stored clustering: expected "format": "{FORMAT}", got {data.get("format")!r}.')
        model = cls(**data["params"])
        model.encoder_ = Encoder.from_dict(data["encoder"])
        model.tree_ = ClusterTree.from_dict(data["tree"], model.encoder_.dtype)
        model.method_ = data["method"]
        model._set_shape(named=bool(data["named"]))
        return model

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`, for `get_feature_names_out`."""
        return self.n_clusters_

    def _refuse_unfitted(self) -> None:
        if not hasattr(self, "tree_"):
            raise NotFittedError("This HBAC instance is not fitted yet. Call fit with appropriate arguments first.")

    def _set_shape(self, named: bool) -> None:
        self.n_clusters_ = self.tree_.n_leaves
        self.gaps_ = np.array([self.tree_.leaf(label).gap for label in range(self.n_clusters_)])
        self.n_iter_ = sum(node.accepted is not None for node in self.tree_.nodes)
        self.n_features_in_ = len(self.encoder_.names)
        if named:
            self.feature_names_in_ = np.array(self.encoder_.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
