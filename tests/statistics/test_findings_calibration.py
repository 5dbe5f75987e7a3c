"""Whole audits without harm show few findings; what remains among people alike is covered as often as it is said."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from bdt_core.audit import audit
from bdt_core.inference.alike import Factors

Floats = np.ndarray
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


# Who is in the group, the outcome of the others, and how much more the group has; all by two factors.
DESIGNS: dict[str, Callable[[Floats], tuple[Floats, Floats, Floats | float]]] = {
    "linear": lambda x: (expit(-1 + x[:, 0]), expit(-1.5 + x[:, 0]), 0.1),
    "steps": lambda x: (np.where(x[:, 0] > 0.5, 0.5, 0.15), np.where(x[:, 0] > 0.5, 0.5, 0.1), 0.1),
    "both together": lambda x: (
        np.where(x[:, 0] * x[:, 1] > 0, 0.5, 0.2), np.where(x[:, 0] * x[:, 1] > 0, 0.45, 0.15), 0.08,
    ),
    "nothing remains": lambda x: (expit(-1 + 1.5 * x[:, 0]), expit(-1 + 1.5 * x[:, 0]), 0.0),
    "few": lambda x: (expit(-3.5 + x[:, 0]), expit(-2 + x[:, 0]), 0.1),
    "not the same for all": lambda x: (expit(-1 + x[:, 0]), expit(-2 + 0.8 * x[:, 1]), 0.15 * (x[:, 0] > 0)),
    "waves": lambda x: (expit(-1 + np.sin(3 * x[:, 0])), 0.3 + 0.2 * np.sin(3 * x[:, 0]), 0.1),
}  # fmt: skip


@cache
def truth(design: str) -> float:
    """The mean difference among people alike, by overlap weights, of very many people."""
    chance, outcome, more = DESIGNS[design](np.random.default_rng(0).normal(size=(400_000, 2)))
    weights = chance * (1.0 - chance)
    return float((weights * (np.clip(outcome + more, 0, 1) - outcome)).sum() / weights.sum())


@pytest.mark.parametrize("design", DESIGNS)
def test_what_remains_is_covered(design, full):
    runs, n = (300, 2000) if full else (16, 1000)
    covered = 0
    for run in range(runs):
        rng = np.random.default_rng([19, run])
        x = rng.normal(size=(n, 2))
        chance, outcome, more = DESIGNS[design](x)
        inside = rng.random(n) < chance
        y = (rng.random(n) < np.clip(outcome + more * inside, 0, 1)).astype(float)
        found = Factors(x, (False, False), y, seed=run).compare(inside)
        covered += found.remaining_low <= truth(design) <= found.remaining_high
    # The other way round: misses are no more than 7 in 100, if this is believable at all.
    assert stats.binom.sf(runs - covered - 1, runs, 0.07) > 0.001
