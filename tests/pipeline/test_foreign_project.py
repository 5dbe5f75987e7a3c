"""In somebody else's project: the component by its short name, and the gate on an asset that is theirs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest

from bdt_core.spec import AuditSpec
from bdt_pipeline import build_bias_gate_checks

Make = Callable[..., AuditSpec]


@pytest.mark.parametrize(("limit", "promoted"), [(0.02, False), (0.9, True)])
def test_the_gate_on_an_asset_of_theirs_stops_what_is_downstream(
    limit: float, promoted: bool, loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def predictions() -> pd.DataFrame:
        return loans

    @dg.asset(deps=[predictions])
    def promote_model() -> None: ...

    spec = make_spec("", source={"asset": "predictions"}, gate=[{"max_difference": limit}])
    result = dg.materialize(
        [predictions, promote_model, *build_bias_gate_checks(asset=predictions, spec=spec)],
        instance=instance,
        raise_on_error=False,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )
    (check,) = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed, check.blocking) == ("bias_gate", promoted, True)
    made = instance.get_latest_materialization_event(dg.AssetKey("promote_model"))
    assert (made is not None) is promoted


def test_a_second_package_finds_the_component_and_overrides_a_stage(loans_file: Path, tmp_path: Path) -> None:
    """A project of its own, loaded in a process of its own."""
    project = tmp_path / "their_project"
    (project / "their_code" / "defs" / "loans").mkdir(parents=True)
    for package in ("their_code", "their_code/defs"):
        (project / package / "__init__.py").write_text("")
    (project / "pyproject.toml").write_text(
        '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "their_code"\n'
    )
    (project / "their_code" / "halved.py").write_text(
        textwrap.dedent("""
            from bdt_pipeline import BiasAudit, Stages


            class Halved(Stages):
                def read_table(self, source):
                    return super().read_table(source).head(1000)


            class HalvedAudit(BiasAudit):
                def build_stages(self):
                    return Halved()
        """)
    )
    (project / "their_code" / "defs" / "loans" / "defs.yaml").write_text(
        textwrap.dedent("""
            type: their_code.halved.HalvedAudit
            attributes:
              name: loans
              source: {path: "{{ env.LOANS_FILE }}"}
              bias_variable: {column: error}
              features: {include: [age, region]}
              clustering: {stability: 0}
        """)
    )
    (project / "their_code" / "definitions.py").write_text(
        textwrap.dedent("""
            from pathlib import Path
            import dagster as dg

            @dg.definitions
            def defs():
                return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
        """)
    )
    script = textwrap.dedent("""
        import dagster as dg
        from their_code.definitions import defs
        loaded = defs()
        with dg.DagsterInstance.ephemeral() as instance:
            run = loaded.resolve_job_def("loans_audit").execute_in_process(instance=instance, raise_on_error=False)
            print("ROWS", run.output_for_node("loans__bias_report")["data"]["rows"])
    """)
    environment = {**os.environ, "LOANS_FILE": str(loans_file), "DAGSTER_HOME": "", "PYTHONPATH": str(project)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=project, env=environment, capture_output=True, text=True, timeout=300
    )
    assert "ROWS 1000" in done.stdout, done.stderr[-2000:]
