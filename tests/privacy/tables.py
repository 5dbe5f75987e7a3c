"""Random tables with groups of a few people, and their reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bdt_core.audit import audit
from bdt_core.spec import AuditSpec, parse_spec

SEXES, RACES = ("f", "m"), ("ash", "birch", "cedar", "dogwood", "elm")
COLUMNS = ["sex", "race", "town"]
TOWNS = ("north", "south", "isle")


def spec(name: str = "privacy") -> AuditSpec:
    """An audit of little but declared groups, that takes a fraction of a second."""
    return parse_spec(
        {
            "name": name,
            "source": {"path": "people.csv"},
            "bias_variable": {"label": "repaid", "prediction": "granted", "derive": "error", "better": "lower"},
            "features": {"include": ["age"]},
            "protected": ["sex", "race"],
            "favourable": "positive",
            "groups": {"facets": [["sex"], ["race"], ["sex", "race"]], "report": ["ll144", "four_fifths"]},
            "split": {"repeats": 1},
            "clustering": {"stability": 0, "n_init": 1, "max_iter": 1},
            "worst_groups": None,
            "slices": None,
            "characteristics": None,
        },
        "the test",
    )


def table(seed: int, *, least: int = 300, most: int = 900) -> pd.DataFrame:
    """People of two sexes and five races, of which two or three are rare, with a label and a prediction."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(least, most))
    rare = random.uniform(0.004, 0.04, 2)
    shares = np.array([*random.dirichlet([6.0, 3.0, 1.0]) * (1.0 - rare.sum()), *rare])
    race = random.choice(RACES, rows, p=shares)
    repaid = (random.random(rows) < random.uniform(0.05, 0.7)).astype(int)
    wrong = random.random(rows) < np.where(race == RACES[0], random.uniform(0.02, 0.4), random.uniform(0.02, 0.2))
    return pd.DataFrame(
        {
            "sex": random.choice(SEXES, rows, p=(share := random.uniform(0.2, 0.8), 1.0 - share)),
            "race": race,
            "age": random.integers(18, 80, rows),
            "repaid": repaid,
            "granted": np.where(wrong, 1 - repaid, repaid),
        }
    )


def table_of_towns(seed: int) -> pd.DataFrame:
    """More people, of a large, a small and a tiny town; in the small one one sex, or one race, fares worse."""
    frame, random = table(seed, least=900, most=1_500), np.random.default_rng(seed + 1_000_000)
    shares = np.array([0.0, random.uniform(0.1, 0.35), random.uniform(0.004, 0.03)])
    shares[0] = 1.0 - shares.sum()
    frame["town"] = random.choice(TOWNS, len(frame), p=shares)
    of = frame["sex"] == SEXES[seed % 2] if seed % 3 else frame["race"].isin(RACES[1:])
    worse = (frame["town"] != "north") & of & (random.random(len(frame)) < random.uniform(0.35, 0.8))
    frame.loc[worse, "granted"] = 1 - frame.loc[worse, "repaid"]
    return frame


def spec_of_findings() -> AuditSpec:
    """An audit that searches for the worst groups of these people."""
    base = spec().model_dump(mode="json", exclude_unset=True)
    searched = {"features": {"include": ["age", "town"]}, "worst_groups": {"permutations": 39, "columns": COLUMNS}}
    return parse_spec(base | searched, "the test")


def report(frame: pd.DataFrame, asked: AuditSpec | None = None) -> dict[str, Any]:
    """The owner's report of a table."""
    return audit(frame, asked or spec()).document
