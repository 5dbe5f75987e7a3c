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
GAPS = ((0.30, 0.10, 500), (0.30, 0.05, 500), (0.10, 0.03, 500), (0.30, 0.05, 100))
"""Rate of one group, how much higher the other's is, and rows of each a day."""

_TEXT = """\
# Validity over time, by simulation

Made by `python -m benchmarks over_time`: two groups are compared on each of {days} days, {runs} times a row, at 5
%. The tests run the same study at a smaller size.

- *Always valid*: the test of `bias_history`, which looks at all rows so far, each day.
- *Each day's test*: a z-test of the rows of that day alone, each day.
- *All rows, each day*: a z-test of all rows so far, each day, as somebody does who watches a dashboard.

## False alarms

The groups do not differ. Share of the runs in which a test says on any day that they do; 5 % is allowed.

{alarms}

## Delay

One group's rate is higher by the gap. Days until the test says so, half of the runs and 80 % of the runs (more than
{days}: not within that time). *Planned*: days that a test needs which is made once, on a day that was fixed
beforehand by somebody who knew the gap, to find it in 80 % of the runs. The other two are soon because they are
wrong as often as the table above says.

{delays}

The always-valid test pays for the freedom to look every day, and to stop at any time, with the days that it takes
longer than the planned one, which may be looked at once.
"""


def run(runs: int | str = 1000) -> None:
    """Simulate, and write the page."""
    rng = np.random.default_rng(0)
    alarms = [_false_alarms(rng, rate, rows, int(runs)) for rate, rows in EQUAL]
    delays = [_delays(rng, rate, gap, rows, int(runs)) for rate, gap, rows in GAPS]
    tests = ["always valid", "each day's test", "all rows, each day"]
    text = _TEXT.format(
        days=DAYS,
        runs=f"{int(runs):,}",
        alarms=markdown_table(["both rates; rows of each a day", *tests], alarms),
        delays=markdown_table(["rates; rows of each a day", "planned", *tests], delays),
    )
    PAGE.write_text(text, encoding="utf-8")
    print(text)


def _false_alarms(rng: np.random.Generator, rate: float, rows: int, runs: int) -> list[str]:
    first = np.stack([_first_days(rng, rate, rate, rows) for _ in range(runs)])
    return [f"{rate:.0%}; {rows}", *(f"{share:.1%}" for share in (first <= DAYS).mean(axis=0))]


def _delays(rng: np.random.Generator, rate: float, gap: float, rows: int, runs: int) -> list[str]:
    first = np.stack([_first_days(rng, rate + gap, rate, rows) for _ in range(runs)])
    found = [[_day(share) for share in np.quantile(one, [0.5, POWER], method="higher")] for one in first.T]
    name = f"{rate:.0%} and {rate + gap:.0%}; {rows}"
    return [name, _day(_planned(rate, gap, rows)), *(" / ".join(both) for both in found)]


def _first_days(rng: np.random.Generator, rate_a: float, rate_b: float, rows: int) -> NDArray[np.int64]:
    """The first day on which each test says that the groups differ; `DAYS` + 1 when none does."""
    n = np.full(DAYS, rows)
    data = [rng.binomial(n, rate_a), n, rng.binomial(n, rate_b), n]
    says = (
        compare_rates_over_time(*data, alpha=ALPHA).e_value >= 1 / ALPHA,
        _z_p_values(*data) <= ALPHA,
        _z_p_values(*(np.cumsum(one) for one in data)) <= ALPHA,
    )
    return np.array([np.argmax(one) + 1 if one.any() else DAYS + 1 for one in says])


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
