"""The tables that peers and we are run on, and how a peer's script is called.

A peer runs in an environment of its own, so this imports nothing but NumPy and pandas. From the project's root:

``PEER_PYTHON -m benchmarks.peers_NAME record [FIGURES ...]`` prints the peer's figures as JSON,
``PEER_PYTHON -m benchmarks.peers_NAME time TASK ROWS REPEATS`` its seconds.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CELLS = 40
FEATURES = 12
ADULT = {"women": (433, 10, 679, 8660), "men": (2718, 84, 3678, 13900)}
"""True and false positives, false and true negatives: the example that Clarify's authors published."""

# Small tables in the same form, each of which makes a peer divide by 0.
NO_POSITIVE_LABEL = {"d": (0, 5, 0, 45), "a": (20, 5, 10, 15)}
NO_POSITIVE_PREDICTION = {"d": (0, 0, 9, 41), "a": (9, 2, 9, 30)}
NO_PREDICTION_AT_ALL = {"d": (0, 0, 20, 30), "a": (0, 0, 9, 41)}
NO_ERRORS = {"d": (9, 0, 0, 30), "a": (9, 2, 6, 30)}
NO_FALSE_POSITIVES_IN_A = {"d": (20, 20, 20, 20), "a": (20, 0, 20, 40)}
NOBODY_POSITIVE_IN_B = {"a": (27, 0, 3, 30), "b": (0, 0, 0, 60)}
# For types that are guessed: the same rates in 200 rows and in 30.
MANY_ROWS = {"d": (10, 10, 20, 60), "a": (50, 10, 20, 20)}
FEW_ROWS = {"d": (1, 1, 2, 11), "a": (9, 1, 2, 3)}

Task = Callable[[int], Callable[[], object]]
"""Prepares the work on so many rows."""


def compas() -> pd.DataFrame:
    """7,214 people: sex, race, two_year_recid, high_risk and decile_score / 10 as a score."""
    path = Path(__file__).parents[1] / "bdt_core" / "data" / "compas.csv"
    frame = pd.read_csv(path)[["sex", "race", "two_year_recid", "high_risk", "decile_score"]]
    return frame.assign(score=frame.pop("decile_score") / 10)


def from_counts(cells: Mapping[str, tuple[int, int, int, int]]) -> pd.DataFrame:
    """Rows g, y, p with these true and false positives, false and true negatives per group."""
    lines = [
        (group, label, prediction, n)
        for group, four in cells.items()
        for (label, prediction), n in zip(((1, 1), (0, 1), (1, 0), (0, 0)), four)  # noqa: B905 - Python 3.9 has no strict
    ]
    frame = pd.DataFrame(lines, columns=["g", "y", "p", "n"])
    return frame.loc[frame.index.repeat(frame.n), ["g", "y", "p"]].reset_index(drop=True)


def simulated(rows: int = 3000) -> pd.DataFrame:
    """Five groups of unequal size g, four strata s, four standardised features, label y, prediction p and a score."""
    rng = np.random.default_rng(20)
    group = np.searchsorted(np.cumsum([0.4, 0.3, 0.15, 0.1]), rng.random(rows))
    stratum = np.searchsorted(np.cumsum([0.4, 0.3, 0.2]), rng.random(rows))
    features = rng.random((rows, 4))
    features = ((features - features.mean(0)) / features.std(0)).round(9)
    score = 1 / (1 + np.exp(0.4 + 0.3 * group - features[:, 0] - 0.5 * stratum + rng.random(rows)))
    frame = pd.DataFrame({"g": np.array(list("abcde"))[group], "s": np.array(list("wxyz"))[stratum]})
    for i in range(4):
        frame[f"x{i}"] = features[:, i]
    frame["y"] = (rng.random(rows) < score).astype(int)
    frame["p"] = (score > 0.5).astype(int)
    frame["score"] = score.round(6)
    return frame


def amounts(rows: int = 3000) -> pd.DataFrame:
    """Four groups of unequal size g, an amount y and a prediction p of it, which is too high for one group."""
    rng = np.random.default_rng(23)
    group = np.searchsorted(np.cumsum([0.5, 0.3, 0.15]), rng.random(rows))
    y = (10 + 5 * rng.random(rows) ** 2).round(6)
    p = (y + rng.random(rows) - 0.5 + 0.2 * (group == 1)).round(6)
    return pd.DataFrame({"g": group, "y": y, "p": p})


def same_rate(rows: int, groups: int, seed: int) -> pd.DataFrame:
    """Predictions p at a rate of .3 in each of some groups g of so many rows: nothing differs."""
    p = (np.random.default_rng([rows, groups, seed]).random(rows * groups) < 0.3).astype(int)
    return pd.DataFrame({"g": np.repeat(np.arange(groups), rows), "p": p})


def on_a_grid(rows: int = 400, order: int = 0) -> pd.DataFrame:
    """Features with few values, so that many rows are equally near; ``order`` shuffles the rows, not their content."""
    rng = np.random.default_rng(21)
    frame = pd.DataFrame({"g": np.where(rng.random(rows) < 0.4, "d", "a")})
    for i in range(2):
        frame[f"x{i}"] = np.floor(3 * rng.random(rows)).astype(int)
    frame["y"] = (rng.random(rows) < 0.5).astype(int)
    frame["p"] = (rng.random(rows) < 0.35 + 0.1 * frame.x0 + 0.2 * (frame.g == "a")).astype(int)
    shuffled = np.argsort(np.random.default_rng(order).random(rows)) if order else np.arange(rows)
    return frame.iloc[shuffled].reset_index(drop=True)


def absent_label() -> pd.DataFrame:
    """Labels y: shares .1, .2, .3, .4 in a, and 0, 0, .5, .5 in d."""
    return pd.DataFrame({"g": ["a"] * 100 + ["d"] * 60, "y": [0] * 10 + [1] * 20 + [2] * 30 + [3] * 40 + [2, 3] * 30})


def missing_facets() -> pd.DataFrame:
    """A facet g that is missing in 40 of 100 rows, all with a negative label; half of all others are positive."""
    return pd.DataFrame({"g": ["d"] * 30 + ["a"] * 30 + [None] * 40, "y": ([1] * 15 + [0] * 15) * 2 + [0] * 40})


def missing_labels() -> pd.DataFrame:
    """Labels y as text: half of all known ones are yes on both sides, and 40 of 100 are missing in d alone."""
    known = ["yes", "no"] * 30
    return pd.DataFrame({"g": ["d"] * 100 + ["a"] * 60, "y": [*known, *[None] * 40, *known]})


def one_sided_stratum() -> pd.DataFrame:
    """Strata s: in u and v a gap of 0 between d and a, in w nobody with a positive label y."""
    strata = {"u": (20, 20, 30, 30), "v": (30, 30, 20, 20), "w": (0, 40, 0, 10)}
    lines = [
        (stratum, group, label)
        for stratum, (d1, d0, a1, a0) in strata.items()
        for group, label, n in (("d", 1, d1), ("d", 0, d0), ("a", 1, a1), ("a", 0, a0))
        for _ in range(n)
    ]
    return pd.DataFrame(lines, columns=["s", "g", "y"])


def missing_strata() -> pd.DataFrame:
    """`simulated` with its strata s as numbers, missing for 4 of 10 rows of b with a negative label y."""
    frame = simulated().drop(columns=["score", *(f"x{i}" for i in range(4))])
    hidden = (frame.g == "b") & (frame.y == 0) & (np.arange(len(frame)) % 10 < 4)
    return frame.assign(s=frame.s.map({name: float(i) for i, name in enumerate("wxyz")}).mask(hidden))


def ages(copies: int = 1) -> pd.DataFrame:
    """400 people of `simulated`: age as whole numbers, as floats and with halves, b above 50 as 0 and 1."""
    frame = simulated().drop(columns=["score", "s", "g"]).head(400)
    age = np.random.default_rng(4).integers(20, 91, len(frame))
    frame = frame.assign(age=age, as_float=age.astype(float), halves=age + 0.5, above_50=(age > 50).astype(int))
    return pd.concat([frame] * copies, ignore_index=True)


def worse_than_its_neighbours(pairs: int = 50) -> pd.DataFrame:
    """Pairs with the same x, of which the one in d is predicted negative and the one in a positive."""
    return pd.DataFrame({"g": ["d", "a"] * pairs, "x": np.repeat(np.arange(pairs), 2), "y": [0, 1] * pairs,
                         "p": [0, 1] * pairs})  # fmt: skip


def shared_values() -> pd.DataFrame:
    """Two attributes u and v with the values yes and no: predictions follow u and have nothing to do with v."""
    lines = [("yes", 1, 120), ("yes", 0, 80), ("no", 1, 60), ("no", 0, 140)]
    frame = pd.DataFrame([(u, score) for u, score, n in lines for _ in range(n)], columns=["u", "p"])
    return frame.assign(v=["yes", "no"] * (len(frame) // 2), y=[0, 0, 1, 1] * (len(frame) // 4))


def many_cells(rows: int, seed: int = 0) -> pd.DataFrame:
    """40 groups g as numbers, label y and prediction p: the table on which reports are timed."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"g": rng.integers(0, CELLS, rows), "y": rng.integers(0, 2, rows), "p": rng.integers(0, 2, rows)}
    )


def as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with groups as text."""
    return frame.assign(g="group " + frame.g.astype(str))


def many_features(rows: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Twelve numeric features, who is in d, and who is predicted positive: the table of the flip test."""
    rng = np.random.default_rng(0)
    features = pd.DataFrame(rng.standard_normal((rows, FEATURES)), columns=[f"x{i}" for i in range(FEATURES)])
    return features, rng.random(rows) < 0.5, features.x0.to_numpy() > 0


def digest(frame: pd.DataFrame) -> str:
    """Says whether two environments made the same table."""
    return hashlib.sha256(frame.to_csv(index=False, float_format="%.9g").encode()).hexdigest()[:16]


def main(packages: list[str], records: Mapping[str, Callable[[], Any]], tasks: Mapping[str, Task]) -> None:
    """What the command line asks for."""
    command, *arguments = sys.argv[1:] or ["record"]
    if command == "record":
        print(json.dumps(_recorded(packages, records, arguments), indent=1, default=_plain))
    elif command == "time" and len(arguments) == 3:
        print(json.dumps(_timed(tasks[arguments[0]], int(arguments[1]), int(arguments[2]))))
    else:
        sys.exit("Usage: record [FIGURES ...] | time TASK ROWS REPEATS")


def or_error(work: Callable[[], Any]) -> Any:
    """A figure, or the error that a peer raises in its place."""
    try:
        return work()
    except Exception as problem:  # whatever it is, it is what the peer's user sees
        return {"error": f"{type(problem).__name__}: {problem}"}


def _recorded(packages: list[str], records: Mapping[str, Callable[[], Any]], names: list[str]) -> dict[str, Any]:
    module = Path(sys.argv[0]).stem
    return {
        "made_by": " ".join(["python -m", f"benchmarks.{module}", "record", *names]),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "tables": {"simulated": digest(simulated()), "on_a_grid": digest(on_a_grid())},
        "figures": {name: _without_nan(records[name]()) for name in names or records},
    }


def _timed(task: Task, rows: int, repeats: int) -> dict[str, list[float]]:
    task(2000)()
    work = task(rows)
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {"wall": walls, "cpu": cpus}


def _without_nan(value: Any) -> Any:
    """JSON knows neither NaN (null) nor infinity (text)."""
    if isinstance(value, Mapping):
        return {str(key): _without_nan(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(one) for one in value]
    if isinstance(value, (float, np.floating)):
        return None if math.isnan(value) else float(value) if math.isfinite(value) else str(float(value))
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)
