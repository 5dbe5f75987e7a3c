"""Whole audits without harm show few findings; what remains among people alike is covered as often as it is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bdt_core.audit import audit
from benchmarks.searched import ALIKE, missed_alike

SPEC = {
    "name": "people",
    "bias_variable": {"column": "y"},
    "protected": ["sex"],
    "clustering": {"stability": 0, "n_init": 2, "max_iter": 3},
    "worst_groups": {"permutations": 39},
}


def without_harm(rng: np.random.Generator, n: int = 600) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(size=n),
            "town": rng.choice(list("abcdef"), n),
            "sex": rng.choice(["f", "m"], n),
            "y": (rng.random(n) < 0.25).astype(int),
        }
    )


def test_few_audits_without_harm_show_any_finding(full):
    runs = 300 if full else 24
    shown = 0
    for run in range(runs):
        frame = without_harm(np.random.default_rng([17, run]))
        shown += bool(audit(frame, SPEC | {"split": {"random_state": run}}).findings)
    assert stats.binom.sf(shown - 1, runs, 0.05) > 0.001


@pytest.mark.parametrize("design", ALIKE)
def test_what_remains_is_covered(design, full):
    runs, n = (300, 2000) if full else (10, 1000)
    # The other way round: misses are no more than 7 in 100, if this is believable at all.
    assert stats.binom.sf(missed_alike(design, runs, n)[0] - 1, runs, 0.07) > 0.001
