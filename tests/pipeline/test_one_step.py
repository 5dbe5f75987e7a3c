"""``assets: report``: the audit as one asset, which one step makes, with what the chain of assets has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml
from dagster.components.testing.utils import create_defs_folder_sandbox

from bdt_core.spec import AuditSpec, load_spec
from bdt_pipeline import BiasAudit, bias_audit_definitions
from bdt_pipeline.assets.common import Layout
from tests.pipeline.conftest import QUIET, SEARCHES
from tests.pipeline.watched_audit import STRICT, Watched, WebHook

Make = Callable[..., AuditSpec]
REPORT = dg.AssetKey(["loans", "bias_report"])
LIMITS = [
    {"check": "any_cluster", "max_difference": 0.9},
    {"check": "worst_group", "max_difference": 0.05},
    {"check": "worst_slice", "max_difference": 0.05},
    {"metric": "demographic_parity_difference", "facet": "sex", "max": 0.5},
]


def project(spec: AuditSpec, assets: Layout) -> dg.Definitions:
    """An audit, and what must not happen when its gate is shut."""

    @dg.asset(deps=[REPORT])
    def promoted() -> None: ...

    job = dg.define_asset_job("promote", executor_def=dg.in_process_executor)
    return dg.Definitions.merge(
        bias_audit_definitions(spec, assets=assets), dg.Definitions(assets=[promoted], jobs=[job])
    )


def promote(spec: AuditSpec, assets: Layout, home: Path) -> tuple[dg.ExecuteInProcessResult, Path]:
    """A run of all, and where it stores things."""
    with dg.DagsterInstance.ephemeral(str(home / assets), settings={"telemetry": {"enabled": False}}) as instance:
        job = project(spec, assets).resolve_job_def("promote")
        run = job.execute_in_process(instance=instance, raise_on_error=False, run_config={"loggers": QUIET})
        return run, Path(instance.storage_directory()) / "loans"


def checks_of(run: dg.ExecuteInProcessResult) -> dict[str, tuple[Any, ...]]:
    return {
        one.check_name: (one.passed, one.severity, one.blocking, one.description, one.metadata)
        for one in run.get_asset_check_evaluations()
    }


def of_report(run: dg.ExecuteInProcessResult) -> dict[str, Any]:
    """The metadata of the report, without the places of its files."""
    (made,) = [one for one in run.get_asset_materialization_events() if one.asset_key == REPORT]
    return {
        name: one.value
        for name, one in made.materialization.metadata.items()
        if not isinstance(one, dg.PathMetadataValue)
    }


def test_one_step_makes_what_the_chain_makes(loans_file: Path, make_spec: Make, tmp_path: Path) -> None:
    spec = make_spec(
        loans_file,
        bias_variable={"derive": "error", "label": "repaid", "prediction": "approved"},
        groups={"facets": ["sex", "region"]},
        gate=LIMITS,
        **SEARCHES,
    )
    runs, reports, forms = [], [], []
    for assets in ("chain", "report"):
        run, storage = promote(spec, assets, tmp_path)
        (folder,) = (storage / "reports").iterdir()
        runs.append(run)
        reports.append((folder / "report.json").read_bytes())
        forms.append({one.name for one in folder.iterdir()})
        assert len(list((storage / "history").rglob("*.json"))) == 1
        assert not run.success
        assert "promoted" not in {one.step_key for one in run.all_events if one.is_step_start}
    chain, report = runs
    assert reports[0] == reports[1]
    assert forms[0] == forms[1] == {"report.json", "report.html", "report.pdf", "report.md"}
    assert checks_of(chain) == checks_of(report)
    assert {"columns_exist", "no_leaks", "no_drift", "worst_group", "bias_gate"} <= set(checks_of(report))
    assert of_report(chain) == of_report(report)
    assert {one.step_key for one in report.all_events if one.is_step_start} == {"loans__bias_report"}
    assert {one.asset_key for one in report.get_asset_materialization_events()} == {REPORT}
    assert {one.asset_key for one in report.get_asset_check_evaluations()} == {REPORT}


def test_a_gate_that_passes_lets_go_on(loans_file: Path, make_spec: Make, tmp_path: Path) -> None:
    run, _ = promote(make_spec(loans_file, gate=[LIMITS[0]]), "report", tmp_path)
    assert run.success
    assert "promoted" in {one.step_key for one in run.all_events if one.is_step_success}


def test_a_table_that_cannot_be_audited_ends_the_step(make_spec: Make, loans: pd.DataFrame, tmp_path: Path) -> None:
    loans[:8].to_csv(tmp_path / "few.csv", index=False)
    run, storage = promote(make_spec(tmp_path / "few.csv"), "report", tmp_path)
    assert not run.success
    assert {one.check_name for one in run.get_asset_check_evaluations() if not one.passed} == {"enough_rows"}
    assert run.get_asset_materialization_events() == []
    assert not (storage / "reports").exists()


def test_a_gate_that_fails_is_told_once(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, hook: WebHook
) -> None:
    spec = make_spec(loans_file, gate=STRICT, notify=[hook.address])
    watched = Watched(spec, instance, defs=bias_audit_definitions(spec, assets="report"))
    for _ in range(2):
        watched.audit()
        watched.look()
    (sent,) = hook.received
    assert "bias_report: bias_gate" in sent["message"]
    assert "Run of" not in sent["message"]


def test_a_run_of_a_project_is_one_step_of_one_process(loans_file: Path, make_spec: Make, tmp_path: Path) -> None:
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(make_spec(loans_file, gate=STRICT).to_dict()))
    (tmp_path / "project.py").write_text(
        "from bdt_pipeline import bias_audit_definitions\n"
        f"defs = bias_audit_definitions({str(tmp_path / 'audit.yaml')!r}, assets='report')\n"
    )
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    program = [
        sys.executable,
        "-m",
        "dagster",
        "job",
        "execute",
        "-f",
        str(tmp_path / "project.py"),
        "-j",
        "loans_audit",
    ]
    done = subprocess.run(
        program, env=os.environ | {"DAGSTER_HOME": str(tmp_path / "home")}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    with dg.DagsterInstance.from_config(str(tmp_path / "home")) as instance:
        (run,) = instance.get_runs()
        events = [one.dagster_event for one in instance.all_logs(run.run_id) if one.dagster_event is not None]
        assert [one.step_key for one in events if one.is_step_start] == ["loans__bias_report"]
        assert instance.get_latest_materialization_event(REPORT) is not None


def test_a_component_asks_for_it_and_bdt_reads_its_file(loans_file: Path, tmp_path: Path) -> None:
    attributes: dict[str, Any] = {
        "name": "loans", "source": {"path": str(loans_file)}, "bias_variable": {"column": "error"},
    }  # fmt: skip
    written = {"type": "bdt_pipeline.BiasAudit", "attributes": {**attributes, "assets": "report", "bundle": {}}}
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=BiasAudit, defs_path="audit", defs_yaml_contents=written)
        with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
            keys = defs.resolve_asset_graph().get_all_asset_keys()
            assert keys == {REPORT, dg.AssetKey(["loans", "audit_bundle"])}
            assert defs.resolve_job_def("loans_audit").executor_def is dg.in_process_executor
    (tmp_path / "defs.yaml").write_text(yaml.safe_dump(written))
    assert load_spec(tmp_path / "defs.yaml").name == "loans"


@pytest.mark.parametrize("assets", ["chain", "report"])
def test_names_of_checks_are_never_two_of_a_kind(assets: Layout, loans_file: Path, make_spec: Make) -> None:
    spec = make_spec(
        loans_file,
        bias_variable={"derive": "error", "label": "repaid", "prediction": "approved"},
        gate=[*LIMITS, *LIMITS],
        local_bias={"group": "sex"},
        **SEARCHES,
    )
    keys = bias_audit_definitions(spec, assets=assets).resolve_asset_graph().asset_check_keys
    names = [one.name for one in keys]
    assert len(set(names)) == len(names) > 20
