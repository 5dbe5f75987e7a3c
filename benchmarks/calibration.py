"""Is the group found for whom a score is off, is nobody named where it is right, and does what is ruled out hold?

``python -m benchmarks calibration`` takes about an hour; ``--runs=20`` does with fewer tables. ``--peers=PYTHON`` is
the interpreter of an environment with ``pip install mcgrad`` (0.1.5), without which its column stays empty.
``--example=FOLDER`` makes the worked example alone, from law_school_clean.csv.gz.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from bdt_core import find_miscalibrated_groups
from bdt_core.calibration import Calibration
from benchmarks.scored_people import GAP, NULLS, PLANTED, Bools, ScoredTable, alike, made
from benchmarks.tables import record, table

RUNS, ROWS = 100, 20_000
_LEAVES, _LEAST = 16, 0.01
ALPHA = 0.05


@dataclass(frozen=True)
class Outcome:
    """What one method says of one table: whether it names anybody, and how like the planted group the first is."""

    names: bool
    first: float


def ours(drawn: ScoredTable, permutations: int = 79) -> Calibration:
    """The search, in both directions."""
    frame = drawn.frame.assign(score=drawn.scores, y=drawn.happened)
    return find_miscalibrated_groups(frame, label="y", score="score", permutations=permutations, max_groups=1)


def by_tree(drawn: ScoredTable) -> Outcome:
    """A regression tree of label less score, grown on either half and tested on the other; Holm over all leaves."""
    x = pd.get_dummies(drawn.frame).to_numpy(dtype=float)
    residual = drawn.happened - drawn.scores
    half = np.random.default_rng(0).random(len(residual)) < 0.5
    leaves: list[tuple[float, Bools]] = []
    for train in (half, ~half):
        tree = DecisionTreeRegressor(max_leaf_nodes=_LEAVES, min_samples_leaf=_LEAST, random_state=0)
        of_rows = tree.fit(x[train], residual[train]).apply(x)
        for leaf in np.unique(of_rows):
            inside = of_rows == leaf
            tested = residual[inside & ~train]
            p = stats.ttest_1samp(tested, 0.0).pvalue if tested.size > 1 and tested.std() else 1.0
            leaves.append((float(p), inside))
    leaves.sort(key=lambda one: one[0])
    names = leaves[0][0] * len(leaves) <= ALPHA
    return Outcome(names, alike(leaves[0][1], drawn.inside) if names else 0.0)


@dataclass(frozen=True)
class Run:
    """One table: what we say, what a tree says, and whether what we rule out holds for the planted group."""

    search: Outcome
    tree: Outcome
    interval: bool | None
    ruled_out: float
    held: bool


def measured(design: str, run: int, rows: int = ROWS, permutations: int = 79) -> Run:
    """One table of a design."""
    drawn = made(design, run, rows)
    found = ours(drawn, permutations)
    first = next(iter(found.groups), None)
    inside = first.members(drawn.frame) if first else np.zeros(rows, dtype=bool)
    certificate = found.certificate(0.05)
    true = GAP if drawn.inside.any() else 0.0
    covered = None
    if first is not None and first.low is not None and first.high is not None:
        covered = first.low <= float(drawn.off[inside].mean()) <= first.high
    return Run(
        search=Outcome(first is not None, alike(inside, drawn.inside) if first else 0.0),
        tree=by_tree(drawn),
        interval=covered,
        ruled_out=certificate.largest_difference if certificate else 1.0,
        held=certificate is not None and certificate.largest_difference >= true,
    )


def oracle(design: str, run: int, rows: int = ROWS) -> bool:
    """Whether a test finds the score off for the planted group, by somebody who was told who they are."""
    drawn = made(design, run, rows)
    inside, residual = drawn.inside, drawn.happened - drawn.scores
    variance = float((drawn.scores * (1.0 - drawn.scores)).mean())
    error = np.sqrt(variance * (1.0 / inside.sum() + 1.0 / (~inside).sum()))
    apart = abs(residual[inside].mean() - residual[~inside].mean())
    return bool(2.0 * stats.norm.sf(apart / error) <= ALPHA)


def run(runs: str | None = None, peers: str = "", example: str = "") -> None:
    """Measure every design and keep it."""
    if example:
        record("bar_pass", bar_pass(pd.read_csv(f"{example}/law_school_clean.csv.gz")))
        return
    tables = int(runs or RUNS)
    lines = []
    for line in _lines(tables, peers):
        lines.append(line)
        print(*(f"{one:.3f}" if isinstance(one, float) else one for one in line), sep=" | ", flush=True)
    columns = {
        "score": "", "off": "", "tables": "", "search": ".0%", "tree": ".0%", "MCGrad": ".0%", "interval holds": ".0%",
        "ruled out": ".1%", "holds": ".0%",
    }  # fmt: skip
    planted, nulls = lines[: len(PLANTED)], lines[len(PLANTED) :]
    record(
        "calibration",
        {
            "designs": table(columns, lines),
            "found": min(line[3] for line in planted[:2]),
            "found_harder": min(line[3] for line in planted[2:]),
            "oracle": min(float(np.mean([oracle(one, number) for number in range(tables)])) for one in PLANTED),
            "alarms": max(line[3] for line in nulls),
            "rows": ROWS,
            "runs": tables,
        },
    )


def bar_pass(students: pd.DataFrame) -> dict[str, Any]:
    """Law students: their chance to pass the bar by LSAT and college grades, by a model fitted on others."""
    model = make_pipeline(StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    known = ["lsat", "ugpa"]
    chances = cross_val_predict(model, students[known], students.pass_bar, cv=folds, method="predict_proba")[:, 1]
    found = find_miscalibrated_groups(
        students.assign(chance=chances), label="pass_bar", score="chance",
        columns=[*known, "male", "race", "fulltime", "fam_inc"],
    )  # fmt: skip
    columns = {
        "who": "", "students": ",", "chance": ".1%", "passed": ".1%", "the chance is": "", "by at least, points": ".1f"
    }  # fmt: skip
    everybody, (tenth, half) = found.everybody, (found.certificate(share) for share in (0.1, 0.5))
    assert everybody is not None
    assert tenth is not None
    assert half is not None
    lines = [
        [one.words, one.rows, one.mean_score, one.share_positive, one.way, 100 * one.at_least] for one in found.groups
    ]
    return {
        "groups": table(columns, lines),
        "students": found.rows,
        "foretold": everybody.mean_score,
        "passed": everybody.share_positive,
        "tenth": 100 * tenth.largest_difference,
        "half": 100 * half.largest_difference,
    }


def _lines(runs: int, peers: str) -> Iterator[list[Any]]:
    with ProcessPoolExecutor(2) as pool:
        for design in (*PLANTED, *NULLS):
            is_planted = design in PLANTED
            several = list(pool.map(partial(measured, design), range(runs)))
            of_peer = _by_peer(peers, design, runs) if peers else []
            shares = [
                None if not each else float(np.mean([_counts(one, is_planted) for one in each]))
                for each in ([one.search for one in several], [one.tree for one in several], of_peer)
            ]
            covered = [one.interval for one in several if one.interval is not None]
            kind, _, planted = design.partition(", too ")
            yield [
                kind, f"too {planted}" if planted else "for nobody", runs, *shares,
                float(np.mean(covered)) if covered and is_planted else None,
                float(np.median([one.ruled_out for one in several])), float(np.mean([one.held for one in several])),
            ]  # fmt: skip


def _counts(outcome: Outcome, is_planted: bool) -> bool:
    """Of planted groups whether the first that is named is theirs, else whether anybody is named."""
    return outcome.first >= 0.5 if is_planted else outcome.names


def _by_peer(python: str, design: str, runs: int) -> Sequence[Outcome]:
    """MCGrad's segments, in an environment of its own."""
    command = [python, "-m", "benchmarks.peers_calibration", design, str(runs), str(ROWS)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [Outcome(**json.loads(line)) for line in told.splitlines() if line.startswith("{")]
