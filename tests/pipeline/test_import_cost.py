"""What is heavy is imported by the stage or check that needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("great_expectations", "matplotlib", "sklearn", "numba", "kmodes", "typst", "pandas", "pyarrow")


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(out.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("from bdt_pipeline.definitions import defs; defs()", HEAVY),
        ("import bdt_pipeline", (*HEAVY, "dagster")),
        ("import bdt_pipeline.cli", (*HEAVY, "dagster", "rich.progress", "yaml")),
    ],
)
def test_loading_does_not_import(statement: str, unwanted: tuple[str, ...]) -> None:
    assert loaded_by(statement) & set(unwanted) == set()


def test_the_plain_audit_needs_no_dagster() -> None:
    modules = loaded_by("import bdt_pipeline.commands.run_audit")
    assert modules & {"dagster", "great_expectations", "matplotlib"} == set()
