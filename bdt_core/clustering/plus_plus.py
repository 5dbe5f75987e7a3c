"""k-means++: rows far apart to start from (Arthur & Vassilvitskii 2007)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]


def drawn_by_weight(weights: Floats, uniform: Floats) -> Positions:
    """Positions drawn with probability in proportion to weights; of weights that are all 0, the last."""
    return _drawn(np.cumsum(weights), uniform)


def rows_far_apart(
    first: int, draws: Floats, squared_distances: Callable[[npt.NDArray[Any]], Floats], weights: Floats | None = None
) -> list[int]:
    """`first`, and a further row for each row of the uniform `draws`, shape (further rows, candidates).

    A candidate is drawn with a probability in proportion to its weight times its squared distance from the nearest
    row so far; of several the one that lowers the sum of these products most is taken (the greedy variant of section
    6). Fewer rows come back when there are fewer different ones. `squared_distances` gives shape (m, n): of m rows
    from all.
    """

    def weighted(rows: npt.NDArray[Any]) -> Floats:
        distances = squared_distances(rows)
        return distances if weights is None else weights * distances

    chosen = [first]
    nearest = weighted(np.array(chosen))[0]
    for uniform in draws:
        total = np.cumsum(nearest)
        if total[-1] <= 0.0:
            break
        drawn = _drawn(total, uniform)
        if draws.shape == (1, 1):  # no candidate to choose, and no further row to draw
            return [first, int(drawn[0])]
        closer = np.minimum(weighted(drawn), nearest)
        best = int(closer.sum(axis=1).argmin())
        if closer[best].sum() >= total[-1]:
            # A candidate that rounding drew at distance 0.
            drawn[best] = int(nearest.argmax())
            closer[best] = np.minimum(weighted(drawn[best : best + 1])[0], nearest)
        chosen.append(int(drawn[best]))
        nearest = closer[best]
    return chosen


def _drawn(total: Floats, uniform: Floats) -> Positions:
    drawn: Positions = np.searchsorted(total, uniform * total[-1], side="right")
    return np.minimum(drawn, len(total) - 1)
