"""An audit that is broken, waits for a variable or cannot tell anybody takes no other along."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

import bdt_pipeline
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions, build_gate_alert_sensor, load_audits

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
LEAST: dict[str, Any] = {"source": {"path": "loans.csv"}, "bias_variable": {"column": "error"}}
BROKEN: dict[str, tuple[Any, str]] = {
    "unset": (
        {**LEAST, "name": "unset", "source": {"path": "s3://{{ env.NO_SUCH_BUCKET }}/x.csv"}},
        r"unset/defs\.yaml: source\.path \(line \d+\): the environment variable NO_SUCH_BUCKET is not set",
    ),
    "typo": ({**LEAST, "name": "typo", "clusterin": {}}, "clusterin"),
    "wrong": ({**LEAST, "name": "wrong", "split": {"test_size": 3}}, r"wrong/defs\.yaml .*\n.*split\.test_size"),
    "no_yaml": ("attributes: [", "no_yaml"),
    "code": ("import no_such_package_at_all", "no_such_package_at_all"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder ``defs`` of a project with two audits that are whole."""
    name = f"project_{tmp_path.name.strip('_')}"
    (tmp_path / "pyproject.toml").write_text(f'[tool.dg.project]\nroot_module = "{name}"\n')
    defs = tmp_path / name / "defs"
    for neighbour in ("before", "zebra"):
        (defs / neighbour).mkdir(parents=True)
        (defs / neighbour / "defs.yaml").write_text(audit_file({**LEAST, "name": neighbour}))
    for package in (defs.parent, defs):
        (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return defs


def audit_file(attributes: dict[str, Any]) -> str:
    return yaml.safe_dump({"type": "bdt_pipeline.BiasAudit", "attributes": attributes})


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_audit_leaves_its_neighbours_alone(name: str, project: Path) -> None:
    content, reason = BROKEN[name]
    (project / name).mkdir()
    if name == "code":
        (project / name / "more.py").write_text(str(content))
    else:
        text = content if isinstance(content, str) else audit_file(content)
        (project / name / "defs.yaml").write_text(text)
    defs = load_audits(project)
    specs = {one.key.to_user_string(): one for one in defs.resolve_all_asset_specs()}
    assert {"before/bias_report", "zebra/bias_report", f"{name}/not_loaded"} <= specs.keys()
    assert defs.resolve_job_def("zebra_audit")
    theirs = dg.load_from_defs_folder(path_within_project=Path(bdt_pipeline.__file__).parent)
    assert dict(defs.metadata or {}) == dict(theirs.metadata or {}) != {}  # the pages of all components in the UI
    assert re.search(reason, str(specs[f"{name}/not_loaded"].description)), specs[f"{name}/not_loaded"].description
    result = dg.materialize(
        [one for one in defs.assets or () if isinstance(one, dg.AssetsDefinition)],
        selection=[dg.AssetKey([name, "not_loaded"])],
        resources=defs.resources,
        raise_on_error=False,
        run_config=QUIET,
    )
    assert not result.success


def test_files_and_folders_of_folders_beside_a_broken_audit(project: Path) -> None:
    """What `dg scaffold defs` writes: Python files in ``defs``, and folders in folders."""
    function = "    return dg.Definitions(assets=[lazy])\n"
    files = {
        "plain.py": "import dagster as dg\n@dg.asset\ndef plain(): ...\n",
        "lazy.py": f"import dagster as dg\n@dg.asset\ndef lazy(): ...\n@dg.definitions\ndef defs():\n{function}",
        "wrong.py": "import no_such_package_at_all",
        "team/whole/defs.yaml": audit_file({**LEAST, "name": "deep"}),
        "team/typo/defs.yaml": audit_file({**LEAST, "name": "typo", "clusterin": {}}),
        "data/loans.csv": "age,error\n",
        "team/more.py": "import dagster as dg\n@dg.asset\ndef more(): ...\n",
    }
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    specs = {one.key.to_user_string(): one for one in load_audits(project).resolve_all_asset_specs()}
    whole = {"plain", "lazy", "more", "before/bias_report", "zebra/bias_report", "deep/bias_report"}
    assert {*whole, "wrong/not_loaded", "team/typo/not_loaded"} <= specs.keys()
    assert sum("not_loaded" in one for one in specs) == 2
    assert "no_such_package_at_all" in str(specs["wrong/not_loaded"].description)
    assert "clusterin" in str(specs["team/typo/not_loaded"].description)


def test_whole_audits_are_loaded_as_dagster_does(project: Path) -> None:
    ours, theirs = load_audits(project), dg.load_from_defs_folder(path_within_project=project)
    keys = [{one.key for one in defs.resolve_all_asset_specs()} for defs in (ours, theirs)]
    assert keys[0] == keys[1]


@pytest.fixture
def without_apprise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it were not installed."""
    found = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> Any:
        return None if name == "apprise" else found(name, package)

    monkeypatch.setattr("importlib.util.find_spec", without)


@pytest.mark.usefixtures("without_apprise")
def test_without_apprise_an_error_on_a_check_says_so(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any
) -> None:
    spec = make_spec(loans_file, notify=["json://127.0.0.1:9/x"], gate=[], slices=None, worst_groups=None)
    defs = bias_audit_definitions(spec)  # loads
    result = run_audit(spec, instance)
    (alerts,) = (one for one in result.get_asset_check_evaluations() if one.check_name == "alerts")
    assert not alerts.passed
    assert alerts.severity is dg.AssetCheckSeverity.ERROR
    assert 'pip install "bdt-pipeline[notify]"' in str(alerts.description)
    assert result.success
    for sensor in (defs.resolve_sensor_def("loans_alerts"), build_gate_alert_sensor(spec=spec, checks=[])):
        assert sensor is not None
        context = dg.build_sensor_context(instance=instance, repository_def=defs.get_repository_def())
        skipped = sensor(context)
        assert isinstance(skipped, dg.SkipReason)
        assert "apprise" in str(skipped.skip_message)


def test_with_apprise_there_is_no_such_check(make_spec: Callable[..., AuditSpec], loans_file: Path) -> None:
    defs = bias_audit_definitions(make_spec(loans_file, notify=["json://127.0.0.1:9/x"]))
    names = {spec.name for check in defs.asset_checks or () for spec in check.check_specs}
    assert "bias_gate" in names
    assert "alerts" not in names
