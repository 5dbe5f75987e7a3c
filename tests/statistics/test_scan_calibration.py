"""The scan: false alarms, groups that are found, coverage of a named group's interval and of the certificate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks import ruled_out
from benchmarks.searched import (
    DESIGNS,
    GROUPS,
    NULLS,
    alarms,
    intervals,
    null_table,
    people,
    scan,
)


def believable(hits: int, runs: int, rate: float) -> bool:
    """Whether so many hits are believable (p > .001) when their rate is at most this."""
    return bool(stats.binom.sf(hits - 1, runs, rate) > 0.001)


@pytest.mark.parametrize("kind", NULLS)
def test_without_any_harm_few_runs_find_some(kind: str, full: bool) -> None:
    runs = 300 if full else 30
    assert believable(alarms(kind, runs, permutations=19), runs, 0.05)


@pytest.mark.parametrize("kind", ["persons of ten rows", "persons of one to twelve rows"])
def test_rows_of_persons_are_not_permuted(kind: str) -> None:
    """Without the key, most searches confirm some group: persons have to be permuted whole."""
    tables = [null_table(kind, np.random.default_rng([1, run])) for run in range(6)]
    found = [scan(one.frame.drop(columns="person"), one.outcome, permutations=19).worst for one in tables]
    assert sum(one is not None for one in found) > 3


@pytest.mark.parametrize("design", GROUPS)
def test_planted_groups_are_found(design: str, full: bool) -> None:
    runs = 40 if full else 5
    alike = []
    for run in range(runs):
        rng = np.random.default_rng([3, run])
        frame = people(rng, 1500)
        y, _ = DESIGNS[design](rng, frame)
        worst = scan(frame, y, permutations=19).worst
        group = GROUPS[design](frame)
        inside = worst.members(frame) if worst else np.zeros(len(frame), dtype=bool)
        alike.append((inside & group).sum() / (inside | group).sum())
    assert np.mean(np.array(alike) >= 0.5) >= 0.8


def test_the_interval_of_a_named_group_covers_its_true_difference(full: bool) -> None:
    """Where harm is weak, what is named is most too large: an interval that ignores the search misses it often."""
    found = {
        design: intervals(design, 100) if full else intervals(design, 28, permutations=19)
        for design in (DESIGNS if full else ("weak", "weak normal", "three conditions", "smooth"))
    }
    for design, one in found.items():
        assert believable(one.missed, one.named, 0.10), design
    named = sum(one.named for one in found.values())
    assert sum(one.missed for one in found.values()) / named <= 0.10
    assert sum(one.missed_by_plain for one in found.values()) / named > 0.15


@pytest.mark.parametrize(
    "design",
    [
        "rate .15, +25",
        "box 21 x 21 between cuts, +50",
        "four conditions, +40",
        "lognormal, sigma 2, x 10",
        "Pareto 2.5, x 3",
        "zero-inflated, x 5",
        "persons of 10 rows, all alike",
        "persons of 1 to 50 rows, part of each",
        "a factor",
    ],
)
def test_no_group_is_worse_than_the_certificate_says(design: str, full: bool) -> None:
    runs = 200 if full else 8
    several = [ruled_out.held(design, seed) for seed in range(runs)]
    assert believable(sum(one.ruled_out < one.true for one in several), runs, 0.05)


def test_what_conditions_do_not_describe_is_outside_of_the_certificate() -> None:
    """An exclusive-or; no certificate may say "any group" as long as this is so."""
    assert not ruled_out.DESIGNS["exclusive-or, +30"].within
    several = [ruled_out.held("exclusive-or, +30", seed) for seed in range(3)]
    assert all(one.ruled_out < one.true for one in several)


@pytest.mark.parametrize("design", ruled_out.ENUMERATED)
def test_the_certificate_lies_no_higher_than_the_bounds_of_all_groups(design: str, full: bool) -> None:
    """Where all groups can be looked at: no higher by a tenth; lower by as much as a climb falls short."""
    several = [ruled_out.enumerated(*ruled_out.ENUMERATED[design], seed) for seed in range(30 if full else 2)]
    ratios = np.array([one.ruled_out / one.highest for one in several])
    assert ratios.max() <= 1.1
    assert ratios.min() >= 0.7
