"""Ranks of rows in shards: those of the whole table, whatever shards and buckets are, here and in an object store."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bdt_core.errors import UnreachableError
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.occurrences import bucket_count, write_hashes, write_ranks
from bdt_core.shards.scratch import scratch_folder
from bdt_core.shards.shard import Shard, process_folder
from bdt_core.table.ranks import occurrence_numbers, rank_rows


def hashes_of(rows, different, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**64, different, dtype=np.uint64)
    values[: min(3, different)] = np.array([0, 2**64 - 1, 2**63], dtype=np.uint64)[:different]
    return rng.choice(values, rows)


def ranked(hashes, cuts, buckets, folder):
    bounds = [0, *sorted(cuts), len(hashes)]
    parts = [hashes[first:last] for first, last in itertools.pairwise(bounds)]
    shards = [Shard(str(folder), number, len(part)) for number, part in enumerate(parts)]
    with LocalEngine(2) as engine:
        found = [write_hashes(shard, part, buckets) for shard, part in zip(shards, parts, strict=True)]
        write_ranks(shards, found, engine)
    return np.concatenate([shard.read_array("ranks.npy") for shard in shards])


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 400),
    different=st.integers(1, 400),
    cuts=st.lists(st.integers(0, 400), max_size=6),
    buckets=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_ranks_are_those_of_the_whole_table(rows, different, cuts, buckets, seed):
    hashes = hashes_of(rows, different, seed)
    with scratch_folder() as folder:
        found = ranked(hashes, [min(cut, rows) for cut in cuts], buckets, folder)
        assert {one.name.split(".", 1)[1] for one in folder.iterdir() if "." in one.name} == {"ranks.npy"}
    np.testing.assert_array_equal(found, rank_rows(hashes, occurrence_numbers(hashes)))
    assert len(np.unique(found)) == rows


def test_in_an_object_store_nothing_of_other_shards_is_copied(bucket):
    hashes = hashes_of(500, 200, 0)
    before = set(process_folder().iterdir())
    found = ranked(hashes, [100, 300], 7, bucket)
    np.testing.assert_array_equal(found, rank_rows(hashes, occurrence_numbers(hashes)))
    copied = {one.name.split(".", 1)[1] for one in set(process_folder().iterdir()) - before}
    assert copied == {"ranks.npy"}


def test_pairs_that_end_early_or_are_gone_are_named(tmp_path):
    shard = Shard(str(tmp_path), 0, 3)
    shard.write_pairs("distinct.pairs", np.array([1, 2, 3]), np.array([2**63, 1, 1], dtype=np.uint64))
    assert shard.read_pairs("distinct.pairs", 0, 2).tolist() == [[1, 2**63], [2, 1]]
    assert shard.read_pairs("distinct.pairs", 3, 3).shape == (0, 2)
    with pytest.raises(UnreachableError, match=r"000000\.distinct\.pairs is gone or damaged"):
        shard.read_pairs("distinct.pairs", 2, 4)
    shard.remove("distinct.pairs")
    with pytest.raises(UnreachableError, match=r"000000\.distinct\.pairs is gone or damaged"):
        shard.read_pairs("distinct.pairs", 0, 1)


def test_very_large_tables_have_few_buckets():
    """Each reads a piece of every shard, of a million rows each; and is sorted in memory."""
    pieces = {rows: bucket_count(rows) * rows // 1_000_000 for rows in (10**8, 10**9, 10**10)}
    assert pieces[10**8] == 5_000
    assert pieces[10**9] <= 100_000
    assert pieces[10**10] <= 10_000_000
    assert 10**10 // bucket_count(10**10) * 4 * 16 <= 2**30
