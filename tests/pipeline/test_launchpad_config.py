"""The launchpad's form is the specification's own model, whatever is in it."""

from typing import Any

import dagster as dg
import pytest

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec, parse_spec
from bdt_pipeline.resources.config import clear_failures, config_schema, effective_spec

KEYS = [key for key in AuditSpec.model_fields if key != "name"]
SPEC = parse_spec(
    {
        "name": "loans",
        "source": {"path": "loans.csv"},
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved", "positive": ["yes", 1]},
        "favourable": "positive",
        "features": {"include": ["age"], "kinds": {"zip": "categorical"}},
        "protected": ["sex"],
        "clustering": {"max_iter": 7, "min_cluster_size": 0.02},
        "groups": {"facets": ["sex", ["sex", "region"]], "thresholds": {"age": 40}},
        "gate": [
            {"check": "any_cluster", "max_difference": 0.1},
            {"metric": "disparate_impact", "facet": ["sex", "region"], "min": 0.8, "rule": "point"},
        ],
    }
)


def given(config: dict[str, Any], spec: AuditSpec = SPEC) -> AuditSpec:
    """Pass a configuration through Dagster, as a run does."""
    seen: list[Any] = []

    @dg.op(config_schema=config_schema(spec, KEYS))
    def take(context: dg.OpExecutionContext) -> None:
        seen.append(context.op_config)

    @dg.job
    def job() -> None:
        take()

    job.execute_in_process(run_config={"ops": {"take": {"config": config}}})
    return effective_spec(spec, seen[0])


def test_an_empty_form_is_the_specification() -> None:
    assert given({}) == SPEC


@pytest.mark.parametrize(
    ("config", "path", "value"),
    [
        ({"clustering": {"max_iter": 3}}, ("clustering", "max_iter"), 3),
        ({"clustering": {"min_cluster_size": None}}, ("clustering", "min_cluster_size"), None),
        ({"clustering": {"method": "kmeans"}}, ("clustering", "method"), "kmeans"),
        ({"split": {"stratify": False, "test_size": 0.5}}, ("split", "test_size"), 0.5),
        ({"significance": {"alpha": 0.01}}, ("significance", "alpha"), 0.01),
        ({"source": {"path": "other.csv"}}, ("source", "path"), "other.csv"),
        ({"protected": []}, ("protected",), []),
        ({"missing": "drop"}, ("missing",), "drop"),
        ({"groups": {"facets": ["region"]}}, ("groups", "facets"), ["region"]),
        ({"groups": {"reference": "m"}}, ("groups", "reference"), "m"),
        ({"require": "majority"}, ("require",), "majority"),
        ({"slices": {"bins": 3}}, ("slices", "bins"), 3),
        ({"slices": None}, ("slices",), None),
        ({"features": {"kinds": {"age": "numeric"}}}, ("features", "kinds"), {"age": "numeric"}),
        ({"features": {"include": None}}, ("features", "include"), None),
        ({"bias_variable": {"positive": "yes"}}, ("bias_variable", "positive"), "yes"),
        ({"bias_variable": {"better": "higher"}}, ("bias_variable", "better"), "higher"),
    ],
)
def test_a_value_arrives_and_its_neighbours_stay(config: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    result = given(config).to_dict()
    expected = SPEC.to_dict()
    place = expected
    for key, one in zip(path, [*path[1:], None], strict=True):
        if one is None:
            place[key] = value
        else:
            place = place[key]
    if "better" in str(config):
        expected["bias_variable"]["better_by"] = "said"
    if "stratify" in str(config):
        expected["split"]["stratify"] = False
    assert result == expected


def test_a_limit_of_the_gate_is_filled_with_its_defaults() -> None:
    limit = given({"gate": [{"max_difference": 0.2}]}).gate[0]
    assert (limit.check, limit.max_difference, limit.inconclusive) == ("worst_cluster", 0.2, "warn")


@pytest.mark.parametrize(
    "config",
    [
        {"clustering": {"max_itr": 3}},
        {"clustering": {"max_iter": "many"}},
        {"clustering": {"method": "dbscan"}},
        {"gate": [{"max_differnce": 0.2}]},
    ],
)
def test_dagster_refuses_a_wrong_form(config: dict[str, Any]) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError):
        given(config)


@pytest.mark.parametrize(
    "config",
    [
        {"gate": [{"metric": "demographic_parity_difference", "facet": "sex", "max": True}]},
        {"gate": [{"check": "worst_cluster", "max_difference": True}]},
        {"split": {"test_size": True}},
        {"significance": {"alpha": False}},
        {"significance": {"min_rows": True}},
    ],
)
def test_true_is_no_number(config: dict[str, Any]) -> None:
    """A limit of 1 would let every harm pass."""
    with pytest.raises(dg.DagsterInvalidConfigError, match=r"expected a number, found (true|false)|Int"):
        given(config)


def test_the_specification_refuses_what_only_it_knows() -> None:
    with pytest.raises(SpecError, match=r"split\.test_size"):
        given({"split": {"test_size": 1.5}})


def test_a_mendable_error_becomes_a_failure_without_its_cause() -> None:
    with pytest.raises(dg.Failure) as caught, clear_failures():
        raise SpecError("mend me")
    assert caught.value.description == "mend me"
    assert caught.value.allow_retries is False
    assert caught.value.__cause__ is None


def test_every_field_is_described() -> None:
    fields = config_schema(SPEC, KEYS)
    undescribed = [key for key, field in fields.items() if not field.description]
    for key, field in fields.items():
        inner = getattr(field.config_type, "fields", {})
        undescribed += [f"{key}.{name}" for name, one in inner.items() if not one.description]
    assert undescribed == []
