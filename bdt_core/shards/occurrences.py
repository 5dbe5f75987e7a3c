"""Which occurrence of its content a row is, over all shards, so that equal rows have ranks of their own.

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

BUCKET_ROWS = 2_000_000
"""Hashes that are sorted at a time: few enough to stay in a cache, and in little memory."""
_HASHES, _UNIQUE, _COUNTS = "hashes.npy", "unique.npy", "counts.npy"


def write_hashes(shard: Shard, hashes: Hashes) -> None:
    """Write the content hash of every row, in the order of the rows, and the distinct ones with their numbers."""
    unique, counts = np.unique(hashes, return_counts=True)
    shard.write_array(_HASHES, hashes)
    shard.write_array(_UNIQUE, unique)
    shard.write_array(_COUNTS, counts.astype(np.uint64))


def write_ranks(shards: Sequence[Shard], engine: ShardEngine) -> None:
    """Turn the hashes of all shards into ranks; see `bdt_core.table.ranks.rank_rows`."""
    buckets = max(1, -(-sum(one.rows for one in shards) // BUCKET_ROWS))
    # A bucket's work is no shard's: it is done by whoever has the shard of that number.
    numbered = [Shard(shards[0].folder, bucket, 0) for bucket in range(buckets)]
    engine.map(partial(_count_earlier, shards=tuple(shards), buckets=buckets), numbered)
    engine.map(partial(_rank_shard, buckets=buckets), shards)
    for bucket in numbered:
        bucket.remove(*(f"{what}.bucket.npy" for what in ("places", "known", "earlier")))
    for shard in shards:
        shard.remove(_HASHES, _UNIQUE, _COUNTS)


def _count_earlier(bucket: Shard, shards: Sequence[Shard], buckets: int) -> None:
    """For each shard, the hashes in this bucket that earlier shards have, too, and how often."""
    hashes, counts, places = [], [], []
    for number, shard in enumerate(shards):
        unique = shard.read_array(_UNIQUE)
        part = _stretch(unique, bucket.number, buckets)
        hashes.append(np.array(unique[part]))
        counts.append(np.array(shard.read_array(_COUNTS)[part]))
        places.append(np.full(len(hashes[-1]), number, dtype=np.uint32))
    value, count, place = (np.concatenate(several) for several in (hashes, counts, places))
    order = np.argsort(value, kind="stable")  # equal hashes stay in the order of the shards
    value, count, place = value[order], count[order], place[order]
    before = np.cumsum(count) - count
    is_first = np.concatenate([[True], value[1:] != value[:-1]])[: len(value)]
    first = np.flatnonzero(is_first)
    earlier = before - before[first][np.cumsum(is_first) - 1] if len(value) else before
    again = np.flatnonzero(~is_first)
    again = again[np.argsort(place[again], kind="stable")]
    for what, values in (("places", place[again]), ("known", value[again]), ("earlier", earlier[again])):
        bucket.write_array(f"{what}.bucket.npy", values)


def _rank_shard(shard: Shard, buckets: int) -> None:
    hashes = np.array(shard.read_array(_HASHES))
    has_copies = shard.rows > 0 and int(shard.read_array(_COUNTS).max()) > 1
    number = occurrence_numbers(hashes) if has_copies else np.zeros(len(hashes), dtype=np.uint64)
    known, earlier = _seen_before(shard, buckets)
    if len(known):
        at = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
        number += np.where(known[at] == hashes, earlier[at], np.uint64(0))
    shard.write_array("ranks.npy", rank_rows(hashes, number))


def _seen_before(shard: Shard, buckets: int) -> tuple[Hashes, Hashes]:
    """Hashes of a shard that earlier shards have, too, rising, and how often."""
    known: list[NDArray[np.uint64]] = []
    earlier: list[NDArray[np.uint64]] = []
    for bucket in range(buckets):
        of_bucket = Shard(shard.folder, bucket, 0)
        places = of_bucket.read_array("places.bucket.npy")
        part = slice(*np.searchsorted(places, [shard.number, shard.number + 1]))
        known.append(np.array(of_bucket.read_array("known.bucket.npy")[part]))
        earlier.append(np.array(of_bucket.read_array("earlier.bucket.npy")[part]))
    return np.concatenate(known), np.concatenate(earlier)


def _stretch(ordered: Hashes, bucket: int, buckets: int) -> slice:
    bounds = [bucket * 2**64 // buckets, (bucket + 1) * 2**64 // buckets]
    low = int(np.searchsorted(ordered, np.uint64(bounds[0])))
    high = len(ordered) if bounds[1] == 2**64 else int(np.searchsorted(ordered, np.uint64(bounds[1])))
    return slice(low, high)
