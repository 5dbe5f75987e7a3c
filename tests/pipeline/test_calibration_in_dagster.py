"""Whether a score is right for everybody, in Dagster: its asset, its check, and the same report as without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg

from bdt_core.audit import audit
from bdt_core.spec import parse_spec
from tests.core.calibration.test_calibration import SPEC, drawn


def test_a_run_says_what_an_audit_does(instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path) -> None:
    path = tmp_path / "scored.csv"
    drawn(1_500).to_csv(path, index=False)
    limit = {"check": "worst_group", "of": "calibration", "max_difference": 0.05}
    spec = parse_spec(SPEC | {"source": {"path": str(path)}, "gate": [limit]})
    result = run_audit(spec, instance)
    plain = audit(None, spec)
    assert result.output_for_node("loans__calibration") == plain.calibration
    report = result.output_for_node("loans__bias_report")
    assert json.dumps(report, sort_keys=True) == json.dumps(plain.document, sort_keys=True)
    (check,) = (
        one for one in result.get_asset_check_evaluations() if one.check_name == "calibration_of_worst_group"
    )  # fmt: skip
    assert check.passed is False
    assert check.description is not None
    assert "the score is too low" in check.description
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "calibration"]))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert metadata["groups that it is off for"].value == 1
    assert plain.calibration is not None
    assert plain.calibration.everybody is not None
    assert metadata["off for everybody in points"].value == round(100 * plain.calibration.everybody.gap, 1)
