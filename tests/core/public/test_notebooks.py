"""The notebooks run from the first cell to the last, and are stored without what they print."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parents[3] / "notebooks"
NOTEBOOKS = sorted(one.name for one in FOLDER.glob("*.ipynb"))


def cells(name: str) -> list[dict[str, Any]]:
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return list(notebook["cells"])


def run(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does: the value of its last line is shown, unless a semicolon ends it."""
    tree = ast.parse(source)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None if source.rstrip().endswith(";") else value


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> list[str]:
    """What each code cell of a notebook prints and shows; pictures are drawn."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for cell in cells(request.param):
        if cell["cell_type"] != "code":
            continue
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            value = run("".join(cell["source"]), names)
            if value is not None:
                page = getattr(value, "_repr_html_", lambda: "")()
                assert "Traceback" not in (page or "")
                print(repr(value))
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
        plt.close("all")
        printed.append(told.getvalue())
    return printed


def test_there_are_three() -> None:
    assert NOTEBOOKS == ["declared_groups.ipynb", "first_audit.ipynb", "monitoring.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_they_hold_no_output(name: str) -> None:
    for cell in cells(name):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
        assert cell["metadata"] == {}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_text_has_no_results_of_a_run(name: str) -> None:
    """Numbers that a run gives would not follow it: text between the cells has none with a decimal point."""
    for cell in cells(name):
        if cell["cell_type"] == "markdown":
            assert not re.search(r"\d\.\d", "".join(cell["source"]))


@pytest.mark.parametrize("shown", ["first_audit.ipynb"], indirect=True)
def test_a_first_audit(shown: list[str]) -> None:
    whole = "\n".join(shown)
    assert "AuditResult('audit'): fail." in whole
    assert "age up to 29" in whole
    assert "-> cluster 0" in whole
    assert "['report.html', 'report.json', 'report.md', 'report.pdf']" in whole


@pytest.mark.parametrize("shown", ["declared_groups.ipynb"], indirect=True)
def test_declared_groups_and_legitimate_factors(shown: list[str]) -> None:
    whole = "\n".join(shown)
    assert re.search(
        r"race is African-American: 2\d\.\d points worse, of which 1\d\.\d remain among people alike", whole
    )
    assert "Equalized odds difference by race is" in whole


@pytest.mark.parametrize("shown", ["monitoring.ipynb"], indirect=True)
def test_monitoring(shown: list[str]) -> None:
    whole = "\n".join(shown)
    false, always = re.findall(r"(\d+) of \d+ weekly tests, (\d+) of \d+ always-valid", whole)[0]
    assert int(false) > 0
    assert int(always) == 0
    week = re.findall(r"found: f \(begins week 9, known after week (\d+)\)", whole)
    assert week
    assert 9 <= int(week[0]) <= 20
    assert "From refused to new" in whole
