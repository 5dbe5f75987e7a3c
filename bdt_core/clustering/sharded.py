"""HBAC on rows in shards: the same tree, to the bit, as on rows in memory.

The encoded rows of a shard stay where they are asked, one question after the other. Whoever has lost them, or never
had them, encodes them again and repeats the splits that were kept.
"""

from __future__ import annotations

import mmap
import os
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from bdt_core.clustering.checks import checked_settings, settled_method
from bdt_core.clustering.grow import Progress
from bdt_core.clustering.outcome import WholeScale
from bdt_core.clustering.rows import Answer, BlockRows, Kept, Mask, content_hashes, row_numbers
from bdt_core.clustering.split import BLOCK_ROWS, Layout
from bdt_core.errors import OutputError, SpecError
from bdt_core.inference.exact_sums import Span, SumUnit, span_of
from bdt_core.shards.engine import ShardEngine
from bdt_core.shards.shard import Shard, process_folder
from bdt_core.shards.table import ShardedTable, read_block
from bdt_core.table.audit_table import BIAS_VARIABLE, AuditTable
from bdt_core.table.encoding import Encoded, Encoder, fit_encoder

if TYPE_CHECKING:
    from bdt_core.clustering.hbac import HBAC  # scikit-learn takes a worker a second to load, and is of no use to it

T = TypeVar("T")


def fit_sharded(model: HBAC, train: ShardedTable, *, progress: Progress | None = None) -> HBAC:
    """Find the clusters of the train rows by the settings of a model, which comes back without ``labels_``.

    SpecError for the engine "reference", and when a setting is not what it can be.
    """
    if model.engine == "reference":
        raise SpecError(
            '"clustering.engine: reference" runs libraries that need all rows in memory. Use "engine: bdt", or '
            '"memory: in_memory".'
        )
    checked_settings(model)
    rows, method = rows_in_shards(model, train)
    try:
        model.grow_tree(rows, rows.fit.encoder, method, progress=progress)
    finally:
        forget(rows.fit.id)
    model.feature_names_in_ = np.array(rows.fit.encoder.names, dtype=object)
    return model


def rows_in_shards(model: HBAC, train: ShardedTable) -> tuple[RowsInShards, str]:
    """The train rows as the model's settings encode them, and the method that these come to."""
    names = train.names("feature")
    kinds = {one.name: one.kind for one in train.columns if one.kind is not None and one.name in names}
    method = settled_method(model.method, kinds, model.engine)
    if method == "kmodes":
        kinds = dict.fromkeys(names, "categorical")
    encoder = fit_encoder(
        lambda function: train.map_blocks(partial(_on_features, function)),
        names,
        kinds,
        scale=model.scale,
        dtype=model.dtype,
    )
    scale = WholeScale.fit(
        reduce(Span.__add__, train.map_blocks(_span, [BIAS_VARIABLE])),
        model.better,
        lambda blank, step: sum(train.map_blocks(partial(_count_units, scale=blank, step=step), [BIAS_VARIABLE])),
    )
    held = train.audited_rows * bytes_per_row(encoder)
    fit = Fit(uuid.uuid4().hex, train.header, encoder, scale, in_files=held > train.engine.room)
    return RowsInShards(fit, train.shards, train.engine), method


@dataclass(frozen=True)
class Fit:
    """What all shards must know of a search.

    `id` tells fits apart whose rows are still held; `header` is of the train part; `scale` of the bias variable.
    `in_files` says whether encoded rows are kept in temporary files instead of memory.
    """

    id: str
    header: AuditTable
    encoder: Encoder
    scale: WholeScale
    in_files: bool

    @property
    def varying(self) -> tuple[Mask, Mask]:
        """Which encoded numbers and codes are not constant; see `bdt_core.clustering.rows.content_hashes`."""
        numbers = [
            0.0 < (column.missing or 0.0) < 1.0 if flag else column.std > 0.0 for column, flag in self.encoder.fields
        ]
        codes = [len(column.levels) > 1 for column in self.encoder.categorical]
        return np.array(numbers, dtype=np.bool_), np.array(codes, dtype=np.bool_)


@dataclass(frozen=True)
class RowsInShards:
    """The rows of all shards; see `bdt_core.clustering.rows.AllRows`."""

    fit: Fit
    shards: Sequence[Shard]
    engine: ShardEngine

    @property
    def rows(self) -> int:
        return self.fit.encoder.rows

    @property
    def at_once(self) -> int:
        return BLOCK_ROWS if len(self.shards) == 1 else 0

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(self.fit.encoder)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.fit.encoder.dtype)

    def ask(self, history: Sequence[Kept], question: Callable[[BlockRows], Answer]) -> list[Answer]:
        return self.engine.map(partial(ask, self.fit, history, question), self.shards)


class Held:
    """The rows of one shard, held for the next question; locked for one question at a time."""

    def __init__(self, fit: Fit, shard: Shard) -> None:
        block = read_block(fit.header, "train", shard)
        y = block.y
        encoded = fit.encoder.transform(block.X) if len(y) else _nothing(fit.encoder)
        del block
        arrays: list[npt.NDArray[Any]] = [
            encoded.numeric,
            encoded.codes,
            fit.scale.numbers(y) if len(y) else np.empty(0, np.int32),
            y,
            row_numbers(len(y)),
            content_hashes(encoded, fit.varying),
        ]
        self._map: mmap.mmap | None = None
        if fit.in_files and len(y):
            self._map, arrays = _in_file(arrays, process_folder())
        numeric, codes, whole, y, order, hashes = arrays
        self.rows = BlockRows(Encoded(numeric, codes), whole, y, order, hashes, Layout.of(fit.encoder))
        self.lock = threading.Lock()

    def release(self) -> None:
        """Let the system take back the memory of rows that are in a file."""
        if self._map is not None:
            self.rows.forget()
            if sys.platform != "win32":
                self._map.madvise(mmap.MADV_DONTNEED)


_held: dict[int, Held] = {}
_held_of = ""
_holding = threading.Lock()


def ask(fit: Fit, history: Sequence[Kept], question: Callable[[BlockRows], Answer], shard: Shard) -> Answer:
    """Answer a question about a shard's rows; they stay here for the next one."""
    global _held_of
    with _holding:
        if _held_of != fit.id:
            _held.clear()
            _held_of = fit.id
        held = _held.get(shard.number)
    if held is None:
        held = Held(fit, shard)
        with _holding:
            if _held_of == fit.id:
                _held[shard.number] = held
    with held.lock:
        held.rows.repeat(history)
        answer = question(held.rows)
        held.release()
    return answer


def forget(fit_id: str) -> None:
    """Let go of the rows of a search."""
    with _holding:
        if _held_of == fit_id:
            _held.clear()


def bytes_per_row(encoder: Encoder) -> int:
    """Memory or disk that an encoded row takes, with its bias variable (twice), its number and its hash."""
    codes = len(encoder.categorical) * (1 if max([2, *encoder.levels]) <= 256 else 2)
    return len(encoder.fields) * np.dtype(encoder.dtype).itemsize + codes + 4 + 8 + 4 + 8


def _on_features(function: Callable[[pd.DataFrame], T], block: AuditTable) -> T:
    return function(block.X)


def _span(block: AuditTable) -> Span:
    return span_of(block.y)


def _count_units(block: AuditTable, scale: WholeScale, step: SumUnit) -> int:
    return step.count(scale.unit_values(block.y))


def _nothing(encoder: Encoder) -> Encoded:
    width = max([2, *encoder.levels])
    codes = np.empty((len(encoder.categorical), 0), dtype=np.uint8 if width <= 256 else np.uint16)
    return Encoded(np.empty((len(encoder.fields), 0), dtype=np.dtype(encoder.dtype)), codes)


def _in_file(arrays: Sequence[npt.NDArray[Any]], folder: Path) -> tuple[mmap.mmap, list[npt.NDArray[Any]]]:
    """The arrays in a file that has no name any more, so that it is gone with the process, however that ends."""
    starts = np.cumsum([0, *(-(-one.nbytes // 64) * 64 for one in arrays)]).tolist()
    try:
        handle, name = tempfile.mkstemp(suffix=".rows", dir=folder)
        try:
            Path(name).unlink()
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(handle, 0, starts[-1])  # a full disk is told now, not by a signal later
            else:
                os.truncate(handle, starts[-1])
            mapped = mmap.mmap(handle, starts[-1])
        finally:
            os.close(handle)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot take {starts[-1]:,} bytes of encoded rows: {error.strerror}. Free space there, or name a "
            "folder on another disk in the environment variable TMPDIR, and run the audit again."
        ) from None
    copies: list[npt.NDArray[Any]] = []
    for array, start in zip(arrays, starts, strict=False):
        copy = np.frombuffer(mapped, dtype=array.dtype, count=array.size, offset=start).reshape(array.shape)
        copy[:] = array
        copies.append(copy)
    return mapped, copies
