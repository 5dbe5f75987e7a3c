"""Shards whose files lie in a real object store, and what is said when it cannot give them."""

from __future__ import annotations

import fsspec
import pandas as pd
import pytest

from bdt_core.errors import UnreachableError
from bdt_core.shards.shard import Shard, process_folder
from tests.object_store import SECRET

FRAME = pd.DataFrame({"age": [20.5, 30.0], "town": ["x", "y"]})


@pytest.fixture
def shard(bucket: str) -> Shard:
    shard = Shard(bucket, 0, len(FRAME))
    shard.write_frame("table.arrow", FRAME)
    return shard


def copies() -> set[str]:
    return {one.name for one in process_folder().iterdir()}


def test_what_is_written_is_read_from_a_copy(shard: Shard) -> None:
    before = copies()
    pd.testing.assert_frame_equal(shard.read_frame("table.arrow"), FRAME, check_dtype=False)
    (copy,) = copies() - before
    assert copy.endswith("000000.table.arrow")
    shard.remove("table.arrow")
    assert copies() == before


def test_a_file_that_is_gone_is_named(shard: Shard) -> None:
    before = copies()
    shard.remove("table.arrow")
    with pytest.raises(UnreachableError, match=r"000000\.table\.arrow is gone or damaged.*run the audit again"):
        shard.read_frame("table.arrow")
    assert copies() == before


def test_a_store_that_does_not_answer_is_named_with_its_reason(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    before = copies()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(
        UnreachableError, match=r"000000\.table\.arrow cannot be read: \w+:.*object store answers"
    ) as told:
        shard.read_frame("table.arrow")
    assert SECRET not in str(told.value)
    assert copies() == before
