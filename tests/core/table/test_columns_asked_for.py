"""Of a table those columns are read at which the audit looks; what is said of the others is their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import AuditResult, audit
from bdt_core.errors import BDTError, DataError, SourceError
from bdt_core.stages import Stages
from bdt_core.table.batches import measure_source, open_batches
from bdt_core.table.column_types import UNREAD
from bdt_core.table.files import FilesTable

ROWS = 400
SEARCHES = {"worst_groups": None, "slices": None, "clustering": {"stability": 0}}


def table(others: int = 3) -> pd.DataFrame:
    draw = np.random.default_rng(7)
    frame = pd.DataFrame({"age": draw.integers(20, 60, ROWS)})
    frame["before"] = [f"{number},5" for number in range(ROWS)]
    frame["error"] = ((frame["age"] < 30) & (draw.random(ROWS) < 0.6)).astype(int)
    for number in range(others):
        frame[f"other{number}"] = draw.normal(size=ROWS).round(3)
    return frame


def spec(path: Path, **more: object) -> dict[str, object]:
    return {
        "name": "asked",
        "source": {"path": str(path)},
        "bias_variable": {"column": "error", "better": "lower"},
        "features": {"include": ["age"]},
        **SEARCHES,
        **more,
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table().to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def columns(result: AuditResult) -> list[tuple[str, str, int | None, int | None]]:
    return [(one.name, one.role, one.missing, one.distinct) for one in result.test.columns]


def test_types_are_worked_out_of_what_is_asked_for(path: Path) -> None:
    text = FilesTable(str(path))
    (its,) = (one.settle(["error", "age"]) for one in text.tables)
    assert [name for name, one in its.columns.items() if one is not UNREAD] == ["age", "error"]
    assert list(its.columns) == list(table())


def test_a_report_has_the_names_of_all_columns_and_facts_of_those_looked_at(path: Path) -> None:
    result = audit(None, spec(path))
    assert columns(result) == [
        ("age", "feature", 0, 40),
        ("before", "unused", None, None),
        ("error", "bias_variable", 0, 2),
        *((f"other{number}", "unused", None, None) for number in range(3)),
    ]
    assert result.test.notes == ()  # none on the decimal comma of a column at which nobody looks


@pytest.mark.parametrize("written", ["parquet", "csv", "out of core", "in memory", "by a stage of somebody else"])
def test_the_report_is_the_same_however_the_table_comes(path: Path, written: str) -> None:
    expected = audit(None, spec(path))
    frame = pd.read_csv(path)
    frame.to_parquet(path.with_suffix(".parquet"))

    class Theirs(Stages):
        """Replaces nothing, and may look at everything."""

    result = {
        "parquet": lambda: audit(None, spec(path.with_suffix(".parquet"))),
        "csv": lambda: audit(str(path), spec(path)),
        "out of core": lambda: audit(None, spec(path, clustering={"stability": 0, "memory": "out_of_core"})),
        "in memory": lambda: audit(frame, spec(path)),
        "by a stage of somebody else": lambda: audit(None, spec(path), stages=Theirs()),
    }[written]()
    assert columns(result) == columns(expected)
    assert result.test.notes == expected.test.notes
    assert result.test.fingerprint == expected.test.fingerprint


def test_a_replaced_stage_gets_every_column(path: Path) -> None:
    seen: list[str] = []

    class Theirs(Stages):
        def validate(self, frame: pd.DataFrame, spec):  # type: ignore[no-untyped-def]
            seen.extend(frame.columns)
            return super().validate(frame, spec)

    audit(None, spec(path), stages=Theirs())
    assert seen == list(table())


def test_size_is_that_of_the_columns_that_are_read(path: Path) -> None:
    whole, some = measure_source(str(path)), measure_source(str(path), lambda _: ["age"])
    assert some.estimated_bytes is not None
    assert whole.estimated_bytes is not None
    assert some.estimated_bytes == whole.estimated_bytes / len(table().columns)  # all of them are numbers


@pytest.mark.parametrize(
    "named",
    [
        {"features": {"include": ["othre1"]}},
        {"legitimate": ["othre1"]},
        {"protected": ["othre1"]},
        {"groups": {"label": "othre1", "prediction": "error", "facets": ["other2"]}},
    ],
)
def test_a_name_that_is_not_there_is_answered_by_all_names(path: Path, named: dict[str, object]) -> None:
    with pytest.raises(BDTError, match='Did you mean "other1"'):
        audit(None, spec(path, **named))


def test_decimals_are_as_in_a_column_that_nobody_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n" + "".join(f"1.{n};2,5;x\n" for n in range(100, 130)))
    with open_batches(str(path), columns=["a"]) as some, open_batches(str(path)) as whole:
        (alone,), (every,) = some, whole
    assert alone["a"].tolist() == every["a"].tolist() == [1000.0 + n for n in range(100, 130)]
    kept = FilesTable(str(path))
    kept.settle(["a"], keep=True)
    assert next(kept.pieces(["a"]))["a"].tolist() == alone["a"].tolist()


def test_a_stray_quotation_mark_in_another_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{n},x,y" for n in range(40)]
    rows[3], rows[9] = '3,"x,y', '9,x",y'
    path.write_text("\n".join(["a,b,c", *rows, ""]))
    with pytest.raises(SourceError, match="line 5"), open_batches(str(path), columns=["a"]):
        pass


def test_files_agree_in_names_and_in_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,b\n1,x\n")
    with open_batches(str(tmp_path / "*.csv"), columns=["a"]) as batches:
        assert sum(map(len, batches)) == 2
    with pytest.raises(SourceError, match='Column "b" holds'), open_batches(str(tmp_path / "*.csv")):
        pass
    (tmp_path / "2.csv").write_text("a,c\n1,x\n")
    with pytest.raises(SourceError, match="lacks the column"), open_batches(str(tmp_path / "*.csv"), columns=["a"]):
        pass


def test_bad_values_count_where_somebody_looks(path: Path) -> None:
    frame = table()
    frame.loc[3, "other1"] = np.inf
    frame.to_csv(path, index=False)
    assert audit(None, spec(path)).test.names("feature") == ["age"]
    with pytest.raises(DataError, match="infinite"):
        audit(None, spec(path, features={"include": ["age", "other1"]}))


def test_what_is_counted_besides_features_is_read(path: Path) -> None:
    asked = spec(path, split={"key": "before"}, groups={"score": "other0", "label": "error", "facets": ["other2"]})
    frame = table()
    frame["other2"] = np.where(frame["age"] % 2, "odd", "even")
    frame["before"] = [f"p{number}" for number in range(ROWS)]
    frame.to_csv(path, index=False)
    result = audit(None, asked)
    assert [name for name, _, missing, _ in columns(result) if missing is None] == ["other1"]
