"""HBAC on rows in shards: the same tree, to the bit, as on rows in memory."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd

from bdt_core.clustering.checks import checked_settings, settled_method
from bdt_core.clustering.finish import finish
from bdt_core.clustering.grow import Grown, Halves, Progress, grow
from bdt_core.clustering.outcome import Moments, WholeScale
from bdt_core.clustering.split import Integers, Layout, Prototypes, Splits, Statistics, prototypes
from bdt_core.clustering.splitters import halves_of
from bdt_core.clustering.starts import Candidates, Dense, densest_start, joined_candidates
from bdt_core.clustering.two_means import Found, best_split, refine
from bdt_core.clustering.working import (
    Fit,
    Kept,
    Working,
    ask,
    bytes_per_row,
    candidates_of,
    densest_of,
    forget,
    moments_of,
    spans_of,
    statistics_of,
    steps_of,
)
from bdt_core.errors import SpecError
from bdt_core.inference.exact_sums import Span, Step, span_of, step_of_distances, step_of_squares
from bdt_core.shards.engine import ShardEngine
from bdt_core.shards.shard import Shard
from bdt_core.shards.table import ShardedTable
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.encoding import fit_encoder

if TYPE_CHECKING:
    from bdt_core.clustering.hbac import HBAC  # scikit-learn takes a worker a second to load, and is of no use to it

T = TypeVar("T")


def fit_sharded(model: HBAC, train: ShardedTable, *, progress: Progress | None = None) -> HBAC:
    """Find the clusters of the train rows.

    Parameters
    ----------
    model : HBAC
        Its settings; ``labels_`` is not set.
    train : ShardedTable
    progress : callable, optional

    Returns
    -------
    HBAC
        The model.
    """
    if model.engine == "reference":
        raise SpecError(
            '"clustering.engine: reference" runs libraries that need all rows in memory. Use "engine: bdt", or '
            '"memory: in_memory".'
        )
    settings = checked_settings(model)
    names = train.names("feature")
    kinds = {one.name: one.kind for one in train.columns if one.kind is not None and one.name in names}
    method = settled_method(model.method, kinds, model.engine)
    if method == "kmodes":
        kinds = dict.fromkeys(names, "categorical")
    encoder = fit_encoder(
        lambda function: train.map_blocks(partial(_on_features, function)),
        names,
        kinds,
        scale=model.scale,
        dtype=model.dtype,
    )
    layout = Layout.of(encoder)
    scale = WholeScale.fit(
        reduce(Span.__add__, train.map_blocks(_span, [BIAS_VARIABLE])),
        model.better,
        lambda blank, step: sum(train.map_blocks(partial(_count_units, scale=blank, step=step), [BIAS_VARIABLE])),
    )
    held = train.audited_rows * bytes_per_row(encoder)
    fit = Fit(uuid.uuid4().hex, train.header, encoder, layout, scale, in_files=held > train.engine.room)
    splitter = ShardSplitter(
        fit,
        train.shards,
        train.engine,
        n_init=model.n_init,
        seed=settings.seed,
        min_rows=settings.min_rows(encoder.rows),
    )
    try:
        grown = grow(
            splitter,
            max_iter=model.max_iter,
            min_rows=settings.min_rows(encoder.rows),
            margin=float(model.margin),
            progress=progress,
        )
        tree = finish(grown, splitter.moments_of_nodes(grown), model.better, encoder, layout)
    finally:
        forget(fit.id)
    return model.adopt(tree, encoder, method, named=True)


class ShardSplitter:
    """k-means, k-modes and k-prototypes on the rows of shards; see `bdt_core.clustering.grow.Splitter`."""

    def __init__(
        self, fit: Fit, shards: Sequence[Shard], engine: ShardEngine, *, n_init: int, seed: int, min_rows: int
    ) -> None:
        self.fit = fit
        self.shards = shards
        self.engine = engine
        self.n_init = n_init
        self.seed = seed
        self.min_rows = min_rows
        self.kept: tuple[Kept, ...] = ()

    def ask(self, question: Callable[[Working], T]) -> list[T]:
        """The answers of all shards."""
        return self.engine.map(partial(ask, self.fit, self.kept, question), self.shards)

    def centre(self) -> tuple[Prototypes, Statistics]:
        everything = Splits.all_to_b(self.fit.layout, np.dtype(self.fit.encoder.dtype))
        whole = ShardNode(self, 1, 0).statistics(everything)
        return prototypes(whole, self.fit.layout), whole

    def moments(self) -> Moments:
        return reduce(Moments.__add__, self.ask(partial(moments_of, position=1, split=None)))

    def propose(self, node: Grown) -> Halves | None:
        rows = ShardNode(self, node.position, node.rows)
        layout = self.fit.layout
        found = best_split(rows, node.memory, layout, (self.seed, node.position), self.n_init, self.min_rows)
        return None if found is None else halves_of(found, node.memory, layout)

    def moments_of_b(self, node: Grown, halves: Halves) -> Moments:
        return reduce(Moments.__add__, self.ask(partial(moments_of, position=node.position, split=halves.split)))

    def partition(self, node: Grown, halves: Halves, *, last: bool) -> None:  # noqa: ARG002
        self.kept = (*self.kept, Kept(node.position, halves.split))

    def moments_of_nodes(self, grown: list[Grown]) -> list[tuple[float, float]]:
        """Mean and standard deviation of the bias variable in each node, in its own units."""
        positions = [node.position for node in grown]
        spans = _added(self.ask(spans_of), Span())
        distances = {position: step_of_distances(spans[position]) for position in positions}
        sums = _added(self.ask(partial(steps_of, steps=distances)), 0)
        means = {one: distances[one].total(sums[one]) / spans[one].rows for one in positions}
        squares = {one: step_of_squares(spans[one], means[one]) for one in positions}
        counts = _added(self.ask(partial(steps_of, steps=squares)), 0)
        return [
            (spans[one].low + means[one], math.sqrt(squares[one].total(counts[one]) / spans[one].rows))
            for one in positions
        ]


@dataclass(frozen=True)
class ShardNode:
    """The rows of one node; see `bdt_core.clustering.two_means.NodeRows`."""

    splitter: ShardSplitter
    position: int
    rows: int

    def statistics(self, splits: Splits) -> Statistics:
        """Statistics of side b of each split: one pass over the rows."""
        return reduce(
            Statistics.__add__, self.splitter.ask(partial(statistics_of, position=self.position, splits=splits))
        )

    def candidates(self, key: np.uint64, limit: np.uint64, size: int) -> Candidates:
        question = partial(candidates_of, position=self.position, key=key, limit=limit, size=size)
        return joined_candidates(self.splitter.ask(question), size)

    def refine(self, a: Prototypes, b: Prototypes, whole: Statistics, layout: Layout, tolerance: float) -> list[Found]:
        return refine(self.statistics, a, b, whole, layout, tolerance, np.dtype(self.splitter.fit.encoder.dtype))

    def densest_start(self, whole: Statistics, layout: Layout) -> tuple[Prototypes, Prototypes]:  # noqa: ARG002
        def search(first: Integers) -> Dense:
            answers = self.splitter.ask(partial(densest_of, position=self.position, whole=whole, first=first))
            return max((one for one in answers if one is not None), key=lambda one: one.order)

        return densest_start(search)


def _on_features(function: Callable[[pd.DataFrame], T], block: AuditTable) -> T:
    return function(block.X)


def _span(block: AuditTable) -> Span:
    return span_of(block.y)


def _count_units(block: AuditTable, scale: WholeScale, step: Step) -> int:
    return step.count(scale.unit_values(block.y))


def _added(parts: Sequence[dict[int, T]], nothing: T) -> dict[int, T]:
    total: dict[int, T] = {}
    for part in parts:
        for position, value in part.items():
            total[position] = total.get(position, nothing) + value  # type: ignore[operator]
    return total
