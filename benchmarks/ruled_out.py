"""Is what the search for the worst group rules out true, for whom, and how far above the truth does it lie?

``python -m benchmarks ruled_out`` takes about an hour and a half; ``--runs=20`` does with fewer tables, ``--only=NAME``
with the designs whose names begin so. With ``--beside`` certificates are held against the bounds of all groups, in
tables in which all can be looked at, and harmless tables against the default limit: ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from bdt_core import audit
from bdt_core.groups.scan import Certificate, find_worst_groups
from benchmarks.planted import among
from benchmarks.searched import events
from benchmarks.tables import record, table

Pool = ProcessPoolExecutor
Floats = NDArray[Any]
Mask = NDArray[np.bool_]
RUNS = 300
_RUNS_BESIDE = 50
HARMLESS = 60_000, 5_000
"""Rows of tables in which nobody fares worse; those of the second are the first rows of the first."""


@dataclass(frozen=True)
class Drawn:
    """A table, the mean outcome of each row, and the people who fare worst."""

    frame: pd.DataFrame
    outcome: Floats
    means: Floats
    worst: Mask


@dataclass(frozen=True)
class Design:
    """Tables of one kind.

    Attributes
    ----------
    draw : callable
        A table of so many rows.
    rows : int
    min_share : float
        Of the groups for whom something is ruled out.
    told : dict
        Further arguments of the search.
    within : bool
        Whether conditions describe the people who fare worst, so that the certificate speaks of them.
    """

    draw: Callable[[Generator, int], Drawn]
    rows: int = 1_000
    min_share: float = 0.05
    told: dict[str, Any] = field(default_factory=dict)
    within: bool = True


def people(rng: Generator, n: int) -> pd.DataFrame:
    """Four numbers and four categories."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "u": rng.random(n),
            "v": rng.random(n),
            "income": rng.lognormal(size=n),
            "sex": rng.choice(["f", "m"], n),
            "contract": rng.choice(["fixed", "open"], n),
            "race": rng.choice(list("pqrst"), n, p=[0.5, 0.2, 0.15, 0.1, 0.05]),
            "region": rng.choice(list("abcdefgh"), n),
        }
    )


def young(frame: pd.DataFrame) -> Mask:
    """Two conditions, 9 %."""
    return ((frame["age"] < 30) & (frame["sex"] == "f")).to_numpy()


def box(frame: pd.DataFrame, width: float) -> Mask:
    """Two intervals of this width, of which no end is a cut."""
    low, high = 0.423, 0.423 + width
    return (frame["u"].between(low, high) & frame["v"].between(low, high)).to_numpy()


def four(frame: pd.DataFrame) -> Mask:
    """Four conditions, 6 %."""
    sayable = frame["sex"].eq("f") & frame["region"].isin(list("cdfg")) & frame["contract"].eq("open")
    return (sayable & frame["age"].lt(48)).to_numpy()


def either(frame: pd.DataFrame) -> Mask:
    """An exclusive-or, 50 %."""
    return (frame["u"].gt(0.5) ^ frame["v"].gt(0.5)).to_numpy()


def small(frame: pd.DataFrame) -> Mask:
    """Two conditions, 2 %."""
    return (frame["race"].isin(["s", "t"]) & frame["region"].eq("c")).to_numpy()


def few(frame: pd.DataFrame) -> Mask:
    """One value and an interval, 4 %."""
    return (frame["race"].eq("t") & frame["u"].lt(0.8)).to_numpy()


def rate(group: Callable[[pd.DataFrame], Mask], gap: float, base: float = 0.15) -> Callable[[Generator, int], Drawn]:
    """Two values, in the group more often the worse."""

    def draw(rng: Generator, n: int) -> Drawn:
        frame = people(rng, n)
        worst = group(frame)
        chances = base + gap * worst
        return Drawn(frame, events(rng, chances), chances, worst)

    return draw


def amounts(kind: str, factor: float, group: Callable[[pd.DataFrame], Mask] = few) -> Callable[[Generator, int], Drawn]:
    """Amounts, in the group so many times as large, or so many times as often any."""

    def draw(rng: Generator, n: int) -> Drawn:
        frame = people(rng, n)
        worst = group(frame)
        times = np.where(worst, factor, 1.0)
        if kind == "zero-inflated":
            return Drawn(frame, rng.gamma(1.0, size=n) * (rng.random(n) < 0.1 * times), 0.1 * times, worst)
        if kind == "normal":
            return Drawn(frame, rng.normal(size=n) + times - 1.0, times - 1.0, worst)
        if kind == "pareto":
            return Drawn(frame, (1.0 + rng.pareto(2.5, n)) * times, times * 2.5 / 1.5, worst)
        sigma = float(kind.removeprefix("lognormal "))
        return Drawn(frame, rng.lognormal(0.0, sigma, n) * times, times * np.exp(sigma * sigma / 2.0), worst)

    return draw


def persons(size: int, alike: float, gap: float = 0.2) -> Callable[[Generator, int], Drawn]:
    """Persons of so many rows, whose outcomes are alike: all the same (1), or as of other persons (0)."""

    def draw(rng: Generator, n: int) -> Drawn:
        some = n // size
        frame = people(rng, some)
        worst, who = young(frame), np.repeat(np.arange(some), size)
        chances = 0.2 + gap * worst
        own = np.where(rng.random(some) < alike, (rng.random(some) < chances).astype(float), chances)
        rows = frame.iloc[who].reset_index(drop=True).assign(person=who)
        return Drawn(rows, events(rng, own[who]), chances[who], worst[who])

    return draw


def unlike_visits(rng: Generator, n: int) -> Drawn:
    """Persons of one to fifty rows; a group that has some rows of each."""
    size = rng.geometric(0.1, n // 10).clip(1, 50)
    who = np.repeat(np.arange(size.size), size)
    frame = (
        people(rng, size.size).iloc[who].reset_index(drop=True).assign(person=who, hour=rng.integers(0, 24, who.size))
    )
    worst = frame["hour"].lt(5).to_numpy()
    own = rng.beta(0.4, 1.6, size.size)[who]
    return Drawn(frame, events(rng, np.where(worst, 0.8 * own + 0.2, own)), np.where(worst, 0.36, 0.2), worst)


def by_age(rng: Generator, n: int) -> Drawn:
    """A rate that rises with age, which is a factor; and a group beside it."""
    frame = people(rng, n)
    worst = (frame["sex"].eq("f") & frame["u"].lt(0.2)).to_numpy()
    chances = frame["age"].to_numpy() / 200 + 0.15 * worst
    return Drawn(frame, events(rng, chances), 0.15 * worst, worst)


def two_groups(rng: Generator, n: int) -> Drawn:
    """A small group that fares much worse, beside half of all, who fare a little worse."""
    frame = people(rng, n)
    worst = small(frame)
    chances = np.where(worst, 0.6, 0.15 + 0.15 * frame["sex"].eq("m"))
    return Drawn(frame, events(rng, chances), chances, worst)


def wide(rng: Generator, n: int) -> Drawn:
    """Sixty further columns."""
    drawn = rate(young, 0.2)(rng, n)
    return Drawn(among(rng, drawn.frame, 60), drawn.outcome, drawn.means, drawn.worst)


KEY = {"key": "person"}
DESIGNS: dict[str, Design] = {
    "rate .002, nobody": Design(rate(young, 0.0, 0.002), 5_000),
    "rate .02, nobody": Design(rate(young, 0.0, 0.02)),
    "rate .5, nobody": Design(rate(young, 0.0, 0.5)),
    "rate .98, nobody": Design(rate(young, 0.0, 0.98)),
    "rate .01, +9": Design(rate(young, 0.09, 0.01)),
    "rate .15, +25": Design(rate(young, 0.25)),
    "rate .7, +28": Design(rate(young, 0.28, 0.7)),
    "half of all, +30": Design(rate(lambda frame: frame["sex"].eq("f").to_numpy(), 0.3), min_share=0.4),
    "box 11 x 11 between cuts, +20": Design(rate(lambda frame: box(frame, 0.11), 0.2), 100_000, 0.01),
    "box 21 x 21 between cuts, +50": Design(rate(lambda frame: box(frame, 0.21), 0.5), 10_000, 0.04),
    "a small group beside a large one": Design(two_groups, 10_000, 0.015),
    "four conditions, +15": Design(rate(four, 0.15), 20_000),
    "four conditions, +40": Design(rate(four, 0.4), 5_000),
    "lognormal, sigma 1, x 3": Design(amounts("lognormal 1", 3.0), min_share=0.03),
    "lognormal, sigma 2, x 3": Design(amounts("lognormal 2", 3.0), min_share=0.03),
    "lognormal, sigma 2, x 10": Design(amounts("lognormal 2", 10.0), min_share=0.03),
    "lognormal, sigma 2, half of all x 3": Design(
        amounts("lognormal 2", 3.0, lambda frame: frame["sex"].eq("f").to_numpy()), min_share=0.4
    ),
    "Pareto 2.5, x 3": Design(amounts("pareto", 3.0), min_share=0.03),
    "zero-inflated, x 5": Design(amounts("zero-inflated", 5.0), min_share=0.03),
    "normal, +1 sd": Design(amounts("normal", 2.0), min_share=0.03),
    "persons of 2 rows, all alike": Design(persons(2, 1.0), 1_000, told=KEY),
    "persons of 10 rows, all alike": Design(persons(10, 1.0), 4_000, told=KEY),
    "persons of 10 rows, alike": Design(persons(10, 0.5), 4_000, told=KEY),
    "persons of 50 rows, all alike": Design(persons(50, 1.0), 20_000, told=KEY),
    "persons of 1 to 50 rows, part of each": Design(unlike_visits, 4_000, 0.15, told=KEY),
    "a factor": Design(by_age, 2_000, told={"legitimate": ["age"]}),
    "68 columns": Design(wide, 1_000),
    "exclusive-or, +30": Design(rate(either, 0.3), 5_000, 0.4, within=False),
}


@dataclass(frozen=True)
class Enumerated:
    """The certificate of one table, and the highest upper bound of all groups that there are."""

    ruled_out: float
    highest: float


def few_values(rng: Generator, n: int) -> pd.DataFrame:
    """Twelve ages and three categories: 24,569 groups, all of which can be looked at."""
    return pd.DataFrame(
        {
            "age": rng.integers(20, 32, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(list("abc"), n),
            "race": rng.choice(list("pqrs"), n, p=[0.5, 0.25, 0.15, 0.1]),
        }
    )


def enumerated(rows: int, min_share: float, base: float, gap: float, seed: int) -> Enumerated:
    """A table of few values, whose certificate is held against the bounds of all groups."""
    rng = np.random.default_rng([28, seed])
    frame = few_values(rng, rows)
    worse = frame["age"].between(22, 26) & frame["sex"].eq("f") & frame["race"].isin(["p", "s"])
    y = events(rng, base + gap * worse.to_numpy())
    found = find_worst_groups(
        frame.assign(y=y), outcome="y", better="lower", permutations=19, max_groups=1, min_share=min_share
    )
    assert found.certificate is not None
    return Enumerated(found.certificate.largest_difference, highest_bound(frame, y, min_share))


def highest_bound(frame: pd.DataFrame, y: Floats, min_share: float) -> float:
    """The highest of Newcombe's upper bounds, from Wilson's intervals, of all groups of a table of few values."""
    coded = [np.unique(frame[name], return_inverse=True) for name in frame]
    cells = np.ravel_multi_index([code for _, code in coded], [len(values) for values, _ in coded])
    shape = [len(values) for values, _ in coded]
    sums = [np.bincount(cells, weights=of, minlength=int(np.prod(shape))).reshape(shape) for of in (np.ones_like(y), y)]
    for axis, (values, _) in enumerate(coded):
        sets = intervals_of(len(values)) if axis == 0 else sets_of(len(values))
        sums = [np.moveaxis(np.tensordot(sets, one, (1, axis)), 0, axis) for one in sums]
    n, harm = (one.ravel() for one in sums)
    rows, total = float(y.size), float(y.sum())
    enough = (n >= max(30, np.ceil(min_share * rows))) & (rows - n >= np.ceil(0.1 * rows))
    n, harm = n[enough], harm[enough]
    rate, other = harm / n, (total - harm) / (rows - n)
    z = stats.norm.ppf(0.95)
    above, below = wilson(rate, n, z) - rate, other - wilson(other, rows - n, -z)
    return float((rate - other + np.hypot(above, below)).max())


def intervals_of(values: int) -> Floats:
    """Each interval of some values in their order, as 0 and 1."""
    places = np.arange(values)
    return np.array([(places >= a) & (places <= b) for a in places for b in places[a:]], dtype=float)


def sets_of(values: int) -> Floats:
    """Each set of some values but the empty one, as 0 and 1."""
    return np.array([[code >> place & 1 for place in range(values)] for code in range(1, 1 << values)], dtype=float)


def wilson(rate: Floats, n: Floats, z: float) -> Floats:
    """An end of Wilson's interval."""
    centre, reach = rate + z * z / (2 * n), z * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return np.asarray((centre + reach) / (1 + z * z / n))


ENUMERATED: dict[str, tuple[int, float, float, float]] = {
    "1,000 rows, 5 %, nobody": (1_000, 0.05, 0.15, 0.0),
    "1,000 rows, 10 %, +20": (1_000, 0.1, 0.15, 0.2),
    "5,000 rows, 1 %, nobody": (5_000, 0.01, 0.15, 0.0),
    "5,000 rows, 5 %, +10": (5_000, 0.05, 0.15, 0.1),
    "5,000 rows, 5 %, rate .02": (5_000, 0.05, 0.02, 0.0),
    "20,000 rows, 2 %, +10": (20_000, 0.02, 0.15, 0.1),
}
"""Rows, smallest share, rate, and how much higher it is among 13 of 100 people."""


def enumerations(pool: Pool, runs: int) -> Iterator[list[Any]]:
    """How far the certificate lies from the highest bound of all groups."""
    for name, (rows, min_share, base, gap) in ENUMERATED.items():
        several = list(pool.map(partial(enumerated, rows, min_share, base, gap), range(runs)))
        ratios = np.array([one.ruled_out / one.highest for one in several])
        highest = float(np.median([one.highest for one in several]))
        yield [name, runs, highest, float(ratios.min()), float(np.median(ratios)), float(ratios.max())]


@dataclass(frozen=True)
class Held:
    """One certificate, the true difference of those who fare worst, and the bound of who knows the group."""

    ruled_out: float
    true: float
    known: float


def certified(drawn: Drawn, design: Design) -> Certificate:
    """What is ruled out in one table."""
    told = {"permutations": 19, "max_groups": 1, "min_share": design.min_share} | design.told
    found = find_worst_groups(drawn.frame.assign(y=drawn.outcome), outcome="y", better="lower", **told)
    assert found.certificate is not None
    return found.certificate


def held(name: str, seed: int) -> Held:
    """The certificate of one table beside the truth."""
    design = DESIGNS[name]
    drawn = design.draw(np.random.default_rng([27, seed]), design.rows)
    y, inside = drawn.outcome, drawn.worst
    error = np.sqrt(sum(y[side].var(ddof=1) / side.sum() for side in (inside, ~inside)))
    true = round(float(drawn.means[inside].mean() - drawn.means[~inside].mean()), 9)  # none is 0 exactly
    known = float(y[inside].mean() - y[~inside].mean() + stats.norm.ppf(0.95) * error)
    return Held(certified(drawn, design).largest_difference, true, known)


def run(runs: str | None = None, only: str = "", beside: bool = False) -> None:
    """Measure every design, print it, and keep it where all of them were measured."""
    with Pool(2) as pool:
        if beside:
            record("ruled_out_beside", besides(pool, int(runs or _RUNS_BESIDE)), keep=runs is None)
            return
        lines = []
        for line in _lines(pool, int(runs or RUNS), only):
            lines.append(line)
            print(*(f"{one:.3f}" if isinstance(one, float) else one for one in line), sep=" | ", flush=True)
    if not only:
        columns = {"planted": "", "tables": "", "held": ".1%", "true": ".3g", "ruled out": ".3g", "known": ".3g"}
        record("ruled_out", {"certificates": table(columns, lines), **_together(lines)})


def besides(pool: Pool, runs: int) -> dict[str, Any]:
    """Certificates beside the bounds of all groups, and how many harmless tables pass."""
    columns = {
        "tables of few values": "", "tables": "", "highest": ".3g", "least": ".2f", "median": ".2f", "most": ".2f"
    }  # fmt: skip
    kept, few_kept = (sum(pool.map(partial(passes, rows), range(runs))) for rows in HARMLESS)
    return {
        "enumerated": table(columns, list(enumerations(pool, runs))),
        "harmless": runs,
        "pass": kept,
        "few_pass": few_kept,
    }


def passes(rows: int, seed: int) -> bool:
    """Whether a table in which nobody fares worse passes the limit that an audit has where nobody named one.

    Other searches are left out: what they found could break the limit, and none could make it pass.
    """
    rng = np.random.default_rng([29, seed])
    frame = people(rng, HARMLESS[0]).assign(y=events(rng, np.full(HARMLESS[0], 0.15)))[:rows]
    told: dict[str, Any] = {"better": "lower", "protected": ["sex"], "clustering": None, "slices": None}
    return audit(frame, outcome="y", **told).verdict == "pass"


def _together(lines: list[list[Any]]) -> dict[str, Any]:
    """Of the designs that the certificate speaks of."""
    within = [line for line in lines if DESIGNS[line[0]].within]
    tables, shares = [line[1] for line in within], [line[2] for line in within]
    return {
        "designs": len(within),
        "tables": sum(tables),
        "all_held": float(np.average(shares, weights=tables)),
        "least_held": min(shares),
    }


def _lines(pool: Pool, runs: int, only: str) -> Iterator[list[Any]]:
    for name in DESIGNS:
        if name.startswith(only):
            several = list(pool.map(partial(held, name), range(runs)))
            true = float(np.mean([one.true for one in several]))
            kept = float(np.mean([one.ruled_out >= one.true for one in several]))
            medians = (float(np.median([getattr(one, of) for one in several])) for of in ("ruled_out", "known"))
            yield [name, runs, kept, true, *medians]
