"""Read a source once, batch by batch, and make shards of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.shards.engine import ShardEngine
from bdt_core.shards.occurrences import bucket_count, write_hashes, write_ranks
from bdt_core.shards.shard import Shard
from bdt_core.shards.table import ShardedTable
from bdt_core.spec import NEEDS_WHOLE_LISTS, AuditSpec
from bdt_core.table.audit_table import (
    BIAS_VARIABLE,
    KEY,
    RANK,
    Role,
    tidy,
)
from bdt_core.table.batches import Batches
from bdt_core.table.files import FilesPart
from bdt_core.table.people import SketchedRows
from bdt_core.table.pool import in_parallel
from bdt_core.table.ranks import added, content_sums, fingerprint, row_hashes
from bdt_core.table.repeated_rows import Repeats, find_repeats
from bdt_core.table.source_blocks import group_columns
from bdt_core.table.source_tables import refuse_without_rows
from bdt_core.table.validate import (
    Settled,
    TableFacts,
    audited_table,
    complete_rows,
    distinct_rows,
    hashed_columns,
    settle,
    sketched_people,
    telling_of,
    type_rows,
    warnings_on_rows,
    with_text_names,
)

_LEAST_AT_A_TIME, _ROUNDS = 8, 4
"""Parts that are given out together, so many or so many for each that works on them: then it is said how far it is."""

Progress = Callable[[str, int, int | None], None]


def ingest(
    batches: Iterable[pd.DataFrame],
    spec: AuditSpec,
    folder: str | Path,
    engine: ShardEngine,
    progress: Progress | None = None,
    *,
    rows: int | None = None,
) -> ShardedTable:
    """Validate a table that comes in batches, and write it as shards.

    Parameters
    ----------
    batches : iterable of DataFrame
        With the same columns and types; see `bdt_core.table.batches.open_batches`.
    spec : AuditSpec
    folder : str or Path
        Where the shards go; everybody who works on them must see it.
    engine : ShardEngine
    progress : callable, optional
        Called with (what is done, rows done, all of them if known).
    rows : int, optional
        All rows, if their number is known.

    Raises
    ------
    DataError, SourceError
        As `bdt_core.table.validate.validate` and `bdt_core.table.sources.read_table` do.
    OutputError
        The folder cannot take the shards.
    """
    if spec.bias_variable.is_of_places:
        raise DataError(
            f'A table out of core {NEEDS_WHOLE_LISTS}; or give it room with "clustering.memory: in_memory".'
        )
    progressed = progress or (lambda *_: None)
    announce = functools.partial(_announce, progressed, rows)
    parts, names = (batches.parts(), batches.names) if isinstance(batches, Batches) else (None, None)
    write = functools.partial(_write_shard, spec=spec, names=names)
    if parts is None:
        written = _write_shards(batches, write, str(folder), announce)
    else:
        written = _write_parts(parts, write, str(folder), engine, announce)
    refuse_without_rows(spec.source, len(written))
    facts = functools.reduce(lambda one, other: one + other, (one.facts for one in written))
    roles = written[0].roles
    settled = settle(facts, roles, spec)
    shards = tuple(one.shard for one in written)
    typed = written[0].header
    columns = settled.kept(typed, spec)
    used = _used(typed[columns], settled)
    progressed("validate it", 0, facts.rows)
    hash_shard = functools.partial(
        _hash_shard,
        columns=columns,
        used=used,
        settled=settled,
        telling=telling_of(settled, facts),
        spec=spec,
        buckets=bucket_count(facts.rows),
    )
    kept = engine.map(hash_shard, shards)
    write_ranks(shards, [one.bounds for one in kept], engine)
    no_rows = typed[columns].assign(**{RANK: np.empty(0, dtype=np.uint64)})
    header = audited_table(no_rows, facts, settled, sum(one.lost for one in kept), spec)
    people = functools.reduce(lambda one, other: one + other, (one.people for one in kept)).fingerprint
    header = replace(header, fingerprint=fingerprint(added([one.sums for one in kept])), people=people)
    table = ShardedTable(header, shards, engine).counted()
    table, repeats = _distinct(table)
    warnings = (*settled.warnings, *warnings_on_rows(table, repeats))
    return replace(table, header=replace(table.header, warnings=warnings))


def _distinct(table: ShardedTable) -> tuple[ShardedTable, Repeats | None]:
    """The table with one row of each set of near copies, unless it is large; and what was found of copies."""
    if table.is_large:
        return table, find_repeats(table.sample(table.spec.large_rows))
    whole = table.in_memory()
    distinct, repeats = distinct_rows(whole)
    if distinct is whole:
        return table, repeats
    table.engine.map(functools.partial(_keep, ranks=distinct.frame[RANK].to_numpy()), table.shards)
    header = replace(table.header, left_out=distinct.left_out)
    return replace(table, header=header).counted(), repeats


def _keep(shard: Shard, ranks: NDArray[np.uint64]) -> None:
    """Keep the rows with these ranks, and no others."""
    kept = np.array(shard.read_array("kept.npy"))
    shard.write_array("kept.npy", kept & np.isin(np.array(shard.read_array("ranks.npy")), ranks))


@dataclass(frozen=True)
class _Written:
    shard: Shard
    facts: TableFacts
    roles: dict[str, Role]
    header: pd.DataFrame


_Write = Callable[[Shard, int, pd.DataFrame], _Written]


def _write_shards(
    batches: Iterable[pd.DataFrame], write: _Write, folder: str, progressed: Callable[[int], object]
) -> list[_Written]:
    """Type and write each batch, while the next one is being read."""
    done = 0
    written = []
    placed = _placed(batches, folder)
    for shard in in_parallel(lambda task: write(*task), placed):
        written.append(shard)
        done += shard.shard.rows
        progressed(done)
    return written


def _write_parts(
    parts: Sequence[FilesPart], write: _Write, folder: str, engine: ShardEngine, progressed: Callable[[int], object]
) -> list[_Written]:
    """Read, type and write each part where it will be worked on."""
    firsts = np.cumsum([0, *(one.rows for one in parts)]).tolist()
    shards = [Shard(folder, number, one.rows) for number, one in enumerate(parts)]
    written: list[_Written] = []
    at_a_time = max(_LEAST_AT_A_TIME, _ROUNDS * engine.width)
    for start in range(0, len(parts), at_a_time):
        these = shards[start : start + at_a_time]
        some = {one.number: (parts[one.number], firsts[one.number]) for one in these}
        written += engine.map(functools.partial(_write_part, parts=some, write=write), these)
        progressed(firsts[min(start + at_a_time, len(parts))])
    return written


def _write_part(shard: Shard, parts: dict[int, tuple[FilesPart, int]], write: _Write) -> _Written:
    part, first = parts[shard.number]
    return write(shard, first, part.read())


def _announce(progressed: Progress, rows: int | None, done: int) -> None:
    progressed("read the table", done, rows)


def _placed(batches: Iterable[pd.DataFrame], folder: str) -> Iterator[tuple[Shard, int, pd.DataFrame]]:
    """Batches with their shards and the number of their first row in the source."""
    number = first = 0
    for frame in batches:
        if len(frame):
            yield Shard(folder, number, len(frame)), first, frame
            number, first = number + 1, first + len(frame)


def _write_shard(
    shard: Shard, first: int, frame: pd.DataFrame, spec: AuditSpec, names: Sequence[str] | None = None
) -> _Written:
    frame = with_text_names(frame)
    typed, roles, facts = type_rows(frame, spec, first, names)
    shard.write_frame("table.arrow", typed)
    of_groups = group_columns(spec)
    if of_groups:
        source = frame[[name for name in frame.columns if name in of_groups]]
        if KEY in typed.columns:  # whom rows belong to is kept as a hash only
            source = source.assign(**{KEY: typed[KEY].to_numpy()})
        shard.write_frame("source.arrow", source)
    return _Written(shard, facts, roles, tidy(typed.iloc[:0].copy()))


@dataclass(frozen=True)
class _Kept:
    sums: tuple[int, ...]
    people: SketchedRows
    lost: int
    bounds: NDArray[np.int64]


def _hash_shard(
    shard: Shard,
    columns: list[str],
    used: list[str],
    settled: Settled,
    telling: list[str],
    spec: AuditSpec,
    buckets: int,
) -> _Kept:
    """Say which rows are audited, and write the hashes of their content; those of other rows are of no matter."""
    frame = shard.read_frame("table.arrow", columns)
    keep, lost = complete_rows(frame, settled, spec)
    hashes = row_hashes(hashed_columns(frame))
    content = hashes if set(used) == set(hashed_columns(frame).columns) else row_hashes(frame[used])
    shard.write_array("kept.npy", keep)
    bounds = write_hashes(shard, hashes, buckets)
    return _Kept(content_sums(content[keep]), sketched_people(frame[keep], settled, telling), lost, bounds)


def _used(frame: pd.DataFrame, settled: Settled) -> list[str]:
    roles = {one.name for one in settled.columns if one.role != "unused"}
    return [str(name) for name in frame.columns if name in roles or name == BIAS_VARIABLE]
