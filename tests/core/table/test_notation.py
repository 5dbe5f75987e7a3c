"""Numbers and dates in the notations that people use: read where it is certain, told, and asked for where it is not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.errors import DataError, SourceError
from bdt_core.report.html import render_html
from bdt_core.shards.engine import engine_of_process
from bdt_core.shards.ingest import ingest
from bdt_core.spec import AuditSpec, Source
from bdt_core.table.batches import open_batches
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.sources import read_table
from bdt_core.table.validate import validate

ROWS = 400
RNG = np.random.default_rng(0)
WHOLE = RNG.integers(1_000, 900_000, ROWS)
PARTS = np.round(RNG.random(ROWS) * 100, 2)
DAYS = pd.Series(pd.to_datetime("1940-01-01") + pd.to_timedelta(RNG.integers(0, 25_000, ROWS), "D"))


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"age": rng.integers(18, 90, ROWS), "y": rng.integers(0, 2, ROWS), "p": rng.integers(0, 2, ROWS)}
    )


def dutch(number: float, decimals: int = 0) -> str:
    return f"{number:,.{decimals}f}".translate(str.maketrans(",.", ".,"))


def written(folder: Path, separator: str = ",", **columns: Any) -> str:
    file = folder / "t.csv"
    people().assign(**columns).to_csv(file, index=False, sep=separator)
    return str(file)


def spec(source: Source, **keys: Any) -> AuditSpec:
    given = {
        "name": "a",
        "source": source.model_dump(),
        "bias_variable": {"derive": "error", "label": "y", "prediction": "p"},
        "slices": None,
        "worst_groups": None,
    }
    return AuditSpec.model_validate(given | keys)


NUMBERS = {
    "millions": (",", [f"{x * 1000:,}" for x in WHOLE], WHOLE * 1000.0),
    "thousands with decimals": (",", [f"{x:,.2f}" for x in WHOLE], WHOLE * 1.0),
    "thousands in a Dutch file": (";", [dutch(x, 2) for x in WHOLE], WHOLE * 1.0),
    "decimal commas": (";", [dutch(x, 2) for x in PARTS], PARTS),
    "decimal commas in quotes": (",", [dutch(x, 2) for x in PARTS], PARTS),
    "spaces": (",", [f"{x:,}".replace(",", " ") for x in WHOLE], WHOLE * 1.0),
    "thin spaces": (",", [f"{x:,}".replace(",", "\u202f") for x in WHOLE], WHOLE * 1.0),
    "Swiss": (",", [f"{x:,}".replace(",", "'") for x in WHOLE], WHOLE * 1.0),
    "euros": (",", [f"€ {x:.2f}" for x in PARTS], PARTS),
    "euros in a Dutch file": (";", [f"€ {dutch(x, 2)}" for x in WHOLE], WHOLE * 1.0),
    "debts": (",", [f"-€ {x:.2f}" for x in PARTS], -PARTS),
    "percent": (",", [f"{x} %" for x in PARTS], PARTS),
    "the minus of typesetters": (
        ",",
        [f"\u2212{x}" if x > 50 else f"{x}" for x in PARTS],
        np.where(PARTS > 50, -PARTS, PARTS),
    ),
    "debts in Swedish": (";", [f"\u2212{x:,}".replace(",", "\u00a0") for x in WHOLE], -WHOLE * 1.0),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_read_and_told(tmp_path: Path, name: str) -> None:
    separator, texts, numbers = NUMBERS[name]
    frame = read_table(written(tmp_path, separator, x=texts))
    np.testing.assert_allclose(frame["x"].to_numpy(np.float64), numbers)
    assert any(one.startswith('Column "x" holds numbers, written like') for one in ReadingNotes.of(frame.attrs).remarks)


def test_the_note_writes_numbers_as_the_file_does(tmp_path: Path) -> None:
    path = written(tmp_path, ";", x=[f"{x:,}".replace(",", " ") for x in WHOLE], y=[dutch(x, 2) for x in WHOLE])
    assert sorted(ReadingNotes.of(read_table(path).attrs).remarks) == [
        'Column "x" holds numbers, written like 1 234,5.',
        'Column "y" holds numbers, written like 1.234,5.',
    ]


def test_plain_numbers_are_not_told(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, ";", x=PARTS, z=np.round(RNG.random(ROWS), 3)))
    assert frame["x"].tolist() == PARTS.tolist()
    assert not frame.attrs


TWO_WAYS = {"commas": (",", [f"{x:,}" for x in WHOLE]), "points in a Dutch file": (";", [dutch(x) for x in WHOLE])}


@pytest.mark.parametrize("name", TWO_WAYS)
def test_what_can_be_read_in_two_ways_is_asked_for(tmp_path: Path, name: str) -> None:
    separator, texts = TWO_WAYS[name]
    path = written(tmp_path, separator, x=texts)
    with pytest.raises(DataError, match='Column "x" holds numbers like 1,234 or 1.234.*"source.decimal"'):
        audit(None, spec(Source(path=path)))
    read = {
        mark: read_table(Source.model_validate({"path": path, "decimal": mark}))["x"] for mark in ("point", "comma")
    }
    thousands = "point" if separator == "," else "comma"
    np.testing.assert_allclose(read.pop(thousands), WHOLE)
    np.testing.assert_allclose(read.popitem()[1], WHOLE / 1000)
    unused = spec(Source(path=path), features={"exclude": ["x"]})
    assert validate(read_table(path), unused).names("feature") == ["age"]


def test_other_columns_may_say_what_stands_before_decimals(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, ",", x=[f"{x:,}" for x in WHOLE], other=PARTS))
    np.testing.assert_array_equal(frame["x"], WHOLE)
    frame = read_table(written(tmp_path, ";", x=[dutch(x) for x in WHOLE], other=[dutch(x, 2) for x in PARTS]))
    np.testing.assert_array_equal(frame["x"], WHOLE)


DATES = [
    "%Y-%m-%d",
    "%d-%m-%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d %b %Y",
    "%B %d, %Y",
    "%Y-%m-%d %H:%M",
    " %Y-%m-%d ",
]


@pytest.mark.parametrize("form", DATES)
def test_dates_become_years(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, born=DAYS.dt.strftime(form))
    frame = read_table(path)
    assert frame["born"].tolist() == DAYS.tolist()
    table = validate(frame, spec(Source(path=path)))
    years = DAYS.dt.year + (DAYS.dt.dayofyear - 1) / np.where(DAYS.dt.is_leap_year, 366, 365)
    np.testing.assert_allclose(table.frame["born"], years)
    assert any(one.startswith('Column "born" is used as years') for one in table.notes)
    assert [one.kind for one in table.columns if one.name == "born"] == ["numeric"]


def test_points_in_time_are_in_utc(tmp_path: Path) -> None:
    frame = read_table(written(tmp_path, at=["2026-01-31T00:30:00+02:00"] * ROWS))
    assert frame["at"].iloc[0] == pd.Timestamp("2026-01-30 22:30")


def test_dates_that_are_not_certain_are_asked_for_or_left_out(tmp_path: Path) -> None:
    numbers = np.random.default_rng(2).integers(1, 13, (ROWS, 2))
    path = written(tmp_path, born=[f"{a}/{b}/1980" for a, b in numbers])
    with pytest.raises(DataError, match='Column "born" holds dates like'):
        audit(None, spec(Source(path=path)))
    mixed = np.where(np.arange(ROWS) % 2, DAYS.dt.strftime("%Y-%m-%d"), DAYS.dt.strftime("%d-%m-%Y"))
    path = written(tmp_path, born=mixed)
    table = validate(read_table(path), spec(Source(path=path)))
    assert table.names("feature") == ["age"]
    assert any('Column "born" holds dates as texts' in one for one in table.warnings)


@pytest.mark.parametrize(
    "forms",
    [
        ["%d-%m-%y"],
        ["%m/%d/%y"],
        ["%d %b %y"],
        ["%b %d"],
        ["%d %B"],
        ["%m/%Y"],
        ["%B %Y"],
        ["%G-W%V"],
        ["%d-%m"],
        ["%m/%d"],
        ["%d.%m."],
        ["%Y-%m-%d", "%d-%m-%Y", "%d %B %Y", "%Y%m%d", "%m/%d/%Y"],
    ],
)
def test_dates_that_are_not_read_make_no_groups(tmp_path: Path, forms: list[str]) -> None:
    days = pd.date_range("2018-01-01", periods=90, freq="31D")
    path = written(tmp_path, day=[days[i % 90].strftime(forms[i % len(forms)]) for i in range(ROWS)])
    table = validate(read_table(path), spec(Source(path=path)))
    assert table.names("feature") == ["age"]
    assert any('Column "day" holds dates as texts' in one for one in table.warnings)


def test_ranges_of_small_numbers_stay_ranges(tmp_path: Path) -> None:
    """They are written as days of a year, but are fewer than a month has."""
    path = written(tmp_path, rooms=[("1-2", "3-5", "6-9", "10-12")[i % 4] for i in range(ROWS)])
    table = validate(read_table(path), spec(Source(path=path)))
    assert sorted(table.names("feature")) == ["age", "rooms"]


def test_names_of_months_stay_names(tmp_path: Path) -> None:
    path = written(tmp_path, month=[f"{pd.Timestamp(2026, 1 + i % 12, 1):%b}" for i in range(ROWS)])
    table = validate(read_table(path), spec(Source(path=path)))
    assert sorted(table.names("feature")) == ["age", "month"]
    assert not table.warnings


def test_months_of_years_become_years(tmp_path: Path) -> None:
    path = written(tmp_path, paid=[f"{2020 + i % 5}-{1 + i % 12:02d}" for i in range(ROWS)])
    frame = read_table(path)
    assert frame["paid"].iloc[:2].tolist() == [pd.Timestamp(2020, 1, 1), pd.Timestamp(2021, 2, 1)]
    assert ReadingNotes.of(frame.attrs).remarks == ('Column "paid" holds dates (year, month).',)


UNREAD = {
    "two currencies": lambda x: f"€ {x}" if x % 2 else f"$ {x}",
    "debts of accountants": lambda x: f"({x})" if x % 2 else f"{x}",
    "a minus behind": lambda x: f"{x}-" if x % 2 else f"{x}",
    "digits of Arabic": lambda x: f"{x}".translate({48 + one: 0x660 + one for one in range(10)}),
    "thousands": lambda x: f"{x / 10:.1f}k",
    "times of a day": lambda x: f"{x % 24:02}:{x % 60:02}",
    "how long it took": lambda x: f"{x}:00:30",
}


@pytest.mark.parametrize("write", UNREAD.values(), ids=UNREAD)
def test_numbers_in_notations_that_are_not_read_are_told(tmp_path: Path, write: Callable[[int], str]) -> None:
    path = written(tmp_path, x=[write(x % 97) for x in WHOLE])
    table = validate(read_table(path), spec(Source(path=path)))
    assert any('Column "x" is taken for categories, since its numbers' in one for one in table.warnings)


def test_zeros_before_numbers_make_names_of_them(tmp_path: Path) -> None:
    path = written(tmp_path, place=[f"{x % 30:03}" for x in WHOLE])
    frame = read_table(path)
    assert frame["place"].iloc[0] == f"{WHOLE[0] % 30:03}"
    assert any("zeros before them" in one for one in ReadingNotes.of(frame.attrs).remarks)
    table = validate(frame, spec(Source(path=path), features={"kinds": {"place": "numeric"}}))
    np.testing.assert_array_equal(table.frame["place"], WHOLE % 30)


def test_words_for_missing_values_are_counted_and_can_be_names(tmp_path: Path) -> None:
    places = np.random.default_rng(3).choice(["NA", "EU", "None"], ROWS)
    path = written(tmp_path, place=places)
    frame = read_table(path)
    assert frame["place"].isna().sum() == (places != "EU").sum()
    told = " ".join(ReadingNotes.of(frame.attrs).remarks)
    assert f'Column "place": "NA", which stands there {(places == "NA").sum()} times' in told
    assert f'"None", which stands there {(places == "None").sum()} times' in told
    frame = read_table(Source(path=path, missing_values=["?"]))
    assert frame["place"].tolist() == places.tolist()
    frame = read_table(written(tmp_path, x=np.where(places == "EU", PARTS.astype(str), "NA")))
    assert frame["x"].isna().sum() == (places != "EU").sum()
    assert not frame.attrs


SPELLINGS = np.random.default_rng(4).choice(["north", "north ", "VROUW", "vrouw", "café", "cafe\u0301"], ROWS)


def test_levels_that_differ_in_writing_are_named_and_merged(tmp_path: Path) -> None:
    path = written(tmp_path, place=SPELLINGS)
    table = validate(read_table(path), spec(Source(path=path)))
    (warning,) = (one for one in table.warnings if "differ only" in one)
    assert all(one in warning for one in ("'VROUW' / 'vrouw'", "'north' / 'north '", "u0301", '"source.clean"'))
    source = Source(path=path, clean=True)
    frame = read_table(source)
    assert frame["place"].nunique() == 3
    counts = pd.Series(SPELLINGS).value_counts()
    assert set(frame["place"]) == {
        max(pair, key=lambda one: counts[one])
        for pair in np.reshape(["north", "north ", "VROUW", "vrouw", "café", "cafe\u0301"], (3, 2))
    }
    table = validate(frame, spec(source))
    assert not any("differ only" in one for one in table.warnings)
    assert any('Column "place": 3 spellings of levels merged' in one for one in table.notes)


def test_levels_that_differ_in_what_is_not_seen_are_named(tmp_path: Path) -> None:
    path = written(
        tmp_path, place=[f"north{'' if row % 2 else sign}" for row, sign in enumerate(["\u200b", "\u00ad"] * 200)]
    )
    table = validate(read_table(path), spec(Source(path=path)))
    (warning,) = (one for one in table.warnings if "differ only" in one)
    assert r"'north' / 'north\u200b'" in warning
    assert len(set(read_table(Source(path=path, clean=True))["place"])) == 1


def test_blocks_are_understood_as_the_whole(tmp_path: Path) -> None:
    """The first block alone would be read otherwise: plain numbers, days that may be months."""
    amounts = [*["900"] * 100, *(dutch(x, 2) for x in WHOLE[100:])]
    born = [*["1/2/1980"] * 100, *DAYS.dt.strftime("%d/%m/%Y")[100:]]
    path = written(tmp_path, ";", x=amounts, born=born, place=SPELLINGS)
    source = Source(path=path, clean=True)
    whole = read_table(source)
    with open_batches(source, batch_rows=60) as batches:
        parts = list(batches)
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)
    assert whole["born"].iloc[0] == pd.Timestamp("1980-02-01")
    asked = spec(source)
    in_memory = validate(whole, asked)
    with open_batches(source, batch_rows=60) as batches:
        sharded = ingest(batches, asked, tmp_path, engine_of_process(asked), rows=batches.rows)
    assert (sharded.notes, sharded.fingerprint) == (in_memory.notes, in_memory.fingerprint)
    assert len(sharded.notes) == 4


def test_what_was_done_stands_in_the_report(tmp_path: Path) -> None:
    path = written(tmp_path, x=[f"€ {x:.2f}" for x in PARTS])
    result = audit(None, spec(Source(path=path)))
    assert result.document["data"]["notes"] == ['Column "x" holds numbers, written like €1,234.5.']
    assert "written like €1,234.5" in render_html(result.document)


def test_files_of_one_table_are_not_guessed_apart(tmp_path: Path) -> None:
    for name, texts in (("a", ["1,234", "2,345"]), ("b", ["0.5", "1.5"])):
        pd.DataFrame({"x": texts, "row": [1, 2]}).to_csv(tmp_path / f"{name}.csv", index=False)
    with pytest.raises(SourceError, match=r'a\.csv: Column "x" holds numbers like'):
        read_table(f"{tmp_path}/*.csv")


def test_a_table_in_memory_is_cleaned_too(tmp_path: Path) -> None:
    frame = people().assign(place=SPELLINGS)
    source = Source(path=str(tmp_path / "t.csv"), clean=True)
    columns = audit(frame, spec(source)).document["data"]["columns"]
    assert [one["distinct"] for one in columns if one["name"] == "place"] == [3]


def _as_category(frame: pd.DataFrame, folder: Path) -> Source:
    frame.astype({"born": "category"}).to_parquet(folder / "t.parquet", row_group_size=50)
    return Source(path=str(folder / "t.parquet"))


def _as_parquet(frame: pd.DataFrame, folder: Path) -> Source:
    frame.iloc[:90].to_parquet(folder / "1.parquet", row_group_size=50)
    frame.iloc[90:].to_parquet(folder / "2.parquet", row_group_size=50)
    return Source(path=f"{folder}/*.parquet")


def _as_lines(frame: pd.DataFrame, folder: Path) -> Source:
    frame.iloc[:90].to_json(folder / "1.jsonl", orient="records", lines=True)
    frame.iloc[90:].to_json(folder / "2.jsonl", orient="records", lines=True)
    return Source(path=f"{folder}/*.jsonl")


def _as_list(frame: pd.DataFrame, folder: Path) -> Source:
    frame.to_json(folder / "t.json", orient="records")
    return Source(path=str(folder / "t.json"))


def _as_query(frame: pd.DataFrame, folder: Path) -> Source:
    with closing(sqlite3.connect(folder / "t.db")) as database:
        frame.to_sql("t", database, index=False)
    return Source(sql="select * from t order by row", database=f"sqlite:///{folder}/t.db")


TYPED = {
    "Parquet": _as_parquet,
    "categories": _as_category,
    "JSON lines": _as_lines,
    "a JSON list": _as_list,
    "a query": _as_query,
}


def with_texts(born: Any) -> pd.DataFrame:
    """Days as texts, of which one is missing in each of the ways that there are."""
    frame = people().assign(born=pd.Series(list(born), dtype=object), place=SPELLINGS, row=range(ROWS))
    frame.loc[3, "born"], frame.loc[4, "born"] = None, "NA"
    return frame


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%Y%m%d"])
@pytest.mark.parametrize("kind", TYPED)
def test_texts_of_dates_are_dates_where_types_are_given(tmp_path: Path, kind: str, form: str) -> None:
    """All of them, though days of the first part alone may be months, and whole or in blocks."""
    days = DAYS.where(DAYS.index >= 90, pd.Timestamp("1980-02-01"))
    source = TYPED[kind](with_texts(days.dt.strftime(form)), tmp_path)
    whole = read_table(source)
    known = whole["born"].notna()
    assert (~known).sum() == 2
    assert whole["born"][known].tolist() == days[known].tolist()
    assert whole["place"].tolist() == SPELLINGS.tolist()
    assert [one for one in ReadingNotes.of(whole.attrs).remarks if one.startswith('Column "born" holds dates')]
    with open_batches(source, batch_rows=60) as batches:
        pd.testing.assert_frame_equal(pd.concat(list(batches), ignore_index=True), whole)
    asked = spec(source, features={"include": ["age", "born"]})
    in_memory = validate(whole, asked)
    with open_batches(source, batch_rows=60) as batches:
        sharded = ingest(batches, asked, tmp_path, engine_of_process(asked), rows=batches.rows)
    assert (sharded.notes, sharded.fingerprint) == (in_memory.notes, in_memory.fingerprint)


@pytest.mark.parametrize("kind", TYPED)
def test_texts_that_are_not_all_dates_stay_texts(tmp_path: Path, kind: str) -> None:
    texts = DAYS.dt.strftime("%Y-%m-%d")
    texts.iloc[-1] = "unknown"
    source = TYPED[kind](with_texts(texts), tmp_path)
    assert read_table(source)["born"].tolist()[5:] == texts.tolist()[5:]
    ambiguous = with_texts(np.random.default_rng(5).choice(["1/2/1980", "3/4/1981"], ROWS))
    (tmp_path / "other").mkdir()
    source = TYPED[kind](ambiguous, tmp_path / "other")
    with pytest.raises(DataError, match='Column "born" holds dates like'):
        audit(None, spec(source))


def test_texts_of_dates_in_a_table_that_is_handed_over(tmp_path: Path) -> None:
    frame = with_texts(DAYS.dt.strftime("%d-%m-%Y"))
    source = Source(path=str(tmp_path / "not_read.csv"))
    found = audit(frame, spec(source, features={"exclude": ["row"]})).document
    assert 'Column "born" holds dates (day, month, year).' in found["data"]["notes"]
    assert [one["kind"] for one in found["data"]["columns"] if one["name"] == "born"] == ["numeric"]


def test_a_key_of_a_join_may_be_dates_and_texts_of_dates(tmp_path: Path) -> None:
    days = pd.Series(pd.date_range("2020-01-01", periods=ROWS)).sample(frac=1, random_state=1).reset_index(drop=True)
    people().assign(day=days.dt.strftime("%d.%m.%Y")).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"day": days.dt.strftime("%Y-%m-%d"), "more": range(ROWS)}).to_parquet(tmp_path / "more.parquet")
    join = {"path": str(tmp_path / "more.parquet"), "key": "day"}
    source = Source.model_validate({"path": str(tmp_path / "t.csv"), "join": join})
    assert read_table(source)["more"].tolist() == list(range(ROWS))
    days.astype(str).replace("2020-01-01", "?").to_frame("day").assign(more=1).to_parquet(tmp_path / "more.parquet")
    with pytest.raises(SourceError, match='"day" is a date in .* and text in'):
        read_table(source)
