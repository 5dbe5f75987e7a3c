"""Somebody's own package: the component subclassed, stages overridden, assets added; and all of it is followed."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.errors import OUT_OF_MEMORY
from bdt_core.spec import AuditSpec, Clustering
from bdt_core.table.audit_table import AuditTable
from bdt_pipeline import Stages, bias_audit_definitions
from tests import forked
from tests.pipeline.conftest import SEARCHES

ROOT = Path(__file__).parents[2]
DAGSTER = str(Path(sys.executable).parent / "dagster")
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}
Make = Callable[..., AuditSpec]

PACKAGE = {
    "their_audits/__init__.py": """
        from their_audits.audit import WarehouseAudit

        __all__ = ["WarehouseAudit"]
    """,
    "their_audits/audit.py": '''
        import dagster as dg
        from bdt_pipeline import BiasAudit, Stages


        class Warehouse(Stages):
            """Reads fewer rows, and splits them once."""

            def __init__(self, rows):
                self.rows = rows

            def read_table(self, source):
                return super().read_table(source).head(self.rows)

            def find_clusters(self, train, settings, progress=None):
                return super().find_clusters(train, settings.model_copy(update={"max_iter": 1}), progress)


        class WarehouseAudit(BiasAudit):
            """A bias audit of our warehouse."""

            warehouse_rows: int = 1500

            def build_stages(self):
                return Warehouse(self.warehouse_rows)

            def build_assets(self, audit):
                @dg.asset(key_prefix=audit.spec.name, ins=audit.inputs("bias_report"), io_manager_key=audit.results)
                def archived(bias_report):
                    return {"rows": bias_report["data"]["rows"]}

                return [*super().build_assets(audit), archived]
    ''',
    "their_audits-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: their-audits\nVersion: 1.0\n",
    "their_audits-1.0.dist-info/entry_points.txt": "[dagster_dg_cli.registry_modules]\ntheir_audits = their_audits\n",
}
PROJECT = {
    "their_project/__init__.py": "",
    "their_project/defs/__init__.py": "",
    "their_project/definitions.py": """
        from pathlib import Path

        import dagster as dg


        @dg.definitions
        def defs():
            return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
    """,
    "their_project/defs/loans/defs.yaml": """
        type: their_audits.WarehouseAudit
        attributes:
          name: loans
          source: {path: "{{ env.LOANS_FILE }}"}
          bias_variable: {column: error}
          features: {include: [age, region]}
          clustering: {stability: 0}
          slices: null
          gate: []
          warehouse_rows: 1200
    """,
    "pyproject.toml": """
        [tool.dg]
        directory_type = "project"
        [tool.dg.project]
        root_module = "their_project"
    """,
}


def written(files: dict[str, str], folder: Path) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(content).lstrip())
    return folder


def test_a_second_package_overrides_stages_and_adds_an_asset(loans_file: Path, tmp_path: Path) -> None:
    """An installed distribution of theirs, used in a project of theirs, run by the command that deploys."""
    site, project = written(PACKAGE, tmp_path / "site"), written(PROJECT, tmp_path / "project")
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    path = os.pathsep.join(map(str, (project, site, ROOT)))
    env = os.environ | {"PYTHONPATH": path, "DAGSTER_HOME": str(home), "LOANS_FILE": str(loans_file)}
    env.pop("BDT_STORAGE", None)
    command = [DAGSTER, "job", "execute", "-m", "their_project.definitions", "-j", "loans_audit"]
    done = forked.run(command, cwd=project, env=env)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    stored = home / "storage" / "loans"
    assert len(pd.read_parquet(stored / "raw_data.parquet")) == 1200
    clusters = json.loads((stored / "hbac_clusters.json").read_text())["value"]
    assert len(clusters["train"]) == 2
    significance = json.loads((stored / "cluster_significance.json").read_text())["value"]
    assert len(significance["clusters"]) == 2
    assert json.loads((stored / "bias_report.json").read_text())["value"]["data"]["rows"] == 1200
    assert json.loads((stored / "archived.json").read_text())["value"] == {"rows": 1200}


def test_their_component_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dagster.components.core.package_entry import discover_entry_point_package_objects

    monkeypatch.syspath_prepend(str(written(PACKAGE, tmp_path / "site")))
    found = {key.to_typename() for key in discover_entry_point_package_objects()}
    assert {"bdt_pipeline.BiasAudit", "their_audits.WarehouseAudit"} <= found


class Recording(Stages):
    """Notes which stage is called."""

    def __init__(self) -> None:
        object.__setattr__(self, "called", [])

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name in vars(Stages):
            object.__getattribute__(self, "called").append(name)
        return found


def public_stages() -> set[str]:
    """Those that assets call; Python opens its table itself."""
    public = {name for name, value in vars(Stages).items() if callable(value) and not name.startswith("_")}
    return public - {"open_table"}


def test_every_stage_that_can_be_overridden_is_called(
    loans: pd.DataFrame, loans_file: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """A stage that the assets passed by would be overridden without effect."""
    spec = make_spec(
        loans_file,
        bias_variable=DERIVED | {"derive": "absolute_error"},  # numbers, beside decisions of the groups
        features={"include": ["age", "region"]},
        local_bias={"group": "sex"},
        mitigation={"group": "sex", "score": "score"},
        groups={"report": ["four_fifths"], "label": "repaid", "prediction": "approved", "score": "score"},
        favourable="positive",
        gate=[],
        **SEARCHES,
    )
    loans.assign(score=loans["income"].rank(pct=True)).to_csv(loans_file, index=False)
    stages = Recording()
    job = bias_audit_definitions(spec, stages=stages).resolve_job_def("loans_audit")
    run = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
    assert run.success, [one.step_failure_data.error.message for one in run.all_events if one.is_step_failure]
    for_large_tables = {"leave_in_place", "validate_in_shards"}
    assert set(stages.called) >= public_stages() - {"take_table"} - for_large_tables

    @dg.asset
    def theirs() -> pd.DataFrame:
        return loans

    stages = Recording()
    spec = make_spec("", source={"asset": "theirs"}, name="other")
    defs = dg.Definitions.merge(dg.Definitions(assets=[theirs]), bias_audit_definitions(spec, stages=stages))
    job = defs.resolve_implicit_global_asset_job_def()
    job.execute_in_process(
        instance=instance, run_config=QUIET, asset_selection=[dg.AssetKey("theirs"), dg.AssetKey(["other", "raw_data"])]
    )
    assert "take_table" in stages.called


class WithoutRegion(Stages):
    """Clusters by age alone."""

    def validate(self, frame: pd.DataFrame, spec: AuditSpec) -> AuditTable:
        features = spec.features.model_copy(update={"include": ["age"]})
        return super().validate(frame, spec.model_copy(update={"features": features}))

    def find_clusters(self, train: AuditTable, settings: Clustering, progress: Any = None) -> Any:
        return super().find_clusters(train, settings.model_copy(update={"max_iter": 2}), progress)


def test_an_overridden_stage_reaches_the_report(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    spec = make_spec(loans_file, gate=[])
    job = bias_audit_definitions(spec, stages=WithoutRegion()).resolve_job_def("loans_audit")
    run = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
    report = run.output_for_node("loans__bias_report")
    assert len(report["clusters"]) <= 3
    assert "region" not in json.dumps([one["rule"] for one in report["clusters"]])
    assert "age" in json.dumps([one["rule"] for one in report["clusters"]])


class TooLarge(Stages):
    """Asks for more memory than any machine has."""

    def validate(self, frame: pd.DataFrame, spec: AuditSpec) -> AuditTable:
        np.empty(1 << 60, dtype=np.uint8)
        return super().validate(frame, spec)


def test_too_little_memory_is_told_in_words(loans_file: Path, make_spec: Make, instance: dg.DagsterInstance) -> None:
    job = bias_audit_definitions(make_spec(loans_file), stages=TooLarge()).resolve_job_def("loans_audit")
    run = job.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET)
    (failure,) = [one.step_failure_data for one in run.all_events if one.is_step_failure]
    assert failure.user_failure_data.description == OUT_OF_MEMORY
    assert failure.error.cause is None  # whose lines would hide the sentence
