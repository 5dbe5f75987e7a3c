"""Looking every day: false alarms and delay of the always-valid test beside tests that are not made for it.

``python -m benchmarks over_time [--runs=1000]`` takes a minute or two; its page is docs/validity.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bdt_core.inference.sequential import compare_rates_over_time
from benchmarks.tables import record, table

DAYS, ALPHA, POWER = 90, 0.05, 0.8
EQUAL = ((0.05, 200), (0.10, 50), (0.10, 500), (0.30, 500))
"""Rate of both groups, and rows of each a day."""
LOOKS = (90, 120, 365)
GAPS = ((0.30, 0.10, 500), (0.30, 0.05, 500), (0.30, 0.05, 200), (0.10, 0.03, 500), (0.30, 0.05, 100))
"""Rate of one group, how much higher the other's is, and rows of each a day."""
BEFORE = 120
"""Days without a difference, before one begins."""


def run(runs: int | str = 1000) -> None:
    """Simulate, and write down what came of it."""
    record("over_time", studied(int(runs)))


def studied(runs: int) -> dict[str, Any]:
    """False alarms, over many days as well, and delays, of so many runs a row."""
    rng = np.random.default_rng(0)
    tests = dict.fromkeys(("always valid", "each day's test", "all rows, each day"), ".1%")
    alarms = [_false_alarms(rng, rate, rows, runs) for rate, rows in EQUAL]
    long = [_long_alarms(rng, looks, moving, runs) for looks in LOOKS for moving in (False, True)]
    delays = [_delays(rng, rate, gap, rows, runs) for rate, gap, rows in GAPS]
    always, *others = tests
    days = dict.fromkeys(("planned", always, f"from day {BEFORE}", *others), "")
    return {
        "runs": runs,
        "days": DAYS,
        "before": BEFORE,
        "alarms": table({"both rates; rows of each a day": ""} | tests, alarms),
        "long": table({"looks; days": ""} | tests, long),
        "delays": table({"rates; rows of each a day": ""} | days, delays),
    }


def _false_alarms(rng: np.random.Generator, rate: float, rows: int, runs: int) -> list[Any]:
    n = np.full(DAYS, rows)
    first = np.stack([_first_days(rng.binomial(n, rate), n, rng.binomial(n, rate), n) for _ in range(runs)])
    return [f"{rate:.0%}; {rows}", *(first <= DAYS).mean(axis=0)]


def _long_alarms(rng: np.random.Generator, looks: int, moving: bool, runs: int) -> list[Any]:
    day = np.arange(looks) / looks
    rate = 0.3 + 0.2 * day * moving
    m = np.full(looks, 300)
    n = np.round(50 + 450 * day).astype(np.int64) if moving else m
    first = np.stack([_first_days(rng.binomial(n, rate), n, rng.binomial(m, rate), m) for _ in range(runs)])
    name = f"{looks}; {'rates move, one group grows' if moving else 'all alike'}"
    return [name, *(first <= looks).mean(axis=0)]


def _delays(rng: np.random.Generator, rate: float, gap: float, rows: int, runs: int) -> list[Any]:
    n, before = np.full(DAYS, rows), np.full(BEFORE, rows)
    both = np.append(before, n)
    at_once, late = [], []
    for _ in range(runs):
        x, y = rng.binomial(n, rate + gap), rng.binomial(n, rate)
        at_once.append(_first_days(x, n, y, n))
        x, y = np.append(rng.binomial(before, rate), x), np.append(rng.binomial(before, rate), y)
        found = compare_rates_over_time(x, both, y, both, alpha=ALPHA).e_value[BEFORE:] >= 1 / ALPHA
        late.append(np.argmax(found) + 1 if found.any() else DAYS + 1)
    always, *others = np.stack(at_once).T
    found_days = [
        [_day(share) for share in np.quantile(one, [0.5, POWER], method="higher")] for one in (always, late, *others)
    ]
    name = f"{rate:.0%} and {rate + gap:.0%}; {rows}"
    return [name, _day(_planned(rate, gap, rows)), *(" / ".join(both) for both in found_days)]


def _first_days(*data: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first day on which each test says that the groups differ; one more than there are when none does."""
    says = (
        compare_rates_over_time(*data, alpha=ALPHA).e_value >= 1 / ALPHA,
        _z_p_values(*data) <= ALPHA,
        _z_p_values(*(np.cumsum(one) for one in data)) <= ALPHA,
    )
    return np.array([np.argmax(one) + 1 if one.any() else one.size + 1 for one in says])


def _z_p_values(
    x_a: NDArray[np.int64], n_a: NDArray[np.int64], x_b: NDArray[np.int64], n_b: NDArray[np.int64]
) -> NDArray[np.float64]:
    pooled = (x_a + x_b) / (n_a + n_b)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    z = np.divide(x_a / n_a - x_b / n_b, error, out=np.zeros(len(error)), where=error > 0)
    return np.asarray(2 * stats.norm.sf(np.abs(z)))


def _planned(rate: float, gap: float, rows: int) -> int:
    """Days that a two-sided z-test of a fixed size needs."""
    variance = rate * (1 - rate) + (rate + gap) * (1 - rate - gap)
    per_group = (stats.norm.isf(ALPHA / 2) + stats.norm.isf(1 - POWER)) ** 2 * variance / gap**2
    return int(np.ceil(per_group / rows))


def _day(day: float) -> str:
    return f"{day:.0f}" if day <= DAYS else f"> {DAYS}"
