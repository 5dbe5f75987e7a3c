"""What is heavy is imported by the stage or check that needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("great_expectations", "matplotlib", "sklearn", "numba", "kmodes", "typst", "pandas", "pyarrow")


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; exec({statement!r}); print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(out.splitlines()[-1].split())


EACH_RESULT = """
from importlib import import_module
from bdt_core.stages import STAGES
for stage in STAGES: import_module(stage.kind.partition(":")[0])
import bdt_core.history, bdt_core.report.document, bdt_core.verdict
"""


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("from bdt_pipeline.definitions import defs; defs()", (*HEAVY, "alembic")),
        ("import bdt_pipeline", (*HEAVY, "dagster")),
        ("import bdt_pipeline.cli", (*HEAVY, "dagster", "rich.progress", "yaml")),
        (EACH_RESULT, ("sklearn", "numba", "scipy.stats", "matplotlib")),  # each step of a run reads some
    ],
)
def test_loading_does_not_import(statement: str, unwanted: tuple[str, ...]) -> None:
    assert loaded_by(statement) & set(unwanted) == set()


def test_the_plain_audit_needs_no_dagster() -> None:
    modules = loaded_by("import bdt_pipeline.commands.run_audit")
    assert modules & {"dagster", "great_expectations", "matplotlib"} == set()


ASKED = """
import sys
from bdt_pipeline.cli import app

for command in sys.argv[1:]:
    try:
        app(command.split())
    except SystemExit as end:
        print(end.code)
print(*sys.modules)
"""


def test_a_table_that_is_not_there_is_told_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("y,x\n")
    spec = "name: t\nbias_variable: {column: y}\nsource:\n  path: "
    (tmp_path / "none.yaml").write_text(f"{spec}none.csv\n")
    (tmp_path / "late.yaml").write_text(f"{spec}people.csv\n  join: {{path: none.csv, key: x}}\n")
    (tmp_path / "people.yaml").write_text(f"{spec}people.csv\n")
    told = {
        "gate nothing.yaml": "nothing.yaml does not exist",
        "gate none.yaml": "source.path: none.csv does not exist",
        "gate late.yaml": "source.join.path: none.csv does not exist",
        "gate people.yaml --data none.csv": "--data: none.csv does not exist",
        "audit none.yaml": "source.path: none.csv does not exist",
        "audit none.csv": "Error: none.csv does not exist",
        "audit none.csv --bias-variable y": "Error: none.csv does not exist",
        "init days/*.csv": "Error: No file fits the pattern days/*.csv",
        "compare people.yaml none.yaml": "source.path: none.csv does not exist",
        "compare people.yaml --data-b none.csv": "--data-b: none.csv does not exist",
    }
    done = subprocess.run(
        [sys.executable, "-c", ASKED, *told], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    *codes, modules = done.stdout.splitlines()
    assert codes == ["2"] * len(told)
    said = done.stderr.splitlines()
    assert [one for one, other in zip(said, told.values(), strict=True) if other not in one] == []
    assert set(modules.split()) & {*HEAVY, "numpy", "scipy", "dagster"} == set()
