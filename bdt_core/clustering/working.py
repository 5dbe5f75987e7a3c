"""The encoded rows of one shard while clusters are searched, reordered so that every node is a range.

A question about them is a pure function of the shard, the fit and the splits that were kept so far: whoever has lost
the rows, or never had them, encodes them again, repeats these splits and answers.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bdt_core.clustering import row_kernels
from bdt_core.clustering.outcome import Moments, WholeScale
from bdt_core.clustering.split import (
    Block,
    Integers,
    Layout,
    Splits,
    Statistics,
    assign,
    block_statistics,
)
from bdt_core.clustering.starts import Candidates, Dense, candidates, densest
from bdt_core.errors import OutputError
from bdt_core.inference.exact_sums import Span, Step, span_of
from bdt_core.shards.shard import Shard, process_folder
from bdt_core.shards.table import read_block
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.encoding import Encoded, Encoder

T = TypeVar("T")


@dataclass(frozen=True)
class Fit:
    """What all shards must know of a search.

    Attributes
    ----------
    id : str
        Tells fits apart whose rows are still held.
    header : AuditTable
        Of the train part.
    encoder : Encoder
    layout : Layout
    scale : WholeScale
        Of the bias variable.
    in_files : bool
        Whether encoded rows are kept in temporary files instead of memory.
    """

    id: str
    header: AuditTable
    encoder: Encoder
    layout: Layout
    scale: WholeScale
    in_files: bool

    @property
    def varying_numbers(self) -> npt.NDArray[np.bool_]:
        """Which encoded numbers are not constant: the others have no part in a row's hash."""
        return np.array(
            [0.0 < (column.missing or 0.0) < 1.0 if flag else column.std > 0.0 for column, flag in self.encoder.fields],
            dtype=np.bool_,
        )

    @property
    def varying_codes(self) -> npt.NDArray[np.bool_]:
        """The same for codes."""
        return np.array([len(column.levels) > 1 for column in self.encoder.categorical], dtype=np.bool_)


@dataclass(frozen=True)
class Kept:
    """A split that was kept, of the node at a position (see `bdt_core.clustering.grow.Grown`)."""

    position: int
    split: Splits


def bytes_per_row(encoder: Encoder) -> int:
    """Memory or disk that an encoded row takes, with its bias variable (twice) and its hash."""
    codes = len(encoder.categorical) * (1 if max([2, *encoder.levels]) <= 256 else 2)
    return len(encoder.fields) * np.dtype(encoder.dtype).itemsize + codes + 4 + 8 + 8


class Working:
    """The encoded audited rows of one shard, their bias variable and their content hashes."""

    def __init__(self, fit: Fit, shard: Shard) -> None:
        block = read_block(fit.header, "train", shard)
        y = block.y
        encoded = fit.encoder.transform(block.X) if len(y) else _nothing(fit)
        del block
        hashes = np.empty(len(y), dtype=np.uint64)
        bits = encoded.numeric.view(np.dtype(f"u{encoded.numeric.dtype.itemsize}"))
        row_kernels.hash_rows(
            _some(bits, fit.varying_numbers), _some(encoded.codes, fit.varying_codes), 0, len(y), hashes
        )
        parts: list[npt.NDArray[Any]] = [
            encoded.numeric,
            encoded.codes,
            fit.scale.numbers(y) if len(y) else np.empty(0, np.int32),
            y,
            hashes,
        ]
        self._map: mmap.mmap | None = None
        if fit.in_files and len(y):
            self._map, parts = _in_file(parts, process_folder())
        numeric, codes, whole, y, hashes = parts
        self.layout = fit.layout
        self.table = Encoded(numeric, codes)
        self.whole: npt.NDArray[np.int32] = whole
        self.y: npt.NDArray[np.float64] = y
        self.hashes: npt.NDArray[np.uint64] = hashes
        self.ranges = {1: (0, len(y))}
        self.done = 0
        self.lock = threading.Lock()

    def repeat(self, history: Sequence[Kept]) -> None:
        """Make those splits that were not made here yet."""
        for kept in history[self.done :]:
            start, stop = self.ranges[kept.position]
            sides = assign(self.table, start, stop, kept.split)
            middle = stop - int(np.count_nonzero(sides))
            numbers = (self.whole, self.y, *self.table.numeric)
            columns = [one.view(np.dtype(f"u{one.dtype.itemsize}")) for one in numbers]
            for column in (*columns, *self.table.codes, self.hashes):
                row_kernels.partition(column[start:stop], sides)
            self.ranges[2 * kept.position] = start, middle
            self.ranges[2 * kept.position + 1] = middle, stop
            self.done += 1

    def release(self) -> None:
        """Let the system take back the memory of rows that are in a file."""
        if self._map is not None and hasattr(self._map, "madvise"):
            self._map.madvise(mmap.MADV_DONTNEED)


_held: dict[int, Working] = {}
_held_of = ""
_holding = threading.Lock()


def ask(fit: Fit, history: Sequence[Kept], question: Callable[[Working], T], shard: Shard) -> T:
    """Answer a question about a shard's rows; they stay here for the next one."""
    global _held_of
    with _holding:
        if _held_of != fit.id:
            _held.clear()
            _held_of = fit.id
        working = _held.get(shard.number)
    if working is None:
        working = Working(fit, shard)
        with _holding:
            if _held_of == fit.id:
                _held[shard.number] = working
    with working.lock:
        working.repeat(history)
        answer = question(working)
        working.release()
    return answer


def forget(fit_id: str) -> None:
    """Let go of the rows of a search."""
    with _holding:
        if _held_of == fit_id:
            _held.clear()


def statistics_of(working: Working, position: int, splits: Splits) -> Statistics:
    """Statistics of side b of each split of a node."""
    start, stop = working.ranges[position]
    return block_statistics(Block(working.table, start, stop, np.empty(0)), splits, working.layout)


def candidates_of(
    working: Working, position: int, key: np.uint64, limit: np.uint64, size: int
) -> Candidates:  # fmt: skip
    """See `bdt_core.clustering.starts.candidates`."""
    start, stop = working.ranges[position]
    return candidates(working.table, start, stop, working.hashes, key, limit, size)


def densest_of(working: Working, position: int, whole: Statistics, first: Integers) -> Dense | None:
    """See `bdt_core.clustering.starts.densest`; None without rows."""
    start, stop = working.ranges[position]
    if start == stop:
        return None
    search = densest([Block(working.table, start, stop, np.empty(0))], working.hashes, whole, working.layout)
    if len(first):
        search(first[:0])  # the densities
    return search(first)


def moments_of(working: Working, position: int, split: Splits | None) -> Moments:
    """Moments of the bias variable in a node, or on side b of a split of it."""
    start, stop = working.ranges[position]
    sides = None if split is None else assign(working.table, start, stop, split)
    return Moments.of(working.whole[start:stop], sides)


def spans_of(working: Working) -> dict[int, Span]:
    """Span of the bias variable in each node, by position."""
    return {position: span_of(working.y[start:stop]) for position, (start, stop) in working.ranges.items()}


def steps_of(working: Working, steps: Mapping[int, Step]) -> dict[int, int]:
    """Steps of the bias variable in each node, by position."""
    return {position: step.count(working.y[slice(*working.ranges[position])]) for position, step in steps.items()}


def _nothing(fit: Fit) -> Encoded:
    width = max([2, *fit.encoder.levels])
    codes = np.empty((len(fit.encoder.categorical), 0), dtype=np.uint8 if width <= 256 else np.uint16)
    return Encoded(np.empty((len(fit.encoder.fields), 0), dtype=np.dtype(fit.encoder.dtype)), codes)


def _some(columns: npt.NDArray[Any], kept: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    return columns if kept.all() else np.ascontiguousarray(columns[kept])


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
