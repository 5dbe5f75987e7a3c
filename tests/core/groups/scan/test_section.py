"""What the section on the worst-treated groups says of the search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core import audit
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


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ("Town is a (", "The spread differs; no difference of the mean is seen.", "this is no finding")),
        ("nl", ("Town is a (", "een verschil van het gemiddelde is niet te zien.", "dit is geen bevinding")),
    ],
)
def test_a_spread_that_differs_is_said_and_is_no_finding(language: str, sentences: tuple[str, ...]) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice(["a", "b", "c"], 900), "age": rng.integers(18, 80, 900)})
    frame["amount"] = rng.normal(100, np.where(frame["town"] == "a", 30, 10))
    spec = {
        "name": "amounts",
        "bias_variable": {"column": "amount", "better": "higher"},
        "language": language,
        "slices": None,
        "clustering": None,
        "gate": [{"check": "worst_group", "max_difference": 20.0}],
    }
    result = audit(frame, spec)
    said = " ".join(render_markdown(result.document).split())
    assert [one in said for one in sentences] == [True] * len(sentences)
    assert result.worst_groups.spread is not None
    assert result.worst_groups.groups == ()
    assert len(result.findings) == 0
    assert result.verdict != "fail"
