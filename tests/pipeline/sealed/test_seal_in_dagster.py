"""A component finds the seal beside its ``defs.yaml``, and its gate gives the answer that the command line gives."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pandas as pd
import pytest
from dagster.components.testing.utils import create_defs_folder_sandbox

from bdt_core.audit import audit
from bdt_core.sealed.seal import seal_of
from bdt_pipeline import BiasAudit

ATTRIBUTES: dict[str, Any] = {
    "name": "loans",
    "source": {"path": "loans.csv"},
    "bias_variable": {"column": "error"},
    "protected": ["sex"],
    "features": {"include": ["age", "region", "income"]},
    "slices": None,
    "worst_groups": None,
    "clustering": {"stability": 0},
    "split": {"repeats": 1},
    "gate": [{"check": "worst_cluster", "max_difference": 1.0}],
    "sealed": "required",
}


@pytest.mark.parametrize("is_sealed", [False, True])
def test_the_gate_of_a_component_opens_for_a_plan_that_was_sealed(
    loans: pd.DataFrame, instance: dg.DagsterInstance, is_sealed: bool
) -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=BiasAudit,
            defs_path="audit",
            defs_yaml_contents={"type": "bdt_pipeline.BiasAudit", "attributes": ATTRIBUTES},
        )
        loans.to_csv(path / "loans.csv", index=False)
        with sandbox.build_component_tree() as tree:
            spec = tree.load_component(path).build_spec(tree.load_context.for_path(path))  # type: ignore[attr-defined]
        assert spec.seal is None
        if is_sealed:
            seal_of(spec).write(path / "loans.seal.json")
        with sandbox.load_component_and_build_defs(defs_path=path) as (component, defs):
            assert isinstance(component, BiasAudit)
            done = defs.resolve_job_def("loans_audit").execute_in_process(instance=instance, raise_on_error=False)
            report = done.output_for_node("loans__bias_report")
            (gate,) = [one for one in done.get_asset_check_evaluations() if one.check_name == "bias_gate"]
        found = spec.model_copy(update={"seal": str(path / "loans.seal.json")}) if is_sealed else spec
        assert report["verdict"] == audit(None, found).document["verdict"]
    assert (gate.passed, report["verdict"]["blocks"]) == (is_sealed, not is_sealed)
    if not is_sealed:
        assert gate.severity == dg.AssetCheckSeverity.ERROR
        assert "there is no seal of it" in report["verdict"]["sentence"]
