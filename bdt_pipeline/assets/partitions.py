"""The parts of the data that an audit looks at one by one."""

from __future__ import annotations

from typing import Any

import dagster as dg
from pydantic import ValidationError

from bdt_core.errors import SourceError
from bdt_core.spec import AuditSpec, Source

_TIME: dict[str, Any] = {
    "hourly": dg.HourlyPartitionsDefinition,
    "daily": dg.DailyPartitionsDefinition,
    "weekly": dg.WeeklyPartitionsDefinition,
    "monthly": dg.MonthlyPartitionsDefinition,
}


def partitions_of(spec: AuditSpec) -> dg.PartitionsDefinition[Any] | None:
    """Dagster's partitions for a specification; None when all data is one.

    Examples
    --------
    >>> daily = {"time": "daily", "start": "2026-01-01"}
    >>> spec = AuditSpec(
    ...     name="a", source={"path": "{partition}.csv"}, bias_variable={"column": "y"}, partition_by=daily
    ... )
    >>> partitions_of(spec).get_first_partition_key()
    '2026-01-01'
    """
    if spec.inbox is not None:
        return dg.DynamicPartitionsDefinition(name=inbox_partitions(spec))
    by = spec.partition_by
    if by is None:
        return None
    if by.time is None:
        return dg.DynamicPartitionsDefinition(name=by.dynamic)
    start = f"{by.start}-00:00" if by.time == "hourly" else by.start
    definition: dg.PartitionsDefinition[Any] = _TIME[by.time](start_date=start)
    return definition


def inbox_partitions(spec: AuditSpec) -> str:
    """Name of the parts that come from the inbox."""
    return f"{spec.name}_files"


def source_of_part(source: Source, context: dg.AssetExecutionContext) -> Source:
    """The source with the part that this run is about.

    Raises
    ------
    SourceError
        The run is about several parts at once, which would be audited as one.
    """
    if context.has_partition_key_range:
        key_range = context.partition_key_range
        raise SourceError(
            f"A run audits one part of the data, and this one was given all from {key_range.start} to {key_range.end}. "
            "Launch a run per part, as a backfill does."
        )
    if not context.has_partition_key:
        return source
    changes: dict[str, Any] = {"partition": context.partition_key}
    if isinstance(context.assets_def.partitions_def, dg.TimeWindowPartitionsDefinition):
        window = context.partition_time_window
        changes["parameters"] = source.parameters | {
            "partition_start": window.start.isoformat(),
            "partition_end": window.end.isoformat(),
        }
    try:
        return Source.model_validate({**source.model_dump(), **changes})
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise SourceError(f"The part of this run cannot be read: {reason}.") from None
