"""Schedules: what they start, and when there is nothing to start."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import dagster as dg
import pytest

from bdt_core.errors import SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline import bias_audit_definitions

Make = Callable[..., AuditSpec]


def ticked(spec: AuditSpec, at: str, instance: dg.DagsterInstance) -> dg.RunRequest | dg.SkipReason:
    defs = bias_audit_definitions(spec)
    schedule = defs.resolve_schedule_def("loans_schedule")
    when = datetime.datetime.fromisoformat(at).replace(tzinfo=datetime.UTC)
    context = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=when, repository_def=defs.get_repository_def()
    )
    data = schedule.evaluate_tick(context)
    return data.run_requests[0] if data.run_requests else dg.SkipReason(data.skip_message)


def test_all_data_at_every_tick(make_spec: Make, instance: dg.DagsterInstance) -> None:
    found = ticked(make_spec("loans.csv", schedule="0 6 * * *"), "2026-01-05T06:00:00", instance)
    assert isinstance(found, dg.RunRequest)
    assert found.partition_key is None


def test_the_last_day_that_is_over(make_spec: Make, instance: dg.DagsterInstance) -> None:
    daily = {"time": "daily", "start": "2026-01-01"}
    spec = make_spec("{partition}.csv", schedule="0 6 * * *", partition_by=daily)
    found = ticked(spec, "2026-01-05T06:00:00", instance)
    assert isinstance(found, dg.RunRequest)
    assert found.partition_key == "2026-01-04"
    assert isinstance(ticked(spec, "2026-01-01T06:00:00", instance), dg.SkipReason)


def test_a_schedule_runs_from_the_start(make_spec: Make) -> None:
    schedule = bias_audit_definitions(make_spec("loans.csv", schedule="@daily")).resolve_schedule_def("loans_schedule")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    assert schedule.job_name == "loans_audit"


def test_no_schedule_without_the_key(make_spec: Make) -> None:
    assert not list(bias_audit_definitions(make_spec("loans.csv")).schedules or ())


def test_a_cron_expression_that_is_none_is_named(make_spec: Make) -> None:
    with pytest.raises(SpecError, match='schedule: "every morning" is not a cron expression'):
        bias_audit_definitions(make_spec("loans.csv", schedule="every morning"))
