"""The schedule of an audit."""

from __future__ import annotations

import dagster as dg

from bdt_core.errors import SpecError
from bdt_pipeline.assets.common import AuditAssets


def build_schedule(audit: AuditAssets) -> dg.ScheduleDefinition | None:
    """The schedule that the specification asks for, running from the start; None without one.

    With parts by time, each tick audits the last part that is over.

    Raises
    ------
    SpecError
        The cron expression cannot be read.
    """
    cron = audit.spec.schedule
    if cron is None:
        return None
    parts = audit.partitions

    def request(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if not isinstance(parts, dg.TimeWindowPartitionsDefinition):
            return dg.RunRequest()
        over = parts.get_partition_keys(current_time=context.scheduled_execution_time)
        return dg.RunRequest(partition_key=over[-1]) if over else dg.SkipReason("No part of the data is over yet.")

    try:
        return dg.ScheduleDefinition(
            name=f"{audit.spec.name}_schedule",
            job_name=audit.job,
            cron_schedule=cron,
            execution_fn=request,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description=f"Audits {audit.spec.name} by {cron} (UTC).",
        )
    except dg.DagsterInvalidDefinitionError:
        raise SpecError(
            f'schedule: "{cron}" is not a cron expression. Expected minute, hour, day of month, month, day of week, as '
            'in "0 6 * * *" for every day at six (UTC).'
        ) from None
