"""The test rows, as clusters and columns are compared on them: summaries are added up over their blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add, sub
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clustering.clusters import Clusters, TrainCluster, labels_of
from bdt_core.inference import (
    AUC,
    Comparison,
    area_under_curve,
    area_under_curve_of_counts,
    compare_samples,
    compare_summaries,
    drawing_needs_rows,
)
from bdt_core.inference.persons import Persons, PersonSums, Steps, area_of_persons, compare_persons, person_sums
from bdt_core.inference.summaries import Summary, ValueCounts
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable, TableColumn
from bdt_core.table.persons import numbers_of, persons_of, portions
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import (
    MISSING,
    Drawn,
    Groupwise,
    How,
    audited,
    group_column,
    mean_and_sd,
    numbers,
    rows_at_hand,
    ways,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class TestedRows:
    """The audited test rows, and the clusters that they belong to.

    Where a test needs single rows, these are all of them, or of a large table those that are drawn.
    """

    __test__ = False  # no test class, whatever its name begins with

    clusters: Clusters
    table: Rows

    @property
    def rows(self) -> int:
        """All of them."""
        return self.table.audited_rows

    @cached_property
    def bias_variable(self) -> Summary:
        """Everybody's."""
        return self._by_cluster.bias_variable.group(self._labels)

    @property
    def mean_and_sd(self) -> tuple[float, float]:
        """Of the bias variable (ddof 0)."""
        mean, sd = mean_and_sd(self.bias_variable)
        return mean, sd * float(np.sqrt((self.rows - 1) / self.rows))

    @property
    def few_values(self) -> set[float] | None:
        """Distinct values of the bias variable; None when there are more than 2,000."""
        values = self.bias_variable
        return set(values.present.tolist()) if isinstance(values, ValueCounts) else None

    def compare_cluster(self, label: int, left_out: Sequence[int] = (), **options: Any) -> Comparison:
        """The bias variable of one cluster with that of everybody else; options of `compare_summaries`.

        Clusters may be left out of everybody else; then, where single rows would be permuted, Welch's test is kept.
        """
        inside = self._by_cluster.bias_variable.group([label])
        others = [one for one in self._labels if one != label and one not in left_out]
        outside = self._by_cluster.bias_variable.group(others)
        if left_out:
            comparison = compare_summaries(inside, outside, **options)
        else:
            comparison = self._compared(inside, outside, BIAS_VARIABLE, label, **options)
        if self._persons is None:
            return comparison
        of_cluster, of_all, steps = self._persons_by_cluster
        outside_sums = reduce(sub, [of_cluster[one] for one in (label, *left_out)], of_all)
        return compare_persons(comparison, of_cluster[label], outside_sums, steps, min_rows=options["min_rows"])

    @property
    def persons(self) -> int | None:
        """Who is in the rows; None where each row is a person."""
        return self._persons[0].number if self._persons else None

    def meeting_rule(self, cluster: TrainCluster) -> tuple[int, int, int]:
        """Rows that a cluster's rule meets, those of them in the cluster, and rows of the cluster."""
        label = cluster.label
        inside = self._by_cluster.bias_variable.numbers[label].rows
        return int(self._by_cluster.met[label]), int(self._by_cluster.both[label]), inside

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of the most deviating cluster, and of everybody else."""
        return int(self._in_first.sizes[0]), int(self._in_first.sizes[1])

    @cached_property
    def columns(self) -> list[TableColumn]:
        """Features and protected columns; none where there is nobody to compare the cluster with."""
        if len(self.clusters.train) < 2:
            return []
        return [one for one in self.table.columns if one.role in ("feature", "protected")]

    def compare_column(self, name: str, with_auc: bool, **options: Any) -> tuple[Comparison, AUC | None]:
        """A number in the most deviating cluster and elsewhere and, if wanted, how well it tells these apart."""
        inside, outside = self._in_first.columns[name].numbers
        comparison = self._compared(inside, outside, name, 0, **options)
        if self._persons is not None:
            steps = Steps.of(self._how[name])
            sides = self._sides_of_persons([_Quantity(name, steps)])[0]
            comparison = compare_persons(comparison, *sides, steps, min_rows=options["min_rows"])
        if not with_auc or comparison.status != "tested":
            return comparison, None
        if isinstance(inside, ValueCounts) and isinstance(outside, ValueCounts):
            auc = area_under_curve_of_counts(inside.counts, outside.counts, alpha=options["alpha"])
        else:
            auc = area_under_curve(*self._at_hand.sides(name, 0), alpha=options["alpha"])
        return comparison, area_of_persons(auc, comparison.persons)

    def missing(self, name: str) -> tuple[int, int]:
        """Rows of the cluster and of everybody else without a value of a number."""
        inside, outside = self._in_first.columns[name].missing
        return inside, outside

    def levels(self, name: str) -> dict[str, tuple[int, int]]:
        """Rows of the cluster and of everybody else with each level of a category."""
        counts = self._in_first.columns[name].levels or {}
        return {level: (int(inside), int(outside)) for level, (inside, outside) in counts.items()}

    def persons_with(self, name: str, levels: Sequence[tuple[str, ...]]) -> list[tuple[PersonSums, PersonSums]] | None:
        """What persons of the cluster and of everybody else have of each of some levels of a column.

        Each is one level or several together; of a number, "(missing)" and "" for all others. None where each row is a
        person.
        """
        return self._sides_of_persons([_Quantity(name, None, one) for one in levels]) if self._persons else None

    @property
    def drawn(self) -> Drawn | None:
        """Rows that stand for all where single rows are needed; None: all of them."""
        return Drawn.of_tables([self._at_hand.table], [self.table])

    def _compared(self, inside: Summary, outside: Summary, name: str, label: int, **options: Any) -> Comparison:
        """By summaries; by the rows where permutations need them, as long as they are not drawn from others."""
        needs_rows = drawing_needs_rows(inside, outside, options.get("test", "auto"))
        if needs_rows and self.rows <= self.table.spec.large_rows and self.drawn is None:
            return compare_samples(*self._at_hand.sides(name, label), **options)
        return compare_summaries(inside, outside, **options)

    @property
    def _labels(self) -> Sequence[int]:
        return range(len(self.clusters.train))

    @cached_property
    def _by_cluster(self) -> _ByCluster:
        how = ways(self.table, [BIAS_VARIABLE])[BIAS_VARIABLE]
        return reduce(add, self.table.map_blocks(partial(_by_cluster, clusters=self.clusters, how=how)))

    @cached_property
    def _persons(self) -> tuple[Persons, int] | None:
        return persons_of(self.table)

    @cached_property
    def _persons_by_cluster(self) -> tuple[list[PersonSums], PersonSums, Steps]:
        assert self._persons is not None
        steps = Steps.of(ways(self.table, [BIAS_VARIABLE])[BIAS_VARIABLE])
        sums_of = partial(_of_clusters, clusters=self.clusters, persons=self._persons[0], steps=steps)
        sums: list[PersonSums] = []
        for labels in portions(self._labels, *self._persons):
            sums += _added(self.table.map_blocks(partial(sums_of, labels=labels)))
        return sums, reduce(add, sums), steps

    def _sides_of_persons(self, quantities: Sequence[_Quantity]) -> list[tuple[PersonSums, PersonSums]]:
        assert self._persons is not None
        sums: list[PersonSums] = []
        for some in portions(quantities, self._persons[0], 2 * self._persons[1]):
            sides = partial(_of_sides, clusters=self.clusters, persons=self._persons[0], quantities=some)
            sums += _added(self.table.map_blocks(sides))
        return list(zip(sums[::2], sums[1::2], strict=True))

    @cached_property
    def _how(self) -> dict[str, How]:
        return ways(self.table, [one.name for one in self.columns if one.kind == "numeric"])

    @cached_property
    def _in_first(self) -> _InFirst:
        how: dict[str, How | None] = {one.name: None for one in self.columns}
        how |= self._how
        return reduce(add, self.table.map_blocks(partial(_in_first, clusters=self.clusters, how=how)))

    @cached_property
    def _at_hand(self) -> _AtHand:
        table = rows_at_hand(self.table)
        return _AtHand(table, labels_of(self.clusters, table))


@dataclass(frozen=True)
class _ByCluster:
    """The bias variable by cluster, and rows that meet each cluster's rule; adds up over blocks."""

    bias_variable: Groupwise
    met: Integers
    both: Integers

    def __add__(self, other: _ByCluster) -> _ByCluster:
        return _ByCluster(self.bias_variable + other.bias_variable, self.met + other.met, self.both + other.both)


def _by_cluster(block: AuditTable, clusters: Clusters, how: How) -> _ByCluster:
    labels, X = labels_of(clusters, block), block.X
    bias_variable = group_column(audited(block, BIAS_VARIABLE), labels, len(clusters.train), how)
    counts = np.array([one.rule.count(X, labels == one.label) for one in clusters.train], dtype=np.int64)
    return _ByCluster(bias_variable, counts[:, 0], counts[:, 1])


@dataclass(frozen=True)
class _InFirst:
    """Columns in the most deviating cluster (0) and elsewhere (1); adds up over blocks."""

    sizes: Integers
    columns: dict[str, Groupwise]

    def __add__(self, other: _InFirst) -> _InFirst:
        columns = {name: one + other.columns[name] for name, one in self.columns.items()}
        return _InFirst(self.sizes + other.sizes, columns)


def _in_first(block: AuditTable, clusters: Clusters, how: dict[str, How | None]) -> _InFirst:
    elsewhere = (labels_of(clusters, block) != 0).astype(np.int64)
    columns = {name: group_column(audited(block, name), elsewhere, 2, one) for name, one in how.items()}
    return _InFirst(np.bincount(elsewhere, minlength=2), columns)


@dataclass(frozen=True)
class _Quantity:
    """A quantity of persons: the steps of a number, or whether a row has one of some levels."""

    column: str
    steps: Steps | None
    levels: tuple[str, ...] = ()

    def of(self, column: pd.Series) -> tuple[NDArray[np.bool_], Floats]:
        """Which rows count, and what each of them has."""
        if self.steps is not None:
            values = numbers(column)
            known = ~np.isnan(values)
            return known, self.steps.count(values[known])
        absent = column.isna().to_numpy()
        has = np.zeros(len(column), dtype=np.bool_)
        if isinstance(column.dtype, pd.CategoricalDtype):
            chosen = [str(one) in self.levels for one in column.cat.categories]
            has = np.array([*chosen, False])[column.cat.codes.to_numpy()]
        elif "" in self.levels:
            has = ~absent
        return np.ones(len(column), dtype=np.bool_), (has | (absent & (MISSING in self.levels))).astype(np.float64)


def _of_clusters(
    block: AuditTable, clusters: Clusters, persons: Persons, steps: Steps, labels: Sequence[int]
) -> list[PersonSums]:
    """The bias variable of persons by cluster."""
    of_rows, who, values = labels_of(clusters, block), numbers_of(persons, block), steps.count(block.y)
    insides = (of_rows == label for label in labels)
    return [person_sums(values[inside], who[inside], persons.size) for inside in insides]


def _of_sides(
    block: AuditTable, clusters: Clusters, persons: Persons, quantities: Sequence[_Quantity]
) -> list[PersonSums]:
    """Some columns of persons in the most deviating cluster and elsewhere, one after the other."""
    inside, who = labels_of(clusters, block) == 0, numbers_of(persons, block)
    sums = []
    for quantity in quantities:
        counts, values = quantity.of(audited(block, quantity.column))
        sides = inside[counts], ~inside[counts]
        sums += [person_sums(values[side], who[counts][side], persons.size) for side in sides]
    return sums


def _added(blocks: Sequence[Sequence[PersonSums]]) -> list[PersonSums]:
    """The same sums of all blocks."""
    return [reduce(add, of_blocks) for of_blocks in zip(*blocks, strict=True)]


@dataclass(frozen=True)
class _AtHand:
    """Single rows and their clusters."""

    table: AuditTable
    labels: Integers

    def sides(self, name: str, label: int) -> tuple[Floats, Floats]:
        """The known values of a number in a cluster, and those of everybody else."""
        values = numbers(audited(self.table, name))
        known, inside = ~np.isnan(values), self.labels == label
        return values[known & inside], values[known & ~inside]
