"""Shards on a Dask cluster: each has a worker of its own, which keeps its rows from one question to the next."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bdt_core.errors import BDTError, SpecError, UnreachableError
from bdt_core.shards.shard import Shard, process_folder
from bdt_core.spec import DaskEngine
from bdt_core.table.environment import expanded

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

_TRIES = 4
"""So often a shard is given to a worker before the audit stops: each time the one before was lost."""

_LONGEST_PLACE = 107 - len("/pymp-12345678/listener-12345678")
"""In bytes, of the folder of a socket's folder: the system's addresses have 107."""
_LOOK_EVERY = 1.0
_CONNECT_WITHIN = 30.0
_FETCH_WITHIN = 60.0
_NO_WORKERS_FOR = 120.0
_CLOSED_WITHIN = 60.0
_SHARE_FOR_ROWS = 0.4
"""Of a worker's memory; Dask pauses workers that use most of it."""

_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
_OF_LOCAL_WORKERS = {
    # Dask has glibc give memory back at once, so that every pass would have all its pages made anew.
    f"{_ENVIRONMENT}.MALLOC_TRIM_THRESHOLD_": 1 << 29,
    f"{_ENVIRONMENT}.MALLOC_MMAP_THRESHOLD_": 1 << 25,  # the most that glibc takes
    f"{_ENVIRONMENT}.MALLOC_ARENA_MAX": 1,
    # Workers with one thread for a few questions a second need not be watched all the time.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    # Elsewhere, libraries of the system may not survive a fork.
    "distributed.worker.multiprocessing-method": "forkserver" if sys.platform == "linux" else "spawn",
}
_LOADED_FIRST = ("distributed", "pyarrow.parquet", "bdt_core.auditing")
"""What the process has loaded whose forks the local workers are: each would need seconds for it. One that is started in
place of a killed one is no fork."""


_LOG = logging.getLogger("distributed.client")


def _is_not_of_a_lost_scheduler(record: logging.LogRecord) -> bool:
    """Dask logs with a traceback that it cannot connect again, which an error of ours says in a sentence."""
    return not (record.exc_info and isinstance(record.exc_info[1], (asyncio.CancelledError, OSError)))


class DaskShards:
    """Applies functions to shards on the workers of a cluster; see `bdt_core.shards.engine.ShardEngine`.

    Parameters
    ----------
    settings : DaskEngine
        A scheduler's address, or a number of processes of this machine.

    Raises
    ------
    SpecError
        Dask is not installed.
    UnreachableError
        The scheduler does not answer, or has no workers.
    """

    def __init__(self, settings: DaskEngine) -> None:
        self._client, self._cluster = _connected(settings)
        _LOG.addFilter(_is_not_of_a_lost_scheduler)
        self._homes: dict[int, str] = {}
        self._seen: tuple[float, dict[str, Any]] = (-_LOOK_EVERY, {})

    @property
    def dashboard(self) -> str:
        """Where Dask shows what it does."""
        return str(self._client.dashboard_link)

    @property
    def width(self) -> int:
        """Threads of all workers."""
        return sum(one["nthreads"] for one in self._workers().values())

    @property
    def is_lost(self) -> bool:
        """Whether the scheduler is gone for good."""
        return bool(self._client.status == "closed")

    @property
    def room(self) -> int:
        """Bytes of memory for encoded rows on all workers."""
        return int(_SHARE_FOR_ROWS * sum(one["memory_limit"] for one in self._workers().values()))

    def map(self, function: Callable[[Shard], T], shards: Sequence[Shard]) -> list[T]:
        """See `bdt_core.shards.engine.ShardEngine.map`.

        Raises
        ------
        UnreachableError
            The scheduler is lost, or a worker is lost again and again.
        """
        import cloudpickle
        from distributed import CancelledError, wait
        from distributed import TimeoutError as Late
        from distributed.comm.core import CommClosedError

        pickled = cloudpickle.dumps(function)
        tries = Counter(shard.number for shard in shards)
        answers: list[Any] = [None] * len(shards)
        try:
            running = self._submit_all(pickled, shards)
            while running:
                with suppress(Late):
                    wait(list(running), timeout=_LOOK_EVERY)
                for place, answer in self._fetched(running).items():
                    if isinstance(answer, BDTError):
                        raise answer
                    answers[place] = answer
                self._refuse_lost_scheduler()
                alive = self._workers()
                for future, place in list(running.items()):
                    is_over = future.status not in ("pending", "finished")
                    if is_over or self._homes[shards[place].number] not in alive:
                        del running[future]
                        self._again(future if future.status == "error" else None, shards[place], tries)
                        future.cancel()
                        running[self._submit(pickled, shards[place])] = place
        except (CommClosedError, CancelledError, OSError) as error:
            raise _lost_scheduler() from error
        return answers

    def _fetched(self, running: dict[Future[Any], int]) -> dict[int, Any]:
        """Answers that are there, by place; what is lost on the way, with its worker, goes on running."""
        from distributed import CancelledError
        from distributed import TimeoutError as Late

        finished = [one for one in running if one.status == "finished"]
        if not finished:
            return {}
        try:
            # What `Client.gather` calls; that itself waits for ever.
            answers = self._client.sync(self._client._gather, finished, callback_timeout=_FETCH_WITHIN)
        except (Late, CancelledError, _killed()):
            self._seen = (-_LOOK_EVERY, {})  # who is there now?
            return {}
        return {running.pop(future): answer for future, answer in zip(finished, answers, strict=True)}

    def __enter__(self) -> DaskShards:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing that is done is lost by it: Dask waits for a worker that is starting just now before it ends it."""
        for opened in (self._client, self._cluster):
            if opened is not None:
                with suppress(TimeoutError):  # what is left ends with this process
                    opened.close(timeout=_CLOSED_WITHIN)
        _LOG.removeFilter(_is_not_of_a_lost_scheduler)

    def _submit_all(self, pickled: bytes, shards: Sequence[Shard]) -> dict[Future[Any], int]:
        """One message per worker, not one per shard."""
        homes: dict[str, list[int]] = {}
        for place, shard in enumerate(shards):
            homes.setdefault(self._home(shard), []).append(place)
        running: dict[Future[Any], int] = {}
        for home, places in homes.items():
            its = [shards[place] for place in places]
            futures = self._client.map(_apply, [pickled] * len(its), its, workers=[home], pure=False)
            running |= dict(zip(futures, places, strict=True))
        return running

    def _submit(self, pickled: bytes, shard: Shard) -> Future[Any]:
        return self._client.submit(_apply, pickled, shard, workers=[self._home(shard)], pure=False)

    def _home(self, shard: Shard) -> str:
        """The shard's worker; when that is lost, the one that has the fewest."""
        workers = self._workers_awaited()
        if self._homes.get(shard.number) not in workers:
            load = Counter(dict.fromkeys(sorted(workers), 0))
            load.update(home for home in self._homes.values() if home in workers)
            self._homes[shard.number] = min(sorted(workers), key=lambda one: load[one])
        return self._homes[shard.number]

    def _again(self, future: Future[Any] | None, shard: Shard, tries: Counter[int]) -> None:
        """Whether a shard may be given out once more; what went wrong otherwise."""
        error = None if future is None else future.exception(timeout=_FETCH_WITHIN)
        if error is not None and not isinstance(error, _killed()):
            raise UnreachableError(
                f"A worker of the Dask cluster failed on part {shard.number} of the table: {type(error).__name__}: "
                f"{str(error)[:200]}. The workers need the same packages in the same versions as this process."
            ) from error
        tries[shard.number] += 1
        if tries[shard.number] > _TRIES:
            raise UnreachableError(
                f"{_TRIES} workers of the Dask cluster were lost one after the other on part {shard.number} of the "
                "table; most often they ran out of memory. Give each more memory, or name fewer threads per worker, "
                "and run the audit again."
            )

    def _workers_awaited(self) -> dict[str, Any]:
        """The cluster's workers; when all are gone, others are waited for.

        Looks are counted and no clock is read: while a machine stood still, nobody could start one.
        """
        for _ in range(round(_NO_WORKERS_FOR / _LOOK_EVERY)):
            if workers := self._workers():
                return workers
            time.sleep(_LOOK_EVERY)
            self._refuse_lost_scheduler()
        raise UnreachableError(
            f"All workers of the Dask cluster are gone for {_NO_WORKERS_FOR:.0f} s. Start some, and run the audit "
            "again; if they ran out of memory, give them more."
        )

    def _workers(self) -> dict[str, Any]:
        """The cluster's workers by address, as they were a second ago at most."""
        looked, workers = self._seen
        if time.monotonic() - looked >= _LOOK_EVERY:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            self._seen = time.monotonic(), workers
            if self._cluster is not None and len(workers) < (asked := len(self._cluster.worker_spec)):
                self._cluster.scale(asked)  # Dask gives up one that is not back within seconds
        return workers

    def _refuse_lost_scheduler(self) -> None:
        if self._client.status != "running":
            raise _lost_scheduler()


def _apply(pickled: bytes, shard: Shard) -> Any:
    """The function's answer, or what is wrong with the data: of an error that is raised Dask prints a traceback."""
    import cloudpickle

    try:
        return cloudpickle.loads(pickled)(shard)
    except BDTError as error:
        return error


def _listen_in(folder: Path) -> None:
    """Have the process that forks workers listen in a folder that is removed after a crash, too.

    Where its name is too long for a socket, it listens where it would.
    """
    if len(os.fsencode(folder)) > _LONGEST_PLACE:
        return
    # Python's own folder is left behind after a crash; and made in ours, it is missed aloud at the end.
    own: dict[str, Any] = vars(multiprocessing.current_process())["_config"]
    if own.get("tempdir") is None:
        own["tempdir"] = tempfile.mkdtemp(prefix="pymp-", dir=folder)


def _connected(settings: DaskEngine) -> tuple[Client, Any]:
    try:
        import dask
        from distributed import Client, LocalCluster
        from distributed.utils import get_mp_context
    except ImportError:
        raise SpecError(
            '"engine.dask" needs the package distributed: pip install "bdt-pipeline[dask]", here and on the workers.'
        ) from None
    if settings.address is None:
        with dask.config.set(_OF_LOCAL_WORKERS):
            get_mp_context().set_forkserver_preload(list(_LOADED_FIRST))
            _listen_in(process_folder())
            cluster = LocalCluster(
                n_workers=settings.local_workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=settings.memory_limit.replace(" ", ""),
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                env=dict(os.environ),  # a fork has that of the first cluster of this process
            )
        return Client(cluster), cluster
    address = expanded(settings.address, "engine.dask.address")
    try:
        client = Client(address, timeout=_CONNECT_WITHIN)
    except (OSError, ValueError) as error:
        raise UnreachableError(
            f"No Dask scheduler answers at {address} ({type(error).__name__}). Start one with: dask scheduler, and "
            "workers with: dask worker ADDRESS"
        ) from None
    return client, None


def _killed() -> type[Exception]:
    from distributed.scheduler import KilledWorker

    killed: type[Exception] = KilledWorker
    return killed


def _lost_scheduler() -> UnreachableError:
    return UnreachableError(
        "The scheduler of the Dask cluster is gone. Nothing is reported from what was done so far; start it again, and "
        "run the audit again."
    )
