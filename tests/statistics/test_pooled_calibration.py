"""Coverage of the intervals of groups that are estimated with help of the others, and what the help is worth."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import special, stats

from bdt_core.inference import wilson_interval
from bdt_core.inference.pooled import pool_means, pool_rates

SIZES = np.array([4, 7, 12, 15, 20, 25, 50, 100, 300, 1000])
FEWEST, FEW = 10, 30
TABLES = 40


@dataclass
class Seen:
    """Whether each interval held its group's true value, and what small groups' were worth."""

    all: list[bool] = field(default_factory=list)
    small: list[bool] = field(default_factory=list)
    planted: list[bool] = field(default_factory=list)
    predicted: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    widths_alone: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    errors_alone: list[float] = field(default_factory=list)


def at_least(held: list[bool], rate: float) -> bool:
    """Whether so many are believable (p > .001) when the true coverage is at least ``rate``."""
    return bool(stats.binom.cdf(sum(held), len(held), rate) > 0.001)


def effects(
    rng: np.random.Generator, shape: tuple[int, int], tau: float, kind: str
) -> tuple[list[np.ndarray], np.ndarray]:
    """Levels of a table's groups, and how they differ: by level, and each by its own."""
    a, b = shape
    levels = [np.repeat(np.arange(a), b), np.tile(np.arange(b), a)] if b > 1 else [np.arange(a)]
    own = {"normal": rng.normal(size=a * b), "heavy tails": rng.standard_t(3, a * b) / np.sqrt(3)}[kind]
    of_levels = sum(rng.normal(0, 0.4, one.max() + 1)[one] for one in levels) if b > 1 else 0.0
    return levels, of_levels + tau * own


def seen_rates(shape: tuple[int, int], tau: float, base: float, kind: str = "normal", planted: float = 0.0) -> Seen:
    """Rates of many tables; the first group is small and, by choice, like no other."""
    rng, seen = np.random.default_rng([7, *shape, int(10 * tau), int(100 * base), int(10 * planted)]), Seen()
    for _ in range(TABLES):
        levels, theta = effects(rng, shape, tau, kind)
        n = rng.choice(SIZES, theta.size).astype(float)
        n[0] = rng.choice([12, 20, 28])
        theta[0] += planted
        true = special.expit(special.logit(base) + theta)
        events = rng.binomial(n.astype(int), true).astype(float)
        own = n >= FEWEST
        found = pool_rates(events, n, levels, own)
        held, small = (found.low <= true) & (true <= found.high), own & (n < FEW)
        seen.all += held[own].tolist()
        seen.small += held[small].tolist()
        seen.planted.append(bool(held[0]))
        seen.predicted += held[~own].tolist()
        low, high = wilson_interval(events[small], n[small])
        seen.widths += (found.high - found.low)[small].tolist()
        seen.widths_alone += np.asarray(high - low).tolist()
        seen.errors += np.square(found.estimate - true)[small].tolist()
        seen.errors_alone += np.square(events / n - true)[small].tolist()
    return seen


@pytest.mark.parametrize("base", [0.08, 0.3])
@pytest.mark.parametrize("tau", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("shape", [(5, 2), (6, 4), (8, 1)])
def test_intervals_of_rates_hold_and_small_groups_gain(shape: tuple[int, int], tau: float, base: float) -> None:
    seen = seen_rates(shape, tau, base)
    assert at_least(seen.all, 0.94)
    assert at_least(seen.small, 0.94)
    assert at_least(seen.predicted, 0.92)
    assert np.mean(seen.widths) < np.mean(seen.widths_alone)
    assert np.mean(seen.errors) < np.mean(seen.errors_alone)


def test_groups_that_differ_with_heavy_tails_are_covered_too() -> None:
    seen = seen_rates((6, 4), 0.4, 0.2, "heavy tails")
    assert at_least(seen.all, 0.94)
    assert at_least(seen.small, 0.94)


@pytest.mark.parametrize("planted", [1.0, 2.0, 3.0])
@pytest.mark.parametrize(("shape", "base"), [((6, 4), 0.1), ((6, 1), 0.3)])
def test_one_small_group_far_from_all_others_is_covered(shape: tuple[int, int], base: float, planted: float) -> None:
    """Where the others are all alike, which is where they mislead most: .1 becomes .23, .45 or .69."""
    seen = seen_rates(shape, 0.0, base, planted=planted)
    assert at_least(seen.planted, 0.9)
    assert at_least(seen.all, 0.94)


@pytest.mark.parametrize("kind", ["normal", "exponential"])
@pytest.mark.parametrize("tau", [0.0, 0.2, 0.6])
def test_intervals_of_means_hold(tau: float, kind: str) -> None:
    rng, held, small, predicted = np.random.default_rng([8, int(10 * tau), len(kind)]), [], [], []
    for _ in range(TABLES):
        levels, theta = effects(rng, (6, 4), tau, "normal")
        n = rng.choice(SIZES[:-1], theta.size)
        noise = [rng.normal(size=m) if kind == "normal" else rng.exponential(size=m) - 1.0 for m in n]
        rows = [40.0 + 10.0 * (at + one) for at, one in zip(theta, noise, strict=True)]
        own = n >= FEWEST
        mean, variance = np.array([one.mean() for one in rows]), np.array([one.var(ddof=1) for one in rows])
        found = pool_means(mean, variance, n.astype(float), levels, own)
        true = 40.0 + 10.0 * theta
        inside = (found.low <= true) & (true <= found.high)
        held += inside[own].tolist()
        small += inside[own & (n < FEW)].tolist()
        predicted += inside[~own].tolist()
    assert at_least(held, 0.94)
    assert at_least(small, 0.93 if kind == "normal" else 0.92)
    assert at_least(predicted, 0.92)
