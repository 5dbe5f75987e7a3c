"""Rows made from one another by noise are named, and make nothing surer; keys that name nobody are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import DataError
from bdt_core.spec import parse_spec
from bdt_core.table.repeated_rows import LEFT_OUT, find_repeats
from bdt_core.table.validate import validate
from tests.core.joined.made_tables import OUT_OF_CORE, QUICK, quick_audit

PEOPLE, ROWS = 500, 5000


def people(rows: int = PEOPLE, seed: int = 3) -> pd.DataFrame:
    """Nobody is treated worse."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "region": rng.choice(list("abcde"), rows)})
    frame["age"] = rng.integers(18, 80, rows)
    frame["income"] = np.round(rng.gamma(4.0, 700.0, rows))
    frame["rent"] = np.round(rng.gamma(4.0, 200.0, rows))
    frame["debt"] = np.round(rng.gamma(1.0, 9000.0, rows))
    return frame.assign(y=(rng.random(rows) < 0.3).astype(float))


def near_copies(*noisy: str, rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = people().iloc[rng.integers(0, PEOPLE, rows)].reset_index(drop=True)
    return frame.assign(**{name: frame[name] + rng.normal(0.0, 5.0, rows) for name in noisy})


def validated(frame: pd.DataFrame, **changes: Any) -> Any:
    return validate(frame, parse_spec({**QUICK, "source": {"path": "a.csv"}, **changes}))


@pytest.mark.parametrize("noisy", [("income",), ("rent", "age")])
def test_one_of_each_is_audited_whichever_columns_have_noise(noisy: tuple[str, ...]) -> None:
    frame = near_copies(*noisy)
    table = validated(frame)
    distinct = frame.drop_duplicates([name for name in frame if name not in (*noisy, "y")])
    assert table.audited_rows == len(distinct)
    (left_out,) = table.left_out
    assert (left_out.reason, left_out.rows) == (LEFT_OUT, ROWS - len(distinct))
    told = next(one for one in table.warnings if "nearly the same" in one)
    assert all(f'"{name}"' in told for name in noisy)
    assert (
        validated(frame.iloc[::-1])
        .frame.sort_values([*noisy], ignore_index=True)
        .equals(table.frame.sort_values([*noisy], ignore_index=True))
    )


def test_what_near_copies_alone_make_certain_is_not_found() -> None:
    frame = near_copies("income")
    number = pd.Series(np.arange(ROWS))  # what tells rows apart: the audit as if each were another person
    as_if = quick_audit(frame.assign(rent=frame["rent"] + number / ROWS, age=frame["age"] + number / ROWS))
    assert as_if.findings or as_if.worst_groups.groups  # type: ignore[union-attr]
    found = quick_audit(frame)
    assert not found.findings
    assert found.document["data"]["rows_audited"] < PEOPLE + 1


@pytest.mark.parametrize(
    ("language", "told", "remark"),
    [
        ("en", "rows are nearly the same as another one. One of each was audited", 'in all but "income", far more'),
        (
            "nl",
            "rijen zijn bijna gelijk aan een andere. Van elk is er één onderzocht",
            'in alles behalve "income", veel',
        ),
    ],
)
def test_page_1_and_the_remarks_name_them(language: str, told: str, remark: str, tmp_path: Path) -> None:
    quick_audit(near_copies("income"), language=language).write(tmp_path / "own")
    page = (tmp_path / "own" / "report.md").read_text(encoding="utf-8")
    assert told in page
    assert remark in page
    assert {"en": "they make nothing surer", "nl": "zij niets zekerder maken"}[language] in page
    whole = (tmp_path / "own" / "report.html").read_text(encoding="utf-8")
    assert {"en": LEFT_OUT, "nl": "bijna gelijk aan een andere rij"}[language] in whole


def test_out_of_core_the_same_rows_are_left(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    near_copies("income").to_csv(file, index=False)
    here = quick_audit(file, split={"repeats": 1, "method": "hash"}).document
    there = quick_audit(file, split={"repeats": 1, "method": "hash"}, clustering=OUT_OF_CORE["clustering"]).document
    assert there["data"] == here["data"]
    assert there["warnings"] == here["warnings"]
    assert there["findings"] == here["findings"]


def test_of_a_large_table_near_copies_are_named_and_stay() -> None:
    table = validated(near_copies("income"), large_rows=2000)
    assert table.left_out == ()
    assert any("They are counted as if they were many" in one for one in table.warnings)


def test_rows_that_are_alike_by_chance_are_left_alone() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.choice(list("abc"), 10_000) for name in "pqrst"})
    for more in ({}, {"age": rng.integers(18, 80, 10_000)}, {"income": np.round(rng.gamma(4.0, 700.0, 10_000))}):
        table = validated(frame.assign(y=(rng.random(10_000) < 0.3).astype(float), **more))
        assert find_repeats(table) is None
        assert table.left_out == ()
    assert find_repeats(validated(people(10_000))) is None


def test_a_key_of_five_values_names_no_persons() -> None:
    with pytest.raises(
        DataError, match=r'"split.key" names the column "region", which has 5 different values in 2,000 '
    ):
        validated(people(2000), split={"key": "region"})


def test_a_column_with_one_value_is_named_among_what_was_not_looked_at(tmp_path: Path) -> None:
    quick_audit(people(1000).assign(sex="f")).write(tmp_path / "own")
    page = (tmp_path / "own" / "report.md").read_text(encoding="utf-8")
    assert "What was not looked at: sex." in page
