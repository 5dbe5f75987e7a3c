"""Alerts about runs of any job, parts by time, what comes and goes between two looks, and gates on foreign assets."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from bdt_core.spec import AuditSpec
from bdt_pipeline import build_bias_gate_checks
from bdt_pipeline.automation import alert_sensor
from bdt_pipeline.automation.alert_sensor import build_gate_alert_sensor
from tests.pipeline.watched_audit import LENIENT, RAW, REPORT, STRICT, Watched, WebHook

Make = Callable[..., AuditSpec]
DAYS = ["2026-01-01", "2026-01-02", "2026-01-03"]


def lines(hook: WebHook) -> list[list[str]]:
    """Headings of every message: severity or OVER, and what it is about."""
    return [[one for one in told["message"].splitlines() if not one.startswith("  ") and one] for told in hook.received]


def promotion(*, breaks: bool = False) -> dg.Definitions:
    """Somebody's job: the audit, and what they do with it."""

    @dg.asset(deps=[dg.AssetKey(["loans", "raw_data"])])
    def promoted() -> None:
        if breaks:
            raise ValueError

    @dg.asset(key=["loans_of_last_year"])
    def another_with_such_a_name() -> None: ...

    job = dg.define_asset_job("promote", dg.AssetSelection.all(), executor_def=dg.in_process_executor)
    return dg.Definitions(assets=[promoted, another_with_such_a_name], jobs=[job], executor=dg.in_process_executor)


@pytest.mark.parametrize("name", ["promote", "__ASSET_JOB"])
def test_what_breaks_in_any_job_is_told_and_over_in_any_job(
    name: str, loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    spec = make_spec(tmp_path / "loans.csv", gate=[], notify=[hook.address], notify_from="high")
    watched = Watched(spec, instance, promotion())
    job = watched.defs.resolve_implicit_global_asset_job_def()
    if name == "promote":
        job = watched.defs.resolve_job_def("promote")
    assert job.name == name
    assert not watched.run(job).success
    watched.look()
    watched.look()
    assert lines(hook) == [[f"HIGH: Run of {name}: raw_data"]]
    assert "loans.csv does not exist" in hook.received[0]["message"]
    loans.to_csv(tmp_path / "loans.csv", index=False)
    watched.audit(only=RAW)
    watched.look()
    assert lines(hook)[1:] == [[f"OVER: Run of {name}: raw_data"]]


def test_what_breaks_beside_the_audit_is_not_told(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    spec = make_spec(loans_file, gate=[], notify=[hook.address], notify_from="high")
    watched = Watched(spec, instance, promotion(breaks=True))
    assert not watched.run(watched.defs.resolve_job_def("promote")).success
    only = [dg.AssetKey("promoted")]
    assert not watched.run(watched.defs.resolve_implicit_global_asset_job_def(), asset_selection=only).success
    watched.look()
    assert hook.received == []


def test_a_foreign_asset_that_breaks_before_the_audit_is_not_told_as_the_audit_s(
    make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    @dg.asset
    def scores() -> pd.DataFrame:
        raise ValueError

    job = dg.define_asset_job("nightly", dg.AssetSelection.all(), executor_def=dg.in_process_executor)
    spec = make_spec("", source={"asset": "scores"}, gate=[], notify=[hook.address])
    watched = Watched(spec, instance, dg.Definitions(assets=[scores], jobs=[job]))
    assert not watched.run(watched.defs.resolve_job_def("nightly")).success
    watched.look()
    assert hook.received == []


DIES = """
import os, sys
import dagster as dg
from bdt_core.spec import AuditSpec
from bdt_pipeline import Stages, bias_audit_definitions

class Dies(Stages):
    def read_table(self, source):
        os._exit(9)

spec = AuditSpec.model_validate_json(sys.argv[2])
with dg.DagsterInstance.local_temp(sys.argv[1]) as instance:
    job = bias_audit_definitions(spec, stages=Dies()).resolve_job_def("loans_audit")
    job.execute_in_process(instance=instance)
"""


def test_a_run_whose_process_was_killed_is_told_when_it_counts_as_failed(
    loans_file: Path, make_spec: Make, tmp_path: Path, hook: WebHook
) -> None:
    spec = make_spec(loans_file, gate=[], notify=[hook.address], notify_from="high")
    home = tmp_path / "home"
    home.mkdir()
    with dg.DagsterInstance.local_temp(str(home), overrides={"telemetry": {"enabled": False}}) as instance:
        watched = Watched(spec, instance)
        given = [str(home), spec.model_copy(update={"notify": []}).model_dump_json()]
        died = subprocess.run([sys.executable, "-c", DIES, *given], cwd=Path(__file__).parents[2], timeout=1800)
        assert died.returncode == 9
        (run,) = instance.get_runs()
        watched.look()
        assert hook.received == []
        instance.report_run_failed(run, "The process of the run is gone.")
        watched.look()
        assert lines(hook) == [["HIGH: Run of loans_audit"]]
        assert "The process of the run is gone." in hook.received[0]["message"]
        watched.audit()
        watched.look()
        assert lines(hook)[1:] == [["OVER: Run of loans_audit"]]


@pytest.mark.usefixtures("up_to_report")
def test_a_gate_that_failed_and_passed_between_two_looks_is_told_with_its_end(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    hook.status = 500
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=[hook.address]), instance)
    watched.audit(only=REPORT)
    watched.audit(LENIENT, only=REPORT)
    watched.look()
    hook.status = 200
    watched.look()
    watched.look()
    assert lines(hook) == [["CRITICAL: bias_report: bias_gate", "OVER: bias_report: bias_gate"]]


@pytest.fixture
def by_day(
    loans: pd.DataFrame,
    values_of_loans: Path,
    tmp_path: Path,
    make_spec: Make,
    instance: dg.DagsterInstance,
    hook: WebHook,
) -> Watched:
    """An audit of three days; everything but their reports is there."""
    stored = Path(instance.storage_directory()) / "loans"
    for day in DAYS:
        loans.to_csv(tmp_path / f"{day}.csv", index=False)
        for value in (one for one in values_of_loans.iterdir() if one.is_file()):
            (stored / value.stem).mkdir(parents=True, exist_ok=True)
            shutil.copy(value, stored / value.stem / f"{day}{value.suffix}")
    spec = make_spec(
        tmp_path / "{partition}.csv",
        partition_by={"time": "daily", "start": DAYS[0]},
        gate=STRICT,
        notify=[hook.address],
        notify_from="high",
    )
    return Watched(spec, instance)


def test_a_day_that_fails_is_told_although_the_next_one_passes_before_the_look(by_day: Watched, hook: WebHook) -> None:
    by_day.audit(part=DAYS[0], only=REPORT)
    by_day.audit(LENIENT, part=DAYS[1], only=REPORT)
    by_day.look()
    gate = "bias_report: bias_gate"
    assert lines(hook) == [[f"CRITICAL: {gate} ({DAYS[0]})", f"OVER: {gate} ({DAYS[1]})"]]
    assert f"What was found in {DAYS[0]} stays until that part is audited again." in hook.received[0]["message"]


def test_a_gate_that_fails_every_day_is_told_once_and_an_earlier_day_ends_nothing(
    by_day: Watched, hook: WebHook
) -> None:
    gate = "bias_report: bias_gate"
    by_day.audit(part=DAYS[1], only=REPORT)
    by_day.look()
    by_day.audit(part=DAYS[2], only=REPORT)
    by_day.look()
    by_day.audit(LENIENT, part=DAYS[0], only=REPORT)  # a backfill, late
    by_day.look()
    assert lines(hook) == [[f"CRITICAL: {gate} ({DAYS[1]})"]]
    by_day.audit(LENIENT, part=DAYS[2], only=REPORT)  # the day was corrected
    by_day.look()
    assert lines(hook)[1:] == [[f"OVER: {gate} ({DAYS[2]})"]]


def test_days_that_break_in_one_look_are_named_in_one_message(by_day: Watched, tmp_path: Path, hook: WebHook) -> None:
    for day in DAYS[:2]:
        (tmp_path / f"{day}.csv").unlink()
        by_day.audit(part=day)
    job = by_day.defs.resolve_job_def("loans_audit")
    by_day.run(job, partition_key=DAYS[2], asset_selection=[dg.AssetKey(["loans", "raw_data"])])
    by_day.look()
    run = "Run of loans_audit: raw_data"
    assert lines(hook) == [[f"HIGH: {run} ({DAYS[0]}, {DAYS[1]})", f"OVER: {run} ({DAYS[2]})"]]


def test_more_runs_than_one_look_takes_are_told_in_their_order(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_sensor, "_AT_ONCE", 1)
    watched = Watched(make_spec(loans_file, gate=[], notify=[hook.address], notify_from="high"), instance)
    job = watched.defs.resolve_job_def("loans_audit")
    only = [dg.AssetKey(["loans", "raw_data"])]
    for _ in range(2):
        assert watched.run(job, asset_selection=only).success
    loans_file.unlink()
    assert not watched.run(job, asset_selection=only).success
    for _ in range(5):
        watched.look()
    assert lines(hook) == [["HIGH: Run of loans_audit: raw_data"]]


@pytest.mark.usefixtures("up_to_report")
def test_what_the_sensor_kept_before_it_knew_parts_is_read(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    watched = Watched(make_spec(loans_file, gate=STRICT, notify=[hook.address]), instance)
    watched.audit(only=REPORT)
    watched.look()
    kept = json.loads(str(watched.cursor))
    del kept["waiting"]
    for one in kept["current"].values():
        del one["parts"]
    watched.cursor = json.dumps(kept)
    watched.audit(LENIENT, only=REPORT)
    watched.look()
    assert lines(hook) == [["CRITICAL: bias_report: bias_gate"], ["OVER: bias_report: bias_gate"]]


def foreign(spec: AuditSpec, loans: pd.DataFrame, limits: dict[str, Any]) -> dg.Definitions:
    """A project with predictions by day, a gate on them, and its sensor."""

    @dg.asset(partitions_def=dg.DailyPartitionsDefinition(DAYS[0]))
    def predictions() -> pd.DataFrame:
        if limits["breaks"]:
            raise ValueError
        return loans.drop(columns=limits["without"])

    checks = build_bias_gate_checks(asset=predictions, spec=spec)
    sensor = build_gate_alert_sensor(spec=spec, checks=checks)
    assert sensor is not None
    return dg.Definitions(assets=[predictions], asset_checks=checks, sensors=[sensor], executor=dg.in_process_executor)


def test_a_gate_on_an_asset_of_theirs_tells_somebody(
    loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    spec = make_spec("", source={"asset": "predictions"}, gate=STRICT, notify=[hook.address])
    limits: dict[str, Any] = {"breaks": False, "without": []}
    watched = Watched(spec, instance, defs=foreign(spec, loans, limits), sensor="loans_gate_alerts")
    job = watched.defs.resolve_implicit_global_asset_job_def()
    watched.run(job, partition_key=DAYS[0])
    watched.look()
    watched.run(job, partition_key=DAYS[1])
    watched.look()
    assert lines(hook) == [[f"CRITICAL: predictions: bias_gate ({DAYS[0]})"]]
    limits["breaks"] = True  # their asset: not a matter of the gate
    watched.run(job, partition_key=DAYS[2])
    watched.look()
    assert len(hook.received) == 1
    limits.update(breaks=False, without=["error"])
    watched.run(job, partition_key=DAYS[2])
    watched.look()
    assert lines(hook)[1:] == [[f"HIGH: Run of __ASSET_JOB: predictions_bias_gate ({DAYS[2]})"]]


def test_without_addresses_there_is_no_sensor_of_a_gate(make_spec: Make) -> None:
    spec = make_spec("", source={"asset": "predictions"})
    assert build_gate_alert_sensor(spec=spec, checks=build_bias_gate_checks(asset="predictions", spec=spec)) is None
