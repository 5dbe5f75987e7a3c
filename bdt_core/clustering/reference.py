"""The reference engine: the libraries that the original tool calls."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.clustering.grow import Grown, Halves
from bdt_core.clustering.rows import AllRows, BlockRows
from bdt_core.clustering.split import Prototypes, Splits
from bdt_core.clustering.splitter import CompiledSplitter
from bdt_core.table.encoding import Encoded, Encoder


class ReferenceSplitter(CompiledSplitter):
    """scikit-learn's KMeans on the numbers as they are, or kmodes with Cao's starts.

    Splits, labels and gaps are those of the package unsupervised-bias-detection 0.2.6 with the same ``n_init`` and
    ``random_state``. Rows are in one block: encoded in float64, neither scaled nor centred.
    """

    def __init__(self, rows: AllRows, encoder: Encoder, *, method: str, n_init: int, seed: int) -> None:
        super().__init__(rows, n_init=n_init, seed=seed)
        self.method = method
        self.settings = {"n_clusters": 2, "n_init": n_init, "random_state": seed}
        # The libraries see the columns in the order given, the encoder keeps them by name.
        columns = [one.name for one in (encoder.numeric if method == "kmeans" else encoder.categorical)]
        place = {name: index for index, name in enumerate(columns)}
        self.columns = [place[name] for name in encoder.names]
        if method == "kmodes":
            # kmodes breaks ties by the order of the levels: numbers by value, texts by the alphabet.
            self.ranks = [_ranks(encoder.categorical[index].levels) for index in self.columns]

    def centre(self) -> tuple[Prototypes, None]:
        (centre,) = self.ask(lambda block: _centre(block.table, block.order))
        return centre, None

    def propose(self, node: Grown) -> Halves | None:
        (halves,) = self.ask(partial(self._halves, position=node.position))
        return halves

    def _halves(self, block: BlockRows, position: int) -> Halves | None:
        rows = slice(*block.ranges[position])
        part = Encoded(block.table.numeric[:, rows], block.table.codes[:, rows])
        values = self._values(part)
        if (values == values[0]).all():
            return None
        labels, a, b = self._two_means(values) if self.method == "kmeans" else self._two_modes(values)
        sides = labels == 1
        block.place(position, sides)  # of equally near prototypes the libraries may take the other one
        split = Splits.between(a, b, block.layout.gamma, np.float64)
        return Halves(split, *(_centre(part, np.flatnonzero(one)) for one in (~sides, sides)))

    def _values(self, part: Encoded) -> npt.NDArray[Any]:
        """What the libraries are given: a row per row."""
        if self.method == "kmeans":
            return np.ascontiguousarray(part.numeric[self.columns].T)
        return np.stack([rank[part.codes[index]] for rank, index in zip(self.ranks, self.columns, strict=True)], axis=1)

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


def _centre(table: Encoded, rows: Any) -> Prototypes:
    """Means and modes of some rows; zeros without any."""
    numeric, codes = table.numeric[:, rows], table.codes[:, rows]
    if numeric.shape[1] == 0:
        return Prototypes(np.zeros((1, len(numeric))), np.zeros((1, len(codes)), np.int64))
    modes = [np.bincount(code).argmax() for code in codes]
    return Prototypes(
        numeric.mean(axis=1)[None, :].astype(np.float64), np.array([modes], dtype=np.int64).reshape(1, len(modes))
    )


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
