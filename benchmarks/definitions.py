"""How long the definitions of many audits take to load, beyond as many bare assets.

``python -m benchmarks definitions [--audits=100] [--repeats=5]`` writes two projects with a folder per audit: in one
are our components, in the other such whose assets have the same keys, dependencies and job, and nothing else: neither
checks nor settings nor descriptions. Processes of their own load them in turns, as a code server does. Prints medians
of all CPU seconds of a process.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from benchmarks.measuring import machine, markdown_table

_AUDIT = {
    "source": {"path": "loans.csv"},
    "bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"},
    "features": {"include": ["age", "region", "income"]},
    "protected": ["sex"],
    "gate": [{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.1}],
}
_BARE = """\
import json
from pathlib import Path
import dagster as dg

ASSETS = json.loads((Path(__file__).parent / "shape.json").read_text())

def bare_asset(key, deps):
    @dg.asset(key=key, deps=[dg.AssetKey(one) for one in deps])
    def asset(): ...
    return asset

class Bare(dg.Component, dg.Model, dg.Resolvable):
    name: str

    def build_defs(self, context):
        assets = [
            bare_asset([self.name, key], [[self.name, one] for one in deps]) for key, deps in ASSETS.items()
        ]
        job = dg.define_asset_job(f"{self.name}_audit", selection=assets, executor_def=dg.in_process_executor)
        return dg.Definitions(assets=assets, jobs=[job])
"""
_LOAD = """\
import sys, time
import dagster as dg
from pathlib import Path
repository = dg.load_from_defs_folder(path_within_project=Path(sys.argv[1])).get_repository_def()
repository.load_all_definitions()
print(len(repository.asset_graph.get_all_asset_keys()), time.process_time())
"""
_PROJECT = """\
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "{name}"
"""


def run(audits: int | str = 100, repeats: int | str = 5) -> None:
    """Load both projects in turns; see the module."""
    with tempfile.TemporaryDirectory() as folder:
        ours = _written(Path(folder), "ours", "bdt_pipeline.BiasAudit", _AUDIT, int(audits))
        bare = _written(Path(folder), "bare", "bare.component.Bare", {}, int(audits))
        (bare / "bare" / "component.py").write_text(_BARE)
        (bare / "bare" / "shape.json").write_text(json.dumps(_shape()))
        seconds: dict[str, list[float]] = {"ours": [], "bare": []}
        held = set()
        for _ in range(int(repeats)):
            for project in (ours, bare):
                assets, cpu = _loaded(project)
                held.add(assets)
                seconds[project.name].append(cpu)
    (assets,) = held  # both have as many
    medians = {name: statistics.median(several) for name, several in seconds.items()}
    rows = [[name, f"{one:.2f}"] for name, one in medians.items()]
    print(f"{audits} audits with {assets} assets; {machine()}\n")
    print(markdown_table(["", "CPU s"], [*rows, ["beyond bare ones", f"{medians['ours'] - medians['bare']:.2f}"]]))


def _written(folder: Path, name: str, kind: str, attributes: dict[str, object], audits: int) -> Path:
    """A project with a component per audit."""
    project = folder / name
    for number in range(audits):
        place = project / name / "defs" / f"loans_{number}"
        place.mkdir(parents=True)
        component = {"type": kind, "attributes": {"name": f"loans_{number}", **attributes}}
        (place / "defs.yaml").write_text(yaml.safe_dump(component))
    for package in (project / name, project / name / "defs"):
        (package / "__init__.py").touch()
    (project / "pyproject.toml").write_text(_PROJECT.format(name=name))
    return project


def _shape() -> dict[str, list[str]]:
    """The assets of an audit, with those before each."""
    from bdt_core.spec import parse_spec
    from bdt_pipeline import bias_audit_definitions

    spec = parse_spec({"name": "loans", **_AUDIT}, "the benchmark")
    graph = bias_audit_definitions(spec).get_repository_def().asset_graph
    return {
        key.path[-1]: sorted(one.path[-1] for one in graph.get(key).parent_keys) for key in graph.get_all_asset_keys()
    }


def _loaded(project: Path) -> tuple[int, float]:
    """How many assets a project has, and the CPU seconds of the process that loaded it."""
    told = subprocess.run(
        [sys.executable, "-c", _LOAD, str(project)],
        cwd=project, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assets, cpu = told.stdout.split()[-2:]
    return int(assets), float(cpu)
