"""The sensor that tells somebody: of failed checks, also those that stop nothing, and of runs that broke."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.automation.problems import Problem, message, news, of_check, of_failure
from bdt_pipeline.checks.history import DIFFERENCE, DRIFT
from bdt_pipeline.resources.notifier import require_apprise, tell, without_secrets

_AT_ONCE = 200
_ENDS = {"succeeded": dg.DagsterEventType.RUN_SUCCESS, "failed": dg.DagsterEventType.RUN_FAILURE}
_EVERY = 30
_PARTITION = "dagster/partition"
_OF_ALL_BATCHES = (DIFFERENCE, DRIFT)
"""Checks that say the same in the run of every part: one problem, however many files come."""


def build_alert_sensor(audit: AuditAssets) -> dg.SensorDefinition | None:
    """The sensor of the specification's ``notify``, running from the start; None without it.

    It looks at every run that has ended since its last look. Each problem is told once, again when it changes, and
    when it is over. What could not be sent is sent at the next look.

    Raises
    ------
    SpecError
        apprise is not installed.
    """
    if not audit.spec.notify:
        return None
    require_apprise()

    @dg.sensor(
        name=f"{audit.spec.name}_alerts",
        minimum_interval_seconds=_EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells of failed checks and runs: once per problem, again when it changes.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        state = json.loads(context.cursor) if context.cursor else {"seen": {}, "current": {}, "told": {}}
        current = {key: Problem(**one) for key, one in state["current"].items()}
        seen = dict(state["seen"])
        ended: list[tuple[int, str, str | None]] = []
        for end, event in _ENDS.items():
            runs, seen[end] = _ended(context.instance, event, state["seen"].get(end))
            ended += [(when, run_id, reason if end == "failed" else None) for when, run_id, reason in runs]
        for _, run_id, failure in sorted(ended):  # what happened last counts
            current |= {one.key: one for one in _problems(audit, context.instance, run_id, failure)}
        told = {}
        for i, address in enumerate(audit.spec.notify):  # one address that is dead must not silence the others
            name = f"{i} {without_secrets(address)}"
            before = state["told"].get(name, {})
            fresh, told[name] = news(current.values(), before, audit.spec.notify_from)
            if fresh and not tell(address, *message(audit.spec.name, fresh)):
                told[name] = before
                context.log.error(f"Could not tell {without_secrets(address)}; the next look tries again.")
        kept = {
            key: asdict(one) for key, one in current.items() if not one.over or any(key in x for x in told.values())
        }
        return dg.SensorResult(cursor=json.dumps({"seen": seen, "current": kept, "told": told}))

    return sensor


def _ended(
    instance: dg.DagsterInstance, event: dg.DagsterEventType, cursor: str | None
) -> tuple[list[tuple[int, str, str]], str | None]:
    """Runs that ended since the last look: number of the event, run, message. At the first look none."""
    if cursor is None:
        latest = instance.fetch_run_status_changes(event, limit=1, ascending=False)
        return [], latest.cursor
    result = instance.fetch_run_status_changes(event, limit=_AT_ONCE, cursor=cursor, ascending=True)
    runs = [(one.storage_id, one.run_id, one.event_log_entry.user_message or "") for one in result.records]
    return runs, result.cursor


def _problems(audit: AuditAssets, instance: dg.DagsterInstance, run_id: str, failure: str | None) -> Iterator[Problem]:
    """What one run says about this audit."""
    run = instance.get_run_by_id(run_id)
    if run is None:
        return
    part = run.tags.get(_PARTITION) if isinstance(audit.partitions, dg.DynamicPartitionsDefinition) else None
    mine = run.job_name == f"{audit.spec.name}_audit"
    checks_failed = False
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        event = record.dagster_event
        if event is None:
            continue
        check: Any = event.asset_check_evaluation_data
        if check.asset_key.path[0] != audit.spec.name:
            continue
        mine = True
        error = check.severity is dg.AssetCheckSeverity.ERROR
        checks_failed = checks_failed or (not check.passed and error and check.blocking)
        yield of_check(
            f"{check.asset_key.path[-1]}: {check.check_name}",
            passed=check.passed,
            error=error,
            blocking=check.blocking,
            description=check.description,
            metadata={name: value.value for name, value in check.metadata.items()},
            part=None if check.check_name in _OF_ALL_BATCHES else part,
        )
    if not mine:
        return
    name = f"{audit.spec.name}_audit"
    if failure is None:
        yield replace(of_failure(name, run_id, "The run succeeded.", part), over=True)
    elif not checks_failed:  # a failed gate has been told as such
        yield of_failure(name, run_id, _first_reason(instance, run_id) or failure, part)


def _first_reason(instance: dg.DagsterInstance, run_id: str) -> str:
    """What the first failed step says for people; for other errors their kind only, without what they may quote."""
    for record in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_FAILURE):
        event = record.dagster_event
        if event is None:
            continue
        failed = event.step_failure_data
        if failed.user_failure_data is not None:
            return failed.user_failure_data.description or ""
        if failed.error is not None:
            return f"{event.step_key}: {failed.error.cls_name}"
    return ""
