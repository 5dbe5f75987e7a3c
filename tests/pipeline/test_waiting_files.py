"""Files that wait in an inbox share a process, and nothing else: none is lost and none audited twice, whoever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from bdt_core.sealed.ledger import Ledger
from bdt_core.spec import AuditSpec, Source
from bdt_pipeline import Stages, bias_audit_definitions
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.automation.waiting_files import files_of
from bdt_pipeline.resources.kept_records import kept_open
from tests.pipeline.asked_sensors import AskedSensor

Make = Callable[..., AuditSpec]
REPORT = dg.AssetKey(["loans", "bias_report"])
JOB = "loans_waiting_files"
DONE, FAILED = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.fixture
def spec(folder: Path, make_spec: Make) -> AuditSpec:
    inbox = {"folder": str(folder), "pattern": "*.csv", "settle": 0, "every": 1, "at_once": 4}
    return make_spec(folder / "{partition}", inbox=inbox, gate=[{"check": "any_cluster", "max_difference": 0.02}])


@pytest.fixture
def instance_on_disk(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance whose records other processes share."""
    (tmp_path / "home").mkdir()
    quiet = {"telemetry": {"enabled": False}, "python_logs": {"python_log_level": "CRITICAL"}}
    with dg.instance_for_test(temp_dir=str(tmp_path / "home"), overrides=quiet) as one:
        yield one


class InRepository(InMemoryJob):
    """A job as it is in the process of a run, which has all definitions at hand."""

    def __init__(self, job: dg.JobDefinition, defs: dg.Definitions) -> None:
        super().__init__(job)
        self.defs = defs

    def get_repository_definition(self) -> dg.RepositoryDefinition:
        return self.defs.get_repository_def()


class Watched(AskedSensor):
    """A sensor whose runs are carried out as processes do that Dagster starts."""

    def __init__(self, spec: AuditSpec, instance: dg.DagsterInstance, stages: Stages | None = None) -> None:
        super().__init__(spec, instance, stages=stages, assets="report")

    def files(self, request: dg.RunRequest) -> list[str]:
        return list(files_of(AuditAssets(self.spec), request))

    def carry_out(self, request: dg.RunRequest) -> bool:
        job = self.defs.get_repository_def().get_job(JOB)
        run = self.instance.create_run_for_job(job, run_config=request.run_config, tags=request.tags)
        return execute_run(InRepository(job, self.defs), run, self.instance).success

    def runs_of_files(self, *statuses: dg.DagsterRunStatus) -> list[dg.DagsterRun]:
        return list(self.instance.get_runs(dg.RunsFilter(job_name="loans_audit", statuses=statuses or None)))

    def named(self, *statuses: dg.DagsterRunStatus) -> list[str]:
        """Files with a run of their own, once for each, in order of their names."""
        return sorted(one.tags["dagster/partition"] for one in self.runs_of_files(*statuses))

    @property
    def reports(self) -> int:
        return len(list((Path(self.instance.storage_directory()) / "loans" / "reports").glob("*/report.json")))


def drop(folder: Path, loans: pd.DataFrame, *names: str) -> None:
    for number, name in enumerate(names):
        loans[number:].to_csv(folder / name, index=False)


def test_each_file_has_its_own_part_gate_report_and_quarantine(
    loans: pd.DataFrame, folder: Path, spec: AuditSpec, instance_on_disk: dg.DagsterInstance
) -> None:
    watched = Watched(spec, instance_on_disk)
    drop(folder, loans, "a.csv", "c.csv")
    (folder / "b.csv").write_text("age,region\n30,north\n")
    fair = loans.assign(error=(loans.index % 5 == 0).astype(int))
    fair.to_csv(folder / "d.csv", index=False)
    (request,) = watched.look()
    assert watched.files(request) == ["a.csv", "b.csv", "c.csv", "d.csv"]
    assert watched.carry_out(request), "a shut gate, or a file that cannot be audited, is its own file's alone"
    assert watched.look() == []
    assert watched.named(DONE) == ["d.csv"]
    assert watched.named(FAILED) == ["a.csv", "b.csv", "c.csv"]
    assert {one.name for one in (folder / "quarantine").iterdir()} == {"b.csv", "b.csv.reason.txt"}
    assert instance_on_disk.get_materialized_partitions(REPORT) == {"a.csv", "c.csv", "d.csv"}
    assert watched.reports == 3
    key = dg.AssetCheckKey(REPORT, "bias_gate")
    history = instance_on_disk.event_log_storage.get_asset_check_execution_history(key, limit=10)
    gates = {one.partition: one.evaluation.severity.name for one in history if one.status.value != "PLANNED"}
    assert gates == {"a.csv": "ERROR", "c.csv": "ERROR", "d.csv": "WARN"}
    assert watched.carry_out(request), "what was asked for twice"
    assert len(watched.runs_of_files()) == 4


def test_at_most_so_many_share_a_process_and_each_state_of_a_file_is_audited(
    folder: Path, make_spec: Make, instance_on_disk: dg.DagsterInstance
) -> None:
    spec = make_spec(folder / "{partition}", inbox={"folder": str(folder), "settle": 0, "at_once": 2})
    for number in range(5):
        (folder / f"{number}.csv").write_text("a,b\n1,2\n")
    watched = Watched(spec, instance_on_disk)
    assert [watched.files(one) for one in watched.look()] == [["0.csv", "1.csv"], ["2.csv", "3.csv"], ["4.csv"]]
    (folder / "3.csv").write_text("a,b\n1,2\n3,4\n")
    assert [watched.files(one) for one in watched.look()] == [["3.csv"]]


class Deadly(Stages):
    """Ends its process at the second file, with no time to say a word."""

    def read_table(self, source: Source) -> pd.DataFrame:
        if source.partition == "b.csv":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read_table(source)


DIES = """
import sys
from dagster import DagsterInstance
from bdt_core.spec import AuditSpec
from tests.pipeline.test_waiting_files import Deadly, Watched

with DagsterInstance.from_config(sys.argv[2]) as instance:
    watched = Watched(AuditSpec.model_validate_json(sys.argv[1]), instance, Deadly())
    (request,) = watched.look()
    watched.carry_out(request)
"""


def test_a_process_that_dies_loses_no_file_and_doubles_none(
    loans: pd.DataFrame, folder: Path, make_spec: Make, instance_on_disk: dg.DagsterInstance
) -> None:
    names, instance = ["a.csv", "b.csv", "c.csv", "d.csv"], instance_on_disk
    inbox = {"folder": str(folder), "pattern": "*.csv", "settle": 0, "at_once": 4}
    spec = make_spec(folder / "{partition}", inbox=inbox, gate=[])
    drop(folder, loans, *names)
    watched = Watched(spec, instance)
    watched.look()
    program = [sys.executable, "-c", DIES, spec.model_dump_json(), instance.root_directory]
    died = subprocess.run(program, check=False, capture_output=True, text=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    (dead,) = instance.get_runs(dg.RunsFilter(job_name=JOB))
    assert watched.look() == [], "it may still be alive"
    assert watched.named(DONE) == ["a.csv"]
    instance.report_run_failed(dead)  # as Dagster's daemon does when it misses the process

    (rest,) = watched.look()
    assert watched.files(rest) == names
    assert watched.carry_out(rest)
    assert watched.look() == []
    assert watched.named(DONE) == names
    assert watched.named(FAILED) == ["b.csv"]
    (broken,) = watched.runs_of_files(FAILED)
    (again,) = [one for one in watched.runs_of_files(DONE) if one.tags["dagster/partition"] == "b.csv"]
    assert again.parent_run_id == again.tags["dagster/parent_run_id"] == broken.run_id
    assert instance.get_materialized_partitions(REPORT) == set(names)
    assert watched.reports == len(names)
    ledger = Ledger(Path(instance.storage_directory())).read()
    assert not ledger.problems


def test_a_file_that_ends_its_process_twice_is_left_and_the_others_are_audited(
    loans: pd.DataFrame, folder: Path, spec: AuditSpec, instance_on_disk: dg.DagsterInstance
) -> None:
    drop(folder, loans, "a.csv", "b.csv", "c.csv")
    program = [sys.executable, "-c", DIES, spec.model_dump_json(), instance_on_disk.root_directory]
    watched = Watched(spec, instance_on_disk)
    watched.look()
    assert subprocess.run(program, check=False, capture_output=True).returncode == -signal.SIGKILL
    (first,) = instance_on_disk.get_runs(dg.RunsFilter(job_name=JOB))
    instance_on_disk.report_run_failed(first)
    (rest,) = watched.look()
    (broken,) = [one for one in watched.runs_of_files() if not one.is_finished]
    instance_on_disk.report_run_failed(broken)
    tags = {**broken.tags, "bdt/waiting_files": "another", "dagster/parent_run_id": broken.run_id}
    job = watched.defs.get_repository_def().get_job("loans_audit")
    instance_on_disk.create_run_for_job(job, tags=tags, root_run_id=broken.run_id, parent_run_id=broken.run_id)
    assert watched.carry_out(rest)
    assert Counter(watched.named()) == {"a.csv": 1, "b.csv": 2, "c.csv": 1}


def test_runs_that_begin_with_no_file_are_taken_up_once(
    folder: Path, spec: AuditSpec, instance_on_disk: dg.DagsterInstance
) -> None:
    """They would die again, for ever."""
    (folder / "a.csv").write_text("a,b\n1,2\n")
    watched = Watched(spec, instance_on_disk)
    job = watched.defs.get_repository_def().get_job(JOB)
    for expected in (1, 1, 0):
        requests = watched.look()
        assert len(requests) == expected
        for one in requests:
            run = instance_on_disk.create_run_for_job(job, run_config=one.run_config, tags=one.tags)
            instance_on_disk.report_run_failed(run)


class Ended(Stages):
    """While the first file is audited, somebody ends the run."""

    instance: dg.DagsterInstance

    def read_table(self, source: Source) -> pd.DataFrame:
        (run,) = self.instance.get_runs(dg.RunsFilter(job_name=JOB))
        self.instance.report_run_canceling(run)
        return super().read_table(source)


def test_a_run_that_somebody_ends_begins_with_no_further_file(
    loans: pd.DataFrame, folder: Path, spec: AuditSpec, instance_on_disk: dg.DagsterInstance
) -> None:
    stages = Ended()
    stages.instance = instance_on_disk
    drop(folder, loans, "a.csv", "b.csv")
    watched = Watched(spec, instance_on_disk, stages)
    (request,) = watched.look()
    assert not watched.carry_out(request)
    assert watched.named() == ["a.csv"]
    assert watched.look() == []


def test_where_dagster_looks_after_each_run_s_container_nobody_shares(
    folder: Path, spec: AuditSpec, instance_on_disk: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(instance_on_disk.run_launcher)
    monkeypatch.setattr(kind, "supports_check_run_worker_health", True)  # as of the launcher for Kubernetes
    defs = bias_audit_definitions(spec)
    context = dg.build_sensor_context(instance=instance_on_disk, repository_def=defs.get_repository_def())
    found = defs.resolve_sensor_def("loans_inbox")(context)
    assert isinstance(found, dg.SkipReason)
    assert "inbox.at_once is 4" in str(found.skip_message)


def test_records_that_are_kept_open_are_those_of_the_instance(instance_on_disk: dg.DagsterInstance) -> None:
    records = Path(instance_on_disk.root_directory) / "history" / "runs"
    with kept_open(instance_on_disk) as kept:
        assert kept is not instance_on_disk
        for part in "abcd":
            kept.report_runless_asset_event(dg.AssetMaterialization(REPORT, partition=part))
            assert part in instance_on_disk.get_materialized_partitions(REPORT), "others see it at once"
        job = dg.JobDefinition(graph_def=dg.GraphDefinition(name="empty"))
        for name in ("first", "second", "third", "fourth"):
            run = kept.create_run_for_job(job)
            kept.report_engine_event(name, run)
            (written,) = instance_on_disk.all_logs(run.run_id)
            assert written.message == name
        assert list(records.glob("*-wal")), "the last are open"
    assert not list(records.glob("*-wal")), "all are closed"


def test_records_elsewhere_are_left_as_they_are() -> None:
    with dg.DagsterInstance.ephemeral() as instance, kept_open(instance) as kept:
        assert kept is instance
