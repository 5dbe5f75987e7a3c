"""Declared groups in Dagster: their assets, their checks, and one verdict whoever asks for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from bdt_core.audit import audit
from bdt_core.fairness import CountTable, count_rows
from bdt_core.spec import AuditSpec, MetricLimit
from bdt_core.verdict import judge_metric
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.cli import app
from tests.pipeline.conftest import loans_spec, run

Audited = tuple[AuditSpec, dg.ExecuteInProcessResult, dg.DagsterInstance]

DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}
# One limit of each kind that the loans pass, fail, leave open and cannot be tested on.
GATE = [
    {"metric": "accuracy", "facet": "sex", "min": 0.5},
    {"metric": "accuracy_equality_difference", "facet": "region", "max": 0.05},
    {"metric": "disparate_impact", "facet": "sex", "min": 0.97, "inconclusive": "block"},
    {"metric": "auc", "facet": "sex", "min": 0.5},
    {"metric": "bias_score", "facet": ["sex", "region"], "max": 0.9},
]
VERDICTS = ["pass", "fail", "inconclusive", "not_testable", "pass"]


@pytest.fixture
def spec(loans_file: Path, make_spec: Callable[..., AuditSpec]) -> AuditSpec:
    """Loans with a bias variable that is made from label and prediction."""
    return make_spec(loans_file, bias_variable=DERIVED, favourable="positive", gate=GATE)


@pytest.fixture(scope="module")
def audited(loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    """The same, audited once."""
    folder = tmp_path_factory.mktemp("groups")
    loans.to_csv(folder / "loans.csv", index=False)
    spec = loans_spec(folder / "loans.csv", bias_variable=DERIVED, favourable="positive", gate=GATE)
    with dg.DagsterInstance.ephemeral(str(folder / "home"), settings={"telemetry": {"enabled": False}}) as instance:
        yield spec, run(spec, instance), instance


def checks_of(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetCheckEvaluation]:
    return {one.check_name: one for one in result.get_asset_check_evaluations()}


def test_rules_of_selection_stand_on_the_screen_and_in_dagster(
    spec: AuditSpec, instance: dg.DagsterInstance, run_audit: Any, tmp_path: Path
) -> None:
    gate = [{"check": "four_fifths"}, {"check": "four_fifths", "facet": "sex"}]
    groups = {"facets": ["sex", "region"], "report": ["ll144", "four_fifths"]}
    ruled = AuditSpec.model_validate(spec.to_dict() | {"gate": gate, "groups": groups})
    file = tmp_path / "loans.yaml"
    file.write_text(yaml.safe_dump(ruled.to_dict()))
    folder = tmp_path / "out"
    printed = CliRunner().invoke(app, ["audit", str(file), "--out", str(folder)], env={"COLUMNS": "200"})
    assert printed.exit_code == 0
    assert "- Local Law 144, selection rate by sex & region: lowest impact ratio " in printed.output
    report = json.loads((folder / "report.json").read_text())
    limits = report["gate"]

    result = run_audit(ruled, instance)
    assert result.output_for_node("loans__bias_report")["gate"] == limits
    assert result.output_for_node("loans__selection_rules").to_dict() == report["selection_rules"]
    checks = checks_of(result)
    for name, limit in zip(("four_fifths", "four_fifths_by_sex"), limits, strict=True):
        found = checks[name].metadata
        assert checks[name].description == limit["sentence"]
        assert (found["verdict"].value, found["value"].value) == (limit["verdict"], float(f"{limit['value']:.3g}"))
        assert (found["group"].value, found["reference"].value) == (limit["group"], limit["reference"])
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "selection_rules"]))
    assert event is not None
    assert event.asset_materialization is not None
    metadata = event.asset_materialization.metadata
    table = next(one for one in report["selection_rules"]["ll144"] if one["columns"] == ["sex"])
    ratios = [one["impact_ratio"] for one in table["categories"]]
    assert metadata["lowest impact ratio (selection rate by sex)"].value == float(f"{min(ratios):.3g}")
    assert "| sex | people | selected | rate |" in str(metadata["four-fifths rule by sex"].value)
    assert f"| {table['categories'][0]['n']} |" in str(metadata["Local Law 144, selection rate by sex"].value)


def test_python_command_line_check_and_report_give_one_verdict(audited: Audited, tmp_path: Path) -> None:
    spec, result, _ = audited
    plain = audit(None, spec)
    assert plain.group_metrics is not None
    limits = [one for one in spec.gate if isinstance(one, MetricLimit)]
    by_python = [judge_metric(one, plain.group_metrics, plain.group_scores) for one in limits]
    assert [one.verdict for one in by_python] == VERDICTS

    file = tmp_path / "loans.yaml"
    file.write_text(yaml.safe_dump(spec.to_dict()))
    by_command = CliRunner().invoke(app, ["gate", str(file)])
    assert by_command.exit_code == 1
    assert by_python[1].sentence in by_command.output.replace("\n", " ")
    folder = tmp_path / "out"
    assert CliRunner().invoke(app, ["audit", str(file), "--out", str(folder)]).exit_code == 0
    report = json.loads((folder / "report.json").read_text())
    assert report["gate"] == [one.to_dict() for one in by_python]

    assert result.output_for_node("loans__bias_report")["gate"] == report["gate"]
    checks = checks_of(result)
    assert checks["bias_gate"].description == report["verdict"]["sentence"] == plain.document["verdict"]["sentence"]
    names = [
        "accuracy_by_sex",
        "accuracy_equality_difference_by_region",
        "disparate_impact_by_sex",
        "auc_by_sex",
        "bias_score_by_sex_and_region",
    ]
    assert [checks[name].metadata["verdict"].value for name in names] == VERDICTS
    assert [checks[name].description for name in names] == [one.sentence for one in by_python]
    assert [checks[name].passed for name in names] == [one == "pass" for one in VERDICTS]
    assert checks[names[1]].severity is dg.AssetCheckSeverity.ERROR
    assert checks[names[2]].severity is dg.AssetCheckSeverity.WARN
    assert checks[names[1]].metadata["severity"].value in ("low", "medium", "high", "critical")
    assert not any(checks[name].blocking for name in names)


def test_a_metric_check_stops_nothing_but_the_gate_does(audited: Audited) -> None:
    _, result, instance = audited
    assert not result.success
    assert instance.get_latest_materialization_event(dg.AssetKey(["loans", "bias_report"])) is not None
    assert checks_of(result)["bias_gate"].severity is dg.AssetCheckSeverity.ERROR


def test_counts_are_those_of_the_file(audited: Audited, loans: pd.DataFrame) -> None:
    counts = audited[1].output_for_node("loans__group_counts")
    expected = count_rows(loans, ["sex", "region"], label="repaid", prediction="approved")
    assert counts.tables[-1] == expected
    assert CountTable.from_dict(json.loads(json.dumps(expected.to_dict()))) == expected


def test_the_launchpad_declares_other_groups(spec: AuditSpec, instance: dg.DagsterInstance, run_audit: Any) -> None:
    gate = [{"metric": "accuracy", "facet": "region", "min": 0.1}]
    config = {"groups": {"facets": ["region"]}, "gate": gate, "require": "majority"}
    result = run_audit(spec, instance, config)
    report = result.output_for_node("loans__bias_report")
    assert report["groups"]["facets"][0]["facet"] == "region"
    assert report["spec"]["groups"]["facets"] == ["region"]
    assert report["verdict"]["verdict"] == "pass"
    assert report["spec"]["require"] == "majority"
    shown = checks_of(result)["bias_gate"].metadata
    assert (shown["minimum"].value, "maximum" in shown) == (0.1, False)
    assert shown["minimum"].value < shown["low"].value < shown["value"].value < shown["high"].value


def test_a_limit_on_groups_that_were_not_counted_is_named(audited: Audited, run_audit: Any) -> None:
    """The report alone is made anew, with a limit on groups that the run before it did not count."""
    spec, _, instance = audited
    config = {"gate": [{"metric": "accuracy", "facet": "person_id", "min": 0.1}]}
    result = run_audit(spec, instance, config, only=["bias_report"])
    failures = [one for one in result.all_events if one.is_step_failure]
    assert any("groups.facets" in str(one.step_failure_data.error_display_string) for one in failures)


def test_without_declared_groups_there_are_no_group_assets(
    loans_file: Path, make_spec: Callable[..., AuditSpec]
) -> None:
    def assets(spec: AuditSpec) -> set[str]:
        return {one.key.path[-1] for one in bias_audit_definitions(spec).resolve_all_asset_specs()}

    of_groups = {"group_counts", "group_metrics", "bias_score"}
    assert not of_groups & assets(make_spec(loans_file))  # a plain column: nothing to compare groups by
    assert of_groups <= assets(make_spec(loans_file, bias_variable=DERIVED))
    assert not of_groups & assets(make_spec(loans_file, bias_variable=DERIVED, groups={"facets": []}))


def test_small_groups_have_no_rates_in_the_metadata(
    loans: pd.DataFrame,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
    run_audit: Any,
    tmp_path: Path,
) -> None:
    loans.assign(sex=["x"] * 20 + list(loans["sex"][20:])).to_csv(tmp_path / "loans.csv", index=False)
    only = ["raw_data", "validated_data", "group_counts", "group_metrics"]
    run_audit(make_spec(tmp_path / "loans.csv", bias_variable=DERIVED), instance, only=only)
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "group_metrics"]))
    assert event is not None
    assert event.asset_materialization is not None
    (line,) = [
        one
        for one in str(event.asset_materialization.metadata["rates by sex"].value).splitlines()
        if one.startswith("| x ")
    ]
    assert [cell.strip() for cell in line.strip("|").split("|")][2:] == ["–"] * 5
