"""The gate in CI and the terminal, to Dutch readers: every sentence, and no column and no level of the table."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.report.annotations import Place, github_annotations, gitlab_code_quality
from bdt_core.report.catalogue import say_in
from bdt_core.report.comment import render_comment
from bdt_core.report.gate_result import build_gate_result
from bdt_core.report.junit import render_junit
from bdt_core.report.printed import printed
from bdt_core.report.selection_rules import rule_lines
from bdt_core.report.write import canonical_json
from tests.core.joined.made_tables import QUICK

SPEC: dict[str, Any] = {
    **QUICK,
    "name": "leningen",
    "language": "nl",
    "bias_variable": {"derive": "positive_prediction", "prediction": "mean"},
    "favourable": "positive",
    "protected": ["kind"],
    "features": {"include": ["age"]},
    "groups": {"report": ["ll144", "four_fifths"]},
    "gate": [{"metric": "disparate_impact", "facet": "kind", "min": 0.9}],
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """A report of columns and levels that are words of ours, or numbers; as it is read back from its file."""
    rng = np.random.default_rng(3)
    kind = rng.choice(["none", "1.10"], 2000)
    chosen = (rng.random(2000) < np.where(kind == "none", 0.6, 0.3)).astype(int)
    frame = pd.DataFrame({"kind": kind, "age": rng.integers(20, 80, 2000), "mean": chosen})
    return json.loads(canonical_json(audit(frame, SPEC).document))  # type: ignore[no-any-return]


def test_the_gate_is_dutch_and_names_stay(document: dict[str, Any]) -> None:
    result, say = build_gate_result(document, 1), say_in(printed(document))
    sentence = "Ongelijke uitwerking naar kind (groep gedeeld door alle anderen; gunstig: mean is positief) is 0,"
    places = [Place("audit.yaml", 1)]
    assert f'message="Voldoet niet: disparate_impact naar kind">{sentence}' in render_junit(result, say)
    assert f"Voldoet niet: disparate_impact naar kind. {sentence}" in gitlab_code_quality(result, places, say)
    assert f"disparate_impact naar kind::{sentence}" in github_annotations(result, places, say)
    assert f"**{sentence}" in render_comment(document, result).replace("\\", "")
    assert " voor 1.10; vereist is minstens 0,9, en het hele interval ligt erbuiten." in say(result["sentence"])


def test_nothing_in_a_name_is_a_command_in_any_language(document: dict[str, Any]) -> None:
    told = json.loads(json.dumps(document).replace("1.10", "\\n::error::x"))
    result, say = build_gate_result(told, 1), say_in(printed(told))
    assert " : :error::x; vereist is minstens 0,9" in say(result["sentence"])


def test_rules_of_selection_are_dutch_and_names_stay(document: dict[str, Any]) -> None:
    say = say_in(printed(document))
    first, second = map(say, rule_lines(document))
    assert first.startswith("Local Law 144, aandeel geselecteerd naar kind: laagste verhouding 0,")
    assert ", 1.10 (" in first
    assert second.startswith("Vier-vijfderegel naar kind: onder 4/5 van none: 1.10 0,")
    assert second.endswith(" (p < 0,001)")
