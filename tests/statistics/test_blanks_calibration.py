"""Missing outcomes: false alarms where they are missing at random."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from bdt_core.groups.scan.blanks import find_blanks
from bdt_core.spec import parse_spec
from bdt_core.table.validate import validate

SPEC = parse_spec(
    {
        "name": "blanks",
        "source": {"path": "(DataFrame)"},
        "bias_variable": {"column": "y"},
        "protected": ["sex", "origin"],
        "slices": None,
    }
)


def table(run: int, rows: int = 500) -> pd.DataFrame:
    """A tenth of the outcomes is missing, of anybody; the outcome itself is worse for women."""
    rng = np.random.default_rng([7, run])
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "origin": rng.choice(list("abc"), rows)})
    frame["age"] = rng.integers(18, 80, rows)
    frame["income"] = rng.gamma(2.0, 500.0, rows)
    y = (rng.random(rows) < np.where(frame["sex"] == "f", 0.5, 0.2)).astype(float)
    return frame.assign(y=np.where(rng.random(rows) < 0.1, np.nan, y))


def test_outcomes_that_are_missing_at_random_are_seldom_called_a_matter_of_group(full: bool) -> None:
    runs = 1000 if full else 200
    found = [find_blanks(validate(table(run), SPEC), SPEC) for run in range(runs)]
    alarms = sum(bool(one.confirmed) for one in found)
    assert stats.binom.sf(alarms - 1, runs, SPEC.significance.alpha) > 0.001
    assert all(one.groups for one in found)  # declared groups were compared
