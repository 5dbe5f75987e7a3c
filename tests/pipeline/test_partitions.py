"""Audits of parts of the data: by day and by name, each with its own values, checks and report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from tests.pipeline.conftest import loans_spec

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
DAYS = ["2026-01-01", "2026-01-02"]
Make = Callable[..., AuditSpec]
Audited = tuple[dict[str, dg.ExecuteInProcessResult], dg.DagsterInstance]


@pytest.fixture(scope="module")
def by_day(loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> AuditSpec:
    """Two days of loans; on the second nobody is harmed."""
    folder = tmp_path_factory.mktemp("days")
    loans.to_csv(folder / f"{DAYS[0]}.csv", index=False)
    calm = loans.assign(error=loans["error"].sample(frac=1, random_state=0).to_numpy())
    calm.to_csv(folder / f"{DAYS[1]}.csv", index=False)
    return loans_spec(
        folder / "{partition}.csv",
        partition_by={"time": "daily", "start": DAYS[0]},
        gate=[{"max_difference": 0.02}],
    )


@pytest.fixture(scope="module")
def audited(by_day: AuditSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """Both days, audited once each."""
    home = str(tmp_path_factory.mktemp("home"))
    with dg.DagsterInstance.ephemeral(home, settings={"telemetry": {"enabled": False}}) as instance:
        yield {day: run_part(by_day, instance, day) for day in DAYS}, instance


def run_part(spec: AuditSpec, instance: dg.DagsterInstance, key: str) -> dg.ExecuteInProcessResult:
    job = bias_audit_definitions(spec).resolve_job_def(f"{spec.name}_audit")
    return job.execute_in_process(instance=instance, partition_key=key, raise_on_error=False, run_config=QUIET)


def test_every_day_has_its_own_verdict_and_report(audited: Audited) -> None:
    results, instance = audited
    verdicts = []
    for day in DAYS:
        report = results[day].output_for_node("loans__bias_report")
        assert report["data"]["source"].endswith(f"{day}.csv")
        assert report["spec"]["source"]["partition"] == day
        verdicts.append(report["verdict"]["verdict"])
    assert verdicts[0] == "fail"
    assert verdicts[1] != "fail"
    made = instance.get_materialized_partitions(dg.AssetKey(["loans", "bias_report"]))
    assert made == set(DAYS)
    stored = list((Path(instance.storage_directory()) / "loans").rglob("hbac_clusters/*"))
    assert len(stored) == 2


def test_a_day_that_is_audited_again_replaces_itself(by_day: AuditSpec, audited: Audited) -> None:
    results, instance = audited
    folder = Path(instance.storage_directory()) / "loans"
    stored = set(folder.rglob("hbac_clusters/*"))
    again = run_part(by_day, instance, DAYS[0]).output_for_node("loans__bias_report")
    assert again == results[DAYS[0]].output_for_node("loans__bias_report")
    assert set(folder.rglob("hbac_clusters/*")) == stored
    assert len(stored) == len(DAYS)


def test_the_gate_of_a_part_is_kept_with_the_part(audited: Audited) -> None:
    results, _ = audited
    (check,) = [one for one in results[DAYS[1]].get_asset_check_evaluations() if one.check_name == "bias_gate"]
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
        ({"automation": "eager"}, 'set "source.asset" or "partition_by"'),
        ({"inbox": {"folder": "inbox"}, "automation": "eager", "source": {"path": "{partition}"}}, '"automation" out'),
        ({"inbox": {"folder": "inbox"}, "schedule": "0 6 * * *", "source": {"path": "{partition}"}}, 'a "schedule"'),
    ],
)
def test_parts_that_make_no_sense_are_refused(make_spec: Make, changes: dict[str, Any], advice: str) -> None:
    with pytest.raises(SpecError, match=advice):
        make_spec("loans.csv", **changes)


def test_freshness_and_pool_reach_the_assets(by_day: AuditSpec) -> None:
    spec = by_day.model_copy(update={"freshness_hours": 26.0, "pool": "bias"})
    graph = bias_audit_definitions(spec).resolve_asset_graph()
    policy = graph.get(dg.AssetKey(["loans", "bias_report"])).freshness_policy
    assert policy == dg.FreshnessPolicy.time_window(timedelta(hours=26))
    assert graph.get(dg.AssetKey(["loans", "hbac_clusters"])).assets_def.op.pool == "bias"


class Automated:
    """Definitions whose conditions are looked at again and again, and whose runs are carried out."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance) -> None:
        self.defs, self.instance, self.cursor = defs, instance, None
        self.keys = defs.resolve_asset_graph().get_all_asset_keys()

    def look(self, day: int = 3) -> dict[str, set[str | None]]:
        """Assets of the audit that are due on a day of January, with their parts."""
        now = datetime(2026, 1, day, 1, tzinfo=UTC)
        found = dg.evaluate_automation_conditions(
            self.defs, instance=self.instance, cursor=self.cursor, evaluation_time=now
        )
        self.cursor = found.cursor
        due = {key: found.get_requested_partitions(key) for key in self.keys if found.get_num_requested(key)}
        return {key.path[-1]: parts for key, parts in due.items()}

    def make(self, *names: str, part: str | None = None) -> None:
        job = self.defs.resolve_implicit_global_asset_job_def()
        keys = [key for key in self.keys if key.path[-1] in names]
        job.execute_in_process(
            instance=self.instance, asset_selection=keys, partition_key=part, raise_on_error=False, run_config=QUIET
        )


def test_an_upstream_asset_that_is_new_is_audited_when_its_blocking_checks_passed(
    loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    passes = False

    @dg.asset
    def scored() -> pd.DataFrame:
        return loans

    @dg.asset_check(asset=scored, blocking=True)
    def is_sane() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=passes)

    audits = bias_audit_definitions(make_spec("x.csv", source={"asset": "scored"}, automation="eager"))
    automated = Automated(
        dg.Definitions.merge(audits, dg.Definitions(assets=[scored], asset_checks=[is_sane])), instance
    )
    assert automated.look() == {}
    automated.make("scored")
    assert automated.look() == {}
    passes = True
    automated.make("scored")
    assert set(automated.look()) == {"raw_data"}
    assert automated.look() == {}
    automated.make("raw_data")
    assert {"validated_data", "hbac_clusters", "bias_report"} <= set(automated.look())


def test_a_table_that_fails_its_checks_is_not_audited_further(
    loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def scored() -> pd.DataFrame:
        return loans.drop(columns="income")

    audits = bias_audit_definitions(make_spec("x.csv", source={"asset": "scored"}, automation="eager"))
    automated = Automated(dg.Definitions.merge(audits, dg.Definitions(assets=[scored])), instance)
    automated.look()
    automated.make("scored")
    assert set(automated.look()) == {"raw_data"}
    automated.make("raw_data")
    assert automated.look() == {}


def test_a_new_day_is_audited(by_day: AuditSpec, instance: dg.DagsterInstance) -> None:
    spec = by_day.model_copy(update={"automation": "eager"})
    automated = Automated(bias_audit_definitions(spec), instance)
    automated.look(day=2)
    assert automated.look(day=2) == {}
    assert automated.look(day=3)["raw_data"] == {DAYS[1]}


def test_automation_runs_from_the_start(by_day: AuditSpec) -> None:
    def sensors(spec: AuditSpec) -> dict[str, dg.DefaultSensorStatus]:
        return {one.name: one.default_status for one in bias_audit_definitions(spec).sensors or ()}

    eager = by_day.model_copy(update={"automation": "eager"})
    assert sensors(eager) == {"loans_automation": dg.DefaultSensorStatus.RUNNING}
    assert sensors(by_day) == {}
