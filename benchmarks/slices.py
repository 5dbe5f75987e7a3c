"""Speed and memory of the slice search: ours against DuckDB's grouping sets, Polars and DivExplorer.

``python -m benchmarks slices`` takes about five minutes; ``--quick`` tries everything out on small tables and keeps
nothing.

Peers run in environments of their own. Each is named by an environment variable that holds the path of its Python;
a peer without one is skipped, and the table says so:

- BENCHMARK_DIVEXPLORER_PYTHON: ``pip install divexplorer==0.2.6``
- BENCHMARK_GROUPING_PYTHON: ``pip install duckdb polars pyarrow pandas``

This is imported in those environments too, so our own package is imported where it is used.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import Timing, reached, timed
from benchmarks.tables import record, table

LEVELS = (2, 3, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6)
SUPPORT = 0.01
CONDITIONS = 3
WANTED_SECONDS = 0.15
WANTED_MEGABYTES = 100
PEERS = (
    ("grouping", "duckdb", "DuckDB: 298 grouping sets", 1_000_000, 5, 20),
    ("grouping", "polars", "Polars: 298 group-bys, collected together", 1_000_000, 5, 20),
    ("divexplorer", "divergence", "DivExplorer: one rate, conjunctions of any length", 100_000, 1, 500),
)
"""Script, task, words, rows, runs, and how many times less CPU time we want to take."""


def coded_table(rows: int, seed: int = 0) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Codes of 12 columns with 58 levels of unequal frequency, shape (12, rows), and 2 x label + prediction."""
    rng = np.random.default_rng(seed)
    codes = np.empty((len(LEVELS), rows), dtype=np.uint8)
    for code, levels in zip(codes, LEVELS):  # noqa: B905 - the peers' Python may be older
        weight = np.cumsum(np.arange(1, levels + 1) ** -0.5)
        code[:] = np.searchsorted(weight / weight[-1], rng.random(rows))
    return codes, rng.integers(0, 4, rows).astype(np.uint8)


def slice_table(rows: int, seed: int = 0) -> pd.DataFrame:
    """The same as a table: c0 to c11, label y, prediction p and error."""
    codes, outcome = coded_table(rows, seed)
    frame = pd.DataFrame({f"c{i}": code for i, code in enumerate(codes)})
    return frame.assign(y=outcome // 2, p=outcome % 2, error=(outcome // 2 != outcome % 2).astype(np.int8))


def compas_table() -> pd.DataFrame:
    """7,214 people: sex, race, charge degree and age in categories, whether high_risk was wrong, and the score."""
    path = Path(__file__).parents[1] / "bdt_core" / "data" / "compas.csv"
    frame = pd.read_csv(path)
    table = frame[["sex", "race", "c_charge_degree"]].copy()
    table["age"] = np.array(["<= 25", "26 to 45", "> 45"])[np.digitize(frame.age, [26, 46])]
    table["priors"] = np.array(["0", "1 to 3", "> 3"])[np.digitize(frame.priors_count, [1, 4])]
    table["error"] = (frame.high_risk != frame.two_year_recid).astype(int)
    return table.assign(score=frame.decile_score / 10)


def run(quick: bool = False) -> None:
    """Measure everything and write down what came of it."""
    record("slices", studied(100 if quick else 1), keep=not quick)


def studied(scale: int) -> dict[str, Any]:
    """All of it, of tables that are smaller by the scale."""
    ours = {n: counting(n) for n in (size // scale for size in (10_000, 100_000, 1_000_000, 10_000_000))}
    return {
        "columns": len(LEVELS),
        "values": sum(LEVELS),
        "support": SUPPORT,
        "conditions": CONDITIONS,
        "ours": our_table(ours, scale),
        "peers": peers_table(ours, scale),
        "searched_rows": 1_000_000 // scale,
        "searches": whole_search(1_000_000 // scale),
    }


def counting(rows: int) -> tuple[Timing, int, float]:
    """Seconds to count all slices, how many there are, and megabytes at the peak above codes and outcome."""
    from bdt_core.groups.slices.counting import count_slices

    codes, outcome = coded_table(rows)
    smallest = round(SUPPORT * rows)

    def work() -> int:
        return len(count_slices(codes, LEVELS, outcome, max_conditions=CONDITIONS, min_rows=smallest).items)

    timing, found = timed(work), work()
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return timing, found, peak


def our_table(ours: dict[int, tuple[Timing, int, float]], scale: int) -> dict[str, Any]:
    """Seconds and memory by rows."""
    lines = []
    for rows, (timing, found, peak) in ours.items():
        wanted = ""
        if rows == 1_000_000 // scale:
            fast, small = timing.cpu <= WANTED_SECONDS, peak <= WANTED_MEGABYTES
            wanted = f"{WANTED_SECONDS} CPU s: {reached(fast)}; {WANTED_MEGABYTES} MB: {reached(small)}"
        lines.append([rows, found, timing.wall, timing.cpu, 1e9 * timing.cpu / rows, peak, wanted])
    seconds = dict.fromkeys(("wall s", "CPU s", "CPU ns per row"), "times")
    return table({"rows": ",", "slices": ",", **seconds, "peak MB above the codes": ".0f", "wanted": ""}, lines)


def peers_table(ours: dict[int, tuple[Timing, int, float]], scale: int) -> dict[str, Any]:
    """Peers' seconds, and how many times ours they are."""
    lines = []
    for script, task, words, rows, repeats, wanted in PEERS:
        theirs = seconds_of(script, task, rows // scale, repeats)
        if theirs is None:
            lines.append([words, rows // scale, None, None, None, None, f"skipped: {_variable(script)} is not set"])
            continue
        same = ours[rows // scale][0]
        ratio = theirs.cpu / same.cpu
        lines.append(
            [
                f"{words} ({'one run' if repeats == 1 else f'median of {repeats}'})",
                rows // scale,
                *(theirs.wall, theirs.cpu, theirs.wall / same.wall, ratio),
                f"{wanted} CPU: {reached(ratio >= wanted)}",
            ]
        )
    numbers = dict.fromkeys(("wall s", "CPU s", "wall ratio to ours", "CPU ratio"), "times")
    return table({"peer": "", "rows": ",", **numbers, "wanted": ""}, lines)


def whole_search(rows: int) -> dict[str, Any]:
    """From a table to the tested slices."""
    from bdt_core.groups.slices import find_slices

    frame = slice_table(rows).drop(columns="error")
    mixed = frame.copy()
    rng = np.random.default_rng(1)
    for i in range(6):
        mixed[f"c{i}"] = "level " + frame[f"c{i}"].astype(str)
        mixed[f"c{i + 6}"] = frame[f"c{i + 6}"] + rng.random(rows)

    def search(given: pd.DataFrame, **how: Any) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return find_slices(given, label="y", prediction="p", **how)

    lines = []
    for words, given, how in (
        ("whole numbers, searched on one half and tested on the other", frame, {}),
        ("6 columns of text and 6 of decimals, the same", mixed, {}),
        ("whole numbers, in-sample: a mid-p value for every slice that is worse", frame, {"honest": False}),
    ):
        took = timed(lambda given=given, how=how: search(given, **how), 3)  # type: ignore[misc]
        lines.append([words, took.wall, took.cpu])
    return table({"table": "", "wall s": ".3g", "CPU s": ".3g"}, lines)


def seconds_of(script: str, task: str, rows: int, repeats: int) -> Timing | None:
    """Medians of a peer in its own environment; None without one."""
    python = os.environ.get(_variable(script))
    if not python:
        return None
    command = [python, "-m", f"benchmarks.peers_{script}", "time", task, str(rows), str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1], check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    found = json.loads(done.stdout)
    return Timing(statistics.median(found["wall"]), statistics.median(found["cpu"]), repeats)


def _variable(script: str) -> str:
    return f"BENCHMARK_{script.upper()}_PYTHON"
