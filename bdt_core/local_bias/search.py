"""The search: starts rest as k-means and go on from there with gaps in the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bdt_core import words
from bdt_core.clustering.plus_plus import rows_far_apart
from bdt_core.clustering.row_kernels import hash_rows
from bdt_core.errors import SpecError
from bdt_core.local_bias import kernels
from bdt_core.local_bias.metrics import Floats, Integers, LocalOutcome, rows_counted
from bdt_core.local_bias.partition import Partition, merge_small, on_grid
from bdt_core.said import say
from bdt_core.table.pool import threads

SAMPLE_ROWS = 8192
"""With more than four times as many rows, starts first rest on so many of them."""

FULL_RUNS = 2
"""Starts, the best on the sample, that go on to all rows."""

THREADED_CELLS = 20_000_000
"""Smaller searches (rows x columns x clusters) are not worth a second thread."""


class SearchSettings(Protocol):
    """What the search is told; `LOGAN` says what each means."""

    n_clusters: int
    weight: float
    n_init: int
    max_iter: int
    tol: float
    min_group_size: int
    min_clusters: int
    max_off_centre: float


@dataclass(frozen=True)
class Solution:
    """Where a start came to rest; labels in the order of the search."""

    labels: npt.NDArray[np.int32]
    centres: npt.NDArray[np.floating[Any]]
    inertia: float
    objective: float
    history: Floats
    undone: bool
    """Whether the last pass moved too many rows off their centres, and was undone."""


@dataclass(frozen=True)
class ClusterSearch:
    """Rows in an order of their content, ready to be clustered.

    `order` is the position among the rows given of each row here; `mean` and `exponent` are those of `Partition`;
    `total` is the sum of squares around the mean. `groups` and `classes` are the numbers of groups and of score classes
    (0 for rates).
    """

    rows: kernels.SearchRows
    order: Integers
    mean: Floats
    exponent: Integers
    total: float
    groups: int
    classes: int
    settings: SearchSettings

    @classmethod
    def prepare(
        cls,
        matrix: npt.NDArray[np.floating[Any]],
        group: npt.NDArray[np.int32],
        groups: int,
        outcome: LocalOutcome,
        settings: SearchSettings,
    ) -> ClusterSearch:
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
            values[:] = on_grid(ordered, int(exponent[column]))
            total += float(np.square(values.astype(np.float64)).sum())
        rows = kernels.SearchRows(numeric, group[order], outcome.value[order], rank[order] if classes else rank)
        return cls(rows, order, mean, exponent, total, groups, classes, settings)

    @property
    def lambda_(self) -> float:
        """Weight of the squared gaps in squared distances."""
        return float(self.settings.weight) * self.total / int(self.settings.n_clusters)

    def kmeans(self, seed: int, init: str | npt.ArrayLike) -> tuple[list[Solution], tuple[str, ...]]:
        """Let every start rest as k-means: the solutions of the starts that went on to all rows, and notes."""
        clusters = int(self.settings.n_clusters)
        numeric = self.rows.numeric
        if not isinstance(init, str):
            return [self._rest(self._given(init), 0.0)], ()
        sample = numeric
        if numeric.shape[1] > 4 * SAMPLE_ROWS:
            sample = np.ascontiguousarray(numeric[:, :SAMPLE_ROWS])
        seeds = np.random.SeedSequence(seed).spawn(int(self.settings.n_init))

        def start(seed_of_start: np.random.SeedSequence) -> npt.NDArray[np.floating[Any]]:
            generator = np.random.Generator(np.random.PCG64(seed_of_start))
            return kmeans_plus_plus(sample, clusters, generator)

        with threads(sample.size * clusters, THREADED_CELLS) as mapped:
            starts = list(mapped(start, seeds))
        if sample is not numeric:
            part = self._first(SAMPLE_ROWS)
            with threads(sample.size * clusters, THREADED_CELLS) as mapped:
                rested = list(mapped(lambda one: part._rest(one, 0.0), starts))
            rested.sort(key=lambda one: one.inertia)
            starts = [one.centres for one in rested[:FULL_RUNS]]
            if len(starts[0]) < clusters:  # copies of few rows fill the sample, whatever the start
                starts = [
                    kmeans_plus_plus(numeric, clusters, np.random.Generator(np.random.PCG64(one)))
                    for one in seeds[:FULL_RUNS]
                ]
        most = len(starts[0])  # every start has as many rows as there are different ones, or as wanted
        with threads(numeric.size * clusters, THREADED_CELLS) as mapped:
            solutions = list(mapped(lambda one: self._rest(one, 0.0), starts))
        notes: tuple[str, ...] = ()
        if most < clusters:
            notes = (
                say(
                    "X has only {N} different row: {N} cluster instead of the {Nasked} asked for."
                    if most == 1
                    else "X has only {N} different rows: {N} clusters instead of the {Nasked} asked for.",
                    N=words.count(most),
                    Nasked=words.count(clusters),
                ),
            )
        return solutions, notes

    def with_gaps(self, solutions: Sequence[Solution], group: npt.NDArray[np.int32] | None = None) -> list[Solution]:
        """Go on from k-means solutions with gaps in the objective; `group` replaces the groups, in this order."""
        search = self if group is None else self.with_groups(group)
        with threads(self.rows.numeric.size * int(self.settings.n_clusters), THREADED_CELLS) as mapped:
            return list(mapped(lambda one: search._rest(one.centres, search.lambda_, one.labels), solutions))

    def partition(self, solution: Solution) -> Partition:
        """Merge small clusters, and give rows their labels in the order they came in."""
        tally = self._tally(solution.labels, len(solution.centres))
        merged_into = merge_small(
            solution.centres.astype(np.float64),
            np.asarray(tally.rows),
            rows_counted(np.asarray(tally.counts), self.classes > 0),
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
        most = float(self.settings.max_off_centre) * numeric.shape[1]
        entries, undone = kernels.search(
            self.rows, labels, centres, self.total, weight, smallest, most, float(self.settings.tol) * variance,
            passes, tally, history,
        )  # fmt: skip
        history = history[:entries]
        objective = float(history[-1])
        inertia = objective + weight * float(np.asarray(tally.squared_gap).sum())
        if inertia < 1e-12 * self.total:  # nothing but rounding
            inertia = 0.0
        return Solution(labels, centres, inertia, objective, history, bool(undone))

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

    def with_groups(self, group: npt.NDArray[np.int32]) -> ClusterSearch:
        """The same search with other groups, in its order."""
        return replace(self, rows=self.rows._replace(group=group))

    def _first(self, size: int) -> ClusterSearch:
        """The first rows of the order: a random sample, for it is an order by hash."""
        numeric = np.ascontiguousarray(self.rows.numeric[:, :size])
        rank = self.rows.rank[:size]
        rows = kernels.SearchRows(numeric, self.rows.group[:size], self.rows.value[:size], rank)
        total = float(np.square(numeric.astype(np.float64)).sum())
        return replace(self, rows=rows, total=total)

    def _given(self, init: npt.ArrayLike) -> npt.NDArray[np.floating[Any]]:
        shape = (int(self.settings.n_clusters), len(self.mean))
        centres = np.asarray(init, dtype=np.float64)
        if centres.shape != shape or not np.isfinite(centres).all():
            raise SpecError(
                f"init must hold finite numbers in the shape (n_clusters, columns of X) = {shape}, "
                f"found the shape {centres.shape}."
            )
        return (centres - self.mean).astype(self.rows.numeric.dtype)


def kmeans_plus_plus(
    numeric: npt.NDArray[np.floating[Any]], k: int, generator: np.random.Generator
) -> npt.NDArray[np.floating[Any]]:
    """Rows far apart to start k-means from, shape (at most k, p), of columns of shape (p, n).

    Each further row is the best of 2 + ln k candidates. Fewer than k come when there are fewer different rows.
    """
    first = int(generator.integers(numeric.shape[1]))
    draws = generator.random((k - 1, 2 + int(math.log(k))))
    chosen = rows_far_apart(first, draws, partial(_squared_distances, numeric))
    return np.ascontiguousarray(numeric[:, chosen].T)


def _squared_distances(numeric: npt.NDArray[np.floating[Any]], rows: npt.NDArray[Any]) -> Floats:
    distances = np.empty((len(rows), numeric.shape[1]))
    kernels.squared_distances(numeric, np.ascontiguousarray(numeric[:, rows].T), distances)
    return distances
