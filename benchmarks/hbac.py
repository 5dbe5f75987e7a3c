"""Speed and memory of HBAC: ours against unsupervised-bias-detection, scikit-learn and the memory's bandwidth.

``python -m benchmarks hbac`` takes about half an hour; ``--quick`` tries everything out on small tables and keeps
nothing. The peer needs an older NumPy and so an environment of its own,
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
from benchmarks.measuring import Timing, reached, timed, within
from benchmarks.tables import record, table

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
    """Measure everything and write down what came of it."""
    scale = 50 if quick else 1
    python = peer_environment(Path(cache))
    rows = [
        *against_the_peer(python, 1_000_000 // scale, 100_000 // scale),
        mixed(1_000_000 // scale),
        *one_split(1_000_000 // scale),
    ]
    seconds = dict.fromkeys(("ours: wall s", "ours: CPU s", "peer: wall s", "peer: CPU s"), ".3g")
    ratios = dict.fromkeys(("wall ratio", "CPU ratio"), "times")
    figures = {
        "levels": LEVELS,
        "work": table({"work": "", **seconds, **ratios, "wanted": ""}, rows),
        "bandwidth": against_bandwidth(4_000_000 // scale),
        **cost_by_rows([n // scale for n in (10_000, 100_000, 1_000_000, 10_000_000)]),
        **memory(10_000_000 // scale),
        **cold_start(),
        **stability(100_000 // scale),
    }
    record("hbac", figures, keep=not quick)


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


def against_the_peer(python: str, rows: int, categorical_rows: int) -> list[list[Any]]:
    """The whole procedure, with as many starts per split."""
    result = []
    for data, method, starts, repeats in (
        (numbers(rows), "kmeans", 1, 5),
        (numbers(rows), "kmeans", 10, 3),
        (categories(categorical_rows), "kmodes", 1, 1),
    ):
        X, y = data
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


def mixed(rows: int) -> list[Any]:
    """Numbers and categories together, which nobody else does."""
    X, y = numbers(rows)
    frame = pd.DataFrame(X, columns=[f"n{j}" for j in range(FEATURES)])
    codes, _ = categories(rows)
    levels = np.array(list("abcdef"))
    for j in range(FEATURES):
        frame[f"c{j}"] = pd.Categorical(levels[codes[:, j]])
    ours = timed(lambda: HBAC().fit(frame, y))
    name = f"HBAC mixed, {rows:,} x ({FEATURES} + {FEATURES}): {rows / ours.wall:,.0f} rows/s"
    return [name, ours.wall, ours.cpu, *[None] * 5]


def one_split(rows: int) -> list[list[Any]]:
    """One fit of k = 2 against scikit-learn's KMeans, with the cost of what was found."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

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


def compared(what: str, ours: Timing, theirs: Timing, wall: float = 0.0, cpu: float = 0.0) -> list[Any]:
    """A line of the table, with the ratios wanted; 0 where none is."""
    ratios = (theirs.wall / ours.wall, theirs.cpu / ours.cpu)
    wanted = ", ".join(f"{one:,g} {name}" for one, name in ((wall, "wall"), (cpu, "CPU")) if one)
    word = reached(ratios[0] >= wall and ratios[1] >= cpu)
    return [what, ours.wall, ours.cpu, theirs.wall, theirs.cpu, *ratios, f"{wanted}: {word}"]


def against_bandwidth(rows: int) -> dict[str, Any]:
    """Time per row, feature and pass of the kernel, beside the time to read as many bytes."""
    from bdt_core.clustering.split import Layout, Splits, WeightedBlock, bounds_of_blocks, statistics
    from bdt_core.table.encoding import Encoded

    X, _ = numbers(rows)
    encoded = Encoded(np.ascontiguousarray(X.T), np.empty((0, rows), np.uint8))
    layout = Layout(FEATURES, (), 1.0)
    nothing = np.empty((1, 0), np.int64)
    split = Splits(np.ones((1, FEATURES), np.float32), np.zeros(1, np.float32), nothing, nothing, 1.0)
    blocks = [WeightedBlock(encoded, *bounds, np.empty(0)) for bounds in bounds_of_blocks(0, rows)]
    words = encoded.numeric.view(np.uint64).ravel()
    lines: list[list[Any]] = []
    for threads in (1, 2):
        with ThreadPoolExecutor(threads) as pool:
            parts = np.array_split(words, 16 * threads)
            reading = timed(lambda pool=pool, parts=parts: list(pool.map(np.sum, parts))).wall  # type: ignore[misc]
            a_pass = timed(lambda pool=pool: statistics(blocks, split, layout, pool.map)).wall  # type: ignore[misc]
        cells = rows * FEATURES
        ratio = a_pass / reading
        speeds = (words.nbytes / reading / 1e9, 1e9 * reading / cells, 1e9 * a_pass / cells)
        lines.append([threads, *speeds, ratio, within(ratio, 2.5 if threads == 1 else 3.0)])
    each = dict.fromkeys(("ns per float32 read", "ns per row x feature x pass"), ".3f")
    return table({"threads": "", "memory read, GB/s": ".1f", **each, "ratio": ".2f", "wanted": ""}, lines)


def cost_by_rows(sizes: list[int]) -> dict[str, Any]:
    """Seconds per fit against rows, and the exponent of the line through them."""
    lines, cpus = [], []
    for rows in sizes:
        X, y = numbers(rows)
        one = timed(lambda X=X, y=y: HBAC().fit(X, y), 5 if rows <= 1_000_000 else 3)  # type: ignore[misc]
        cpus.append(one.cpu)
        lines.append([rows, one.wall, one.cpu, 1e6 * one.cpu / rows])
    exponent = np.polyfit(np.log(sizes), np.log(cpus), 1)[0]
    last = math.log(cpus[-1] / cpus[-2]) / math.log(sizes[-1] / sizes[-2])
    columns = {"rows": ",", "wall s": ".3g", "CPU s": ".3g", "CPU microseconds per row": ".3f"}
    return {
        "exponent": exponent,
        "last_exponent": last,
        "exponent_wanted": within(max(exponent, last), 1.05),
        "by_rows": table(columns, lines),
    }


def memory(rows: int) -> dict[str, Any]:
    """Peak memory of a fit, beyond the caller's table, against the encoded matrix."""
    output = output_of(sys.executable, "-c", f"from benchmarks.hbac import peak_of_a_fit; print(peak_of_a_fit({rows}))")
    peak, encoded = float(output), 4.0 * rows * FEATURES
    ratio = peak / encoded
    return {
        "memory_rows": rows, "peak": peak / 1e6, "encoded": encoded / 1e6, "of_encoded": ratio,
        "memory_wanted": within(ratio, 2.5),
    }  # fmt: skip


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


def cold_start() -> dict[str, Any]:
    """A whole audit in a new process, with and without the compiled loops on disk."""
    with tempfile.TemporaryDirectory() as folder:
        # The compiled loops land in the folder at the first run.
        runs = [
            [float(one) for one in output_of(sys.executable, "-c", _START, NUMBA_CACHE_DIR=folder).split()]
            for _ in range(6)
        ]
    wall, cpu = np.median(runs[1:], axis=0)
    more = runs[0][0] - wall
    return {
        "audit": wall, "audit_cpu": cpu, "compiling": more, "compiling_cpu": runs[0][1] - cpu,
        "compiling_wanted": within(more, 5.0),
    }  # fmt: skip


def output_of(*command: str, **environment: str) -> str:
    """What a command prints."""
    environment = {**os.environ, **environment}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


def stability(rows: int) -> dict[str, Any]:
    """50 bootstrap refits and 5 from other seeds, as every audit makes them."""
    from bdt_core.clustering.stability import measure_stability

    X, y = numbers(rows)
    model = HBAC().fit(X, y)
    wall, cpu = time.perf_counter(), time.process_time()
    measure_stability(model, X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"refit_rows": rows, "refits": wall, "refits_cpu": cpu, "refits_wanted": within(wall, 3.0)}
