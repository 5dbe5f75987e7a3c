"""Wide tables: the search is bounded, keeps what shows most harm, and says before and after what it leaves out."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.groups.slices import Slices, bound, counting, find_slices
from bdt_core.groups.slices.audited import find_bias_slices
from bdt_core.groups.slices.bound import most_combinations
from bdt_core.groups.slices.part import CodedPart
from bdt_core.report.markdown import render_markdown
from bdt_core.spec import SliceSearch, parse_spec
from bdt_core.stages import Stages
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_pipeline import bias_audit_definitions
from tests.core.report.described import described
from tests.core.tables_in_blocks import TableInBlocks, audit_table

WIDE = 60
HARMED = ("x7", "x31", "x55")


def people(n: int = 3000, *, columns: int = WIDE, seed: int = 0, by: str = "each") -> pd.DataFrame:
    """Columns of two values; who has "a" in three of them is worse off.

    `by` each: every condition shows something by itself. By pairs: the first two show nothing one by one.
    """
    rng = np.random.default_rng(seed)
    holds = rng.random((n, columns)) < 0.5
    first, second, third = (holds[:, int(one[1:])] for one in HARMED)
    harm = 0.3 + 0.3 * (first & second & third)
    if by == "pairs":
        harm += np.where(first == second, 0.05, -0.15) - 0.1 * (third & ~(first & second))
    frame = pd.DataFrame(np.where(holds, "a", "b"), columns=[f"x{i}" for i in range(columns)])
    return frame.assign(y=(rng.random(n) < harm).astype(int))


def correlated(n: int, columns: int) -> pd.DataFrame:
    """Numbers in groups of three that hardly differ: only within a group there are enough people for a combination."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(n, columns // 3)).repeat(3, axis=1) + rng.normal(scale=0.1, size=(n, columns))
    frame = pd.DataFrame(groups, columns=[f"x{i}" for i in range(columns)])
    return frame.assign(y=(rng.random(n) < np.where(frame.x0 > 0.8, 0.7, 0.2)).astype(int))


def found(frame: pd.DataFrame, **how: Any) -> Slices:
    return find_slices(frame, outcome="y", better="lower", **how)


def as_bytes(one: Slices) -> bytes:
    return json.dumps(one.to_dict(), sort_keys=True).encode()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many combinations of columns are counted, per pass."""
    counted: list[int] = []
    plain = CodedPart.count

    def count(part: CodedPart, combinations: Any, *more: Any) -> Any:
        counted.append(len(combinations))
        return plain(part, combinations, *more)

    monkeypatch.setattr(CodedPart, "count", count)
    return counted


@pytest.mark.parametrize("by", ["each", "pairs"])
def test_a_group_of_three_conditions_in_a_wide_table_is_found(by: str, work: list[int]) -> None:
    result = found(people(by=by))
    assert result.bounded is not None
    (left_out,) = result.bounded
    assert (left_out.conditions, left_out.combinations) == (3, math.comb(WIDE, 3))
    assert set(HARMED) <= set(left_out.columns)
    assert math.comb(len(left_out.columns), 3) <= most_combinations(3) < math.comb(len(left_out.columns) + 1, 3)
    assert work == [WIDE, math.comb(WIDE, 2), math.comb(len(left_out.columns), 3)]
    assert result.worst is not None
    assert {(one.column, *one.values) for one in result.worst.conditions} == {(one, "a") for one in HARMED}


def test_columns_are_chosen_by_harm_on_the_train_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other test rows change what is tested, not what is searched."""
    monkeypatch.setattr(bound, "FEWEST_COMBINATIONS", 1800)
    train, test = (audit_table(people(seed=seed).rename(columns={"y": BIAS_VARIABLE})) for seed in (0, 1))
    other = audit_table(people(seed=2, by="pairs").rename(columns={"y": BIAS_VARIABLE}))
    one, two = (find_bias_slices(train, rows, SliceSearch()) for rows in (test, other))
    assert one.bounded is not None
    assert one.bounded == two.bounded
    assert one.test_value != two.test_value


def test_columns_beside_a_strong_one_are_judged_by_what_they_add(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the strong column's condition any other's fares badly: that is no evidence for the other."""
    monkeypatch.setattr(bound, "ORDINARY", 5)
    monkeypatch.setattr(bound, "FEWEST_COMBINATIONS", 500)
    frame = people()
    frame["y"] = frame.y.where(np.random.default_rng(0).random(len(frame)) > 0.5 * (frame.x40 == "a"), 1)
    result = found(frame, columns=[f"x{i}" for i in (*range(5, 33), 40, 55)])
    assert result.bounded is not None
    assert result.bounded[0].columns[0] == "x40"
    assert set(result.bounded[0].columns[1:4]) == set(HARMED)


def test_what_cannot_have_enough_people_is_neither_counted_nor_left_out(
    work: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A combination has too few people where a part of it has; the result is that of the whole search."""
    monkeypatch.setattr(bound, "ORDINARY", 5)
    monkeypatch.setattr(bound, "FEWEST_COMBINATIONS", 500)
    columns = 30
    frame = correlated(900, columns)
    result = found(frame)
    assert result.bounded is None
    assert work[:2] == [columns, math.comb(columns, 2)]
    assert 0 < work[2] < 100
    monkeypatch.setattr(bound, "ORDINARY", columns)
    assert as_bytes(found(frame)) == as_bytes(result)
    assert work[3] == sum(math.comb(columns, size) for size in (1, 2, 3))
    assert any(len(one.conditions) == 3 for one in result.slices)


def test_tables_of_fifty_columns_are_searched_whole_and_in_one_pass(work: list[int]) -> None:
    frame = people(240)
    assert found(frame, columns=list(frame.columns[:50])).bounded is None
    assert found(frame, columns=list(frame.columns[:30]), max_conditions=4).bounded is None
    assert work == [sum(math.comb(columns, k) for k in range(1, most + 1)) for columns, most in ((50, 3), (30, 4))]


def test_pairs_and_more_conditions_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left out with fewer conditions is missing from more, and said."""
    monkeypatch.setattr(bound, "ORDINARY", 5)
    monkeypatch.setattr(bound, "FEWEST_COMBINATIONS", 100)
    result = found(people(columns=WIDE), max_conditions=4)
    assert result.bounded is not None
    assert [(one.conditions, len(one.columns)) for one in result.bounded] == [(2, 14), (3, 9), (4, 8)]
    for fewer, more in zip(result.bounded, result.bounded[1:], strict=False):
        assert set(more.columns) < set(fewer.columns)
    for one in result.slices:
        allowed = {each.conditions: set(each.columns) for each in result.bounded}.get(len(one.conditions))
        assert allowed is None or {condition.column for condition in one.conditions} <= allowed
    assert result.worst is not None
    assert {one.column for one in result.worst.conditions} == set(HARMED)


@pytest.mark.parametrize("kind", ["rate", "values"])
def test_neither_order_nor_blocks_nor_threads_change_a_byte(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def table(seed: int) -> AuditTable:
        frame = people(1200, seed=seed).rename(columns={"y": BIAS_VARIABLE})
        if kind == "values":
            frame[BIAS_VARIABLE] += np.random.default_rng(seed).random(len(frame))
        return audit_table(frame)

    def search(train: Any) -> bytes:
        return as_bytes(find_bias_slices(train, test, SliceSearch(columns=[f"x{i}" for i in range(25, 57)])))

    monkeypatch.setattr(bound, "ORDINARY", 5)
    monkeypatch.setattr(bound, "FEWEST_COMBINATIONS", 500)
    train, test = table(0), table(1)
    whole = search(train)
    assert json.loads(whole)["bounded"]
    assert search(TableInBlocks(train, (100, 101, 700))) == whole
    shuffled = train.frame.sample(frac=1.0, random_state=0, ignore_index=True)
    assert search(replace(train, frame=shuffled)) == whole
    monkeypatch.setattr(counting, "THREADED_ROWS", 1)
    assert search(train) == whole


SPEC: dict[str, Any] = {
    "name": "wide",
    "source": {"path": "wide.csv"},
    "bias_variable": {"column": "y"},
    "clustering": {"stability": 0, "n_init": 1, "max_iter": 2},
    "worst_groups": {"permutations": 39, "max_groups": 1},
}


def test_reports_say_what_was_left_out() -> None:
    frame = people()
    spec = {**SPEC, "worst_groups": None}
    wide = audit(frame, {**spec, "features": {"include": list(frame.columns[:-1])}}).document
    described().validate(wide)
    (left_out,) = wide["slices"]["bounded"]
    assert (left_out["conditions"], left_out["combinations"], len(left_out["columns"])) == (3, 34_220, 50)
    said = " ".join(render_markdown(wide).split())
    assert "Of the 34,220 combinations of 3 columns only those of 50 columns were looked at" in said
    assert "Every intersection of" not in said
    narrow = audit(frame, {**spec, "features": {"include": list(HARMED)}}).document
    assert "bounded" not in narrow["slices"]
    assert "Every intersection of" in render_markdown(narrow)


class Quick(Stages):
    """Searches nothing."""

    def find_worst_groups(self, *_: Any) -> Any:
        return None

    def find_slices(self, *_: Any) -> Any:
        return None


def test_before_a_wide_table_is_searched_it_is_said_what_is_counted_and_what_may_be_left_out() -> None:
    frame = people(400)
    told: list[str] = []

    def run(columns: int, stages: Stages | None = None) -> list[str]:
        told.clear()
        spec = {**SPEC, "features": {"include": list(frame.columns[:columns])}}
        audit(frame, spec, stages=stages, notice=told.append, progress=lambda title, *_: told.append(title))
        return [one for one in told if "columns" in one]

    groups, slices = run(WIDE)
    assert told.index(groups) == told.index("search the worst-treated group") + 1
    assert told.index(slices) == told.index("search intersections") + 1
    assert "10 pairs of random conditions, where a narrower table has 16" in groups
    assert "up to 21,830 combinations of columns" in slices  # 60 + 1,770 + 20,000
    assert "of the 34,220 combinations of 3 columns 20,000 at most" in slices
    assert run(40) == []
    assert run(WIDE, Quick()) == []  # whoever replaces a search knows what it does


def test_dagsters_log_says_it_too(tmp_path: Path) -> None:
    frame = people(400)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    spec = {**SPEC, "source": {"path": str(tmp_path / "wide.csv")}, "worst_groups": None}
    defs = bias_audit_definitions(parse_spec({**spec, "features": {"include": list(frame.columns[:-1])}}))
    with dg.DagsterInstance.ephemeral() as instance:
        ran = defs.resolve_job_def("wide_audit").execute_in_process(
            instance=instance,
            raise_on_error=False,
            asset_selection=[
                dg.AssetKey(["wide", one])
                for one in ("raw_data", "validated_data", "train_data", "test_data", "bias_slices")
            ],
        )
        said = " ".join(str(one.user_message) for one in instance.all_logs(ran.run_id))
    assert "up to 21,830 combinations of columns are counted" in said
