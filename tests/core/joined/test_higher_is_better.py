"""Where a higher value is better, the whole audit turns: search, tests, gate, intersections, permuted procedure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bdt_core.audit import AuditResult
from tests.core.joined.made_tables import OUT_OF_CORE, harmed, quick_audit

WHERE = {"in memory": {}, "in blocks": OUT_OF_CORE}
GATE = [{"check": "worst_cluster", "max_difference": 0.1}, {"check": "any_cluster", "max_difference": 0.1}]


def told(frame: pd.DataFrame, folder: Path, where: str, better: str, **changes: Any) -> AuditResult:
    """Audit a table; out of core it comes from a file."""
    file = folder / f"{better}.csv"
    frame.to_csv(file, index=False)
    settings = {**WHERE[where], "bias_variable": {"column": "y", "better": better}, **changes}
    return quick_audit(file if where == "in blocks" else pd.read_csv(file), gate=GATE, **settings)


@pytest.fixture(params=["rate", "value"])
def table(request: pytest.FixtureRequest) -> pd.DataFrame:
    """A quarter is denied more often (0/1), or offered less (a number)."""
    frame = harmed(harm=0.5, base=0.2)
    if request.param == "value":
        frame["y"] = frame["y"] * 0.5 + frame["x1"].rank() / 8000
    return frame.assign(y=1.0 - frame["y"])


@pytest.mark.parametrize("where", WHERE)
def test_who_gets_less_of_what_is_better_is_found_and_fails(table: pd.DataFrame, tmp_path: Path, where: str) -> None:
    result = told(table, tmp_path, where, "higher")
    first = result.clusters.train[0]
    assert first.path[0].startswith("x0 higher")  # the quarter that was harmed
    assert first.mean < result.clusters.train_mean
    assert first.gap > 0
    document = result.document["clusters"][0]
    assert document["comparison"]["difference"] < 0
    assert document["worse"]
    assert not result.document["clusters"][-1]["worse"]
    assert result.verdict == "fail"
    for limit in result.document["gate"]:
        assert 0.1 < limit["low"] < limit["difference"] < limit["high"]


@pytest.mark.parametrize("where", WHERE)
def test_the_same_values_where_lower_is_better_blame_somebody_else(
    table: pd.DataFrame, tmp_path: Path, where: str
) -> None:
    first = told(table, tmp_path, where, "lower").clusters.train[0]
    assert first.path[0].startswith("x0 lower")
    assert first.mean > table["y"].mean()


@pytest.mark.parametrize("where", WHERE)
def test_intersections_are_worse_where_people_get_less(table: pd.DataFrame, tmp_path: Path, where: str) -> None:
    slices = {"max_conditions": 1, "columns": ["x0", "kind"]}
    result = told(table, tmp_path, where, "higher", slices=slices)
    assert result.slices is not None
    found = [one for one in result.slices.slices if one.significant]
    assert found
    for one in found:
        assert one.name.startswith("x0")
        assert one.comparison.difference is not None
        assert one.comparison.difference < -0.1


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_only_harm_counts_in_the_permuted_procedure(better: str) -> None:
    frame = harmed(harm=0.5, base=0.2)
    if better == "higher":
        frame["y"] = 1.0 - frame["y"]
    settings = {"bias_variable": {"column": "y", "better": better}}
    found = quick_audit(frame, **settings, significance={"test": "permutation", "permutations": 19})
    procedure = found.significance.procedure
    assert procedure is not None
    assert procedure.statistic is not None
    assert procedure.statistic > 5.0
    assert procedure.p_value == pytest.approx(1 / 20)
