"""For whom a score is off: false alarms, planted groups, and coverage of intervals and of what is ruled out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bdt_core.fairness.score_metrics import gap_limits
from benchmarks.calibration import measured
from benchmarks.scored_people import NULLS, PLANTED

FEW_ROWS = 4_000


def believable(hits: int, runs: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when their rate is at most this."""
    return bool(stats.binom.sf(hits - 1, runs, rate) > 0.001)


@pytest.mark.parametrize("design", NULLS)
def test_a_score_that_is_right_for_everybody_is_called_off_for_few(design: str, full: bool) -> None:
    runs = 100 if full else 4
    told = [measured(design, run, FEW_ROWS, permutations=39) for run in range(runs)]
    assert believable(sum(one.search.names for one in told), runs, 0.05)


@pytest.mark.parametrize("design", PLANTED[:2])
def test_a_planted_group_comes_first_and_bounds_hold_for_it(design: str, full: bool) -> None:
    runs, rows = 50 if full else 3, 20_000
    told = [measured(design, run, rows, permutations=39) for run in range(runs)]
    assert np.mean([one.search.first >= 0.5 for one in told]) >= 0.6
    assert believable(sum(not one.held for one in told), runs, 0.05)
    assert believable(sum(one.interval is False for one in told), runs, 0.05)


@pytest.mark.parametrize("mean", [0.01, 0.2, 0.7])
def test_the_interval_of_a_gap_covers_it(mean: float, full: bool) -> None:
    """Of scores that are right: the true gap is none, however few are positive."""
    runs, n, rng = 20_000 if full else 2_000, 80, np.random.default_rng(4)
    scores = rng.beta(5 * mean, 5 * (1 - mean), (runs, n))
    y = (rng.random((runs, n)) < scores).astype(float)
    low, high = gap_limits(
        y.mean(axis=1), scores.mean(axis=1), (y - scores).var(axis=1, ddof=1), np.full(runs, float(n)), 1.96
    )
    missed = int(((low > 0.0) | (high < 0.0)).sum())
    assert believable(missed, runs, 0.055)
