"""Doors of the command line record looks in one ledger, and ``bdt looks`` shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bdt_pipeline.cli import app
from tests.core.sealed.test_cheating import FRAME

SPEC = """name: loans
source: {path: loans.csv}
bias_variable: {derive: positive_prediction, prediction: refused, better: lower}
protected: [sex]
gate: [{check: worst_group, max_difference: LIMIT}]
worst_groups: {permutations: 39}
clustering: null
slices: null
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("loans.csv", index=False)
    (tmp_path / "loans.yaml").write_text(SPEC.replace("LIMIT", "0.05"))
    return tmp_path


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def test_audit_and_gate_are_looks_at_the_same_people(folder: Path) -> None:
    run("audit", "loans.yaml")
    (folder / "loans.yaml").write_text(SPEC.replace("LIMIT", "0.5"))
    answer = json.loads(run("gate", "loans.yaml", "--format", "json"))
    assert [one["door"] for one in answer["looks"]["earlier"]] == ["audit"]
    assert answer["looks"]["earlier"][0]["verdict"] == "fail"
    assert "was moved" in answer["looks"]["earlier"][0]["changes"][0]
    told = run("looks")
    assert told.index("FAIL") < told.index("PASS") < told.index("was moved")


def test_a_table_that_cannot_be_audited_leaves_a_stopped_look(folder: Path) -> None:
    (folder / "loans.csv").write_text("age,sex\n1,f\n")
    run("gate", "loans.yaml", code=2)
    events = [json.loads(line) for line in (folder / "bdt-reports" / "looks.jsonl").read_text().splitlines()]
    assert [(one["event"], one.get("why")) for one in events] == [("begun", None), ("stopped", "DataError")]


def test_another_folder_can_hold_the_ledger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BDT_LOOKS", str(folder / "shared"))
    run("gate", "loans.yaml", code=1)
    assert {path.name for path in folder.iterdir()} == {"loans.csv", "loans.yaml", "shared"}
    assert "FAIL" in run("looks")


def test_what_is_not_there_is_named(folder: Path) -> None:
    assert "no look is recorded there" in run("looks", code=2)
    run("gate", "loans.yaml", code=1)
    assert 'no look of an audit "lons"' in run("looks", "--name", "lons", code=2)
    assert 'there is no "fr"' in run("looks", "--language", "fr", code=2)
    (folder / "bdt-reports" / "looks.jsonl").write_bytes(b"")
    assert "lines are missing at the end" in run("looks", code=1)
