"""Where the search starts from: rows far apart (k-means++)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from bdt_core.local_bias import kernels
from bdt_core.local_bias.metrics import Floats


def kmeans_plus_plus(
    numeric: npt.NDArray[np.floating[Any]], k: int, generator: np.random.Generator
) -> npt.NDArray[np.floating[Any]]:
    """Rows far apart to start k-means from.

    Each further row is drawn with a probability in proportion to its squared distance from the nearest row drawn so
    far; of 2 + ln k candidates the one that lowers the sum of these distances most is taken (the greedy variant of
    Arthur and Vassilvitskii, section 6).

    Parameters
    ----------
    numeric : array of shape (p, n)
    k : int
    generator : numpy Generator

    Returns
    -------
    ndarray of shape (at most k, p)
        Fewer than k when there are fewer different rows.
    """
    candidates = 2 + int(math.log(k))
    chosen = [int(generator.integers(numeric.shape[1]))]
    nearest = _distances(numeric, np.array(chosen))[0]
    while len(chosen) < k:
        total = np.cumsum(nearest)
        if total[-1] <= 0.0:
            break
        drawn = np.searchsorted(total, generator.random(candidates) * total[-1], side="right")
        drawn = np.minimum(drawn, len(total) - 1)
        closer = np.minimum(_distances(numeric, drawn), nearest)
        best = int(closer.sum(axis=1).argmin())
        if closer[best].sum() >= total[-1]:
            # A candidate that rounding drew at distance 0.
            drawn[best] = int(nearest.argmax())
            closer[best] = np.minimum(_distances(numeric, drawn[best : best + 1])[0], nearest)
        chosen.append(int(drawn[best]))
        nearest = closer[best]
    return np.ascontiguousarray(numeric[:, chosen].T)


def _distances(numeric: npt.NDArray[np.floating[Any]], rows: npt.NDArray[Any]) -> Floats:
    distances = np.empty((len(rows), numeric.shape[1]))
    kernels.squared_distances(numeric, np.ascontiguousarray(numeric[:, rows].T), distances)
    return distances
