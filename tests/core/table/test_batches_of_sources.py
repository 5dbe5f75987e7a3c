"""Batches of an object store, of tables in memory and of the demonstration data; sizes and schemas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core.errors import SourceError
from bdt_core.spec import Source
from bdt_core.table.batches import SourceSize, measure_source, open_batches
from bdt_core.table.sources import read_table


def assert_same(source: str, batch_rows: int) -> pd.DataFrame:
    whole = read_table(source)
    with open_batches(source, batch_rows=batch_rows) as batches:
        pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), whole)
        assert batches.rows == len(whole)
    return whole


def test_an_object_store(tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    frame = pd.DataFrame({"id": range(9), "s": pd.Categorical(list("abcabcdef")), "n": [None, *range(8)]})
    for i in range(3):
        part = frame[3 * i : 3 * i + 3]
        memory.pipe(f"/batches/year={i}/p.parquet", part.to_parquet(index=False))
        memory.pipe(f"/texts/p{i}.csv", part.to_csv(index=False).encode())
    whole = assert_same("memory://batches", 4)
    assert whole["year"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert_same("memory://batches/year=*/p.parquet", 4)
    assert_same("memory://texts/*.csv", 4)


def test_a_table_in_memory_is_one_batch():
    import polars as pl

    frame = pd.DataFrame({"a": range(5), "b": list("vwxyz")})
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        (batch,) = open_batches(table, batch_rows=2, columns=["b"])
        pd.testing.assert_frame_equal(batch, frame[["b"]], check_dtype=False)


def test_demonstration_data_and_columns():
    for name in ("demo:compas", "demo:adult"):
        whole = assert_same(name, 5000)
        columns = list(whole.columns[1:4])
        only = pd.concat(open_batches(name, batch_rows=4000, columns=columns[::-1]), ignore_index=True)
        pd.testing.assert_frame_equal(only, whole[columns])
    with pytest.raises(SourceError, match='no column "agee". Did you mean "age"'):
        open_batches("demo:compas", columns=["agee"])


def test_a_file_without_rows_says_what_its_categories_are(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "s": pd.Categorical(["u", "v"])})
    frame[:0].astype({"s": "category"}).to_parquet(tmp_path / "0.parquet", index=False)
    with pytest.raises(SourceError, match="no rows"):
        read_table(tmp_path / "0.parquet")
    with pytest.raises(SourceError, match="no rows"):
        open_batches(tmp_path / "0.parquet")
    pq.write_table(pa.table(frame).slice(0, 0), tmp_path / "0.parquet")
    frame.to_parquet(tmp_path / "1.parquet", index=False)
    pd.testing.assert_frame_equal(assert_same(str(tmp_path), 1), frame)


def test_the_size_of_parquet_files_is_told_by_their_footers(tmp_path):
    rows = 40_000
    frame = pd.DataFrame(
        {
            "n": range(rows),
            "x": [i / 7 for i in range(rows)],
            "word": [f"word {i % 500}" for i in range(rows)],
            "level": pd.Categorical([f"level {i % 90}" for i in range(rows)]),
        }
    )
    for i in range(4):
        frame[10_000 * i : 10_000 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet", index=False)
    size = measure_source(str(tmp_path))
    assert (size.files, size.rows) == (4, rows)
    assert size.disk_bytes == sum(file.stat().st_size for file in tmp_path.iterdir())
    actual = frame.memory_usage(index=False, deep=True).sum()
    assert size.estimated_bytes == pytest.approx(actual, rel=0.1)
    frame.drop(columns="level").to_csv(tmp_path / "t.csv", index=False)
    size = measure_source(str(tmp_path / "t.csv"))
    actual = frame.drop(columns="level").memory_usage(index=False, deep=True).sum()
    assert (size.files, size.rows) == (1, None)
    assert size.estimated_bytes == pytest.approx(actual, rel=0.1)
    frame.drop(columns="level").to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    assert measure_source(str(tmp_path / "t.jsonl")).estimated_bytes == pytest.approx(actual, rel=0.1)


def test_the_size_of_a_query_is_not_known(tmp_path):
    source = Source(sql="select 1 as a, 'x' as b", database=f"sqlite:///{tmp_path}/t.db")
    (tmp_path / "t.db").touch()  # an empty file is a database without tables
    assert measure_source(source) == SourceSize(files=0, disk_bytes=None, rows=None, estimated_bytes=None)


def test_what_stands_beside_a_table_counts_and_has_types(tmp_path):
    pd.DataFrame({"id": range(10), "x": range(10)}).to_parquet(tmp_path / "t.parquet", index=False)
    pd.DataFrame({"id": range(10), "y": [0.5] * 10}).to_parquet(tmp_path / "y.parquet", index=False)
    np.save(tmp_path / "p.npy", np.arange(10, dtype=np.float32))
    source = Source.model_validate(
        {
            "path": f"{tmp_path}/t.parquet",
            "arrays": {"p": f"{tmp_path}/p.npy"},
            "join": {"path": f"{tmp_path}/y.parquet", "key": "id"},
        }
    )
    size = measure_source(source)
    assert (size.files, size.rows) == (3, 10)
    assert size.estimated_bytes == 10 * (8 + 8 + 8 + 8 + 4)


def test_a_size_is_found_without_reading_all(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(b"a,b\n" + b"1,x\n" * 2_000_000 + "7,Ä\n".encode("cp1252"))
    assert measure_source(str(file)).estimated_bytes is not None
    (tmp_path / "odd.csv").write_bytes("a;b\n1,5;ü\n".encode("utf-16") + "2,5;é\n".encode("utf-16-le") * 800_000)
    assert measure_source(str(tmp_path / "odd.csv")).estimated_bytes is not None
