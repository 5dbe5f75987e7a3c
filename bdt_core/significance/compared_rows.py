"""The test rows as columns are compared on them: in memory, or added up over the blocks of a large table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clustering.clusters import Clusters, labels_of
from bdt_core.inference import (
    AUC,
    Comparison,
    area_under_curve,
    area_under_curve_of_counts,
    compare_samples,
    compare_summaries,
)
from bdt_core.inference.comparison import drawing_needs_rows
from bdt_core.inference.summaries import ValueCounts
from bdt_core.spec import Significance
from bdt_core.table.audit_table import AuditTable, Column
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import (
    Drawn,
    Groupwise,
    How,
    audited,
    drawn_rows,
    group_column,
    level_counts,
    numbers,
    ways,
)


class ComparedRows(Protocol):
    """What is asked of the test rows, in memory or in blocks; the cluster comes before everybody else."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of the cluster and of everybody else."""

    @property
    def drawn(self) -> Drawn | None:
        """Rows that are drawn in place of all for what needs single rows; None: all of them."""

    def compare(
        self, name: str, protected: bool, settings: Significance, random_state: int
    ) -> tuple[Comparison, AUC | None]:
        """A number in the cluster and elsewhere and, if it is protected, how well it tells these apart."""

    def missing(self, name: str) -> tuple[int, int]:
        """Rows without a value of a number."""

    def levels(self, name: str) -> dict[str, tuple[int, int]]:
        """Rows with each level of a category."""


def compared_rows(clusters: Clusters, test: Rows) -> ComparedRows:
    """The test rows in the way that fits their number."""
    return _Blocks.of(clusters, test) if test.is_large else _Memory.of(clusters, test.in_memory())


def compared_columns(test: Rows) -> list[Column]:
    """Features and protected columns."""
    return [one for one in test.columns if one.role in ("feature", "protected")]


@dataclass(frozen=True)
class _Memory:
    """Test rows in memory."""

    table: pd.DataFrame
    inside: NDArray[np.bool_]
    drawn: Drawn | None = None

    @classmethod
    def of(cls, clusters: Clusters, table: AuditTable) -> _Memory:
        return cls(table.audited, clusters.predict(table) == 0)

    @property
    def sizes(self) -> tuple[int, int]:
        return int(self.inside.sum()), int((~self.inside).sum())

    def compare(
        self, name: str, protected: bool, settings: Significance, random_state: int
    ) -> tuple[Comparison, AUC | None]:
        sides = self.sides(name)
        comparison = compare_samples(
            *sides, alpha=settings.alpha, min_rows=settings.min_rows, random_state=random_state
        )
        wanted = _has_auc(protected, comparison)
        return comparison, area_under_curve(*sides, alpha=settings.alpha) if wanted else None

    def sides(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The known values in the cluster, and those of everybody else."""
        x = numbers(self.table[name])
        known = ~np.isnan(x)
        return x[known & self.inside], x[known & ~self.inside]

    def missing(self, name: str) -> tuple[int, int]:
        absent = self.table[name].isna().to_numpy()
        return int((absent & self.inside).sum()), int((absent & ~self.inside).sum())

    def levels(self, name: str) -> dict[str, tuple[int, int]]:
        counts = level_counts(self.table[name], _groups(self.inside), 2)
        return {level: (int(one[0]), int(one[1])) for level, one in counts.items()}


@dataclass(frozen=True)
class _Block:
    """What one block has to say; adds up over blocks."""

    sizes: NDArray[np.int64]
    columns: dict[str, Groupwise]

    def __add__(self, other: _Block) -> _Block:
        columns = {name: one + other.columns[name] for name, one in self.columns.items()}
        return _Block(self.sizes + other.sizes, columns)


@dataclass(frozen=True)
class _Blocks:
    """Test rows of a large table, added up."""

    clusters: Clusters
    table: Rows
    added: _Block

    @classmethod
    def of(cls, clusters: Clusters, table: Rows) -> _Blocks:
        columns = compared_columns(table) if len(clusters.train) > 1 else []
        how: dict[str, How | None] = {one.name: None for one in columns}
        how |= ways(table, [one.name for one in columns if one.kind == "numeric"])
        return cls(clusters, table, reduce(add, table.map_blocks(partial(_count, clusters=clusters, how=how))))

    @property
    def sizes(self) -> tuple[int, int]:
        return int(self.added.sizes[0]), int(self.added.sizes[1])

    @property
    def drawn(self) -> Drawn | None:
        return self.sample.drawn

    @cached_property
    def sample(self) -> _Memory:
        rows = drawn_rows(self.table, self.table.spec.large_rows)
        sample = _Memory.of(self.clusters, rows)
        drawn = Drawn(sum(sample.sizes), sum(self.sizes))
        return replace(sample, drawn=drawn if drawn.rows < drawn.of else None)

    def compare(
        self, name: str, protected: bool, settings: Significance, random_state: int
    ) -> tuple[Comparison, AUC | None]:
        a, b = self.added.columns[name].numbers
        few = sum(self.sizes) <= self.table.spec.large_rows
        if few and drawing_needs_rows(a, b) and self.sample.drawn is None:
            return self.sample.compare(name, protected, settings, random_state)
        comparison = compare_summaries(
            a, b, alpha=settings.alpha, min_rows=settings.min_rows, random_state=random_state
        )
        if not _has_auc(protected, comparison):
            return comparison, None
        if isinstance(a, ValueCounts) and isinstance(b, ValueCounts):
            return comparison, area_under_curve_of_counts(a.counts, b.counts, alpha=settings.alpha)
        return comparison, area_under_curve(*self.sample.sides(name), alpha=settings.alpha)

    def missing(self, name: str) -> tuple[int, int]:
        one, other = self.added.columns[name].missing
        return one, other

    def levels(self, name: str) -> dict[str, tuple[int, int]]:
        counts = self.added.columns[name].levels or {}
        return {level: (int(one[0]), int(one[1])) for level, one in counts.items()}


def _count(block: AuditTable, clusters: Clusters, how: dict[str, How | None]) -> _Block:
    groups = _groups(labels_of(clusters, block) == 0)
    columns = {name: group_column(audited(block, name), groups, 2, one) for name, one in how.items()}
    return _Block(np.bincount(groups, minlength=2), columns)


def _groups(inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """0 in the cluster, 1 elsewhere."""
    return (~inside).astype(np.int64)


def _has_auc(protected: bool, comparison: Comparison) -> bool:
    return protected and comparison.status == "tested"
