"""The gate: the report exists whatever it says; what stands downstream runs only when it lets it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml

from bdt_core.audit import audit
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from tests import forked
from tests.pipeline.watched_audit import REPORT

PROMOTED = dg.AssetKey("promote_model")


@dg.asset(deps=[dg.AssetKey(["loans", "bias_report"])])
def promote_model() -> None:
    """Put the model into production."""


def run_with_promotion(spec: AuditSpec, instance: dg.DagsterInstance, *only: str) -> dg.ExecuteInProcessResult:
    """A run of the audit and what stands behind it; ``only`` makes these assets of the audit."""
    everything = dg.define_asset_job("everything", selection="*", executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(bias_audit_definitions(spec), dg.Definitions(assets=[promote_model], jobs=[everything]))
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    job = defs.resolve_job_def("everything")
    selection = [PROMOTED, *(dg.AssetKey([spec.name, one]) for one in only)] if only else None
    return job.execute_in_process(instance=instance, raise_on_error=False, run_config=quiet, asset_selection=selection)


def gate_of(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "bias_gate"]
    return check


def promoted(instance: dg.DagsterInstance) -> bool:
    return instance.get_latest_materialization_event(PROMOTED) is not None


def reports(instance: dg.DagsterInstance) -> list[Path]:
    return list((Path(instance.storage_directory()) / "loans" / "reports").glob("*/report.json"))


@pytest.fixture
def limits(loans_file: Path, make_spec: Callable[..., AuditSpec]) -> Callable[[str], list[dict[str, Any]]]:
    """A gate that must give the wanted verdict, from the interval that the audit finds."""
    document = audit(None, make_spec(loans_file, gate=[{"check": "worst_cluster"}])).document
    found = document["gate"][0]

    def make(wanted: str) -> list[dict[str, Any]]:
        limit = {"fail": found["low"] / 2, "pass": 1.0, "inconclusive": found["difference"]}[wanted]
        return [{"check": "worst_cluster", "max_difference": limit}]

    assert found["low"] > 0
    return make


@pytest.mark.usefixtures("up_to_report")
@pytest.mark.parametrize(
    ("verdict", "passed", "severity", "goes_on"),
    [
        ("fail", False, dg.AssetCheckSeverity.ERROR, False),
        ("pass", True, dg.AssetCheckSeverity.WARN, True),
        ("inconclusive", False, dg.AssetCheckSeverity.WARN, True),
    ],
)
def test_only_a_gate_that_does_not_fail_lets_the_model_through(
    verdict: str,
    passed: bool,
    severity: dg.AssetCheckSeverity,
    goes_on: bool,
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    limits: Callable[[str], list[dict[str, Any]]],
    instance: dg.DagsterInstance,
) -> None:
    result = run_with_promotion(make_spec(loans_file, gate=limits(verdict)), instance, *REPORT)
    check = gate_of(result)
    assert (check.passed, check.severity) == (passed, severity)
    assert check.blocking
    assert promoted(instance) is goes_on
    assert result.success is goes_on
    assert len(reports(instance)) == 1
    assert instance.get_latest_materialization_event(dg.AssetKey(["loans", "bias_report"])) is not None


@pytest.mark.usefixtures("up_to_report")
def test_a_limit_can_keep_the_gate_shut_when_the_data_cannot_tell(
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    limits: Callable[[str], list[dict[str, Any]]],
    instance: dg.DagsterInstance,
) -> None:
    gate = [{**limits("inconclusive")[0], "inconclusive": "block"}]
    result = run_with_promotion(make_spec(loans_file, gate=gate), instance, *REPORT)
    assert gate_of(result).severity is dg.AssetCheckSeverity.ERROR
    assert not promoted(instance)
    assert len(reports(instance)) == 1


def test_a_gate_that_could_not_test_warns(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance
) -> None:
    # No split worsens a gap so much: no cluster.
    spec = make_spec(loans_file, clustering={"margin": 100}, gate=[{"check": "worst_cluster"}])
    check = gate_of(run_with_promotion(spec, instance))
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "ot testable" in str(check.description)
    assert promoted(instance)


@pytest.mark.usefixtures("up_to_report")
def test_the_gate_shows_its_numbers(
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    limits: Callable[[str], list[dict[str, Any]]],
    instance: dg.DagsterInstance,
) -> None:
    gate = limits("fail")
    metadata = gate_of(run_with_promotion(make_spec(loans_file, gate=gate), instance, *REPORT)).metadata
    names = ("limit in points", "low in points", "difference in points", "high in points", "p_value")
    limit, low, difference, high, p_value = numbers = [metadata[name].value for name in names]
    assert all(isinstance(one, float) for one in numbers)
    assert limit == round(gate[0]["max_difference"] * 100, 1)
    assert limit < low < difference < high
    assert p_value < 0.05
    # What plots is what the table beside it says.
    (row,) = (line for line in str(metadata["limits"].value).splitlines() if "worst_cluster" in line)
    assert f"+{difference} \\[+{low} to +{high}]" in row


def test_without_a_limit_everything_passes(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance
) -> None:
    assert gate_of(run_with_promotion(make_spec(loans_file, gate=[]), instance)).passed
    assert promoted(instance)


# --- the commands that a deployment calls, part by part ---------------------------------------------------------------

HARMED, CALM = "2026-01-01", "2026-01-02"
MODULE = """
import os
from pathlib import Path

import dagster as dg

from bdt_core.spec import load_spec
from bdt_pipeline import bias_audit_definitions

@dg.asset(
    deps=[dg.AssetKey(["loans", "bias_report"])], partitions_def=dg.DailyPartitionsDefinition(os.environ["START"])
)
def promote_model(context: dg.AssetExecutionContext) -> None:
    Path(os.environ["PROMOTED"], context.partition_key).touch()

gate = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey(["loans", "bias_report"]), "bias_gate"))
selection = dg.AssetSelection.assets(promote_model).upstream().without_checks() | gate
promote = dg.define_asset_job("promote", selection=selection, executor_def=dg.in_process_executor)
defs = dg.Definitions.merge(
    bias_audit_definitions(load_spec("loans.yaml")), dg.Definitions(assets=[promote_model], jobs=[promote])
)
"""


@pytest.fixture
def launch(loans: pd.DataFrame, make_spec: Callable[..., AuditSpec], tmp_path: Path) -> Callable[..., int]:
    """Runs a command for a day in a project where the gate fails on the first day and passes on the second.

    The command finds loaded what it needs; `test_cli_gate` starts such ones from nothing.
    """
    for folder in ("days", "home", "promoted"):
        (tmp_path / folder).mkdir()
    young = (loans["age"] < 40).astype(int)
    loans.assign(error=young).to_csv(tmp_path / "days" / f"{HARMED}.csv", index=False)
    loans.assign(error=young.sample(frac=1, random_state=0).to_numpy()).to_csv(
        tmp_path / "days" / f"{CALM}.csv", index=False
    )
    by_day = {"partition_by": {"time": "daily", "start": HARMED}, "gate": [{"max_difference": 0.5}]}
    spec = make_spec("days/{partition}.csv", **by_day)
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(spec.model_dump(mode="json", exclude_unset=True)))
    (tmp_path / "jobs.py").write_text(MODULE)
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    root = Path(__file__).parents[2]
    given = {"DAGSTER_HOME": tmp_path / "home", "PROMOTED": tmp_path / "promoted", "START": HARMED, "PYTHONPATH": root}
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | {name: str(value) for name, value in given.items()}

    def run(command: str, *words: str) -> int:
        called = [str(Path(sys.executable).parent / command), *words]
        done = forked.run(called, cwd=tmp_path, env=environment)
        print(done.stderr[-3000:])
        return done.returncode

    return run


DAGSTER = ("dagster", "job", "execute", "-f", "jobs.py", "-j", "promote")
DG = ("dg", "launch", "-f", "jobs.py", "--job", "promote")


@pytest.mark.parametrize(
    "command",
    [
        (*DAGSTER, "--tags", '{"dagster/partition": "DAY"}'),  # it has no option for the part
        (*DG, "--partition", "DAY"),
    ],
    ids=["dagster job execute", "dg launch"],
)
def test_each_day_is_promoted_only_through_its_own_gate(
    command: tuple[str, ...], launch: Callable[..., int], tmp_path: Path
) -> None:
    def written(what: str) -> set[str]:
        return {one.name.split(".")[0] for one in (tmp_path / what).iterdir()}

    assert launch(*(one.replace("DAY", HARMED) for one in command)) != 0
    assert written("promoted") == set()
    assert written("home/storage/loans/bias_report") == {HARMED}
    assert launch(*(one.replace("DAY", CALM) for one in command)) == 0
    assert written("promoted") == {CALM}
    assert written("home/storage/loans/bias_report") == {HARMED, CALM}


def test_a_job_that_is_not_told_the_day_promotes_nothing(launch: Callable[..., int], tmp_path: Path) -> None:
    assert launch(*DAGSTER) != 0
    assert list((tmp_path / "promoted").iterdir()) == []
