"""Open the table of a source: in memory, or in shards where it is too large for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pandas as pd

from bdt_core.errors import SourceError
from bdt_core.said import say
from bdt_core.shards.engine import ShardEngine, engine_of
from bdt_core.shards.memory import MemoryPlan, in_words, plan_memory, refuse_full_disk
from bdt_core.shards.scratch import scratch_folder
from bdt_core.spec import AuditSpec, Source, Split
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.column_types import Choose
from bdt_core.table.roles import looked_at
from bdt_core.table.rows import Rows
from bdt_core.table.sources import as_source_reads_it, read_some, read_table
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate

if TYPE_CHECKING:
    from bdt_core.shards.ingest import Progress
    from bdt_core.shards.table import ShardedTable

Notice = Callable[[str], None]

_TOO_LARGE = (
    '{table} does not fit into memory. Set "clustering.memory: out_of_core", by which a text, Parquet or a query is '
    "read in parts, or take fewer rows or columns."
)
_SHARD_CELLS = 20_000_000
_SHARD_ROWS = 1 << 20  # what most writers of Parquet store together


@dataclass(frozen=True)
class Opened:
    """A validated table, and the rows of its source for what counts these.

    Attributes
    ----------
    table : Rows
    source : DataFrame, ShardedTable or None
        None where nobody is going to count them.
    """

    table: Rows
    source: pd.DataFrame | ShardedTable | None


@contextmanager
def open_table(
    frame: pd.DataFrame | None,
    spec: AuditSpec,
    *,
    read: Callable[[Source], pd.DataFrame] | None = None,
    check: Callable[[pd.DataFrame, AuditSpec], AuditTable] | None = None,
    progress: Progress | None = None,
    notice: Notice | None = None,
    keeps_source: bool = True,
) -> Iterator[Opened]:
    """Read and validate the table of a specification, where there is room for it.

    Parameters
    ----------
    frame : DataFrame or None
        A table that is in memory already; None reads the source.
    spec : AuditSpec
        ``clustering.memory`` and ``engine`` say where the rows go; by default into memory if they fit.
    read : callable, optional
        Reads the source instead of ours; the table comes into memory then.
    check : callable, optional
        Validates a table in memory instead of us. It gets all columns, as does everybody who replaces a stage; ours
        reads those at which the audit looks.
    progress : callable, optional
        Called with (what is done, rows done, all of them if known) while a source is read in batches.
    notice : callable, optional
        Called with a sentence on where the rows go, when they do not go into memory.
    keeps_source : bool
        Whether somebody is going to count rows of the source: they take as much memory as the table.

    Yields
    ------
    Opened
        Rows in files are gone afterwards.
    """
    plan = None if frame is not None or read is not None else memory_plan(spec)
    if plan is None or not plan.out_of_core:
        names = None
        try:
            if frame is None and read is None and check is None:
                whole, names = read_some(spec.source, _choice(spec))
            else:
                whole = as_source_reads_it((read or read_table)(spec.source) if frame is None else frame, spec.source)
            if progress is not None:
                progress("validate it", 0, len(whole))
            audited = validate(whole, spec, names) if check is None else check(whole, spec)
        except MemoryError:
            raise SourceError(say(_TOO_LARGE, table=spec.source.described)) from None
        source = whole if keeps_source else None
        del whole
        yield Opened(audited, source)
        return
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        refuse_full_disk(folder, plan.disk)
        engine = stack.enter_context(engine_of(spec, plan))
        if notice is not None:
            disk = "" if plan.disk is None else f", which need about {in_words(plan.disk)}"
            notice(f"Out of core, for {plan.reason}: temporary columns go to {folder}{disk}.")
        table = table_in_shards(spec, folder, engine, progress)
        yield Opened(table, table)


def memory_plan(spec: AuditSpec) -> MemoryPlan:
    """Whether the source of a specification is held in memory; another engine than this process never does that."""
    from bdt_core.table.batches import measure_source

    room = "out_of_core" if spec.engine.dask is not None else spec.room.memory
    needs_size = room != "in_memory" and not (spec.source.path or "").startswith("demo:")
    size = measure_source(spec.source, _choice(spec)) if needs_size else None
    known = (None, None) if size is None else (size.estimated_bytes, size.rows)
    plan = plan_memory(room, spec.room.memory_limit, *known)
    if spec.engine.dask is not None:
        return MemoryPlan(True, "the audit runs on a Dask cluster", plan.limit, plan.disk)
    return plan


def _choice(spec: AuditSpec) -> Choose | None:
    """Says which columns of the source are read: those at which the audit looks; all where others are made of them."""
    arrays, makes_others = spec.source.arrays, spec.source.join is not None or spec.source.stacked is not None
    return None if makes_others else lambda names: looked_at([*names, *arrays], spec)


def table_in_shards(
    spec: AuditSpec, folder: str | Path, engine: ShardEngine, progress: Progress | None = None
) -> ShardedTable:
    """Read the source of a specification in batches, and write them as shards into a folder."""
    from bdt_core.shards.ingest import ingest
    from bdt_core.table.batches import open_batches

    with open_batches(spec.source, choose=_choice(spec)) as batches:
        batches.batch_rows = max(1000, min(_SHARD_ROWS, _SHARD_CELLS // len(batches.dtypes)))
        return ingest(batches, spec, folder, engine, progress, rows=batches.rows)


def divide(table: Rows, settings: Split) -> tuple[Rows, Rows]:
    """Train and test rows, wherever they are."""
    if isinstance(table, AuditTable):
        return split_rows(table, settings)
    return cast("ShardedTable", table).divided(settings)
