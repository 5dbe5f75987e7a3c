"""The asset that follows the declared groups over batches."""

import datetime
from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.assets import views_history as views
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.values import GroupCounts, History
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.history_store import HistoryStore, name_of_content
from bdt_pipeline.resources.run_log import log
from bdt_pipeline.resources.storage import storage_root

_NO_PARTS = (
    "The data has no parts, so every new content counts as a batch of its own. That is right when each run brings "
    "other rows; a table that grows holds the same rows again and again, which makes differences look surer than "
    "they are: give it partition_by or an inbox."
)


def bias_history(audit: AuditAssets) -> dg.AssetsDefinition:
    """What all batches so far show together."""

    of_content = () if audit.partitions is not None else ("validated_data",)

    @audit.asset(
        "bias_history",
        description=(
            "The counts of all batches so far: differences between the declared groups over time, with evidence that "
            "stays valid however often one looks, trends, and drift of the latest batch. A batch that is audited "
            "again replaces itself."
        ),
        kinds={"numpy", "json"},
        made_by=tuple(AuditSpec.model_fields),
        takes=["group_counts", *of_content],
    )
    def asset(
        context: dg.AssetExecutionContext, group_counts: GroupCounts, **content: Any
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            spec = audit.spec_of_run(context, "group_counts", *content)
            history, batch, remarks = followed(context, audit, spec, group_counts, content.get("validated_data"))
        notes = [*history.notes, *remarks, *([_NO_PARTS] if audit.partitions is None else [])]
        return audit.made(history, views.history(history, batch, notes), spec)

    return asset


def followed(
    context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec, counts: GroupCounts, table: Any
) -> tuple[History, str, list[str]]:
    """The history with the batch of a run, the name of that batch, and what cannot be read of others.

    The batch is called by the part of the data; where this has none, by the content of the table.
    """
    from bdt_core.history import batch_of, follow

    store = HistoryStore(storage_root(context.instance, audit.storage), audit.spec.name)
    start, now = _start_of_part(context), datetime.datetime.now(datetime.UTC)
    name = str(context.partition_key) if context.has_partition_key else name_of_content(table.fingerprint, counts)
    batch = batch_of(counts, id=name, time=start or now, counted=now if spec.history.labels_after else None)
    changed = store.record(batch, keep_time=start is None)
    batches, remarks = store.read()
    history = follow(batches, spec)
    for remark in remarks:
        log(context, f"{store.folder}: {remark}", "warning")
    log(context, f"Batch {batch.id} {'recorded' if changed else 'was there already'}.")
    return history, batch.id, remarks


def _start_of_part(context: dg.AssetExecutionContext) -> datetime.datetime | None:
    """Where the part begins in time; None where parts are not made by time."""
    if context.has_partition_key and isinstance(context.assets_def.partitions_def, dg.TimeWindowPartitionsDefinition):
        start: datetime.datetime = context.partition_time_window.start
        return start
    return None
