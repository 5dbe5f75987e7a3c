"""In somebody else's project: the gate on an asset that is theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from bdt_core.spec import AuditSpec
from bdt_pipeline import Stages, bias_audit_definitions, build_bias_gate_checks

Make = Callable[..., AuditSpec]
DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01", end_date="2026-01-04")
BIASED, FAIR = "2026-01-01", "2026-01-02"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@pytest.mark.parametrize(("limit", "promoted"), [(0.02, False), (0.9, True)])
def test_the_gate_on_an_asset_of_theirs_stops_what_is_downstream(
    limit: float, promoted: bool, loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def predictions() -> pd.DataFrame:
        return loans

    @dg.asset(deps=[predictions])
    def promote_model() -> None: ...

    spec = make_spec("", source={"asset": "predictions"}, gate=[{"max_difference": limit}])
    result = dg.materialize(
        [predictions, promote_model, *build_bias_gate_checks(asset=predictions, spec=spec)],
        instance=instance,
        raise_on_error=False,
        run_config=QUIET,
    )
    (check,) = result.get_asset_check_evaluations()
    assert (check.check_name, check.passed, check.blocking) == ("bias_gate", promoted, True)
    made = instance.get_latest_materialization_event(dg.AssetKey("promote_model"))
    assert (made is not None) is promoted


@pytest.mark.parametrize("by", ["definition", "key"])
def test_each_days_gate_judges_its_own_day(
    by: str, loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    """The third day is never made, so that a gate that asks for all days cannot run."""

    @dg.asset(key=["warehouse", "scored"], partitions_def=DAYS)
    def scored() -> pd.DataFrame:
        day = dg.AssetExecutionContext.get().partition_key
        harmed = (loans["age"] < 40).astype(int)
        return loans.assign(error=harmed if day == BIASED else [0, 1] * (len(loans) // 2))

    @dg.asset(deps=[scored], partitions_def=DAYS)
    def promote_model() -> None: ...

    spec = make_spec("", source={"asset": "warehouse/scored"}, gate=[{"max_difference": 0.2}])
    if by == "definition":
        gate = build_bias_gate_checks(asset=scored, spec=spec)
    else:
        gate = build_bias_gate_checks(asset="warehouse/scored", spec=spec, partitions_def=DAYS)
    for day in (BIASED, FAIR):
        result = dg.materialize(
            [scored, promote_model, *gate],
            instance=instance,
            partition_key=day,
            raise_on_error=False,
            run_config=QUIET,
        )
        (check,) = result.get_asset_check_evaluations()
        assert (check.passed, check.partition) == (day == FAIR, day)
        assert check.asset_key == dg.AssetKey(["warehouse", "scored"])
    assert instance.get_materialized_partitions(scored.key) == {BIASED, FAIR}
    assert instance.get_materialized_partitions(promote_model.key) == {FAIR}


@pytest.mark.parametrize("asset", ["a/b", ["a", "b"], dg.AssetKey(["a", "b"])])
def test_a_key_is_written_as_in_a_specification(asset: str | list[str] | dg.AssetKey, make_spec: Make) -> None:
    (check,) = build_bias_gate_checks(asset=asset, spec=make_spec("", source={"asset": "a/b"}))
    assert [one.key for one in check.check_specs] == [dg.AssetCheckKey(dg.AssetKey(["a", "b"]), "bias_gate")]


def _raw_data(
    scored: dg.AssetsDefinition, spec: AuditSpec, instance: dg.DagsterInstance, *, day: str | None = None, **more: Any
) -> dg.ExecuteInProcessResult:
    """A run of the audit's first asset alone, on what stands in storage."""
    defs = dg.Definitions.merge(dg.Definitions(assets=[scored]), bias_audit_definitions(spec, **more))
    return defs.resolve_implicit_global_asset_job_def().execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(["loans", "raw_data"])],
        partition_key=day,
        raise_on_error=False,
        run_config=QUIET,
    )


def _reason(result: dg.ExecuteInProcessResult) -> str:
    """What the only failed step says to people; a raw error has nothing for them."""
    (failed,) = [one.step_failure_data for one in result.all_events if one.is_step_failure]
    assert failed.user_failure_data is not None, failed.error
    return failed.user_failure_data.description or ""


def _scored(loans: pd.DataFrame, made: list[str], instance: dg.DagsterInstance) -> dg.AssetsDefinition:
    """Somebody's asset of three days, of which some were made."""

    @dg.asset(partitions_def=DAYS)
    def scored() -> pd.DataFrame:
        return loans

    for day in made:
        dg.materialize([scored], instance=instance, partition_key=day, run_config=QUIET)
    return scored


@pytest.mark.parametrize("made", [[FAIR], [BIASED, FAIR, "2026-01-03"], []])
def test_an_audit_of_all_parts_says_that_it_takes_one(
    made: list[str], loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    spec = make_spec("", source={"asset": "scored"})
    run = _raw_data(_scored(loans, made, instance), spec, instance)
    reason = _reason(run)
    if made:
        assert f"Tables by parts ({', '.join(made)}) were handed over" in reason
        assert "set partition_by" in reason
    else:
        assert "in place of a table" in reason
        assert "run it first" in reason


def test_an_audit_part_by_part_reads_its_part_and_says_when_it_is_missing(
    loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    @dg.asset(partitions_def=dg.DailyPartitionsDefinition(start_date=BIASED))
    def scored() -> pd.DataFrame:
        return loans.head(900)

    dg.materialize([scored], instance=instance, partition_key=FAIR, run_config=QUIET)
    spec = make_spec("", source={"asset": "scored"}, partition_by={"time": "daily", "start": BIASED})
    runs = {day: _raw_data(scored, spec, instance, day=day) for day in (BIASED, FAIR)}
    assert len(runs[FAIR].output_for_node("loans__raw_data")) == 900
    assert _reason(runs[BIASED]).startswith("None was handed over in place of a table.")


class Joining(Stages):
    """Somebody's own: an audit of all parts together."""

    def take_table(self, table: Any) -> pd.DataFrame:
        joined: pd.DataFrame = pd.concat(table.values())
        return joined


@pytest.mark.parametrize(("days", "works"), [([BIASED, FAIR, "2026-01-03"], True), ([BIASED, FAIR], False)])
def test_a_stage_that_joins_parts_never_gets_only_some(
    days: list[str], works: bool, loans: pd.DataFrame, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    spec = make_spec("", source={"asset": "scored"})
    run = _raw_data(_scored(loans, days, instance), spec, instance, stages=Joining())
    assert run.success is works
    if works:
        assert len(run.output_for_node("loans__raw_data")) == 3 * len(loans)


@pytest.mark.parametrize("through", ["gate", "source"])
def test_an_asset_without_a_table_is_told_what_to_return(
    through: str, make_spec: Make, instance: dg.DagsterInstance
) -> None:
    @dg.asset
    def scored():  # type: ignore[no-untyped-def]
        return None

    spec = make_spec("", source={"asset": "scored"})
    if through == "gate":
        checks = build_bias_gate_checks(asset=scored, spec=spec)
        run = dg.materialize([scored, *checks], instance=instance, raise_on_error=False, run_config=QUIET)
    else:
        dg.materialize([scored], instance=instance, run_config=QUIET)
        run = _raw_data(scored, spec, instance)
    assert _reason(run).startswith(
        "None was handed over in place of a table. Expected a DataFrame (pandas or Polars), an Arrow table, a dict of "
        "columns or the path"
    )
