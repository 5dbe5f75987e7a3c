"""What the section on the worst-treated groups says of the search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bdt_core.groups.scan.language import random_starts
from bdt_core.report import render_markdown

GOLDENS = Path(__file__).parents[3] / "goldens"


@pytest.mark.parametrize(("columns", "is_said"), [(9, False), (400, True)])
def test_a_search_from_fewer_starts_is_said_to_be_one(columns: int, is_said: bool) -> None:
    document: dict[str, Any] = json.loads((GOLDENS / "compas.json").read_text())
    document["worst_groups"]["searched"]["starts"] = random_starts(columns)
    said = " ".join(render_markdown(document).split())
    sentence = (
        f"from {random_starts(400)} pairs of random conditions, where one of a narrower table starts from "
        f"{random_starts(9)} pairs. A group whose conditions show nothing one by one may have been missed."
    )
    assert (sentence in said) == is_said
    assert ("narrower table" in said) == is_said
