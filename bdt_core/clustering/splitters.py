"""The two engines: ours, and the libraries that the original tool calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import row_kernels
from bdt_core.clustering.grow import Grown, Halves
from bdt_core.clustering.outcome import Moments
from bdt_core.clustering.split import (
    BLOCK_ROWS,
    Block,
    Layout,
    MapBlocks,
    Prototypes,
    Splits,
    Statistics,
    assign,
    bounds_of_blocks,
    prototypes,
    statistics,
)
from bdt_core.clustering.two_means import Found, TableRows, best_split
from bdt_core.table.encoding import Encoded, Encoder


class _InMemory:
    """Rows whose order, and whose bias variable in that order, are in memory."""

    def __init__(self, y: npt.NDArray[np.int32]) -> None:
        self.y = y
        self.order = np.arange(len(y), dtype=np.uint32 if len(y) < 2**32 else np.uint64)

    def moments(self) -> Moments:
        return Moments.of(self.y)

    def moments_of_b(self, node: Grown, halves: Halves) -> Moments:
        return Moments.of(self.y[node.start : node.stop], halves.sides)

    def partition(self, node: Grown, halves: Halves, *, last: bool) -> None:  # noqa: ARG002
        assert halves.sides is not None
        row_kernels.partition(self.order[node.start : node.stop], halves.sides)
        row_kernels.partition(self.y.view(np.uint32)[node.start : node.stop], halves.sides)


class CompiledSplitter(_InMemory):
    """k-means, k-modes and k-prototypes on the columns themselves, which it reorders in place.

    Parameters
    ----------
    table : Encoded
        Taken over: its rows are reordered.
    y : int32 ndarray of shape (n,)
        The bias variable, higher is worse; taken over, too.
    layout : Layout
    n_init : int
    seed : int
    min_rows : int
    map_blocks : map or the like
    block_rows : int
    """

    def __init__(
        self,
        table: Encoded,
        y: npt.NDArray[np.int32],
        layout: Layout,
        *,
        n_init: int,
        seed: int,
        min_rows: int = 1,
        map_blocks: MapBlocks = map,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        super().__init__(y)
        self.table = table
        self.layout = layout
        self.n_init = n_init
        self.seed = seed
        self.min_rows = min_rows
        self.map_blocks = map_blocks
        self.block_rows = block_rows
        self.hashes = self._content_hashes()

    def centre(self) -> tuple[Prototypes, Statistics]:
        nothing = np.empty(0)
        bounds = bounds_of_blocks(0, self.table.rows, self.block_rows)
        blocks = [Block(self.table, *one, nothing) for one in bounds]
        everything = Splits.all_to_b(self.layout, self.table.numeric.dtype)
        whole = statistics(blocks, everything, self.layout, self.map_blocks)
        return prototypes(whole, self.layout), whole

    def propose(self, node: Grown) -> Halves | None:
        rows = TableRows(self.table, node.start, node.stop, self.hashes, self.map_blocks, self.block_rows)
        seed = (self.seed, node.position)
        found = best_split(rows, node.memory, self.layout, seed, self.n_init, self.min_rows)
        if found is None:
            return None
        sides = assign(self.table, node.start, node.stop, found.split, self.map_blocks, self.block_rows)
        return halves_of(found, node.memory, self.layout, sides)

    def partition(self, node: Grown, halves: Halves, *, last: bool) -> None:
        super().partition(node, halves, last=last)
        if not last:
            # Floats are moved as the integers of their size: one compiled loop for both.
            numeric = self.table.numeric.view(unsigned(self.table.numeric.dtype))
            columns = [*numeric, *self.table.codes, self.hashes]
            list(
                self.map_blocks(
                    lambda column: row_kernels.partition(column[node.start : node.stop], halves.sides), columns
                )
            )

    def _content_hashes(self) -> npt.NDArray[np.uint64]:
        # Constant columns stay out, so that adding one changes nothing.
        bits = _varying(self.table.numeric.view(unsigned(self.table.numeric.dtype)))
        codes = _varying(self.table.codes)
        hashes = np.empty(self.table.rows, dtype=np.uint64)
        bounds = bounds_of_blocks(0, self.table.rows, self.block_rows)
        list(self.map_blocks(lambda one: row_kernels.hash_rows(bits, codes, *one, hashes), bounds))
        return hashes


class ReferenceSplitter(_InMemory):
    """scikit-learn's KMeans on the numbers as they are, or kmodes with Cao's starts.

    Splits, labels and gaps are those of the package unsupervised-bias-detection 0.2.6 with the same
    ``n_init`` and ``random_state``.

    Parameters
    ----------
    table : Encoded
        In float64, neither scaled nor centred.
    y : int32 ndarray of shape (n,)
        The bias variable, higher is worse; taken over.
    encoder : Encoder
    layout : Layout
    method : {"kmeans", "kmodes"}
    n_init, seed : int
    """

    def __init__(
        self,
        table: Encoded,
        y: npt.NDArray[np.int32],
        encoder: Encoder,
        layout: Layout,
        *,
        method: str,
        n_init: int,
        seed: int,
    ) -> None:
        super().__init__(y)
        self.table = table
        self.layout = layout
        self.method = method
        self.settings = {"n_clusters": 2, "n_init": n_init, "random_state": seed}
        if method == "kmeans":
            # The libraries see the columns in the order given, the encoder keeps them by name.
            place = {column.name: index for index, column in enumerate(encoder.numeric)}
            self.columns = [place[name] for name in encoder.names]
            self.values: npt.NDArray[Any] = np.ascontiguousarray(table.numeric[self.columns].T)
        else:
            place = {column.name: index for index, column in enumerate(encoder.categorical)}
            self.columns = [place[name] for name in encoder.names]
            # kmodes breaks ties by the order of the levels: numbers by value, texts by the alphabet.
            self.ranks = [_ranks(encoder.categorical[index].levels) for index in self.columns]
            self.values = np.stack(
                [rank[table.codes[index]] for rank, index in zip(self.ranks, self.columns, strict=True)], axis=1
            )

    def centre(self) -> tuple[Prototypes, None]:
        return self._centre(self.order), None

    def propose(self, node: Grown) -> Halves | None:
        rows = self.order[node.start : node.stop]
        values = self.values[rows]
        if (values == values[0]).all():
            return None
        labels, a, b = self._two_means(values) if self.method == "kmeans" else self._two_modes(values)
        sides = labels == 1
        return Halves(
            Splits.between(a, b, self.layout.gamma, np.float64),
            self._centre(rows[~sides]),
            self._centre(rows[sides]),
            sides,
        )

    def _two_means(self, values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Prototypes, Prototypes]:
        from sklearn.cluster import KMeans

        model = KMeans(**self.settings).fit(values)
        means = np.empty_like(model.cluster_centers_)
        means[:, self.columns] = model.cluster_centers_
        modes = np.empty((2, 0), dtype=np.int64)
        both = Prototypes(means, modes)
        return model.labels_, both[[0]], both[[1]]

    def _two_modes(self, values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Prototypes, Prototypes]:
        from kmodes.kmodes import KModes

        model = KModes(init="Cao", **self.settings)
        labels = model.fit_predict(values)
        modes = np.empty((2, len(self.columns)), dtype=np.int64)
        for position, (index, rank) in enumerate(zip(self.columns, self.ranks, strict=True)):
            modes[:, index] = np.argsort(rank)[model.cluster_centroids_[:, position].astype(np.int64)]
        both = Prototypes(np.empty((2, 0)), modes)
        return labels, both[[0]], both[[1]]

    def _centre(self, rows: npt.NDArray[Any]) -> Prototypes:
        if len(rows) == 0:
            return Prototypes(np.zeros((1, self.layout.fields)), np.zeros((1, len(self.layout.levels)), np.int64))
        modes = [np.bincount(code[rows]).argmax() for code in self.table.codes]
        return Prototypes(
            self.table.numeric[:, rows].mean(axis=1)[None, :].astype(np.float64),
            np.array([modes], dtype=np.int64).reshape(1, len(modes)),
        )


def halves_of(found: Found, whole: Statistics, layout: Layout, sides: npt.NDArray[np.bool_] | None = None) -> Halves:
    """A split with the centres of its two sides, whose statistics are remembered."""
    side_a = whole - found.side_b
    centres = prototypes(side_a, layout), prototypes(found.side_b, layout)
    return Halves(found.split, *centres, sides, side_a, found.side_b)


def _ranks(levels: tuple[str | None, ...]) -> npt.NDArray[np.int64]:
    """Rank of each code: missing last, numbers before texts, by value."""

    def key(code: int) -> tuple[int, float, str]:
        level = levels[code]
        if level is None:
            return 2, 0.0, ""
        try:
            return 0, float(level), level
        except ValueError:
            return 1, 0.0, level

    ranks = np.empty(len(levels), dtype=np.int64)
    ranks[sorted(range(len(levels)), key=key)] = np.arange(len(levels))
    return ranks


def _varying(columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
    kept = [bool((column[:1000] != column[0]).any() or (column != column[0]).any()) for column in columns]
    return columns if all(kept) else np.ascontiguousarray(columns[kept])


def unsigned(dtype: np.dtype[Any]) -> type[np.unsignedinteger[Any]]:
    """The whole numbers that are as long as these floats."""
    return np.uint32 if dtype.itemsize == 4 else np.uint64
