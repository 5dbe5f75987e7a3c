"""The record of the audit's validity: false alarms, power and the winner's curse; its page is docs/validity.md.

``python -m benchmarks validity`` takes an hour or two; ``--quick`` a few minutes, and keeps nothing. ``--only=persons``
runs one study (alarms, persons, power, chosen, searched, again or many); ``--runs=100`` does with so many.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bdt_core.clustering import HBAC
from bdt_core.inference import compare_samples
from benchmarks import searched, selected, simulated
from benchmarks.tables import record, table

ALPHA = 0.05
SIZES = (0.02, 0.05, 0.10)
GAPS = (0.05, 0.10, 0.15, 0.20, 0.30)
ROWS = 5000


@dataclass(frozen=True)
class Alarms:
    """Alarms of one kind of table without any difference."""

    outcome: str
    kind: str
    rows: int
    min_size: float
    runs: int
    tested: int
    primary: int
    anyone: int
    gate: int


STUDIES: dict[str, tuple[int, Callable[[int], dict[str, Any]]]]
"""By name: how many runs, and what is found in so many."""


def run(quick: bool = False, only: str | None = None, runs: str | None = None) -> None:
    """Run the studies and write down what came of them.

    Parameters
    ----------
    quick : bool
        A few runs of each.
    only : str, optional
        One of them.
    runs : str, optional
        How many, where not as many as a study has by default.
    """
    if only is not None and only not in STUDIES:
        raise SystemExit(f"Unknown study {only}. There are: {', '.join(STUDIES)}")
    for name, (usual, studied) in STUDIES.items():
        if only in (None, name):
            record(name, studied(int(runs) if runs else max(usual // 30, 5) if quick else usual), keep=not quick)


def false_alarms(runs: int) -> Iterator[Alarms]:
    """Whole audits of tables in which nobody is worse off, the kinds of table side by side on all cores."""
    kinds = itertools.product(
        ("binary .1", "binary .3", "continuous", "skewed count"),
        ("numeric", "categorical", "mixed"),
        (1000, 5000),
        (0.01, 0.05),
    )
    with ProcessPoolExecutor() as pool:
        studies = [pool.submit(_alarms, number, *kind, runs) for number, kind in enumerate(kinds)]
        for number, study in enumerate(studies, start=1):
            yield study.result()
            print(f"false alarms {number} of {len(studies)}", flush=True)


def _alarms(number: int, outcome: str, kind: str, rows: int, min_size: float, runs: int) -> Alarms:
    """One row of the table. No seed is shared with another row: their errors are independent."""
    counts = np.zeros(4, dtype=int)
    for run in range(runs):
        rng = np.random.default_rng([number, run])
        frame = simulated.features(rng, rows, kind).assign(y=simulated.outcome(rng, rows, outcome))
        found = simulated.run(
            frame,
            number * 10_000 + run,
            repeats=None,
            clustering={"stability": 0, "min_cluster_size": min_size},
            significance={"min_rows": 5},
            gate=[{"check": "any_cluster", "max_difference": 0}],
        )
        proven = found.significance.main_significant
        counts += [
            proven is not None,
            bool(proven),
            any(one.significant for one in found.significance.clusters),
            found.verdict == "fail",
        ]
    return Alarms(outcome, kind, rows, min_size, runs, *map(int, counts))


def alarms_of_persons(runs: int) -> Iterator[list[Any]]:
    """Lines of the table on persons with several rows."""
    kinds = [(240, 5, False, 1.0), (240, 5, True, 0.5), (1000, 5, False, 1.0), (1000, 5, True, 0.2)]
    with ProcessPoolExecutor() as pool:
        studies = [(kind, key, pool.submit(_of_persons, kind, key, runs)) for kind in kinds for key in ("person", None)]
        for (persons, each, uneven, alike), key, study in studies:
            rows = f"{each}{' on average' if uneven else ''}"
            yield [persons, rows, alike, "yes" if key else "no", *(one / runs for one in study.result())]
            print("persons with several rows", flush=True)


def _of_persons(kind: tuple[int, int, bool, float], key: str | None, runs: int) -> list[int]:
    """Alarms of one row of that table."""
    found = [
        simulated.alarms_of_persons(simulated.of_persons(np.random.default_rng([41, run]), *kind), run, key)
        for run in range(runs)
    ]
    return [sum(one[name] for one in found) for name in ("primary", "any cluster", "intersections", "groups")]


def power_table(runs: int) -> pd.DataFrame:
    """Chance of proving a planted group: ours, an oracle that knows the group, and the original procedure."""
    threshold = _original_threshold(3 * runs)
    rows = []
    for size, gap in itertools.product(SIZES, GAPS):
        ours = oracle = original = 0
        curse: list[tuple[float, float]] = []
        for seed in range(runs):
            frame, group = simulated.planted(
                np.random.default_rng([int(size * 100), int(gap * 100), seed]), ROWS, size, gap
            )
            found = simulated.run(frame, seed, repeats=None)
            first, together = found.significance.primary, found.significance.deciding
            comparison = first.comparison if first else None
            ours += bool(found.significance.main_significant and together and (together.difference or 0.0) > 0.0)
            if first and comparison and comparison.p_value is not None and comparison.difference is not None:
                curse.append((first.cluster.gap, comparison.difference))
            test = np.random.default_rng(seed).random(ROWS) < 0.2
            y = frame["y"].to_numpy()
            known = compare_samples(y[test & group], y[test & ~group], min_rows=5).p_value
            oracle += known is not None and known <= ALPHA
            original += _original_p(frame, seed) <= threshold
        train, held_out = np.mean(curse, axis=0) if curse else (np.nan, np.nan)
        rows.append((size, gap, ours / runs, oracle / runs, original / runs, train, held_out))
        print(f"power {len(rows)} of {len(SIZES) * len(GAPS)}", flush=True)
    names = ["size", "gap", "ours", "oracle", "original", "train gap", "test gap"]
    return pd.DataFrame(rows, columns=names)


def _original_p(frame: pd.DataFrame, seed: int) -> float:
    """The original tool's way: unscaled k-means on the numbers, 80/20 split, Welch's t for cluster 0."""
    X = frame.filter(like="x").to_numpy()
    y = frame["y"].to_numpy()
    test = np.random.default_rng(seed).random(len(y)) < 0.2
    model = HBAC(engine="reference", method="kmeans", random_state=seed).fit(X[~test], y[~test])
    inside = model.predict(X[test]) == 0
    if min(inside.sum(), (~inside).sum()) < 2:
        return 1.0
    p = stats.ttest_ind(y[test][inside], y[test][~inside], equal_var=False).pvalue
    return 1.0 if np.isnan(p) else float(p)


def _original_threshold(runs: int) -> float:
    """The p-value below which the original procedure raises a false alarm in 5 % of the runs."""
    p_values = []
    for seed in range(runs):
        rng = np.random.default_rng([99, seed])
        frame = simulated.features(rng, ROWS).assign(y=(rng.random(ROWS) < 0.2).astype(float))
        p_values.append(_original_p(frame, seed))
    return float(np.quantile(p_values, ALPHA, method="lower"))


def alarms(runs: int) -> dict[str, Any]:
    """Tables in which nobody is worse off."""
    found = list(false_alarms(runs))
    counts = np.array([[one.tested, one.primary, one.anyone, one.gate] for one in found])
    columns = {"bias variable": "", "table": "", "rows": ",", "smallest cluster": ".0%"}
    columns |= dict.fromkeys(("tested", "primary", "any", "gate"), ".1%")
    names = ("primary", "any", "gate")
    return {
        "runs": runs,
        "bound": int(stats.binom.ppf(0.999, runs, ALPHA)),
        "shares": table(
            columns,
            [
                [one.outcome, one.kind, one.rows, one.min_size, *of_one / runs]
                for one, of_one in zip(found, counts, strict=True)
            ],
        ),
        **dict(zip((f"most_{one}" for one in names), counts[:, 1:].max(axis=0), strict=True)),
        "all_runs": runs * len(found),
        **dict(zip((f"all_{one}" for one in names), counts[:, 1:].mean(axis=0) / runs, strict=True)),
    }


def persons(runs: int) -> dict[str, Any]:
    """Persons with several rows."""
    columns = {"persons": ",", "rows each": "", "alike": "g", "key": ""}
    columns |= dict.fromkeys(("primary", "any cluster", "intersections", "groups"), ".1%")
    return {"runs": runs, "shares": table(columns, list(alarms_of_persons(runs)))}


def power(runs: int) -> dict[str, Any]:
    """Planted groups."""
    columns = dict.fromkeys(("group", "gap", "ours", "oracle", "original"), ".0%")
    columns |= {"train gap": ".1%", "test gap": ".1%"}
    return {"runs": runs, "rows": ROWS, "shares": table(columns, power_table(runs).to_numpy().tolist())}


STUDIES = {
    "alarms": (300, alarms),
    "persons": (300, persons),
    "power": (50, power),
    "chosen": (200, selected.studied),
    "searched": (300, searched.studied),
    "again": (600, searched.again),
    "many": (100, searched.of_many_rows),
}
