"""``bdt gate`` in the history: the batch that Dagster would have recorded, in the same files; and parts by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from typer.testing import CliRunner, Result

from bdt_core.sealed.ledger import FILES
from bdt_core.spec import AuditSpec
from bdt_pipeline.cli import app
from tests.pipeline.test_history import by_day, people, run_part

__all__ = ["by_day"]  # a fixture of theirs

PLACES = ("DAGSTER_HOME", "BDT_STORAGE")


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No storage is set outside the test."""
    monkeypatch.chdir(tmp_path)
    for name in PLACES:
        monkeypatch.delenv(name, raising=False)


def bdt(*given: object) -> Result:
    return CliRunner().invoke(app, list(map(str, given)), env={"COLUMNS": "200"})


def written(spec: AuditSpec, folder: Path, **changes: Any) -> Path:
    """The specification as a file, without what it does not set."""
    path = folder / "loans.yaml"
    plain = spec.to_dict() | changes
    path.write_text(yaml.safe_dump({key: value for key, value in plain.items() if value is not None}))
    return path


def batches(storage: Path) -> dict[str, dict[str, Any]]:
    """What was counted, by the names of the files; settings of where and when left out."""
    found = {}
    for file in sorted((storage / "loans" / "history").iterdir()):
        batch = json.loads(file.read_text())
        batch["counts"].pop("spec")
        found[file.name] = batch
    return found


def test_parts_are_recorded_as_dagster_does(by_day: AuditSpec, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    for part in ("2026-01-01", "2026-01-05"):
        assert run_part(by_day, instance, part).success
    spec, storage = written(by_day, tmp_path), tmp_path / "kept"
    calm = bdt("gate", spec, "--partition", "2026-01-01", "--storage", storage)
    harmed = bdt("gate", spec, "--partition", "2026-01-05", "--storage", storage)
    assert (calm.exit_code, harmed.exit_code) == (0, 1), calm.output + harmed.output
    assert "Batch 2026-01-05 is recorded in" in harmed.stderr
    assert batches(storage) == batches(Path(instance.storage_directory()))
    again = bdt("gate", spec, "--partition", "2026-01-05", "--storage", storage)
    assert "Batch 2026-01-05 was there already" in again.stderr
    shown = bdt("history", "loans", "--storage", storage)
    assert "loans: 2 batches, 2026-01-01 to 2026-01-05" in shown.output


def test_a_table_without_parts_is_the_batch_of_its_content(
    make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(1, 0.2).to_csv("loans.csv", index=False)
    derived = {"derive": "error", "label": "repaid", "prediction": "approved"}
    spec = make_spec(tmp_path / "loans.csv", bias_variable=derived, gate=[])
    assert run_part(spec, instance).success
    monkeypatch.setenv("BDT_STORAGE", str(tmp_path / "kept"))
    assert bdt("gate", written(spec, tmp_path)).exit_code == 0
    (ours,), (theirs,) = (batches(one) for one in (tmp_path / "kept", Path(instance.storage_directory())))
    assert ours == theirs
    people(2, 0.2).to_csv("loans.csv", index=False)
    bdt("gate", written(spec, tmp_path))
    assert len(batches(tmp_path / "kept")) == 2


def test_a_history_that_cannot_be_written_changes_no_verdict(by_day: AuditSpec, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    result = bdt("gate", written(by_day, tmp_path), "--partition", "2026-01-05", "--storage", tmp_path / "kept")
    assert result.exit_code == 1
    assert "not recorded in the history, and the verdict stands: " in result.stderr
    weekly = written(by_day, tmp_path, partition_by={"time": "hourly", "start": "2026-01-01"})
    result = bdt("gate", weekly, "--partition", "2026-01-05", "--storage", tmp_path / "elsewhere")
    assert result.exit_code == 1
    assert "partition_by.time is hourly, so --partition names its start, such as 2026-01-31-14:00." in result.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_is_kept_where_nobody_says_where(by_day: AuditSpec, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    quiet = bdt("gate", written(by_day, tmp_path), "--partition", "2026-01-05")
    assert (quiet.exit_code, quiet.stderr) == (1, "")
    ledger = {tmp_path / "bdt-reports", *(tmp_path / "bdt-reports" / name for name in FILES)}
    assert set(tmp_path.rglob("*")) - before == {tmp_path / "loans.yaml", *ledger}
    asked = bdt("gate", written(by_day, tmp_path, history={"look_back": 5}), "--partition", "2026-01-05")
    assert "Nothing is recorded in the history: name the audits' storage with --storage" in asked.stderr
    nobody = written(by_day, tmp_path, protected=[], groups={"facets": []}, gate=[])
    assert "it follows declared groups" in bdt("gate", nobody, "--partition", "2026-01-05", "--storage", "x").stderr


def test_labels_that_come_later_are_waited_for(by_day: AuditSpec, tmp_path: Path) -> None:
    spec = written(by_day, tmp_path, history={"labels_after": "5000w"})
    assert bdt("gate", spec, "--partition", "2026-01-05", "--storage", "kept").exit_code == 1
    ((_, batch),) = batches(tmp_path / "kept").items()
    assert batch["time"] == "2026-01-05T00:00:00+00:00"
    assert batch["counted"] > batch["time"]
    assert "1 batch that was counted before history.labels_after" in bdt("history", "loans", "--storage", "kept").output


def test_the_gate_without_dagster_records(by_day: AuditSpec, tmp_path: Path) -> None:
    spec = written(by_day, tmp_path)
    code = "import sys; sys.modules['dagster'] = None; from bdt_pipeline.cli import main; main()"
    environment = {key: value for key, value in os.environ.items() if key not in PLACES} | {"BDT_STORAGE": "kept"}
    command = [sys.executable, "-c", code, "gate", str(spec), "--partition", "2026-01-05"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert len(batches(tmp_path / "kept")) == 1


def test_parts_by_name_in_the_other_commands(by_day: AuditSpec, tmp_path: Path) -> None:
    spec = written(by_day, tmp_path)
    unnamed = bdt("audit", spec)
    assert unnamed.exit_code == 2
    assert "say which part to read, with source.partition or --partition" in unnamed.stderr
    assert bdt("audit", spec, "--partition", "2026-01-04", "--out", "fourth").exit_code == 0
    document = json.loads((tmp_path / "fourth" / "report.json").read_text())
    assert document["spec"]["source"]["partition"] == "2026-01-04"
    assert bdt("dossier", spec, "--form", "fria", "--partition", "2026-01-04", "--out", "form").exit_code == 0

    changed = bdt("compare", spec, "--partition", "2026-01-01", "--partition-b", "2026-01-05", "--out", "later")
    assert changed.exit_code == 0, changed.output
    comparison = json.loads((tmp_path / "later" / "comparison.json").read_text())
    assert [comparison[one]["source"]["partition"] for one in ("spec_a", "spec_b")] == ["2026-01-01", "2026-01-05"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("audit", "plain.yaml", "--partition", "a"),
            "--partition names a part of the data, but the source is the same",
        ),
        (("audit", "plain.csv", "--partition", "a"), "Name the part itself in place of plain.csv"),
        (("compare", "plain.yaml", "--partition-b", "a"), "--partition-b names a part of the data, but the source is"),
        (("compare", "plain.yaml", "plain.yaml", "--partition", "a"), "--partition names a part of the data"),
        (("compare", "plain.yaml", "--partition", "a"), "or another part (--partition-b)"),
        (("compare", "a.json", "b.json", "--partition", "a"), "--partition, --partition-b and --key go with"),
        (("dossier", "a.json", "--form", "fria", "--partition", "a"), "--partition goes with a specification"),
    ],
)
def test_parts_that_are_not_there(given: tuple[str, ...], said: str, by_day: AuditSpec, tmp_path: Path) -> None:
    people(1, 0.2).to_csv("plain.csv", index=False)
    written(by_day, tmp_path, source={"path": "plain.csv"}, partition_by=None).rename(tmp_path / "plain.yaml")
    result = bdt(*given)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
