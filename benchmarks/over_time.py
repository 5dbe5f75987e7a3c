"""Looking every day: false alarms and delay of the always-valid test beside tests that are not made for it.

``python -m benchmarks over_time [--runs=1000]`` writes docs/validity-over-time.md, in a minute or two.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bdt_core.inference.sequential import compare_rates_over_time
from benchmarks.measuring import markdown_table

PAGE = Path(__file__).parent.parent / "docs" / "validity-over-time.md"
DAYS, ALPHA, POWER = 90, 0.05, 0.8
EQUAL = ((0.05, 200), (0.10, 50), (0.10, 500), (0.30, 500))
"""Rate of both groups, and rows of each a day."""
LOOKS = (90, 120, 365)
GAPS = ((0.30, 0.10, 500), (0.30, 0.05, 500), (0.30, 0.05, 200), (0.10, 0.03, 500), (0.30, 0.05, 100))
"""Rate of one group, how much higher the other's is, and rows of each a day."""
BEFORE = 120
"""Days without a difference, before one begins."""

_TEXT = """\
# Validity over time, by simulation

Made by `python -m benchmarks over_time`: two groups are compared day after day, {runs} times a row, at 5 %. The tests
run the same study at a smaller size.

- *Always valid*: the test of `bias_history`, which looks at all days so far, each day.
- *Each day's test*: a z-test of the rows of that day alone, each day.
- *All rows, each day*: a z-test of all rows so far put together, each day, as somebody does who watches a dashboard.

What is guaranteed: **the probability that the always-valid test ever alarms while the groups do not differ is at most
5 %**, for ever, however often one looks, and whatever the rates of the days. (It is no average run length, which would
allow a false alarm now and then.) Groups are compared within each day, with the weights of Mantel and Haenszel. Bets
on a difference begin on every day, with weights that add up to 1: half at the first day, the rest spread thinner and
thinner over the days to come.

## False alarms

The groups do not differ. Share of the runs in which a test says on any of {days} days that they do; 5 % is allowed.

{alarms}

More looks, at a rate of 30 % and 300 rows a day, and days that are not alike: the rate of both groups rises from
30 % to 50 % while one of them grows from 50 to 500 rows a day. On each day they do not differ; all rows put together
do.

{long}

## Delay

One group's rate is higher by the gap. Days until the test says so, half of the runs and 80 % of the runs (more than
{days}: not within that time). *Planned*: days that a test needs which is made once, on a day that was fixed
beforehand by somebody who knew the gap, to find it in 80 % of the runs. *From day {before}*: the gap begins after
{before} days without one. The last two are soon because they are wrong as often as the tables above say.

{delays}

The always-valid test pays for the freedom to look every day, and to stop at any time, with the days that it takes
longer than the planned one, which may be looked at once. A difference that begins late is found after less than twice
the days of one that was there from the start; without bets that begin on every day it took three to five times as
many.
"""


def run(runs: int | str = 1000) -> None:
    """Simulate, and write the page."""
    rng = np.random.default_rng(0)
    alarms = [_false_alarms(rng, rate, rows, int(runs)) for rate, rows in EQUAL]
    long = [_long_alarms(rng, looks, moving, int(runs)) for looks in LOOKS for moving in (False, True)]
    delays = [_delays(rng, rate, gap, rows, int(runs)) for rate, gap, rows in GAPS]
    tests = ["always valid", "each day's test", "all rows, each day"]
    text = _TEXT.format(
        days=DAYS,
        runs=f"{int(runs):,}",
        before=BEFORE,
        alarms=markdown_table(["both rates; rows of each a day", *tests], alarms),
        long=markdown_table(["looks; days", *tests], long),
        delays=markdown_table(
            ["rates; rows of each a day", "planned", tests[0], f"from day {BEFORE}", *tests[1:]], delays
        ),
    )
    PAGE.write_text(text, encoding="utf-8")
    print(text)


def _false_alarms(rng: np.random.Generator, rate: float, rows: int, runs: int) -> list[str]:
    n = np.full(DAYS, rows)
    first = np.stack([_first_days(rng.binomial(n, rate), n, rng.binomial(n, rate), n) for _ in range(runs)])
    return [f"{rate:.0%}; {rows}", *(f"{share:.1%}" for share in (first <= DAYS).mean(axis=0))]


def _long_alarms(rng: np.random.Generator, looks: int, moving: bool, runs: int) -> list[str]:
    day = np.arange(looks) / looks
    rate = 0.3 + 0.2 * day * moving
    m = np.full(looks, 300)
    n = np.round(50 + 450 * day).astype(np.int64) if moving else m
    first = np.stack([_first_days(rng.binomial(n, rate), n, rng.binomial(m, rate), m) for _ in range(runs)])
    name = f"{looks}; {'rates move, one group grows' if moving else 'all alike'}"
    return [name, *(f"{share:.1%}" for share in (first <= looks).mean(axis=0))]


def _delays(rng: np.random.Generator, rate: float, gap: float, rows: int, runs: int) -> list[str]:
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
