"""Tables in which nobody fares worse: how many audits put anybody into their list of findings?

``python -m benchmarks nobody [--runs=300]`` takes half an hour of a processor; ``--kept=FILE`` keeps each kind of table
as a line of JSON and does not repeat what stands there; with ``--done`` only that is written down. Its page is
docs/validity.md.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.stages import Stages
from benchmarks import searched, simulated
from benchmarks.tables import record, table

ALPHA = 0.05
ROWS = 1000
BY_AGE = ("rate by age", "and who is a woman, and lives where, by age, which is legitimate")
KINDS = (
    *searched.NULLS.items(),
    *itertools.product(("binary .1", "binary .3", "continuous", "skewed count"), ("numeric", "categorical", "mixed")),
    BY_AGE,
)
"""Outcome and table: those of the search for the worst group, and those of the study of false alarms."""


def asked(outcome: str, kind: str, run: int) -> tuple[pd.DataFrame, AuditSpec]:
    """A table of this kind, and an audit as it comes of it; without refits, which only take clusters from the list."""
    rng = np.random.default_rng([71, KINDS.index((outcome, kind)), run])
    how: dict[str, Any] = {}
    if (outcome, kind) == BY_AGE:
        frame, how = searched.people(rng, ROWS), {"legitimate": ["age"]}
        old = rng.random(ROWS) < frame["age"] / 100
        frame["sex"], frame["region"] = np.where(old, "f", "m"), frame["region"].where(~old, "a")
        frame["y"] = searched.events(rng, frame["age"].to_numpy() / 100)
    elif outcome in searched.NULLS:
        null = searched.null_table(outcome, rng)
        frame, how = null.frame.assign(y=null.outcome), dict(null.how)
    else:
        frame = simulated.features(rng, ROWS, kind).assign(y=simulated.outcome(rng, ROWS, outcome))
        frame["sex"] = rng.choice(["f", "m"], ROWS)
    split: dict[str, Any] = {"random_state": run}
    if (key := how.pop("key", None)) is not None:
        split["key"] = key
    return frame, parse_spec({**simulated.SPEC, "protected": ["sex"], "split": split, **how})


def shows_any(frame: pd.DataFrame, spec: AuditSpec) -> bool:
    """Whether an audit has any finding."""
    stages = Stages()
    rows = stages.validate(frame, spec)
    train, test = stages.split_rows(rows, spec.split)
    assert spec.clustering is not None
    clusters = stages.find_clusters(train, spec.clustering)
    significance = stages.compare_clusters(clusters, train, test, spec.significance)
    assert spec.slices is not None  # on by default
    worst, slices = stages.find_worst_groups(rows, spec), stages.find_slices(train, test, spec.slices)
    declared = stages.compare_declared_groups(rows, spec)
    found = stages.rank_findings(rows, test, clusters, significance, worst, slices, None, declared, spec)
    return bool(found.findings)


def run(runs: str = "300", kept: str = "", done: bool = False) -> None:
    """Audit what has not been audited yet, and write down how many showed a finding."""
    file, of_each = Path(kept) if kept else None, int(runs)
    before = file.read_text(encoding="utf-8").splitlines() if file and file.exists() else []
    shown = {(one["outcome"], one["kind"]): one["shown"] for one in map(json.loads, before) if one["runs"] == of_each}
    for outcome, kind in KINDS:
        if (outcome, kind) not in shown and not done:
            shown[outcome, kind] = sum(shows_any(*asked(outcome, kind, one)) for one in range(of_each))
            told = {"outcome": outcome, "kind": kind, "runs": of_each, "shown": shown[outcome, kind]}
            print(told, flush=True)
            if file:
                with file.open("a", encoding="utf-8") as lines:
                    print(json.dumps(told), file=lines)
    record("nobody", studied(shown, of_each), keep=of_each >= 300)


def studied(shown: dict[tuple[str, str], int], runs: int) -> dict[str, Any]:
    """The counts as a table."""
    lines = [[*kind, len(asked(*kind, 0)[0]), count / runs] for kind, count in shown.items()]
    return {
        "runs": runs,
        "rows": ROWS,
        "bound": int(stats.binom.ppf(0.999, runs, ALPHA)),
        "shown": table({"outcome": "", "table": "", "rows": ",", "any finding": ".1%"}, lines),
        "most": max(shown.values()),
        "all": float(np.mean(list(shown.values()))) / runs,
        "audits": runs * len(shown),
    }
