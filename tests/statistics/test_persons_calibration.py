"""False alarms where persons have several rows: comparisons, and whole audits with ``split.key``."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bdt_core.inference import compare_counts, compare_samples
from bdt_core.inference.persons import Steps, compare_persons, person_sums
from benchmarks import simulated

ALPHA = 0.05


def at_most(hits: int, runs: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when the true rate is at most ``rate``."""
    return bool(stats.binom.sf(hits - 1, runs, rate) > 0.001)


def rows_of(rng: np.random.Generator, persons: int, kind: str) -> np.ndarray:
    """The person of each row: five rows each, or geometrically many."""
    rows = np.full(persons, 5) if kind == "even" else np.minimum(rng.geometric(0.2, persons), 40)
    return np.repeat(np.arange(persons), rows)


@pytest.mark.parametrize("kind", ["even", "uneven", "on both sides"])
@pytest.mark.parametrize(("rate", "alike"), [(0.1, 1.0), (0.3, 0.5)])
def test_a_rate_is_compared_by_persons_at_its_level(kind: str, rate: float, alike: float) -> None:
    """Few persons against 300; also where each has some of his rows on either side. The intervals cover 0 as often."""
    runs, few, hits, missed, of_rows = 250, 40, 0, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([31, len(kind), int(10 * rate), seed])
        who = rows_of(rng, few + 300, kind)
        inside = who < few
        if kind == "on both sides":
            share = np.where(rng.random(few + 300) < 0.3, 0.5, np.where(np.arange(few + 300) < few, 0.9, 0.02))
            inside = rng.random(who.size) < share[who]
        if alike < 1.0:
            odds = (1.0 - alike) / alike
            y = rng.random(who.size) < rng.beta(rate * odds, (1.0 - rate) * odds, few + 300)[who]
        else:
            y = (rng.random(few + 300) < rate)[who]
        sums = [person_sums(y[side].astype(float), who[side], few + 300) for side in (inside, ~inside)]
        rows = compare_counts(int(y[inside].sum()), int(inside.sum()), int(y[~inside].sum()), int((~inside).sum()))
        found = compare_persons(rows, *sums, min_rows=20)
        assert found.p_value is not None
        assert rows.p_value is not None
        hits += found.p_value <= ALPHA
        of_rows += rows.p_value <= ALPHA
        missed += not (found.low <= 0.0 <= found.high)  # type: ignore[operator]
    assert at_most(hits, runs, ALPHA), hits
    assert at_most(missed, runs, ALPHA), missed
    assert not at_most(of_rows, runs, ALPHA), of_rows  # which is why


@pytest.mark.parametrize("kind", ["even", "uneven"])
@pytest.mark.parametrize("skewed", [False, True])
def test_a_mean_is_compared_by_persons_at_its_level(kind: str, skewed: bool) -> None:
    runs, hits, persons = 300, 0, 300
    for seed in range(runs):
        rng = np.random.default_rng([32, len(kind), skewed, seed])
        who = rows_of(rng, persons, kind)
        of_person = rng.exponential(size=persons) if skewed else rng.normal(size=persons)
        y, inside = of_person[who] + 0.5 * rng.normal(size=who.size), who < 60
        steps = Steps.of(np.unique(y))
        sums = [person_sums(steps.count(y[side]), who[side], persons) for side in (inside, ~inside)]
        found = compare_persons(compare_samples(y[inside], y[~inside], test="welch"), *sums, steps)
        assert found.p_value is not None
        hits += found.p_value <= ALPHA
    assert at_most(hits, runs, ALPHA), hits


def test_where_each_row_is_a_person_little_is_lost() -> None:
    """A true difference is found nearly as often as by the exact test of rows."""
    by_rows = by_persons = 0
    for seed in range(300):
        rng = np.random.default_rng([33, seed])
        y = rng.random(600) < np.where(np.arange(600) < 100, 0.45, 0.3)
        inside, who = np.arange(600) < 100, np.arange(600)
        rows = compare_counts(int(y[:100].sum()), 100, int(y[100:].sum()), 500)
        sums = [person_sums(y[side].astype(float), who[side], 600) for side in (inside, ~inside)]
        by_rows += rows.p_value <= ALPHA  # type: ignore[operator]
        by_persons += compare_persons(rows, *sums).p_value <= ALPHA  # type: ignore[operator]
    assert by_persons >= 0.93 * by_rows > 200


def test_audits_of_persons_with_five_rows_accuse_nobody(full: bool) -> None:
    """Row by row most of the same audits accuse somebody."""
    runs, rates = 300 if full else 15, {"primary": ALPHA, "any cluster": ALPHA, "intersections": 0.1, "groups": ALPHA}
    alarms, tested, of_rows = dict.fromkeys(rates, 0), 0, 0
    for seed in range(runs):
        frame = simulated.of_persons(np.random.default_rng([34, seed]), 400, 5, False, 1.0)
        found = simulated.alarms_of_persons(frame, seed)
        tested += found["tested"]
        for name in rates:
            alarms[name] += found[name]
        if seed < 5:
            by_rows = simulated.alarms_of_persons(frame, seed, key=None)
            of_rows += any(by_rows[name] for name in rates)
    assert tested >= 0.8 * runs
    assert all(at_most(alarms[name], runs, rate) for name, rate in rates.items()), alarms
    assert of_rows >= 3
