"""Speed of LOGAN beside scikit-learn's k-means, and what it finds in noise and in clear clouds.

``python -m benchmarks logan`` takes a few minutes; ``--quick`` tries everything out on small data and keeps nothing.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from bdt_core.local_bias import LocalBiasSettings, LocalRows, find_local_bias
from bdt_core.local_bias.logan import LOGAN
from benchmarks.measuring import timed
from benchmarks.tables import record, table

DEFAULT = LocalBiasSettings().weight
CLUSTERS = 10
CLOUD_ROWS = 1_600
CLOUD_RUNS = 40
GRID = (0.0, 0.001, DEFAULT, 0.01, 0.03, 0.05)
PASSES = 20
EMBEDDINGS = (1_398, 768)
TABLE = (100_000, 50)


def run(quick: bool = False) -> None:
    """Measure everything and write down what came of it."""
    full = [EMBEDDINGS, TABLE], 200, CLOUD_RUNS
    record("logan", studied(*(([(300, 64), (3_000, 10)], 5, 5) if quick else full)), keep=not quick)


def studied(shapes: list[tuple[int, int]], noise_runs: int, cloud_runs: int) -> dict[str, Any]:
    """Times on data of these shapes, and what is found in so many tables."""
    return {
        "clusters": CLUSTERS,
        "passes": PASSES,
        "equal_passes": equal_passes(shapes),
        "searches": whole_searches(shapes),
        "noise_runs": noise_runs,
        "noise": in_noise(noise_runs),
        "cloud_runs": cloud_runs,
        "cloud_rows": CLOUD_ROWS,
        "weight": DEFAULT,
        "clouds": in_clouds(cloud_runs),
    }


def factors(rows: int, columns: int, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.int64]]:
    """Features with a structure, correct predictions and groups without one."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(10, columns)) / 3
    X = rng.normal(size=(rows, 10)) * np.linspace(2, 0.5, 10) @ loadings + rng.normal(size=(rows, columns))
    return X.astype(np.float32), rng.random(rows) < 0.8, (rng.random(rows) < 0.3).astype(np.int64)


def equal_passes(shapes: list[tuple[int, int]]) -> dict[str, Any]:
    """Time per pass over the rows."""
    lines = []
    for rows, columns in shapes:
        X, correct, group = factors(rows, columns)
        start = X[np.random.default_rng(1).choice(rows, CLUSTERS, replace=False)]
        settings: dict[str, Any] = {"init": start, "n_init": 1, "max_iter": PASSES, "tol": 0.0}
        times = {}
        with threadpool_limits(1):
            times["scikit-learn KMeans"] = timed(partial(KMeans(CLUSTERS, algorithm="lloyd", **settings).fit, X))
            for name, weight in (("LOGAN without weight (k-means)", 0.0), ("LOGAN", 0.05)):
                model = LOGAN(CLUSTERS, weight=weight, max_off_centre=1.0, **settings)
                times[name] = timed(partial(model.fit, X, correct, group))
        for name, time in times.items():
            passes = 2 * PASSES if name == "LOGAN" else PASSES
            lines.append([f"{name}, {rows:,} x {columns}", passes, time.wall, 1000 * time.cpu / passes])
    return table({"method, data": "", "passes at most": "", "wall s": ".3f", "CPU ms per pass": ".1f"}, lines)


def whole_searches(shapes: list[tuple[int, int]]) -> dict[str, Any]:
    """Time of fits and of the stage of an audit."""
    lines = []
    for rows, columns in shapes:
        X, correct, group = factors(rows, columns)
        score = np.random.default_rng(2).random(rows)
        data = f"{rows:,} x {columns}"
        part = LocalRows(X, group, correct=correct)
        works = {
            "scikit-learn KMeans, ten starts": partial(KMeans(CLUSTERS, n_init=10, random_state=0).fit, X),
            "LOGAN": partial(LOGAN(CLUSTERS).fit, X, correct, group),
            "LOGAN, metric auc": partial(
                LOGAN(CLUSTERS, metric="auc").fit, X, group=group, y_true=correct, y_score=score
            ),
            "find_local_bias": partial(find_local_bias, part, part, LocalBiasSettings(n_clusters=CLUSTERS)),
        }
        for name, work in works.items():
            time = timed(work, repeats=3)
            lines.append([f"{name}, {data}", time.wall, time.cpu])
    return table({"work": "", "wall s": ".2f", "CPU s": ".2f"}, lines)


def in_noise(runs: int) -> dict[str, Any]:
    """Published figures and significant findings where there is nothing to find; nothing stops the search."""
    lines = []
    for weight in (0.05, 0.15, 0.5):
        settings = LocalBiasSettings(n_clusters=8, weight=weight, max_off_centre=1.0, n_init=2, permutations=99)
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
        lines.append([weight, *means])
    shares = (
        "BCR of k-means", "BCR of LOGAN", "its largest gap \"significant\" in sample", "BCR on test rows",
        "largest gap significant there", "any cluster significant there",
    )  # fmt: skip
    return table({"weight": "g"} | dict.fromkeys(shares, ".0%"), lines)


@dataclass(frozen=True)
class InClouds:
    """What was found in one table of clouds.

    Attributes
    ----------
    train_gap : float
        The largest one.
    off_centre : float
    significant : bool
        Any cluster, on the test rows.
    found : bool
        A confirmed cluster lies mostly in the cloud with the planted gap.
    share : float
        Of the test rows of that cloud that are in confirmed clusters.
    """

    train_gap: float
    off_centre: float
    significant: bool
    found: bool
    share: float


def clouds(seed: int, gap: float) -> tuple[LocalRows, LocalRows, NDArray[np.bool_]]:
    """Train and test rows in eight clouds, and which test rows are in the one where group 1 is right less often."""
    rng = np.random.default_rng([33, seed])
    centres = 5.0 * rng.normal(size=(8, 4))
    parts = []
    for _ in range(2):
        cloud, group = rng.integers(0, 8, CLOUD_ROWS), rng.integers(0, 2, CLOUD_ROWS)
        right = rng.random(CLOUD_ROWS) < 0.9 - gap * ((cloud == 0) & (group == 1))
        parts.append((LocalRows(centres[cloud] + rng.normal(size=(CLOUD_ROWS, 4)), group, correct=right), cloud == 0))
    (train, _), (test, inside) = parts
    return train, test, inside


def search_clouds(seed: int, gap: float, settings: LocalBiasSettings) -> tuple[InClouds, InClouds]:
    """What LOGAN and k-means find in the same clouds."""
    train, test, inside = clouds(seed, gap)
    result = find_local_bias(train, test, replace(settings, random_state=seed))
    found = []
    methods: tuple[Literal["logan", "kmeans"], ...] = ("logan", "kmeans")
    for method in methods:
        clustering, labels = getattr(result, method), result.predict(test.X, method)
        confirmed = [one.label for one in clustering.clusters if one.held_out.confirmed]
        found.append(
            InClouds(
                clustering.train.largest_gap or 0.0,
                clustering.off_centre,
                any(one.held_out.significant for one in clustering.clusters),
                any(inside[labels == label].mean() > 0.5 for label in confirmed),
                float(np.isin(labels, confirmed)[inside].mean()),
            )
        )
    return found[0], found[1]


def by_agreement(seed: int, gap: float, settings: LocalBiasSettings) -> float:
    """The weight whose clusters of one half of the train rows have most gaps confirmed on the other half."""
    train, _, _ = clouds(seed, gap)
    first, second = (LocalRows(train.X[i::2], train.group[i::2], correct=train.correct[i::2]) for i in (0, 1))
    confirmed = [find_local_bias(first, second, replace(settings, weight=one)).logan.confirmed for one in GRID]
    return GRID[int(np.argmax(confirmed))]


def in_clouds(runs: int) -> dict[str, Any]:
    """What each weight finds in clear clouds, in noise and with a gap of 20 points in one of them."""
    most = LocalBiasSettings().max_off_centre
    lines = [_cloud_line(runs, 0.0, 1.0)]
    lines += [_cloud_line(runs, weight, limit) for weight in GRID[2:] for limit in (1.0, most)]
    lines.append(_cloud_line(runs, None, 1.0))
    shares = ("train gap in noise", "off centre", "any cluster significant", "found", "its rows")
    return table({"weight": "", "stops at": ""} | dict.fromkeys(shares, ".1%"), lines)


def _cloud_line(runs: int, weight: float | None, limit: float) -> list[Any]:
    """The figures of one weight; None chooses it by agreement."""
    means = []
    for gap in (0.0, 0.2):
        found = []
        for seed in range(runs):
            settings = LocalBiasSettings(max_off_centre=limit, n_init=2, permutations=0)
            chosen = by_agreement(seed, gap, settings) if weight is None else weight
            found.append(astuple(search_clouds(seed, gap, replace(settings, weight=chosen))[0]))
        means.append(np.array(found, dtype=np.float64).mean(axis=0))
    noise, planted = means
    name = "by agreement" if weight is None else f"{weight:g}"
    stops = "–" if weight == 0.0 else "never" if limit == 1.0 else f"{limit:.0%}"
    return [name, stops, *noise[:3], *planted[3:]]
