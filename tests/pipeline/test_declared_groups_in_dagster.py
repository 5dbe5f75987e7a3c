"""Declared groups in Dagster: their asset, and an audit of them alone, without any search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd

from bdt_core.audit import audit
from bdt_core.spec import parse_spec


def test_an_audit_of_declared_groups_alone_runs_as_assets(
    loans_file: Path, instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path
) -> None:
    table = pd.read_csv(loans_file)
    path = tmp_path / "alone.csv"
    table[["sex", "repaid", "approved"]].to_csv(path, index=False)
    spec = parse_spec(
        {
            "name": "loans", "source": {"path": str(path)}, "protected": ["sex"], "characteristics": [],
            "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
            "clustering": None, "worst_groups": None, "slices": None,
            "gate": [{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.5}],
        }
    )  # fmt: skip
    result = run_audit(spec, instance)
    plain = audit(None, spec)
    assert result.output_for_node("loans__declared_outcomes") == plain.declared
    report = result.output_for_node("loans__bias_report")
    assert json.dumps(report, sort_keys=True) == json.dumps(plain.document, sort_keys=True)
    made = {one.asset_key.path[-1] for one in result.get_asset_materialization_events() if one.asset_key}
    assert "declared_outcomes" in made
    assert {"hbac_clusters", "cluster_significance", "feature_differences", "bias_slices"}.isdisjoint(made)
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "declared_outcomes"]))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert plain.declared is not None
    worst = max(plain.declared.harm(one) or 0.0 for one in plain.declared.facet("sex").groups)
    assert metadata["largest harm by sex in points"].value == round(100 * worst, 1)


def test_numbers_of_declared_groups_are_an_asset_with_the_checks_of_their_limits(
    loans_file: Path, instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path
) -> None:
    table = pd.read_csv(loans_file)
    path = tmp_path / "numbers.csv"
    table.assign(asked=table.index % 37 + 0.5, given=table.index % 35)[["sex", "asked", "given"]].to_csv(
        path, index=False
    )
    spec = parse_spec(
        {
            "name": "loans", "source": {"path": str(path)}, "protected": ["sex"],
            "bias_variable": {"derive": "absolute_error", "label": "asked", "prediction": "given"},
            "clustering": None, "worst_groups": None, "slices": None, "groups": {"tolerance": 2},
            "gate": [
                {"metric": "mean_absolute_error_difference", "facet": "sex", "max": 50},
                {"metric": "within_tolerance", "facet": "sex", "min": 1},
            ],
        }
    )  # fmt: skip
    result = run_audit(spec, instance)
    plain = audit(None, spec)
    assert result.output_for_node("loans__numeric_metrics") == plain.numbers
    report = result.output_for_node("loans__bias_report")
    assert json.dumps(report, sort_keys=True) == json.dumps(plain.document, sort_keys=True)
    checks = {one.check_name: one.passed for one in result.get_asset_check_evaluations()}
    assert checks["mean_absolute_error_difference_by_sex"]
    assert not checks["within_tolerance_by_sex"]
    asset = next(one.asset_key for one in result.get_asset_check_evaluations() if "within" in one.check_name)
    assert asset.path == ["loans", "numeric_metrics"]
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "numeric_metrics"]))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    assert plain.numbers is not None
    apart = plain.numbers["sex"].difference()["mean_absolute_error"]
    assert metadata["mean_absolute_error_range by sex"].value == float(f"{apart:.3g}")
