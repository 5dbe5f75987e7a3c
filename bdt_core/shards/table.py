"""A validated table whose rows are in shards."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import SpecError
from bdt_core.shards.engine import ShardEngine, engine_of_process
from bdt_core.shards.shard import Shard
from bdt_core.spec import AuditSpec, Split
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, RANK, AuditTable, LeftOut, Role, TableColumn, tidy
from bdt_core.table.ranks import lowest
from bdt_core.table.split import is_by_hash, on_test_side, order_of_content, refuse_empty_parts

if TYPE_CHECKING:
    import pyarrow as pa

    from bdt_core.table.people import PeopleFingerprint

T = TypeVar("T")
_META = b"bdt.shards"
PartName = Literal["all", "train", "test"]

_SLACK = 1.05


@dataclass(frozen=True)
class ShardedTable:
    """Validated rows in shards, or the train or test part of them; see `bdt_core.table.rows.Rows`.

    Attributes
    ----------
    header : AuditTable
        Everything but the rows: its frame has the typed columns, and no rows.
    shards : tuple of Shard
    engine : ShardEngine
    part : {"all", "train", "test"}
    audited_rows : int
        Rows of this part that have a bias variable.
    """

    header: AuditTable
    shards: tuple[Shard, ...]
    engine: ShardEngine = field(repr=False, compare=False)
    part: PartName = "all"
    audited_rows: int = 0
    part_rows: int = 0

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """Every column of the source."""
        return self.header.columns

    @property
    def spec(self) -> AuditSpec:
        """The specification so far."""
        return self.header.spec

    @property
    def rows(self) -> int:
        """Rows of the source."""
        return self.header.rows

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Rows of the source that are not audited."""
        return self.header.left_out

    @property
    def fingerprint(self) -> str:
        """Content hash of the used columns."""
        return self.header.fingerprint

    @property
    def people(self) -> PeopleFingerprint | None:
        """By what the people are known again."""
        return self.header.people

    @property
    def notes(self) -> tuple[str, ...]:
        """How the source was read."""
        return self.header.notes

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know."""
        return self.header.warnings

    @property
    def is_large(self) -> bool:
        """Whether the source has more than ``large_rows`` rows."""
        return self.header.is_large

    def names(self, role: Role) -> list[str]:
        """Names of the columns that play a role."""
        return self.header.names(role)

    def map_blocks(self, function: Callable[[AuditTable], T], columns: Sequence[str] | None = None) -> list[T]:
        """Apply a function to the rows of each shard, where the shard is."""
        return self.engine.map(partial(on_block, function, self.header, self.part, columns), self.shards)

    def map_source_blocks(self, function: Callable[[pd.DataFrame], T]) -> list[T]:
        """Apply a function to the columns that groups need, as they were in the source, of each shard's rows."""
        return self.engine.map(partial(_on_source_block, function), self.shards)

    def sample(self, rows: int) -> AuditTable:
        """At most so many rows of this part, drawn by their hash, in an order of their own."""
        if self.part_rows <= rows:
            return self.in_memory()
        share = _SLACK * rows / self.part_rows
        while True:
            limit = 2**64 - 1 if share >= 1.0 else int(share * 2**64)
            parts = self.map_blocks(partial(_rows_below, limit=limit))
            if sum(map(len, parts)) >= rows or share >= 1.0:
                break
            share *= 2.0
        frame = together(parts)
        return self._with(frame.take(lowest(frame[RANK].to_numpy(), rows)))

    def in_memory(self) -> AuditTable:
        """All rows of this part as one table; for tables that are not large."""
        frame = together(self.map_blocks(_frame_of))
        return self._with(frame.take(order_of_content(frame, self.header.used)))

    def divided(self, settings: Split) -> tuple[ShardedTable, ShardedTable]:
        """The train and the test part.

        Raises
        ------
        SpecError
            When the division is to be stratified.
        DataError
            When a part would have fewer than two audited rows.
        """
        if settings.method == "stratified":
            raise SpecError(
                '"split.method: stratified" needs all rows in memory, and the table is too large for that. Use hash or '
                'auto, or raise "clustering.memory_limit".'
            )
        if not is_by_hash(self, settings):
            settings = settings.model_copy(update={"method": "hash"})
        header = replace(self.header, spec=self.spec.model_copy(update={"split": settings}))
        parts = []
        for name in ("train", "test"):
            part = replace(self, header=replace(header, part=name), part=name)
            parts.append(part.counted())
        train, test = parts
        refuse_empty_parts(parts, self.audited_rows)
        return train, test

    def counted(self) -> ShardedTable:
        """The same part with its numbers of rows."""
        counts = self.map_blocks(_count, [BIAS_VARIABLE])
        return replace(self, part_rows=sum(one for one, _ in counts), audited_rows=sum(one for _, one in counts))

    def to_arrow(self) -> pa.Table:
        """As a table without rows, whose metadata says where the rows are."""
        place = {
            "folder": self.shards[0].folder,
            "shards": [one.rows for one in self.shards],
            "part": self.part,
            "audited_rows": self.audited_rows,
            "part_rows": self.part_rows,
        }
        table = self.header.to_arrow()
        return table.replace_schema_metadata({**table.schema.metadata, _META: json.dumps(place).encode()})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> ShardedTable | None:
        """Undo `to_arrow`; None for another table. The engine is the one that the specification names."""
        note = (table.schema.metadata or {}).get(_META)
        if note is None:
            return None
        place = json.loads(note)
        header = AuditTable.from_arrow(table)
        shards = tuple(Shard(place["folder"], number, rows) for number, rows in enumerate(place["shards"]))
        engine = engine_of_process(header.spec)
        return cls(header, shards, engine, place["part"], place["audited_rows"], place["part_rows"])

    def _with(self, frame: pd.DataFrame) -> AuditTable:
        return replace(self.header, frame=tidy(frame).reset_index(drop=True))


def on_block(
    function: Callable[[AuditTable], T],
    header: AuditTable,
    part: PartName,
    columns: Sequence[str] | None,
    shard: Shard,
) -> T:
    """Apply a function to the rows of a shard's part."""
    return function(read_block(header, part, shard, columns))


def read_block(header: AuditTable, part: PartName, shard: Shard, columns: Sequence[str] | None = None) -> AuditTable:
    """The rows of a shard's part as a table in memory; of some columns, if these are all that is needed."""
    names = [name for name in header.frame.columns if columns is None or name in columns]
    placed = RANK if header.spec.split.key is None else KEY
    frame = shard.read_frame("table.arrow", [name for name in {*names, placed} if name != RANK])
    frame[RANK] = np.array(shard.read_array("ranks.npy"))
    chosen = rows_of_part(frame, header, part, shard)
    frame = frame[names]
    return replace(header, frame=(frame if chosen.all() else frame[chosen]).reset_index(drop=True))


def rows_of_part(frame: pd.DataFrame, header: AuditTable, part: PartName, shard: Shard) -> NDArray[np.bool_]:
    """Which rows of a shard belong to a part."""
    kept = np.array(shard.read_array("kept.npy"))
    if part == "all":
        return kept
    return np.asarray(kept & (on_test_side(frame, header.spec.split) == (part == "test")))


def together(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Blocks as one frame; categories are those of all blocks."""
    if len(frames) == 1:
        return frames[0]
    columns: dict[str, object] = {}
    for name in frames[0].columns:
        parts = [one[name] for one in frames]
        if isinstance(parts[0].dtype, pd.CategoricalDtype):
            columns[str(name)] = _categories_together(parts)
        else:
            columns[str(name)] = pd.concat(parts, ignore_index=True)
    return pd.DataFrame(columns, copy=False)


def _categories_together(parts: Sequence[pd.Series]) -> pd.Categorical:
    """Categorical columns as one; a part without any value may have categories of another type."""
    categories = pd.Index(sorted({level for one in parts for level in one.cat.categories}))
    codes = [np.append(categories.get_indexer(one.cat.categories), -1)[one.cat.codes] for one in parts]
    return pd.Categorical.from_codes(np.concatenate(codes), categories=categories)


def _on_source_block(function: Callable[[pd.DataFrame], T], shard: Shard) -> T:
    return function(shard.read_frame("source.arrow"))


def _frame_of(block: AuditTable) -> pd.DataFrame:
    return block.frame


def _rows_below(block: AuditTable, limit: int) -> pd.DataFrame:
    return block.frame[block.frame[RANK].to_numpy() <= np.uint64(limit)]


def _count(block: AuditTable) -> tuple[int, int]:
    return len(block.frame), int(block.frame[BIAS_VARIABLE].notna().sum())
