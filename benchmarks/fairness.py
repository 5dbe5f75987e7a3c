"""Speed of group fairness: ours against one ``bincount`` and, where it is installed, fairlearn.

``python -m benchmarks fairness`` prints a Markdown table. fairlearn runs in an environment of its own: name its
Python in the environment variable BENCHMARK_FAIRLEARN_PYTHON, or its rows are left out. ``--full`` adds 100 million
rows, streamed.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bdt_core.fairness import bias_metrics, count_rows, flip_test, merge, metrics_from_counts

FAIRLEARN_PYTHON = "BENCHMARK_FAIRLEARN_PYTHON"
REPEATS = 5
CELLS = 40

_FAIRLEARN = """
import sys, time
import numpy as np, pandas as pd
from fairlearn.metrics import MetricFrame, selection_rate, true_positive_rate, false_positive_rate
from sklearn.metrics import accuracy_score, precision_score
n, cells, repeats = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
g, y, p = rng.integers(0, cells, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
metrics = dict(selection=selection_rate, tpr=true_positive_rate, fpr=false_positive_rate,
               precision=precision_score, accuracy=accuracy_score)
for _ in range(repeats):
    wall, cpu = time.perf_counter(), time.process_time()
    frame = MetricFrame(metrics=metrics, y_true=y, y_pred=p, sensitive_features=g)
    frame.by_group, frame.difference(), frame.ratio()
    print(time.perf_counter() - wall, time.process_time() - cpu)
"""


@dataclass(frozen=True)
class Row:
    """Medians of one task.

    Attributes
    ----------
    task, who : str
    rows : int
    wall, cpu : float
        Seconds.
    note : str
    """

    task: str
    who: str
    rows: int
    wall: float
    cpu: float
    note: str = ""


def measure(full: bool = False) -> list[Row]:
    """Measure everything.

    Parameters
    ----------
    full : bool
        Also stream 100 million rows.

    Returns
    -------
    list of Row
    """
    rows = []
    for n in (100_000, 1_000_000):
        rows += _reports(n)
        rows += _fairlearn(n)
    rows.append(_flip_test(100_000))
    if full:
        rows.append(_streamed(100))
    return rows


def _table(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"g": rng.integers(0, CELLS, n), "y": rng.integers(0, 2, n), "p": rng.integers(0, 2, n)})


def _reports(n: int) -> list[Row]:
    frame = _table(n)
    code = (frame.g * 4 + frame.y * 2 + frame.p).to_numpy()
    table = count_rows(frame, "g", label="y", prediction="p")
    text = frame.assign(g="group " + frame.g.astype(str))
    scored = frame.assign(s=np.random.default_rng(1).random(n))
    tasks: list[tuple[str, Callable[[], object]]] = [
        ("one bincount of ready codes", lambda: np.bincount(code, minlength=4 * CELLS)),
        ("count table", lambda: count_rows(frame, "g", label="y", prediction="p")),
        ("all metrics with intervals, from counts", lambda: metrics_from_counts(table)),
        ("full report", lambda: bias_metrics(frame, facet="g", label="y", prediction="p")),
        ("full report, groups as text", lambda: bias_metrics(text, facet="g", label="y", prediction="p")),
        (
            "full report with score and AUC",
            lambda: bias_metrics(scored, facet="g", label="y", prediction="p", score="s"),
        ),
    ]
    return [Row(task, "numpy" if "ready" in task else "ours", n, *_timed(work)) for task, work in tasks]


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    work()
    walls, cpus = [], []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return statistics.median(walls), statistics.median(cpus)


def _fairlearn(n: int) -> list[Row]:
    python = os.environ.get(FAIRLEARN_PYTHON)
    if not python:
        return []
    repeats = 1 if n > 200_000 else 3
    command = [python, "-c", _FAIRLEARN, str(n), str(CELLS), str(repeats)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, cpu = np.median([[float(x) for x in line.split()] for line in done.stdout.splitlines()], axis=0)
    return [Row("five rates, differences and ratios, no intervals", "fairlearn", n, float(wall), float(cpu))]


def _flip_test(n: int) -> Row:
    rng = np.random.default_rng(0)
    features = pd.DataFrame(rng.normal(size=(n, 8)), columns=[f"x{i}" for i in range(8)])
    for i, levels in enumerate((2, 3, 5, 8)):
        features[f"c{i}"] = rng.choice([f"level {j}" for j in range(levels)], n)
    in_d, predicted = rng.random(n) < 0.5, features.x0.to_numpy() > 0
    wall, cpu = time.perf_counter(), time.process_time()
    flip_test(features, in_d, predicted, workers=-1)
    return Row(
        "flip test, 8 numbers and 4 categories", "ours", n, time.perf_counter() - wall, time.process_time() - cpu
    )


def _streamed(millions: int) -> Row:
    wall, cpu = time.perf_counter(), time.process_time()
    table = merge(count_rows(_table(1_000_000, seed), "g", label="y", prediction="p") for seed in range(millions))
    metrics_from_counts(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Row(
        "full report, streamed (with making the data)",
        "ours",
        table.rows,
        time.perf_counter() - wall,
        time.process_time() - cpu,
        f"peak {peak:,.0f} MB",
    )


def run(full: bool = False) -> None:
    """Print the table."""
    print("| task | who | rows | wall s | CPU s | |\n|---|---|---|---|---|---|")
    for row in measure(full):
        print(f"| {row.task} | {row.who} | {row.rows:,} | {row.wall:.4f} | {row.cpu:.4f} | {row.note} |")
