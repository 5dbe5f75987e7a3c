"""Compile the kernels into their cache: ``python -m tests.kernels``.

Before the first tests on a new machine, whose processes would else each compile them at the same time.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from numba import float32, float64, uint8, uint16

from bdt_core.audit import audit
from bdt_core.clustering import kernels


def main() -> None:
    """Compile all that takes long, for all types of tables."""
    audit_small_tables()
    for number, code in product((float32, float64), (uint8, uint16)):
        instead = {
            float32: number,
            float32[::1]: number[::1],
            float32[:, ::1]: number[:, ::1],
            uint8[:, ::1]: code[:, ::1],
        }
        for loop, types in kernels.CALLED_WITH.items():
            loop.compile(tuple(instead.get(one, one) for one in types))


def audit_small_tables() -> None:
    """Audit a table of few rows for errors and for a number, with every search, and one of more rows in blocks."""
    rng = np.random.default_rng(0)
    rows = 1200
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows).astype(float),
            "income": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(50, 10, rows)),
            "region": rng.choice(["north", "south", "east"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "repaid": rng.integers(0, 2, rows),
            "granted": rng.integers(0, 2, rows),
        }
    )
    errors = {"bias_variable": {"derive": "error", "label": "repaid", "prediction": "granted"}}
    days = {"bias_variable": {"column": "days_late"}}
    for asked in ({**errors, "local_bias": {"group": "sex"}}, days, {**errors, "large_rows": 1000}):
        spec = {
            "name": "kernels",
            "source": {"path": "(kernels)"},
            **asked,
            "features": {"include": ["age", "income", "region"]},
            "protected": ["sex"],
            "clustering": {"stability": 2},
        }
        audit(people.assign(days_late=rng.exponential(size=rows)), spec)


if __name__ == "__main__":
    main()
