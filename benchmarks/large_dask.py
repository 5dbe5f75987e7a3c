"""The same audit on a Dask cluster of processes and in this process: time, bytes moved, cost of a task.

``python -m benchmarks large_dask [--rows=20] [--kinds=numeric] [--cache=.benchmarks] [--resume]`` audits so many
million rows in one process, on one core and on all, and on local clusters of 2 and 4 worker processes. Each audit is a
process of its own; what it measured is added to ``large_dask.jsonl`` in the cache at once. Fewer than ten million rows
are a trial, of which nothing is kept.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bdt_core.shards.shard import Shard
from benchmarks.large import (
    FILE_ROWS,
    Measured,
    Record,
    Watch,
    WatchedEngine,
    equal,
    generate,
    measure,
    sha_of,
    specification,
    watch_passes,
)
from benchmarks.measuring import machine, reached
from benchmarks.tables import record, table

if TYPE_CHECKING:
    from bdt_core.shards.dask_engine import DaskShards

ONE_CORE, ALL_CORES = "one core", "all cores"
WORKERS = (2, 4)
WANTED_CPU = 1.5
_TASKS = (1, 100, 1000, 4000)


def run(rows: str = "20", kinds: str = "numeric", cache: str = ".benchmarks", resume: bool = False) -> None:
    """Measure everything, and write down what came of it."""
    size = round(float(rows) * 1e6)
    file_rows = min(FILE_ROWS, -(-size // 20))
    folder = Path(cache).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    store = Measured(folder / "large_dask.jsonl")
    for kind in kinds.split(","):
        data = generate(folder / f"large-dask-{kind}", kind, size, file_rows)
        try:
            for workers in (ONE_CORE, ALL_CORES, *WORKERS):
                measure(store, folder, data, "cluster", kind, size, file_rows, resume, workers=workers)
            measure(store, folder, data, "moved", kind, size, file_rows, resume, workers=ALL_CORES)
        finally:
            shutil.rmtree(data, ignore_errors=True)
    for workers in WORKERS:
        measure(store, folder, folder / "nothing", "tasks", "", 0, 1, resume, workers=workers)
    record("large_dask", told(store.records(), size), keep=size >= 10_000_000)


def audit_on(task: Record) -> Record:
    """A whole audit with an engine: seconds of this process and of all, the hash of its report."""
    from bdt_core.audit import audit

    workers = task["workers"]
    if workers == ONE_CORE and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    spec = specification({**task, "what": "out_of_core"})
    if isinstance(workers, int):
        spec["engine"] = {"dask": {"local_workers": workers}}
    watch = Watch()
    of_workers: list[float] = []
    opened: list[tuple[float, float]] = []

    def wrap(engine: Any) -> WatchedEngine:
        watched = WatchedEngine(engine, watch, bytes_too=task["what"] == "moved")
        watched.at_exit = lambda: of_workers.append(cpu_of_children())
        opened.append((time.perf_counter() - wall, cpu_of_children()))
        return watched

    watch_passes(wrap)
    wall, cpu = time.perf_counter(), time.process_time()
    result = audit(None, spec, progress=watch.progress)
    watch.end()
    return {
        "wall": time.perf_counter() - wall,
        "cpu_here": time.process_time() - cpu,
        "cpu_of_workers": of_workers[0],
        "opened": opened[0],
        "peak_of_a_worker": 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
        "stages": watch.stages,
        "passes": watch.passes,
        "sha": sha_of(result.document),
        "machine": machine(),
    }


def cpu_of_children() -> float:
    """CPU seconds of all processes that this one started and that still run, and of what they started."""
    import psutil

    total = 0.0
    for one in psutil.Process().children(recursive=True):
        try:
            times = one.cpu_times()
        except psutil.Error:
            continue  # ended meanwhile
        total += times.user + times.system
    return total


def empty_tasks(task: Record) -> Record:
    """Seconds that passes take in which nothing is done, by number of shards."""
    from bdt_core.shards.dask_engine import DaskShards
    from bdt_core.spec import DaskEngine

    with DaskShards(DaskEngine(local_workers=task["workers"])) as engine:
        return {"tasks": times_of_tasks(engine), "machine": machine()}


def times_of_tasks(engine: DaskShards, numbers: Sequence[int] = _TASKS) -> list[tuple[int, float, float]]:
    """Tasks, wall and CPU seconds of this process, in which the scheduler and the client are."""
    engine.map(nothing, [Shard("", number, 0) for number in range(200)])  # connections are there
    found = []
    for tasks in numbers:
        shards = [Shard("", number, 0) for number in range(tasks)]
        walls, cpus = [], []
        for _ in range(3 if tasks <= 1000 else 1):
            wall, cpu = time.perf_counter(), time.process_time()
            engine.map(partial(nothing), shards)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        found.append((tasks, float(np.median(walls)), float(np.median(cpus))))
    return found


def nothing(shard: Shard) -> int:
    """What an empty task does."""
    return shard.number


def told(records: list[Record], rows: int) -> dict[str, Any]:
    """What RESULTS.md says."""
    done = [one for one in records if "failed" not in one]
    audits = [one for one in done if one["what"] == "cluster" and one["rows"] == rows]
    failed = [f"{one['what']}, {one['workers']}: {one['failed']}" for one in records if "failed" in one]
    figures: dict[str, Any] = {"rows": rows, "failed": failed or "none"}
    for kind in dict.fromkeys(one["kind"] for one in audits):
        of_kind = _of_kind([one for one in audits if one["kind"] == kind], kind)
        figures |= {f"{kind}_{name}": figure for name, figure in of_kind.items()}
    for one in done:
        if one["what"] == "moved" and one["rows"] == rows:
            figures |= {f"{one['kind']}_{name}": figure for name, figure in _moved(one).items()}
    tasks = [one for one in done if one["what"] == "tasks"]
    return figures | ({"tasks": _tasks(tasks)} if tasks else {})


def _of_kind(audits: list[Record], kind: str) -> dict[str, Any]:
    by_workers = {one["workers"]: one for one in audits}
    alone, together = by_workers.get(ONE_CORE), by_workers.get(ALL_CORES)
    lines = [
        [
            f"{kind}, in process, {workers}" if isinstance(workers, str) else f"{kind}, {workers} workers",
            one["wall"],
            _cpu(one),
            one["cpu_here"],
            _cpu(one) / _cpu(together) if together else None,
            alone["wall"] / one["wall"] if alone else None,
            together["wall"] / one["wall"] if together else None,
        ]
        for workers, one in by_workers.items()
    ]
    seconds = dict.fromkeys(("wall s", "CPU s", "of it in the first process"), ".1f")
    ratios = ("CPU ratio to all cores in process", "speed-up against one core", "against all cores in process")
    words = "-"
    if together:
        cpu = {one: _cpu(by_workers[one]) / _cpu(together) for one in WORKERS if one in by_workers}
        words = ", ".join(
            f"{ratio:.2f} with {one} workers ({reached(ratio < WANTED_CPU)})" for one, ratio in cpu.items()
        )
    return {
        "audits": table({"audit": "", **seconds, **dict.fromkeys(ratios, ".2f")}, lines),
        "wanted": f"under {WANTED_CPU}",
        "ratios": words,
        "reports": equal(len({one["sha"] for one in audits}) == 1, "byte"),
    }


def _cpu(one: Record) -> float:
    return float(one["cpu_here"] + one["cpu_of_workers"])


def _moved(one: Record) -> dict[str, Any]:
    """Bytes of questions and answers, by pass."""
    groups: dict[str, list[Record]] = {}
    for each in one["passes"]:
        groups.setdefault(f"{each['stage']}: {each['pass']}", []).append(each)
    lines = [
        [
            name,
            len(several),
            several[0]["shards"],
            *(np.mean([each[way] for each in several]) / 1e3 for way in ("asked", "answered")),
        ]
        for name, several in groups.items()
    ]
    return {
        "moved": sum(each["asked"] + each["answered"] for each in one["passes"]) / 1e6,
        "passes": len(one["passes"]),
        "bytes": table({"pass": "", "times": "", "shards": "", "kB asked": ",.1f", "kB answered": ",.1f"}, lines),
    }


def _tasks(records: list[Record]) -> dict[str, Any]:
    lines: list[list[Any]] = []
    for one in records:
        overhead, per_task = fitted(one["tasks"])
        for tasks, wall, cpu in one["tasks"]:
            lines.append([f"{one['workers']} workers, {tasks:,} tasks", wall, 1e3 * wall / tasks, 1e3 * cpu / tasks])
        lines.append([f"{one['workers']} workers, fitted", f"{overhead:.3f} at least", 1e3 * per_task, ""])
    per_task_of = dict.fromkeys(("wall ms per task", "CPU ms per task of scheduler and client"), ".2f")
    return table({"empty tasks": "", "wall s of the pass": ".3f", **per_task_of}, lines)


def fitted(tasks: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Seconds of a pass with one task, and seconds that each further one adds (by the largest pass)."""
    few, many = tasks[0], tasks[-1]
    return float(few[1]), float((many[1] - few[1]) / (many[0] - few[0]))


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(empty_tasks(given) if given["what"] == "tasks" else audit_on(given)))
