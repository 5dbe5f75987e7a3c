"""Notebooks are stored without what they print; the site runs them, and `test_docs_site.py` reads what they show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "notebooks"
NOTEBOOKS = sorted(one.name for one in FOLDER.glob("*.ipynb"))


def cells(name: str) -> list[dict[str, Any]]:
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return list(notebook["cells"])


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
