"""The test rows as the clusters are compared on them: in memory, or added up over the blocks of a large table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clustering.clusters import Clusters, TrainCluster, labels_of
from bdt_core.inference import Comparison, compare_samples, compare_summaries
from bdt_core.inference.comparison import drawing_needs_rows
from bdt_core.inference.summaries import ValueCounts
from bdt_core.spec import Significance
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Groupwise, How, audited, drawn_rows, group_column, mean_and_sd, ways


class RowsTested(Protocol):
    """What is asked of the test rows, in memory or in blocks."""

    @property
    def rows(self) -> int: ...
    @property
    def mean_and_sd(self) -> tuple[float, float]:
        """Of the bias variable (ddof 0)."""

    @property
    def few_values(self) -> set[float] | None:
        """Distinct values of the bias variable; None when there are many."""

    def compare(self, label: int, alpha: float, settings: Significance) -> Comparison:
        """One cluster with everybody else."""

    def meeting_rule(self, found: TrainCluster) -> tuple[int, int, int]:
        """Rows that a cluster's rule meets, those of them in the cluster, and rows of the cluster."""


def rows_tested(clusters: Clusters, test: Rows) -> RowsTested:
    """The test rows in the way that fits their number."""
    return _Blocks.of(clusters, test) if test.is_large else _Memory.of(clusters, test.in_memory())


@dataclass(frozen=True)
class _Memory:
    """Test rows in memory."""

    table: AuditTable
    labels: NDArray[np.int64]
    y: NDArray[np.float64]
    random_state: int

    @classmethod
    def of(cls, clusters: Clusters, table: AuditTable) -> _Memory:
        return cls(table, clusters.predict(table), table.y, clusters.spec.split.random_state)

    @property
    def rows(self) -> int:
        return len(self.y)

    @property
    def mean_and_sd(self) -> tuple[float, float]:
        return float(self.y.mean()), float(self.y.std())

    @property
    def few_values(self) -> set[float]:
        return set(np.unique(self.y).tolist())

    @cached_property
    def X(self) -> pd.DataFrame:
        return self.table.X

    def compare(self, label: int, alpha: float, settings: Significance) -> Comparison:
        return compare_samples(
            self.y[self.labels == label],
            self.y[self.labels != label],
            **_options(settings, alpha, self.random_state),
        )

    def meeting_rule(self, found: TrainCluster) -> tuple[int, int, int]:
        return found.rule.count(self.X, self.labels == found.label)


@dataclass(frozen=True)
class _Block:
    """What one block has to say; adds up over blocks."""

    y: Groupwise
    met: NDArray[np.int64]
    both: NDArray[np.int64]

    def __add__(self, other: _Block) -> _Block:
        return _Block(self.y + other.y, self.met + other.met, self.both + other.both)


@dataclass(frozen=True)
class _Blocks:
    """Test rows of a large table, added up."""

    clusters: Clusters
    table: Rows
    added: _Block

    @classmethod
    def of(cls, clusters: Clusters, table: Rows) -> _Blocks:
        how = ways(table, [BIAS_VARIABLE])[BIAS_VARIABLE]
        return cls(clusters, table, reduce(add, table.map_blocks(partial(_count, clusters=clusters, how=how))))

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.added.y.numbers)

    @cached_property
    def mean_and_sd(self) -> tuple[float, float]:
        mean, sd = mean_and_sd(self.added.y.group(range(len(self.clusters.train))))
        return mean, sd * math.sqrt((self.rows - 1) / self.rows)

    @property
    def few_values(self) -> set[float] | None:
        everybody = self.added.y.group(range(len(self.clusters.train)))
        return set(everybody.present.tolist()) if isinstance(everybody, ValueCounts) else None

    @cached_property
    def in_memory(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """Clusters and bias variables of the rows themselves, if they are few enough."""
        most = self.table.spec.large_rows
        rows = drawn_rows(self.table, most) if self.rows <= most else None
        complete = rows is not None and rows.audited_rows == self.rows
        return (self.clusters.predict(rows), rows.y) if rows is not None and complete else None

    def compare(self, label: int, alpha: float, settings: Significance) -> Comparison:
        others = [i for i in range(len(self.clusters.train)) if i != label]
        inside = self.added.y.group([label])
        outside = self.added.y.group(others)
        options = _options(settings, alpha, self.clusters.spec.split.random_state)
        if drawing_needs_rows(inside, outside, settings.test) and self.in_memory is not None:
            labels, y = self.in_memory
            return compare_samples(y[labels == label], y[labels != label], **options)
        return compare_summaries(inside, outside, **options)

    def meeting_rule(self, found: TrainCluster) -> tuple[int, int, int]:
        label = found.label
        return int(self.added.met[label]), int(self.added.both[label]), self.added.y.numbers[label].rows


def _count(block: AuditTable, clusters: Clusters, how: How) -> _Block:
    labels = labels_of(clusters, block)
    n_clusters = len(clusters.train)
    X = block.X
    counts = np.array([one.rule.count(X, labels == one.label) for one in clusters.train], dtype=np.int64)
    return _Block(group_column(audited(block, BIAS_VARIABLE), labels, n_clusters, how), counts[:, 0], counts[:, 1])


def _options(settings: Significance, alpha: float, random_state: int) -> dict[str, Any]:
    return {"test": settings.test, "alpha": alpha, "min_rows": settings.min_rows, "random_state": random_state}
