"""Who finds the people who fare worst? Ours and its peers on tables with planted groups; its page is docs/finding.md.

``python -m benchmarks finding`` takes one to two hours of a processor. ``--kept=FILE`` keeps every trial as a line of
JSON and does not repeat what stands there, so that it can be done in pieces; ``--runs=12`` tables per shape and size (a
quarter of them at 50,000 rows); ``--sizes=1000,5000``; ``--only=two,scan`` names shapes or methods, and keeps nothing.
Trials of a method that has changed since must be taken out of the file.

With OMP_NUM_THREADS=1 in the environment threads do not wait for each other where the processors are shared.

The peers of `benchmarks.peers_finding` run in an environment of their own, whose Python BENCHMARK_FINDING_PYTHON names;
without one they are left out.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor

from bdt_core.clustering.clusters import find_clusters
from bdt_core.groups.scan import find_worst_groups
from bdt_core.groups.slices import find_slices
from bdt_core.ranking.candidates import from_slices
from bdt_core.significance.clusters import compare_clusters
from bdt_core.spec import parse_spec
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate
from benchmarks import planted, simulated
from benchmarks.planted import ALPHA, MIN_SHARE, NOBODY, SHAPES, UNSAYABLE, Bools, Floats, Method, Task
from benchmarks.tables import record, table

PYTHON = "BENCHMARK_FINDING_PYTHON"
SIZES = (1_000, 5_000, 50_000)


def scan(task: Task) -> Iterator[Bools]:
    """`find_worst_groups` as it comes."""
    for group in find_worst_groups(task.frame.assign(y=task.y), outcome="y", better="lower").groups:
        yield group.members(task.frame)


def hbac(task: Task) -> list[Bools]:
    """The cluster stage of an audit as it comes: the most deviating cluster on the held-out rows."""
    spec = parse_spec({**simulated.SPEC, "split": {"random_state": task.run}})
    rows = validate(task.frame.assign(y=task.y), spec)
    train, test = split_rows(rows, spec.split)
    assert spec.clustering is not None
    clusters = find_clusters(train, spec.clustering)
    tested = compare_clusters(clusters, train, test, spec.significance)
    together = tested.deciding
    if not tested.main_significant or together is None or (together.difference or 0.0) <= 0.0:
        return []
    return [clusters.predict(rows) == 0]


def slices(task: Task) -> Iterator[Bools]:
    """`find_slices` as it comes, with 5 % of false discoveries in place of 10 %."""
    found = find_slices(task.frame.assign(y=task.y), outcome="y", better="lower", random_state=task.run, fdr=ALPHA)
    for one in from_slices(found, "y"):
        yield one.members(task.frame)


def tree(task: Task) -> list[Bools]:
    """The leaf of a tree of four levels that is worst on one half, tested on the other."""
    X, y, half = _one_hot(task.frame), task.y, task.half()
    smallest = max(planted.MIN_ROWS // 2, int(MIN_SHARE * half.sum()))
    fitted = DecisionTreeRegressor(max_depth=4, min_samples_leaf=smallest, random_state=task.run).fit(X[half], y[half])
    leaf = fitted.apply(X)
    names = np.unique(leaf[half])
    worst = min(names, key=lambda one: planted.p_worse(y[half], leaf[half] == one))
    return _tested(y, leaf == worst, ~half)


def boosting(task: Task) -> list[Bools]:
    """Those with the highest risk by boosting, cross-fitted on two halves; Bonferroni's correction for the two.

    A quarter of each half says how many are at high risk: of nine shares from 1 to 30 % the one that stands out most.
    """
    texts = task.frame.select_dtypes(exclude="number").astype("category")
    X, y, half = task.frame.assign(**texts), task.y, task.half()
    inside, p_values = np.zeros(y.size, dtype=bool), []
    quarter = np.random.default_rng([17, task.run]).random(y.size) < 0.25
    learner = HistGradientBoostingClassifier if task.two_valued else HistGradientBoostingRegressor
    for own, other in ((half, ~half), (~half, half)):
        model = learner(
            learning_rate=0.05, max_iter=100, max_leaf_nodes=8, categorical_features="from_dtype", random_state=task.run
        ).fit(X[own & ~quarter], y[own & ~quarter])
        risk = model.predict_proba(X)[:, 1] if task.two_valued else model.predict(X)
        cuts = np.quantile(risk[own & quarter], 1 - np.array(SHARES))
        cut = min(cuts, key=lambda one: planted.p_worse(y[own & quarter], risk[own & quarter] >= one))
        inside |= other & (risk >= cut)
        p_values.append(planted.p_worse(y[other], inside[other]))
    return [inside] if min(p_values) <= ALPHA / 2 else []


def oracle(task: Task) -> list[Bools]:
    """Somebody who was told who it is, and only tests."""
    kept = planted.holm([planted.p_worse(task.y, one) for one in task.planted])
    return list(itertools.compress(task.planted, kept))


def _one_hot(frame: pd.DataFrame) -> Floats:
    numbers = frame.select_dtypes("number")
    unknown = numbers.isna().to_numpy()[:, numbers.isna().any().to_numpy()]
    filled = numbers.fillna(numbers.median()).to_numpy()
    return np.hstack([filled, unknown, pd.get_dummies(frame.select_dtypes(exclude="number")).to_numpy()]).astype(float)


def _tested(y: Floats, inside: Bools, rows: Bools) -> list[Bools]:
    return [inside] if planted.p_worse(y[rows], inside[rows]) <= ALPHA else []


SHARES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3)
OURS: dict[str, Method] = {one.__name__: one for one in (scan, hbac, slices, tree, boosting, oracle)}
METHODS = {
    "scan": "our scan",
    "slices": "our slices",
    "hbac": "our HBAC",
    "tree": "tree",
    "boosting": "boosting",
    "divexplorer": "DivExplorer",
    "aif360": "AIF360",
    "sliceline": "SliceLine",
    "fairlearn": "fairlearn",
    "oracle": "oracle",
}
LEFT_OUT = {
    ("divexplorer", "wide"): (0, "more than 60 CPU seconds at 1,000 rows"),
    ("sliceline", "wide"): (0, "asks for 64 GiB of memory at 1,000 rows"),
    ("aif360", "wide"): (5_000, "from 5,000 rows on, as 1,000 take it 25 CPU seconds"),
}
"""From how many rows on a method is not run on a shape, and why not."""
COLUMNS = {"found": "Found", "alarm": "Alarm", "jaccard": "Jaccard", "listed": "In its list", "seconds": "CPU s"}
_WARM_UP = 10_000
"""A table that is not in the study, before a method is timed."""


def run(kept: str = "", runs: str = "12", sizes: str = "", only: str = "") -> None:
    """Try what has not been tried yet, and write down what came of it."""
    wanted = set(only.split(",")) - {""}
    unknown = wanted - {*SHAPES, *NOBODY, *METHODS}
    if unknown:
        known = ", ".join([*SHAPES, *NOBODY, *METHODS])
        sys.exit(f"Neither a shape nor a method: {', '.join(sorted(unknown))}. There are {known}.")
    shapes = [one for one in (*SHAPES, *NOBODY) if one in wanted or not wanted & {*SHAPES, *NOBODY}]
    methods = [one for one in METHODS if one in wanted or not wanted & {*METHODS}]
    rows = [int(one) for one in sizes.split(",")] if sizes else list(SIZES)
    trials = list(tried(shapes, methods, rows, int(runs), Path(kept) if kept else None))
    record("finding", studied(pd.DataFrame(trials)), keep=not wanted)


def tried(
    shapes: list[str], methods: list[str], sizes: list[int], runs: int, kept: Path | None
) -> Iterator[dict[str, Any]]:
    """Every trial that is asked for, those of a file first."""
    done = (
        [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept and kept.exists() else []
    )
    known = {_key(one) for one in done}
    yield from (one for one in done if one["method"] in methods and one["shape"] in shapes and one["rows"] in sizes)
    theirs, warm = Peers(), set[str]()
    for number, rows in itertools.product(range(runs), sizes):
        if rows > SIZES[1] and number >= max(2, runs // 4):
            continue
        for shape, method in itertools.product(shapes, methods):
            asked = {"name": method, "shape": shape, "rows": rows, "run": number}
            if (method, shape, rows, number) in known or rows >= LEFT_OUT.get((method, shape), (sys.maxsize, ""))[0]:
                continue
            if shape in NOBODY and method == "oracle":
                continue
            if method not in warm:
                warm.add(method)
                _trial(theirs, {"name": method, "shape": "harmless", "rows": SIZES[0], "run": _WARM_UP})
            found = _trial(theirs, asked)
            if found is None:
                continue
            if kept:
                with kept.open("a", encoding="utf-8") as file:
                    print(json.dumps(found), file=file)
            yield found


def _trial(theirs: Peers, asked: dict[str, Any]) -> dict[str, Any] | None:
    name = asked["name"]
    return planted.trial(OURS[name], **asked) if name in OURS else theirs.trial(asked)


def _key(one: dict[str, Any]) -> tuple[str, str, int, int]:
    return one["method"], one["shape"], one["rows"], one["run"]


class Peers:
    """The process that runs the peers, started when the first of them is asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def trial(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """The answer of `planted.trial` in their environment; None without one."""
        python = os.environ.get(PYTHON)
        if not python:
            return None
        if self._process is None:
            command = [python, "-m", "benchmarks.peers_finding"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1]
            )
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            sys.exit(f"The peers' process ended at {asked}.")
        found: dict[str, Any] = json.loads(answer)
        frame, groups = planted.table(asked["shape"], asked["rows"], asked["run"])
        if found["digest"] != planted.digest(frame["y"].to_numpy(), groups):
            sys.exit(f"The peers' environment makes another table of {asked}: it needs the same numpy.")
        return found


def studied(trials: pd.DataFrame) -> dict[str, Any]:
    """What came of all trials, by size, shape and method."""
    trials = trials.assign(alarm=trials.named > 0, found=trials.jaccard >= 0.5)
    harmed = trials[trials["shape"].isin(list(SHAPES))]
    harmless = trials[trials["shape"].isin(list(NOBODY))]
    figures: dict[str, Any] = {
        "listed": planted.LISTED,
        "left_out": [f"{METHODS[method]} on *{shape}*: {why}" for (method, shape), (_, why) in LEFT_OUT.items()],
        "shapes": [f"*{name}*: {one.words}" for name, one in SHAPES.items()],
        "unsayable": " and ".join(f"*{one}*" for one in UNSAYABLE),
        "alarms": _alarms(harmless),
        "lost": _lost(harmed),
    }
    for rows, of_size in harmed.groupby("rows"):
        tables = of_size.groupby(["shape", "method"]).size()
        figures[f"tables_{rows}"] = " to ".join(map(str, sorted({int(tables.min()), int(tables.max())})))
        figures[f"short_{rows}"] = _short(of_size, harmless[harmless["rows"] == rows])
        for name, title in COLUMNS.items():
            figures[f"{name}_{rows}"] = _grid(of_size, name, title)
    return figures


def _methods(trials: pd.DataFrame) -> list[str]:
    return [one for one in METHODS if one in set(trials.method)]


def _short(harmed: pd.DataFrame, harmless: pd.DataFrame) -> dict[str, Any]:
    """Of one size, over all shapes that can be said."""
    sayable = harmed[~harmed["shape"].isin(UNSAYABLE)]
    lines = []
    for method in _methods(harmed):
        of_method = sayable[sayable.method == method]
        shapes = of_method.groupby("shape")[["alarm", "found", "jaccard", "listed"]].mean()
        always = f"{int((shapes.found >= 0.9).sum())} of {len(shapes)}"
        alarms = _of(harmless.alarm[harmless.method == method])
        lines.append([METHODS[method], *shapes.mean(), always, alarms, of_method.seconds.median()])
    shares = dict.fromkeys(("alarm", "found", "Jaccard", "in its list"), "share")
    return table(
        {
            f"{harmed['rows'].iloc[0]:,} rows": "",
            **shares,
            "found in .9 and more": "",
            "false alarms": "",
            "CPU s": ".2g",
        },
        lines,
    )


def _of(alarms: pd.Series[bool]) -> str:
    return f"{int(alarms.sum())} of {alarms.size}" if alarms.size else "-"


def _grid(trials: pd.DataFrame, name: str, title: str) -> dict[str, Any]:
    """One figure of each method and shape."""
    methods = _methods(trials)
    means = trials.pivot_table(
        index="shape", columns="method", values=name, aggfunc="median" if name == "seconds" else "mean"
    ).reindex(columns=methods)
    columns = {title: ""} | dict.fromkeys((METHODS[one] for one in methods), ".2g" if name == "seconds" else "share")
    best = [METHODS[one] for one in methods if one != "oracle" and name != "seconds"]
    return table(columns, [[shape, *means.loc[shape]] for shape in SHAPES if shape in means.index], best)


def _alarms(trials: pd.DataFrame) -> dict[str, Any]:
    methods = _methods(trials)
    lines = []
    for (shape, rows), of_table in trials.groupby(["shape", "rows"]):
        told = [_of(of_table.alarm[of_table.method == one]) for one in methods]
        lines.append([f"{NOBODY[str(shape)].words}, {rows:,} rows", *told])
    lines.append(["all", *(_of(trials.alarm[trials.method == one]) for one in methods)])
    return table(dict.fromkeys(("alarms", *(METHODS[one] for one in methods)), ""), lines)


def _lost(trials: pd.DataFrame) -> dict[str, Any]:
    """Shapes in which another method, that was not told anything, found more often."""
    lines = []
    for (rows, shape), of_shape in trials.groupby(["rows", "shape"]):
        found = {one: of_shape.found[of_shape.method == one] for one in _methods(of_shape) if one != "oracle"}
        if "scan" not in found:
            continue
        better = [
            f"{METHODS[one]} {_of(of_method)}"
            for one, of_method in found.items()
            if of_method.mean() > found["scan"].mean()
        ]
        if better:
            lines.append([f"{shape}, {rows:,} rows", _of(found["scan"]), ", ".join(better)])
    return table(dict.fromkeys(("found", "our scan", "others"), ""), lines)
