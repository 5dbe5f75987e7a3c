"""False alarms and power of the whole audit, by simulation; `--full` runs twice to twenty times as many."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks import simulated

pytestmark = pytest.mark.usefixtures("without_words", "fewer_permutations")
ALPHA = 0.05


def at_most(hits: int, runs: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when the true rate is at most ``rate``."""
    return bool(stats.binom.sf(hits - 1, runs, rate) > 0.001)


@pytest.mark.parametrize("kind", ["binary .1", "binary .3"])
def test_without_any_difference_the_audit_accuses_nobody(kind, full):
    runs = 300 if full else 150
    primary = anyone = gate = tested = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, len(kind), ord(kind[-1])])
        frame = simulated.features(rng, 1000).assign(y=simulated.outcome(rng, 1000, kind))
        result = simulated.run(frame, seed, gate=[{"check": "worst_cluster", "max_difference": 0}])
        first = result.significance.primary
        tested += first is not None and first.comparison.p_value is not None
        primary += bool(first and first.comparison.p_value is not None and first.comparison.p_value <= ALPHA)
        anyone += any(one.significant for one in result.significance.clusters)
        gate += result.verdict == "fail"
    assert tested > 0.9 * runs  # else the study says nothing
    assert at_most(primary, runs, ALPHA), primary
    assert at_most(anyone, runs, ALPHA), anyone
    assert at_most(gate, runs, ALPHA / 2), gate


def test_a_planted_group_is_found_and_proven(full):
    """5 % of 5,000 people have a rate 20 points above the others' 20 %."""
    runs = 100 if full else 50
    found = 0
    for seed in range(runs):
        frame, _ = simulated.planted(np.random.default_rng([7, seed]), 5000, 0.05, 0.2)
        result = simulated.run(frame, seed)
        first = result.significance.primary
        if first is None or first.comparison.p_value is None or first.comparison.p_value > ALPHA:
            continue
        inside = result.clusters.predict(result.test) == 0
        truly = result.test.X["x0"].to_numpy() > 2.2
        overlap = (inside & truly).sum() / (inside | truly).sum()
        found += bool(first.worse and overlap > 0.5)
    assert found >= 0.8 * runs, found


@pytest.mark.parametrize("outcome", ["continuous", "skewed count"])
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_other_bias_variables_and_tables_raise_no_more_alarms(outcome, kind, full):
    runs = 500 if full else 25
    primary = anyone = 0
    for seed in range(runs):
        rng = np.random.default_rng([11, seed, len(outcome), len(kind)])
        frame = simulated.features(rng, 1000, kind).assign(y=simulated.outcome(rng, 1000, outcome))
        result = simulated.run(frame, seed, significance={"min_rows": 10})
        first = result.significance.primary
        primary += bool(first and first.comparison.p_value is not None and first.comparison.p_value <= ALPHA)
        anyone += any(one.significant for one in result.significance.clusters)
    assert at_most(primary, runs, ALPHA), primary
    assert at_most(anyone, runs, ALPHA), anyone
