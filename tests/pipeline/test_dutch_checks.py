"""What checks ask and find, to Dutch readers: every sentence, and no column and no level of the table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from bdt_core.report.catalogue import say_for
from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline.checks.limits import _description
from bdt_pipeline.checks.rules import raw_rules, with_marks

SPEC: dict[str, Any] = {
    "name": "leningen",
    "language": "nl",
    "source": {"path": "leningen.csv"},
    "bias_variable": {"column": "mean"},
    "protected": ["kind"],
    "favourable": "positive",
    "groups": {"prediction": "none"},
    "features": {"include": ["1.10"]},
}
QUESTIONS = [
    (
        {"metric": "accuracy_difference", "facet": ["kind", "1.10"], "min": -0.1, "max": 0.25},
        "Is accuracy_difference naar kind & 1.10 minstens -0,1 en hoogstens 0,25?",
    ),
    (
        {"check": "four_fifths", "facet": "kind"},
        "Wordt geen groep naar kind minder dan 4/5 keer zo vaak geselecteerd als die met het hoogste aandeel?",
    ),
    (
        {"check": "worst_group", "min_share": 0.1, "max_difference": 0.05},
        "Is wat mean betreft geen groep die voorwaarden beschrijven van minstens 10,0 % van de mensen meer dan 0,05 "
        "slechter af dan alle anderen?",
    ),
    (
        {"check": "local_bias"},
        "Is op de testrijen geen kloof tussen twee groepen binnen een cluster groter dan 5,0 procentpunt?",
    ),
]


def spec_with(**changes: Any) -> AuditSpec:
    return parse_spec({**SPEC, **changes})


@pytest.mark.parametrize(("limit", "question"), QUESTIONS)
def test_a_check_asks_in_dutch(limit: dict[str, Any], question: str) -> None:
    searches = {"slices": {}, "local_bias": {"group": "kind"}} if limit.get("check") == "local_bias" else {}
    spec = spec_with(gate=[limit], groups={"prediction": "none", "label": "stable"}, **searches)
    asked = _description(spec.limits[0], spec)
    assert say_for(spec)(asked) == f"{question} Meldt alleen; de poort op bias_report houdt tegen."


def test_what_is_wrong_with_a_table_is_told_in_dutch() -> None:
    spec = spec_with()
    frame = pd.DataFrame({"mean": [1.0, None] * 20, "none": [0, 1] * 20, "kind": "stable", "1.10": [1.5, 2.5] * 20})
    rules = list(raw_rules(with_marks(frame, spec), spec))
    say = say_for(spec)
    told = [tuple(say(text) for text in (one.subject, one.observed, one.expected)) for one in rules]
    assert ("1.10", "2 waarden", "minstens 2") in told
    assert ("mean", "20 ontbreken van 40", "hoogstens 5%") in told
    assert ("rijen", "40", "minstens 300") in told
    assert ("herhaalde rijen", "38 van 40", "hoogstens 20%") in told
    assert {("kind", "aanwezig", "aanwezig"), ("mean", "aanwezig", "aanwezig")} <= set(told)
