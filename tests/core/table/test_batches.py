"""Batches set under each other are the table as it is read whole, wherever one ends and the next begins."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
import pickle
import re
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bdt_core.spec import Source
from bdt_core.table import parquet_files, text_files
from bdt_core.table import records as records_module
from bdt_core.table.batches import open_batches
from bdt_core.table.column_types import stacked
from bdt_core.table.sources import JOINED, read_table


@pytest.fixture(scope="module", autouse=True)
def _short_passes() -> Iterator[None]:
    """Few rows at a time in the earlier pass, so that the columns of a small table change within it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_files, "_BLOCK", 64)
        for module in (text_files, records_module, parquet_files):
            patch.setattr(module, "_ROWS_AT_ONCE", 3)
        yield


def assert_same(source: Any, batch_rows: int) -> pd.DataFrame:
    """The batches are the table; each is of the right length and has all types already."""
    whole = read_table(source)
    with open_batches(source, batch_rows=batch_rows) as opened:
        batches = list(opened)
        assert opened.rows == len(whole)
        assert list(opened.dtypes.items()) == list(whole.dtypes.items())
    assert [len(one) for one in batches[:-1]] == [batch_rows] * (len(batches) - 1)
    for batch in batches:
        assert list(batch.dtypes.items()) == list(whole.dtypes.items())
    pd.testing.assert_frame_equal(pd.concat(batches, ignore_index=True), whole, check_exact=True)
    return whole


ROWS = st.integers(min_value=1, max_value=12)


def values(rows: int, some: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """Values of a column, often missing, sometimes only at its end."""
    missing = st.sampled_from([lambda i: False, lambda i: i % 3 == 0, lambda i: i >= rows - 1, lambda i: True])
    return st.tuples(st.lists(some, min_size=rows, max_size=rows), missing).map(
        lambda drawn: [None if drawn[1](i) else value for i, value in enumerate(drawn[0])]
    )


WORDS = st.sampled_from(["a", "b", "née", "", "x,y", "1"])
ARROW_COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "double": (pa.float64(), st.floats(width=64)),
    "float": (pa.float32(), st.floats(width=32)),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), WORDS),
    "large_text": (pa.large_string(), WORDS),
    "bytes": (pa.binary(), st.binary(max_size=3)),
    "fixed_bytes": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "date": (pa.date32(), st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))),
    "time": (pa.timestamp("us"), st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))),
    "time_utc": (pa.timestamp("ms", "UTC"), st.integers(0, 10**12)),
    "decimal": (pa.decimal128(9, 2), st.decimals(-999, 999, places=2)),
    "nothing": (pa.null(), st.none()),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=2)),
    "a.b": (pa.int32(), st.integers(0, 9)),
    "a": (pa.int32(), st.integers(0, 9)),
    "category": (pa.dictionary(pa.int8(), pa.string()), WORDS),
    "numbers": (pa.dictionary(pa.int32(), pa.int64()), st.integers(0, 5)),
}


@st.composite
def arrow_tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(ROWS)
    names = draw(st.lists(st.sampled_from(sorted(ARROW_COLUMNS)), min_size=2, max_size=6, unique=True))
    columns = {}
    for name in names:
        kind, some = ARROW_COLUMNS[name]
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        column = pa.array(draw(values(rows, some)), plain)
        columns[name] = column.dictionary_encode().cast(kind) if plain is not kind else column
    table = pa.table(columns)
    if draw(st.booleans()):  # as pandas writes it, with its own types and an index
        frame = table.to_pandas()
        frame.index = draw(st.sampled_from([pd.RangeIndex(7, 7 + rows), pd.Index(range(rows), name="key")]))
        table = pa.Table.from_pandas(frame)
    return table


def by_arrow(path: str, whole: pd.DataFrame) -> pd.DataFrame:
    """What Arrow reads: days as points in time, exact decimals as numbers, an index with a name as a column."""
    table = pq.read_table(path)
    for place, one in enumerate(table.schema):
        if pa.types.is_decimal(one.type):
            table = table.set_column(place, one.name, table.column(place).cast(pa.float64()))
    frame = table.to_pandas(date_as_object=False)
    return frame.reset_index(drop=frame.index.name is None)[list(whole)]


@settings(max_examples=50)
@given(arrow_tables(), st.integers(1, 13), st.integers(1, 5), st.integers(1, 4), st.booleans(), st.booleans())
def test_parquet(table, batch_rows, group_rows, files, as_folder, with_statistics):
    with TemporaryDirectory() as folder:
        cuts = sorted({0, *(round(part * table.num_rows / files) for part in range(1, files)), table.num_rows})
        for start, end in itertools.pairwise(cuts):
            pq.write_table(
                table.slice(start, end - start),
                f"{folder}/{start:03}.parquet",
                row_group_size=group_rows,
                write_statistics=with_statistics,
                dictionary_pagesize_limit=8,
            )
        whole = assert_same(folder if as_folder else f"{folder}/*.parquet", batch_rows)
        if table.schema.field(0).name != "key" and not any(map(pa.types.is_dictionary, table.schema.types)):
            plain = by_arrow(folder, whole)
            pd.testing.assert_frame_equal(whole, plain, check_exact=True)
        elif len(cuts) == 2:
            plain = by_arrow(f"{folder}/000.parquet", whole)
            pd.testing.assert_frame_equal(whole, plain, check_exact=True)


def test_many_rows_are_set_under_each_other_as_pandas_does_it() -> None:
    rng = np.random.default_rng(4)
    parts = []
    for rows in (150_000, 1, 150_000):
        texts = pd.Categorical(rng.choice(["a", "b", None], rows), categories=["a", "b"])
        parts.append(pd.DataFrame({"text": texts, "number": rng.random(rows), "whole": rng.integers(0, 9, rows)}))
        parts[-1].attrs = {"notes": [1]}
    whole = stacked(parts)
    pd.testing.assert_frame_equal(whole, pd.concat(parts, ignore_index=True))
    assert whole.attrs == {"notes": [1]}


def test_types_that_others_added_are_what_they_are_stored_as(tmp_path: Path) -> None:
    stored = pa.array([bytes([n]) * 16 for n in range(1, 5)], pa.binary(16))
    keys = pa.ExtensionArray.from_storage(pa.uuid(), stored)
    pq.write_table(pa.table({"key": keys, "age": [1, 2, 3, 4]}), tmp_path / "t.parquet")
    whole = assert_same(str(tmp_path / "t.parquet"), 3)
    assert whole["key"].tolist() == stored.to_pylist()


def test_types_of_pandas_come_back(tmp_path: Path) -> None:
    levels = pd.CategoricalDtype(["low", "mid", "high", "never"], ordered=True)
    frame = pd.DataFrame(
        {
            "grade": pd.Categorical(["low", None, "high", "low", "mid"], dtype=levels),
            "whole": pd.array([1, None, 3, 4, 5], dtype="Int64"),
            "flag": pd.array([True, False, None, True, True], dtype="boolean"),
            "late": [1, 2, 3, 4, np.nan],
        }
    )
    for start in (0, 3):
        frame[start : start + 3].to_parquet(tmp_path / f"{start}.parquet")
    whole = assert_same(str(tmp_path / "*.parquet"), 2)
    pd.testing.assert_frame_equal(whole, frame)


def test_folders_of_hive(tmp_path: Path) -> None:
    for year in (9, 10):
        for group in ("b c", "a%20z"):
            part = tmp_path / f"year={year}" / f"group={group}"
            part.mkdir(parents=True)
            pd.DataFrame({"x": [year, 1, 2], "y": list("abc")}).to_parquet(part / "p.parquet", index=False)
    (tmp_path / "_SUCCESS").touch()
    whole = assert_same(str(tmp_path), 5)
    pd.testing.assert_frame_equal(whole, pq.read_table(tmp_path).to_pandas())
    assert whole["year"].cat.categories.tolist() == [10, 9]
    only = pd.concat(open_batches(str(tmp_path), columns=["group"], batch_rows=5), ignore_index=True)
    pd.testing.assert_frame_equal(only, whole[["group"]])


UNSIGNED = ["9223372036854775808", "18446744073709551615"]
TOKENS = {
    "whole": ["0", "1", "-7", "+5", "007", "12"],
    # pandas 2 takes unsigned numbers for floats where it may say that values are missing.
    "large": ["9223372036854775807", *(UNSIGNED if pd.__version__ >= "3" else [])],
    "long": ["123456789012345678901234", "00123456789012345678901"],
    "fraction": ["1.5", "-0.25", "1e3", "1.", ".5", "inf", "0.1234567890123456789"],
    "flags": ["True", "FALSE", "true"],
    "texts": ["a", "b c", '"x, y"', "1.2.3", "Jörg"],
    "missing": ["", "NA", "nan"],
}


@st.composite
def token_columns(draw: st.DrawFn, rows: int, decimal: str) -> list[str]:
    """Mostly one sort of value, and another one somewhere."""
    usual = draw(st.sampled_from(sorted(TOKENS)))
    column = [draw(st.sampled_from(TOKENS[usual])) for _ in range(rows)]
    for _ in range(draw(st.integers(0, 2))):
        column[draw(st.integers(0, rows - 1))] = draw(
            st.sampled_from([token for name in sorted(TOKENS) for token in TOKENS[name]])
        )
    return [token.replace(".", decimal) if usual in ("fraction", "whole") else token for token in column]


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    separator, decimal = draw(st.sampled_from([(",", "."), (";", "."), (";", ",")]))
    rows = draw(ROWS)
    columns = [draw(token_columns(rows, decimal)) for _ in range(draw(st.integers(1, 4)))]
    columns.append([str(i) for i in range(rows)])
    header = separator.join(f"c{i} " for i in range(len(columns)))
    return separator, "\n".join([header, *(separator.join(row) for row in zip(*columns, strict=True))]) + "\n"


def are_codes(tokens: set[str]) -> bool:
    """Whole numbers, one with zeros before it: numbers to pandas, and texts to us."""
    return "007" in tokens and all(re.fullmatch(r"[+-]?\d+", token) for token in tokens)


@settings(max_examples=40)
@given(texts(), st.integers(1, 13))
def test_text(text, batch_rows):
    with TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text(text[1], encoding="utf-8")
        whole = assert_same(Source(path=f"{folder}/t.csv", separator=text[0]), batch_rows)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(text_files, "_BLOCK", 1 << 20)  # no row is longer, so that Arrow reads all of them
            by_arrow = assert_same(Source(path=f"{folder}/t.csv", separator=text[0]), batch_rows)
    pd.testing.assert_frame_equal(whole, by_arrow)
    if text[0] == "," and not any(one in text[1] for one in (*UNSIGNED, *TOKENS["long"])):
        cells = pd.read_csv(io.StringIO(text[1]), dtype=str, keep_default_na=False)
        codes = {name: str for name in cells if are_codes(set(cells[name]) - set(TOKENS["missing"]))}
        plain = pd.read_csv(io.StringIO(text[1]), low_memory=False, dtype=codes).rename(columns=str.strip)
        pd.testing.assert_frame_equal(whole, plain, check_exact=True)


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (["1"] * 40 + ["x"], "str"),
        (["1"] * 40 + [""], "float64"),
        (["1"] * 40 + ["1.5"], "float64"),
        (["1"] * 40 + ["9223372036854775808"], "uint64"),
        (["-1"] * 40 + ["9223372036854775808"], "str"),
        (["1.5"] * 40 + ["123456789012345678901234"], "float64"),
        (["123456789012345678901234"] * 40 + ["1.5"], "float64"),
        (["00123456789012345678901"] * 40 + ["1"], "str"),
        (["True"] * 40 + [""], "object"),
        (["True"] * 40 + ["1"], "str"),
        ([""] * 40 + ["7"], "float64"),
        ([""] * 40 + ["x"], "str"),
    ],
)
def test_the_last_row_of_a_text_settles_the_type_of_the_first(tmp_path, column, dtype):
    file = tmp_path / "t.csv"
    file.write_text("a,b\n" + "".join(f"{token},1\n" for token in column))
    whole = assert_same(str(file), 7)
    wanted = pd.Series(["x"]).dtype if dtype == "str" else np.dtype(dtype)
    assert whole["a"].dtype == wanted
    if dtype == "str":
        assert whole["a"].dropna().tolist() == [token for token in column if token]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_encodings_and_decimal_commas(tmp_path, encoding):
    file = tmp_path / "t.csv"
    names = ["Jörg", "Anaïs", "Li"] * 3
    lines = [f"{name};{i},5;{i}" for i, name in enumerate(names)]
    file.write_bytes("\r\n".join(["name;score;id", *lines, ""]).encode(encoding))
    whole = assert_same(Source(path=str(file), encoding="cp1252" if encoding == "cp1252" else None), 4)
    assert whole["score"].tolist() == [i + 0.5 for i in range(9)]
    assert whole["name"].tolist() == names


def test_texts_of_one_pattern_need_not_be_written_alike(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y,f\n1,5,,True\n2,6,,False\n")
    (tmp_path / "b.csv").write_text("id;x;y;f\n3;1,5;u;\n4;2;v;True\n")
    (tmp_path / "c.csv").write_bytes("id\tx\ty\tf\n5\t7\tÄ\t\n".encode("utf-16"))
    whole = assert_same(str(tmp_path / "*.csv"), 2)
    assert whole["x"].tolist() == [5, 6, 1.5, 2, 7]
    assert whole["f"].tolist()[:2] + whole["f"].tolist()[3:4] == [True, False, True]
    assert whole["y"].tolist()[2:] == ["u", "v", "Ä"]


def test_formats_can_be_mixed(tmp_path):
    pd.DataFrame({"id": [1, 2], "s": pd.Categorical(["u", "v"])}).to_parquet(tmp_path / "a.parquet", index=False)
    (tmp_path / "b.csv").write_text("id,s\n3.5,w\n")
    (tmp_path / "c.jsonl").write_text('{"id": null, "s": "x"}\n')
    whole = assert_same(str(tmp_path / "*"), 3)
    assert whole["s"].tolist() == list("uvwx")
    assert whole["id"].dtype == np.float64


SCALARS: list[Any] = [0, 1, -1, 2**63, 2**70, 0.5, 1.0, True, False, "a", "née", "\u2028", None]


@st.composite
def records(draw: st.DrawFn, scalars: list[Any] = SCALARS) -> list[dict[str, Any]]:
    rows, found = draw(ROWS), []
    usual = {name: draw(st.lists(st.sampled_from(scalars), min_size=1, max_size=2)) for name in "abc"}
    lacking = draw(st.sampled_from([set(), {"a"}, {"b"}]))
    for row in range(rows):
        record = {name: draw(st.sampled_from(some)) for name, some in usual.items()}
        for name in lacking if row % 2 else set():
            del record[name]
        found.append({"id": row, **record})
    return found


@settings(max_examples=50)
@given(records(), st.integers(1, 13))
def test_json_lines(rows, batch_rows):
    with TemporaryDirectory() as folder:
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n\n"
        Path(folder, "t.jsonl").write_text(text, encoding="utf-8")
        whole = assert_same(f"{folder}/t.jsonl", batch_rows)
        assert len(whole) == len(rows)


@settings(max_examples=40)
@given(records([0, 1, -1, 2**62, 0.5, 1.0, "a", "née", b"x", None]), st.integers(1, 13))
def test_a_query_on_sqlite(rows, batch_rows):
    with TemporaryDirectory() as folder:
        with sqlite3.connect(f"{folder}/t.db") as database:
            database.execute("create table t (id, a, b, c)")
            database.executemany(
                "insert into t values (?, ?, ?, ?)", [tuple(row.get(name) for name in ("id", *"abc")) for row in rows]
            )
        database.close()
        assert_same(Source(sql="select * from t order by id", database=f"sqlite:///{folder}/t.db"), batch_rows)


def test_a_query_on_postgresql(postgresql: str) -> None:
    import sqlalchemy as sa

    query = """
        select i as id, case when i > 20 then i end as late, i / 3.0 as exact, i::float as number,
               case when i = 7 then null else i % 2 = 0 end as flag, 'x' || i as word, null::int as nothing,
               date '2026-01-01' + i as day, timestamp '2026-01-01' + i * interval '1 hour' as moment,
               timestamptz '2026-03-01 00:00+00' + i * interval '5 days' as instant, i * 10000000000 as large
        from generate_series(1, 25) as i order by i"""
    whole = assert_same(Source(sql=query, database=postgresql), 4)
    assert whole["late"].dtype == np.float64
    engine = sa.create_engine(postgresql)
    with engine.begin() as connection:
        connection.execute(sa.text("create table t as select i, 1 as one from generate_series(1, 9) as i"))
    with open_batches(Source(sql="select * from t", database=postgresql), batch_rows=4) as batches:
        first = iter(batches)
        next(first)
        with engine.begin() as connection:
            connection.execute(sa.text("insert into t values (10, null)"))
        rest = list(first)  # the query sees the state that it was settled on
    engine.dispose()
    assert [len(one) for one in rest] == [4, 1]
    assert rest[-1]["one"].dtype == np.int64


def test_exact_decimals_of_a_database_are_numbers(tmp_path) -> None:
    from bdt_core.table.records import ValuesSeen, typed_frame

    seen = ValuesSeen()
    seen.see([1, 2])
    seen.see([Decimal("0.5"), None])
    dtype = seen.type(coerce_float=True).dtype
    part = typed_frame([(1,), (2,)], {"x": dtype}, lambda record, _: record[0], coerce_float=True)
    assert dtype == part["x"].dtype == np.float64


def test_arrays_and_labels_beside_a_table(tmp_path):
    frame = pd.DataFrame({"id": range(10), "site": list("ab") * 5, "age": range(20, 30)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    np.save(tmp_path / "p.npy", np.linspace(0, 1, 10)[:, None])
    np.save(tmp_path / "w.npy", np.array(list("vwxyzvwxyz")))
    labels = pd.DataFrame({"id": range(9, -1, -1), "site": list("ba") * 5, "y": range(10), "ok": [True] * 10})
    keys = {
        "path": str(tmp_path / "people.csv"),
        "arrays": {"p": str(tmp_path / "p.npy"), "w": str(tmp_path / "w.npy")},
        "join": {"path": str(tmp_path / "labels.parquet"), "key": ["id", "site"]},
    }
    for known, dtypes in ((10, ["int64", "bool"]), (6, ["float64", "object"])):
        labels[:known].to_parquet(tmp_path / "labels.parquet", index=False)
        source = Source.model_validate(keys)
        whole = assert_same(source, 3)
        assert whole[["y", "ok"]].dtypes.astype(str).tolist() == dtypes
        assert whole["y"].iloc[9] == 0
        batches = list(open_batches(source, batch_rows=3))
        assert sum(one.attrs[JOINED]["without_match"] for one in batches) == 10 - known
        assert sum(one.attrs[JOINED]["rows"] for one in batches) == 10
        only = list(open_batches(source, batch_rows=4, columns={"y", "p"}))
        pd.testing.assert_frame_equal(pd.concat(only, ignore_index=True), whole[["p", "y"]])
        assert list(next(iter(open_batches(source, columns={"age"}))).columns) == ["age"]


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from([0, 1, 2, 3, 4, None]), max_size=9).map(lambda ids: [1, *ids]),
    st.lists(st.sampled_from([0, 2, 3, 4, None]), max_size=5, unique=True).map(lambda ids: [1, *ids]),
    st.integers(1, 10),
)
def test_a_join_is_the_one_of_pandas(left, right, batch_rows):
    people = pd.DataFrame({"id": left, "n": range(len(left))})
    labels = pd.DataFrame({"id": right, "y": range(len(right))})
    with TemporaryDirectory() as folder:
        people.to_parquet(f"{folder}/people.parquet", index=False)
        labels.to_parquet(f"{folder}/labels.parquet", index=False)
        source = Source.model_validate(
            {"path": f"{folder}/people.parquet", "join": {"path": f"{folder}/labels.parquet", "key": "id"}}
        )
        whole = assert_same(source, batch_rows)
        if people["id"].dtype == labels["id"].dtype:
            plain = people.merge(labels, on="id", how="left")
            pd.testing.assert_frame_equal(whole, plain)


@settings(max_examples=20)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(1, 8), st.integers(5, 30))
def test_parts_of_parquet_files_are_read_by_themselves(sizes, group, rows):
    numbers = iter(range(1000))
    with TemporaryDirectory() as folder:
        for place, size in enumerate(sizes):
            its = [next(numbers) for _ in range(size)]
            frame = pd.DataFrame({"a": np.array(its, dtype=np.int32), "b": [str(one % 3) for one in its]})
            frame["b"] = frame["b"].astype("category")
            pq.write_table(pa.Table.from_pandas(frame), f"{folder}/{place}.parquet", row_group_size=group)
        assume(sum(sizes) > 0)
        whole = read_table(Source(path=f"{folder}/*.parquet"))
        with open_batches(Source(path=f"{folder}/*.parquet"), batch_rows=rows) as batches:
            parts = pickle.loads(pickle.dumps(batches.parts()))
        assert all(one.rows <= 2 * rows for one in parts)
        frames = [one.read() for one in parts[::-1]][::-1]
    pd.testing.assert_frame_equal(pd.concat(frames, ignore_index=True), whole)
