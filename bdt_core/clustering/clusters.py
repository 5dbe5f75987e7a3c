"""The stage that finds clusters on the train rows and says who is in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clustering.rule import Rule, find_rules
from bdt_core.clustering.stability import SEEDS, Stability, measure_stability
from bdt_core.fairness.coding import column
from bdt_core.result import AuditPart
from bdt_core.said import Text
from bdt_core.spec import AuditSpec, Clustering
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.encoding import Encoder
from bdt_core.table.frames import AnyTable, handed_over
from bdt_core.table.persons import count_persons
from bdt_core.table.rows import Rows

if TYPE_CHECKING:
    from bdt_core.clustering.hbac import HBAC  # scikit-learn and Numba: a second, for who reads results
    from bdt_core.clustering.tree import ClusterTree
    from bdt_core.shards.table import ShardedTable

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TrainCluster:
    """A cluster as it was found on the train rows; 0 is the most deviating one.

    `mean` is of the bias variable; `gap` is the mean inside minus that of all other train rows, turned so that higher
    is worse. It is too large on average, because the search looked for large gaps; the test rows tell the truth. `rule`
    says who is in it, nearly; `path` has the splits that made it, in words; `profile` the mean or most frequent level
    per feature.
    """

    label: int
    rows: int
    mean: float
    gap: float
    rule: Rule
    path: tuple[Text, ...]
    profile: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Clusters(AuditPart):
    """What the search found on the train rows; it can place any further row.

    ``shown_rows`` is the number of train rows that rules and stability were worked out on: all, or a sample.
    ``train_persons`` are those of the train rows, where persons may have several rows.

    Examples
    --------
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> clusters = audit(
    ...     frame, outcome="error", slices=None, worst_groups=None, clustering={"stability": 0}
    ... ).clusters
    >>> clusters.to_frame()[["cluster", "worse"]].values.tolist()
    [[0, True], [1, False]]
    >>> clusters.members(frame).sum().to_dict()
    {0: 200, 1: 200}
    """

    spec: AuditSpec
    model_state: dict[str, Any]
    train: tuple[TrainCluster, ...]
    train_rows: int
    train_mean: float
    min_cluster_rows: int
    method: str
    stability: Stability | None
    shown_rows: int
    train_persons: int | None = None

    @cached_property
    def model(self) -> HBAC:
        """The fitted clustering."""
        from bdt_core.clustering.hbac import HBAC

        return HBAC.from_dict(self.model_state)

    @cached_property
    def tree(self) -> ClusterTree:
        """The splits that made the clusters, without the estimator around them.

        :meta private:
        """
        from bdt_core.clustering.tree import ClusterTree

        return ClusterTree.from_dict(self.model_state["tree"], Encoder.from_dict(self.model_state["encoder"]).dtype)

    def predict(self, table: AuditTable) -> NDArray[np.int64]:
        """Cluster of each audited row of a table.

        :meta private:
        """
        return np.asarray(self.model.predict(table.X), dtype=np.int64)

    def labels(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Cluster of each row of a table with the types that its columns had in the audit.

        :meta private:

        Raises
        ------
        DataError
            A column is missing, or holds something else.
        """
        features = {name: column(frame, name) for name in self.model.encoder_.names}
        return np.asarray(self.model.predict(pd.DataFrame(features)), dtype=np.int64)

    def to_frame(self) -> pd.DataFrame:
        """One row per cluster, from the most deviating one.

        Returns
        -------
        DataFrame
            cluster, who, train_rows, train_mean, train_gap; of an audit's clusters also what the test rows say:
            test_rows, mean, rest, difference (in the bias variable's own direction), low, high (corrected),
            p_adjusted, significant, worse; and stability.
        """
        columns: dict[str, list[Any]] = {
            "cluster": [one.label for one in self.train],
            "who": [str(one.rule) for one in self.train],
            "train_rows": [one.rows for one in self.train],
            "train_mean": [one.mean for one in self.train],
            "train_gap": [one.gap for one in self.train],
        }
        if self.audit is not None:
            tested = self.audit.document["clusters"]
            compared = [one["comparison"] for one in tested]
            columns |= {
                "who": [one["description"] for one in tested],
                "test_rows": [one["test_rows"] for one in tested],
                "mean": [one["mean_a"] for one in compared],
                "rest": [one["mean_b"] for one in compared],
                "difference": [one["difference"] for one in compared],
                "low": [one["corrected_low"] for one in tested],
                "high": [one["corrected_high"] for one in tested],
                **{name: [one[name] for one in tested] for name in ("p_adjusted", "significant", "worse")},
            }
        if self.stability is not None:
            columns["stability"] = [one.word for one in self.stability.clusters]
        return pd.DataFrame(columns)

    def members(self, frame: AnyTable) -> pd.DataFrame:
        """Which rows of a table belong to each cluster; each row belongs to one.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            With the features of the audit.

        Returns
        -------
        DataFrame of bool
            With the index of `frame`, and a column per cluster, named by its number.

        Raises
        ------
        DataError
            A column is missing, or holds something else than in the audit.
        """
        typed = self._typed(handed_over(frame))
        labels = self.labels(typed)
        return pd.DataFrame({one.label: labels == one.label for one in self.train}, index=typed.index)

    def _glance(self) -> tuple[str, pd.DataFrame]:
        names = ["train_rows", "train_mean", "train_gap"]
        tested = ["test_rows", "mean", "rest", "p_adjusted"]
        columns = ["cluster", "who", *(names if self.audit is None else tested)]
        return f"Clusters: {len(self.train)}, found in {self.train_rows:,} train rows", self.to_frame()[columns]


def find_clusters(train: Rows, settings: Clustering, progress: Progress | None = None) -> Clusters:
    """Find clusters of train rows whose bias variable deviates.

    Only features are clustered on; protected columns are kept out. `progress` is called with (splits tried and refits
    done, all of them).
    """
    from bdt_core.clustering.hbac import HBAC

    persons = count_persons(train)
    per_person = 1.0 if persons is None else train.audited_rows / persons
    smallest = min_cluster_rows(settings, train.audited_rows, train.spec, per_person)
    model = HBAC(
        method=settings.method,
        max_iter=settings.max_iter,
        min_cluster_size=smallest,
        n_init=settings.n_init,
        better=train.spec.bias_variable.better,
        margin=settings.margin,
        scale=settings.scale,
        engine=settings.engine,
        random_state=train.spec.split.random_state,
    )
    refits = settings.stability + SEEDS if settings.stability else 0
    # What looks at single rows does so on a sample of a large table: rules and stability.
    shown = train.sample(train.spec.large_rows)
    fitted = shown if shown.audited_rows == train.audited_rows else train
    _fit(model, fitted, _part(progress, 0, settings.max_iter + refits))
    X, y = shown.X, shown.y
    labels = model.labels_ if fitted is shown else model.predict(X)
    stability = None
    if settings.stability:
        stability = measure_stability(
            model,
            X,
            y,
            labels=labels,
            fitted_rows=train.audited_rows,
            bootstraps=settings.stability,
            random_state=train.spec.split.random_state,
            progress=_part(progress, settings.max_iter, settings.max_iter + refits),
        )
    rules = find_rules(X, labels, model.n_clusters_)
    return Clusters(
        spec=train.spec.model_copy(update={"clustering": settings}),
        model_state=model.to_dict(),
        train=tuple(_describe(model, label, rule) for label, rule in enumerate(rules)),
        train_rows=train.audited_rows,
        train_mean=model.tree_.nodes[0].mean,
        min_cluster_rows=smallest,
        method=model.method_,
        stability=stability,
        shown_rows=len(y),
        train_persons=persons,
    )


def _fit(model: HBAC, rows: Rows, progress: Progress | None) -> None:
    """Find the clusters of rows where they are."""
    if isinstance(rows, AuditTable):
        model.fit(rows.X, rows.y, progress=progress)
        return
    from bdt_core.clustering.sharded import fit_sharded

    fit_sharded(model, cast("ShardedTable", rows), progress=progress)


def _part(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of a part of the stage as progress of the whole."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def min_cluster_rows(settings: Clustering, train_rows: int, spec: AuditSpec, per_person: float = 1.0) -> int:
    """Fewest train rows of a cluster.

    Unless the settings say it: 1 % of the train rows, and so many that a cluster can also be tested: its test rows,
    about n (test share / train share) with a standard deviation of about their square root, should reach
    ``significance.min_rows`` two standard deviations below what is expected. Where persons have several rows, these
    are persons, with ``per_person`` rows each.
    """
    size = settings.min_cluster_size
    if size is not None:
        return math.ceil(size * train_rows) if size < 1 else int(size)
    needed = spec.significance.min_rows
    testable = per_person * (needed + 2 * math.sqrt(needed)) * (1 - spec.split.test_size) / spec.split.test_size
    return max(math.ceil(0.01 * train_rows), min(math.ceil(testable), train_rows // 4))


def _describe(model: HBAC, label: int, rule: Rule) -> TrainCluster:
    leaf = model.tree_.leaf(label)
    return TrainCluster(
        label=label,
        rows=leaf.rows,
        mean=leaf.mean,
        gap=leaf.gap,
        rule=rule,
        path=tuple(model.tree_.path(label)),
        profile=leaf.prototype,
    )


def labels_of(clusters: Clusters, block: AuditTable) -> NDArray[np.int64]:
    """Cluster of each audited row of a block, which may have none."""
    return clusters.predict(block) if block.audited_rows else np.empty(0, dtype=np.int64)
