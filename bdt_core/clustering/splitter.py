"""The compiled engine: k-means, k-modes and k-prototypes on blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from bdt_core.clustering.grow import Grown, Halves
from bdt_core.clustering.outcome import WholeMoments
from bdt_core.clustering.rows import AllRows, Answer, BlockRows, Kept, NodeRows
from bdt_core.clustering.split import Prototypes, Splits, Statistics, prototypes
from bdt_core.clustering.two_means import best_split
from bdt_core.inference.exact_sums import Span, step_of_distances, step_of_squares

T = TypeVar("T")


class CompiledSplitter:
    """k-means, k-modes and k-prototypes, wherever the rows are; see `bdt_core.clustering.grow.Splitter`."""

    def __init__(self, rows: AllRows, *, n_init: int, seed: int, min_rows: int = 1) -> None:
        self.rows = rows
        self.n_init = n_init
        self.seed = seed
        self.min_rows = min_rows
        self.kept: tuple[Kept, ...] = ()

    def ask(self, question: Callable[[BlockRows], Answer]) -> list[Answer]:
        """The answers of all blocks."""
        return self.rows.ask(self.kept, question)

    def node(self, position: int, rows: int) -> NodeRows:
        """The rows at a position."""
        return NodeRows(self.rows, self.kept, position, rows)

    def centre(self) -> tuple[Prototypes, Statistics | None]:
        everything = Splits.all_to_b(self.rows.layout, self.rows.dtype)
        whole = self.node(1, self.rows.rows).statistics(everything)
        return prototypes(whole, self.rows.layout), whole

    def moments(self) -> WholeMoments:
        return self.node(1, self.rows.rows).moments()

    def propose(self, node: Grown) -> Halves | None:
        whole, layout = node.memory, self.rows.layout
        rows = self.node(node.position, node.rows)
        split = best_split(rows, whole, (self.seed, node.position), self.n_init, self.min_rows)
        if split is None:
            return None
        a, b = whole - split.side_b, split.side_b
        return Halves(split.split, prototypes(a, layout), prototypes(b, layout), a, b)

    def moments_of_b(self, node: Grown, halves: Halves) -> WholeMoments:
        return self.node(node.position, node.rows).moments(halves.split)

    def partition(self, node: Grown, halves: Halves, *, last: bool) -> None:
        self.kept = (*self.kept, Kept(node.position, halves.split, last))

    def moments_of_nodes(self, grown: list[Grown]) -> list[tuple[float, float]]:
        positions = [node.position for node in grown]
        spans = _added(self.ask(BlockRows.spans), Span())
        distances = {one: step_of_distances(spans[one]) for one in positions}
        sums = _added(self.ask(partial(BlockRows.steps, steps=distances)), 0)
        means = {one: distances[one].total(sums[one]) / spans[one].rows for one in positions}
        squares = {one: step_of_squares(spans[one], means[one]) for one in positions}
        counts = _added(self.ask(partial(BlockRows.steps, steps=squares)), 0)
        return [
            (spans[one].low + means[one], math.sqrt(squares[one].total(counts[one]) / spans[one].rows))
            for one in positions
        ]


def _added(parts: Sequence[dict[int, T]], nothing: T) -> dict[int, T]:
    total: dict[int, T] = {}
    for part in parts:
        for position, value in part.items():
            total[position] = total.get(position, nothing) + value  # type: ignore[operator]
    return total
