"""Occurrences of equal rows, numbered over all shards, so that equal rows have ranks of their own.

Every shard writes its distinct hashes, sorted, with their numbers. A bucket, that is a range of hashes, is then one
stretch of each of these files: what earlier shards have of a hash is added up there, and read by the later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdt_core.shards.engine import ShardEngine
from bdt_core.shards.shard import Shard
from bdt_core.table.ranks import Hashes, occurrence_numbers, rank_rows

_LEAST_ROWS, _MOST_ROWS = 2_000_000, 16_000_000
"""Hashes of a bucket: few enough to stay in a cache; more in a very large table, for every bucket meets every shard."""
_BUCKETS = 64
_HASHES, _DISTINCT, _EARLIER = "hashes.npy", "distinct.pairs", "earlier.bucket.pairs"
_OF_BUCKETS, _OF_SHARDS = "buckets.bounds.npy", "shards.bounds.npy"


def bucket_count(rows: int) -> int:
    """Into how many buckets the hashes of so many rows go.

    Examples
    --------
    >>> [bucket_count(rows) for rows in (1, 100_000_000, 1_000_000_000, 10_000_000_000)]
    [1, 50, 64, 625]
    """
    return max(1, -(-rows // min(max(rows // _BUCKETS, _LEAST_ROWS), _MOST_ROWS)))


def write_hashes(shard: Shard, hashes: Hashes, buckets: int) -> NDArray[np.int64]:
    """Write the content hash of every row, in the order of the rows, and the distinct ones with their numbers.

    Returns
    -------
    int64 ndarray of shape (buckets + 1,)
        Where each bucket begins among the distinct ones, and how many these are.
    """
    unique, counts = np.unique(hashes, return_counts=True)
    shard.write_array(_HASHES, hashes)
    shard.write_pairs(_DISTINCT, unique, counts)
    begins = np.array([bucket * 2**64 // buckets for bucket in range(buckets)], dtype=np.uint64)
    return np.append(np.searchsorted(unique, begins), len(unique))


def write_ranks(shards: Sequence[Shard], bounds: Sequence[NDArray[np.int64]], engine: ShardEngine) -> None:
    """Turn the hashes of all shards into ranks; see `bdt_core.table.ranks.rank_rows`.

    Parameters
    ----------
    shards : sequence of Shard
    bounds : sequence of int64 ndarray
        What `write_hashes` returned for each.
    engine : ShardEngine
    """
    shared = Shard(shards[0].folder, 0, 0)
    shared.write_array(_OF_BUCKETS, np.stack(bounds))
    # A bucket's work is no shard's: it is done by whoever has the shard of that number.
    buckets = [Shard(shared.folder, bucket, 0) for bucket in range(len(bounds[0]) - 1)]
    shared.write_array(_OF_SHARDS, np.stack(engine.map(partial(_count_earlier, shards=len(shards)), buckets)))
    engine.map(_rank_shard, shards)
    shared.remove(_OF_BUCKETS, _OF_SHARDS)
    for bucket in buckets:
        bucket.remove(_EARLIER)
    for shard in shards:
        shard.remove(_HASHES, _DISTINCT)


def _count_earlier(bucket: Shard, shards: int) -> NDArray[np.int64]:
    """For each shard, the hashes in this bucket that earlier shards have, too, and how often; where they begin."""
    bounds = Shard(bucket.folder, 0, 0).read_array(_OF_BUCKETS)[:, bucket.number : bucket.number + 2].tolist()
    pairs = [Shard(bucket.folder, number, 0).read_pairs(_DISTINCT, *bounds[number]) for number in range(shards)]
    place = np.repeat(np.arange(shards, dtype=np.uint32), [len(one) for one in pairs])
    value, count = np.ascontiguousarray(np.concatenate(pairs).T)
    del pairs
    order = np.argsort(value, kind="stable")  # equal hashes stay in the order of the shards
    value, count, place = value[order], count[order], place[order]
    before = np.cumsum(count) - count
    is_first = np.concatenate([[True], value[1:] != value[:-1]])[: len(value)]
    first = np.flatnonzero(is_first)
    earlier = before - before[first][np.cumsum(is_first) - 1] if len(value) else before
    again = np.flatnonzero(~is_first)
    again = again[np.argsort(place[again], kind="stable")]
    bucket.write_pairs(_EARLIER, value[again], earlier[again])
    return np.searchsorted(place[again], np.arange(shards + 1))


def _rank_shard(shard: Shard) -> None:
    shared = Shard(shard.folder, 0, 0)
    hashes = np.array(shard.read_array(_HASHES))
    has_copies = shared.read_array(_OF_BUCKETS)[shard.number, -1] < shard.rows
    number = occurrence_numbers(hashes) if has_copies else np.zeros(len(hashes), dtype=np.uint64)
    bounds = shared.read_array(_OF_SHARDS)[:, shard.number : shard.number + 2].tolist()
    # Hashes that earlier shards have, too, rising, and how often.
    pairs = [Shard(shard.folder, bucket, 0).read_pairs(_EARLIER, *bounds[bucket]) for bucket in range(len(bounds))]
    known, earlier = np.ascontiguousarray(np.concatenate(pairs).T)
    if len(known):
        at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        number += np.where(known[at] == hashes, earlier[at], np.uint64(0))
    shard.write_array("ranks.npy", rank_rows(hashes, number))
    shard.forget(_HASHES)
