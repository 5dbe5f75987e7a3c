"""What Dagster shows of an audit's assets beside their results: owners, versions, columns, what has to be selected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import Stages, bias_audit_definitions
from bdt_pipeline.automation.alert_sensor import _problems, _Watched
from tests.pipeline.conftest import QUIET, SEARCHES, loans_spec
from tests.pipeline.test_assets import ASSETS

Made = tuple[dg.ExecuteInProcessResult, dg.DagsterInstance]
UNDER = ("risk", "models", "loans")


def risky(spec: dg.AssetSpec) -> dg.AssetSpec:
    """What a project wants."""
    named = spec.replace_attributes(key=spec.key.with_prefix(["risk", "models"]), group_name="risk", owners=["team:r"])
    return named.merge_attributes(tags={"domain": "lending"})


@pytest.fixture(scope="module")
def translated(loans: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """An audit of an asset, translated, and run once."""

    @dg.asset(key=["warehouse", "scored"])
    def scored() -> pd.DataFrame:
        return loans

    spec = loans_spec(
        "",
        source={"asset": "warehouse/scored"},
        bias_variable={"derive": "error", "label": "repaid", "prediction": "approved"},
        gate=[{"metric": "equalized_odds_difference", "facet": "sex", "max": 0.9}],
    )
    ours = bias_audit_definitions(spec, translation=risky)
    defs = dg.Definitions.merge(dg.Definitions(assets=[scored]), ours)
    home = str(tmp_path_factory.mktemp("home"))
    with dg.DagsterInstance.ephemeral(home, settings={"telemetry": {"enabled": False}}) as instance:
        config: Any = {"loggers": QUIET}
        for job in (defs.resolve_implicit_global_asset_job_def(), defs.resolve_job_def("loans_audit")):
            selection = [scored.key] if job.name != "loans_audit" else None
            run = job.execute_in_process(
                instance=instance, raise_on_error=False, run_config=config, asset_selection=selection
            )
            assert run.success
        yield run, instance


def metadata_of(made: Made, asset: str) -> Any:
    event = made[1].get_latest_materialization_event(dg.AssetKey([*UNDER, asset]))
    assert event is not None, asset
    materialization = event.asset_materialization
    assert materialization is not None
    return materialization.metadata


def test_all_assets_and_checks_stand_under_the_prefix_and_work(translated: Made) -> None:
    run, _ = translated
    checks = run.get_asset_check_evaluations()
    assert {tuple(one.asset_key.path[:-1]) for one in checks} == {UNDER}
    assert {"bias_gate", "columns_exist", "no_drift"} <= {one.check_name for one in checks}
    made = {event.asset_key for event in run.get_asset_materialization_events()}
    assert {tuple(key.path[:-1]) for key in made if key} == {UNDER}
    graph = run.job_def.asset_layer.asset_graph
    for key in made:
        node = graph.get(key)
        assert (node.group_name, node.owners) == ("risk", ["team:r"])
        assert {"domain": "lending", "bdt/audit": "loans"}.items() <= node.tags.items()


def test_columns_and_rows_of_each_table_are_known_and_where_they_come_from(
    translated: Made, loans: pd.DataFrame
) -> None:
    rows = {}
    for asset, before in {
        "raw_data": ["warehouse", "scored"],
        "validated_data": [*UNDER, "raw_data"],
        "train_data": [*UNDER, "validated_data"],
        "test_data": [*UNDER, "validated_data"],
    }.items():
        shown = metadata_of(translated, asset)
        rows[asset] = shown["dagster/row_count"].value
        columns = [one.name for one in shown["dagster/column_schema"].value.columns]
        lineage = shown["dagster/column_lineage"].value.deps_by_column
        assert set(lineage) == set(columns)
        for name, several in lineage.items():
            assert {tuple(one.asset_key.path) for one in several} == {tuple(before)}
            measured = asset == "validated_data" and name == "(bias variable)"
            assert {one.column_name for one in several} == ({"repaid", "approved"} if measured else {name})
    assert {"age", "region", "(bias variable)"} <= set(columns)
    assert rows["raw_data"] == rows["validated_data"] == len(loans)
    assert rows["train_data"] + rows["test_data"] == len(loans)


def test_a_changed_key_of_an_asset_is_refused(make_spec: Callable[..., AuditSpec]) -> None:
    with pytest.raises(SpecError, match=r"translation: the key of findings is loans/found\. .* the same key_prefix"):
        bias_audit_definitions(
            make_spec("x.csv"),
            translation=lambda spec: (
                spec if spec.key.path[-1] != "findings" else spec.replace_attributes(key=["loans", "found"])
            ),
        )


def versions(spec: AuditSpec, stages: Stages | None = None) -> dict[str, str | None]:
    specs = bias_audit_definitions(spec, stages=stages).resolve_all_asset_specs()
    return {one.key.path[-1]: one.code_version for one in specs}


class Otherwise(Stages):
    """Somebody's own method."""


LATER = {"bias_report"}
ALL = set(ASSETS)
OF_ALL_KEYS = {"validated_data", "worst_groups", "declared_outcomes", "pooled_groups", "findings", "blanks"}


@pytest.mark.parametrize(
    ("changes", "of_these"),
    [
        ({"clustering": {"max_iter": 3}}, {"hbac_clusters"} | OF_ALL_KEYS | LATER),
        ({"significance": {"alpha": 0.01}}, {"cluster_significance", "feature_differences"} | OF_ALL_KEYS | LATER),
        ({"split": {"random_state": 5}}, {"train_data", "test_data"} | OF_ALL_KEYS | LATER),
        ({"source": {"path": "y.csv"}}, {"raw_data"} | OF_ALL_KEYS | LATER),
        ({"gate": [{"max_difference": 0.3}]}, LATER),
        ({"title": "Loans"}, LATER),
        ({"large_rows": 5000}, OF_ALL_KEYS | LATER),
    ],
)
def test_the_code_version_changes_with_what_an_asset_depends_on(
    changes: dict[str, Any], of_these: set[str], make_spec: Callable[..., AuditSpec]
) -> None:
    before, after = versions(make_spec("x.csv", **SEARCHES)), versions(make_spec("x.csv", **SEARCHES, **changes))
    assert before.keys() == ALL
    assert None not in before.values()
    assert {name for name in before if before[name] != after[name]} == of_these


def test_another_method_is_another_code_version(make_spec: Callable[..., AuditSpec]) -> None:
    spec = make_spec("x.csv", **SEARCHES)
    before, after = versions(spec), versions(spec, Otherwise())
    assert versions(spec) == before
    assert not set(before.values()) & set(after.values())


@pytest.mark.parametrize(
    ("only", "first"),
    [("bias_report", "loans/"), ("test_data", "loans/validated_data"), ("validated_data", "loans/raw_data")],
)
def test_what_cannot_be_made_by_itself_says_so_and_what_to_select(
    only: str, first: str, loans_file: Path, run_audit: Any, make_spec: Callable[..., AuditSpec],
    instance: dg.DagsterInstance,
) -> None:  # fmt: skip
    several = ["train_data", "test_data"] if only == "test_data" else [only]
    result = run_audit(make_spec(loans_file), instance, only=several)
    (failed,) = [one.step_failure_data for one in result.all_events if one.is_step_failure]
    told = failed.user_failure_data.description
    assert told.startswith(first)
    assert told.endswith(
        "is not stored, and this selection takes it without making it: put a + before what you select, as in "
        '+key:"loans/bias_report", which adds all that comes before, or launch the job loans_audit.'
    )
    assert "\n" not in told


def test_what_happens_to_translated_assets_is_watched(translated: Made) -> None:
    run, instance = translated
    watched = _Watched("loans", UNDER, None, frozenset(), lambda _: None)
    titles = {one.title for one in _problems(watched, instance, run.run_id, None)}
    assert {"Run of loans_audit: hbac_clusters", "Run of loans_audit: raw_data_quality"} <= titles
    assert any("bias_report: bias_gate" in one for one in titles)
    elsewhere = _Watched("loans", ("loans",), None, frozenset(), lambda _: None)
    assert not list(_problems(elsewhere, instance, run.run_id, None))


def test_automation_looks_at_all_translated_assets(make_spec: Callable[..., AuditSpec]) -> None:
    spec = make_spec("", source={"asset": "warehouse/scored"}, automation="eager")
    source = dg.Definitions(assets=[dg.AssetSpec(["warehouse", "scored"])])
    defs = dg.Definitions.merge(source, bias_audit_definitions(spec, translation=risky))
    graph = defs.resolve_asset_graph()
    looked_at: Any = defs.resolve_sensor_def("loans_automation").asset_selection
    assert looked_at.resolve(graph) == graph.materializable_asset_keys


def test_settings_given_to_a_translated_asset_are_answered_with_where_they_stand(
    loans_file: Path, instance: dg.DagsterInstance
) -> None:
    job = bias_audit_definitions(loans_spec(loans_file), translation=risky).resolve_job_def("loans_audit")
    config: Any = {"loggers": QUIET, "ops": {"risk__models__loans__bias_report": {"config": {"title": "Loans"}}}}
    run = job.execute_in_process(
        instance=instance,
        raise_on_error=False,
        run_config=config,
        asset_selection=[dg.AssetKey([*UNDER, "raw_data"]), dg.AssetKey([*UNDER, "bias_report"])],
    )
    told = [one.step_failure_data.user_failure_data for one in run.all_events if one.is_step_failure]
    assert any("resources > loans_settings > config > title" in str(one) for one in told), told
