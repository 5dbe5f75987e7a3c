"""Learn an encoding from rows that come in blocks: to the bit what `Encoder.fit` learns from all of them at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from bdt_core.inference.exact_sums import Floats, Span, Step, step_of_distances, step_of_squares
from bdt_core.table.categorical import CategoricalColumn, count_levels, positions_of, ranked_levels
from bdt_core.table.encoding import Encoder
from bdt_core.table.frames import Kind
from bdt_core.table.numeric import NumericColumn, numbers_in_turn

T = TypeVar("T")


class MapFrames(Protocol):
    """Applies a function to the features of every block."""

    def __call__(self, function: Callable[[pd.DataFrame], T], /) -> list[T]: ...


def fit_encoder(
    map_frames: MapFrames, names: Sequence[str], kinds: Mapping[str, Kind], *, scale: bool, dtype: str = "float32"
) -> Encoder:
    """Learn the encoding in three passes: spans and levels, means, standard deviations.

    Parameters
    ----------
    map_frames : callable
    names : sequence of str
        Columns in the order given.
    kinds : mapping of str to Kind
        Of each of them.
    scale : bool
    dtype : {"float32", "float64"}

    Returns
    -------
    Encoder
    """
    numeric = [name for name in sorted(names) if kinds[name] == "numeric"]
    categorical = [name for name in sorted(names) if kinds[name] == "categorical"]
    facts = reduce(_Facts.__add__, map_frames(partial(_look, numeric=numeric, categorical=categorical)))
    distances = {name: step_of_distances(facts.spans[name]) for name in numeric}
    sums = _counted(map_frames, distances)
    means = {
        name: distances[name].total(sums[name]) / facts.spans[name].rows if facts.spans[name].rows else 0.0
        for name in numeric
    }
    squares = {name: step_of_squares(facts.spans[name], means[name]) for name in numeric}
    counts = _counted(map_frames, squares)
    numbers = []
    for name in numeric:
        span, missing = facts.spans[name], facts.rows - facts.spans[name].rows
        mean = span.low + means[name] if span.rows else 0.0
        std = math.sqrt(squares[name].total(counts[name]) / span.rows) if span.rows else 0.0
        numbers.append(NumericColumn(name, mean, std, missing / facts.rows if missing else None))
    categories = [CategoricalColumn(name, ranked_levels(name, facts.levels[name])) for name in categorical]
    return Encoder(tuple(names), tuple(numbers), tuple(categories), facts.rows, scale, dtype)


@dataclass(frozen=True)
class _Facts:
    rows: int
    spans: dict[str, Span]
    levels: dict[str, Counter[str | None]]

    def __add__(self, other: _Facts) -> _Facts:
        return _Facts(
            self.rows + other.rows,
            {name: span + other.spans[name] for name, span in self.spans.items()},
            {name: levels + other.levels[name] for name, levels in self.levels.items()},
        )


def _look(frame: pd.DataFrame, numeric: Sequence[str], categorical: Sequence[str]) -> _Facts:
    spans = {}
    for one in numbers_in_turn(frame, numeric) if len(frame) else ():
        known = len(frame) - (int(np.isnan(one.values).sum()) if one.missing else 0)
        spans[one.name] = Span(known, one.low + 0.0, one.high + 0.0) if known else Span()
    levels = {name: Counter(count_levels(positions_of(frame[name]))) for name in categorical}
    return _Facts(len(frame), {name: spans.get(name, Span()) for name in numeric}, levels)


def _counted(map_frames: MapFrames, steps: Mapping[str, Step]) -> dict[str, int]:
    """Steps of every column, over all blocks."""
    if not steps:
        return {}
    parts = map_frames(partial(_count, steps=steps))
    return {name: sum(one[name] for one in parts) for name in steps}


def _count(frame: pd.DataFrame, steps: Mapping[str, Step]) -> dict[str, int]:
    if not len(frame):
        return dict.fromkeys(steps, 0)
    return {one.name: steps[one.name].count(_known(one)) for one in numbers_in_turn(frame, list(steps))}


def _known(numbers: Any) -> Floats:
    values: Floats = numbers.values
    return values[~np.isnan(values)] if numbers.missing else values
