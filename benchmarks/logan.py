"""Speed of LOGAN beside scikit-learn's k-means, and what it finds in noise.

``python -m benchmarks logan`` takes a few minutes and writes its section of RESULTS.md; ``--quick`` tries everything
out on small data and only prints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.local_bias.logan import LOGAN
from benchmarks.measuring import machine, markdown_table, timed, write_section

CLUSTERS = 10
PASSES = 20
EMBEDDINGS = (1_398, 768)
TABLE = (100_000, 50)


def run(quick: bool = False) -> None:
    """Measure everything and write the section of RESULTS.md."""
    text = section(quick)
    print(text)
    if not quick:
        write_section("logan", text)


def section(quick: bool) -> str:
    """The section as Markdown."""
    shapes = [(300, 64), (3_000, 10)] if quick else [EMBEDDINGS, TABLE]
    parts = [
        "## Local bias (LOGAN)\n\n"
        f"Machine: {machine()}. float32, {CLUSTERS} clusters; data of ten normal factors with normal noise, groups and "
        "outcomes at random. Medians after one run to warm up; CPU seconds are those of all threads.",
        f"**Passes.** One start, {PASSES} passes, one thread; the starts are the same rows. The implementation "
        "published with the paper takes 17 s for one pass over 1,398 x 768, for it counts every group anew for every "
        "row and cluster.",
        equal_passes(shapes),
        "**Whole searches.** Ten starts by k-means++, to rest. `find_local_bias` adds the plain k-means, tests on as "
        "many test rows, and 999 permutations.",
        whole_searches(shapes),
        "**In noise.** 800 train and 800 test rows, 8 clusters; outcomes depend on neither place nor group.",
        in_noise(5 if quick else 200),
    ]
    return "\n\n".join(parts)


def factors(rows: int, columns: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64]]:
    """Features with a structure, correct predictions and groups without one."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(10, columns)) / 3
    X = rng.normal(size=(rows, 10)) * np.linspace(2, 0.5, 10) @ loadings + rng.normal(size=(rows, columns))
    return X.astype(np.float32), rng.random(rows) < 0.8, (rng.random(rows) < 0.3).astype(np.int64)


def equal_passes(shapes: list[tuple[int, int]]) -> str:
    """Time per pass over the rows."""
    lines = []
    for rows, columns in shapes:
        X, correct, group = factors(rows, columns)
        start = X[np.random.default_rng(1).choice(rows, CLUSTERS, replace=False)]
        settings = {"init": start, "n_init": 1, "max_iter": PASSES, "tol": 0.0}
        times = {}
        with threadpool_limits(1):
            times["scikit-learn KMeans"] = timed(
                lambda X=X, settings=settings: KMeans(CLUSTERS, algorithm="lloyd", **settings).fit(X)  # type: ignore[misc]
            )
            for name, weight in (("LOGAN without weight (k-means)", 0.0), ("LOGAN", 0.05)):
                model = LOGAN(CLUSTERS, weight=weight, **settings)
                times[name] = timed(lambda model=model, X=X, c=correct, g=group: model.fit(X, c, g))  # type: ignore[misc]
        for name, time in times.items():
            passes = 2 * PASSES if name == "LOGAN" else PASSES
            lines.append(
                [f"{name}, {rows:,} x {columns}", str(passes), f"{time.wall:.3f}", f"{1000 * time.cpu / passes:.1f}"]
            )
    note = "LOGAN first rests as k-means, hence twice the passes; ours include ordering the rows by their content."
    return markdown_table(["method, data", "passes at most", "wall s", "CPU ms per pass"], lines) + f"\n\n{note}"


def whole_searches(shapes: list[tuple[int, int]]) -> str:
    """Time of fits and of the stage of an audit."""
    lines = []
    for rows, columns in shapes:
        X, correct, group = factors(rows, columns)
        score = np.random.default_rng(2).random(rows)
        data = f"{rows:,} x {columns}"
        part = LocalRows(X, group, correct=correct)
        works = {
            "scikit-learn KMeans, ten starts": lambda X=X: KMeans(CLUSTERS, n_init=10, random_state=0).fit(X),
            "LOGAN": lambda X=X, c=correct, g=group: LOGAN(CLUSTERS).fit(X, c, g),
            "LOGAN, metric auc": lambda X=X, c=correct, g=group, s=score: LOGAN(CLUSTERS, metric="auc").fit(
                X, group=g, y_true=c, y_score=s
            ),
            "find_local_bias": lambda part=part: find_local_bias(part, part, LocalBiasSettings(n_clusters=CLUSTERS)),
        }
        for name, work in works.items():
            time = timed(work, repeats=3)
            lines.append([f"{name}, {data}", f"{time.wall:.2f}", f"{time.cpu:.2f}"])
    return markdown_table(["work", "wall s", "CPU s"], lines)


def in_noise(runs: int) -> str:
    """Published figures and significant findings where there is nothing to find."""
    lines = []
    for weight in (0.05, 0.15, 0.5):
        settings = LocalBiasSettings(n_clusters=8, weight=weight, n_init=2, permutations=99)
        figures = []
        for seed in range(runs):
            rng = np.random.default_rng([31, seed])
            train, test = (
                LocalRows(rng.normal(size=(800, 4)), rng.integers(0, 2, 800), correct=rng.random(800) < 0.8)
                for _ in range(2)
            )
            result = find_local_bias(train, test, settings)
            logan = result.logan
            figures.append(
                [
                    result.kmeans.train.bcr,
                    logan.train.bcr,
                    logan.train.within_clusters is not None and logan.train.within_clusters.p_largest_gap <= 0.05,
                    logan.test.bcr,
                    logan.test.within_clusters is not None and logan.test.within_clusters.p_largest_gap <= 0.05,
                    any(one.held_out.significant for one in logan.clusters),
                ]
            )
        means = np.array(figures, dtype=np.float64).mean(axis=0)
        lines.append([f"{weight:g}", *(f"{100 * mean:.0f} %" for mean in means)])
    head = [
        "weight",
        "BCR of k-means",
        "BCR of LOGAN",
        "its largest gap \"significant\" in sample",
        "BCR on test rows",
        "largest gap significant there",
        "any cluster significant there",
    ]  # fmt: skip
    return markdown_table(head, lines)
