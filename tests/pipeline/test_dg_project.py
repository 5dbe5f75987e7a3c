"""In a project of somebody else's, with Dagster's own command line: scaffolded, checked, listed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import bdt_pipeline
from bdt_core.spec import load_spec
from bdt_pipeline.components.telemetry import TELEMETRY_IS_ON
from tests import forked

DG = Path(sys.executable).parent / "dg"
MODULE = "somebodys_project"


class Project:
    """What `create-dagster project` makes, as far as it matters here."""

    def __init__(self, root: Path) -> None:
        self.root, self.defs = root, root / MODULE / "defs"
        self.defs.mkdir(parents=True)
        (root / "pyproject.toml").write_text(
            f'[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "{MODULE}"\n'
        )
        for package in (root / MODULE, self.defs):
            (package / "__init__.py").touch()

    def load_by(self, how: str) -> None:
        """Write ``definitions.py``."""
        (self.root / MODULE / "definitions.py").write_text(
            "from pathlib import Path\nimport dagster as dg\nfrom bdt_pipeline import load_audits\n\n\n"
            f"@dg.definitions\ndef defs():\n    return {how}\n"
        )

    def dg(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``dg``, where neither this repository nor a Dagster home is."""
        path = os.pathsep.join([str(Path(bdt_pipeline.__file__).parents[1]), str(self.root)])
        kept = {name: one for name, one in os.environ.items() if name not in ("DAGSTER_HOME", "COLUMNS")}
        return forked.run([str(DG), *arguments], cwd=self.root, env={**kept, "PYTHONPATH": path, "COLUMNS": "200"})

    def write(self, name: str, attributes: dict[str, Any]) -> Path:
        """An audit as somebody writes it."""
        file = self.defs / name / "defs.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(yaml.safe_dump({"type": "bdt_pipeline.BiasAudit", "attributes": attributes}, sort_keys=False))
        return file


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("somebody"))


@pytest.fixture(autouse=True)
def only_what_the_test_writes(project: Project) -> None:
    project.load_by("dg.load_from_defs_folder(path_within_project=Path(__file__).parent)")
    for file in project.defs.rglob("*/*.*"):
        file.unlink()


LEAST: dict[str, Any] = {"name": "loans", "source": {"path": "loans.csv"}, "bias_variable": {"column": "error"}}


def test_what_is_scaffolded_passes_all_checks_at_once(project: Project, loans: pd.DataFrame) -> None:
    loans.to_csv(project.root / "loans.csv", index=False)
    made = project.dg("scaffold", "defs", "bdt_pipeline.BiasAudit", "team/lending", "--file", "loans.csv")
    assert made.returncode == 0, made.stderr
    assert "Measured: " in made.stdout
    file = project.defs / "team" / "lending" / "defs.yaml"
    checked = [project.dg("check", what) for what in ("yaml", "defs")]
    assert [one.returncode for one in checked] == [0, 0], checked
    assert TELEMETRY_IS_ON in checked[1].stdout + checked[1].stderr  # before anything has been started
    spec = load_spec(file)  # and so does `bdt audit` take it
    assert (spec.name, Path(spec.source.path or "").resolve()) == ("lending", project.root / "loans.csv")
    assert spec.protected == ["sex"]
    assert "../../../../loans.csv" in file.read_text()  # the project can be moved


def test_without_a_table_a_skeleton_says_what_to_fill_in(project: Project) -> None:
    assert project.dg("scaffold", "defs", "bdt_pipeline.BiasAudit", "cards").returncode == 0
    text = (project.defs / "cards" / "defs.yaml").read_text()
    assert "  name: cards\n" in text
    for to_fill_in in (
        "{path: TABLE.csv}",
        "label: COLUMN_WITH_WHAT_HAPPENED",
        "cards --file TABLE",
        "# translation: ",
    ):
        assert to_fill_in in text
    checked = project.dg("check", "defs")
    assert checked.returncode == 0, checked


def test_a_table_that_cannot_be_read_leaves_nothing_behind(project: Project) -> None:
    made = project.dg("scaffold", "defs", "bdt_pipeline.BiasAudit", "nothing", "--file", "no_such_table.csv")
    assert made.returncode == 1
    assert "no_such_table.csv does not exist" in made.stderr
    assert "Traceback" not in made.stderr
    assert not (project.defs / "nothing").exists()


def test_in_python_too(project: Project, loans: pd.DataFrame) -> None:
    loans.to_csv(project.root / "loans.csv", index=False)
    file = str(project.root / "loans.csv")
    made = project.dg("scaffold", "defs", "bdt_pipeline.BiasAudit", "code", "--format", "python", "--file", file)
    assert made.returncode == 0, made.stderr
    listed = project.dg("list", "defs", "--json")
    assert "code/bias_report" in {one["asset_key"] for one in json.loads(listed.stdout)["assets"]}


def test_mistyped_keys_are_named_with_file_line_and_what_was_meant(project: Project) -> None:
    file = project.write("loans", LEAST)
    file.write_text(file.read_text() + MISTYPED)
    checked = project.dg("check", "yaml")
    assert checked.returncode == 1
    lines = file.read_text().splitlines()
    said = [one for one in checked.stdout.splitlines() if one.startswith(f"{file}:")]
    for key, sentence in {
        "clusterin": 'did you mean "clustering"?',
        "split.test_siz": 'did you mean "test_size"?',
        "gate.0.max_diference": 'did you mean "max_difference"?',
        "gate.1.check": "'worst_grup' is not one of ['worst_cluster'",
        "protected_columns": 'did you mean "protected"?',
        "translation.group": 'did you mean "group_name"?',
        "wholly_else": "known keys here: name, source, bias_variable",
    }.items():
        (line,) = [i for i, text in enumerate(lines, 1) if text.endswith(f"# {key}")]
        (ours,) = [one for one in said if f"attributes.{key} " in one]
        assert ours.startswith(f"{file}:{line} "), key
        assert sentence in ours
    assert len(said) == 7


MISTYPED = """
  clusterin: {}  # clusterin
  split:
    test_siz: 0.3  # split.test_siz
  gate:
  - check: worst_group
    max_diference: 0.1  # gate.0.max_diference
  - check: worst_grup  # gate.1.check
  protected_columns: [sex]  # protected_columns
  translation:
    group: risk  # translation.group
  wholly_else: 1  # wholly_else
"""


def test_dagster_shows_the_assets_as_the_project_wants_them(project: Project) -> None:
    attributes = {"group_name": "risk", "owners": ["team:risk", "a@b.nl"], "tags": {"domain": "lending"}}
    keys = {"key_prefix": ["risk", "models"], "kinds": ["python", "{{ spec.key.path[-1] }}"]}
    project.write("loans", {**LEAST, "translation": {**attributes, **keys}})
    assert project.dg("check", "yaml").returncode == 0
    shown = json.loads(project.dg("list", "defs", "--json").stdout)
    assets = {one["asset_key"]: one for one in shown["assets"]}
    assert len(assets) == 12
    assert all(key.startswith("risk/models/loans/") for key in assets)
    for key, one in assets.items():
        assert one["group_name"] == "risk"
        assert one["owners"] == [{"team": "risk"}, {"email": "a@b.nl"}]
        assert {(tag["key"], tag["value"]) for tag in one["tags"]} == {("bdt/audit", "loans"), ("domain", "lending")}
        assert set(one["kinds"]) == {"python", key.rpartition("/")[2]}
    assert all(one["asset_key"].startswith("risk/models/loans/") for one in shown["asset_checks"])
    assert {one["name"] for one in shown["resources"]} == {"bdt_tables", "bdt_results", "loans_settings"}


def test_the_list_of_components_shows_what_it_is(project: Project) -> None:
    listed = json.loads(project.dg("list", "components", "--json").stdout)
    (ours,) = [one for one in listed["items"] if one["key"] == "bdt_pipeline.BiasAudit"]
    assert ours["summary"].startswith("A bias audit: finds the groups an algorithm treats worse")


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "unset": (
        {**LEAST, "name": "unset", "source": {"path": "{{ env.NO_SUCH_FOLDER }}/x.csv"}},
        "unset/defs.yaml: source.path (line 5): the environment variable NO_SUCH_FOLDER is not set",
    ),
    "typo": ({**LEAST, "name": "typo", "clusterin": {}}, 'clusterin (line 8): unknown key; did you mean "clustering"?'),
    "stranger": ({**LEAST, "name": "stranger", "translation": {"key": "x"}}, "translation.key: "),
}


def test_broken_audits_take_no_neighbour_along_and_fail_the_check_with_their_reasons(project: Project) -> None:
    project.load_by("load_audits(Path(__file__).parent)")
    project.write("whole", {**LEAST, "name": "whole"})
    for name, (attributes, _) in BROKEN.items():
        project.write(name, attributes)
    listed = project.dg("list", "defs", "--json")
    assets = {one["asset_key"]: one["description"] for one in json.loads(listed.stdout)["assets"]}
    assert "whole/bias_report" in assets
    assert {key for key in assets if not key.startswith("whole/")} == {f"{name}/not_loaded" for name in BROKEN}
    checked = project.dg("check", "defs", "--no-check-yaml")
    assert checked.returncode == 1
    for name, (_, reason) in BROKEN.items():
        assert reason in assets[f"{name}/not_loaded"]
        assert reason in checked.stdout + checked.stderr
    for name in BROKEN:
        (project.defs / name / "defs.yaml").unlink()
    assert project.dg("check", "defs").returncode == 0
