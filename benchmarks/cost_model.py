"""What a large audit costs: a model of measured audits, extrapolated to more rows and machines, and simulated.

``python -m benchmarks cost_model [--rows=1000] [--cache=.benchmarks] [--resume]`` reads what ``large`` and
``large_dask`` have measured, has real Dask schedulers with 16 and 64 workers work through the passes of an audit of so
many million rows, in which every task sleeps as long as its work was measured to take, and writes
docs/cost-of-large-audits.md. With ``--rows=0`` nothing is simulated anew.
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

import numpy as np

from bdt_core.shards.shard import Shard
from benchmarks.large import FEATURES, FILE_ROWS, Measured, Record
from benchmarks.large_dask import ALL_CORES, WORKERS, times_of_tasks
from benchmarks.measuring import markdown_table

PAGE = Path(__file__).parents[1] / "docs" / "cost-of-large-audits.md"
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
    """Fit the model, simulate, and write the page."""
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
    PAGE.write_text(page(models, cluster, simulated.records()), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


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


def page(models: list[Model], cluster: Cluster | None, simulated: list[Record]) -> str:
    """The page of documentation."""
    parts = [_INTRODUCTION, "## What one machine was measured to take", *(_measured(one) for one in models)]
    if not models:
        parts.append(_NOT_YET)
    parts += ["## What a Dask cluster adds", _cluster(cluster) if cluster is not None else _NOT_YET]
    parts += ["## More rows, more machines", _ASSUMPTIONS]
    parts += [_extrapolated(one, cluster) for one in models] or [_NOT_YET]
    parts += ["## Checked by simulation", _SIMULATION, _simulated(simulated) or _NOT_YET]
    return "\n\n".join(parts) + "\n"


_NOT_YET = "(Not measured yet.)"

_INTRODUCTION = f"""# What an audit of a large table costs

Made by `python -m benchmarks cost_model` from what `python -m benchmarks large` and `python -m benchmarks large_dask`
have measured; nothing on this page is written by hand but the words. Tables have {FEATURES} features and a bias
variable of 0 and 1, and no declared groups.

The source is read once, in batches of a million rows, and each batch becomes a shard, a file of typed columns. Then
every stage asks all shards some questions, one after the other: a pass. The answers are counts and sums, which the
first process adds up. So the cost is

    reading + passes x rows x columns x (cost of a cell) + passes x shards x (cost of a task) + what is done once

and what is done once (rules, stability, leaks, the report) is done on a sample of `large_rows` rows, however large the
table is."""

_ASSUMPTIONS = f"""Assumed, beyond what was measured:

- Machines are like the one of the measurements: as many cores, as much memory, as fast. A cluster has one worker with
  one thread per core, and a machine of its own for the scheduler and the first process.
- Parquet files are read, and their shards written, by the workers, but no more parts at the same time than the first
  process gives out together, where it does that; other sources are read by the first process, with all its cores.
- Cost goes in proportion to rows. To columns as well: twice the features take twice the time of reading and of passes.
  (The search for slices looks at triples of columns: it grows faster.) Numbering equal rows has each range of hashes
  meet each shard: 2 CPU seconds more at 1,000 shards of a million rows, 100 at 10,000, 3 % of the hashing there.
- The number of passes is that of the largest audit that was measured. It depends on the data: at most 100 per split.
- Temporary files are read from memory while they fit into {CACHED:.0%} of that of all machines, and otherwise in every
  pass anew, with {BANDWIDTH / 1e9:g} GB/s per machine, from its own disk or from storage that all share.
- A pass takes as long as the slowest of three: the work of the busiest worker, its reading, or the scheduler's dealing
  with one task after the other and the work of the last; and the latency of one empty task on top.
- Answers are small: what the first process does with them goes with the number of shards, and is in what was measured.
- Nothing fails. A lost worker costs its shards of the pass, and encoding these anew."""

_SIMULATION = """A real Dask scheduler and the same client code worked through all passes of an audit, with 16 and with
64 workers in one process, whose tasks sleep for as long as the work of a shard was measured to take. Predicted is what
the model says with this scheduler's own time per task, which was measured with empty tasks just before: the check is of
the model's structure. All workers share one process here, so that a task costs the scheduler more than on a cluster."""


def _measured(model: Model) -> str:
    lines = []
    for what in (READ, *_PASSES, DRIVER):
        times = model.times.get(what, 1)
        cpu = model.cpu[what]
        cell = 1e9 * cpu.per_million / 1e6 / FEATURES / max(times, 1)
        each = f"{cell:.2f}" if what != DRIVER else "-"
        lines.append([what, str(times), f"{cpu.fixed:.2f}", f"{cpu.per_million:.3f}", each])
    sizes = ", ".join(f"{one:,}" for one in model.rows)
    head = ["what", "passes", "CPU s, fixed", "CPU s per million rows", "ns per row x column x pass"]
    wall = sum(one.per_million for one in model.wall.values())
    return (
        f"{model.kind.capitalize()} features; fitted on audits of {sizes} rows in one process ({model.machine}). On "
        f"all its cores together a million rows more take {wall:.2f} s, and {model.disk:.0f} bytes of temporary files "
        f"per row.\n\n{markdown_table(head, lines)}"
    )


def _cluster(cluster: Cluster) -> str:
    lines = [
        ["a pass with one empty task", f"{1e3 * cluster.latency:.1f} ms"],
        ["each further task of a pass", f"{1e3 * cluster.per_task:.2f} ms"],
        ["CPU seconds of workers per CPU second of the same work in one process", f"{cluster.work:.2f}"],
        ["CPU seconds to start a worker", f"{cluster.start:.1f}"],
    ]
    return markdown_table(["what", "measured"], lines)


def _extrapolated(model: Model, cluster: Cluster | None) -> str:
    cores, memory = _of_machine(model.machine)
    lines = []
    for rows in (model.rows[-1], *ROWS):
        for machines in MACHINES:
            if machines > 1 and cluster is None:
                continue
            one = forecast(model, cluster, rows, machines, cores, memory)
            lines.append(
                [
                    f"{rows:,} rows, {machines} machine{'s'[: machines > 1]}",
                    *(_time(each) for each in (one.read, one.passes, one.driver, one.total)),
                    one.limit,
                    f"{model.disk * rows / 1e9:,.0f}",
                ]
            )
    head = [f"{model.kind}", "reading", "passes", "everything else", "together", "mostly", "temporary files, GB"]
    return markdown_table(head, lines)


def _of_machine(words: str) -> tuple[int, float]:
    """Cores and bytes of memory, as `benchmarks.measuring.machine` tells them."""
    numbers = [float(one) for one in words.replace(",", " ").split() if one.replace(".", "").isdigit()]
    return int(numbers[0]), numbers[1] * 2**30


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _simulated(records: list[Record]) -> str:
    done = [one for one in records if one["what"] == "simulated" and "failed" not in one]
    if not done:
        return ""
    lines = [
        [
            f"{one['workers']} workers, {one['rows']:,} {one['kind']} rows",
            f"{one['passes'] * one['shards']:,}",
            f"{1e3 * one['per_task']:.2f}",
            f"{one['work']:.1f}",
            f"{one['predicted']:.1f}",
            f"{one['simulated']:.1f}",
            f"{one['simulated'] / one['predicted']:.2f}",
        ]
        for one in done
    ]
    head = ["audit", "tasks", "ms per task", "work of a worker, s", "predicted, s", "simulated, s", "ratio"]
    worst = max(one["simulated"] / one["predicted"] for one in done)
    return f"""{markdown_table(head, lines)}

Every simulation took longer than predicted, more so with more workers. These share their processors with the
scheduler and with the process that hands out tasks and adds up answers, which on a cluster they do not; how much of the
difference that is has not been measured. Read the times of clusters above as the least, and up to {worst:.1f} times as
long as possible."""


if __name__ == "__main__":
    print(json.dumps(simulate(json.loads(sys.argv[1]))))
