"""Drift that is certain launches somebody's job once, and a new model is let in only where it is no worse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import pytest

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions, build_bias_gate_checks
from tests.pipeline.test_history import QUIET, by_day, people, run_part

__all__ = ["by_day"]  # a fixture of theirs

Make = Callable[..., AuditSpec]


@dg.job
def train_model() -> None:
    """The user's."""


@pytest.fixture
def retrained(by_day: AuditSpec) -> AuditSpec:
    history = by_day.history.model_copy(update={"retrain": "train_model"})
    return by_day.model_copy(update={"history": history})


def looks(spec: AuditSpec, instance: dg.DagsterInstance) -> Callable[[], Any]:
    """A look of the sensor, as the daemon takes it: it forgets all but what the instance holds."""
    defs = dg.Definitions.merge(bias_audit_definitions(spec), dg.Definitions(jobs=[train_model]))
    sensor = defs.resolve_sensor_def("loans_retraining")

    def look() -> Any:
        context = dg.build_sensor_context(instance=instance, repository_def=defs.get_repository_def())
        return sensor.evaluate_tick(context)

    return look


def test_a_job_is_launched_once_for_each_time_that_drift_is_certain(
    by_day: AuditSpec, retrained: AuditSpec, instance: dg.DagsterInstance
) -> None:
    look = looks(retrained, instance)
    assert look().run_requests == []  # nothing has run
    for number in (1, 2, 3):
        assert run_part(by_day, instance, f"2026-01-0{number}").success
    assert "does not drift" in look().skip_message
    first = run_part(by_day, instance, "2026-01-04")  # from here on the algorithm errs more often on women
    (request,) = look().run_requests
    assert request.tags["bdt/part"] == "2026-01-04"
    assert request.tags["bdt/drift_seen_by"] == first.run_id
    run_part(by_day, instance, "2026-01-05")  # it still drifts: the same drift
    for _ in range(2):  # the key of the run, and not a cursor, keeps Dagster from starting it twice
        (again,) = look().run_requests
        assert again.run_key == request.run_key

    source = Path(str(retrained.source.path).replace("{partition}", "2026-01-05"))
    harmed = source.read_bytes()
    people(7, 0.2).to_csv(source, index=False)
    assert run_part(by_day, instance, "2026-01-05").success
    assert look().run_requests == []  # it is over
    source.write_bytes(harmed)
    anew = run_part(by_day, instance, "2026-01-05")
    (other,) = look().run_requests
    assert other.run_key == f"drift seen by {anew.run_id}" != request.run_key


def test_no_sensor_without_the_key_and_no_key_without_groups(by_day: AuditSpec, make_spec: Make) -> None:
    assert "loans_retraining" not in {one.name for one in bias_audit_definitions(by_day).sensors or ()}
    with pytest.raises(SpecError, match=r"history.retrain"):
        make_spec("loans.csv", history={"retrain": "train_model"}, protected=[])


def test_a_job_that_is_not_there_is_named_when_definitions_load(retrained: AuditSpec) -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="train_model"):
        bias_audit_definitions(retrained).get_repository_def()


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "kept")


@pytest.fixture
def in_use(make_spec: Make, instance: dg.DagsterInstance, storage: str) -> AuditSpec:
    """An audit of a model in use that errs far more often on women, with its report in a storage of its own."""
    groups: dict[str, Any] = {
        "bias_variable": {"derive": "error", "label": "repaid", "prediction": "approved"},
        "gate": [{"metric": "accuracy_difference", "facet": "sex", "min": -0.1, "max": 0.1}],
        "groups": {"reference": "m"},
        "clustering": {"stability": 0},
    }
    spec = make_spec("", source={"asset": "scored"}, **groups)

    @dg.asset
    def scored() -> pd.DataFrame:
        return people(1, 0.5, rows=3_000)

    defs = dg.Definitions.merge(bias_audit_definitions(spec, storage=storage), dg.Definitions(assets=[scored]))
    with_scored = dg.define_asset_job("all_of_it", executor_def=dg.in_process_executor)
    whole = dg.Definitions.merge(defs, dg.Definitions(jobs=[with_scored])).resolve_job_def("all_of_it")
    assert not whole.execute_in_process(instance=instance, raise_on_error=False, run_config=QUIET).success  # the gate
    return spec


def admitted(frame: pd.DataFrame, spec: AuditSpec, instance: dg.DagsterInstance, **more: Any) -> tuple[bool, str]:
    """Whether what is downstream of a new model's table is made, and what the check says."""

    @dg.asset
    def scored_by_new_model() -> pd.DataFrame:
        return frame

    @dg.asset(deps=[scored_by_new_model])
    def admitted_model() -> None: ...

    checks = build_bias_gate_checks(asset=scored_by_new_model, spec=spec, **more)
    result = dg.materialize(
        [scored_by_new_model, admitted_model, *checks], instance=instance, raise_on_error=False, run_config=QUIET
    )
    (check,) = result.get_asset_check_evaluations()
    made = {event.asset_key.path[-1] for event in result.get_asset_materialization_events() if event.asset_key}
    return "admitted_model" in made, str(check.description)


def test_a_new_model_is_let_in_where_it_is_no_worse_than_the_one_in_use(
    in_use: AuditSpec, instance: dg.DagsterInstance, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_bad = people(2, 0.5, rows=3_000)
    assert not admitted(as_bad, in_use, instance)[0]  # the limits alone
    assert not admitted(as_bad, in_use, instance, canary=True)[0]  # there is no report in the instance's storage
    let_in, why = admitted(as_bad, in_use, instance, canary=True, storage=storage)
    assert let_in, why
    monkeypatch.setenv("BDT_STORAGE", storage)
    let_in, why = admitted(people(3, 0.8, rows=3_000), in_use, instance, canary=True)
    assert not let_in
    assert why == "Worse than the baseline: accuracy_difference by sex."


def test_the_first_model_has_to_keep_the_limits(in_use: AuditSpec, tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral(str(tmp_path / "another")) as empty:
        assert not admitted(people(2, 0.5, rows=3_000), in_use, empty, canary=True)[0]
