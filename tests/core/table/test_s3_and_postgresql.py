"""Sources on a real object store and a real database server, both started by the test."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bdt_core.errors import SourceError
from bdt_core.spec import Source
from bdt_core.table.sources import as_frame, read_table
from tests.object_store import SECRET

FRAME = pd.DataFrame({"id": range(6), "age": [20.5, 30, 40, 50, 60, 70], "sex": list("fmfmfm")})


def test_files_in_a_bucket(bucket: str, tmp_path: Path) -> None:
    import boto3

    client = boto3.client("s3")
    FRAME.to_parquet(tmp_path / "people.parquet", index=False)
    folder = bucket.removeprefix("s3://audits/")
    client.upload_file(str(tmp_path / "people.parquet"), "audits", f"{folder}/loans/people.parquet")
    for day in (1, 2):
        part = FRAME[3 * day - 3 : 3 * day].to_csv(index=False).encode()
        client.put_object(Bucket="audits", Key=f"{folder}/days/day={day}.csv", Body=part)
    pd.testing.assert_frame_equal(read_table(f"{bucket}/loans/people.parquet"), FRAME, check_dtype=False)
    pd.testing.assert_frame_equal(read_table(f"{bucket}/loans"), FRAME, check_dtype=False)
    pd.testing.assert_frame_equal(read_table(f"{bucket}/days/*.csv"), FRAME, check_dtype=False)
    for missing in (f"{bucket}/none.csv", "s3://no-such-bucket/x.csv"):
        with pytest.raises(SourceError, match=r"does not exist|cannot be reached") as caught:
            read_table(missing)
        assert SECRET not in str(caught.value)


def test_a_query_on_postgresql(postgresql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlalchemy as sa

    engine = sa.create_engine(postgresql)
    FRAME.to_sql("people", engine, index=False, if_exists="replace")
    engine.dispose()
    monkeypatch.setenv("LOANS_DATABASE", postgresql)
    source = Source(
        sql="select id::int, age, sex from people where sex like '%f' order by id", database="${LOANS_DATABASE}"
    )
    frame = read_table(source)
    assert frame.to_dict("list") == {"id": [0, 2, 4], "age": [20.5, 40, 60], "sex": ["f", "f", "f"]}
    with pytest.raises(SourceError, match='relation "nobody" does not exist'):
        read_table(source.model_copy(update={"sql": "select * from nobody"}))


def test_numeric_columns_of_a_database_are_numbers(postgresql: str) -> None:
    query = "select 1.50::numeric as exact, 2 as whole, null::float as nothing, true as flag, date '2026-01-02' as day"
    frame = read_table(Source(sql=query, database=postgresql))
    assert frame["exact"].dtype == "float64"
    assert pd.api.types.is_bool_dtype(frame["flag"].dtype)


def test_the_message_of_postgresql_holds_no_cell_value(postgresql: str) -> None:
    source = Source(sql="select cast(x as integer) as x, 1 as y from (values ('secret')) as t(x)", database=postgresql)
    with pytest.raises(SourceError, match="invalid input syntax for type integer") as caught:
        read_table(source)
    assert "secret" not in str(caught.value)


def test_tables_of_other_libraries_are_taken() -> None:
    import polars as pl
    import pyarrow as pa

    for table in (pl.from_pandas(FRAME), pl.from_pandas(FRAME).lazy(), pa.Table.from_pandas(FRAME), FRAME):
        pd.testing.assert_frame_equal(as_frame(table), FRAME, check_dtype=False)
    with pytest.raises(SourceError, match="A list is not a table"):
        as_frame([{"a": 1}])
