"""Compile the kernels into their cache: ``python -m tests.kernels``.

Before the first tests on a new machine, whose processes would else each compile them at the same time.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bdt_core.audit import audit


def main() -> None:
    """Audit a small table twice, for errors and for a number, with every search."""
    rng = np.random.default_rng(0)
    rows = 400
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
    for asked in ({**errors, "local_bias": {"group": "sex"}}, days):
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
