"""What other code hands over as a table, and what is said when it is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core.errors import DataError, SourceError, UnreachableError
from bdt_core.spec import Source
from bdt_core.table.sources import as_frame, as_source_reads_it, read_table

FRAME = pd.DataFrame({"age": [20.5, 30.0], "sex": ["f", "m"]})


@pytest.mark.parametrize("nothing", [None, {}])
def test_nothing_is_no_table(nothing: Any) -> None:
    with pytest.raises(UnreachableError, match=r"in place of a table. Expected a DataFrame .* return one of these"):
        as_frame(nothing)


@pytest.mark.parametrize(
    "table",
    [FRAME, pl.from_pandas(FRAME), pl.from_pandas(FRAME).lazy(), pa.Table.from_pandas(FRAME), Path("x.csv"), "x.csv"],
    ids=["pandas", "polars", "lazy", "arrow", "path", "text"],
)
def test_tables_by_parts_are_not_one(table: Any) -> None:
    with pytest.raises(UnreachableError, match=r"Tables by parts \(a, b, c, \.\.\.\) .* set partition_by") as caught:
        as_frame(dict.fromkeys("abcd", table))
    assert "  " not in str(caught.value)


@pytest.mark.parametrize(
    "column", [FRAME["age"], pl.Series([1, 2]), pa.chunked_array([[1, 2]]), [1, 2]], ids=lambda x: type(x).__module__
)
def test_columns_are_no_table(column: Any) -> None:
    with pytest.raises(SourceError, match=f"A {type(column).__name__} is not a table"):
        as_frame(column)
    assert as_frame({"age": column})["age"].tolist()[1] in (2, 30)  # by its name it is one


def test_types_of_arrow_that_pandas_cannot_count_are_others(tmp_path: Path) -> None:
    """Half floats, which `pandas.to_numeric` refuses, and lists, which `factorize` does; in a file, too."""
    half = pa.array([np.float16(1.5), None])
    columns = {"half": half, "list": pa.array([[1], [2, 3]]), "map": pa.array([[("a", 1)], []], pa.map_("str", "int8"))}
    frame = pd.DataFrame({name: pd.Series(one, dtype=pd.ArrowDtype(one.type)) for name, one in columns.items()})
    before = frame.dtypes
    frame.to_parquet(tmp_path / "t.parquet")
    plain = as_source_reads_it(frame, Source(path="x.csv"))
    for read in (plain, read_table(Source(path=str(tmp_path / "t.parquet")))):
        assert not any(isinstance(one, pd.ArrowDtype) for one in read.dtypes)
        assert pd.to_numeric(read["half"]).astype(float).tolist()[0] == 1.5
        assert read["half"].isna().tolist() == [False, True]
        assert list(read["list"][1]) == [2, 3]
    assert frame.dtypes.equals(before)


def test_complex_numbers_are_refused_by_name() -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "z": [1 + 2j, 1 - 2j, complex("nan")]})
    for read in (as_frame, lambda table: as_source_reads_it(table, Source(path="x.csv"))):
        with pytest.raises(DataError, match='column "z". Use its real and imaginary parts'):
            read(frame)


def test_times_of_day_that_python_does_not_know_are_named(tmp_path: Path) -> None:
    table = pa.table({"age": [1, 2], "at": pa.array([1, 2], pa.int64()).cast(pa.time64("ns"))})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(SourceError, match=r't\.parquet: column "at" holds times of day with parts of a microsecond'):
        read_table(Source(path=str(tmp_path / "t.parquet")))


def _of_pandas(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({**columns, "at": pd.array(columns["at"], dtype=pd.ArrowDtype(pa.time64("ns")))})


@pytest.mark.parametrize("library", [pa.table, _of_pandas])
def test_times_of_day_in_memory_are_named_too(library: Any) -> None:
    at = pa.array([1, 2], pa.int64()).cast(pa.time64("ns"))
    with pytest.raises(SourceError, match=r'the table: column "at" holds times of day with parts of a microsecond'):
        as_frame(library({"age": [1, 2], "at": at}))
