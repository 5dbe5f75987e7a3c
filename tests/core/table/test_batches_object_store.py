"""Batches from a real object store, which is started by the test."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bdt_core.errors import SourceError
from bdt_core.table.batches import measure_source, open_batches
from bdt_core.table.sources import read_table
from tests.object_store import SECRET

FRAME = pd.DataFrame({"id": range(9), "age": [None, *range(20, 28)], "sex": pd.Categorical(list("fmfmfmxfm"))})


class Others:
    """Somebody else who writes into the bucket and deletes from it."""

    def __init__(self, bucket: str) -> None:
        import boto3

        self._client: Any = boto3.client("s3")
        self._name, self._folder = bucket.removeprefix("s3://").split("/")

    def put(self, key: str, body: bytes) -> None:
        self._client.put_object(Bucket=self._name, Key=f"{self._folder}/{key}", Body=body)

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self._name, Key=f"{self._folder}/{key}")


def test_batches_from_a_bucket(bucket: str) -> None:
    others = Others(bucket)
    for i in range(3):
        part = FRAME[3 * i : 3 * i + 3]
        others.put(f"loans/year={2020 + i}/part.parquet", part.to_parquet(index=False, row_group_size=2))
        others.put(f"days/{i}.csv", part.to_csv(index=False).encode())
    for path in (f"{bucket}/loans", f"{bucket}/loans/*/part.parquet", f"{bucket}/days/*.csv"):
        whole = read_table(path)
        assert whole["id"].tolist() == list(range(9))
        with open_batches(path, batch_rows=4) as batches:
            pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), whole)
        assert measure_source(path).rows == (None if "days" in path else 9)
    assert read_table(f"{bucket}/loans")["year"].cat.categories.tolist() == [2020, 2021, 2022]


def test_an_object_that_is_deleted_written_again_or_broken_is_named(bucket: str) -> None:
    others = Others(bucket)
    body = FRAME.to_parquet(index=False)
    for i in range(4):
        others.put(f"own/{i}.parquet", body)
    batches = iter(open_batches(f"{bucket}/own", batch_rows=9))
    next(batches)
    others.delete("own/2.parquet")
    next(batches)
    with pytest.raises(SourceError, match=r"File 3 of 4: s3://audits/.*/own/2\.parquet was deleted while") as caught:
        next(batches)
    assert SECRET not in str(caught.value)
    others.put("own/2.parquet", body)
    batches = iter(open_batches(f"{bucket}/own", batch_rows=9))
    others.put("own/1.parquet", FRAME[::-1].to_parquet(index=False))
    next(batches)
    with pytest.raises(SourceError, match=r"File 2 of 4: .*1\.parquet was written again while"):
        next(batches)
    others.put("own/3.parquet", body[:-9])
    for read in (read_table, open_batches, measure_source):
        with pytest.raises(SourceError, match=r"File 4 of 4: .*3\.parquet cannot be read as Parquet"):
            read(f"{bucket}/own")
