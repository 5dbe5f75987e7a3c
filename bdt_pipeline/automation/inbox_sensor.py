"""The sensor that audits every file of the inbox once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import dagster as dg

from bdt_core.errors import SourceError
from bdt_core.spec import Inbox
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.partitions import inbox_partitions
from bdt_pipeline.automation.waiting_files import FILE, cannot_share, name_of_job, request, taken_up
from bdt_pipeline.resources.inbox import Arrived, cannot_be_a_part, look_into, put_aside
from bdt_pipeline.resources.run_log import log

MOST_OF_A_LOOK = 100


def build_inbox_sensor(audit: AuditAssets) -> dg.SensorDefinition | None:
    """The sensor of the specification's inbox, running from the start; None without one.

    A file is taken when it has not changed for `inbox.settle` seconds. It becomes a part of the data with one run; up
    to `inbox.at_once` of these runs share a process. A file that changes later, or comes again under its name, is
    audited again and takes its own place.
    """
    inbox = audit.spec.inbox
    if inbox is None:
        return None

    @dg.sensor(
        name=f"{audit.spec.name}_inbox",
        job_name=audit.job if inbox.at_once == 1 else name_of_job(audit),
        minimum_interval_seconds=inbox.every,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Audits every new file in {inbox.folder} ({inbox.pattern}) once.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        if problem := cannot_share(audit, context.instance):
            return dg.SkipReason(problem)
        try:
            arrived = _usable(look_into(inbox), inbox, context)
        except SourceError as error:  # tomorrow it may be there again
            return dg.SkipReason(str(error))
        seen = json.loads(context.cursor) if context.cursor else {}
        known, whole = settled(arrived, seen, time.time(), inbox.settle)
        name = inbox_partitions(audit.spec)
        return dg.SensorResult(
            run_requests=list(_requests(audit, inbox, whole, arrived, context.instance)),
            dynamic_partitions_requests=[
                dg.DynamicPartitionsDefinition(name=name).build_add_request([one.name for one in whole])
            ],
            cursor=json.dumps(known),
        )

    return sensor


def _requests(
    audit: AuditAssets, inbox: Inbox, whole: list[Arrived], arrived: list[Arrived], instance: dg.DagsterInstance
) -> Iterator[dg.RunRequest]:
    """A run per file, or per so many as share a process, with the rest of those whose process died."""
    if inbox.at_once == 1:
        for file in whole:
            yield dg.RunRequest(partition_key=file.name, run_key=f"{file.name} ({file.state})", tags={FILE: file.name})
        return
    yield from taken_up(instance, audit, {one.name: one.state for one in arrived})
    for first in range(0, len(whole), inbox.at_once):
        yield request(audit, {one.name: one.state for one in whole[first : first + inbox.at_once]})


def settled(
    arrived: list[Arrived], seen: dict[str, Any], now: float, settle: float
) -> tuple[dict[str, Any], list[Arrived]]:
    """Which files have come to rest, and what to remember of all of them.

    Parameters
    ----------
    arrived : list of Arrived
    seen : dict
        By name: the state, since when it has it, and whether it was taken.
    now : float
        Seconds.
    settle : float
        Seconds that a file must keep its state.

    Returns
    -------
    known : dict
        `seen` for the next look; files that are gone are forgotten.
    whole : list of Arrived
        Files to be audited now, at most `MOST_OF_A_LOOK`.

    Examples
    --------
    >>> known, whole = settled([Arrived("a.csv", "9 bytes")], {}, 0.0, 5.0)
    >>> whole, settled([Arrived("a.csv", "9 bytes")], known, 6.0, 5.0)[1]
    ([], [Arrived(name='a.csv', state='9 bytes')])
    """
    known: dict[str, Any] = {}
    whole: list[Arrived] = []
    for file in arrived:
        before = seen.get(file.name)
        if before is None or before["state"] != file.state:
            before = {"state": file.state, "since": now, "taken": False}
        if not before["taken"] and now - before["since"] >= settle and len(whole) < MOST_OF_A_LOOK:
            before = before | {"taken": True}
            whole.append(file)
        known[file.name] = before
    return known, whole


def _usable(arrived: list[Arrived], inbox: Inbox, context: dg.SensorEvaluationContext) -> list[Arrived]:
    """Files whose names can be parts; the others are put aside at once."""
    usable = []
    for file in arrived:
        reason = cannot_be_a_part(file.name)
        if reason is None:
            usable.append(file)
        else:
            put_aside(inbox, file.name, reason)
            log(context, f"{file.name!r} was put into quarantine: {reason}.", "warning")
    return usable
