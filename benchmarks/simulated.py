"""Simulated tables for the calibration studies, in the tests and at full size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator

from bdt_core.clustering.clusters import Clusters, find_clusters
from bdt_core.significance.clusters import ClusterSignificance, compare_clusters
from bdt_core.spec import Limit, parse_spec
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.split import split_rows
from bdt_core.table.validate import validate
from bdt_core.verdict import Verdict, judge_clusters, overall

SPEC = {
    "name": "simulated",
    "source": {"path": "(simulated)"},
    "bias_variable": {"column": "y"},
    "clustering": {"stability": 0},
}


@dataclass(frozen=True)
class Found:
    """What the stages found."""

    test: AuditTable
    clusters: Clusters
    significance: ClusterSignificance
    verdict: Verdict


def features(rng: Generator, n: int, kind: str = "mixed") -> pd.DataFrame:
    """Five numbers, five categories, or both; correlated a little, as people's features are."""
    common = rng.normal(size=n)
    numbers = {f"x{i}": common * 0.5 + rng.normal(size=n) for i in range(5)}
    categories = {
        f"c{i}": pd.Series(np.digitize(common * 0.5 + rng.normal(size=n), [-1, 0, 1])).map(dict(enumerate("abcd")))
        for i in range(5)
    }
    chosen = {"numeric": numbers, "categorical": categories, "mixed": numbers | categories}[kind]
    return pd.DataFrame(chosen)


def outcome(rng: Generator, n: int, kind: str) -> np.ndarray:
    """A bias variable that nobody's features have to do with."""
    match kind:
        case "binary .1":
            return (rng.random(n) < 0.1).astype(float)
        case "binary .3":
            return (rng.random(n) < 0.3).astype(float)
        case "continuous":
            return rng.normal(size=n)
        case "skewed count":
            return rng.negative_binomial(0.5, 0.2, size=n).astype(float)
    raise ValueError(kind)


def planted(rng: Generator, n: int, size: float, gap: float, base: float = 0.2) -> tuple[pd.DataFrame, np.ndarray]:
    """A table in which one group, set apart in two numbers and a category, has a rate ``gap`` above the others'.

    Returns
    -------
    frame : DataFrame
        With the bias variable in ``y``.
    group : ndarray of bool, shape (n,)
    """
    frame = features(rng, n)
    group = rng.random(n) < size
    frame.loc[group, ["x0", "x1"]] += 4.0
    frame.loc[group, "c0"] = "d"
    return frame.assign(y=(rng.random(n) < base + gap * group).astype(float)), group


def run(frame: pd.DataFrame, seed: int, **change: object) -> Found:
    """The stages of an audit that lead to its verdict."""
    spec = parse_spec({**SPEC, "split": {"random_state": seed}, **change})
    train, test = split_rows(validate(frame, spec), spec.split)
    clusters = find_clusters(train, spec.clustering)
    significance = compare_clusters(clusters, train, test, spec.significance)
    verdicts = [judge_clusters(one, significance).verdict for one in spec.gate if isinstance(one, Limit)]
    return Found(test, clusters, significance, overall(verdicts, spec.require))
