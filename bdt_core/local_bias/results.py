"""Results of the search for local bias."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from bdt_core.inference.comparison import PersonsCompared
from bdt_core.local_bias.metrics import Integers
from bdt_core.local_bias.partition import Partition
from bdt_core.local_bias.places import Method, NamedPlaces
from bdt_core.local_bias.rows import encoded
from bdt_core.local_bias.settings import LocalBiasSettings
from bdt_core.local_bias.topics import ClusterTopic
from bdt_core.result import AuditPart
from bdt_core.said import Text
from bdt_core.table.encoding import Encoder


@dataclass(frozen=True)
class GroupInCluster:
    """The metric of one group in one cluster.

    It rests on `counted` rows: all for the accuracy, positives for "tpr", negatives for "fpr", the scarcer of both for
    "auc". `events` are of the rate, None for "auc". `value` is in [0, 1], None without rows to compute it from.
    """

    group: str
    rows: int
    counted: int
    events: int | None
    value: float | None


@dataclass(frozen=True)
class HeldOutGap:
    """The test, on rows that the search has not seen, of the gap that it found.

    `higher` and `lower` are the groups with the highest and lowest metric in this cluster of *train* rows, whichever
    way it is now; of those with enough test rows, where there are two. `train_gap` is the metric of `higher` minus that
    of `lower` there, `gap` the same among the test rows with its interval (Newcombe's; for "auc" from DeLong's):
    negative when it points the other way here. `counted_higher` and `counted_lower` are the test rows that their
    metrics rest on; where persons may have several, `persons` says whose they are, and test and interval count these.

    `p_value` is two-sided, `p_adjusted` by Benjamini-Hochberg over the clusters. A gap is `confirmed` when it is
    significant and the same group is ahead as among the train rows. `minimum_detectable_gap` is at 80 % power,
    uncorrected; None for "auc".
    """

    status: Literal["tested", "not_testable"]
    reason: Text | None
    test: str | None = None
    higher: str | None = None
    lower: str | None = None
    train_gap: float | None = None
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
    persons: PersonsCompared | None = None


@dataclass(frozen=True)
class LocalCluster:
    """A cluster, or all rows (label None); 0 has the largest gap among the train rows.

    `together` is of all rows, train and test, each in the cluster whose centre is nearest; none of all rows together.
    `train_gap` and `test_gap` are the largest minus the least metric of the groups that count; None when fewer than two
    do. `name` is that of a place which a column names.
    """

    label: int | None
    train_rows: int
    test_rows: int
    train: tuple[GroupInCluster, ...]
    test: tuple[GroupInCluster, ...]
    train_gap: float | None
    test_gap: float | None
    held_out: HeldOutGap
    about: ClusterTopic = field(default_factory=ClusterTopic)
    together: tuple[GroupInCluster, ...] = ()
    name: str | None = None

    @property
    def title(self) -> str:
        """Its name, or its number where it has none."""
        return str(self.label) if self.name is None else self.name


@dataclass(frozen=True)
class GapNull:
    """What the summary would be if groups were treated alike.

    Figures are means over the permutations; `mean_gap` over those with any biased cluster. P-values are the share of
    permutations with as large a figure, the data themselves counted as one.
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

    `bcr` is the biased cluster ratio, biased / clusters; `bir` the biased instance ratio, the share of these clusters'
    rows that are in biased ones, whose gap reaches the threshold; `mean_gap` that of the biased clusters ("|Bias|"),
    None when there are none.

    `within_clusters` permutes groups within clusters. Among test rows, and for k-means among train rows as well, its
    p-values hold. Among LOGAN's train rows they are too small: these clusters were made for their gaps. `whole_search`
    repeats the search on groups permuted within the clusters of k-means (train rows, when `refits` were asked for):
    what the search finds where there is nothing.
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

    The largest gap among the train rows comes first; clusters without one last. `inertia` is of the train rows, before
    merging; its ratio to that of k-means is None when that is 0. `merged` clusters were too small. `off_centre` is the
    share of train rows that are not in the cluster of their nearest centre: what is found in them cannot be found
    again, for a further row's outcome does not decide on its cluster. `confirmed` clusters have a gap that was found
    again among the test rows.
    """

    method: Method
    clusters: tuple[LocalCluster, ...]
    train: GapSummary
    test: GapSummary
    inertia: float
    inertia_ratio: float | None
    merged: int
    off_centre: float
    confirmed: int


@dataclass(frozen=True, repr=False)
class LocalBias(AuditPart):
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

    Examples
    --------
    >>> from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
    >>> x, group = np.repeat([[0.0], [9.0]], 200, axis=0), np.tile(["f", "m"], 200)
    >>> right = (x[:, 0] == 0) | (group == "m") | (np.arange(400) % 5 > 0)
    >>> rows = LocalRows(x, group, correct=right)
    >>> found = find_local_bias(rows, rows, LocalBiasSettings(n_clusters=2))
    >>> found.to_frame()[["train_rows", "lower", "confirmed"]].values.tolist()
    [[200, 'f', True], [200, 'm', False]]
    >>> found.predict([[9.0], [0.0]]).tolist()
    [0, 1]
    """

    settings: LocalBiasSettings
    groups: tuple[str, ...]
    train_rows: int
    test_rows: int
    left_out: dict[str, int]
    everywhere: LocalCluster
    logan: LocalClustering
    kmeans: LocalClustering
    notes: tuple[Text, ...]
    model_state: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def _models(self) -> tuple[Encoder | None, dict[str, tuple[Partition | NamedPlaces, Integers]]]:
        state = self.model_state
        encoder = None if state["encoder"] is None else Encoder.from_dict(state["encoder"])
        partitions = {name: (_read(state[name]), np.array(state[f"{name}_labels"])) for name in ("logan", "kmeans")}
        return encoder, partitions

    def to_frame(self) -> pd.DataFrame:
        """One row per cluster of LOGAN, the largest gap among the train rows first.

        Returns
        -------
        DataFrame
            cluster, train_rows, test_rows, train_gap; of the two groups that are compared on the test rows: higher,
            lower, gap, low, high, p_adjusted, confirmed, and reason where they could not be.
        """
        tested = ("higher", "lower", "gap", "low", "high", "p_adjusted", "confirmed", "reason")
        return pd.DataFrame(
            [
                {
                    "cluster": one.label,
                    **{name: getattr(one, name) for name in ("train_rows", "test_rows", "train_gap")},
                    **{name: getattr(one.held_out, name) for name in tested},
                }
                for one in self.logan.clusters
            ],
            columns=["cluster", "train_rows", "test_rows", "train_gap", *tested],
        )

    def _glance(self) -> tuple[str, pd.DataFrame]:
        words = f"Local bias: {self.logan.confirmed} of {len(self.logan.clusters)} clusters have a confirmed gap"
        columns = ["cluster", "test_rows", "train_gap", "higher", "lower", "gap", "low", "high", "confirmed"]
        return f"{words} ({self.settings.metric})", self.to_frame()[columns]

    @property
    def columns(self) -> list[str] | None:
        """Columns that places are told by; None where these are embeddings."""
        if self.settings.places is not None:
            return [self.settings.places]
        encoder = self._models[0]
        return None if encoder is None else list(encoder.names)

    def predict(self, X: Any, method: Literal["logan", "kmeans"] = "logan") -> Integers:
        """Cluster of each row of a table, or array of embeddings, like the one that was searched.

        Parameters
        ----------
        X : DataFrame, Arrow table or dict of columns, or 2-d array of shape (n, p)
        method : {"logan", "kmeans"}

        Returns
        -------
        int64 ndarray of shape (n,)
            Numbered as in `logan.clusters`, or `kmeans.clusters`; -1 in a place that no row had.
        """
        encoder, partitions = self._models
        partition, label = partitions[method]
        by_name = isinstance(partition, NamedPlaces)
        labels: Integers = np.append(label, -1)[
            partition.predict(X if encoder is None or by_name else encoded(encoder, X))
        ]
        return labels


def _read(state: dict[str, Any]) -> Partition | NamedPlaces:
    return NamedPlaces.from_dict(state) if "names" in state else Partition.from_dict(state)


def or_none(value: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(value) else float(value)
