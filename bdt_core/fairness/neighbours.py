"""Exact nearest neighbours with ties: a KD-tree in few dimensions, blocks of a distance matrix in many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TREE_UP_TO = 10
"""Above this number of dimensions a tree visits most points anyway, and a matrix product is faster."""

_TIE = 1e-9
_ABSOLUTE = 1e-12
_BLOCK = 4_000_000
_CHUNKS = 512
_SINGLE_UP_TO = 1e4
_FAR = 1e30


def mean_of_nearest(points: Floats, others: Floats, values: NDArray[np.bool_], k: int, workers: int = 1) -> Floats:
    """Share of true values among the k nearest others of each point.

    Parameters
    ----------
    points, others : ndarray of shape (n, p) and (m, p), m >= k
    values : ndarray of bool, shape (m,)
        Of the others.
    k : int
    workers : int
        Threads of the tree search.

    Returns
    -------
    ndarray of shape (n,)
        Others that tie for the last places (within 1e-9, relatively) fill them with their mean.

    Examples
    --------
    >>> x = np.array([[0.0], [1.0], [1.0], [5.0]])
    >>> mean_of_nearest(np.array([[0.0]]), x, np.array([True, False, True, True]), 2).tolist()
    [0.75]
    """
    # Equal points are one, with a number of rows: categories alone would otherwise tie by the thousands.
    places, place = np.unique(others, axis=0, return_inverse=True)
    rows = np.bincount(place, minlength=len(places))
    trues = np.bincount(place, weights=values, minlength=len(places))
    asked, back = np.unique(points, axis=0, return_inverse=True)
    if points.shape[1] <= TREE_UP_TO:
        share = _by_tree(asked, places, rows, trues, k, workers)
    else:
        share = _by_blocks(asked, places, rows, trues, k)
    return share[back]


def _by_tree(asked: Floats, places: Floats, rows: NDArray[Any], trues: NDArray[Any], k: int, workers: int) -> Floats:
    from scipy.spatial import cKDTree

    tree = cKDTree(places)
    share = np.empty(len(asked))
    left, fetched = np.arange(len(asked)), k + 1
    while left.size:
        fetched = min(fetched, len(places))
        distance, index = tree.query(asked[left], fetched, workers=workers)
        distance, index = np.reshape(distance, (-1, fetched)), np.reshape(index, (-1, fetched))
        reached = np.cumsum(rows[index], axis=1)
        last = distance[np.arange(left.size), np.argmax(reached >= k, axis=1)]
        # All ties are known once a farther place was seen, or all places were.
        done = (reached[:, -1] >= k) & ((distance[:, -1] > _beyond(last)) | (fetched == len(places)))
        row = np.repeat(np.arange(int(done.sum())), fetched)
        near = index[done].ravel()
        share[left[done]] = _share(row, distance[done].ravel(), rows[near], trues[near], k)
        left, fetched = left[~done], 4 * fetched
    return share


def _by_blocks(asked: Floats, places: Floats, rows: NDArray[Any], trues: NDArray[Any], k: int) -> Floats:
    share = np.empty(len(asked))
    squares = np.square(places).sum(axis=1)
    chunks = min(len(places), _CHUNKS)
    width = -(-len(places) // chunks)  # places c, c + chunks, c + 2 chunks, ... are chunk c
    # Single precision only finds candidates, which are then measured exactly; far-out places would leave too many.
    kind = np.float32 if squares.max() < _SINGLE_UP_TO else np.float64
    left, right = (np.zeros((size, places.shape[1] + 1), dtype=kind) for size in (len(asked), width * chunks))
    # One product gives squared distances, less the squared length of the point itself.
    left[:, :-1], left[:, -1] = -2.0 * asked, 1.0
    right[: len(places), :-1], right[: len(places), -1], right[len(places) :, -1] = places, squares, _FAR
    own = np.square(asked).sum(axis=1)
    error = (places.shape[1] + 8) * float(np.finfo(kind).eps) * (own + 2.0 * squares.max())
    size = max(1, _BLOCK // len(right))
    for begin in range(0, len(asked), size):
        block = slice(begin, begin + size)
        partial = left[block] @ right.T
        minima = partial.reshape(len(partial), width, chunks).min(axis=1)
        # The k-th smallest of the chunks' minima is no less than the k-th smallest of all.
        bound = np.partition(minima, min(k, chunks) - 1, axis=1)[:, min(k, chunks) - 1].astype(np.float64)
        if k > chunks:
            bound[:] = squares.max() + 2.0 * np.sqrt(own[block] * squares.max())
        # Room for ties and for the rounding of the product.
        bound += 2.0 * error[block] + 1e-8 * np.abs(bound + own[block]) + 1e-9
        row, chunk = np.nonzero(minima <= bound[:, None])
        near = chunk[:, None] + chunks * np.arange(width)
        inside = partial[row[:, None], near] <= bound[row, None]
        row, near = np.repeat(row, width)[inside.ravel()], near[inside]
        distance = np.sqrt(np.square(asked[block][row] - places[near]).sum(axis=1))
        share[block] = _share(row, distance, rows[near], trues[near], k)
    return share


def _share(row: NDArray[np.intp], distance: Floats, rows: NDArray[Any], trues: NDArray[Any], k: int) -> Floats:
    """Share of true values among the k nearest, from candidates that hold all of them; ``row`` rises."""
    order = np.lexsort((distance, row))
    distance, rows, trues = distance[order], rows[order], trues[order]
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    total = np.cumsum(rows)
    before = np.repeat(total[starts] - rows[starts], np.diff(np.append(starts, row.size)))
    # The first candidate by which k rows are reached sets the distance of the last place.
    reaches = (total - before >= k) & (total - rows - before < k)
    last = distance[reaches][row]
    nearer = distance < last * (1.0 - _TIE) - _ABSOLUTE
    tied = ~nearer & (distance <= _beyond(last))
    count = len(starts)
    inside, hits = (np.bincount(row, np.where(nearer, one, 0.0), count) for one in (rows, trues))
    tied_rows, tied_hits = (np.bincount(row, np.where(tied, one, 0.0), count) for one in (rows, trues))
    share: Floats = (hits + (k - inside) * tied_hits / tied_rows) / k
    return share


def _beyond(last: Floats) -> Floats:
    return last * (1.0 + _TIE) + _ABSOLUTE
