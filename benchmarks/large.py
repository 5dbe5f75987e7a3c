"""Whole audits of tables that are larger than memory: time, memory, disk, and how they grow with the rows.

``python -m benchmarks large [--rows=100] [--kinds=numeric,categorical] [--cache=.benchmarks] [--resume]`` writes tables
of up to so many million rows, and audits a hundredth, a tenth and all of the rows out of core; the tenth in memory,
too. Each audit is a process of its own, and what it measured is added to ``large.jsonl`` in the cache at once: with
``--resume`` what is there already is not measured again. Fewer than ten million rows are a trial, of which nothing is
kept.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bdt_core.shards.engine import ShardEngine
from bdt_core.shards.shard import Shard
from bdt_core.shards.table import ShardedTable
from benchmarks.measuring import machine, within
from benchmarks.tables import record, table

FEATURES, LEVELS = 10, 6
FILE_ROWS = 1_000_000
MEMORY_LIMIT = "1 GB"
"""Half of it is for encoded rows: those of 100 million rows go into files."""
WANTED_EXPONENT, WANTED_PEAK, WANTED_PASS = 1.05, 2e9, 3.0
_REPEATS = 7

Record = dict[str, Any]


def run(
    rows: str = "100", kinds: str = "numeric,categorical", cache: str = ".benchmarks", resume: bool = False
) -> None:
    """Measure everything, and write down what came of it."""
    largest = round(float(rows) * 1e6)
    sizes = [largest // 100, largest // 10, largest]
    folder = Path(cache).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    store = Measured(folder / "large.jsonl")
    for kind in kinds.split(","):
        data = generate(folder / f"large-{kind}", kind, largest, min(FILE_ROWS, sizes[0]))
        try:
            work: list[tuple[str, int]] = [("out_of_core", one) for one in sizes]
            work += [("in_memory", sizes[1]), ("passes", sizes[1])]
            for what, size in work:
                measure(store, folder, data, what, kind, size, min(FILE_ROWS, sizes[0]), resume)
        finally:
            shutil.rmtree(data, ignore_errors=True)
    record("large", told(store.records(), sizes), keep=largest >= 10_000_000)


class Measured:
    """Records in a file, one a line; of those for the same work the last one counts.

    Parameters
    ----------
    file : Path
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def add(self, record: Record) -> None:
        """Write a record down."""
        with self.file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")

    def records(self) -> list[Record]:
        """What there is, in the order in which it was first measured."""
        found: dict[tuple[Any, ...], Record] = {}
        for line in self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else ():
            one = json.loads(line)
            found[one["what"], one.get("kind"), one.get("rows"), one.get("workers")] = one
        return list(found.values())

    def of(self, what: str, kind: str, rows: int | None = None) -> list[Record]:
        """Records of some work that did not fail, by rising rows."""
        chosen = [one for one in self.records() if (one["what"], one.get("kind")) == (what, kind)]
        chosen = [one for one in chosen if "failed" not in one and rows in (None, one["rows"])]
        return sorted(chosen, key=lambda one: int(one["rows"]))


def generate(folder: Path, kind: str, rows: int, file_rows: int) -> Path:
    """Write Parquet files of random rows, one after the other: ten features, and a bias variable of 0 and 1.

    People with high first two numbers, or with the first level of the first two categories, fare worse.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    names = pa.array([f"level {level}" for level in range(LEVELS)])
    for number in range(-(-rows // file_rows)):
        file = folder / f"{number:05d}.parquet"
        if file.exists():
            continue
        rng = np.random.default_rng([number, kind == "numeric"])
        n = min(file_rows, rows - number * file_rows)
        columns: dict[str, Any] = {}
        if kind == "numeric":
            X = rng.standard_normal((FEATURES, n), dtype=np.float32)
            worse = (X[0] > 0.5) & (X[1] > 0.5)
            columns = {f"n{j}": pa.array(X[j]) for j in range(FEATURES)}
        else:
            codes = rng.integers(0, LEVELS, (FEATURES, n), dtype=np.int8)
            worse = (codes[0] == 0) & (codes[1] == 0)
            columns = {f"c{j}": pa.DictionaryArray.from_arrays(pa.array(codes[j]), names) for j in range(FEATURES)}
        columns["wrong"] = pa.array((rng.random(n) < 0.2 + 0.2 * worse).astype(np.int8))
        unfinished = file.with_suffix(".part")
        pq.write_table(pa.table(columns), unfinished)
        unfinished.rename(file)
    return folder


def measure(
    store: Measured,
    folder: Path,
    data: Path,
    what: str,
    kind: str,
    rows: int,
    file_rows: int,
    resume: bool,
    **more: Any,
) -> None:
    """Do one piece of work in a process of its own, and write down what it found, or how it failed."""
    key = {"what": what, "kind": kind, "rows": rows, **more}
    if resume and any("failed" not in one and key.items() <= one.items() for one in store.records()):
        return
    print(f"{time.strftime('%H:%M:%S')} {key}", flush=True)
    scratch = Path(tempfile.mkdtemp(prefix="large-tmp-", dir=folder))
    source = folder / f"{data.name}-{rows}"  # as many of the files as there are rows wanted; the report names it
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    for file in sorted(data.glob("*.parquet"))[: -(-rows // file_rows)]:
        (source / file.name).symlink_to(file)
    task = {**key, "source": str(source / "*.parquet"), "large_rows": max(1000, min(file_rows, 1_000_000))}
    module = "benchmarks.large_dask" if more else "benchmarks.large"
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(Path(__file__).parents[1])}
    try:
        ended = subprocess.run(
            [sys.executable, "-m", module, json.dumps(task)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        lines = ended.stdout.strip().splitlines()
        if ended.returncode == 0 and lines:
            store.add({**key, **json.loads(lines[-1])})
        else:
            reason = ended.stderr.strip().splitlines()[-1:] or ["nothing was printed"]
            store.add({**key, "failed": f"exit code {ended.returncode}: {reason[0][:500]}"})
            print(ended.stderr[-3000:], file=sys.stderr)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.rmtree(source, ignore_errors=True)


def specification(task: Record) -> dict[str, Any]:
    """What is audited, with the defaults but for where it is done."""
    return {
        "name": "large",
        "source": {"path": task["source"]},
        "bias_variable": {"column": "wrong"},
        "clustering": {"memory": task["what"] if task["what"] == "in_memory" else "out_of_core"}
        | ({} if task["what"] == "in_memory" else {"memory_limit": MEMORY_LIMIT}),
        "split": {"method": "hash"},
        "large_rows": task["large_rows"],
    }


class Watch:
    """Wall and CPU seconds, and peak memory, of each stage of an audit; and of each pass over the rows."""

    def __init__(self) -> None:
        self.stages: list[Record] = []
        self.passes: list[Record] = []
        self._stage: str | None = None
        self._began = (0.0, 0.0)

    def progress(self, stage: str, done: int, total: int) -> None:  # noqa: ARG002
        """As `bdt_core.audit.audit` calls it."""
        if stage == self._stage:
            return
        self.end()
        self._stage, self._began = stage, (time.perf_counter(), time.process_time())
        reset_peak()

    def end(self) -> None:
        """The stage is over."""
        if self._stage is not None:
            wall, cpu = time.perf_counter() - self._began[0], time.process_time() - self._began[1]
            self.stages.append({"stage": self._stage, "wall": wall, "cpu": cpu, "peak": peak()})
        self._stage = None

    @property
    def stage(self) -> str:
        """The one that runs."""
        return self._stage or ""


class WatchedEngine:
    """An engine, every pass of which is measured; see `bdt_core.shards.engine.ShardEngine`.

    Parameters
    ----------
    engine : ShardEngine
    watch : Watch
    bytes_too : bool
        Whether the bytes of pickled questions and answers are counted, which takes a little time; it is taken off.
    """

    def __init__(self, engine: ShardEngine, watch: Watch, bytes_too: bool = False) -> None:
        self._engine, self._watch, self._bytes_too = engine, watch, bytes_too
        self.at_exit: Callable[[], None] = lambda: None

    @property
    def room(self) -> int:
        return self._engine.room

    @property
    def width(self) -> int:
        return self._engine.width

    @property
    def is_lost(self) -> bool:
        return self._engine.is_lost

    def map(self, function: Callable[[Shard], Any], shards: Sequence[Shard]) -> list[Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        answers = self._engine.map(function, shards)
        one: Record = {
            "stage": self._watch.stage,
            "pass": name_of(function),
            "shards": len(shards),
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
        }
        if self._bytes_too:
            import pickle

            import cloudpickle

            one["asked"] = len(shards) * len(cloudpickle.dumps(function))
            one["answered"] = sum(len(pickle.dumps(answer, protocol=5)) for answer in answers)
        self._watch.passes.append(one)
        return answers

    def __enter__(self) -> WatchedEngine:
        self._engine.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self.at_exit()
        self._engine.__exit__(*problem)


def name_of(function: Any) -> str:
    """The name of what is done to each shard, in whatever it is wrapped."""
    while isinstance(function, partial):
        inside = [one for one in function.args if isinstance(one, partial) or type(one).__name__ == "function"]
        function = inside[0] if inside else function.func
    return str(getattr(function, "__name__", function)).strip("_")


def watch_passes(wrap: Callable[[ShardEngine], WatchedEngine]) -> None:
    """Let audits of this process use watched engines."""
    from bdt_core.shards import engine, opening

    made = engine.engine_of
    for module in (engine, opening):
        vars(module)["engine_of"] = lambda spec, plan: wrap(made(spec, plan))


def audit_once(task: Record) -> Record:
    """A whole audit: seconds, memory, disk, stages, passes and the hash of its report."""
    from bdt_core.audit import audit

    watch, disk = Watch(), DiskWatch(Path(os.environ["TMPDIR"]))
    watch_passes(lambda engine: WatchedEngine(engine, watch))
    wall, cpu = time.perf_counter(), time.process_time()
    with disk:
        result = audit(None, specification(task), progress=watch.progress)
        watch.end()
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "peak": max(one["peak"] for one in watch.stages),
        "disk": disk.most,
        "stages": watch.stages,
        "passes": watch.passes,
        "sha": sha_of(result.document),
        "verdict": result.verdict,
        "clusters": len(result.clusters.train) if result.clusters else 0,
        "machine": machine(),
    }


def sha_of(document: dict[str, Any]) -> str:
    """Of the report as data."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def passes_once(task: Record) -> Record:
    """One question for the statistics of two splits, over all train rows: out of core with files, and in memory."""
    from concurrent.futures import ThreadPoolExecutor

    from bdt_core.clustering import HBAC
    from bdt_core.clustering.rows import NodeRows
    from bdt_core.clustering.sharded import rows_in_shards
    from bdt_core.clustering.split import WeightedBlock, bounds_of_blocks, statistics
    from bdt_core.shards.opening import open_table
    from bdt_core.spec import parse_spec

    spec = parse_spec(specification(task))
    seconds: dict[str, list[float]] = defaultdict(list)
    with open_table(None, spec) as opened:
        assert isinstance(opened.table, ShardedTable)
        train = opened.table.divided(spec.split)[0]
        rows, _ = rows_in_shards(HBAC(), train)
        rows = replace(rows, fit=replace(rows.fit, in_files=True))
        layout, encoder = rows.layout, rows.fit.encoder
        sample = encoder.transform(train.sample(2000).X)
        splits = two_splits(sample, layout, rows.dtype)
        # Compiled before it is measured, as in an audit.
        nothing = np.empty(0)
        statistics([WeightedBlock(sample, 0, 100, nothing)], splits, layout)
        for _ in range(1 + _REPEATS):
            began = time.perf_counter()
            apart = NodeRows(rows, (), 1, train.audited_rows).statistics(splits)
            seconds["out of core"].append(time.perf_counter() - began)
        frame = train.in_memory().X
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for repeat in range(1 + _REPEATS):
                began = time.perf_counter()
                if repeat == 0:
                    table = encoder.transform(frame)
                    blocks = [WeightedBlock(table, *one, nothing) for one in bounds_of_blocks(0, table.rows)]
                together = statistics(blocks, splits, layout, pool.map)
                seconds["in memory"].append(time.perf_counter() - began)
    return {
        "train_rows": train.audited_rows,
        "seconds": seconds,
        "equal": all(
            np.array_equal(getattr(apart, name), getattr(together, name)) for name in ("rows", "sums", "counts")
        ),
        "machine": machine(),
    }


def two_splits(sample: Any, layout: Any, dtype: Any) -> Any:
    """Two splits between pairs of rows."""
    from bdt_core.clustering.split import Prototypes, Splits

    a, b = (
        Prototypes(
            np.ascontiguousarray(sample.numeric[:, rows].T, dtype=np.float64),
            np.ascontiguousarray(sample.codes[:, rows].T, dtype=np.int64),
        )
        for rows in ([0, 1], [2, 3])
    )
    return Splits.between(a, b, layout.gamma, dtype)


class DiskWatch:
    """The most bytes that temporary files of this process took: those in a folder, and those without a name."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.most = folder, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> DiskWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            self.most = max(self.most, self._named() + self._unnamed())

    def _named(self) -> int:
        total = 0
        for at, _, names in os.walk(self.folder):
            for name in names:
                try:
                    total += Path(at, name).lstat().st_blocks * 512
                except OSError:
                    continue  # gone meanwhile
        return total

    def _unnamed(self) -> int:
        try:
            lines = Path("/proc/self/maps").read_text().splitlines()
        except OSError:
            return 0
        ours = [line.split(None, 5) for line in lines if ".rows (deleted)" in line]
        return sum(int(stop, 16) - int(start, 16) for start, stop in (one[0].split("-") for one in ours))


def peak() -> int:
    """Bytes of memory in use at most since `reset_peak`; mapped files count as far as they are in memory."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return 1024 * int(found.group(1)) if found else 0


def reset_peak() -> None:
    """Begin a new maximum."""
    with suppress(OSError):  # then it is the maximum so far
        Path("/proc/self/clear_refs").write_text("5")


def told(records: list[Record], sizes: list[int]) -> dict[str, Any]:
    """What RESULTS.md says."""
    wanted = [one for one in records if one.get("rows") in sizes and "workers" not in one]
    audits = [one for one in wanted if one["what"] in ("out_of_core", "in_memory") and "failed" not in one]
    seconds = {"wall s": ".1f", "CPU s": ".1f", "CPU microseconds per row": ".2f"}
    megabytes = {"peak memory, MB": ",.0f", "temporary files, MB": ",.0f"}
    figures: dict[str, Any] = {
        "audits": table({"table": "", **seconds, **megabytes, "clusters": ""}, [_line_of_audit(one) for one in audits])
    }
    for kind in dict.fromkeys(one["kind"] for one in wanted):
        of_kind = _of_kind([one for one in wanted if one["kind"] == kind and "failed" not in one], sizes)
        figures |= {f"{kind}_{name}": figure for name, figure in of_kind.items()}
    failed = [
        f"{one['what']}, {one['kind']}, {one['rows']:,} rows: {one['failed']}" for one in wanted if "failed" in one
    ]
    return figures | {"failed": failed or "none"}


def _line_of_audit(one: Record) -> list[Any]:
    where = "in memory" if one["what"] == "in_memory" else "out of core"
    seconds = [one["wall"], one["cpu"], 1e6 * one["cpu"] / one["rows"]]
    what = f"{one['kind']}, {one['rows']:,} x {FEATURES}, {where}"
    return [what, *seconds, one["peak"] / 1e6, one["disk"] / 1e6, one["clusters"]]


def _of_kind(records: list[Record], sizes: list[int]) -> dict[str, Any]:
    of_what = {what: [one for one in records if one["what"] == what] for what in ("out_of_core", "in_memory", "passes")}
    by_size = {one["rows"]: one for one in of_what["out_of_core"]}
    figures: dict[str, Any] = {"rows": sizes[-1], "fewest_rows": sizes[0], "tenth": sizes[1]}
    if len(by_size) > 1:
        rows = sorted(by_size)
        cpu = [by_size[one]["cpu"] for one in rows]
        slope = float(np.polyfit(np.log(rows), np.log(cpu), 1)[0])
        last = math.log(cpu[-1] / cpu[-2]) / math.log(rows[-1] / rows[-2])
        figures |= {
            "exponent": slope,
            "last_exponent": last,
            "exponent_wanted": within(max(slope, last), WANTED_EXPONENT),
        }
    if sizes[-1] in by_size:
        largest = by_size[sizes[-1]]
        figures |= {
            "peak": largest["peak"] / 1e6,
            "peak_wanted": within(largest["peak"] / 1e6, WANTED_PEAK / 1e6),
            "stages": table(
                {"stage": "", "wall s": ".1f", "CPU s": ".1f", "peak memory, MB": ",.0f"},
                [[one["stage"], one["wall"], one["cpu"], one["peak"] / 1e6] for one in largest["stages"]],
            ),
        }
    if of_what["in_memory"] and sizes[1] in by_size:
        figures["report"] = equal(of_what["in_memory"][0]["sha"] == by_size[sizes[1]]["sha"], "byte")
    for one in of_what["passes"]:
        apart, together = (one["seconds"][where] for where in ("out of core", "in memory"))
        ratio = float(np.median(apart[1:]) / np.median(together[1:]))
        figures |= {
            "train_rows": one["train_rows"],
            "pass_out": 1e3 * np.median(apart[1:]),
            "first_out": apart[0],
            "pass_in": 1e3 * np.median(together[1:]),
            "first_in": together[0],
            "pass_ratio": ratio,
            "pass_wanted": within(ratio, WANTED_PASS),
            "statistics": equal(one["equal"], "bit"),
        }
    return figures


def equal(is_equal: bool, unit: str) -> str:
    return f"equal to the {unit}" if is_equal else "DIFFERENT"


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    print(json.dumps(passes_once(given) if given["what"] == "passes" else audit_once(given)))
