"""What other code hands over as a table, and what is said when it is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bdt_core.errors import SourceError, UnreachableError
from bdt_core.table.sources import as_frame

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
