"""A Dagster run is a look from its first table on, whether it has an answer or not."""

import json
from pathlib import Path
from typing import Any

import dagster as dg

from bdt_core.errors import DataError
from bdt_core.spec import parse_spec
from bdt_core.stages import Stages
from bdt_pipeline import bias_audit_definitions
from tests.pipeline.sealed.conftest import SPEC, Office

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class Failing(Stages):
    """A search that goes wrong, behind tables that are all right."""

    def find_worst_groups(self, *_: Any, **__: Any) -> Any:
        raise DataError("no memory")


def run(office: Office, instance: dg.DagsterInstance, *, assets: tuple[str, ...] = (), **more: Any) -> bool:
    spec = parse_spec({**SPEC, "source": {"path": str(office.folder / "loans.csv")}, **more.pop("spec", {})})
    job = bias_audit_definitions(spec, **more).resolve_job_def("loans_audit")
    chosen = [dg.AssetKey(["loans", asset]) for asset in assets] or None
    return job.execute_in_process(
        instance=instance, raise_on_error=False, run_config=QUIET, asset_selection=chosen
    ).success


def lines(instance: dg.DagsterInstance) -> list[tuple[str, str]]:
    ledger = Path(instance.storage_directory()) / "looks.jsonl"
    events = [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []
    return [(event["look"], event["event"]) for event in events]


def test_a_run_is_one_look(office: Office, instance: dg.DagsterInstance) -> None:
    run(office, instance)
    (begun, first), (ended, last) = lines(instance)
    assert (first, last) == ("begun", "ended")
    assert begun == ended


def test_a_run_that_fails_on_its_way_is_a_look_and_told(office: Office, instance: dg.DagsterInstance) -> None:
    assert not run(office, instance, stages=Failing(), spec={"split": {"random_state": 3}})
    assert [event for _, event in lines(instance)] == ["begun"]
    run(office, instance)
    assert [event for _, event in lines(instance)] == ["begun", "begun", "ended"]
    (report,) = Path(instance.storage_directory()).rglob("report.json")
    assert json.loads(report.read_text())["looks"]["stopped"] == 1


def test_reading_a_table_is_no_look(office: Office, instance: dg.DagsterInstance) -> None:
    assert run(office, instance, assets=("raw_data", "validated_data"))
    assert lines(instance) == []
    run(office, instance)
    assert [event for _, event in lines(instance)] == ["begun", "ended"]


def test_a_report_that_is_made_anew_alone_is_a_look_of_its_run(office: Office, instance: dg.DagsterInstance) -> None:
    run(office, instance)
    run(office, instance, assets=("bias_report",))
    assert [event for _, event in lines(instance)] == ["begun", "ended"] * 2
    assert len({look for look, _ in lines(instance)}) == 2
