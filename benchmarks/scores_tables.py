"""Tables with a score, on which thresholds are chosen: NumPy and pandas only, for the peers' environments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def adult() -> pd.DataFrame:
    """16,281 rows of UCI Adult; `probability` is of a logistic regression that was fitted on other rows."""
    return pd.read_parquet(Path(__file__).parents[1] / "bdt_core" / "data" / "adult.parquet")


def adult_halves() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every other row: to fit on, and to judge on."""
    frame = adult()
    return frame[::2].reset_index(drop=True), frame[1::2].reset_index(drop=True)


def simulated(rows: int) -> pd.DataFrame:
    """Four groups g, a label, and a calibrated probability with hardly any ties; columns named as in Adult."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 4, rows)
    probability = 1.0 / (1.0 + np.exp(-(rng.normal(size=rows) + 0.3 * group)))
    label = (rng.random(rows) < probability).astype(int)
    return pd.DataFrame({"probability": probability, "over_50k": label, "g": group})
