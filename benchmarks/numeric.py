"""Means, medians and errors of groups: ours beside fairlearn and holisticai, and one table read as an official does.

``python -m benchmarks numeric`` takes a minute; ``--quick`` tries it out on small tables and keeps nothing;
``--tables=FOLDER`` says where the public table of law students is (`law_school_clean.csv.gz`, which does not come with
the package). Peers run in environments of their own, as in `benchmarks.fairness`: BENCHMARK_FAIRLEARN_PYTHON
(``pip install fairlearn==0.15.0``) and BENCHMARK_HOLISTICAI_PYTHON (``pip install holisticai==1.0.14``); a peer without
one is skipped, and the table says so.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bdt_core import audit, bias_metrics, words
from bdt_core.fairness import BiasMetrics
from benchmarks.fairness import output_of
from benchmarks.measuring import timed
from benchmarks.peers_tables import amounts
from benchmarks.tables import record, table

ROWS, SMALL = 1_000_000, 10_000
REPEATS = 3
LAW = "law_school_clean.csv.gz"
TOLERANCE = 0.5
"""Of a standard deviation of all grades."""
SHOWN = ("mean_outcome", "mean_prediction", "mean_error", "mean_absolute_error", "within_tolerance")
ALLOWED = 0.1


def run(tables: str = "", quick: bool = False) -> None:
    """Hold values equal, time, and audit the table of law students."""
    figures = {"beside": beside(SMALL if quick else ROWS)}
    file = Path(tables) / LAW
    if tables and file.is_file():
        figures |= law_school(pd.read_csv(file))
    record("numeric", figures, keep=not quick and len(figures) > 1)


def beside(rows: int) -> dict[str, Any]:
    """Our seconds and the peers', and how far their values are from ours on a table of 3,000 rows."""
    frame = amounts(rows)
    ours = timed(partial(_measured, frame), REPEATS)
    lines: list[list[Any]] = [["ours: 8 metrics, 7 ratios, all with intervals", ours.cpu, None, ""]]
    found = _measured(amounts())
    for name, does, values in (
        ("fairlearn", "7 metrics, differences, ratios; no intervals", _values),
        ("holisticai", "2 ratios; no intervals", _ratios),
    ):
        python = os.environ.get(f"BENCHMARK_{name.upper()}_PYTHON")
        if not python:
            lines.append([f"{name}: {does}", None, None, "skipped"])
            continue
        module = [python, "-m", f"benchmarks.peers_{name}"]
        theirs = output_of(*module, "record", "numbers")["figures"]["numbers"]
        apart = max(abs(one - other) / abs(other) for one, other in values(found, theirs))
        if apart > 1e-9:
            raise AssertionError(f"{name} has other values than ours: {apart:.3g} apart")
        cpu = statistics.median(output_of(*module, "time", "numbers", str(rows), str(REPEATS))["cpu"])
        lines.append([f"{name}: {does}", cpu, cpu / ours.cpu, f"the same to {max(apart, 1e-16):.0e}"])
    return table({f"{rows:,} rows, 4 groups": "", "CPU s": ".3g", "theirs / ours": "times", "values": ""}, lines)


def _measured(frame: pd.DataFrame) -> BiasMetrics:
    return bias_metrics(frame, facet="g", label="y", prediction="p")


def _values(found: BiasMetrics, theirs: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """Our values of each group, and theirs."""
    for name, of_groups in theirs["by_group"].items():
        for group, value in of_groups.items():
            yield found.by_group[name][int(group)], value


def _ratios(found: BiasMetrics, theirs: dict[str, Any]) -> Iterator[tuple[float, float]]:
    for name, of_groups in theirs.items():
        for group, value in of_groups.items():
            ratio = found[f"{name}_ratio"][int(group)].estimate
            assert ratio is not None
            yield ratio, value


def law_school(students: pd.DataFrame) -> dict[str, Any]:
    """First-year grades that are predicted from the entrance test and the grades before, by other people's rows."""
    model = make_pipeline(StandardScaler(), Ridge())
    folds = KFold(5, shuffle=True, random_state=0)
    students = students.assign(
        predicted=cross_val_predict(model, students[["lsat", "ugpa"]], students["zfygpa"], cv=folds).round(3)
    )
    gate = [
        {"metric": "mean_error_difference", "facet": "race", "max": ALLOWED},
        {"metric": "mean_absolute_error_difference", "facet": "race", "max": ALLOWED},
    ]
    result = audit(
        students, derive="absolute_error", label="zfygpa", prediction="predicted", protected=["race"],
        columns=["fulltime", "fam_inc"], groups={"tolerance": TOLERANCE}, gate=gate, slices=None, worst_groups=None,
        clustering=None,
    )  # fmt: skip
    assert result.numbers is not None
    metrics = result.numbers["race"]
    rows = [[name, *(_told(metrics, name, group) for group in metrics[name].names)] for name in SHOWN]
    apart = metrics["mean_error_difference"]
    other = next(group for group in apart.names if group != metrics.reference)
    gap = apart[other]
    place = apart.names.index(other)
    assert apart.together_low is not None
    assert apart.together_high is not None
    within = metrics["within_tolerance"]
    return {
        "law_rows": len(students),
        "law_gap": gap.estimate,
        "law_gap_low": apart.together_low[place],
        "law_gap_high": apart.together_high[place],
        "law_within": within[other].estimate,
        "law_within_reference": within[metrics.reference].estimate,
        "law_numbers": table({"metric": "", **dict.fromkeys(metrics["mean_error"].names, "")}, rows),
        "law_gate": [f"{one['verdict']}: {one['sentence']}" for one in result.document["gate"]],
    }


def _told(metrics: BiasMetrics, name: str, group: str) -> str:
    one = metrics[name][group]
    write: Callable[[Any], Any] = words.percent if name == "within_tolerance" else words.number
    return f"{write(one.estimate)} [{write(one.low)} to {write(one.high)}]"
