"""Audits of parts of the data: by day and by name, each with its own values, checks and report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
DAYS = ["2026-01-01", "2026-01-02"]
Make = Callable[..., AuditSpec]


@pytest.fixture
def by_day(loans: pd.DataFrame, tmp_path: Path, make_spec: Make) -> AuditSpec:
    """Two days of loans; on the second nobody is harmed."""
    folder = tmp_path / "days"
    folder.mkdir()
    loans.to_csv(folder / f"{DAYS[0]}.csv", index=False)
    calm = loans.assign(error=loans["error"].sample(frac=1, random_state=0).to_numpy())
    calm.to_csv(folder / f"{DAYS[1]}.csv", index=False)
    return make_spec(
        folder / "{partition}.csv",
        partition_by={"time": "daily", "start": DAYS[0]},
        gate=[{"max_difference": 0.02}],
    )


def run_part(spec: AuditSpec, instance: dg.DagsterInstance, key: str) -> dg.ExecuteInProcessResult:
    job = bias_audit_definitions(spec).resolve_job_def(f"{spec.name}_audit")
    return job.execute_in_process(instance=instance, partition_key=key, raise_on_error=False, run_config=QUIET)


def test_every_day_has_its_own_verdict_and_report(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    verdicts = []
    for day in DAYS:
        report = run_part(by_day, instance, day).output_for_node("loans__bias_report")
        assert report["data"]["source"].endswith(f"{day}.csv")
        assert report["spec"]["source"]["partition"] == day
        verdicts.append(report["verdict"]["verdict"])
    assert verdicts[0] == "fail"
    assert verdicts[1] != "fail"
    made = instance.get_materialized_partitions(dg.AssetKey(["loans", "bias_report"]))
    assert made == set(DAYS)
    stored = list((Path(instance.storage_directory()) / "loans").rglob("hbac_clusters/*"))
    assert len(stored) == 2


def test_a_day_that_is_audited_again_replaces_itself(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    before = run_part(by_day, instance, DAYS[0]).output_for_node("loans__bias_report")
    again = run_part(by_day, instance, DAYS[0]).output_for_node("loans__bias_report")
    assert again == before
    assert len(list((Path(instance.storage_directory()) / "loans").rglob("hbac_clusters/*"))) == 1


def test_the_gate_of_a_part_is_kept_with_the_part(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    result = run_part(by_day, instance, DAYS[1])
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "bias_gate"]
    assert check.partition == DAYS[1]


def test_a_part_that_is_not_there_is_named(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    result = run_part(by_day, instance, "2026-01-05")
    assert not result.success
    failures = [str(one.step_failure_data.error_display_string) for one in result.all_events if one.is_step_failure]
    assert any("2026-01-05.csv does not exist" in one for one in failures)


def test_several_parts_in_one_run_are_refused(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    job = bias_audit_definitions(by_day).resolve_job_def("loans_audit")
    ends = dict(zip(("start", "end"), DAYS, strict=True))
    tags = {f"dagster/asset_partition_range_{end}": day for end, day in ends.items()}
    result = job.execute_in_process(instance=instance, tags=tags, raise_on_error=False, run_config=QUIET)
    (failed,) = [one.step_failure_data for one in result.all_events if one.is_step_failure]
    assert failed.user_failure_data is not None
    assert f"given all from {DAYS[0]} to {DAYS[1]}" in str(failed.user_failure_data.description)


def test_parts_by_name(loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance) -> None:
    loans.to_csv(tmp_path / "model-7.csv", index=False)
    spec = make_spec(tmp_path / "{partition}.csv", partition_by={"dynamic": "model_version"})
    instance.add_dynamic_partitions("model_version", ["model-7"])
    assert run_part(spec, instance, "model-7").output_for_node("loans__bias_report")


def test_a_query_gets_the_day_and_its_ends(loans: pd.DataFrame, tmp_path: Path, make_spec: Make,
                                           instance: dg.DagsterInstance) -> None:  # fmt: skip
    import sqlite3

    with sqlite3.connect(tmp_path / "loans.db") as db:
        pd.concat([loans.assign(at=f"{day}T10:00:00") for day in DAYS]).to_sql("loans", db, index=False)
    sql = "select * from loans where at >= :partition_start and at < :partition_end and :partition = :partition"
    spec = make_spec(
        "",
        source={"sql": sql, "database": f"sqlite:///{tmp_path}/loans.db"},
        features={"include": ["age", "region"]},
        partition_by={"time": "daily", "start": DAYS[0]},
    )
    report = run_part(spec, instance, DAYS[1]).output_for_node("loans__bias_report")
    assert report["data"]["rows"] == len(loans)


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"partition_by": {"time": "daily"}}, '"time" and "start" go together'),
        ({"partition_by": {"time": "daily", "start": "yesterday"}}, "not a day"),
        ({"partition_by": {}}, 'give either "time"'),
        ({"partition_by": {"dynamic": "version"}}, "put {partition} into source.path"),
        ({"inbox": {"folder": "inbox"}}, "put {partition} into source.path"),
        ({"inbox": {"folder": "inbox"}, "schedule": "0 6 * * *", "source": {"path": "{partition}"}}, 'a "schedule"'),
    ],
)
def test_parts_that_make_no_sense_are_refused(make_spec: Make, changes: dict[str, Any], advice: str) -> None:
    with pytest.raises(SpecError, match=advice):
        make_spec("loans.csv", **changes)


def test_freshness_pool_and_automation_reach_the_assets(by_day: AuditSpec) -> None:
    spec = by_day.model_copy(update={"freshness_hours": 26.0, "pool": "bias", "automation": "eager"})
    defs = bias_audit_definitions(spec)
    graph = defs.resolve_asset_graph()
    report = graph.get(dg.AssetKey(["loans", "bias_report"]))
    assert report.freshness_policy is not None
    assert "blocking_checks" in str(report.automation_condition).lower() or report.automation_condition is not None
    assert graph.get(dg.AssetKey(["loans", "hbac_clusters"])).assets_def.op.pool == "bias"
