"""Small tables with a group that is treated worse, and audits of them that take a fraction of a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.audit import AuditResult, audit

QUICK = {
    "name": "joined",
    "bias_variable": {"column": "y"},
    "clustering": {"stability": 0, "n_init": 2, "max_iter": 3},
    "slices": None,
    "worst_groups": {"permutations": 39},
    "split": {"repeats": 1},
}
OUT_OF_CORE = {"clustering": {**QUICK["clustering"], "memory": "out_of_core"}, "large_rows": 1000}  # type: ignore[dict-item]


def harmed(rows: int = 2400, harm: float = 0.2, *, base: float = 0.3, seed: int = 1) -> pd.DataFrame:
    """A quarter of the people, far away in x0, have ``y`` = 1 more often by ``harm``; x1 and kind tell nothing."""
    rng = np.random.default_rng(seed)
    is_harmed = np.arange(rows) % 4 == 0
    return pd.DataFrame(
        {
            "x0": rng.normal(size=rows) + 8.0 * is_harmed,
            "x1": rng.normal(size=rows),
            "kind": rng.choice(list("abc"), rows),
            "y": (rng.random(rows) < base + harm * is_harmed).astype(float),
        }
    )


def quick_audit(frame: pd.DataFrame | Path, **changes: Any) -> AuditResult:
    """The audit of a table, or of a file, without what takes long."""
    return audit(frame, {**QUICK, **changes})
