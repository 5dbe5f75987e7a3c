"""Audits of several classes, and of places in lists, as assets: the same as in Python, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg

from bdt_core.audit import audit
from bdt_core.spec import parse_spec
from tests.core.fairness.test_class_outcomes import grades
from tests.core.joined.test_places import searches


def test_classes_are_compared_in_an_asset(instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path) -> None:
    grades(900).to_csv(tmp_path / "grades.csv", index=False)
    spec = parse_spec(
        {
            "name": "grades", "source": {"path": str(tmp_path / "grades.csv")}, "protected": ["sex"],
            "bias_variable": {"derive": "error", "label": "grade", "prediction": "said", "positive": "high"},
            "characteristics": [], "clustering": None, "worst_groups": None, "slices": None, "gate": [],
        }
    )  # fmt: skip
    result, plain = run_audit(spec, instance), audit(None, spec)
    assert plain.class_outcomes is not None
    assert result.output_for_node("grades__class_outcomes") == plain.class_outcomes
    report = result.output_for_node("grades__bias_report")
    assert json.dumps(report, sort_keys=True) == json.dumps(plain.document, sort_keys=True)
    event = instance.get_latest_materialization_event(dg.AssetKey(["grades", "class_outcomes"]))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    differ = sum(bool(one.significant) for one in plain.class_outcomes.facets[0].groups[0].figures)
    assert metadata["classes"].value == 3
    assert metadata["differences of classes"].value == 2 * differ > 0
    assert "high" in str(metadata["recall of classes by sex"].value)


def test_places_in_lists_are_the_same_in_dagster(instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path) -> None:
    searches().to_csv(tmp_path / "lists.csv", index=False)
    spec = parse_spec(
        {
            "name": "lists", "source": {"path": str(tmp_path / "lists.csv")}, "protected": ["sex"],
            "bias_variable": {"derive": "exposure", "prediction": "score", "query": "search"},
            "clustering": None, "worst_groups": {"permutations": 39}, "slices": None,
        }
    )  # fmt: skip
    result, plain = run_audit(spec, instance), audit(None, spec)
    report = result.output_for_node("lists__bias_report")
    assert json.dumps(report, sort_keys=True) == json.dumps(plain.document, sort_keys=True)
