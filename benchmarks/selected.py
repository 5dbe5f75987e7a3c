"""Is what a report says of what it chose true? Intersections, clusters beside a bad one, the best of groups, areas."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bdt_core.fairness import four_fifths
from bdt_core.groups.slices import find_slices
from bdt_core.inference import area_under_curve, compare_counts, difference_found_beyond, newcombe_interval
from benchmarks.tables import table

Floats = NDArray[np.float64]
Planted = list[tuple[dict[int, int], float]]

BASE = 0.2
SHARES = ([0.5, 0.5], [0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1], [0.7, 0.3], [0.4, 0.3, 0.3], [0.25] * 4)
CELLS = np.array(list(product(*(range(len(one)) for one in SHARES)))).T
CELL_SHARES = np.prod([np.array(one)[code] for one, code in zip(SHARES, CELLS, strict=True)], axis=0)

DESIGNS: dict[str, tuple[Planted, int, float]] = {
    "one pair": ([({0: 1, 1: 1}, 0.10)], 6_000, 0.5),
    "one pair, few test rows": ([({0: 1, 1: 1}, 0.10)], 6_000, 0.2),
    "one pair, weak": ([({0: 1, 1: 1}, 0.05)], 20_000, 0.5),
    "two, small and large": ([({0: 1, 1: 1}, 0.15), ({1: 2, 2: 2, 3: 1}, 0.25)], 4_000, 0.5),
    "two, few test rows": ([({0: 1, 1: 1}, 0.15), ({1: 2, 2: 2, 3: 1}, 0.25)], 6_000, 0.2),
    "many weak": ([({0: 1}, 0.04), ({1: 2}, 0.05), ({2: 3}, 0.06), ({3: 1}, 0.03), ({4: 2}, 0.04)], 6_000, 0.5),
    "many weak, many rows": (
        [({0: 1}, 0.04), ({1: 2}, 0.05), ({2: 3}, 0.06), ({3: 1}, 0.03), ({4: 2}, 0.04)], 20_000, 0.5,
    ),
    "one value": ([({2: 3}, 0.10)], 6_000, 0.5),
}  # fmt: skip
"""What is planted (conditions and points), rows, and the share of test rows."""

AREAS = {
    "normal": lambda rng, area, n, m: (rng.normal(stats.norm.ppf(area) * 2**0.5, 1, n), rng.normal(0, 1, m)),
    "unlike spread": lambda rng, area, n, m: (rng.normal(stats.norm.ppf(area) * 10**0.5, 3, n), rng.normal(0, 1, m)),
    "skewed": lambda rng, area, n, m: (rng.exponential(area / (1 - area), n), rng.exponential(1, m)),
    "0 and 1": lambda rng, area, n, m: (rng.random(n) < 2 * area - 1, rng.random(m) < 0.0),
}
"""Scores of two groups with a true area under the curve."""
TRUE_AREAS = (0.5, 0.9, 0.98)


def harmed(codes: NDArray[np.int64], planted: Planted) -> Floats:
    """Chance of an error per row."""
    rate = np.full(codes.shape[1], BASE)
    for conditions, gap in planted:
        rate[np.logical_and.reduce([codes[column] == value for column, value in conditions.items()])] += gap
    return rate


def reported_slices(design: str, runs: int, seed: int = 6) -> pd.DataFrame:
    """Reported slices of so many tables: truth, low, high, own_low, own_high, expected, measured."""
    planted, n, test_size = DESIGNS[design]
    rng = np.random.default_rng([seed, list(DESIGNS).index(design)])
    rates, rows = harmed(CELLS, planted), []
    for run in range(runs):
        codes = np.stack([rng.choice(len(one), n, p=one) for one in SHARES])
        frame = pd.DataFrame({f"c{i}": code for i, code in enumerate(codes)})
        frame["wrong"] = (rng.random(n) < harmed(codes, planted)).astype(int)
        found = find_slices(frame, outcome="wrong", better="lower", random_state=run, test_size=test_size)
        for one in found.reported:
            inside = np.logical_and.reduce([CELLS[int(c.column[1:])] == c.values[0] for c in one.conditions])
            means = [np.average(rates[part], weights=CELL_SHARES[part]) for part in (inside, ~inside)]
            own = one.comparison
            rows.append(
                (means[0] - means[1], one.low, one.high, own.low, own.high, one.shrunken_difference, own.difference)
            )
    names = ["truth", "low", "high", "own_low", "own_high", "expected", "measured"]
    return pd.DataFrame(rows, columns=names, dtype=float)


def share_held(found: pd.DataFrame, low: str = "low", high: str = "high") -> float:
    """How many intervals hold the truth."""
    return float(((found[low] <= found.truth + 1e-12) & (found.truth <= found[high] + 1e-12)).mean())


def share_found(n: int, rate: float, limit: float, comparisons: int, runs: int) -> tuple[float, float]:
    """The difference that is printed (median of 20), and how often it is found beyond the limit."""
    rng = np.random.default_rng([106, n])
    said = [
        difference_found_beyond(
            compare_counts(int(rng.binomial(n, rate + limit)), n, int(rng.binomial(2000, rate)), 2000),
            limit, comparisons, harm_is_up=True,
        )
        for _ in range(20)
    ]  # fmt: skip
    harm = float(np.median([one for one in said if one is not None]))
    size, others = np.full(runs, n), np.full(runs, 2000)
    low, _ = newcombe_interval(
        rng.binomial(size, rate + harm), size, rng.binomial(others, rate), others, 1 - 0.05 / comparisons
    )
    return harm, float((low > limit).mean())


def false_alarms_of_best(groups: int, rate: float, runs: int) -> tuple[float, float, float]:
    """Any p-value at most .05 without a difference: uncorrected, against the best, and against a named group."""
    rng = np.random.default_rng([12, groups])
    alarms = np.zeros(3)
    applied = {f"g{i}": 200 for i in range(groups)}
    for _ in range(runs):
        selected = {name: int(rng.binomial(n, rate)) for name, n in applied.items()}
        best = max(selected, key=lambda name: selected[name])
        alone = [compare_counts(x, 200, selected[best], 200).p_value for name, x in selected.items() if name != best]
        chosen, named = (four_fifths(selected, applied, reference=one).groups for one in (None, "g0"))
        families = (alone, *([one.p_value for one in each] for each in (chosen, named)))
        alarms += [min(p for p in family if p is not None) <= 0.05 for family in families]
    alone_, best_, named_ = (alarms / runs).tolist()
    return alone_, best_, named_


def share_of_areas_held(shape: str, n: int, m: int, area: float, runs: int) -> float:
    """How many intervals hold the true area."""
    rng = np.random.default_rng([6, n, m, round(100 * area)])
    held = 0
    for _ in range(runs):
        a, b = AREAS[shape](rng, area, n, m)
        found = area_under_curve(a.astype(float), b.astype(float))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= area + 1e-12 <= found.high + 2e-12
    return held / runs


def studied(runs: int) -> dict[str, Any]:
    """All of it; simpler draws are made more often."""
    shares = dict.fromkeys(("held, alone", "held"), ".1%")
    too_much = dict.fromkeys(("too much, measured", "too much, to expect"), "+.1f")
    ways = ("alone", "against the best", "against a named one")
    return {
        "runs": runs,
        "intersections": table(
            {"planted": "", "rows": ",", "test rows": ".0%", "reported": ",", **shares, **too_much},
            list(_slices(runs)),
        ),
        "power": table(
            {"rows": ",", "rate": ".0%", "limit": ".0%", "comparisons": "", "printed": ".1%", "found": ".0%"},
            list(_power(100 * runs)),
        ),
        "best": table({"groups": "", "rate": ".0%"} | dict.fromkeys(ways, ".1%"), list(_best(5 * runs))),
        "areas": table(
            {"scores": "", "rows": ""} | {f"area {one:g}".replace("0.", "."): ".1%" for one in TRUE_AREAS},
            list(_areas(10 * runs)),
        ),
    }


def _slices(runs: int) -> Iterator[list[Any]]:
    for design, (_, n, test_size) in DESIGNS.items():
        found = reported_slices(design, runs)
        alone = share_held(found, "own_low", "own_high")
        too_much = [100 * (found[one] - found.truth).mean() for one in ("measured", "expected")]
        yield [design, n, test_size, len(found), alone, share_held(found), *too_much]


def _power(runs: int) -> Iterator[list[Any]]:
    for (n, rate, limit), comparisons in product([(60, 0.1, 0.05), (100, 0.3, 0.0), (400, 0.05, 0.05)], (1, 12)):
        yield [n, rate, limit, comparisons, *share_found(n, rate, limit, comparisons, runs)]


def _best(runs: int) -> Iterator[list[Any]]:
    for groups, rate in ((3, 0.3), (5, 0.3), (8, 0.1)):
        yield [groups, rate, *false_alarms_of_best(groups, rate, runs)]


def _areas(runs: int) -> Iterator[list[Any]]:
    for shape, (n, m) in product(AREAS, [(10, 10), (15, 150), (30, 30), (30, 300), (100, 100)]):
        yield [shape, f"{n} and {m}", *(share_of_areas_held(shape, n, m, area, runs) for area in TRUE_AREAS)]
