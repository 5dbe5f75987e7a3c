"""The assets that are tables: as read, as audited, and its two parts."""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec, Source
from bdt_core.stages import Stages
from bdt_pipeline.assets import views
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.large_tables import is_large_source, large_source_metadata, validated_in_shards, work_metadata
from bdt_pipeline.assets.looks import begin_look
from bdt_pipeline.assets.partitions import source_of_part
from bdt_pipeline.assets.values import AuditTable, DataFrame
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import log

_SOURCE = "bdt_source"
_PARENT_RUN = "dagster/parent_run_id"
_PARTS_MAY_BE_MISSING = {"allow_missing_partitions": True}
"""Metadata for the IO managers of Dagster that store files: of several parts they hand over those that are there, and
of one that is missing None. Our stage refuses both in a sentence; without it, they raise that a file is missing."""


def raw_data(audit: AuditAssets) -> dg.AssetsDefinition:
    """The table as the source gives it."""

    @audit.asset(
        "raw_data",
        description="The table as it was read: nothing dropped, nothing converted.",
        kinds={"pandas", "parquet"},
        made_by=["source"],
        takes=upstream(audit),
        stored_as="table",
    )
    def asset(context: dg.AssetExecutionContext, **inputs: Any) -> dg.MaterializeResult[Any]:
        with clear_failures(audit.quarantine(context)):
            spec = audit.spec_of_run(context)
            table, taken = read_source(context, audit, spec, inputs)
        if is_large_source(table):
            return audit.made(table, large_source_metadata(table), spec)
        return audit.made(table, views.raw_table(table, _source(table, spec.source), taken), spec)

    return asset


def read_source(
    context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec, inputs: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    """The table of the run's part as its source gives it, or where it is left, and the columns that the source has."""
    from bdt_core.shards.scratch import remove_abandoned
    from bdt_core.table.read_alone import refuse_deadly
    from bdt_core.table.sources import as_source_reads_it

    remove_abandoned()
    begin_look(context, audit, spec)
    source = source_of_part(spec.source, context)
    if not inputs and _PARENT_RUN in context.run.tags:  # what ended the first run may end this one
        refuse_deadly(source)
    large = None if inputs else audit.stages.leave_in_place(spec.model_copy(update={"source": source}))
    if large is not None:
        log(context, f"{source.described} is left where it is: {large.reason}.")
        return large, []
    frame = audit.stages.take_table(inputs["upstream"]) if inputs else audit.stages.read_table(source)
    taken = list(map(str, frame.columns))
    frame = as_source_reads_it(frame, source)
    frame.attrs[_SOURCE] = source.model_dump(mode="json")
    return frame, taken


def upstream(audit: AuditAssets) -> dict[str, dg.AssetIn]:
    """The asset that is the source, if one is."""
    if audit.spec.source.asset is None:
        return {}
    ours = type(audit.stages).take_table is Stages.take_table  # theirs may join parts, and needs all
    key = dg.AssetKey.from_user_string(audit.spec.source.asset)
    return {"upstream": dg.AssetIn(key=key, metadata=_PARTS_MAY_BE_MISSING if ours else None)}


def validated_data(audit: AuditAssets) -> dg.AssetsDefinition:
    """The rows and columns that are audited."""

    @audit.asset(
        "validated_data",
        description="Columns with settled types and roles, and the bias variable: what is measured per person.",
        kinds={"pandas", "parquet"},
        takes=["raw_data"],
        stored_as="table",
    )
    def asset(context: dg.AssetExecutionContext, raw_data: DataFrame) -> dg.MaterializeResult[Any]:
        with clear_failures(audit.quarantine(context)):
            spec = audit.spec_of_run(context, "raw_data")
            table = validated(context, audit, spec, raw_data)
        return audit.made(table, views.validated_table(table, audit.key("raw_data")) | work_metadata(table), spec)

    return asset


def validated(context: dg.AssetExecutionContext, audit: AuditAssets, spec: AuditSpec, raw_data: Any) -> Any:
    """The rows and columns of a table that are audited."""
    if is_large_source(raw_data):
        return validated_in_shards(audit, context, spec.model_copy(update={"source": raw_data.source}))
    source = _source(raw_data, spec.source)
    return audit.stages.validate(raw_data, spec.model_copy(update={"source": source}))


def train_and_test_data(audit: AuditAssets) -> dg.AssetsDefinition:
    """The two parts: clusters are found on one and tested on the other."""

    def out(name: str, description: str) -> dg.AssetOut:
        return dg.AssetOut(
            key=audit.key(name),
            io_manager_key=audit.tables,
            automation_condition=audit.automation,
            **audit.described(name, description, {"pandas", "parquet"}, audit.code_version("split")),
        )

    @dg.multi_asset(
        name=audit.op("train_and_test_data"),
        ins=audit.inputs("validated_data"),
        outs={
            "train_data": out("train_data", "The rows on which clusters are searched."),
            "test_data": out("test_data", "The rows that the search never sees, on which its clusters are tested."),
        },
        required_resource_keys={audit.settings},
        partitions_def=audit.partitions,
    )
    def asset(
        context: dg.AssetExecutionContext,
        config: dg.PermissiveConfig,  # noqa: ARG001 - else Dagster refuses a setting here, and cannot say where it stands
        validated_data: AuditTable,
    ) -> Iterator[dg.MaterializeResult[Any]]:
        with clear_failures():
            spec = audit.spec_of_run(context, "validated_data")
            parts = audit.stages.split_rows(validated_data, spec.split)
        for name, part in zip(("train_data", "test_data"), parts, strict=True):
            yield audit.made(part, views.part(part, audit.key("validated_data")), spec, asset_key=audit.key(name))

    return asset


def _source(frame: DataFrame, default: Source) -> Source:
    """Where the run that made the table read it."""
    known = frame.attrs.get(_SOURCE)
    return default if known is None else Source.model_validate(known)
