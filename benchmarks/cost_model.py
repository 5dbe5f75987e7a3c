"""What a large audit costs: a model of measured audits, extrapolated to more rows and machines, and simulated.

``python -m benchmarks cost_model [--rows=1000] [--cache=.benchmarks] [--resume]`` reads what ``large`` and
``large_dask`` have measured, has real Dask schedulers with 16 and 64 workers work through the passes of an audit of so
many million rows, in which every task sleeps as long as its work was measured to take. With ``--rows=0`` nothing is
simulated anew. The page is docs/cost-of-large-audits.md.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bdt_core.shards.shard import Shard
from benchmarks.large import FEATURES, FILE_ROWS, Measured, Record
from benchmarks.large_dask import ALL_CORES, WORKERS, times_of_tasks
from benchmarks.tables import record, table

SIMULATED = (16, 64)
MACHINES = (1, 16, 64)
ROWS = (1_000_000_000, 10_000_000_000)
BANDWIDTH = 1e9
"""Bytes per second that a machine is assumed to read from its disk, or from storage that all machines share."""
CACHED = 0.8
"""Of a machine's memory: as much may hold files that were read, beside processes that take 2 GB."""

READ, OCCURRENCES, SEARCH, SLICES, OTHER, DRIVER = (
    "reading and typing",
    "hashes and occurrence numbers",
    "passes of the search for clusters",
    "passes of the search for slices",
    "other passes",
    "everything else, once",
)
_PASSES = (OCCURRENCES, SEARCH, SLICES, OTHER)
_OF_OCCURRENCES = ("hash_shard", "count_earlier", "rank_shard")
_ENCODED = ("moments_of", "statistics_of", "candidates_of", "densest_of", "spans_of", "steps_of")


@dataclass(frozen=True)
class Line:
    """Seconds by rows: ``fixed + per_million * rows / 1e6``, neither below 0."""

    fixed: float
    per_million: float

    @classmethod
    def through(cls, rows: Iterable[float], seconds: Iterable[float]) -> Line:
        """The line of least squared relative distances from some measurements; of one, in proportion to rows."""
        x, y = np.array(list(rows)) / 1e6, np.array(list(seconds))
        if len(x) == 1 or not y.all():
            return cls(0.0, float((y / x).max()))
        fixed, slope = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(x)), rcond=None)[0]
        if fixed < 0:
            return cls(0.0, float((x / y).sum() / ((x / y) ** 2).sum()))
        return cls(float(fixed), float(slope)) if slope > 0 else cls(float(y.mean()), 0.0)

    def at(self, rows: float) -> float:
        """Seconds."""
        return self.fixed + self.per_million * rows / 1e6


@dataclass(frozen=True)
class Cluster:
    """What a Dask cluster adds to the work.

    Attributes
    ----------
    latency : float
        Seconds of a pass with one task in which nothing is done.
    per_task : float
        Seconds that the scheduler and the client need for each further task.
    work : float
        CPU seconds of a worker per CPU second of the same work in one process.
    start : float
        CPU seconds that each worker takes to start and to load what it needs.
    """

    latency: float
    per_task: float
    work: float = 1.0
    start: float = 0.0


@dataclass(frozen=True)
class Model:
    """Costs of one kind of table, in this process.

    Attributes
    ----------
    kind : str
    cpu : dict of str to Line
        CPU seconds by what they are for.
    wall : dict of str to Line
        Seconds on the machine of the measurements, of what one process does: reading, and everything else.
    times : dict of str to int
        How often all shards are asked, by group of passes.
    passes : list of (str, str, float)
        Stage, name, and CPU seconds per million rows of each pass, in their order.
    disk : float
        Bytes of temporary files per row.
    rows : list of int
        Of the audits that it was fitted on.
    readers : int
        Workers that can read at the same time; 1 is the first process, with all its cores.
    """

    kind: str
    cpu: dict[str, Line]
    wall: dict[str, Line]
    times: dict[str, int]
    passes: list[tuple[str, str, float]]
    disk: float
    rows: list[int]
    readers: int
    machine: str


def run(rows: str = "1000", cache: str = ".benchmarks", resume: bool = False) -> None:
    """Fit the model, simulate, and write down what it says."""
    folder = Path(cache).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    audits, clusters = Measured(folder / "large.jsonl"), Measured(folder / "large_dask.jsonl")
    simulated = Measured(folder / "cost_model.jsonl")
    models = [one for kind in ("numeric", "categorical") if (one := fit(audits, kind)) is not None]
    cluster = fit_cluster(clusters)
    million = float(rows)
    if models and million:
        for workers in SIMULATED:
            _simulate_apart(simulated, models[0], cluster, workers, round(million * 1e6), resume)
    record("cost_model", told(models, cluster, simulated.records()))


def fit(audits: Measured, kind: str) -> Model | None:
    """The model of a kind of table; None when no audit of it was measured."""
    measured = audits.of("out_of_core", kind)
    large = [one for one in measured if max(each["shards"] for each in one["passes"]) > 1]
    measured = large or measured[-1:]  # one shard: the table was worked on in memory
    if not measured:
        return None
    rows = [one["rows"] for one in measured]
    cpu, wall = (
        {
            what: Line.through(rows, [_divided(one, which)[what] for one in measured])
            for what in (READ, *_PASSES, DRIVER)
        }
        for which in ("cpu", "wall")
    )
    largest = measured[-1]
    return Model(
        kind=kind,
        cpu=cpu,
        wall=wall,
        times={what: sum(_group(one) == what for one in largest["passes"]) for what in _PASSES},
        passes=[
            (one["stage"], one["pass"], 1e6 * one["cpu"] / largest["rows"])
            for one in largest["passes"]
            if _group(one) != READ
        ],
        disk=largest["disk"] / largest["rows"],
        rows=rows,
        readers=max([1, *(one["shards"] for one in largest["passes"] if _group(one) == READ)]),
        machine=largest["machine"],
    )


def fit_cluster(clusters: Measured) -> Cluster | None:
    """What Dask adds, by its empty tasks and by audits of the same rows with 2 and 4 workers."""
    records = [one for one in clusters.records() if "failed" not in one]
    tasks = [one["tasks"] for one in records if one["what"] == "tasks"]
    if not tasks:
        return None
    latency = float(np.mean([one[0][1] for one in tasks]))
    per_task = float(np.mean([(one[-1][1] - one[0][1]) / (one[-1][0] - one[0][0]) for one in tasks]))
    by_workers = {one["workers"]: one for one in records if one["what"] == "cluster"}
    if not {ALL_CORES, *WORKERS} <= by_workers.keys():
        return Cluster(latency, per_task)
    work = sum(one["cpu"] for one in by_workers[ALL_CORES]["passes"])
    few, many = (by_workers[one]["cpu_of_workers"] for one in WORKERS)
    start = max(0.0, (many - few) / (WORKERS[1] - WORKERS[0]))
    return Cluster(latency, per_task, max(1.0, (few - WORKERS[0] * start) / work), start)


def _group(one: Record) -> str:
    if one["stage"] == "read the table":
        return READ
    if one["pass"] in _OF_OCCURRENCES:
        return OCCURRENCES
    return {"find clusters": SEARCH, "search intersections": SLICES}.get(one["stage"], OTHER)


def _divided(record: Record, what: str) -> dict[str, float]:
    """CPU or wall seconds of an audit by what they were for."""
    seconds = dict.fromkeys((READ, *_PASSES, DRIVER), 0.0)
    for one in record["passes"]:
        seconds[_group(one)] += one[what]
    seconds[READ] = sum(one[what] for one in record["stages"] if one["stage"] == "read the table")
    seconds[DRIVER] = max(record[what] - sum(seconds.values()), 0.0)
    return seconds


@dataclass(frozen=True)
class Forecast:
    """Seconds of an audit."""

    read: float
    passes: float
    driver: float
    limit: str

    @property
    def total(self) -> float:
        return self.read + self.passes + self.driver


def forecast(model: Model, cluster: Cluster | None, rows: int, machines: int, cores: int, memory: float) -> Forecast:
    """An audit of more rows, on machines like the one of the measurements.

    Parameters
    ----------
    rows : int
    machines : int
        One works in its own process; several are a Dask cluster with a worker per core.
    cores : int
        Of a machine.
    memory : float
        Bytes of a machine; temporary files that do not fit into four fifths of it are read anew in each pass.
    """
    shards = max(1, math.ceil(rows / FILE_ROWS))
    read = model.wall[READ].at(rows)
    if machines > 1 and model.readers > 1 and cluster is not None:
        read = model.cpu[READ].at(rows) * cluster.work / min(machines * cores, model.readers)
    driver = model.wall[DRIVER].at(rows)
    is_read_anew = model.disk * rows > CACHED * memory * machines
    total, limits = 0.0, {"work": 0.0, "disk": 0.0, "scheduler": 0.0}
    for _, name, per_million in model.passes:
        parts = {"disk": bytes_of_pass(name, model.kind) * rows / BANDWIDTH / machines if is_read_anew else 0.0}
        if machines == 1:
            speed = sum(model.cpu[one].at(rows) for one in _PASSES) / sum(model.wall[one].at(rows) for one in _PASSES)
            parts["work"], latency = per_million * rows / 1e6 / speed, 0.0
        else:
            assert cluster is not None
            task = per_million * (rows / shards) / 1e6 * cluster.work
            parts["work"] = math.ceil(shards / (machines * cores)) * task
            parts["scheduler"], latency = shards * cluster.per_task + task, cluster.latency
        slowest = max(parts, key=lambda one: parts[one])
        limits[slowest] += parts[slowest]
        total += parts[slowest] + latency
    limits |= {"reading": read, "everything else": driver}
    start = cluster.start if cluster is not None and machines > 1 else 0.0
    return Forecast(read, total, driver + start, max(limits, key=lambda one: limits[one]))


def bytes_of_pass(name: str, kind: str) -> int:
    """Bytes per row that a pass reads: of encoded rows, or of typed columns with bias variable, rank and marks."""
    of_features = FEATURES * (4 if kind == "numeric" else 1)
    return of_features + (8 if name in _ENCODED else 17)


def _simulate_apart(
    store: Measured, model: Model, cluster: Cluster | None, workers: int, rows: int, resume: bool
) -> None:
    key = {"what": "simulated", "kind": model.kind, "rows": rows, "workers": workers}
    if resume and any("failed" not in one and key.items() <= one.items() for one in store.records()):
        return
    print(f"{time.strftime('%H:%M:%S')} {key}", flush=True)
    factor = 1.0 if cluster is None else cluster.work
    shards = max(1, math.ceil(rows / FILE_ROWS))
    task = key | {"shards": shards, "passes": [one[2] * factor * rows / shards / 1e6 for one in model.passes]}
    command = [sys.executable, "-m", "benchmarks.cost_model", json.dumps(task)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    lines = ended.stdout.strip().splitlines()
    if ended.returncode == 0 and lines:
        store.add({**key, **json.loads(lines[-1])})
    else:
        store.add({**key, "failed": (ended.stderr.strip().splitlines() or ["nothing was printed"])[-1][:500]})
        print(ended.stderr[-3000:], file=sys.stderr)


def simulate(task: Record) -> Record:
    """The passes of an audit on a real scheduler, with workers that sleep; beside what the model says of them."""
    import logging

    from distributed import LocalCluster

    from bdt_core.shards.dask_engine import DaskShards
    from bdt_core.spec import DaskEngine

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    workers, shards = task["workers"], [Shard("", number, 0) for number in range(task["shards"])]
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=False, dashboard_address=None, memory_limit=0
        ) as local,
        DaskShards(DaskEngine(address=local.scheduler_address)) as engine,
    ):
        one, each, many = times_of_tasks(engine, (1, workers, 1000))  # a task, one for each worker, and many
        per_task = (many[1] - one[1]) / (many[0] - one[0])
        own = Cluster(max(one[1], each[1] - workers * per_task), per_task)
        seconds, predicted = [], []
        for duration in task["passes"]:
            began = time.perf_counter()
            engine.map(partial(sleep, seconds=duration), shards)
            seconds.append(time.perf_counter() - began)
            work = math.ceil(len(shards) / workers) * duration
            predicted.append(max(work, len(shards) * own.per_task + duration) + own.latency)
    return {
        "shards": len(shards),
        "passes": len(seconds),
        "work": sum(task["passes"]) * len(shards) / workers,
        "per_task": own.per_task,
        "latency": own.latency,
        "predicted": sum(predicted),
        "simulated": sum(seconds),
        "worst": max(max(a / b, b / a) for a, b in zip(seconds, predicted, strict=True)),
    }


def sleep(shard: Shard, seconds: float) -> int:
    """Take as long as the work does."""
    time.sleep(seconds)
    return shard.number


def told(models: list[Model], cluster: Cluster | None, simulated: list[Record]) -> dict[str, Any]:
    """What the page says: the models, what they say of more rows and machines, and what simulations took."""
    figures: dict[str, Any] = {"features": FEATURES, "cached": CACHED, "bandwidth": BANDWIDTH / 1e9}
    for one in models:
        figures |= {f"{one.kind}_{name}": figure for name, figure in _measured(one).items()}
        figures[f"{one.kind}_extrapolated"] = _extrapolated(one, cluster)
    if cluster is not None:
        figures["cluster"] = _cluster(cluster)
    return figures | _simulated(simulated)


def _measured(model: Model) -> dict[str, Any]:
    lines: list[list[Any]] = []
    for what in (READ, *_PASSES, DRIVER):
        times = model.times.get(what, 1)
        cpu = model.cpu[what]
        cell = None if what == DRIVER else 1e9 * cpu.per_million / 1e6 / FEATURES / max(times, 1)
        lines.append([what, times, cpu.fixed, cpu.per_million, cell])
    columns = {"what": "", "passes": "", "CPU s, fixed": ".2f", "CPU s per million rows": ".3f"}
    return {
        "rows": ", ".join(f"{one:,}" for one in model.rows),
        "on": model.machine,
        "wall": sum(one.per_million for one in model.wall.values()),
        "disk": model.disk,
        "costs": table(columns | {"ns per row x column x pass": ".2f"}, lines),
    }


def _cluster(cluster: Cluster) -> dict[str, Any]:
    lines = [
        ["a pass with one empty task", f"{1e3 * cluster.latency:.1f} ms"],
        ["each further task of a pass", f"{1e3 * cluster.per_task:.2f} ms"],
        ["CPU seconds of workers per CPU second of the same work in one process", f"{cluster.work:.2f}"],
        ["CPU seconds to start a worker", f"{cluster.start:.1f}"],
    ]
    return table({"what": "", "measured": ""}, lines)


def _extrapolated(model: Model, cluster: Cluster | None) -> dict[str, Any]:
    cores, memory = _of_machine(model.machine)
    lines: list[list[Any]] = []
    for rows in (model.rows[-1], *ROWS):
        for machines in MACHINES:
            if machines > 1 and cluster is None:
                continue
            one = forecast(model, cluster, rows, machines, cores, memory)
            audit = f"{rows:,} rows, {machines} machine{'s'[: machines > 1]}"
            times = (_time(each) for each in (one.read, one.passes, one.driver, one.total))
            lines.append([audit, *times, one.limit, model.disk * rows / 1e9])
    times_of = dict.fromkeys(("reading", "passes", "everything else", "together", "mostly"), "")
    return table({model.kind: "", **times_of, "temporary files, GB": ",.0f"}, lines)


def _of_machine(words: str) -> tuple[int, float]:
    """Cores and bytes of memory, as `benchmarks.measuring.machine` tells them."""
    numbers = [float(one) for one in words.replace(",", " ").split() if one.replace(".", "").isdigit()]
    return int(numbers[0]), numbers[1] * 2**30


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _simulated(records: list[Record]) -> dict[str, Any]:
    done = [one for one in records if one["what"] == "simulated" and "failed" not in one]
    if not done:
        return {}
    ratios = [one["simulated"] / one["predicted"] for one in done]
    lines = [
        [
            f"{one['workers']} workers, {one['rows']:,} {one['kind']} rows",
            one["passes"] * one["shards"],
            1e3 * one["per_task"],
            one["work"],
            one["predicted"],
            one["simulated"],
            ratio,
        ]
        for one, ratio in zip(done, ratios, strict=True)
    ]
    seconds = dict.fromkeys(("work of a worker, s", "predicted, s", "simulated, s"), ".1f")
    columns = {"audit": "", "tasks": ",", "ms per task": ".2f", **seconds, "ratio": ".2f"}
    return {"simulated": table(columns, lines), "worst": max(ratios)}


if __name__ == "__main__":
    print(json.dumps(simulate(json.loads(sys.argv[1]))))
