"""Values, reports and history on a place that is no local folder: an object store, and other paths of fsspec."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pypdf
import pytest
from typer.testing import CliRunner
from upath import UPath

from bdt_core.spec import AuditSpec
from bdt_core.table.sources import read_table
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.cli import app
from tests.object_store import SECRET

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
PARTS = ("2026-01-01", "2026-01-02")
REPORT = {"report.json", "report.html", "report.pdf", "report.md"}
Make = Callable[..., AuditSpec]


@pytest.fixture(params=["s3", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where everything goes, as a URL."""
    if request.param == "s3":
        return str(request.getfixturevalue("bucket"))
    return f"memory://{tmp_path.name}/results"


@pytest.fixture
def by_day(tmp_path: Path, make_spec: Make) -> AuditSpec:
    """Two days of loans; the algorithm errs far more often on women."""
    (tmp_path / "days").mkdir()
    for seed, part in enumerate(PARTS):
        rng, rows = np.random.default_rng(seed), 900
        sex, repaid = rng.choice(["f", "m"], rows), rng.integers(0, 2, rows)
        wrong = rng.random(rows) < np.where(sex == "f", 0.6, 0.2)
        frame = {"age": rng.integers(18, 80, rows), "region": rng.choice(["north", "south"], rows),
                 "income": rng.normal(50, 10, rows).round(2), "sex": sex, "repaid": repaid}  # fmt: skip
        people = pd.DataFrame(frame | {"approved": np.where(wrong, 1 - repaid, repaid)})
        people.to_csv(tmp_path / "days" / f"{part}.csv", index=False)
    return make_spec(
        tmp_path / "days" / "{partition}.csv",
        bias_variable={"derive": "error", "label": "repaid", "prediction": "approved"},
        features={"include": ["age", "region"]},
        groups={"reference": "m"},
        partition_by={"time": "daily", "start": PARTS[0]},
        gate=[{"metric": "accuracy_difference", "facet": "sex", "min": -0.1, "max": 0.1}],
    )


def names_in(folder: UPath) -> set[str]:
    return {one.name for one in folder.iterdir()}


def test_a_whole_audit_with_its_reports_and_history(
    place: str, by_day: AuditSpec, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BDT_STORAGE", place)
    job = bias_audit_definitions(by_day).resolve_job_def("loans_audit")
    runs = [
        job.execute_in_process(instance=instance, partition_key=part, run_config=QUIET, raise_on_error=False)
        for part in PARTS
    ]

    failures = [one.step_failure_data.error.message for run in runs for one in run.all_events if one.is_step_failure]
    assert [one for one in failures if "bias_gate" not in one] == []

    root = UPath(place) / "loans"
    for asset, kind in {"raw_data": "parquet", "test_data": "parquet", "bias_report": "json"}.items():
        assert names_in(root / asset) == {f"{part}.{kind}" for part in PARTS}
    assert len(read_table(f"{place}/loans/raw_data/{PARTS[0]}.parquet")) == 900
    assert not list(Path(instance.storage_directory()).rglob("*.parquet"))
    assert not [one for one in (UPath(place)).rglob("*") if one.name.endswith(".tmp")]

    for run in runs:
        document = run.output_for_node("loans__bias_report")
        assert document["verdict"]["verdict"] == "fail"
        report = root / "reports" / run.run_id
        assert names_in(report) == REPORT
        assert json.loads((report / "report.json").read_text()) == json.loads(json.dumps(document))
        html, printed = (report / "report.html").read_text(), (report / "report.md").read_text()
        assert html.rstrip().endswith("</html>")
        pages = pypdf.PdfReader(io.BytesIO((report / "report.pdf").read_bytes())).pages
        sentence = " ".join(document["verdict"]["sentence"].split()[:6])
        for words in (printed, " ".join("".join(one.extract_text() for one in pages).split())):
            assert sentence in words
        assert shown_files(instance, run.run_id) >= {str(report / name) for name in REPORT}

    history = CliRunner().invoke(app, ["history", "loans", "--out", str(tmp_path / "trend.png")])
    assert history.exit_code == 0, history.output
    assert f"2 batches, {PARTS[0]} to {PARTS[1]}" in history.output
    assert "FAIL" in history.output
    assert (tmp_path / "trend.png").read_bytes().startswith(b"\x89PNG")
    assert CliRunner().invoke(app, ["history", "loans", "--storage", place]).exit_code == 0
    nobody = CliRunner().invoke(app, ["history", "loan", "--storage", place])
    assert (nobody.exit_code, 'Did you mean "loans"?' in nobody.output) == (2, True)

    where_it_could_stand = [history.output, *(str(one) for run in runs for one in instance.all_logs(run.run_id))]
    stored = [one for one in UPath(place).rglob("*") if one.is_file()]
    assert len(stored) > 20
    assert all(SECRET not in one for one in where_it_could_stand)
    assert all(SECRET.encode() not in one.read_bytes() for one in stored)


def shown_files(instance: dg.DagsterInstance, run_id: str) -> set[str]:
    """Paths that the report's materialization shows."""
    found: set[str] = set()
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION):
        event: Any = record.asset_materialization
        if event is not None and event.asset_key == dg.AssetKey(["loans", "bias_report"]):
            found |= {str(one.value) for one in event.metadata.values()}
    return found


def test_a_report_goes_where_the_run_says(
    bucket: str, by_day: AuditSpec, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    """Values stay in the storage of the instance, and the report goes into a bucket."""
    job = bias_audit_definitions(by_day).resolve_job_def("loans_audit")
    config = {**QUIET, "ops": {"loans__bias_report": {"config": {"output": f"{bucket}/for-the-board"}}}}
    run = job.execute_in_process(instance=instance, partition_key=PARTS[0], run_config=config, raise_on_error=False)
    assert run.output_for_node("loans__bias_report")
    assert names_in(UPath(f"{bucket}/for-the-board")) == REPORT
    assert (Path(instance.storage_directory()) / "loans" / "bias_report" / f"{PARTS[0]}.json").exists()


def test_a_place_that_cannot_be_reached_fails_the_run_without_secrets(
    bucket: str, by_day: AuditSpec, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # nobody answers there
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    job = bias_audit_definitions(by_day, storage="s3://no-such-bucket/results").resolve_job_def("loans_audit")
    run = job.execute_in_process(instance=instance, partition_key=PARTS[0], run_config=QUIET, raise_on_error=False)
    assert [one.step_key for one in run.all_events if one.is_step_failure] == ["loans__raw_data"]
    logs = "\n".join(str(one) for one in instance.all_logs(run.run_id))
    assert "http://127.0.0.1:9/no-such-bucket" in logs
    assert SECRET not in logs
