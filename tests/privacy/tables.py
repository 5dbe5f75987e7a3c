"""Random tables with groups of a few people, and their reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bdt_core.audit import audit
from bdt_core.spec import AuditSpec, parse_spec

SEXES, RACES = ("f", "m"), ("ash", "birch", "cedar", "dogwood", "elm")


def spec(name: str = "privacy") -> AuditSpec:
    """An audit of little but declared groups, that takes a fraction of a second."""
    return parse_spec(
        {
            "name": name,
            "source": {"path": "people.csv"},
            "bias_variable": {"label": "repaid", "prediction": "granted", "derive": "error", "better": "lower"},
            "features": {"include": ["age"]},
            "protected": ["sex", "race"],
            "groups": {"facets": [["sex"], ["race"], ["sex", "race"]]},
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


def report(frame: pd.DataFrame) -> dict[str, Any]:
    """The owner's report of a table."""
    return audit(frame, spec()).document
