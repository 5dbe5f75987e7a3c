"""Assets of a table that is larger than memory, as far as they differ."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
from upath import UPath

from bdt_core.errors import OutputError, SpecError
from bdt_core.spec import AuditSpec
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.resources.run_log import log
from bdt_pipeline.resources.storage import STORAGE_VARIABLE, make_folder, name_of_its_own, storage_root

_SAY_EVERY = 10.0


def is_large_source(value: Any) -> bool:
    """Whether a table was left at its source."""
    from bdt_core.shards.large_source import LargeSource

    return isinstance(value, LargeSource)


def source_rows(raw_data: Any, validated_data: Any, spec: AuditSpec) -> Any:
    """The rows of a source for what counts groups: the table, or what was kept of a large one when it was read.

    A large source is not read again: it may have changed since, and the report would be about two tables.

    Raises
    ------
    SpecError
        The run names columns of groups that were not kept.
    """
    if not is_large_source(raw_data):
        return raw_data
    from bdt_core.shards.table import ShardedTable
    from bdt_core.table.source_blocks import group_columns

    if not isinstance(validated_data, ShardedTable):
        raise SpecError(
            "raw_data is larger than memory, and validated_data is of an earlier, smaller table: make it again."
        )
    unknown = sorted(group_columns(spec) - group_columns(validated_data.spec))
    if unknown:
        raise SpecError(
            f"The run compares groups by {', '.join(unknown)}, which was not kept when the large table was read. Name "
            'it in the specification ("protected", "groups" or "gate"), and make validated_data again.'
        )
    return validated_data


def validated_in_shards(audit: AuditAssets, context: dg.AssetExecutionContext, spec: AuditSpec) -> Any:
    """The table as columns in a folder of the run's own; folders of runs that have ended are removed then."""
    part = context.partition_key if context.has_partition_key else "all"
    parent = storage_root(context.instance, audit.storage) / audit.spec.name / "columns" / name_of_its_own(part)
    folder = parent / context.run.run_id
    said = time.monotonic()

    def progress(what: str, done: int, total: int | None) -> None:
        nonlocal said
        if time.monotonic() - said >= _SAY_EVERY:
            said = time.monotonic()
            log(context, f"{what}: {done:,} of {total:,} rows" if total else f"{what}: {done:,} rows")

    try:
        make_folder(folder)
        _announce_disk(context, spec, folder)
        table = audit.stages.validate_in_shards(spec, str(folder), progress)
    except BaseException:
        _remove(folder)  # what is there already may fill a disk
        raise
    for other in parent.iterdir():
        if other.name != folder.name and not _still_runs(context.instance, other.name):
            _remove(other)
    if spec.keep is not None:
        _remove_older(context.instance, parent, spec.keep)
    dashboard = getattr(table.engine, "dashboard", None)
    if dashboard is not None:
        log(context, f"The Dask dashboard is at {dashboard}.")
    return table


def _remove_older(instance: dg.DagsterInstance, newest: UPath, keep: int) -> None:
    """Remove the columns of all parts but the last that were audited; what a run still works on stays."""
    audited = {}
    for part in newest.parent.iterdir():
        runs = [one.name for one in part.iterdir()]
        if part.name != newest.name and not any(_still_runs(instance, one) for one in runs):
            records = [instance.get_run_record_by_id(one) for one in runs]
            audited[part] = max((one.create_timestamp.timestamp() for one in records if one is not None), default=0.0)
    by_age = sorted(audited, key=lambda one: (audited[one], one.name), reverse=True)
    for part in by_age[keep - 1 :]:
        _remove(part)


def large_source_metadata(large: Any) -> dict[str, Any]:
    """What the UI shows of a table that was left at its source."""
    columns = [dg.TableColumn(name, kind) for name, kind in large.dtypes.items()]
    return {
        "dagster/row_count": large.rows,
        "dagster/column_schema": dg.TableSchema(columns),
        "source": large.source.described,
        "left at its source": large.reason,
    }


def work_metadata(table: Any) -> dict[str, Any]:
    """Where a table's rows are and what works on them; nothing for a table in memory."""
    engine = getattr(table, "engine", None)
    if engine is None:
        return {}
    dashboard = getattr(engine, "dashboard", None)
    return {
        "shards": len(table.shards),
        "worked on by": "threads of this process" if dashboard is None else "a Dask cluster",
        **({} if dashboard is None else {"Dask dashboard": dg.MetadataValue.url(dashboard)}),
    }


def _announce_disk(context: dg.AssetExecutionContext, spec: AuditSpec, folder: UPath) -> None:
    """Say how much disk the table will take, as far as it is known.

    Raises
    ------
    OutputError
        A disk of this machine has less.
    """
    from bdt_core.shards.memory import in_words
    from bdt_core.shards.opening import memory_plan

    needed = memory_plan(spec).disk
    if needed is None:
        return
    scratch = Path(tempfile.gettempdir())
    log(
        context,
        f"Temporary columns go to {folder}, encoded rows that find no memory to {scratch}: about {in_words(needed)}.",
    )
    columns = folder if isinstance(folder, Path) else scratch  # of an object store, copies
    room = {columns: 2 * needed // 3}
    if spec.engine.dask is None or spec.engine.dask.address is None:  # else they are on other machines
        rows_at = columns if columns.stat().st_dev == scratch.stat().st_dev else scratch
        room[rows_at] = room.get(rows_at, 0) + needed // 3
    for place, size in room.items():
        free = shutil.disk_usage(place).free
        if size > free:
            raise OutputError(
                f"{place} has {in_words(free)} free, and the temporary files of the table need about {in_words(size)} "
                "there. Free space, or name another place in the environment variable "
                f"{'TMPDIR' if place == scratch else STORAGE_VARIABLE}, and run the audit again."
            )


def _still_runs(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is not None and not run.is_finished


def _remove(folder: UPath) -> None:
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        with suppress(FileNotFoundError):  # an object store has no folder without files
            folder.fs.rm(folder.path, recursive=True)
