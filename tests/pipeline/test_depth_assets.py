"""Intersections, local bias and mitigation in Dagster: the plain method's results, checks that stop nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.audit import audit
from bdt_core.errors import DataError, SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from tests.pipeline.conftest import SEARCHES

DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}
OF_SLICES = ("bias_slices", "findings", "bias_report")
Make = Callable[..., AuditSpec]


@pytest.fixture
def scored(loans: pd.DataFrame, tmp_path: Path) -> Path:
    """Loans with a score that is fairer to men."""
    rng = np.random.default_rng(1)
    score = loans["repaid"] + rng.normal(0, 1, len(loans)) + 0.7 * (loans["sex"] == "m")
    loans.assign(score=score, approved=(score > 0.8).astype(int)).to_csv(tmp_path / "scored.csv", index=False)
    return tmp_path / "scored.csv"


def everything(scored: Path, make_spec: Make, **changes: Any) -> AuditSpec:
    return make_spec(
        scored,
        bias_variable=DERIVED,
        local_bias={"group": "sex", "n_clusters": 3},
        mitigation={"group": "sex", "score": "score", "constraint": "demographic_parity", "tolerance": 0.05},
        gate=[{"metric": "demographic_parity_difference", "facet": "sex", "max": 0.05}],
        **{**SEARCHES, **changes},
    )


def test_the_assets_hold_what_the_plain_method_finds(
    scored: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    spec = everything(scored, make_spec)
    result = run_audit(spec, instance)
    plain = audit(None, spec)
    assert result.output_for_node("loans__worst_groups") == plain.worst_groups
    assert result.output_for_node("loans__findings").to_dict() == plain.ranked.to_dict()
    assert result.output_for_node("loans__pooled_groups") == plain.pooled_groups
    assert result.output_for_node("loans__declared_outcomes") == plain.declared
    assert result.output_for_node("loans__profiling_characteristics") == plain.characteristics
    assert result.output_for_node("loans__bias_slices") == plain.slices
    assert result.output_for_node("loans__local_bias") == plain.local_bias
    assert result.output_for_node("loans__mitigation") == plain.mitigation
    report = result.output_for_node("loans__bias_report")
    assert json.dumps(report, sort_keys=True) == json.dumps(plain.document, sort_keys=True)
    told = report["mitigation"]["recommendations"]
    assert told[0]["check"] == "demographic_parity_difference by sex"
    assert told[0]["measured"]
    for asset in (
        "worst_groups",
        "findings",
        "declared_outcomes",
        "pooled_groups",
        "bias_slices",
        "local_bias",
        "mitigation",
    ):
        event = instance.get_latest_materialization_event(dg.AssetKey(["loans", asset]))
        assert event is not None
        assert event.asset_materialization is not None
        assert len(event.asset_materialization.metadata) > 2


def test_a_limit_on_the_worst_group_is_judged_where_it_is_and_stops_at_the_gate(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    spec = make_spec(loans_file, gate=[{"check": "worst_group", "max_difference": 0.02}], **SEARCHES)
    result = run_audit(spec, instance)
    check, gate = checks_of(result, "worst_group", "bias_gate")
    assert check.asset_key == dg.AssetKey(["loans", "findings"])  # of which each can break it
    assert (check.passed, check.severity, check.blocking) == (False, dg.AssetCheckSeverity.ERROR, False)
    assert (gate.passed, gate.severity, gate.blocking) == (False, dg.AssetCheckSeverity.ERROR, True)
    assert check.description == gate.description
    worst = result.output_for_node("loans__worst_groups").worst
    assert check.metadata["group"].value == worst.words
    assert "age" in worst.words
    event = instance.get_latest_materialization_event(dg.AssetKey(["loans", "findings"]))
    assert event is not None
    assert event.asset_materialization is not None
    first = result.output_for_node("loans__findings").first
    assert event.asset_materialization.metadata["who"].value == first.who
    assert result.output_for_node("loans__bias_report")["summary"]["headline"].lower().startswith(first.who.lower())


@pytest.mark.usefixtures("up_to_report")
@pytest.mark.parametrize("changes", [
    {"gate": [{"check": "worst_slice", "max_difference": 0.02}], "slices": {}},
    {"gate": [], "slices": {"max_difference": 0.02}},
])  # fmt: skip
def test_a_limit_on_intersections_is_judged_where_it_is_and_stops_at_the_gate(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any, changes: dict[str, Any]
) -> None:
    """The young in the north and south are harmed by 40 points."""
    result = run_audit(make_spec(loans_file, **changes), instance, only=OF_SLICES)
    check, gate = checks_of(result, "worst_slice", "bias_gate")
    assert (check.passed, check.severity, check.blocking) == (False, dg.AssetCheckSeverity.ERROR, False)
    assert (gate.passed, gate.severity, gate.blocking) == (False, dg.AssetCheckSeverity.ERROR, True)
    assert "age" in str(check.description)
    assert check.description == gate.description
    assert check.metadata["severity"].value in ("low", "medium", "high", "critical")
    assert check.metadata["slice"].value == result.output_for_node("loans__bias_report")["gate"][0]["slice"]


@pytest.mark.usefixtures("up_to_report")
def test_a_limit_on_intersections_that_holds_passes(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    spec = make_spec(loans_file, gate=[], slices={"max_difference": 0.9, "max_conditions": 1})
    for check in checks_of(run_audit(spec, instance, only=OF_SLICES), "worst_slice", "bias_gate"):
        assert check.passed


@pytest.mark.usefixtures("up_to_report")
def test_without_a_limit_of_the_gate_the_default_is_told_and_stops_nothing(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    check, gate = checks_of(
        run_audit(make_spec(loans_file, gate=[], slices={}), instance, only=OF_SLICES), "worst_slice", "bias_gate"
    )
    assert (check.passed, check.metadata["limit in points"].value, gate.passed) == (False, 5.0, True)


@pytest.mark.parametrize("key", ["gate", "local_bias"])
def test_a_limit_on_local_bias_is_judged_where_it_is_and_stops_at_the_gate(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any, key: str
) -> None:
    """Right about every man, wrong about many women."""
    frame = pd.read_csv(loans_file)
    frame.loc[frame["sex"] == "m", "approved"] = frame["repaid"]
    frame.to_csv(loans_file, index=False)
    places = {"group": "sex", "n_clusters": 2}
    limit = {"gate": [{"check": "local_bias", "max_gap": 0.02}], "local_bias": places}
    own = {"gate": [], "local_bias": {**places, "max_gap": 0.02}}
    spec = make_spec(loans_file, bias_variable=DERIVED, **(limit if key == "gate" else own))
    check, gate = checks_of(run_audit(spec, instance), "local_gaps", "bias_gate")
    assert (check.passed, check.severity, check.blocking) == (False, dg.AssetCheckSeverity.ERROR, False)
    assert (gate.passed, gate.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert check.description == gate.description
    assert check.metadata["higher"].value == "m"


def test_areas_under_the_curve_and_words_reach_check_gate_and_asset(
    scored: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    """A score that knows men and guesses at women; who lives in the north or south writes of it."""
    frame, rng = pd.read_csv(scored), np.random.default_rng(2)
    sure = np.where(frame["sex"] == "m", 4.0, 0.0)
    frame["score"] = rng.normal(size=len(frame)) + sure * frame["repaid"]
    frame["comment"] = "mail of " + frame["region"]
    frame.to_csv(scored, index=False)
    wanted = {"group": "sex", "n_clusters": 2, "metric": "auc", "max_gap": 0.06, "texts": "comment"}
    groups = {"facets": [], "score": "score"}
    spec = make_spec(
        scored,
        bias_variable=DERIVED,
        gate=[],
        groups=groups,
        local_bias={**wanted, "describe_by": ["income", "age"]},
    )
    result = run_audit(spec, instance)
    check, gate = checks_of(result, "local_gaps", "bias_gate")
    assert not check.passed
    assert not gate.passed
    assert check.description == gate.description
    assert "AUC of m is higher than that of f by 0." in str(check.description)
    declared = [one for checks in bias_audit_definitions(spec).asset_checks or () for one in checks.check_specs]
    (told,) = (one for one in declared if one.name == "local_gaps")
    assert "larger than 0.06 on the test rows" in str(told.description)
    places, report = (
        instance.get_latest_materialization_event(dg.AssetKey(["loans", one])) for one in ("local_bias", "bias_report")
    )
    assert report is not None
    assert report.asset_materialization is not None
    limits = str(report.asset_materialization.metadata["limits"].value)
    # Five columns, of which the last one is a sentence: the interval stands beside what was found.
    assert re.search(r"\| local_bias \| fail \| 0\.06 \| \+0\.\d+ \\\[[+−]\d[\d.]* to [+−]\d[\d.]*\] \| [A-Z]", limits)
    assert places is not None
    assert places.asset_materialization is not None
    metadata = places.asset_materialization.metadata
    assert metadata["compared"].value == "auc by sex"
    about = [line.split(" | ")[1] for line in str(metadata["clusters"].value).splitlines()[2:]]
    assert any("north" in one and " lower" in one for one in about), about
    assert "mail" not in str(about)  # every row says it


@pytest.mark.usefixtures("up_to_report")
def test_what_the_launchpad_says_of_a_limit_holds_for_check_and_gate(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    spec = make_spec(loans_file, gate=[], slices={"max_difference": 0.02, "max_conditions": 1})
    lenient = run_audit(spec, instance, {"slices": {"max_difference": 0.9}}, only=OF_SLICES)
    assert [one.passed for one in checks_of(lenient, "worst_slice", "bias_gate")] == [True, True]


def checks_of(result: Any, *names: str) -> list[dg.AssetCheckEvaluation]:
    found = {one.check_name: one for one in result.get_asset_check_evaluations()}
    return [found[name] for name in names]


def test_what_is_carried_along_does_not_change_the_search(scored: Path, make_spec: Make) -> None:
    with_more = audit(None, everything(scored, make_spec)).document
    without = audit(None, make_spec(scored, bias_variable=DERIVED)).document
    assert with_more["clusters"] == without["clusters"]
    assert with_more["data"]["fingerprint"] == without["data"]["fingerprint"]


def test_the_order_of_rows_does_not_matter_with_carried_columns(scored: Path, make_spec: Make, tmp_path: Path) -> None:
    spec = everything(scored, make_spec)
    frame = pd.read_csv(scored)
    other = audit(frame.sample(frac=1, random_state=3), spec).document
    assert json.dumps(other, sort_keys=True) == json.dumps(audit(frame, spec).document, sort_keys=True)


def test_a_column_that_is_not_there_is_named(scored: Path, make_spec: Make) -> None:
    spec = make_spec(scored, bias_variable=DERIVED, mitigation={"group": "sex", "score": "scor"})
    with pytest.raises(DataError, match='no column "scor".*Did you mean "score"'):
        audit(None, spec)


def test_mitigation_without_an_outcome_is_refused(make_spec: Make) -> None:
    with pytest.raises(SpecError, match='"mitigation" needs a label and a prediction'):
        make_spec("loans.csv", mitigation={"group": "sex", "score": "score"})


def test_without_a_limit_that_of_clusters_holds_for_numbers_too(
    loans: pd.DataFrame, tmp_path: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    """A bias variable in thousands: a fifth of its standard deviation, and not 0.05."""
    spread = np.random.default_rng(0).normal(size=len(loans))
    loans.assign(error=1000.0 * (loans["error"] + spread)).to_csv(tmp_path / "costs.csv", index=False)
    spec = make_spec(tmp_path / "costs.csv", gate=[], slices={})
    result = run_audit(spec, instance)
    (check,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "worst_slice"]
    y = audit(None, spec).test.y
    assert check.metadata["limit"].value == float(f"{0.2 * y.std():.3g}")


@pytest.mark.usefixtures("up_to_report")
def test_a_section_set_to_nothing_in_the_launchpad_breaks_no_check(
    loans_file: Path, make_spec: Make, instance: dg.DagsterInstance, run_audit: Any
) -> None:
    result = run_audit(make_spec(loans_file, gate=[], slices={}), instance, {"slices": None}, only=OF_SLICES)
    assert result.success
    assert {"worst_slice", "bias_gate"} <= {one.check_name for one in result.get_asset_check_evaluations()}
