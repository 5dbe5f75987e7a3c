"""Whole numbers that a float does not tell from their neighbours: what they name is never one."""

from __future__ import annotations

import decimal
import itertools
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bdt_core.clarify.data import asked_values
from bdt_core.errors import DataError, SourceError
from bdt_core.fairness.coding import code_column, level_order
from bdt_core.inference.persons import Persons
from bdt_core.report.catalogue import sayings
from bdt_core.shards.engine import LocalEngine
from bdt_core.shards.ingest import ingest
from bdt_core.shards.scratch import scratch_folder
from bdt_core.spec import AuditSpec, Source, parse_spec
from bdt_core.table.audit_table import KEY
from bdt_core.table.persons import person_hashes
from bdt_core.table.sources import as_frame, read_table
from bdt_core.table.typed import typed_as_audited
from bdt_core.table.validate import validate
from tests.core.table.test_sheets_and_packed_files import workbook

FIRST = 2**53
ROWS = 400
SCHOOLS = [FIRST, FIRST + 1, FIRST + 2, FIRST + 3]
GROUPS: dict[str, Any] = {"groups": {"facets": ["school"]}}
CATEGORY: dict[str, Any] = {"features": {"kinds": {"school": "categorical"}}}
ROUNDED = (
    r'Column "school" names people, groups or values by whole numbers from 9,007,199,254,740,992 on, which came as '
)
NAMES_GROUPS = 'As they name groups, set "features.kinds.school" to categorical'


def spec(**keys: Any) -> AuditSpec:
    base = {"name": "t", "source": {"path": "x"}, "bias_variable": {"derive": "positive_prediction", "prediction": "y"}}
    return parse_spec(base | keys)


def people(schools: list[int] = SCHOOLS, *, gap: bool = False) -> pd.DataFrame:
    """Pupils of some schools; of every fifth the school is not known."""
    rng = np.random.default_rng(7)
    school = pd.Series([schools[i % len(schools)] for i in range(ROWS)], dtype=object)
    school[[i % 5 == 0 for i in range(ROWS)] if gap else []] = None
    frame = pd.DataFrame({"school": school, "age": rng.integers(4, 19, ROWS), "y": rng.integers(0, 2, ROWS)})
    return frame if gap else frame.astype({"school": np.uint64 if max(schools) >= 2**63 else np.int64})


def texts(frame: pd.DataFrame, folder: Path) -> Any:
    lines = (",".join("" if one is None else str(one) for one in row) for row in frame.itertuples(index=False))
    (folder / "t.csv").write_text("\n".join([",".join(frame.columns), *lines, ""]))
    return folder / "t.csv"


def texts_with_decimals(frame: pd.DataFrame, folder: Path) -> Any:
    return texts(frame.assign(school=[f"{one}.0" for one in frame["school"]]), folder)


def texts_in_thousands(frame: pd.DataFrame, folder: Path) -> Any:
    return texts(frame.assign(school=[f"{one:,}".replace(",", " ") for one in frame["school"]]), folder)


def json_lines(frame: pd.DataFrame, folder: Path) -> Any:
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, frame.to_dict("records"))))
    return folder / "t.jsonl"


def arrow(frame: pd.DataFrame, _: Path) -> Any:
    kind = pa.uint64() if max(one for one in frame["school"] if one is not None) >= 2**63 else pa.int64()
    school = pa.array(frame["school"].tolist(), kind)
    return pa.table({"school": school, "age": frame["age"], "y": frame["y"]})


def polars(frame: pd.DataFrame, folder: Path) -> Any:
    return pl.from_arrow(arrow(frame, folder))


def parquet(frame: pd.DataFrame, folder: Path) -> Any:
    pq.write_table(arrow(frame, folder), folder / "t.parquet")
    return folder / "t.parquet"


def parquet_of_decimals(frame: pd.DataFrame, folder: Path) -> Any:
    exact = pa.array([decimal.Decimal(one) for one in frame["school"]], pa.decimal128(38, 0))
    pq.write_table(arrow(frame, folder).set_column(0, "school", exact), folder / "t.parquet")
    return folder / "t.parquet"


def files_of_both_signs(frame: pd.DataFrame, folder: Path) -> Any:
    for name, rows in (
        ("a", frame),
        ("b", frame.assign(school=pd.Series([2**63, *frame["school"][1:]], dtype=object))),
    ):
        (folder / name).mkdir()
        texts(rows, folder / name)
    return str(folder / "*" / "t.csv")


def sheet_of_texts(frame: pd.DataFrame, folder: Path) -> Any:
    return sheet(frame.assign(school=[None if one is None else str(one) for one in frame["school"]]), folder)


def sheet(frame: pd.DataFrame, folder: Path) -> Any:
    rows = [list(frame.columns), *frame.astype(object).to_numpy().tolist()]
    (folder / "t.xlsx").write_bytes(workbook(people=rows))
    return folder / "t.xlsx"


def query(frame: pd.DataFrame, folder: Path) -> Any:
    with sqlite3.connect(folder / "t.db") as database:
        database.execute("create table t (school integer, age integer, y integer)")
        database.executemany("insert into t values (?, ?, ?)", frame.astype(object).to_numpy().tolist())
    return Source(sql="select * from t", database=f"sqlite:///{folder}/t.db")


def in_memory(frame: pd.DataFrame, _: Path) -> Any:
    return pd.DataFrame(frame.to_dict("list")).astype({"school": np.float64} if frame["school"].hasnans else {})


def read(form: Any, frame: pd.DataFrame, folder: Path) -> pd.DataFrame:
    source = form(frame, folder)
    if isinstance(source, pd.DataFrame):
        return source
    return read_table(source) if isinstance(source, Source) else as_frame(source)


BEYOND_SIGNED = [2**63, 2**63 + 1, 2**63 + 2, 2**63 + 3]
WITH_GAPS = [
    *((one, SCHOOLS) for one in (texts, json_lines, arrow, polars, parquet, sheet_of_texts, sheet, query, in_memory)),
    *((one, BEYOND_SIGNED) for one in (json_lines, arrow, polars, parquet)),
]
WITHOUT_GAPS = [texts_with_decimals, texts_in_thousands, parquet_of_decimals, files_of_both_signs, sheet]


@pytest.mark.parametrize(("form", "schools"), WITH_GAPS)
def test_groups_and_categories_with_gaps_are_refused(tmp_path: Path, form: Any, schools: list[int]) -> None:
    frame = read(form, people(schools, gap=True), tmp_path)
    assert frame["school"].dropna().nunique() < len(schools)  # the reader has floats for it
    with pytest.raises(DataError, match=NAMES_GROUPS):
        validate(frame, spec(**GROUPS))
    with pytest.raises(DataError, match=ROUNDED):
        validate(frame, spec(**CATEGORY))


@pytest.mark.parametrize("form", WITHOUT_GAPS)
def test_persons_in_floats_are_refused(tmp_path: Path, form: Any) -> None:
    frame = read(form, people(), tmp_path)
    with pytest.raises(DataError, match=ROUNDED):
        validate(frame, spec(split={"key": "school"}))


@pytest.mark.parametrize("form", [texts, json_lines, arrow, polars, parquet, sheet_of_texts, query, in_memory])
def test_persons_groups_and_categories_without_gaps_are_told_apart(tmp_path: Path, form: Any) -> None:
    frame = read(form, people(), tmp_path)
    assert Persons.of(person_hashes(frame, spec(split={"key": "school"}))).number == len(SCHOOLS)
    assert set(code_column(frame, "school").levels) == set(SCHOOLS)
    settled = validate(frame, spec(**GROUPS, **CATEGORY))
    assert sorted(settled.frame["school"].cat.categories) == list(map(str, SCHOOLS))
    with pytest.raises(DataError, match=NAMES_GROUPS):  # what compares groups in the typed table would have floats
        validate(frame, spec(**GROUPS))


def test_the_same_is_said_of_a_table_in_blocks() -> None:
    frame = people(gap=True).astype({"school": np.float64})
    for keys, said in ((GROUPS, NAMES_GROUPS), (CATEGORY, ROUNDED), ({"split": {"key": "school"}}, ROUNDED)):
        blocks = [frame[first : first + 100] for first in range(0, ROWS, 100)]
        with scratch_folder() as folder, LocalEngine(1) as engine, pytest.raises(DataError, match=said):
            ingest(blocks, spec(**keys), folder, engine)
    schools = [*SCHOOLS, FIRST + 4]  # as many persons as can be compared at all
    blocks = [people(schools)[first : first + 100] for first in range(0, ROWS, 100)]
    with scratch_folder() as folder, LocalEngine(1) as engine:
        asked = spec(split={"key": "school"}, significance={"min_rows": len(schools)}, **CATEGORY)
        table = ingest(blocks, asked, folder, engine)
        assert len(set(itertools.chain(*table.map_blocks(_keys, [KEY])))) == len(schools)


def _keys(block: Any) -> list[int]:
    return list(block.frame[KEY])


def test_numbers_that_are_features_are_said_to_be_rounded() -> None:
    (said,) = (one for one in validate(people(), spec()).warnings if "rounded" in one)
    assert said == (
        'Column "school" holds numbers from 9,007,199,254,740,992 on, which are rounded: neighbours are one. If they '
        'name something, set "features.kinds.school" to categorical, or add the column to "features.exclude".'
    )
    assert sayings("nl")(said).startswith(
        'Kolom "school" bevat getallen vanaf 9.007.199.254.740.992, die zijn afgerond'
    )
    assert said in validate(people(gap=True).astype({"school": np.float64}), spec()).warnings
    factor = spec(legitimate=["school"], features={"exclude": ["school"]})
    (told,) = (one for one in validate(people(), factor).warnings if "rounded" in one)
    assert told.endswith("neighbours are one. If they name something, write them as texts in the source.")
    assert sayings("nl")(told).endswith("buren zijn één. Noemen zij iets, schrijf ze dan als teksten in de bron.")
    both = spec(legitimate=["school"], **CATEGORY)
    assert not any("rounded" in one for one in validate(people(), both).warnings)
    nearest = people([FIRST - 1, FIRST - 2, 5])
    assert not any("rounded" in one for one in validate(nearest, spec(**GROUPS)).warnings)


def test_thresholds_make_numbers_of_groups() -> None:
    cut = {"groups": {"facets": ["school"], "thresholds": {"school": float(FIRST)}}}
    assert any("rounded" in one for one in validate(people(gap=True).astype({"school": float}), spec(**cut)).warnings)


@pytest.mark.parametrize("role", ["stratum", "label"])
def test_what_groups_are_counted_by_is_refused_in_floats(role: str) -> None:
    frame = people(gap=True).astype({"school": np.float64}).assign(sex=["f", "m"] * (ROWS // 2))
    with pytest.raises(DataError, match=ROUNDED):
        validate(frame, spec(groups={"facets": ["sex"], role: "school"}, features={"exclude": ["school"]}))


def test_a_favourable_value_is_not_its_neighbour() -> None:
    bias = {"derive": "positive_prediction", "prediction": "school", "positive": FIRST, "better": "higher"}
    assert validate(people(), spec(bias_variable=bias)).y.sum() == ROWS / len(SCHOOLS)
    with pytest.raises(DataError, match=ROUNDED):
        validate(people(gap=True).astype({"school": np.float64}), spec(bias_variable=bias))


def test_other_people_are_refused_as_well() -> None:
    asked = spec(**CATEGORY)
    columns = validate(people(), asked).columns
    others = people(gap=True).astype({"school": np.float64})
    with pytest.raises(DataError, match=ROUNDED):
        typed_as_audited(others, asked, columns)


def test_clarify_picks_the_value_that_is_asked_for() -> None:
    def asked(frame: pd.DataFrame) -> Any:
        return asked_values(frame, "school", (FIRST + 1,), {"school": "values"}, [], "facet")

    assert asked(people()) == (FIRST + 1,)
    with pytest.raises(DataError, match=ROUNDED):
        asked(people(gap=True).astype({"school": np.float64}))


@pytest.mark.parametrize("lacks", ["table", "joined", "neither"])
def test_keys_of_a_join_are_not_taken_for_their_neighbours(tmp_path: Path, lacks: str) -> None:
    keys = [str(FIRST + 1), str(FIRST), "5"]
    mine, others = ([*keys[:2], "" if lacks == one else keys[2]] for one in ("table", "joined"))
    (tmp_path / "t.csv").write_text("id,y\n" + "".join(f"{one},1\n" for one in mine))
    (tmp_path / "late.csv").write_text("id,z\n" + "".join(f"{one},{i}\n" for i, one in enumerate(others)))
    source = Source(path=str(tmp_path / "t.csv"), join={"path": str(tmp_path / "late.csv"), "key": "id"})
    if lacks == "neither":
        assert read_table(source)["z"].tolist() == [0, 1, 2]
        return
    with pytest.raises(SourceError, match=r'source.join.key: "id" holds whole numbers from 9,007,199,254,740,992 on'):
        read_table(source)


def test_keys_of_a_join_of_both_signs_are_refused(tmp_path: Path) -> None:
    texts(people()[:2], tmp_path)
    pq.write_table(pa.table({"school": pa.array(SCHOOLS, pa.uint64()), "z": range(4)}), tmp_path / "late.parquet")
    source = Source(path=str(tmp_path / "t.csv"), join={"path": str(tmp_path / "late.parquet"), "key": "school"})
    with pytest.raises(SourceError, match=r'source.join.key: "school" holds whole numbers from'):
        read_table(source)


@pytest.mark.parametrize("missing", [[], [None]])
def test_whole_numbers_beyond_signed_ones_are_levels_with_gaps_too(missing: list[None]) -> None:
    values = [2**63 + 1, 2**63, *missing]
    coded = code_column(pd.DataFrame({"a": pd.array(values, dtype="UInt64")}), "a")
    assert [coded.levels[one] for one in coded.codes] == values


def test_neighbours_have_one_order() -> None:
    assert level_order(FIRST) < level_order(FIRST + 1) < level_order(float(FIRST + 2))
