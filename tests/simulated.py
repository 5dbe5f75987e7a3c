"""Simulated tables for the calibration studies."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator

from bdt_core.audit import AuditResult, audit

SPEC = {
    "name": "simulated",
    "source": {"path": "(simulated)"},
    "bias_variable": {"column": "y"},
}


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


def run(frame: pd.DataFrame, seed: int, **change: object) -> AuditResult:
    """One whole audit."""
    return audit(frame, {**SPEC, "split": {"random_state": seed}, **change})
