"""The sensors that tell somebody: of failed checks, also those that stop nothing, and of runs that broke."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.automation.problems import (
    Problem,
    follow,
    in_short,
    message,
    news,
    of_check,
    of_failure,
    with_others,
)
from bdt_pipeline.checks.gate import GATE
from bdt_pipeline.checks.history import DIFFERENCE, DRIFT
from bdt_pipeline.checks.limits import held_by_gate
from bdt_pipeline.resources.config import advice_of, reason_of
from bdt_pipeline.resources.notifier import Tone, cannot_tell, incidents_of, tell, without_secrets
from bdt_pipeline.resources.run_log import log

_AT_ONCE = 200
_EVERY = 30
_LONGEST_KEY = 255  # of an incident, at PagerDuty
_PARTITION, _LAST_OF_RANGE = "dagster/partition", "dagster/asset_partition_range_end"
_ENDS = {"succeeded": dg.DagsterEventType.RUN_SUCCESS, "failed": dg.DagsterEventType.RUN_FAILURE}
_EVENTS = {
    dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED,
    dg.DagsterEventType.ASSET_CHECK_EVALUATION,
    dg.DagsterEventType.STEP_START,
    dg.DagsterEventType.STEP_SUCCESS,
    dg.DagsterEventType.STEP_FAILURE,
}
_FAILED_GATE = "DagsterAssetCheckFailedError"
_OF_ALL_BATCHES = (DIFFERENCE, DRIFT)
"""Checks that say the same in the run of every part: one problem, however many files come."""


@dataclass(frozen=True)
class _Watched:
    """What is watched: the assets of an audit and their checks, or only the checks that are named.

    Attributes
    ----------
    audit : str
    under : tuple of str
        What the keys of its assets begin with.
    checks : frozenset of AssetCheckKey or None
    limits : frozenset of AssetCheckKey
        Checks of limits that the gate holds as well.
    partitions : callable
    """

    audit: str
    under: tuple[str, ...]
    checks: frozenset[dg.AssetCheckKey] | None
    limits: frozenset[dg.AssetCheckKey]
    partitions: Callable[[dg.AssetKey], dg.PartitionsDefinition[Any] | None]

    def has_asset(self, key: dg.AssetKey) -> bool:
        return self.checks is None and tuple(key.path[: len(self.under)]) == self.under

    def has_check(self, key: dg.AssetCheckKey) -> bool:
        return self.has_asset(key.asset_key) if self.checks is None else key in self.checks

    def name_of_check(self, key: dg.AssetCheckKey) -> str:
        asset = key.asset_key.path[-1] if self.checks is None else key.asset_key.to_user_string()
        return f"{asset}: {key.name}"

    def part(self, asset: dg.AssetKey, run: dg.DagsterRun) -> dict[str, Any]:
        """The part of the data that a run is about, and whether parts follow each other in time."""
        partitions = self.partitions(asset)
        if partitions is None:
            return {"part": None}
        part = run.tags.get(_PARTITION, run.tags.get(_LAST_OF_RANGE))
        return {"part": part, "in_time": isinstance(partitions, dg.TimeWindowPartitionsDefinition)}


def build_alert_sensor(audit: AuditAssets) -> dg.SensorDefinition | None:
    """The sensor of the specification's ``notify``, running from the start; None without it.

    It looks at every run that has ended since its last look, of whatever job, and tells what it says about the assets
    under the audit's name: checks that do not pass, steps that broke, and runs that died with a step of the audit
    unfinished. What broke in other assets of such a run is not told. Runs that ended before its first look are not
    told either. Drift and differences over time are told with the gate of the same run, where that does not pass.

    Each problem is told once, again when it changes, and when it is over; one that came and went between two looks is
    told with its end. What could not be tested is no problem, and ends none; limits of a gate that does not pass are
    told with it. Files of an inbox and other dynamic parts are problems of their own. Parts by time share one: a gate
    that fails every day in the same way is told on the first day, and is over when the newest day that failed, or a
    later one, passes. A service that keeps incidents (PagerDuty) has one per problem, which is resolved when that is
    over. What could not be sent is sent at the next look. Without apprise nobody is told: every look says so, and the
    check ``alerts`` on the report does not pass.
    """
    partitions = audit.partitions
    watched = _Watched(audit.spec.name, audit.under, None, held_by_gate(audit), lambda _: partitions)
    return _build_sensor(f"{audit.spec.name}_alerts", audit.spec, watched)


def build_gate_alert_sensor(
    *, spec: AuditSpec, checks: Sequence[dg.AssetChecksDefinition]
) -> dg.SensorDefinition | None:
    """The sensor that tells of some checks only, wherever they hang: those of `build_bias_gate_checks`.

    It tells as `build_alert_sensor` does, when one of the checks does not pass or breaks. What breaks in the asset
    itself is not told.

    Parameters
    ----------
    spec : AuditSpec
        Its ``notify`` and ``notify_from``; its name is the first part of the sensor's name, ``<name>_gate_alerts``.
    checks : sequence of AssetChecksDefinition

    Returns
    -------
    SensorDefinition or None
        Running from the start; None when the specification names nobody. Without apprise nobody is told, and every
        look says so.

    Examples
    --------
    >>> from bdt_pipeline import build_bias_gate_checks
    >>> @dg.asset
    ... def predictions(): ...
    >>> spec = AuditSpec(
    ...     name="loans", source={"asset": "predictions"}, bias_variable={"column": "error"},
    ...     notify=["mailto://team@example.org"],
    ... )
    >>> build_gate_alert_sensor(spec=spec, checks=build_bias_gate_checks(asset=predictions, spec=spec)).name
    'loans_gate_alerts'
    """
    partitions = {one.asset_key: one.partitions_def for check in checks for one in check.check_specs}
    keys = frozenset(key for one in checks for key in one.check_keys)
    return _build_sensor(
        f"{spec.name}_gate_alerts", spec, _Watched(spec.name, (spec.name,), keys, frozenset(), partitions.get)
    )


def _build_sensor(name: str, spec: AuditSpec, watched: _Watched) -> dg.SensorDefinition | None:
    if not spec.notify:
        return None

    @dg.sensor(
        name=name,
        minimum_interval_seconds=_EVERY,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells of failed checks and runs: once per problem, again when it changes.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        problem = cannot_tell()
        if problem is not None:
            return dg.SkipReason(problem)
        state = json.loads(context.cursor) if context.cursor else {"seen": {}, "current": {}, "told": {}}
        before = {key: Problem.from_json(one) for key, one in state["current"].items()}
        ended, seen = _ended(context.instance, state["seen"])
        problems = [one for run_id, failure in ended for one in _problems(watched, context.instance, run_id, failure)]
        happened, current = follow(problems, before)
        sent, waiting = {}, {}
        for i, address in enumerate(spec.notify):  # one address that is dead must not silence the others
            kept = f"{i} {without_secrets(address)}"
            # what was there before is told to an address that is new
            fresh, sent[kept] = news([*before.values(), *happened], state["told"].get(kept, {}), spec.notify_from)
            unsent = [Problem.from_json(one) for one in state.get("waiting", {}).get(kept, [])]
            left = _tell(address, spec.name, in_short([*unsent, *fresh]), everything_over=not sent[kept])
            if left:
                waiting[kept] = [asdict(one) for one in left]
                log(context, f"Could not tell {without_secrets(address)}; the next look tries again.", "error")
        cursor = {"seen": seen, "current": {key: asdict(one) for key, one in current.items() if not one.over}}
        return dg.SensorResult(cursor=json.dumps({**cursor, "told": sent, "waiting": waiting}))

    return sensor


def _tell(address: str, audit: str, fresh: Sequence[Problem], *, everything_over: bool) -> list[Problem]:
    """Send the news; back comes what could not be sent."""
    incidents = incidents_of(address) if fresh else "none"
    parcels = [[one] for one in fresh] if incidents == "each" else [list(fresh)] if fresh else []
    left = []
    for parcel in parcels:
        tone: Tone = "warning"
        if all(one.over for one in parcel) and (incidents != "one" or everything_over):
            tone = "success"
        elif any(one.severity in ("critical", "high") and not one.over for one in parcel):
            tone = "failure"
        incident = f"bias audit {audit}: {parcel[0].key}"
        if not tell(address, *message(audit, parcel), tone=tone, incident=incident[:_LONGEST_KEY]):
            left += parcel
    return left


def _ended(
    instance: dg.DagsterInstance, seen: dict[str, str | None]
) -> tuple[list[tuple[str, str | None]], dict[str, str | None]]:
    """Runs that ended since the last look, in order: run, and what it says of its failure. At the first look none."""
    pages = {end: _page(instance, event, seen.get(end), _AT_ONCE) for end, event in _ENDS.items()}
    full = [runs[-1][0] for runs, _ in pages.values() if len(runs) == _AT_ONCE]
    if full:  # the rest of one kind must not come after later runs of the other
        for end, (runs, _) in pages.items():
            some = sum(number <= min(full) for number, _, _ in runs)
            pages[end] = _page(instance, _ENDS[end], seen[end], some) if some else ([], seen[end])
    ended = [
        (number, run_id, reason if end == "failed" else None)
        for end, (runs, _) in pages.items()
        for number, run_id, reason in runs
    ]
    ordered = [(run_id, failure) for _, run_id, failure in sorted(ended, key=lambda one: one[0])]
    return ordered, {end: cursor for end, (_, cursor) in pages.items()}


def _page(
    instance: dg.DagsterInstance, event: dg.DagsterEventType, cursor: str | None, most: int
) -> tuple[list[tuple[int, str, str]], str | None]:
    if cursor is None:
        return [], instance.fetch_run_status_changes(event, limit=1, ascending=False).cursor
    result = instance.fetch_run_status_changes(event, limit=most, cursor=cursor, ascending=True)
    runs = [(one.storage_id, one.run_id, one.event_log_entry.message) for one in result.records]
    return runs, result.cursor


def _problems(watched: _Watched, instance: dg.DagsterInstance, run_id: str, failure: str | None) -> Iterator[Problem]:
    """What one run says about what is watched."""
    run = instance.get_run_by_id(run_id)
    if run is None:
        return
    events = [one.dagster_event for one in instance.all_logs(run_id, of_type=_EVENTS) if one.dagster_event is not None]
    steps = dict(_planned(watched, events))
    running: set[str] = set()
    ended: set[str] = set()
    anything_failed = False
    evaluations = [one for one in events if one.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION]
    yield from _of_evaluations(watched, run, evaluations)
    for event in events:
        anything_failed = anything_failed or event.is_step_failure
        step = event.step_key
        if step is None or step not in steps:
            continue
        if event.event_type is dg.DagsterEventType.STEP_START:
            running.add(step)
        elif event.is_step_success or event.is_step_failure:
            running.discard(step)
            ended.add(step)
            reason = _why_it_broke(event) if event.is_step_failure else None
            name = step.removeprefix(f"{dg.AssetKey(watched.under).to_python_identifier()}__")
            yield of_failure(
                name,
                f"Run of {run.job_name}: {name}",
                run_id=run_id,
                reason=reason or "It went well.",
                over=reason is None,
                recommendation=advice_of(event.step_failure_data) if reason is not None else None,
                **watched.part(steps[step], run),
            )
    died = failure is not None and bool(running or (steps and not anything_failed and steps.keys() - ended))
    if died or ended:
        yield of_failure(
            f"{watched.audit}_audit",
            f"Run of {run.job_name}",
            run_id=run_id,
            reason=(failure or "") if died else "It went well.",
            over=not died,
            **watched.part(next(iter(steps.values())), run),
        )


def _planned(watched: _Watched, events: Iterable[dg.DagsterEvent]) -> Iterator[tuple[str, dg.AssetKey]]:
    """Steps of the run that make or check what is watched, with the asset."""
    for event in events:
        if event.step_key is None:
            continue
        if event.event_type is dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED:
            if event.asset_key is not None and watched.has_asset(event.asset_key):
                yield event.step_key, event.asset_key
        elif event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED:
            check = event.asset_check_planned_data.asset_check_key
            if watched.has_check(check):
                yield event.step_key, check.asset_key


def _of_evaluations(watched: _Watched, run: dg.DagsterRun, events: Sequence[dg.DagsterEvent]) -> Iterator[Problem]:
    """What the checks say; limits of a gate that does not pass, drift and differences over time are told with it.

    Without a gate that does not pass, drift is told with a difference over time.
    """
    problems: dict[dg.AssetCheckKey, Problem] = {}
    for event in events:
        check: Any = event.asset_check_evaluation_data
        if watched.has_check(check.asset_check_key) and not _could_not_be_tested(check):
            problems[check.asset_check_key] = _of_evaluation(watched, run, check)
    failing = {key.name: key for key, one in problems.items() if watched.checks is None and not one.over}
    first = next((failing[name] for name in (GATE, *_OF_ALL_BATCHES) if name in failing), None)
    if first is not None:
        held = [key for key, one in problems.items() if key in watched.limits and not one.over]
        limits = [problems.pop(key) for key in held if first.name == GATE]
        others = [problems.pop(failing[name]) for name in _OF_ALL_BATCHES if name in failing and failing[name] != first]
        problems[first] = with_others(problems[first], limits, others)
    yield from problems.values()


def _could_not_be_tested(check: Any) -> bool:
    """Whether there was nothing to test, and nothing was stopped: that says nothing, neither good nor bad."""
    verdict = check.metadata.get("verdict")
    warns = check.severity is not dg.AssetCheckSeverity.ERROR
    return bool(not check.passed and warns and verdict is not None and verdict.value == "not_testable")


def _of_evaluation(watched: _Watched, run: dg.DagsterRun, check: Any) -> Problem:
    of_all = watched.checks is None and check.check_name in _OF_ALL_BATCHES
    return of_check(
        watched.name_of_check(check.asset_check_key),
        passed=check.passed,
        error=check.severity is dg.AssetCheckSeverity.ERROR,
        blocking=check.blocking,
        description=check.description,
        metadata={name: value.value for name, value in check.metadata.items()},
        **({"part": None} if of_all else watched.part(check.asset_key, run)),
    )


def _why_it_broke(event: dg.DagsterEvent) -> str | None:
    """What a failed step says for people; for other errors their kind only, without what they may quote.

    None for a check that did its work and failed: this is told as such.
    """
    failed = event.step_failure_data
    reason = reason_of(failed)
    if reason is not None:
        return reason
    if failed.error is not None and failed.error.cls_name == _FAILED_GATE:
        return None
    error = failed.error and (failed.error.cause or failed.error)
    return f"{event.step_key}: {error.cls_name if error else 'failed'}"
