"""Engines that work on shards: here the threads of this process, elsewhere the workers of a cluster."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from bdt_core.shards.memory import MemoryPlan, plan_memory
from bdt_core.shards.shard import Shard
from bdt_core.spec import AuditSpec
from bdt_core.table.pool import processors

T = TypeVar("T")


class ShardEngine(Protocol):
    """Applies functions to shards, each where the shard is."""

    @property
    def room(self) -> int:
        """Bytes of memory for encoded rows; more of them are kept in files."""

    @property
    def width(self) -> int:
        """Shards that are worked on at the same time."""

    @property
    def is_lost(self) -> bool:
        """Whether it can never work again."""

    def map(self, function: Callable[[Shard], T], shards: Sequence[Shard]) -> list[T]:
        """Results in the order of the shards.

        The function depends on nothing but its argument and on what it can be pickled with: it may be called again,
        in another process, when a worker was lost. Files that it writes have their final name only when they are whole.
        """

    def __enter__(self) -> ShardEngine: ...
    def __exit__(self, *_: object) -> None: ...


class LocalEngine:
    """Threads of this process.

    Parameters
    ----------
    threads : int, optional
        As many as processors by default. Each works on one shard at a time, so that memory grows with them.
    room : int
        Bytes of memory for encoded rows.
    """

    is_lost = False

    def __init__(self, threads: int | None = None, room: int = 0) -> None:
        self.room = room
        self.threads = self.width = threads or processors()
        self._pool: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[Shard], T], shards: Sequence[Shard]) -> list[T]:
        """See `ShardEngine.map`."""
        if self.threads == 1 or len(shards) == 1:
            return [function(one) for one in shards]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        return list(self._pool.map(function, shards))

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def engine_of(spec: AuditSpec, plan: MemoryPlan) -> ShardEngine:
    """The engine that works on shards."""
    if spec.engine.dask is None:
        return LocalEngine(room=plan.limit // 2)
    from bdt_core.shards.dask_engine import DaskShards

    return DaskShards(spec.engine.dask)


def engine_of_process(spec: AuditSpec) -> ShardEngine:
    """The engine of a specification, opened once in this process and closed when that ends."""
    key = (spec.engine.model_dump_json(), spec.room.memory_limit)
    if key not in _engines or _engines[key].is_lost:
        plan = plan_memory("out_of_core", spec.room.memory_limit, None)
        _engines[key] = engine_of(spec, plan)
        atexit.register(_engines[key].__exit__, None, None, None)
    return _engines[key]


_engines: dict[tuple[str, str | None], ShardEngine] = {}
