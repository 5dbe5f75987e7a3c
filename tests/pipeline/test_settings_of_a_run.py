"""The settings of a run stand once, and a report is made with one set of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml
from dagster._core.snap.config_types import build_config_schema_snapshot
from dagster._core.snap.snap_to_yaml import default_values_yaml_from_type_snap

from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions
from bdt_pipeline.resources.settings import keys_of_run
from tests.pipeline.conftest import SEARCHES

Make = Callable[..., AuditSpec]
TABLES = ("raw_data", "validated_data", "train_data", "test_data")
DERIVED = {"derive": "error", "label": "repaid", "prediction": "approved"}


@pytest.fixture
def spec(loans_file: Path, make_spec: Make) -> AuditSpec:
    return make_spec(loans_file, bias_variable=DERIVED, local_bias={"group": "sex", "n_clusters": 2})


@pytest.fixture
def whole(spec: AuditSpec) -> AuditSpec:
    """With all searches."""
    return AuditSpec.model_validate(spec.to_dict() | SEARCHES)


def form_of(spec: AuditSpec) -> dict[str, Any]:
    """What the launchpad shows before anybody types."""
    job = bias_audit_definitions(spec).resolve_job_def(f"{spec.name}_audit")
    key = job.run_config_schema.run_config_schema_type.key
    schema = build_config_schema_snapshot(job)
    return dict(yaml.safe_load(default_values_yaml_from_type_snap(schema, schema.get_config_snap(key))))


def said(part: Any) -> Any:
    """Without keys that are empty, which the form leaves out."""
    if isinstance(part, dict):
        return {key: said(one) for key, one in part.items() if one is not None}
    return [said(one) for one in part] if isinstance(part, list) else part


def launch(spec: AuditSpec, instance: dg.DagsterInstance, run_config: dict[str, Any], *only: str) -> Any:
    job = bias_audit_definitions(spec).resolve_job_def(f"{spec.name}_audit")
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    selection = [dg.AssetKey([spec.name, one]) for one in only] or None
    return job.execute_in_process(
        instance=instance, raise_on_error=False, run_config={**run_config, **quiet}, asset_selection=selection
    )


def names_of(spec: AuditSpec) -> list[str]:
    graph = bias_audit_definitions(spec).resolve_asset_graph()
    return [one.path[-1] for one in graph.get_all_asset_keys()]


def failures(result: Any) -> list[str]:
    found = [one.step_failure_data for one in result.all_events if one.is_step_failure]
    return [one.user_failure_data.description for one in found if one.user_failure_data is not None]


def levels(part: Any) -> Iterator[float]:
    """Every confidence and every alpha in a report."""
    if isinstance(part, dict):
        for key, one in part.items():
            if key == "confidence" and one is not None:
                yield round(1 - one, 9)
            elif key == "alpha" and one is not None:
                yield one
            else:
                yield from levels(one)
    elif isinstance(part, list):
        for one in part:
            yield from levels(one)


def test_alpha_stands_once_in_the_form_and_holds_for_every_interval(
    whole: AuditSpec, instance: dg.DagsterInstance
) -> None:
    form = form_of(whole)
    assert yaml.safe_dump(form).count("alpha:") == 1
    form["resources"]["loans_settings"]["config"]["significance"]["alpha"] = 0.01
    result = launch(whole, instance, form)
    assert failures(result) == []
    report = result.output_for_node("loans__bias_report")
    assert report["spec"]["significance"]["alpha"] == 0.01
    found = list(levels({key: one for key, one in report.items() if key != "spec"}))
    assert len(found) > 20
    assert set(found) == {0.01}


def test_every_key_of_the_form_is_of_the_specification(whole: AuditSpec) -> None:
    form = form_of(whole)["resources"]["loans_settings"]["config"]
    plain = whole.to_dict()
    assert said({key: plain[key] for key in form}) == said(form)
    assert set(plain) - set(keys_of_run(whole)) == {
        "name", "partition_by", "inbox", "schedule", "automation", "freshness_hours", "pool", "notify", "notify_from",
        "keep", "report_url",  # which no run can change
        "mitigation", "characteristics",  # which the specification leaves out: there is no asset for them
    }  # fmt: skip


@pytest.mark.parametrize(
    ("op", "given"),
    [
        ("cluster_significance", {"significance": {"alpha": 0.01}}),
        ("bias_report", {"gate": []}),
        ("train_and_test_data", {"split": {"test_size": 0.3}}),
    ],
)
def test_settings_of_a_single_asset_are_answered_with_where_they_stand(
    spec: AuditSpec, instance: dg.DagsterInstance, op: str, given: dict[str, Any]
) -> None:
    result = launch(spec, instance, {"ops": {f"loans__{op}": {"config": given}}})
    (key,) = given
    assert not result.success
    assert f"gives {key} to loans__{op}" in failures(result)[0]
    assert f"resources > loans_settings > config > {key}" in failures(result)[0]
    assert instance.get_latest_materialization_event(dg.AssetKey(["loans", "raw_data"])) is None


def test_a_section_without_an_asset_is_refused(loans_file: Path, make_spec: Make, instance: dg.DagsterInstance) -> None:
    given = {"local_bias": {"group": "sex"}}
    with pytest.raises(dg.DagsterInvalidConfigError, match="local_bias"):
        launch(make_spec(loans_file), instance, {"resources": {"loans_settings": {"config": given}}})


def test_a_report_of_two_levels_is_refused(spec: AuditSpec, instance: dg.DagsterInstance) -> None:
    """Part of the assets is made anew with another alpha: the report says which, and is not written."""
    names = names_of(spec)
    assert failures(launch(spec, instance, {}, *(one for one in names if one != "bias_report"))) == []
    other = {"resources": {"loans_settings": {"config": {"significance": {"alpha": 0.01}}}}}
    refused = launch(spec, instance, other, "cluster_significance", "feature_differences", "bias_report")
    told = failures(refused)[0]
    assert "made with other settings than this run has: significance.alpha was 0.05 and is 0.01. A" in told
    assert {"hbac_clusters", "train_data"} <= set(told.split(" were ")[0].split(" and "))
    assert dg.AssetKey(["loans", "bias_report"]) not in {
        one.asset_key for one in refused.all_events if one.is_step_materialization
    }
    assert failures(launch(spec, instance, {}, "bias_report")) == []
    after = [one for one in names if one != "raw_data"]
    assert failures(launch(spec, instance, other, *after)) == []  # only the source was read under the old settings


def test_a_report_is_judged_anew_by_other_limits(spec: AuditSpec, instance: dg.DagsterInstance) -> None:
    launch(spec, instance, {}, *(one for one in names_of(spec) if one != "bias_report"))
    gate = {"gate": [{"check": "any_cluster", "max_difference": 0.97}], "engine": {"dask": None}}
    again = launch(spec, instance, {"resources": {"loans_settings": {"config": gate}}}, "bias_report")
    assert failures(again) == []
    assert again.output_for_node("loans__bias_report")["gate"][0]["limit"] == 0.97


def test_a_check_of_stored_results_has_their_settings(whole: AuditSpec, instance: dg.DagsterInstance) -> None:
    launch(whole, instance, {})
    defs = bias_audit_definitions(whole)
    checks = dg.AssetSelection.checks_for_assets(dg.AssetKey(["loans", "findings"]))
    job = dg.define_asset_job("again", selection=checks)
    job_def = dg.Definitions.merge(defs, dg.Definitions(jobs=[job])).resolve_job_def("again")
    given = {"resources": {"loans_settings": {"config": {"slices": {"max_conditions": 1}}}}}
    result = job_def.execute_in_process(instance=instance, raise_on_error=False, run_config=given)
    (failure,) = failures(result)
    assert failure.startswith("bias_slices and blanks and ")
    assert " were made with other settings than this run has: " in failure


def test_the_settings_stand_in_the_metadata_of_every_value(whole: AuditSpec, instance: dg.DagsterInstance) -> None:
    launch(whole, instance, {"resources": {"loans_settings": {"config": {"clustering": {"max_iter": 3}}}}})
    for key in bias_audit_definitions(whole).resolve_asset_graph().get_all_asset_keys():
        event = instance.get_latest_materialization_event(key)
        assert event is not None, key
        assert event.asset_materialization is not None
        assert event.asset_materialization.metadata["settings"].value["clustering"]["max_iter"] == 3, key
