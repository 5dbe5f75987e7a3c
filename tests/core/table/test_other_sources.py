"""Tables from many files, JSON lines, arrays, databases and object stores, and labels joined by key."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import SourceError, SpecError
from bdt_core.spec import Source, parse_spec
from bdt_core.table.sources import JOINED, read_table
from bdt_core.table.validate import validate

FRAME = pd.DataFrame({"id": range(6), "age": [20, 30, 40, 50, 60, 70], "sex": list("fmfmfm")})


def source(**keys: Any) -> Source:
    return Source.model_validate(keys)


@pytest.fixture
def table(tmp_path: Path) -> str:
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    return str(tmp_path / "people.csv")


def test_files_that_fit_a_pattern_are_read_in_the_order_of_their_names(tmp_path):
    for i in (2, 0, 1):
        FRAME[2 * i : 2 * i + 2].to_csv(tmp_path / f"day{i}.csv", index=False)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / "day*.csv")), FRAME, check_dtype=False)
    (tmp_path / "sub").mkdir()
    (tmp_path / "day1.csv").rename(tmp_path / "sub" / "day9.csv")
    assert read_table(str(tmp_path / "**" / "day*.csv"))["id"].tolist() == [0, 1, 4, 5, 2, 3]


def test_a_name_with_brackets_is_a_file_before_it_is_a_pattern(tmp_path):
    FRAME.to_csv(tmp_path / "people[1].csv", index=False)
    assert len(read_table(str(tmp_path / "people[1].csv"))) == 6


def test_json_lines(tmp_path):
    lines = [json.dumps(one) for one in FRAME.to_dict("records")]
    (tmp_path / "people.jsonl").write_text("\n".join(lines) + "\n\n")
    pd.testing.assert_frame_equal(read_table(tmp_path / "people.jsonl"), FRAME, check_dtype=False)


def test_arrays_beside_a_table(tmp_path, table):
    np.save(tmp_path / "p.npy", np.arange(6)[:, None])
    np.save(tmp_path / "y.npy", np.array(list("abcabc")))
    arrays = {"prediction": str(tmp_path / "p.npy"), "label": str(tmp_path / "y.npy")}
    frame = read_table(source(path=table, arrays=arrays))
    assert frame["prediction"].tolist() == list(range(6))
    assert frame["label"].tolist() == list("abcabc")


def test_a_pickle_is_never_loaded(tmp_path, table):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    np.save(tmp_path / "p.npy", np.array([Bomb()] * 6, dtype=object), allow_pickle=True)
    with pytest.raises(SourceError, match=r"not a \.npy file of numbers"):
        read_table(source(path=table, arrays={"p": str(tmp_path / "p.npy")}))
    assert not (tmp_path / "exploded").exists()


def test_a_query_on_sqlite(tmp_path):
    with sqlite3.connect(tmp_path / "loans.db") as db:
        FRAME.to_sql("people", db, index=False)
    frame = read_table(
        source(sql="select id, age from people where age > 35", database=f"sqlite:///{tmp_path}/loans.db")
    )
    assert frame.to_dict("list") == {"id": [2, 3, 4, 5], "age": [40, 50, 60, 70]}


def test_a_query_is_run_as_it_stands_and_changes_nothing(tmp_path):
    with sqlite3.connect(tmp_path / "loans.db") as db:
        FRAME.to_sql("people", db, index=False)
    url = f"sqlite:///{tmp_path}/loans.db"
    with pytest.raises(SourceError):
        read_table(source(sql="delete from people", database=url))
    assert len(read_table(source(sql="select * from people", database=url))) == 6
    odd = read_table(source(sql="select id, ':x; drop table people; --' as a from people", database=url))
    assert odd["a"].unique().tolist() == [":x; drop table people; --"]


def test_the_address_of_a_database_comes_from_the_environment(tmp_path, monkeypatch):
    with sqlite3.connect(tmp_path / "loans.db") as db:
        FRAME.to_sql("people", db, index=False)
    spec = source(sql="select * from people", database="${LOANS_DATABASE}")
    with pytest.raises(SourceError, match="environment variable LOANS_DATABASE, which is not set"):
        read_table(spec)
    monkeypatch.setenv("LOANS_DATABASE", f"sqlite:///{tmp_path}/loans.db")
    assert len(read_table(spec)) == 6
    assert str(tmp_path) not in json.dumps(spec.model_dump(mode="json"))


SPEC = {"name": "a", "bias_variable": {"column": "y"}}


@pytest.mark.parametrize(
    ("keys", "advice"),
    [
        ({}, '"path", "sql"'),
        ({"path": "a.csv", "sql": "select 1", "database": "sqlite://"}, '"path", "sql"'),
        ({"sql": "select 1"}, "go together"),
        ({"sql": "select 1", "database": "postgresql://me:secret@db/loans"}, "holds a password"),
        ({"path": "a.csv", "join": {"key": "id"}}, 'either "path" or "sql"'),
    ],
)
def test_a_source_that_says_too_little_or_too_much_is_refused(keys, advice):
    with pytest.raises(SpecError) as caught:
        parse_spec({**SPEC, "source": keys})
    assert advice in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_password_in_the_environment_is_no_password_in_the_specification():
    parse_spec({**SPEC, "source": {"sql": "select 1", "database": "postgresql://me:${DB_PASSWORD}@db/loans"}})


@pytest.mark.parametrize(
    ("database", "sql", "advice"),
    [
        ("nonsense", "select 1", "not a SQLAlchemy URL"),
        ("nosuch://x", "select 1", 'no driver for "nosuch"'),
        ("sqlite://", "select * from nowhere", "no such table: nowhere"),
        ("sqlite:////no/folder/x.db", "select 1", "there is no SQLite file /no/folder/x.db"),
    ],
)
def test_a_query_that_fails_says_why(database, sql, advice):
    with pytest.raises(SourceError, match=advice):
        read_table(source(sql=sql, database=database))


def test_a_password_stays_out_of_the_message(monkeypatch):
    pytest.importorskip("psycopg")
    monkeypatch.setenv("DB", "postgresql+psycopg://me:verysecret@127.0.0.1:1/loans?connect_timeout=1")
    with pytest.raises(SourceError) as caught:
        read_table(source(sql="select 1 as a, 2 as b", database="${DB}"))
    assert "verysecret" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


LABELS = pd.DataFrame({"id": [5, 4, 3, 2], "y": [1, 0, 1, 0], "age": [0, 0, 0, 0]})


def test_labels_are_joined_by_key_and_late_ones_counted(tmp_path, table):
    LABELS.to_csv(tmp_path / "labels.csv", index=False)
    join = {"path": str(tmp_path / "labels.csv"), "key": "id", "columns": ["y"]}
    frame = read_table(source(path=table, join=join))
    assert frame["id"].tolist() == list(range(6))
    assert frame["y"].tolist()[2:] == [0, 1, 0, 1]
    assert frame["y"].isna().tolist() == [True, True, False, False, False, False]
    assert frame.attrs[JOINED] | {"table": ""} == {"table": "", "key": "id", "without_match": 2, "rows": 6}


def test_the_audit_says_how_many_labels_are_not_there_yet(tmp_path):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"id": range(600), "age": rng.integers(18, 80, 600), "income": rng.normal(size=600)})
    labels = pd.DataFrame({"id": range(500), "y": rng.integers(0, 2, 500)})
    people.to_csv(tmp_path / "people.csv", index=False)
    labels.to_csv(tmp_path / "labels.csv", index=False)
    spec = parse_spec(
        {
            **SPEC,
            "source": {"path": f"{tmp_path}/people.csv", "join": {"path": f"{tmp_path}/labels.csv", "key": "id"}},
            "features": {"exclude": ["id"]},
        }
    )
    table = validate(read_table(spec.source), spec)
    assert any("100 of 600 rows have no match" in one for one in table.warnings)
    assert sum(one.rows for one in table.left_out) == 100


@pytest.mark.parametrize(
    ("labels", "join", "advice"),
    [
        (LABELS, {"key": "idd"}, 'has no column "idd". Did you mean "id"?'),
        (LABELS, {"key": "id"}, '"age" stands in both tables'),
        (LABELS, {"key": "id", "columns": ["yy"]}, 'has no column "yy"'),
        (pd.concat([LABELS, LABELS]), {"key": "id", "columns": ["y"]}, "4 rows of"),
        (LABELS.assign(id=list("abcd")), {"key": "id", "columns": ["y"]}, "is a number in"),
    ],
)
def test_a_join_that_cannot_be_made_says_why(tmp_path, table, labels, join, advice):
    labels.to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(SourceError) as caught:
        read_table(source(path=table, join={"path": f"{tmp_path}/labels.csv", **join}))
    assert advice in str(caught.value)


BAD_FILES = {
    "p.npy of another length": ("p.npy", lambda file: np.save(file, np.arange(5)), "holds 5 values beside 6 rows"),
    "p.npy of two columns": ("p.npy", lambda file: np.save(file, np.ones((6, 2))), "holds 6 x 2 values"),
    "p.npy that is none": ("p.npy", lambda file: file.write_text("1,2"), "not a .npy file"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_arrays_that_do_not_fit_are_refused(tmp_path, table, case):
    name, write, advice = BAD_FILES[case]
    write(tmp_path / name)
    with pytest.raises(SourceError) as caught:
        read_table(source(path=table, arrays={"p": str(tmp_path / name)}))
    assert advice in str(caught.value)


def test_an_array_does_not_replace_a_column(tmp_path, table):
    np.save(tmp_path / "p.npy", np.arange(6))
    with pytest.raises(SourceError, match='a column "age" already'):
        read_table(source(path=table, arrays={"age": str(tmp_path / "p.npy")}))


@pytest.mark.parametrize(
    ("lines", "advice"),
    [
        ('{"a": 1, "b": 2}\n{"a": 1,\n', "line 2: not valid JSON"),
        ('{"a": 1, "b": 2}\n[1, 2]\n', "line 2: expected an object"),
        ('{"a": 1, "b": {"c": 3}}\n', 'line 1: "b" is a list or an object'),
        ("", "is empty"),
    ],
)
def test_json_lines_that_are_none_are_named_by_line(tmp_path, lines, advice):
    (tmp_path / "x.jsonl").write_text(lines)
    with pytest.raises(SourceError, match=advice):
        read_table(tmp_path / "x.jsonl")


def test_files_that_differ_are_named(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.drop(columns="sex").to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(SourceError, match=r'b\.csv lacks the column "sex", unlike .*a\.csv'):
        read_table(str(tmp_path / "*.csv"))
    FRAME.assign(age="old").to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(SourceError, match=r'"age" holds numbers in .*a\.csv and texts in .*b\.csv'):
        read_table(str(tmp_path / "*.csv"))
    with pytest.raises(SourceError, match="No file fits the pattern"):
        read_table(str(tmp_path / "*.tsv"))


def test_one_broken_parquet_file_among_many_is_named(tmp_path):
    for i in range(5):
        FRAME.to_parquet(tmp_path / f"{i}.parquet", index=False)
    (tmp_path / "3.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(SourceError, match=r"3\.parquet cannot be read as Parquet"):
        read_table(str(tmp_path / "*.parquet"))


def test_any_file_system_of_fsspec(tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    for i in range(2):
        with memory.open(f"/audits/part{i}.csv", "wb") as file:
            file.write(FRAME[3 * i : 3 * i + 3].to_csv(index=False).encode())
    assert len(read_table("memory://audits/part0.csv")) == 3
    pd.testing.assert_frame_equal(read_table("memory://audits/part*.csv"), FRAME, check_dtype=False)
    with memory.open("/audits/folder/x.parquet", "wb") as file:
        file.write(FRAME.to_parquet(index=False))
    assert len(read_table("memory://audits/folder/x.parquet")) == 6
    assert len(read_table("memory://audits/folder")) == 6
    with pytest.raises(SourceError, match="does not exist"):
        read_table("memory://audits/none.csv")
    with pytest.raises(SourceError, match="cannot be opened"):
        read_table("nosuch://audits/none.csv")


@pytest.mark.parametrize("path", ["ftp:///x.csv", "https:///a/*.csv"])
def test_an_address_without_a_server_is_refused_before_a_file_system_is_half_made(path):
    with pytest.raises(SourceError, match=r"names no server\. Write (ftp|https)://SERVER/PATH"):
        read_table(path)


def test_what_only_dagster_fills_in_is_said():
    with pytest.raises(SourceError, match=r"only Dagster fills in \{\{ env\.NAME \}\}.*Write \$\{NAME\}"):
        read_table("{{ env.LOANS }}/loans.csv")


def test_an_asset_is_read_by_dagster_only():
    with pytest.raises(SourceError, match="only Dagster can read"):
        read_table(source(asset="warehouse/loans"))


def test_the_part_that_is_read_stands_in_paths_and_queries(tmp_path):
    for day in ("2026-01-30", "2026-01-31"):
        FRAME.assign(day=day).to_csv(tmp_path / f"people-{day}.csv", index=False)
    np.save(tmp_path / "p-2026-01-31.npy", np.arange(6))
    with sqlite3.connect(tmp_path / "loans.db") as db:
        FRAME.assign(day=["a", "b"] * 3).to_sql("people", db, index=False)
    files = source(
        path=f"{tmp_path}/people-{{partition}}.csv",
        arrays={"p": f"{tmp_path}/p-{{partition}}.npy"},
        partition="2026-01-31",
    )
    assert read_table(files)["day"].unique().tolist() == [pd.Timestamp("2026-01-31")]
    assert files.described.endswith("people-2026-01-31.csv")
    query = source(
        sql="select * from people where day = :partition and age > :least",
        database=f"sqlite:///{tmp_path}/loans.db",
        partition="b",
        parameters={"least": "35"},
    )
    assert read_table(query)["day"].unique().tolist() == ["b"]
    with pytest.raises(SourceError, match="say which part to read"):
        read_table(files.model_copy(update={"partition": None}))


@pytest.mark.parametrize("partition", ["../../etc/passwd", "a/b", "..", "", "a\\b"])
def test_a_part_never_leads_out_of_its_folder(partition):
    with pytest.raises(SpecError, match="never leads out of its folder"):
        parse_spec({**SPEC, "source": {"path": "{partition}", "partition": partition}})


def test_a_parameter_is_a_value_and_never_text_of_the_query(tmp_path):
    with sqlite3.connect(tmp_path / "loans.db") as db:
        FRAME.to_sql("people", db, index=False)
    hostile = "f' or '1'='1"
    query = source(
        sql="select * from people where sex = :partition",
        database=f"sqlite:///{tmp_path}/loans.db",
        partition=hostile,
    )
    with pytest.raises(SourceError, match="no rows"):
        read_table(query)
