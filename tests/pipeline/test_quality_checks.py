"""Each fault planted in the data is found by its check, and by no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pandas as pd
import pytest

from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions

BLOCKING = {"columns_exist", "enough_rows", "bias_variable_usable"}
Run = Callable[..., dict[str, dg.AssetCheckEvaluation]]


@pytest.fixture
def checks(
    loans: pd.DataFrame,
    tmp_path: Path,
    make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
    run_audit: Any,
) -> Run:
    """Audits a spoilt table and returns the quality checks by name."""

    def run(spoil: Callable[[pd.DataFrame], Any] = lambda table: table, **changes: Any) -> dict[str, Any]:
        table = loans.copy()
        spoilt = spoil(table)
        path = tmp_path / "table.parquet"
        (table if spoilt is None else spoilt).to_parquet(path)
        config = changes.pop("config", None)
        result = run_audit(make_spec(path, **changes), instance, config, only=["raw_data", "validated_data"])
        return {one.check_name: one for one in result.get_asset_check_evaluations()}

    return run


def broken(found: dict[str, dg.AssetCheckEvaluation]) -> set[str]:
    return {name for name, one in found.items() if not one.passed}


def audited(instance: dg.DagsterInstance) -> bool:
    return instance.get_latest_materialization_event(dg.AssetKey(["loans", "validated_data"])) is not None


def test_a_sound_table_breaks_no_rule(checks: Run, instance: dg.DagsterInstance) -> None:
    found = checks()
    assert len(found) == 9
    assert broken(found) == set()
    assert {name for name, one in found.items() if one.blocking} == BLOCKING
    assert audited(instance)


def missing_bias(table: pd.DataFrame) -> None:
    table.loc[:149, "error"] = np.nan


def text_bias(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(error=table["error"].astype(str).where(table.index != 3, "secret"))


def constant_bias(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(error=1)


def constant_feature(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(income=50.0)


def duplicates(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table.head(600)])


def many_categories(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(region=[f"r{i % 200}" for i in range(len(table))])


def leak(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(income=table["error"] * 10 + 5)


@pytest.mark.parametrize(
    ("spoil", "check", "named"),
    [
        (missing_bias, "bias_variable_complete", "error: 150 missing of 1,500"),
        (text_bias, "bias_variable_usable", "error: 1 values are not numbers"),
        (constant_bias, "bias_variable_usable", "error: 1 values"),
        (constant_feature, "features_vary", "income: 1 values"),
        (duplicates, "few_duplicate_rows", "600 of 2,100"),
        (many_categories, "few_categories", "region: 200 categories"),
        (leak, "no_leaks", "income"),
        (lambda table: table.drop(columns="region"), "columns_exist", "region: missing"),
        (lambda table: table.head(100), "enough_rows", "rows: 100"),
    ],
)
def test_a_planted_fault_is_found(
    spoil: Callable[[pd.DataFrame], Any], check: str, named: str, checks: Run, instance: dg.DagsterInstance
) -> None:
    found = checks(spoil)
    assert broken(found) == {check}
    assert named in str(found[check].description)
    assert "secret" not in str(found[check])
    blocks = check in BLOCKING
    assert found[check].severity is (dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN)
    assert audited(instance) is not blocks


def test_a_column_of_lists_that_is_not_used_breaks_no_rule(checks: Run, instance: dg.DagsterInstance) -> None:
    tags = [np.arange(row % 7) for row in range(1500)]
    found = checks(lambda table: table.assign(tags=tags[: len(table)]))
    assert broken(found) == set()
    assert audited(instance)


def test_clusters_too_small_to_test(checks: Run) -> None:
    found = checks(clustering={"min_cluster_size": 30})
    assert "clusters_large_enough" in broken(found)
    assert "clusters_large_enough" not in broken(checks(clustering={"min_cluster_size": 300}))


def test_a_label_with_three_values(checks: Run) -> None:
    bias = {"derive": "error", "label": "repaid", "prediction": "approved"}
    found = checks(lambda table: table.assign(repaid=table.index % 3), bias_variable=bias)
    assert broken(found) == {"bias_variable_usable"}
    assert "repaid: 3 values, wanted 1 or 2" in str(found["bias_variable_usable"].description)


def test_the_checks_follow_what_the_run_was_given(checks: Run) -> None:
    found = checks(config={"protected": ["sexx"]})
    assert "sexx: missing" in str(found["columns_exist"].description)


def test_counts_plot_over_time(checks: Run) -> None:
    found = checks(constant_feature)["features_vary"]
    assert (found.metadata["broken"].value, found.metadata["examined"].value) == (1, 3)


def test_one_check_can_run_alone(
    loans_file: Path, make_spec: Callable[..., AuditSpec], instance: dg.DagsterInstance, run_audit: Any
) -> None:
    spec = make_spec(loans_file)
    run_audit(spec, instance, only=["raw_data"])
    key = dg.AssetCheckKey(dg.AssetKey(["loans", "raw_data"]), "enough_rows")
    alone = dg.define_asset_job("alone", selection=dg.AssetSelection.checks(key), executor_def=dg.in_process_executor)
    defs = dg.Definitions.merge(bias_audit_definitions(spec), dg.Definitions(jobs=[alone]))
    result = defs.resolve_job_def("alone").execute_in_process(instance=instance)
    assert [one.check_name for one in result.get_asset_check_evaluations()] == ["enough_rows"]
