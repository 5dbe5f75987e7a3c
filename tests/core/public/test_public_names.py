"""Names for users: from the package, from the rooms, and where they were before; all the same, and free until used."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import bdt_core

OLD_PATHS = {
    "audit": ["bdt_core.audit"],
    "HBAC": ["bdt_core.clustering", "bdt_core.clustering.hbac"],
    "LOGAN": ["bdt_core.clustering", "bdt_core.local_bias"],
    "bias_metrics": ["bdt_core.fairness"],
    "find_slices": ["bdt_core.slices"],
    "find_worst_groups": ["bdt_core.scan"],
    "GroupThresholds": ["bdt_core.mitigation"],
    "reweigh": ["bdt_core.mitigation"],
    "clarify_analysis": ["bdt_core.fairness", "bdt_core.clarify"],
    "Stages": ["bdt_pipeline", "bdt_core.stages"],
    "BiasAudit": ["bdt_pipeline"],
    "bias_audit_definitions": ["bdt_pipeline"],
}


@pytest.mark.parametrize("name", OLD_PATHS)
def test_a_public_name_is_one_thing_wherever_it_is_imported_from(name: str) -> None:
    found = {getattr(__import__(path, fromlist=[name]), name) for path in OLD_PATHS[name]}
    assert len(found) == 1
    if name in bdt_core.__all__ and name != "audit":
        assert getattr(bdt_core, name) in found


def test_the_function_can_be_called_by_the_name_of_its_module() -> None:
    from bdt_core import audit
    from bdt_core.audit import audit as function

    assert callable(audit)
    assert inspect.signature(audit).parameters.keys() >= {"data", "spec", "stages", "progress"}
    result = audit(
        "demo:compas",
        {
            "name": "compas",
            "source": {"path": "demo:compas"},
            "bias_variable": {"column": "two_year_recid"},
            "features": {"include": ["age"]},
            "clustering": {"stability": 0, "max_iter": 1},
            "slices": None,
        },
    )
    assert type(result) is inspect.signature(function, eval_str=True).return_annotation


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys, bdt_core; from bdt_core import __version__;"
        "print(sorted({one.partition('.')[0] for one in sys.modules} & {'numpy', 'pandas', 'numba', 'pydantic'}))"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "[]"
