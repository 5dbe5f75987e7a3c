"""DuckDB and Polars in an environment of their own: seconds to count all slices (``pip install duckdb polars``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import duckdb
import polars as pl

from benchmarks import peers_tables as tables
from benchmarks.slices import CONDITIONS, LEVELS, SUPPORT, slice_table

NAMES = [f"c{i}" for i in range(len(LEVELS))]
COMBINATIONS = [one for k in range(1, CONDITIONS + 1) for one in combinations(NAMES, k)]


def by_duckdb(rows: int) -> Callable[[], object]:
    """Grouping sets over a table in memory."""
    connection = duckdb.connect()
    frame = slice_table(rows)  # noqa: F841 - DuckDB reads it by its name
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    sets = ", ".join(f"({', '.join(one)})" for one in COMBINATIONS)
    query = (
        f"SELECT {', '.join(NAMES)}, count(*) AS n, sum(y) AS positives, sum(p) AS selected, sum(y * p) AS tp "
        f"FROM people GROUP BY GROUPING SETS ({sets}) HAVING count(*) >= {round(SUPPORT * rows)}"
    )
    return lambda: connection.execute(query).fetchnumpy()


def by_polars(rows: int) -> Callable[[], object]:
    """One group-by per combination, collected together."""
    frame = pl.from_pandas(slice_table(rows)).lazy()
    totals = [
        pl.len(),
        pl.sum("y").alias("positives"),
        pl.sum("p").alias("selected"),
        (pl.col("y") * pl.col("p")).sum(),
    ]
    queries = [
        frame.group_by(list(one)).agg(*totals).filter(pl.col("len") >= round(SUPPORT * rows)) for one in COMBINATIONS
    ]
    return lambda: pl.collect_all(queries)


if __name__ == "__main__":
    tables.main(["duckdb", "polars"], {}, {"duckdb": by_duckdb, "polars": by_polars})
