"""BiasAudit in YAML: its attributes are the specification, all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest
import yaml
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.core.package_entry import discover_package_objects
from dagster.components.core.snapshot import get_package_entry_snap
from dagster.components.testing.utils import create_defs_folder_sandbox
from dagster_shared.serdes.objects import EnvRegistryKey
from dagster_shared.serdes.objects.package_entry import json_for_component_type
from jsonschema import Draft202012Validator

import bdt_pipeline
from bdt_core.spec import About, AuditSpec
from bdt_pipeline import BiasAudit, Stages, bias_audit_definitions

ASSETS = {
    "raw_data",
    "blanks",
    "validated_data",
    "train_data",
    "test_data",
    "hbac_clusters",
    "cluster_significance",
    "feature_differences",
    "worst_groups",
    "findings",
    "bias_slices",
    "bias_report",
}
LEAST = {"name": "loans", "source": {"path": "loans.csv"}, "bias_variable": {"column": "error"}}
DERIVED = {
    "derive": "error", "label": "repaid", "prediction": "approved", "positive": ["yes"], "better": "higher",
    "better_by": "said",
}  # fmt: skip
# One case per key of the specification: the value, which is not its default, must arrive.
CASES: dict[str, Any] = {
    "name": "credit_model_2",
    "source": {
        "path": "other.csv",
        "separator": ";",
        "encoding": "cp1252",
        "decimal": "comma",
        "missing_values": ["n.v.t."],
        "sheet": "people",
        "bad_rows": "leave_out",
        "clean": True,
        "ages": {"born": "2026-01-31"},
        "stacked": {"by": "year", "rows": {"2025": {"error": "error_25"}, "2026": {"error": "error_26"}}},
        "arrays": {"prediction": "p.npy"},
        "partition": "2026-01-31",
        "parameters": {"region": "north"},
        "join": {"sql": "select * from labels", "database": "${LABELS}", "key": "id", "columns": ["label"]},
    },
    "bias_variable": DERIVED | {"derive": "pinball_loss", "quantile": 0.9},
    "features": {
        "include": ["age"],
        "exclude": ["id"],
        "leaks": ["bar1"],
        "kinds": {"zip": "categorical"},
        "at_most": 99,
    },
    "protected": ["race", "sex"],
    "missing": "drop",
    "split": {
        "test_size": 0.3,
        "method": "hash",
        "key": "person",
        "stratify": False,
        "random_state": 7,
        "repeats": 3,
    },
    "clustering": {
        "method": "kmeans",
        "max_iter": 5,
        "min_cluster_size": 40.0,
        "n_init": 3,
        "margin": 0.1,
        "scale": False,
        "engine": "reference",
        "memory": "in_memory",
        "memory_limit": "2 GiB",
        "stability": 20,
    },
    "large_rows": 5000,
    "engine": {"dask": {"local_workers": 2, "memory_limit": "2 GiB"}},
    "significance": {
        "alpha": 0.01,
        "test": "welch",
        "correction": "bh",
        "min_rows": 20,
        "permutations": 99,
        "alpha_of_all_looks": 0.01,
    },
    "groups": {
        "facets": ["sex", ["sex", "race"]],
        "label": "repaid",
        "prediction": "approved",
        "positive": "yes",
        "score": "risk",
        "stratum": "branch",
        "thresholds": {"age": 40.0},
        "similar_by": ["age"],
        "reference": "m",
        "pooled_from": 20,
        "numbers": False,
        "tolerance": 0.5,
        "report": ["ll144", "four_fifths"],
    },
    "legitimate": ["branch"],
    "characteristics": ["age"],
    "worst_groups": {"columns": ["age", "sex"], "min_share": 0.05, "max_groups": 2, "permutations": 99},
    "slices": {
        "columns": ["age", "sex"],
        "max_conditions": 2,
        "min_support": 0.05,
        "bins": 4,
        "fdr": 0.05,
        "max_difference": 0.1,
    },
    "local_bias": {
        "group": "sex",
        "embeddings": ["e1", "e2"],
        "texts": "comment",
        "describe_by": ["age"],
        "metric": "tpr",
        "n_clusters": 5,
        "weight": 0.1,
        "min_group_size": 30,
        "max_gap": 0.1,
    },
    "mitigation": {
        "group": ["sex", "race"],
        "score": "risk",
        "constraint": "equalized_odds",
        "tolerance": 0.05,
        "objective": "balanced_accuracy",
        "randomized": True,
    },
    "gate": [
        {"check": "any_cluster", "max_difference": 0.2, "inconclusive": "block"},
        {"check": "worst_cluster", "max_difference": 0.3},
    ],
    "require": "majority",
    "sealed": "required",
    "seal": "kept/loans.seal.json",
    "looks": 5,
    "favourable": "negative",
    "partition_by": {"time": "daily", "start": "2026-01-01", "dynamic": None},
    "inbox": {"folder": "inbox", "pattern": "*.csv", "settle": 1.0, "every": 60, "at_once": 20},
    "schedule": "0 6 * * *",
    "automation": "eager",
    "freshness_hours": 26.0,
    "pool": "bias",
    "keep": 30,
    "history": {
        "labels_after": "14d",
        "drift": 0.1,
        "look_back": 7,
        "min_rows": 50,
        "effect": 0.05,
        "retrain": "train_model",
    },
    "notify": ["json://127.0.0.1/hook"],
    "notify_from": "high",
    "report_url": "https://reports.example/bias",
    "title": "Who gets a loan",
    "language": "nl",
    "pdf": "whole",
    "labels": {"race": {"name": "origin", "levels": {"b": "Black people"}}},
    "units": {"age": "years"},
    "about": {
        **{name: name for name in About.model_fields},
        **dict.fromkeys(("distribution_date", "tested_on", "limits_set_on", "next_review"), "2026-01-31"),
        "status": "in_use",
        "in_use_since": "2026-01",
        "in_use_until": "2027-12",
        "publication": "other_algorithm",
        "hazards": {"b": "no loan"},
        "measures": ["another threshold"],
        "impact_assessments": ["DPIA"],
    },
    "reference": {"sex": {"f": 52, "m": 48}},
}


# Keys of another bias variable than that of the case.
PLACES = {"k": 3, "query": "search", "ranked": "lowest_first"}
# What a key needs beside it.
_PARTS, _OUTCOMES = {"source": {"path": "{partition}.csv"}}, {"bias_variable": DERIVED}
_NUMBERS = {"favourable": "positive", "bias_variable": DERIVED | {"derive": "absolute_error"}}
NEEDED: dict[str, dict[str, Any]] = {
    "partition_by": _PARTS, "inbox": _PARTS, "local_bias": _OUTCOMES, "mitigation": _OUTCOMES,
    "automation": {"source": {"asset": "scored"}}, "characteristics": _OUTCOMES, "groups": _NUMBERS,
    "source": {"split": {"key": "person"}},
    "reference": {**_OUTCOMES, "protected": ["sex"]}, "history": {**_OUTCOMES, "protected": ["sex"]},
}  # fmt: skip


def loaded(attributes: dict[str, Any], component: type[dg.Component] = BiasAudit) -> tuple[Any, dg.Definitions]:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=component,
            defs_path="audit",
            defs_yaml_contents={"type": f"{component.__module__}.{component.__name__}", "attributes": attributes},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (one, defs):
            return one, defs


def spec_of(attributes: dict[str, Any]) -> AuditSpec:
    component, _ = loaded(attributes)
    return AuditSpec.model_validate({key: getattr(component, key) for key in AuditSpec.model_fields})


def test_there_is_a_case_for_every_key() -> None:
    assert set(CASES) == set(AuditSpec.model_fields)
    for key, info in AuditSpec.model_fields.items():
        # column stands in LEAST; sql and asset stand in the place of path
        inner = set(getattr(info.annotation, "model_fields", {})) - {"column", "sql", "database", "asset", *PLACES}
        assert not inner or inner <= set(CASES[key]), key


def test_places_in_lists_arrive() -> None:
    bias = {"derive": "top_k", "prediction": "score", **PLACES}
    assert (
        spec_of(LEAST | {"bias_variable": bias}).bias_variable
        == AuditSpec.model_validate(LEAST | {"bias_variable": bias}).bias_variable
    )


@pytest.mark.parametrize("key", CASES)
def test_every_key_of_the_specification_arrives(key: str) -> None:
    base = LEAST | NEEDED.get(key, {})
    attributes = {**base, key: CASES[key]}
    spec = spec_of(attributes)
    assert spec == AuditSpec.model_validate(attributes)
    assert spec != AuditSpec.model_validate(base)


def test_the_assets_checks_and_job_of_one_audit() -> None:
    _, defs = loaded(LEAST)
    specs = list(defs.resolve_all_asset_specs())
    assert {one.key.to_user_string() for one in specs} == {f"loans/{name}" for name in ASSETS}
    assert {one.group_name for one in specs} == {"loans"}
    assert all(one.description and one.kinds for one in specs)
    assert defs.resolve_job_def("loans_audit").executor_def is dg.in_process_executor


def test_templates_are_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOANS", "from_env.csv")
    monkeypatch.setenv("SHARE", "0.4")
    spec = spec_of({**LEAST, "source": {"path": "{{ env.LOANS }}"}, "split": {"test_size": "{{ env.SHARE }}"}})
    assert (spec.source.path, spec.split.test_size) == ("from_env.csv", 0.4)


def test_the_short_type_name_is_found() -> None:
    assert bdt_pipeline.BiasAudit is BiasAudit
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=BiasAudit,
            defs_path="audit",
            defs_yaml_contents={"type": "bdt_pipeline.BiasAudit", "attributes": LEAST},
        )
        with sandbox.load_component_and_build_defs(defs_path=path) as (one, _):
            assert isinstance(one, BiasAudit)


def test_the_registry_of_other_projects_finds_it() -> None:
    assert [one.name for one in discover_package_objects(["bdt_pipeline"])] == ["BiasAudit"]


def test_editors_get_a_schema_with_descriptions() -> None:
    schema = BiasAudit.model().model_json_schema()
    assert set(schema["properties"]) == {*AuditSpec.model_fields, "assets", "bundle", "translation"}
    assert all(one["description"] for one in schema["properties"].values())
    assert schema["properties"]["clustering"]["properties"]["max_iter"]["description"]


def test_the_page_of_the_component_in_the_ui_has_an_example_that_can_be_taken_over() -> None:
    snap = get_package_entry_snap(EnvRegistryKey("bdt_pipeline", "BiasAudit"), BiasAudit)
    (feature,) = [one for one in snap.feature_data if one.feature == "component"]
    page = json_for_component_type(snap.key, snap, feature)
    example = yaml.safe_load(page["example"])
    assert example["type"] == "bdt_pipeline.BiasAudit"
    assert loaded(example["attributes"])[1].resolve_job_def("loans_audit")
    assert "\n\n" in (page["description"] or "")
    assert "dg scaffold defs bdt_pipeline.BiasAudit" in (page["description"] or "")
    assert page["tags"]
    assert set(page["produces"]) == {"asset", "asset_check", "job", "schedule", "sensor", "resource"}
    shown = json.loads(page["schema"])["properties"]
    assert not any("required" in one for one in shown.values())  # the page would call the section itself required


@pytest.mark.parametrize("key", CASES)
def test_what_is_right_is_right_to_dg_check_yaml(key: str) -> None:
    """As it stands, and with a template in the place of each value, however deep."""
    check = Draft202012Validator(BiasAudit.model().model_json_schema())
    attributes = {**LEAST, **NEEDED.get(key, {}), key: CASES[key]}
    assert [one.message for one in check.iter_errors(attributes)] == []
    for templated in _with_templates(CASES[key]):
        assert [one.message for one in check.iter_errors({**LEAST, key: templated})] == []


def _with_templates(value: Any) -> Iterator[Any]:
    """The value with a template in the place of each of its parts in turn, and of the whole."""
    yield "{{ env.SOMETHING }}"
    if isinstance(value, dict):
        yield from ({**value, name: one} for name, inner in value.items() for one in _with_templates(inner))
    elif isinstance(value, list):
        yield from (
            [*value[:i], one, *value[i + 1 :]] for i, inner in enumerate(value) for one in _with_templates(inner)
        )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"clusterin": {}}, 'clusterin (line 4): unknown key; did you mean "clustering"?'),
        ({"clustering": {"max_itr": 3}}, 'clustering.max_itr (line 5): unknown key; did you mean "max_iter"?'),
        ({"translaton": {"group_name": "risk"}}, 'translaton (line 7): unknown key; did you mean "translation"?'),
        ({"translation": {"group": "risk"}}, "translation.group: "),
        ({"split": {"test_size": 2}}, "split.test_size (line 8): "),
        ({"bias_variable": {"derive": "error"}}, "prediction"),
    ],
)
def test_a_wrong_key_or_value_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ComponentTreeException) as caught:
        loaded({**LEAST, **wrong})
    chain = [caught.value, caught.value.__cause__, getattr(caught.value.__cause__, "__cause__", None)]
    assert message in "".join(str(one) for one in chain)


def test_the_table_is_looked_up_beside_the_file(loans: pd.DataFrame) -> None:
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(
            component_cls=BiasAudit,
            defs_path="audit",
            defs_yaml_contents={"type": "bdt_pipeline.BiasAudit", "attributes": LEAST},
        )
        loans.to_csv(path / "loans.csv", index=False)
        with sandbox.build_component_tree() as tree:
            component = tree.load_component(path)
            spec = component.build_spec(tree.load_context.for_path(path))  # type: ignore[attr-defined]
            assert Path(spec.source.path) == path / "loans.csv"


class FromMemory(Stages):
    """A user's own way to get the table."""

    def read_table(self, source: Any) -> pd.DataFrame:
        ages = list(range(20, 70)) * 20
        return pd.DataFrame({"age": ages, "other": range(1000), "error": [int(age < 30) for age in ages]})


class MemoryAudit(BiasAudit):
    """A user's component: one stage replaced, one key added."""

    owner: str = "nobody"

    def build_stages(self) -> Stages:
        return FromMemory()


def test_a_subclass_replaces_one_stage_and_adds_a_key(instance: dg.DagsterInstance) -> None:
    component, defs = loaded({**LEAST, "owner": "risk"}, MemoryAudit)
    assert component.owner == "risk"
    result = defs.resolve_job_def("loans_audit").execute_in_process(
        instance=instance, raise_on_error=False, asset_selection=[dg.AssetKey(["loans", "raw_data"])]
    )
    assert result.success
    assert len(result.output_for_node("loans__raw_data")) == 1000


def test_two_audits_live_side_by_side() -> None:
    _, one = loaded(LEAST)
    _, other = loaded({**LEAST, "name": "cards"})
    merged = dg.Definitions.merge(one, other)
    assert len(list(merged.resolve_all_asset_specs())) == 2 * len(ASSETS)
    assert set(merged.resources or {}) == {"bdt_tables", "bdt_results", "loans_settings", "cards_settings"}
    dg.Definitions.validate_loadable(merged)


def test_what_is_stored_elsewhere_has_a_resource_of_its_own(tmp_path: Path) -> None:
    """Two places under one name would be refused by Dagster, or one of them ignored."""
    here, there = AuditSpec.model_validate(LEAST), AuditSpec.model_validate({**LEAST, "name": "cards"})
    both = dg.Definitions.merge(
        bias_audit_definitions(here), bias_audit_definitions(there, storage=str(tmp_path / "elsewhere"))
    )
    assert both.resources is not None
    assert both.resources["bdt_tables"].base_path is None
    assert both.resources["cards_tables"].base_path == str(tmp_path / "elsewhere")


def test_every_resource_and_each_of_its_settings_says_what_it_is() -> None:
    defs = bias_audit_definitions(AuditSpec.model_validate({**LEAST, **DEEP}))
    snaps = defs.get_repository_def().get_top_level_resources()
    assert set(snaps) == {"bdt_tables", "bdt_results", "loans_settings"}
    for name, resource in snaps.items():
        assert resource.description, name
        fields = list(_fields(name, resource.config_schema.config_type))
        assert fields
        assert [path for path, one in fields if not one.description or len(one.description) < 10] == []


DEEP = {
    "bias_variable": DERIVED,
    "protected": ["sex"],
    "local_bias": {"group": "sex"},
    "mitigation": {"group": "sex", "score": "income"},
}


def _fields(path: str, config_type: Any) -> Any:
    """Every field of a configuration, however deep."""
    for name, one in (getattr(config_type, "fields", None) or {}).items():
        yield f"{path}.{name}", one
        yield from _fields(f"{path}.{name}", one.config_type)
    inner = getattr(config_type, "inner_type", None)
    if inner is not None:
        yield from _fields(f"{path}[]", inner)


def test_the_path_of_a_file_will_do_in_python(
    tmp_path: Path, loans: pd.DataFrame, instance: dg.DagsterInstance
) -> None:
    (tmp_path / "loans.yaml").write_text(yaml.safe_dump(LEAST))
    loans.to_csv(tmp_path / "loans.csv", index=False)  # beside the file, which is not the folder of the process
    job = bias_audit_definitions(str(tmp_path / "loans.yaml")).resolve_job_def("loans_audit")
    read = job.execute_in_process(instance=instance, asset_selection=[dg.AssetKey(["loans", "raw_data"])])
    assert read.success
