"""Speed and memory of HBAC: ours against unsupervised-bias-detection, scikit-learn and the memory's bandwidth.

``python -m benchmarks hbac`` takes about half an hour and writes its section of RESULTS.md; ``--quick`` tries
everything out on small tables and only prints. The peer needs an older NumPy and so an environment of its own,
which is made in the folder named by ``--cache`` (default: .benchmarks) at the first run.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.clustering import HBAC
from benchmarks.measuring import Timing, machine, markdown_table, timed, write_section

PEER = "unsupervised-bias-detection==0.2.6"
FEATURES = 10
LEVELS = 6
WANTED = {"kmeans": (10.0, 6.0), "kmodes": (1000.0, 1000.0)}
"""How many times less wall-clock and CPU time we want to take than the peer."""

_PEER = """
import json, sys, time
import numpy as np
from unsupervised_bias_detection.cluster import BiasAwareHierarchicalKMeans, BiasAwareHierarchicalKModes
method, starts, smallest, repeats, folder = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")
kind = BiasAwareHierarchicalKMeans if method == "kmeans" else BiasAwareHierarchicalKModes
kind(1, 1, n_init=1, random_state=0).fit(X[:1000], y[:1000])
for seed in range(repeats):
    wall, cpu = time.perf_counter(), time.process_time()
    kind(10, smallest, n_init=starts, random_state=seed).fit(X, y)
    print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""

_START = """
import time
wall, cpu = time.perf_counter(), time.process_time()
from bdt_core.audit import audit
audit("demo:compas", {
    "name": "compas",
    "source": {"path": "demo:compas"},
    "bias_variable": {"derive": "false_positive_rate", "label": "two_year_recid", "prediction": "high_risk"},
    "features": {"include": ["age", "priors_count", "c_charge_degree"]},
    "protected": ["race", "sex"],
})
print(time.perf_counter() - wall, time.process_time() - cpu)
"""


def run(quick: bool = False, cache: str = ".benchmarks") -> None:
    """Measure everything and write the section of RESULTS.md."""
    scale = 50 if quick else 1
    python = peer_environment(Path(cache))
    rows = [
        *against_the_peer(python, 1_000_000 // scale, 100_000 // scale),
        mixed(1_000_000 // scale),
        *one_split(1_000_000 // scale),
    ]
    parts = [
        f"## HBAC\n\nMachine: {machine()}. Medians of 5 runs unless said otherwise, after one to warm up. Fits of ours "
        "include encoding the table. CPU seconds are those of all threads; of peers' k-means on one and on all "
        "threads, the lesser counts. Features are normal noise, or categories of "
        f"{LEVELS} equally frequent levels: the slowest to cluster. 10 attempts, smallest cluster 1 % of the rows.",
        markdown_table(
            ["work", "ours: wall s", "CPU s", "peer: wall s", "CPU s", "wall ratio", "CPU ratio", "wanted"], rows
        ),
        against_bandwidth(4_000_000 // scale),
        cost_by_rows([n // scale for n in (10_000, 100_000, 1_000_000, 10_000_000)]),
        memory(10_000_000 // scale),
        cold_start(),
        stability(100_000 // scale),
    ]
    text = "\n\n".join(parts)
    print(text)
    if not quick:
        write_section("hbac", text)


def numbers(rows: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Normal features, of which the first says a little about a binary bias variable."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, FEATURES), dtype=np.float32)
    return X, (rng.random(rows) < 0.2 + 0.2 * (X[:, 0] > 1)).astype(np.float64)


def categories(rows: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Independent categories, of which the first says a little about a binary bias variable."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, LEVELS, (rows, FEATURES))
    return X, (rng.random(rows) < 0.2 + 0.2 * (X[:, 0] == 1)).astype(np.float64)


def peer_environment(cache: Path) -> str:
    """The Python of an environment with the peer, made when it is not there yet."""
    folder = cache.resolve() / PEER
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", PEER, "numpy<2"], check=True)
        (folder / "ready").touch()
    return str(python)


def against_the_peer(python: str, rows: int, categorical_rows: int) -> list[list[str]]:
    """The whole procedure, with as many starts per split."""
    result = []
    for table, method, starts, repeats in (
        (numbers(rows), "kmeans", 1, 5),
        (numbers(rows), "kmeans", 10, 3),
        (categories(categorical_rows), "kmodes", 1, 1),
    ):
        X, y = table
        theirs = peer(python, X, y, method, starts, repeats)
        ours = timed(lambda X=X, y=y, method=method, starts=starts: HBAC(method, n_init=starts).fit(X, y))  # type: ignore[misc]
        what = "numeric" if method == "kmeans" else "categorical"
        note = f", {starts} start{'s'[: starts > 1]} each, peer: " + (
            f"median of {repeats}" if repeats > 1 else "one run"
        )
        result.append(compared(f"HBAC {what}, {len(y):,} x {FEATURES}{note}", ours, theirs, *WANTED[method]))
    X, y = categories(categorical_rows)
    ours = timed(lambda: HBAC("kmodes").fit(X, y))
    result.append(
        compared(f"HBAC categorical, {len(y):,} x {FEATURES}, ours with 10 starts", ours, theirs, *WANTED["kmodes"])
    )
    return result


def peer(python: str, X: NDArray[Any], y: NDArray[Any], method: str, starts: int, repeats: int) -> Timing:
    """Timing of unsupervised-bias-detection in its own environment: of one and of all threads whichever is less."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/X.npy", X)
        np.save(f"{folder}/y.npy", y)
        arguments = ["-c", _PEER, method, str(starts), str(math.ceil(0.01 * len(y))), str(repeats), folder]
        medians = []
        for threads in ({}, {"OMP_NUM_THREADS": "1"}) if method == "kmeans" else ({},):
            lines = output_of(python, *arguments, **threads).splitlines()
            medians.append(np.median([json.loads(line) for line in lines], axis=0))
    wall, cpu = np.min(medians, axis=0)
    return Timing(float(wall), float(cpu), repeats)


def mixed(rows: int) -> list[str]:
    """Numbers and categories together, which nobody else does."""
    X, y = numbers(rows)
    frame = pd.DataFrame(X, columns=[f"n{j}" for j in range(FEATURES)])
    codes, _ = categories(rows)
    levels = np.array(list("abcdef"))
    for j in range(FEATURES):
        frame[f"c{j}"] = pd.Categorical(levels[codes[:, j]])
    ours = timed(lambda: HBAC().fit(frame, y))
    name = f"HBAC mixed, {rows:,} x ({FEATURES} + {FEATURES}): {rows / ours.wall:,.0f} rows/s"
    return [name, f"{ours.wall:.3g}", f"{ours.cpu:.3g}", *["-"] * 5]


def one_split(rows: int) -> list[list[str]]:
    """One fit of k = 2 against scikit-learn's KMeans, with the cost of what was found."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    X, y = numbers(rows)
    result = []
    for starts in (1, 10):
        split = HBAC(n_init=starts, max_iter=1, min_cluster_size=1, scale=False)
        fit = KMeans(2, n_init=starts, random_state=0)
        ours = timed(lambda split=split: split.fit(X, y))  # type: ignore[misc]
        both = [timed(lambda fit=fit: fit.fit(X))]  # type: ignore[misc]
        with threadpool_limits(1):
            both.append(timed(lambda fit=fit: fit.fit(X)))  # type: ignore[misc]
        theirs = Timing(min(one.wall for one in both), min(one.cpu for one in both), 5)
        cost = sum(float(((X[side] - X[side].mean(0)) ** 2).sum(dtype=np.float64)) for side in sides(split.labels_))
        name = f"one k = 2 fit, {rows:,} x {FEATURES}, {starts} start{'s'[: starts > 1]}, against scikit-learn KMeans"
        result.append(compared(f"{name} (cost {100 * (cost / fit.inertia_ - 1):+.3f} %)", ours, theirs, cpu=3.0))
    return result


def sides(labels: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    return [labels == label for label in np.unique(labels)]


def compared(what: str, ours: Timing, theirs: Timing, wall: float = 0.0, cpu: float = 0.0) -> list[str]:
    """A line of the table, with the ratios wanted; 0 where none is."""
    seconds = [f"{value:.3g}" for value in (ours.wall, ours.cpu, theirs.wall, theirs.cpu)]
    ratios = (theirs.wall / ours.wall, theirs.cpu / ours.cpu)
    wanted = ", ".join(f"{one:,g} {name}" for one, name in ((wall, "wall"), (cpu, "CPU")) if one)
    word = "reached" if ratios[0] >= wall and ratios[1] >= cpu else "missed"
    return [what, *seconds, *(f"{one:,.3g}" for one in ratios), f"{wanted}: {word}"]


def within(value: float, limit: float) -> str:
    return f"at most {limit:g}, {'reached' if value <= limit else 'missed'}"


def against_bandwidth(rows: int) -> str:
    """Time per row, feature and pass of the kernel, beside the time to read as many bytes."""
    from bdt_core.clustering.split import Block, Layout, Splits, bounds_of_blocks, statistics
    from bdt_core.table.encoding import Encoded

    X, _ = numbers(rows)
    table = Encoded(np.ascontiguousarray(X.T), np.empty((0, rows), np.uint8))
    layout = Layout(FEATURES, (), 1.0)
    nothing = np.empty((1, 0), np.int64)
    split = Splits(np.ones((1, FEATURES), np.float32), np.zeros(1, np.float32), nothing, nothing, 1.0)
    blocks = [Block(table, *bounds, np.empty(0)) for bounds in bounds_of_blocks(0, rows)]
    words = table.numeric.view(np.uint64).ravel()
    lines = []
    for threads in (1, 2):
        with ThreadPoolExecutor(threads) as pool:
            parts = np.array_split(words, 16 * threads)
            reading = timed(lambda pool=pool, parts=parts: list(pool.map(np.sum, parts))).wall  # type: ignore[misc]
            a_pass = timed(lambda pool=pool: statistics(blocks, split, layout, pool.map)).wall  # type: ignore[misc]
        cells = rows * FEATURES
        lines.append(
            [
                str(threads),
                f"{words.nbytes / reading / 1e9:.1f}",
                f"{1e9 * reading / cells:.3f}",
                f"{1e9 * a_pass / cells:.3f}",
                f"{a_pass / reading:.2f}",
                within(a_pass / reading, 2.5 if threads == 1 else 3.0),
            ]
        )
    head = ["threads", "memory read, GB/s", "ns per float32 read", "ns per row x feature x pass", "ratio", "wanted"]
    return f"One pass of k-means over {rows:,} x {FEATURES}, one start:\n\n{markdown_table(head, lines)}"


def cost_by_rows(sizes: list[int]) -> str:
    """Seconds per fit against rows, and the exponent of the line through them."""
    lines, cpus = [], []
    for rows in sizes:
        X, y = numbers(rows)
        one = timed(lambda X=X, y=y: HBAC().fit(X, y), 5 if rows <= 1_000_000 else 3)  # type: ignore[misc]
        cpus.append(one.cpu)
        lines.append([f"{rows:,}", f"{one.wall:.3g}", f"{one.cpu:.3g}", f"{1e6 * one.cpu / rows:.3f}"])
    exponent = np.polyfit(np.log(sizes), np.log(cpus), 1)[0]
    last = math.log(cpus[-1] / cpus[-2]) / math.log(sizes[-1] / sizes[-2])
    table = markdown_table(["rows", "wall s", "CPU s", "CPU microseconds per row"], lines)
    return (
        f"HBAC numeric by rows, {FEATURES} features, 10 starts: CPU seconds grow with exponent {exponent:.2f} "
        f"over all sizes, {last:.2f} over the last step (wanted: {within(max(exponent, last), 1.05)}).\n\n{table}"
    )


def memory(rows: int) -> str:
    """Peak memory of a fit, beyond the caller's table, against the encoded matrix."""
    output = output_of(sys.executable, "-c", f"from benchmarks.hbac import peak_of_a_fit; print(peak_of_a_fit({rows}))")
    peak, encoded = float(output), 4.0 * rows * FEATURES
    return (
        f"Peak memory of a fit of {rows:,} x {FEATURES} beyond the caller's table: {peak / 1e6:,.0f} MB, "
        f"{peak / encoded:.2f} times the encoded float32 matrix ({encoded / 1e6:,.0f} MB; wanted: "
        f"{within(peak / encoded, 2.5)})."
    )


def peak_of_a_fit(rows: int) -> int:
    """Bytes by which a fit raises the peak memory of this process, once everything is compiled."""
    HBAC().fit(*numbers(5000))
    X, y = numbers(rows)
    before = _peak()
    HBAC().fit(X, y)
    return _peak() - before


def _peak() -> int:
    """Bytes of memory in use at most so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count a larger parent process, too
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status.read_text()).group(1))  # type: ignore[union-attr]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def cold_start() -> str:
    """A whole audit in a new process, with and without the compiled loops on disk."""
    with tempfile.TemporaryDirectory() as folder:
        # The compiled loops land in the folder at the first run.
        runs = [
            [float(one) for one in output_of(sys.executable, "-c", _START, NUMBA_CACHE_DIR=folder).split()]
            for _ in range(6)
        ]
    wall, cpu = np.median(runs[1:], axis=0)
    return (
        f"Whole audit of COMPAS (7,214 rows) in a new process, imports included: {wall:.1f} s ({cpu:.1f} CPU s), and "
        f"{runs[0][0] - wall:.1f} s more ({runs[0][1] - cpu:.1f} CPU s) when the loops are compiled for the first "
        f"time (one run; wanted: {within(runs[0][0] - wall, 5.0)})."
    )


def output_of(*command: str, **environment: str) -> str:
    """What a command prints."""
    environment = {**os.environ, **environment}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def stability(rows: int) -> str:
    """50 bootstrap refits and 5 from other seeds, as every audit makes them."""
    from bdt_core.clustering.stability import measure_stability

    X, y = numbers(rows)
    model = HBAC().fit(X, y)
    wall, cpu = time.perf_counter(), time.process_time()
    measure_stability(model, X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return (
        f"Stability of {rows:,} x {FEATURES}, 55 refits: {wall:.1f} s, {cpu:.1f} CPU seconds (one run; wanted: "
        f"{within(wall, 3.0)})."
    )
