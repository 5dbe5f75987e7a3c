"""Intervals of published rates allow for the noise and rounding of counts, whose error they cannot see."""

from __future__ import annotations

import numpy as np
import pytest

from bdt_core.metrics import RATES
from bdt_core.report.noise import Noise
from bdt_core.report.publication import Coarseness, _rate

DRAWS = 300
SHARES = ((0.2, 0.1, 0.1, 0.6), (0.02, 0.03, 0.05, 0.9), (0.25, 0.25, 0.25, 0.25))
"""True and false positives, false and true negatives."""
COARSE = Coarseness(10, 30, None, Noise(b"of the study", "a table"))


@pytest.mark.parametrize("rows", [120, 300, 1_000])
def test_published_intervals_hold_the_true_rate(rows: int) -> None:
    """All rates together nearly always; the worst, of cells that are mostly nought, in nine of ten."""
    random = np.random.default_rng(rows)
    held: list[float] = []
    for tp, fp, fn, tn in SHARES:
        counts = random.multinomial(rows, (tp, fp, fn, tn), DRAWS)
        for name, true in (("selection_rate", tp + fp), ("accuracy", tp + tn)):
            cells = [[COARSE.count(x, draw, kind) for kind, x in enumerate(one)] for draw, one in enumerate(counts)]
            told = [_rate(RATES[name], np.array(one, dtype=np.float64), 0.95, COARSE) for one in cells]
            inside = [one.low <= true <= one.high for one in told if one.low is not None and one.high is not None]
            held.append(float(np.mean(inside)))
    assert np.mean(held) >= 0.95
    assert min(held) >= 0.88
