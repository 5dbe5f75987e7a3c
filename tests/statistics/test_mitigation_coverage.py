"""Intervals of what mitigation reports: measured on rows that did not choose, they cover."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bdt_core.mitigation import GroupThresholds, MitigationSettings
from bdt_core.mitigation.decisions import read_decisions
from bdt_core.mitigation.measuring import group_metrics, paired_change


def at_least(covered: int, runs: int, level: float = 0.95) -> bool:
    """No fewer than a correct interval gives, but for chance (one in two hundred)."""
    return covered >= runs * level - 2.6 * np.sqrt(runs * level * (1 - level))


def test_paired_interval_of_accuracy_covers(full):
    runs = 5_000 if full else 500
    rng = np.random.default_rng(0)
    for n, p in ((60, (0.55, 0.1, 0.05, 0.3)), (400, (0.7, 0.03, 0.02, 0.25)), (200, (0.7, 0.0, 0.02, 0.28))):
        covered = 0
        for both, lost, gained, neither in rng.multinomial(n, p, runs):
            before = np.repeat([True, True, False, False], [both, lost, gained, neither])
            after = np.repeat([True, False, True, False], [both, lost, gained, neither])
            found = paired_change(before, after, 0.05)
            covered += found.low <= p[2] - p[1] <= found.high
        assert at_least(covered, runs), (n, covered / runs)


def population(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    group = rng.integers(0, 3, rows)
    ability = rng.normal(size=rows)
    label = ability + 0.7 * rng.normal(size=rows) > 0.2 * group
    return pd.DataFrame(
        {"g": np.array(list("abc"))[group], "s": ability.round(2) - 0.3 * group, "y": label.astype(int)}
    )


def test_gap_and_accuracy_change_of_chosen_thresholds_are_covered_on_held_out_rows(full):
    """The truth is that of the thresholds that were chosen, on very many rows."""
    runs = 1000 if full else 60
    rng = np.random.default_rng(1)
    everybody = population(400_000, rng)
    of_group = np.searchsorted(list("abc"), everybody.g)
    positive = (everybody.y == 1).to_numpy()
    settings = MitigationSettings(("g",), "s", "y", threshold=0.0, tolerance=0.05)
    covered = {"gap": 0, "accuracy": 0}
    for _ in range(runs):
        frame = population(1200, rng)
        train, test = (read_decisions(part, settings) for part in (frame[:600], frame[600:]))
        model = GroupThresholds(settings.constraint, tolerance=0.05).fit(train.score, train.label, train.group)
        after = model.predict(test.score, test.group) == 1
        gap = group_metrics(test, after, settings)[settings.metric].only
        change = paired_change((test.score >= 0.0) == test.label, after == test.label, 0.05)
        chosen = everybody.s.to_numpy() >= np.array([model.thresholds_[one] for one in "abc"])[of_group]
        rates = np.bincount(of_group[positive], chosen[positive]) / np.bincount(of_group[positive])
        true_change = (chosen == positive).mean() - ((everybody.s >= 0.0) == positive).mean()
        covered["gap"] += gap.low <= rates.max() - rates.min() <= gap.high
        covered["accuracy"] += change.low <= true_change <= change.high
    assert at_least(covered["gap"], runs), covered
    assert at_least(covered["accuracy"], runs), covered
