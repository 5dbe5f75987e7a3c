"""The most deviating cluster tested on several splits together: false alarms, power, what its interval covers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks import simulated

pytestmark = pytest.mark.usefixtures("without_words", "fewer_permutations")
ALPHA = 0.05
QUICK = {"clustering": {"stability": 0, "n_init": 1, "max_iter": 2}, "gate": []}


def at_most(hits: int, runs: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when the true rate is at most ``rate``."""
    return bool(stats.binom.sf(hits - 1, runs, rate) > 0.001)


def without_harm(rng: np.random.Generator, kind: str) -> pd.DataFrame:
    """Nobody fares worse; "places" are what every search finds, so that folds that change places mislead each other."""
    if kind == "persons":
        rows = simulated.of_persons(rng, 200, 3, True, 0.7)
        return rows[["x0", "x1", "y", "person"]]
    n = 400
    X = rng.normal(size=(n, 2))
    if kind == "places":
        X += 6.0 * rng.normal(size=(5, 2))[rng.integers(0, 5, n)]
    y = rng.normal(size=n) if kind == "amount" else (rng.random(n) < 0.3).astype(float)
    return pd.DataFrame(X, columns=list("ab")).assign(y=y)


@pytest.mark.parametrize("kind", ["noise", "places", "amount", "persons"])
def test_several_splits_together_accuse_nobody_more_often_than_they_may(kind: str, full: bool) -> None:
    runs, alarms, tested = 1000 if full else 50, 0, 0
    split = {"key": "person"} if kind == "persons" else {}
    for seed in range(runs):
        frame = without_harm(np.random.default_rng([51, seed, len(kind)]), kind)
        found = simulated.run(
            frame, seed, **QUICK, split={"random_state": seed, **split}, features={"include": list(frame.columns[:2])},
            significance={"min_rows": 10, "test": "welch" if kind == "amount" else "auto"},
        ).significance  # fmt: skip
        tested += found.repeats is not None and len(found.repeats.p_values) >= 4
        alarms += bool(found.main_significant)
    assert tested > 0.8 * runs  # else the study says nothing
    assert at_most(alarms, runs, ALPHA), alarms


def test_several_splits_find_what_one_does_not_and_cover_it() -> None:
    """A tenth of 2,500 people, 12 points worse; the interval is of the named cluster, whoever is in it."""
    runs, several, one, missed, wider = 30, 0, 0, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([52, seed])
        group = rng.random(22_500) < 0.1
        X = rng.normal(size=(22_500, 4)) + 4.0 * group[:, None]
        rate = 0.2 + 0.12 * group
        people = pd.DataFrame(X, columns=list("abcd")).assign(y=(rng.random(22_500) < rate).astype(float))
        result = simulated.run(people[:2_500], seed, **QUICK, split={"random_state": seed})
        found = result.significance
        assert found.primary is not None
        assert found.deciding is not None
        own, together = found.primary.comparison, found.deciding
        several += bool(found.main_significant)
        one += own.p_value is not None and own.p_value <= ALPHA
        inside = result.clusters.model.predict(people[list("abcd")]) == 0
        truth = rate[inside].mean() - rate[~inside].mean()
        missed += not together.low <= truth <= together.high  # type: ignore[operator]
        wider += together.high - together.low >= own.high - own.low  # type: ignore[operator]
    assert several >= 0.8 * runs, several
    assert one <= 0.6 * runs, one
    assert at_most(missed, runs, 0.1), missed
    assert wider == 0
