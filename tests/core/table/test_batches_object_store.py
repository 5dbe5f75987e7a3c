"""Batches from a real object store, which is started by the test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from bdt_core.errors import SourceError
from bdt_core.table.batches import measure_source, open_batches, read_batches
from bdt_core.table.sources import read_table

FRAME = pd.DataFrame({"id": range(9), "age": [None, *range(20, 28)], "sex": pd.Categorical(list("fmfmfmxfm"))})


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client and the bucket "batches" on a local S3 server."""
    import boto3
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "topsecret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="batches")
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    yield client
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    server.stop()


def test_batches_from_a_bucket(bucket: Any) -> None:
    for i in range(3):
        part = FRAME[3 * i : 3 * i + 3]
        key = f"loans/year={2020 + i}/part.parquet"
        bucket.put_object(Bucket="batches", Key=key, Body=part.to_parquet(index=False, row_group_size=2))
        bucket.put_object(Bucket="batches", Key=f"days/{i}.csv", Body=part.to_csv(index=False).encode())
    for path in ("s3://batches/loans", "s3://batches/loans/*/part.parquet", "s3://batches/days/*.csv"):
        whole = read_table(path)
        assert whole["id"].tolist() == list(range(9))
        with open_batches(path, batch_rows=4) as batches:
            pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), whole)
        assert measure_source(path).rows == (None if "days" in path else 9)
    assert read_table("s3://batches/loans")["year"].cat.categories.tolist() == [2020, 2021, 2022]


def test_an_object_that_is_deleted_written_again_or_broken_is_named(bucket: Any) -> None:
    body = FRAME.to_parquet(index=False)
    for i in range(4):
        bucket.put_object(Bucket="batches", Key=f"own/{i}.parquet", Body=body)
    batches = read_batches("s3://batches/own", batch_rows=9)
    next(batches)
    bucket.delete_object(Bucket="batches", Key="own/2.parquet")
    next(batches)
    with pytest.raises(SourceError, match=r"File 3 of 4: s3://batches/own/2\.parquet was deleted while") as caught:
        next(batches)
    assert "topsecret" not in str(caught.value)
    bucket.put_object(Bucket="batches", Key="own/2.parquet", Body=body)
    batches = read_batches("s3://batches/own", batch_rows=9)
    bucket.put_object(Bucket="batches", Key="own/1.parquet", Body=FRAME[::-1].to_parquet(index=False))
    next(batches)
    with pytest.raises(SourceError, match=r"File 2 of 4: .*1\.parquet was written again while"):
        next(batches)
    bucket.put_object(Bucket="batches", Key="own/3.parquet", Body=body[:-9])
    for read in (read_table, read_batches, measure_source):
        with pytest.raises(SourceError, match=r"File 4 of 4: .*3\.parquet cannot be read as Parquet"):
            read("s3://batches/own")
