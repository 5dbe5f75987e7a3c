"""The gate: the report exists whatever it says; what stands downstream runs only when it lets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from bdt_core.audit import audit
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions

PROMOTED = dg.AssetKey("promote_model")


@dg.asset(deps=[dg.AssetKey(["loans", "bias_report"])])
def promote_model() -> None:
    """Put the model into production."""


def run_with_promotion(spec: AuditSpec, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    everything = dg.define_asset_job("everything", selection="*", executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(bias_audit_definitions(spec), dg.Definitions(assets=[promote_model], jobs=[everything]))
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    job = defs.resolve_job_def("everything")
    return job.execute_in_process(instance=instance, raise_on_error=False, run_config=quiet)


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
    document = audit(None, make_spec(loans_file)).document
    found = document["gate"][0]

    def make(wanted: str) -> list[dict[str, Any]]:
        limit = {"fail": found["low"] / 2, "pass": 1.0, "inconclusive": found["difference"]}[wanted]
        return [{"check": "worst_cluster", "max_difference": limit}]

    assert found["low"] > 0
    return make


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
    result = run_with_promotion(make_spec(loans_file, gate=limits(verdict)), instance)
    check = gate_of(result)
    assert (check.passed, check.severity) == (passed, severity)
    assert check.blocking
    assert promoted(instance) is goes_on
    assert result.success is goes_on
    assert len(reports(instance)) == 1
    assert instance.get_latest_materialization_event(dg.AssetKey(["loans", "bias_report"])) is not None


def test_a_limit_can_keep_the_gate_shut_when_the_data_cannot_tell(
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    limits: Callable[[str], list[dict[str, Any]]],
    instance: dg.DagsterInstance,
) -> None:
    gate = [{**limits("inconclusive")[0], "inconclusive": "block"}]
    result = run_with_promotion(make_spec(loans_file, gate=gate), instance)
    assert gate_of(result).severity is dg.AssetCheckSeverity.ERROR
    assert not promoted(instance)
    assert len(reports(instance)) == 1


def test_a_gate_that_could_not_test_warns(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance
) -> None:
    spec = make_spec(loans_file, clustering={"margin": 100})  # no split worsens a gap so much: no cluster
    check = gate_of(run_with_promotion(spec, instance))
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "ot testable" in str(check.description)
    assert promoted(instance)


def test_the_gate_shows_its_numbers(
    loans_file: Path,
    make_spec: Callable[..., AuditSpec],
    limits: Callable[[str], list[dict[str, Any]]],
    instance: dg.DagsterInstance,
) -> None:
    gate = limits("fail")
    metadata = gate_of(run_with_promotion(make_spec(loans_file, gate=gate), instance)).metadata
    numbers = {name: metadata[name].value for name in ("limit", "difference", "low", "high", "p_value")}
    assert all(isinstance(one, float) for one in numbers.values())
    assert numbers["limit"] == gate[0]["max_difference"]
    assert numbers["limit"] < numbers["low"] < numbers["difference"] < numbers["high"]
    assert "worst_cluster" in str(metadata["limits"].value)


def test_without_a_limit_everything_passes(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance
) -> None:
    assert gate_of(run_with_promotion(make_spec(loans_file, gate=[]), instance)).passed
    assert promoted(instance)
