"""Group thresholds: ours against fairlearn's ThresholdOptimizer, in time, gap and accuracy.

``python -m benchmarks mitigation`` takes about two minutes; ``--quick`` tries everything out on small tables and keeps
nothing. fairlearn runs in an environment of its own: name its Python in the
environment variable BENCHMARK_FAIRLEARN_PYTHON (``pip install fairlearn==0.15.0 pyarrow``), or its columns say that it
was not run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.mitigation import GroupThresholds
from benchmarks.measuring import Timing, timed
from benchmarks.scores_tables import adult, adult_halves, simulated
from benchmarks.tables import record, table

FAIRLEARN_PYTHON = "BENCHMARK_FAIRLEARN_PYTHON"
CONSTRAINTS = ("demographic_parity", "equal_opportunity", "equalized_odds")
TOLERANCE = 0.02
NOT_RUN = "not run"
_SCRIPT = "benchmarks.peers_fairlearn_thresholds"


def run(quick: bool = False) -> None:
    """Measure everything and write down what came of it."""
    figures = {
        "tolerance": TOLERANCE,
        "times": times((20_000,) if quick else (100_000, 1_000_000)),
        "found": qualities(),
    }
    record("mitigation", figures, keep=not quick)


def times(sizes: tuple[int, ...]) -> dict[str, Any]:
    """CPU and wall seconds of the fit."""
    whole = adult()
    tables = [("UCI Adult, 5 races", whole, "race"), *((f"{n:,} rows, 4 groups", simulated(n), "g") for n in sizes)]
    lines = []
    for name, frame, facet in tables:
        for constraint in CONSTRAINTS:
            plain, lots = (_our_time(frame, facet, constraint, randomized) for randomized in (False, True))
            peer = _fairlearn_time(constraint, len(frame))
            lines.append([name, constraint, _seconds(plain), _seconds(lots), _seconds(peer), _ratio(peer, lots)])
    head = ("", "constraint", "ours, plain: CPU (wall) s", "ours, lots", "fairlearn", "fairlearn / ours, lots")
    return table(dict.fromkeys(head, ""), lines)


def qualities() -> dict[str, Any] | str:
    """Gap and accuracy."""
    fit, judged = adult_halves()
    lines = []
    for peer in _fairlearn_figures():
        facet, constraint, tolerance = peer["facet"], peer["constraint"], peer["tolerance"]
        line = [facet, constraint, f"{tolerance:g}"]
        for randomized in (False, True):
            model = _fitted(fit, facet, constraint, tolerance, randomized)
            line.append(" ; ".join(_quality(model, part, facet, constraint) for part in (fit, judged)))
        told = [f"{peer[part]['gap']:.4f} / {peer[part]['accuracy']:.4f}" for part in ("fit", "judged")]
        lines.append([*line, " ; ".join(told)])
    if not lines:
        return f"fairlearn: {NOT_RUN} ({FAIRLEARN_PYTHON} is not set)."
    head = ("groups", "constraint", "tolerance", "ours, plain: gap / accuracy, fit ; judged", "ours, lots", "fairlearn")
    return table(dict.fromkeys(head, ""), lines)


def expected(
    chance: NDArray[np.float64], label: NDArray[np.bool_], group: NDArray[Any], constraint: str
) -> tuple[float, float]:
    """Largest difference of the expected constrained rates, and expected accuracy."""
    rates = [
        [float(chance[group == one].mean()), *(float(chance[(group == one) & (label == y)].mean()) for y in (1, 0))]
        for one in np.unique(group)
    ]
    columns = {"demographic_parity": [0], "equal_opportunity": [1], "equalized_odds": [1, 2]}[constraint]
    gap = float(np.ptp(np.array(rates)[:, columns], axis=0).max())
    return gap, float(np.where(label, chance, 1.0 - chance).mean())


def _quality(model: GroupThresholds, part: pd.DataFrame, facet: str, constraint: str) -> str:
    chance = model.selection_chance(part["probability"], part[facet])
    label, group = part["over_50k"].to_numpy() == 1, part[facet].to_numpy()
    gap, accuracy = expected(chance, label, group, constraint)
    return f"{gap:.4f} / {accuracy:.4f}"


def _fitted(frame: pd.DataFrame, facet: str, constraint: Any, tolerance: float, randomized: bool) -> GroupThresholds:
    model = GroupThresholds(constraint, tolerance=tolerance, randomized=randomized)
    return model.fit(frame["probability"], frame["over_50k"], frame[facet])


def _our_time(frame: pd.DataFrame, facet: str, constraint: str, randomized: bool) -> Timing:
    return timed(lambda: _fitted(frame, facet, constraint, TOLERANCE, randomized), repeats=3)


def _fairlearn_time(constraint: str, rows: int) -> Timing | None:
    repeats = 1 if rows > 200_000 else 3
    found = _fairlearn("time", constraint, str(rows), str(repeats))
    if found is None:
        return None
    return Timing(statistics.median(found["wall"]), statistics.median(found["cpu"]), repeats)


def _fairlearn_figures() -> list[dict[str, Any]]:
    found = _fairlearn("record")
    return found["figures"]["adult"] if found else []


def _fairlearn(*arguments: str) -> Any:
    python = os.environ.get(FAIRLEARN_PYTHON)
    if not python:
        return None
    command = [python, "-W", "ignore", "-m", _SCRIPT, *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _seconds(timing: Timing | None) -> str:
    return NOT_RUN if timing is None else f"{timing.cpu:.3g} ({timing.wall:.3g})"


def _ratio(peer: Timing | None, ours: Timing) -> str:
    return NOT_RUN if peer is None else f"{peer.cpu / ours.cpu:.3g}"
