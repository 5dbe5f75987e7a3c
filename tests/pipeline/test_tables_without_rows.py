"""A table that has names of columns and no rows: what every way in says of it, and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from bdt_core.audit import audit
from bdt_core.errors import BDTError
from bdt_core.proposal import propose
from bdt_core.spec import load_spec
from bdt_pipeline.cli import app

OF_A_FILE = "people.csv has a header but no rows. Save it again with its rows, or name another table."
OF_OTHERS = " has columns but no rows. Widen the condition that selects rows, or take another table."
NOBODY = pd.DataFrame({"sex": [], "age": [], "fined": []})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    NOBODY.to_csv(tmp_path / "people.csv", index=False)
    write(tmp_path / "people.yaml", {"path": "people.csv"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(file: Path, source: dict[str, Any]) -> None:
    spec = {"name": "people", "source": source, "bias_variable": {"column": "fined"}, "protected": ["sex"]}
    file.write_text(yaml.safe_dump(spec))


@pytest.mark.parametrize(
    "command",
    ["audit people.csv", "audit people.yaml", "init people.csv", "gate people.yaml", "seal people.yaml"],
)
@pytest.mark.usefixtures("folder")
def test_every_command_says_what_to_do(command: str) -> None:
    ran = CliRunner().invoke(app, command.split())
    assert (ran.exit_code, ran.stderr) == (2, f"Error: {OF_A_FILE}\n")


def test_a_query_has_no_header(folder: Path) -> None:
    with sqlite3.connect(folder / "people.db") as database:
        database.execute("create table people (sex text, age int, fined int)")
    write(folder / "people.yaml", {"sql": "select * from people", "database": "sqlite:///people.db"})
    ran = CliRunner().invoke(app, ["gate", "people.yaml"])
    assert (ran.exit_code, ran.stderr) == (2, f"Error: the query on sqlite:///people.db{OF_OTHERS}\n")


@pytest.mark.parametrize(
    "door",
    [
        lambda: audit(NOBODY, load_spec("people.yaml")),
        lambda: audit(NOBODY, outcome="fined"),
        lambda: propose(NOBODY),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_table_at_hand_has_no_header(door: Callable[[], Any]) -> None:
    with pytest.raises(BDTError) as raised:
        door()
    assert str(raised.value) == f"The table{OF_OTHERS}"
