"""Simulated tables for the calibration studies, in the tests and at full size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from bdt_core.clustering.clusters import Clusters, find_clusters
from bdt_core.fairness.declared_groups import compare_groups, count_groups
from bdt_core.groups.slices.audited import find_bias_slices
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
    chosen: dict[str, dict[str, Any]] = {
        "numeric": numbers, "categorical": categories, "mixed": numbers | categories,
    }  # fmt: skip
    return pd.DataFrame(chosen[kind])


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


def of_persons(rng: Generator, persons: int, each: int, uneven: bool, alike: float) -> pd.DataFrame:
    """A table of persons with several rows, in which nobody is worse off.

    Parameters
    ----------
    persons, each : int
        Persons, and rows that one has on average.
    uneven : bool
        Whether persons have equally many rows, or geometrically many, 40 at most.
    alike : float
        Correlation of the outcomes of a person's rows; 1 makes them equal.

    Returns
    -------
    DataFrame
        Features, of which ``x0`` differs between the rows of a person so that these lie in several clusters; a facet,
        the bias variable in ``y`` and in ``said``, and ``person``.
    """
    rows = np.minimum(rng.geometric(1.0 / each, persons), 40) if uneven else np.full(persons, each)
    of_row = np.repeat(np.arange(persons), rows)
    rate = 0.3
    if alike >= 1.0:
        y = (rng.random(persons) < rate)[of_row]
    else:
        odds = (1.0 - alike) / alike
        y = rng.random(of_row.size) < rng.beta(rate * odds, (1.0 - rate) * odds, persons)[of_row]
    frame = features(rng, persons).assign(facet=rng.choice(list("abc"), persons)).loc[of_row].reset_index(drop=True)
    frame["x0"] += 0.5 * rng.normal(size=of_row.size)
    return frame.assign(y=y.astype(float), said=y.astype(int), person=of_row)


def alarms_of_persons(frame: pd.DataFrame, seed: int, key: str | None = "person") -> dict[str, bool]:
    """What an audit of a table of `of_persons` calls a difference: clusters, intersections and groups."""
    how = {"method": "hash"} if key is None else {"key": key}
    spec = parse_spec({
        **SPEC,
        "split": {**how, "test_size": 0.5, "random_state": seed},
        "features": {"exclude": ["person", "said", "facet"]},
        "clustering": {"stability": 0, "n_init": 1, "max_iter": 4},
        "slices": {"max_conditions": 2},
        "protected": ["facet"],
        "groups": {"prediction": "said"},
    })  # fmt: skip
    train, test = split_rows(validate(frame, spec), spec.split)
    assert spec.clustering is not None
    clusters = find_clusters(train, spec.clustering)
    tested = compare_clusters(clusters, train, test, spec.significance)
    assert spec.slices is not None
    groups = compare_groups(count_groups(frame, spec), spec.significance)
    return {
        "tested": tested.main_significant is not None,
        "primary": bool(tested.main_significant),
        "any cluster": any(bool(one.significant) for one in tested.clusters),
        "intersections": bool(find_bias_slices(train, test, spec.slices).reported),
        "groups": any(bool(one.significant) for one in groups.tests),
    }


def run(frame: pd.DataFrame, seed: int, repeats: int | None = 1, **change: object) -> Found:
    """The stages of an audit that lead to its verdict; without a number of splits with as many as it takes itself."""
    spec = parse_spec({**SPEC, "split": {"random_state": seed, "repeats": repeats}, **change})
    train, test = split_rows(validate(frame, spec), spec.split)
    assert spec.clustering is not None
    clusters = find_clusters(train, spec.clustering)
    significance = compare_clusters(clusters, train, test, spec.significance)
    verdicts = [judge_clusters(one, significance).verdict for one in spec.gate if isinstance(one, Limit)]
    return Found(test, clusters, significance, overall(verdicts, spec.require))
