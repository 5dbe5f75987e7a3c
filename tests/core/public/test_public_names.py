"""Names for users: from the package, from the rooms, and where they were before; all the same, and free until used."""

from __future__ import annotations

import ast
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import bdt_core
from bdt_core.spec import AuditSpec
from bdt_core.spec.keywords import SHORT

OLD_PATHS = {
    "audit": ["bdt_core.audit"],
    "HBAC": ["bdt_core.clustering", "bdt_core.clustering.hbac"],
    "LOGAN": ["bdt_core.clustering", "bdt_core.local_bias"],
    "bias_metrics": ["bdt_core.fairness"],
    "find_slices": ["bdt_core.groups.slices"],
    "find_worst_groups": ["bdt_core.groups.scan"],
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
    if name in bdt_core.__all__:
        assert getattr(bdt_core, name) in found


@pytest.mark.parametrize(
    "first", ["import bdt_core.audit", "from bdt_core.audit import AuditResult", "import bdt_core"]
)
def test_audit_is_the_function_whichever_way_it_is_imported_first(first: str) -> None:
    code = (
        f"{first}; import inspect, bdt_core.audit as by_module; from bdt_core import audit;"
        "from bdt_core.audit import audit as own;"
        "import bdt_core; assert inspect.isfunction(audit); assert audit is own is by_module is bdt_core.audit;"
        "from bdt_core.audit import AuditResult; assert AuditResult is bdt_core.AuditResult"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_audit_shows_each_keyword_in_its_signature_and_its_help() -> None:
    from bdt_core import audit

    parameters = inspect.signature(audit).parameters
    own = ["data", "spec", "stages", "progress", "notice"]
    assert list(parameters) == [*own, *SHORT, *AuditSpec.model_fields, "unknown"]
    text = pydoc.plain(pydoc.render_doc(audit))
    assert not [name for name in parameters if f"\n    {name} : " not in text and f"\n    **{name}\n" not in text]


def test_the_package_offers_its_public_names_and_nothing_else() -> None:
    assert dir(bdt_core) == sorted(bdt_core.__all__)


def test_no_further_module_imports_by_name() -> None:
    """import-linter cannot see such an import: each has a reason that is known here."""
    root = Path(bdt_core.__file__).parent
    by_name = {
        str(path.relative_to(root)): count
        for path in sorted(root.rglob("*.py"))
        if (count := sum(map(_imports_by_name, ast.walk(ast.parse(path.read_text(encoding="utf-8"))))))
    }
    assert by_name == {
        "on_demand.py": 2,  # what a package offers, and what its top lends it
        "stages.py": 1,  # the modules of the stages, all of them below
    }


def _imports_by_name(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in {"import_module", "__import__"}


def test_a_package_loads_only_its_own_names_on_demand() -> None:
    """Names of floors above are lent by the top of the package, where all of them stand together."""
    from bdt_core.on_demand import _LENT

    assert {home.rpartition(".")[0] or home for home in _LENT.values()} <= {
        "bdt_core.local_bias",
        "bdt_core.report",
        "bdt_core",
    }
    for package in ("clustering", "fairness", "local_bias", "report", "groups.scan"):
        module = __import__(f"bdt_core.{package}", fromlist=["_HOMES"])
        homes = getattr(module, "_HOMES", {})
        assert all(home.startswith((".", f"bdt_core.{package}.")) for home in homes.values()), package


def test_importing_the_package_loads_nothing() -> None:
    code = (
        "import sys, bdt_core; from bdt_core import __version__;"
        "print(sorted({one.partition('.')[0] for one in sys.modules} & {'numpy', 'pandas', 'numba', 'pydantic'}))"
    )
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "[]"
