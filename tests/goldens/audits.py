"""The audits whose reports are frozen, as data: a table and a specification each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_ROOT = Path(__file__).parents[2]

Spec = dict[str, Any]


@dataclass(frozen=True)
class GoldenAudit:
    """An audit whose report is to stay as it is.

    Attributes
    ----------
    spec : dict or Path
        The specification, or the file with it.
    people : callable, optional
        Makes the table; without it the specification's own source is read.
    file : str, optional
        The table is written there and read from there; else it is handed over in memory.
    files : dict of str to callable
        Arrays that are written beside it.
    report : str, optional
        Name of the golden, where two audits are to give the same report; else the audit's own.
    markdown : bool
        Whether the report's Markdown is frozen as well.
    """

    spec: Spec | Path
    people: Callable[[], pd.DataFrame] | None = None
    file: str | None = None
    files: Mapping[str, Callable[[], np.ndarray]] | None = None
    report: str | None = None
    markdown: bool = False


@dataclass(frozen=True)
class GoldenGate:
    """A run of ``bdt gate`` whose gate.json is to stay as it is.

    Attributes
    ----------
    audit : str
        Whose specification and table it takes.
    people : callable, optional
        Another table, of the same columns.
    baseline : str, optional
        The golden report that it is compared with.
    """

    audit: str
    people: Callable[[], pd.DataFrame] | None = None
    baseline: str | None = None


def people(rows: int, seed: int, *, harm: int = 45, gaps: bool = False) -> pd.DataFrame:
    """People with a label, a score and a decision, made of whole numbers only: the same on every machine.

    Parameters
    ----------
    rows : int
    seed : int
    harm : int
        By so many percent the decision is wrong more often for young people of the town ``north``.
    gaps : bool
        Whether values are missing in ``income``, ``town`` and ``race``.
    """
    rng = np.random.default_rng(seed)

    def chance(percent: Any) -> Any:
        return rng.integers(0, 100, rows) < percent

    def one_of(*names: str) -> Any:
        return np.array(names, dtype=object)[rng.integers(0, len(names), rows)]

    age = rng.integers(18, 80, rows)
    income = rng.integers(40, 4_000, rows) / 4
    visits = rng.integers(0, 4, rows) * rng.integers(0, 4, rows)
    town = one_of("north", "north", "south", "east", "west")
    job = one_of("office", "office", "works", "works", "none")
    contract = one_of("fixed", "open")
    sex = one_of("f", "m")
    race = one_of("a", "a", "a", "a", "b", "b", "c")
    race[chance(2)] = "rare"
    hit = (age < 35) & (town == "north")
    likely = 20 + 15 * (job == "none") + income / 40 + 10 * (sex == "m")
    repaid = chance(likely)
    score = np.clip(repaid * 16 + rng.integers(0, 48, rows) - 6 * (race == "b"), 0, 63) / 64
    granted = np.where(chance(8 + harm * hit), ~repaid, score >= 0.5)
    frame = pd.DataFrame(
        {
            "country": "x",
            "person": rng.integers(0, max(rows // 2, 1), rows),
            "age": age,
            "income": income,
            "visits": visits,
            "town": town,
            "job": job,
            "contract": contract,
            "sex": sex,
            "race": race,
            "score": score,
            "repaid": repaid.astype(np.int64),
            "granted": granted.astype(np.int64),
            "wrong": (repaid != granted).astype(np.int64),
            "grade": 40 + rng.integers(0, 40, rows) / 4 + rng.integers(0, 9, rows) - 6 * hit,
            "asked": rng.integers(8, 400, rows) / 2,
        }
    )
    frame["offered"] = frame["asked"] - rng.integers(0, 40, rows) * (1 + 2 * hit) / 4
    frame["decision"] = np.where(granted, "yes", "no")
    frame["outcome"] = np.where(repaid, "yes", "no")
    if gaps:
        frame.loc[chance(6), "income"] = np.nan
        frame.loc[chance(4), "town"] = None
        frame.loc[chance(3), "race"] = None
    return frame


def places(rows: int) -> np.ndarray:
    """Where each of the people stands in a plane, as an embedding."""
    return np.random.default_rng(77).integers(-64, 64, (rows, 3)) / 16


_DERIVED = {"label": "repaid", "prediction": "granted"}
_FEW: Spec = {"stability": 5, "max_iter": 4}
_EVERY_LIMIT: list[Spec] = [
    {"check": "worst_cluster", "max_difference": 0.05},
    {"check": "any_cluster", "max_difference": 0.3},
    {"check": "any_cluster", "inconclusive": "block"},
    {"metric": "demographic_parity_difference", "facet": "sex", "max": 0.2},
    {"metric": "equalized_odds_difference", "facet": "race", "max": 0.15},
    {"metric": "equal_opportunity_ratio", "facet": "race", "min": 0.8, "inconclusive": "block"},
    {"metric": "disparate_impact", "facet": "race", "min": 0.8, "max": 1.25},
    {"metric": "CDDPL", "facet": "sex", "max": 0.1},
    {"metric": "false_positive_rate", "facet": ["contract", "sex"], "max": 0.4},
    {"metric": "false_negative_rate_difference", "facet": "race", "max": 0.1, "rule": "point"},
    {"metric": "false_negative_rate_difference", "facet": "age", "max": 0.1},
    {"metric": "accuracy", "facet": "race", "min": 0.6, "rule": "point"},
    {"metric": "auc", "facet": "race", "min": 0.6},
    {"metric": "brier_score", "facet": "sex", "max": 0.3},
    {"metric": "generalized_entropy", "facet": "sex", "max": 0.4},
    {"metric": "flip_test", "facet": "sex", "max": 0.2},
    {"metric": "bias_score", "facet": "race", "max": 0.3},
]
_LIMITS_OF_ONE = [one for one in _EVERY_LIMIT if one.get("facet") in (None, "sex", "race")]
_EVERYTHING: Spec = {
    "bias_variable": {"derive": "error", **_DERIVED},
    "favourable": "positive",
    "features": {"include": ["age", "income", "visits", "town", "job"]},
    "protected": ["sex", "race", "contract"],
    "groups": {
        "facets": ["sex", "race", ["contract", "sex"], "age"],
        "score": "score",
        "stratum": "job",
        "thresholds": {"age": 40},
        "similar_by": ["income", "town"],
    },
    "slices": {"columns": ["town", "age", "race", "sex"], "max_conditions": 2, "bins": 3},
    "local_bias": {"group": "sex", "n_clusters": 4},
    "mitigation": {"group": "race", "score": "score", "tolerance": 0.05},
    "clustering": _FEW,
    "gate": _EVERY_LIMIT,
    "require": "majority",
}
_LARGE: Spec = {
    "name": "large",
    "source": {"path": "large.parquet"},
    **_EVERYTHING,
    "groups": {**_EVERYTHING["groups"], "facets": ["sex", "age"]},
    "large_rows": 2_000,
    "clustering": {**_FEW, "memory": "in_memory"},
    "gate": [one for one in _EVERY_LIMIT if one.get("facet") in (None, "sex", "age")],
}
_OUT_OF_CORE: Spec = {"memory": "out_of_core", "memory_limit": "1 GiB"}
_MANY = partial(people, 5_000, 12)

AUDITS: dict[str, GoldenAudit] = {
    "numbers": GoldenAudit(
        {
            "bias_variable": {"column": "wrong"},
            "features": {"include": ["age", "income", "visits"]},
            "protected": ["sex", "race", "asked"],
        },
        partial(people, 1_500, 1),
    ),
    "categories": GoldenAudit(
        {
            "bias_variable": {"column": "wrong"},
            "features": {"include": ["town", "job", "contract", "visits"], "kinds": {"visits": "categorical"}},
            "protected": ["sex", "race"],
            "significance": {"correction": "bonferroni"},
            "clustering": {"stability": 10},
        },
        partial(people, 1_200, 2),
    ),
    "mixed": GoldenAudit(
        {
            "bias_variable": {"derive": "error", **_DERIVED},
            "features": {"include": ["age", "income", "town", "job"]},
            "protected": ["sex", "race"],
            "clustering": {**_FEW, "margin": 0.05},
            "groups": {"score": "score", "facets": ["sex"]},
        },
        partial(people, 1_200, 3, gaps=True),
    ),
    "reference_engine": GoldenAudit(
        {
            "bias_variable": {"column": "wrong"},
            "features": {"include": ["age", "income"]},
            "protected": ["sex"],
            "clustering": {"engine": "reference", "stability": 0, "max_iter": 3, "n_init": 2},
            "slices": None,
        },
        partial(people, 800, 4),
    ),
    "false_positives_drop_missing": GoldenAudit(
        {
            "bias_variable": {
                "derive": "false_positive_rate",
                "label": "outcome",
                "prediction": "decision",
                "positive": "yes",
            },
            "features": {"include": ["age", "income", "town"]},
            "protected": ["race", "sex"],
            "missing": "drop",
            "groups": {"facets": [["contract", "sex"]], "reference": "everybody else"},
            "clustering": _FEW,
            "significance": {"min_rows": 10, "correction": "bh"},
            "gate": [{"check": "any_cluster", "max_difference": 0.1}],
        },
        partial(people, 2_000, 5, gaps=True),
    ),
    "false_negatives": GoldenAudit(
        {
            "bias_variable": {"derive": "false_negative_rate", **_DERIVED},
            "features": {"exclude": ["wrong", "score", "outcome", "decision", "person", "offered", "grade"]},
            "protected": ["race"],
            "groups": {"facets": ["race"], "reference": "a"},
            "local_bias": {"group": "sex", "metric": "tpr", "n_clusters": 3, "embeddings": "places.npy"},
            "clustering": _FEW,
        },
        partial(people, 1_600, 6),
        files={"places.npy": partial(places, 1_600)},
    ),
    "higher_is_better": GoldenAudit(
        {
            "bias_variable": {"column": "grade", "better": "higher"},
            "features": {"include": ["age", "income", "town"]},
            "protected": ["sex", "race"],
            "significance": {"test": "permutation", "permutations": 19},
            "clustering": {"stability": 0, "max_iter": 3, "n_init": 2},
            "slices": {"fdr": 0.05, "max_difference": 1.0},
            "gate": [{"check": "worst_cluster"}, {"check": "any_cluster", "max_difference": 0.5}],
        },
        partial(people, 900, 7),
        markdown=True,
    ),
    "chosen_is_better": GoldenAudit(
        {
            "bias_variable": {"derive": "positive_prediction", "prediction": "granted", "better": "higher"},
            "features": {"include": ["age", "town", "job"]},
            "protected": ["sex", "race"],
            "clustering": _FEW,
            "gate": [
                {"metric": "selection_rate", "facet": "race", "min": 0.2},
                {"metric": "DI", "facet": "sex", "min": 0.8},
            ],
        },
        partial(people, 1_000, 8),
    ),
    "absolute_errors": GoldenAudit(
        {
            "bias_variable": {"derive": "absolute_error", "label": "asked", "prediction": "offered"},
            "features": {"include": ["age", "visits", "town"]},
            "protected": ["sex", "income"],
            "groups": {"facets": ["sex"], "tolerance": 500, **_DERIVED},
            "clustering": _FEW,
            "significance": {"correction": "none", "alpha": 0.1},
        },
        partial(people, 1_200, 9),
    ),
    "persons_and_repeats": GoldenAudit(
        {
            "bias_variable": {"column": "wrong"},
            "features": {"include": ["age", "income", "town"]},
            "protected": ["sex"],
            "split": {"key": "person", "repeats": 3, "test_size": 0.3, "random_state": 7},
            "clustering": {"stability": 0, "max_iter": 3},
        },
        partial(people, 1_500, 10),
    ),
    "repeats_of_higher": GoldenAudit(
        {
            "bias_variable": {"column": "grade", "better": "higher"},
            "features": {"include": ["age", "visits"]},
            "split": {"repeats": 3, "stratify": False},
            "significance": {"test": "welch"},
            "clustering": {"stability": 0, "max_iter": 3, "min_cluster_size": 60, "scale": False},
            "slices": None,
        },
        partial(people, 1_000, 11),
    ),
    "too_few": GoldenAudit(
        {
            "bias_variable": {"column": "wrong"},
            "features": {"include": ["age", "town"]},
            "protected": ["sex"],
            "clustering": {"stability": 0, "min_cluster_size": 0.02},
        },
        partial(people, 320, 13),
    ),
    "everything": GoldenAudit(
        {**_EVERYTHING, "split": {"repeats": 2}, "significance": {"test": "permutation", "permutations": 19}},
        partial(people, 1_600, 14, gaps=True),
        file="everything.csv",
        markdown=True,
    ),
    "lots_between_thresholds": GoldenAudit(
        {
            "bias_variable": {"derive": "false_negative", **_DERIVED, "better": "lower"},
            "features": {"include": ["age", "income"]},
            "protected": ["sex"],
            "groups": {"facets": []},
            "mitigation": {
                "group": ["sex", "contract"],
                "score": "score",
                "constraint": "equalized_odds",
                "objective": "balanced_accuracy",
                "randomized": True,
            },
            "local_bias": {"group": "race", "metric": "fpr", "n_clusters": 3, "embeddings": ["visits", "asked"]},
            "clustering": {"stability": 0, "max_iter": 3},
            "slices": None,
        },
        partial(people, 1_600, 15),
    ),
    "limits": GoldenAudit(
        {
            "bias_variable": {"derive": "error", **_DERIVED},
            "favourable": "positive",
            "features": {"include": ["age", "income", "town"]},
            "protected": ["sex", "race"],
            "groups": {"score": "score", "similar_by": ["income"]},
            "clustering": {"stability": 0, "max_iter": 4},
            "slices": None,
            "gate": [*_LIMITS_OF_ONE, {"metric": "calibration_difference", "facet": "sex", "max": 0.1}],
        },
        partial(people, 1_400, 16),
        file="limits.csv",
    ),
    "large": GoldenAudit(_LARGE, _MANY, markdown=True),
    "large_out_of_core": GoldenAudit(
        {**_LARGE, "clustering": {**_FEW, **_OUT_OF_CORE}}, _MANY, file="large.parquet", report="large"
    ),
    "large_on_dask": GoldenAudit(
        {**_LARGE, "engine": {"dask": {"local_workers": 1}}, "clustering": _FEW},
        _MANY,
        file="large.parquet",
        report="large",
    ),
    "large_higher_is_better": GoldenAudit(
        {
            "bias_variable": {"column": "grade", "better": "higher"},
            "features": {"include": ["age", "income", "town"]},
            "protected": ["sex", "race"],
            "split": {"key": "person", "repeats": 2},
            "significance": {"test": "permutation", "permutations": 19},
            "clustering": {"stability": 2, "max_iter": 3, "n_init": 2, **_OUT_OF_CORE},
            "groups": {**_DERIVED, "score": "score", "facets": ["race"]},
            "large_rows": 1_000,
        },
        partial(people, 3_000, 17, gaps=True),
        file="large_higher_is_better.csv",
    ),
    "large_categories": GoldenAudit(
        {
            "bias_variable": {"derive": "false_positive_rate", **_DERIVED},
            "features": {"include": ["town", "job", "contract"]},
            "protected": ["sex", "age"],
            "missing": "drop",
            "groups": {"facets": ["sex"]},
            "clustering": {**_FEW, **_OUT_OF_CORE},
            "large_rows": 1_000,
        },
        partial(people, 4_000, 18, gaps=True),
        file="large_categories.csv",
    ),
    "compas": GoldenAudit(_ROOT / "bdt_pipeline" / "defs" / "compas" / "defs.yaml", markdown=True),
    "grants": GoldenAudit(_ROOT / "bdt_pipeline" / "demos" / "grants.yaml"),
    "compas_in_depth": GoldenAudit(_ROOT / "docs" / "compas-in-depth.yaml", markdown=True),
    "adult": GoldenAudit(
        {
            "source": {"path": "demo:adult"},
            "bias_variable": {"derive": "false_negative_rate", "label": "over_50k", "prediction": "predicted_over_50k"},
            "features": {"exclude": ["probability"]},
            "protected": ["race", "sex"],
            "groups": {"score": "probability", "facets": ["sex"]},
            "clustering": {"stability": 2, "max_iter": 5, "n_init": 2},
            "slices": {"columns": ["sex", "race", "age"], "max_conditions": 2},
        }
    ),
}

GATES: dict[str, GoldenGate] = {
    "everything": GoldenGate("everything"),
    "limits": GoldenGate("limits", partial(people, 1_400, 19, harm=60), baseline="limits"),
}
