"""Dates of birth become ages, wherever the table is."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bdt_core.errors import SourceError, SpecError
from bdt_core.spec import Source, load_spec
from bdt_core.table.ages import with_ages
from bdt_core.table.batches import open_batches
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.sources import as_source_reads_it, read_table

ROWS = 400
RNG = np.random.default_rng(0)
BORN = pd.Series(pd.to_datetime("1940-01-01") + pd.to_timedelta(RNG.integers(0, 25_000, ROWS), "D"), name="born")
DECIDED = pd.Series(pd.to_datetime("2015-01-01") + pd.to_timedelta(RNG.integers(0, 3_000, ROWS), "D"))
DAYS = st.dates(dt.date(1850, 1, 1), dt.date(2150, 12, 31))


def birthdays(born: dt.date, on: dt.date) -> int:
    """One by one: the days after birth with the same month and day, or after 28 February where there is no 29th."""
    reached = 0
    for year in range(born.year + 1, on.year + 1):
        try:
            day = born.replace(year=year)
        except ValueError:
            day = dt.date(year, 3, 1)
        reached += day <= on
    return reached


@given(DAYS, DAYS)
def test_an_age_is_the_number_of_birthdays(one: dt.date, other: dt.date) -> None:
    born, on = sorted((one, other))
    frame = pd.DataFrame({"born": pd.to_datetime([born]), "on": pd.to_datetime([on])})
    expected = [birthdays(born, on)]
    assert with_ages(frame, {"born": "on"})["born"].tolist() == expected
    assert with_ages(frame, {"born": on.isoformat()})["born"].tolist() == expected


def ages(on: pd.Series[Any] | pd.Timestamp) -> list[float]:
    turns = on if isinstance(on, pd.Series) else pd.Series([on] * ROWS)
    return [float(birthdays(one.date(), other.date())) for one, other in zip(BORN, turns, strict=True)]


def table() -> pd.DataFrame:
    return pd.DataFrame({"born": BORN, "decided": DECIDED, "y": RNG.integers(0, 2, ROWS)})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("on", "expected"), [("2026-01-31", pd.Timestamp("2026-01-31")), ("decided", DECIDED)])
def test_whole_in_blocks_and_in_memory(tmp_path: Path, kind: str, on: str, expected: Any) -> None:
    path = str(tmp_path / f"t.{kind}")
    table().to_csv(path, index=False) if kind == "csv" else table().to_parquet(path)
    source = Source(path=path, ages={"born": on})
    whole = read_table(source)
    assert whole["born"].tolist() == ages(expected)
    assert whole["decided"].tolist() == DECIDED.tolist()
    assert any(one.startswith('Column "born" is the age in whole years on ') for one in _told(whole))
    with open_batches(source, batch_rows=60) as batches:
        assert batches.parts() is None
        pd.testing.assert_frame_equal(pd.concat(list(batches), ignore_index=True), whole)
    (alone,) = open_batches(source, columns=["born"])
    assert alone.columns.tolist() == ["born"]
    assert alone["born"].tolist() == whole["born"].tolist()
    handed = as_source_reads_it(table(), source)
    assert handed["born"].tolist() == whole["born"].tolist()
    assert as_source_reads_it(handed, source)["born"].tolist() == whole["born"].tolist()  # it is an age already


def _told(frame: pd.DataFrame) -> tuple[str, ...]:
    return ReadingNotes.of(frame.attrs).remarks


def test_an_age_is_missing_where_a_day_is() -> None:
    frame = pd.DataFrame({"born": ["1980-02-29", None, "1990-01-01"], "on": ["2026-02-28", "2026-01-01", None]})
    aged = as_source_reads_it(frame, Source(path="t.csv", ages={"born": "on"}))["born"]
    assert aged.iloc[0] == 45
    assert aged.isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("columns", "given", "told"),
    [
        ({"born": ["1980-01-01"]}, {"bron": "2026-01-31"}, 'source.ages: .* has no column "bron".*born'),
        ({"born": ["1980-01-01"]}, {"born": "decided"}, 'source.ages: .* has no column "decided"'),
        ({"born": ["1980-01-01"]}, {"born": "1979-12-31"}, 'some rows have a day in "born" that lies after 1979-12-31'),
        ({"born": ["north"]}, {"born": "2026-01-31"}, 'column "born" holds something else than dates'),
        ({"born": [34]}, {"born": "2026-01-31"}, 'column "born" holds something else than dates'),
        ({"born": ["3/4/1980"]}, {"born": "2026-01-31"}, 'Column "born" holds dates like 3/4/2026'),
    ],
)
def test_what_does_not_fit_is_named(columns: dict[str, Any], given: dict[str, str], told: str) -> None:
    with pytest.raises(SourceError, match=told):
        as_source_reads_it(pd.DataFrame(columns), Source(path="t.csv", ages=given))


def test_the_specification(tmp_path: Path) -> None:
    text = "name: a\nbias_variable: {column: y}\nsource: {path: demo:compas, ages: %s}\n"
    (tmp_path / "a.yaml").write_text(text % "{born: 2026-01-31}")  # which is a date in YAML
    assert load_spec(tmp_path / "a.yaml").source.ages == {"born": "2026-01-31"}
    for wrong, told in (("{born: died, died: 2026-01-31}", '"died" cannot say'), ("{born: 31}", "source.ages.born")):
        (tmp_path / "a.yaml").write_text(text % wrong)
        with pytest.raises(SpecError, match=told):
            load_spec(tmp_path / "a.yaml")
