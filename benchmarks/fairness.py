"""Speed and memory of group fairness: ours against one ``bincount`` and against four peers.

``python -m benchmarks fairness`` takes about four minutes; ``--quick`` tries everything out on small tables and keeps
nothing.

Peers need other versions of pandas than ours, and so environments of their own. Each is named by an environment
variable that holds the path of its Python; a peer without one is skipped, and the table says so:

- BENCHMARK_FAIRLEARN_PYTHON: ``pip install fairlearn==0.15.0``
- BENCHMARK_AEQUITAS_PYTHON: ``pip install aequitas==1.1.0 "pandas<3"``
- BENCHMARK_AIF360_PYTHON: ``pip install aif360==0.6.1 "pandas<3"``
- BENCHMARK_SMCLARIFY_PYTHON: ``pip install smclarify==0.5 "pandas<2" "numpy<1.24"`` (Python 3.9)
"""

from __future__ import annotations

import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from bdt_core.fairness import CountTable, bias_metrics, count_rows, flip_test, merge, metrics_from_counts
from benchmarks.measuring import Timing, reached, timed, within
from benchmarks.peers_tables import CELLS, FEATURES, as_text, many_cells, many_features
from benchmarks.tables import record, table

BLOCK = 1_000_000
WANTED_BINCOUNTS = 4.0
WANTED_MEMORY = 1e9


@dataclass(frozen=True)
class Peer:
    """One task of a peer, and ours that it is set against.

    Attributes
    ----------
    name, task : str
        Its script's name and that script's task.
    does : str
        What it computes, in words.
    ours : str
        Our task on the same kind of groups.
    wanted : float
        How many times less CPU time we want to take; 0 where nothing was asked for.
    repeats, times : int
        Runs, and what their time is multiplied with where only a part is run.
    same : tuple of str
        Tasks of ours that give this peer's output and no more, each set against it in a line of its own.
    """

    name: str
    task: str
    does: str
    ours: str
    wanted: float
    repeats: int = 1
    times: int = 1
    same: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Environment variable that names its Python."""
        return f"BENCHMARK_{self.name.upper()}_PYTHON"


LIKE_AEQUITAS = {kind: f"aequitas' output, groups as {kind}" for kind in ("text", "categories", "numbers")}
PEERS = (
    Peer("fairlearn", "report", "5 rates, differences, ratios", "numbers", 1000),
    Peer("aequitas", "report", "11 rates, ratios", "text", 50, repeats=5, same=tuple(LIKE_AEQUITAS.values())),
    Peer("aequitas", "report_with_p_values", "11 rates, ratios, p-values", "text", 0),
    Peer("aif360", "report", "10 rates, 9 comparisons", "numbers", 0),
    Peer("smclarify", "report", "18 metrics, 10 of 40 values x 4", "text", 300, times=4),
)
FLIP_TEST = Peer("smclarify", "flip_test", "", "", 0)


def run(quick: bool = False) -> None:
    """Measure everything and write down what came of it."""
    scale = 50 if quick else 1
    record("fairness", studied(1_000_000 // scale, 100_000 // scale, max(100 // scale, 1)), keep=not quick)


def studied(rows: int, flip_rows: int, blocks: int) -> dict[str, Any]:
    """All of it, of so many rows, and of so many blocks streamed."""
    ours = our_timings(rows)
    return {
        "rows": rows,
        "groups": CELLS,
        "ours": our_table(ours),
        "peers": peers_table(ours, rows),
        "flip_rows": flip_rows,
        "flips": flip_tests(flip_rows),
        **streaming(blocks),
    }


def our_timings(rows: int) -> dict[str, Timing]:
    """One bincount, the count table, and the report from groups as numbers, categories and text."""
    frame = many_cells(rows)
    g, y, p = (frame[name].to_numpy() for name in ("g", "y", "p"))
    code = (g * 2 + y) * 2 + p
    text = as_text(frame)
    columns, both = pl.from_pandas(text), pl.col("y") * pl.col("p")
    sums = [pl.len().alias("n"), pl.col("y").sum(), pl.col("p").sum(), both.sum().alias("tp")]
    given = {"numbers": frame, "categories": text.assign(g=text.g.astype("category")), "text": text}
    scored = frame.assign(s=np.random.default_rng(1).random(rows))
    counted = count_rows(frame, "g", label="y", prediction="p")
    work: dict[str, Callable[[], object]] = {
        "one bincount of ready codes": lambda: np.bincount(code, minlength=4 * CELLS),
        "one bincount, its codes made from the columns": lambda: np.bincount((g * 2 + y) * 2 + p, minlength=4 * CELLS),
        "count table": lambda: count_rows(frame, "g", label="y", prediction="p"),
        "count table, groups as text": lambda: count_rows(text, "g", label="y", prediction="p"),
        "Polars' group-by of it: rows, labels, predictions, both": lambda: columns.group_by("g").agg(*sums),
        "all metrics with intervals, from counts": lambda: metrics_from_counts(counted),
    }
    for kind, one in given.items():
        work[kind] = lambda one=one: bias_metrics(one, facet="g", label="y", prediction="p")  # type: ignore[misc]
        work[LIKE_AEQUITAS[kind]] = lambda one=one: rates_and_ratios(one)  # type: ignore[misc]
    work["with scores"] = lambda: bias_metrics(scored, facet="g", label="y", prediction="p", score="s")
    return {name: timed(task) for name, task in work.items()}


def rates_and_ratios(frame: pd.DataFrame) -> pd.DataFrame:
    """What aequitas gives without p-values, from the count table: counts, rates, ratios to the largest group."""
    counted = count_rows(frame, "g", label="y", prediction="p")
    (tn, fp), (fn, tp) = counted.counts.sum(axis=(1, 4)).transpose(1, 2, 0)  # labels and predictions: 0, then 1
    n, positives, negatives, pp, pn = tp + fp + fn + tn, tp + fn, fp + tn, tp + fp, fn + tn
    counts = {"tp": tp, "fp": fp, "fn": fn, "tn": tn, "pp": pp, "pn": pn,
              "label_pos": positives, "label_neg": negatives, "group_size": n}  # fmt: skip
    compared = {"ppr": pp / pp.sum(), "pprev": pp / n, "precision": tp / pp, "fdr": fp / pp, "for": fn / pn,
                "fpr": fp / negatives, "fnr": fn / positives, "tpr": tp / positives, "tnr": tn / negatives,
                "npv": tn / pn}  # fmt: skip
    largest = int(n.argmax())
    ratios = {f"{name}_disparity": rate / rate[largest] for name, rate in compared.items()}
    others = {"accuracy": (tp + tn) / n, "prev": positives / n}
    return pd.DataFrame({**counts, **others, **compared, **ratios}, index=[value for (value,) in counted.groups])


def our_table(ours: dict[str, Timing]) -> dict[str, Any]:
    """Our milliseconds, and how many bincounts they are."""
    names = {kind: f"full report, groups as {kind}" for kind in ("numbers", "categories", "text")}
    names["with scores"] = "full report with score metrics and AUC, groups as numbers"
    one = ours["one bincount of ready codes"].cpu
    from_columns = ours["one bincount, its codes made from the columns"].cpu
    lines = []
    for name, timing in ours.items():
        ratio, other = timing.cpu / one, timing.cpu / from_columns
        wanted = (
            f"at most {WANTED_BINCOUNTS:g}: {reached(ratio <= WANTED_BINCOUNTS)} of ready codes, "
            f"{reached(other <= WANTED_BINCOUNTS)} of columns"
            if name == "numbers"
            else ""
        )
        lines.append([names.get(name, name), 1000 * timing.wall, 1000 * timing.cpu, ratio, other, wanted])
    numbers = dict.fromkeys(("wall ms", "CPU ms", "in bincounts of ready codes", "of columns"), "times")
    return table({"ours": "", **numbers, "wanted": ""}, lines)


def peers_table(ours: dict[str, Timing], rows: int) -> dict[str, Any]:
    """Peers' seconds, and how many times ours they are."""
    lines: list[list[Any]] = []
    for peer in PEERS:
        same = ours[peer.ours]
        theirs = seconds_of(peer, rows)
        if theirs is None:
            lines.append([f"{peer.name}: {peer.does}", *[None] * 5, f"skipped: {peer.variable} is not set"])
            continue
        ratio = theirs.cpu / same.cpu
        wanted = f"{peer.wanted:,g} CPU: {reached(ratio >= peer.wanted)}" if peer.wanted else ""
        runs = f"median of {peer.repeats}" if peer.repeats > 1 else "one run"
        lines.append(
            [
                f"{peer.name}: {peer.does}; groups as {peer.ours} ({runs})",
                *(theirs.wall, theirs.cpu, theirs.wall / same.wall, ratio, theirs.cpu / ours["numbers"].cpu),
                wanted,
            ]
        )
        for name in peer.same:
            beside = (theirs.wall / ours[name].wall, theirs.cpu / ours[name].cpu)
            lines.append([f"{peer.name}, like for like: {name}, from counts", "", "", *beside, "", ""])
    ratios = dict.fromkeys(("wall ratio to ours", "CPU ratio", "CPU ratio, ours with numbers"), "times")
    return table({"peer": "", "wall s": ".3g", "CPU s": ".3g", **ratios, "wanted": ""}, lines)


def seconds_of(peer: Peer, rows: int) -> Timing | None:
    """Medians of a peer in its own environment; None without one."""
    python = os.environ.get(peer.variable)
    if not python:
        return None
    command = [python, "-m", f"benchmarks.peers_{peer.name}", "time", peer.task, str(rows), str(peer.repeats)]
    found = output_of(*command)
    wall, cpu = (peer.times * statistics.median(found[name]) for name in ("wall", "cpu"))
    return Timing(wall, cpu, peer.repeats)


def output_of(*command: str) -> dict[str, Any]:
    """The JSON that a command prints, run from the root of the project."""
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def flip_tests(rows: int) -> dict[str, Any]:
    """The flip test on the same numbers as smclarify's, and on numbers and categories."""
    features, in_d, predicted = many_features(rows)
    mixed = features.copy()
    rng = np.random.default_rng(2)
    for i, levels in enumerate((2, 3, 5, 8)):
        mixed[f"x{FEATURES - 1 - i}"] = pd.Categorical(rng.integers(0, levels, rows))
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    lines = []
    theirs = seconds_of(FLIP_TEST, rows)
    for what, given in ((f"{FEATURES} numbers", features), (f"{FEATURES - 4} numbers, 4 categories", mixed)):
        ours = timed(partial(flip_test, given, in_d, predicted, workers=workers), 1)
        beside: list[float | None] = [None] * 4
        if theirs is not None and given is features:
            beside = [theirs.wall, theirs.cpu, theirs.wall / ours.wall, theirs.cpu / ours.cpu]
        lines.append([what, ours.wall, ours.cpu, *beside])
    seconds = ("ours: wall s", "ours: CPU s", "smclarify: wall s", "smclarify: CPU s", "wall ratio", "CPU ratio")
    return table({"features": "", **dict.fromkeys(seconds, ".3g")}, lines)


def streaming(blocks: int) -> dict[str, Any]:
    """A full report over many blocks, in a new process whose memory is watched."""
    code = f"from benchmarks.fairness import streamed; streamed({blocks})"
    found = output_of(sys.executable, "-c", code)
    peak = found["peak"] / 1e6
    return {f"streamed_{name}": one for name, one in (found | {"peak": peak}).items()} | {
        "streamed_wanted": within(peak, WANTED_MEMORY / 1e6)
    }


def streamed(blocks: int) -> None:
    """Print rows, seconds and peak memory of a report over blocks that exist one at a time."""
    making = cpu_of_making = 0.0

    def counted() -> Iterator[CountTable]:
        nonlocal making, cpu_of_making
        for seed in range(blocks):
            wall, cpu = time.perf_counter(), time.process_time()
            frame = many_cells(BLOCK, seed)
            making, cpu_of_making = making + time.perf_counter() - wall, cpu_of_making + time.process_time() - cpu
            yield count_rows(frame, "g", label="y", prediction="p")

    wall, cpu = time.perf_counter(), time.process_time()
    merged = merge(counted())
    metrics_from_counts(merged)
    wall, cpu = time.perf_counter() - wall - making, time.process_time() - cpu - cpu_of_making
    print(
        json.dumps(
            {"rows": merged.rows, "counting": wall, "counting_cpu": cpu, "making": making, "peak": _peak_memory()}
        )
    )


def _peak_memory() -> int:
    """Bytes that this process held at most; its parent's do not count, as they would in getrusage on Linux."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    if found is not None:
        return 1024 * int(found.group(1))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
