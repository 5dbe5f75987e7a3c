"""Is what the search for the worst group says true: alarms, intervals, what is ruled out, what remains?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit

from bdt_core.groups.scan import WorstGroups, find_worst_groups
from bdt_core.groups.scan.stages import PERMUTED_ROWS
from bdt_core.inference.alike import Factors
from benchmarks.tables import result_of, table

Floats = NDArray[Any]
Mask = NDArray[np.bool_]
Draw = Callable[[Generator, pd.DataFrame], tuple[Floats, Floats]]
"""An outcome per row, and its mean."""


def people(rng: Generator, n: int) -> pd.DataFrame:
    """Numbers, of which one is missing for some, and categories."""
    number = rng.normal(size=n)
    number[rng.random(n) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.lognormal(size=n),
            "score": number,
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(list("abcdefgh"), n),
        }
    )


def events(rng: Generator, chances: Floats) -> Floats:
    """1 with these chances, else 0."""
    return (rng.random(chances.size) < chances).astype(np.float64)


def young(frame: pd.DataFrame) -> Mask:
    """Two conditions, an interval and a value."""
    return ((frame["age"] < 40) & (frame["sex"] == "f")).to_numpy()


def regions(frame: pd.DataFrame) -> Mask:
    """A set of values and an interval."""
    return (frame["region"].isin(["b", "e"]) & (frame["age"] > 50)).to_numpy()


def unknown(frame: pd.DataFrame) -> Mask:
    """Those of whom something is missing."""
    return frame["score"].isna().to_numpy()


def rich(frame: pd.DataFrame) -> Mask:
    """Three conditions."""
    return ((frame["income"] > 1) & (frame["sex"] == "f") & (frame["region"].isin(["a", "b", "c"]))).to_numpy()


def middle(frame: pd.DataFrame) -> Mask:
    """An interval with two ends."""
    return frame["age"].between(32, 44).to_numpy()


def rate(group: Callable[[pd.DataFrame], Mask], gap: float, base: float = 0.15) -> Draw:
    """Two values, in the group more often the worse."""

    def draw(rng: Generator, frame: pd.DataFrame) -> tuple[Floats, Floats]:
        chances = base + gap * group(frame)
        return events(rng, chances), chances

    return draw


def normal(group: Callable[[pd.DataFrame], Mask], shift: float) -> Draw:
    """A normal outcome, in the group shifted."""

    def draw(rng: Generator, frame: pd.DataFrame) -> tuple[Floats, Floats]:
        means = shift * group(frame)
        return rng.normal(size=len(frame)) + means, means

    return draw


def heavy(group: Callable[[pd.DataFrame], Mask], factor: float) -> Draw:
    """A lognormal outcome, in the group so many times as large."""

    def draw(rng: Generator, frame: pd.DataFrame) -> tuple[Floats, Floats]:
        scale = np.where(group(frame), factor, 1.0)
        return rng.lognormal(size=len(frame)) * scale, scale * np.exp(0.5)

    return draw


def smooth(rng: Generator, frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """A rate that falls with age and has no edge, and a group beside it."""
    chances = 0.1 + 0.15 / (1 + np.exp(frame["age"].to_numpy() / 10 - 4)) + 0.1 * rich(frame)
    return events(rng, chances), chances


def two(rng: Generator, frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Two groups, which overlap."""
    chances = 0.15 + 0.2 * young(frame) + 0.15 * regions(frame)
    return events(rng, chances), chances


DESIGNS: dict[str, Draw] = {
    "weak": rate(young, 0.12),
    "strong": rate(young, 0.25),
    "values": rate(regions, 0.2),
    "missing": rate(unknown, 0.18),
    "three conditions": rate(rich, 0.25),
    "normal": normal(young, 0.4),
    "weak normal": normal(rich, 0.4),
    "heavy-tailed": heavy(young, 1.7),
    "smooth": smooth,
    "rare": rate(young, 0.08, base=0.03),
    "two ends": rate(middle, 0.12),
    "two groups": two,
}
FEW_HELD = 0.93
GROUPS = {"strong": young, "values": regions, "missing": unknown, "normal": young, "heavy-tailed": young}
"""The worst group of those designs that have one."""


def scan(frame: pd.DataFrame, y: Floats, **how: Any) -> WorstGroups:
    """Search for one group, with few permutations."""
    asked: dict[str, Any] = {"permutations": 39, "max_groups": 1} | how
    return find_worst_groups(frame.assign(y=y), outcome="y", better="lower", **asked)


@dataclass(frozen=True)
class Null:
    """A table in which nobody is worse off than people alike, and how it is searched."""

    frame: pd.DataFrame
    outcome: Floats
    how: dict[str, Any]


NULLS = {
    "rate .3": "mixed columns",
    "rate .05": "mixed columns",
    "heavy tails": "mixed columns",
    "zero-inflated": "mixed columns",
    "rate .3, 50 levels": "mixed columns, and one of fifty values",
    "rate by age": "mixed columns, age is legitimate",
    "persons of ten rows": "mixed columns, a key",
    "persons of one to twelve rows": "mixed columns, a key",
}


def null_table(kind: str, rng: Generator, n: int = 300) -> Null:
    """One of `NULLS`."""
    if kind.startswith("persons"):
        size = rng.integers(1, 13, n // 2) if "twelve" in kind else np.full(n // 3, 10)
        person = np.repeat(np.arange(size.size), size)
        frame = people(rng, size.size).iloc[person].reset_index(drop=True).assign(person=person)
        return Null(frame, events(rng, rng.beta(0.3, 0.7, size.size)[person]), {"key": "person"})
    frame = people(rng, n)
    if kind == "rate by age":
        return Null(frame, events(rng, frame["age"].to_numpy() / 100), {"legitimate": ["age"]})
    if kind == "rate .3, 50 levels":
        frame["city"] = rng.integers(0, 50, n).astype(str)
    if kind == "heavy tails":
        y = rng.standard_t(1.5, n)
    elif kind == "zero-inflated":
        y = rng.gamma(1, size=n) * (rng.random(n) < 0.2)
    else:
        y = events(rng, np.full(n, 0.05 if kind == "rate .05" else 0.3))
    return Null(frame, y, {})


def alarms(kind: str, runs: int, permutations: int = 39, rows: int = 300) -> int:
    """How many searches of such tables confirm a group."""
    confirmed = 0
    for run in range(runs):
        table = null_table(kind, np.random.default_rng([1, run]), rows)
        confirmed += scan(table.frame, table.outcome, permutations=permutations, **table.how).worst is not None
    return confirmed


@dataclass(frozen=True)
class Named:
    """Intervals of the groups that were named in some tables, and how many of them miss."""

    named: int
    missed: int
    missed_by_plain: int
    reach: float


def intervals(design: str, runs: int, n: int = 1500, permutations: int = 39) -> Named:
    """How often the interval of the group that is named holds its true difference."""
    missed = missed_by_plain = 0
    reaches: list[float] = []
    for run in range(runs):
        rng = np.random.default_rng([4, run])
        frame = people(rng, n)
        y, means = DESIGNS[design](rng, frame)
        worst = scan(frame, y, permutations=permutations).worst
        if worst is None or worst.low is None or worst.high is None:
            continue
        inside = worst.members(frame)
        true = means[inside].mean() - means[~inside].mean()
        error = np.sqrt(sum(y[side].var(ddof=1) / side.sum() for side in (inside, ~inside)))
        missed += not worst.low <= true <= worst.high
        missed_by_plain += bool(abs(worst.difference - true) > 1.96 * error)
        reaches.append(worst.reach or 0.0)
    return Named(len(reaches), missed, missed_by_plain, float(np.mean(reaches)) if reaches else 0.0)


def _classes(x: Floats, several: int) -> Floats:
    """Equally large classes of a normal number."""
    return np.asarray(np.floor(stats.norm.cdf(x) * several))


@dataclass(frozen=True)
class Alike:
    """Who is in a group, by the factors; the outcome of those outside; and how much more those inside have.

    Attributes
    ----------
    chance, outcome : callable
        Of the factors, shape (n, k).
    more : callable or float
    factors : callable
        What is told of two normal numbers: the factors.
    categorical : tuple of bool
    """

    chance: Callable[[Floats], Floats]
    outcome: Callable[[Floats], Floats]
    more: Callable[[Floats], Floats] | float
    factors: Callable[[Floats], Floats] = lambda x: x
    categorical: tuple[bool, ...] = (False, False)

    def drawn(self, rng: Generator, n: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Factors; the chance to be in the group; the mean outcome outside, and inside."""
        factors = self.factors(rng.normal(size=(n, 2)))
        outcome = self.outcome(factors)
        more = self.more(factors) if callable(self.more) else self.more
        return factors, self.chance(factors), outcome, np.clip(outcome + more, 0, 1)


ALIKE = {
    "linear": Alike(lambda x: expit(-1 + x[:, 0]), lambda x: expit(-1.5 + x[:, 0]), 0.1),
    "steps": Alike(
        lambda x: np.where(x[:, 0] > 0.5, 0.5, 0.15), lambda x: np.where(x[:, 0] > 0.5, 0.5, 0.1), 0.1
    ),
    "both together": Alike(
        lambda x: np.where(x[:, 0] * x[:, 1] > 0, 0.5, 0.2),
        lambda x: np.where(x[:, 0] * x[:, 1] > 0, 0.45, 0.15),
        0.08,
    ),
    "nothing remains": Alike(
        lambda x: expit(-1 + 1.5 * x[:, 0]), lambda x: expit(-1 + 1.5 * x[:, 0]), 0.0
    ),
    "few": Alike(lambda x: expit(-3.5 + x[:, 0]), lambda x: expit(-2 + x[:, 0]), 0.1),
    "not the same for all": Alike(
        lambda x: expit(-1 + x[:, 0]), lambda x: expit(-2 + 0.8 * x[:, 1]), lambda x: 0.15 * (x[:, 0] > 0)
    ),
    "waves": Alike(
        lambda x: expit(-1 + np.sin(3 * x[:, 0])), lambda x: 0.3 + 0.2 * np.sin(3 * x[:, 0]), 0.1
    ),
    "less inside": Alike(lambda x: expit(x[:, 1]), lambda x: expit(-0.5 - x[:, 1]), -0.08),
    "one factor": Alike(
        lambda x: expit(-1 + x[:, 0]), lambda x: expit(-2 + x[:, 0]), 0.1, lambda x: x[:, :1], (False,)
    ),
    "coarse, three classes": Alike(
        lambda x: 0.1 + 0.2 * x[:, 0], lambda x: 0.1 + 0.15 * x[:, 0], 0.1, lambda x: _classes(x[:, :1], 3),
        (False,),
    ),
    "coarse, five classes of both": Alike(
        lambda x: expit(-2 + 0.5 * x[:, 0]), lambda x: expit(-2 + 0.3 * x.sum(axis=1)), 0.08,
        lambda x: _classes(x, 5),
    ),
    "a category of six": Alike(
        lambda x: np.array([0.1, 0.5, 0.2, 0.6, 0.3, 0.4])[x[:, 0].astype(int)],
        lambda x: np.array([0.4, 0.1, 0.3, 0.2, 0.6, 0.5])[x[:, 0].astype(int)],
        0.1, lambda x: _classes(x[:, :1], 6), (True,),
    ),
}  # fmt: skip


@cache
def difference_alike(design: str) -> float:
    """The mean difference among people alike, by overlap weights, of very many people."""
    _, chance, outside, inside = ALIKE[design].drawn(np.random.default_rng(0), 400_000)
    weights = chance * (1.0 - chance)
    return float((weights * (inside - outside)).sum() / weights.sum())


def missed_alike(design: str, runs: int, n: int, first: int = 0) -> tuple[int, int]:
    """How many intervals of what remains do not hold it: ours, and those of one who knows what factors let expect."""
    missed, true, reach = np.zeros(2, dtype=int), difference_alike(design), stats.norm.ppf(0.975)
    for run in range(first, first + runs):
        rng = np.random.default_rng([19, run])
        factors, chance, mean_outside, mean_inside = ALIKE[design].drawn(rng, n)
        inside = rng.random(n) < chance
        y = events(rng, np.where(inside, mean_inside, mean_outside))
        found = Factors(factors, ALIKE[design].categorical, y, seed=run).compare(inside)
        left: Floats = inside - chance
        unexplained = y - mean_outside - chance * (mean_inside - mean_outside)
        known = (left @ unexplained) / (left @ left)
        error = np.sqrt(np.square(left * (unexplained - known * left)).sum()) / (left @ left)
        missed += [not found.remaining_low <= true <= found.remaining_high, abs(known - true) > reach * error]
    ours, oracle = missed.tolist()
    return ours, oracle


def studied(runs: int) -> dict[str, Any]:
    """All of it; intervals of a third of the tables."""
    held = {"held": ".1%"}
    nothing, named = list(_alarms(runs)), list(_named(runs // 3))
    return {
        "runs": runs,
        "bound": int(stats.binom.ppf(0.999, runs, 0.05)),
        "alarms": table({"outcome": "", "table": "", "rows": ",", "confirmed": ".1%"}, nothing),
        "named": table({"planted": "", "named": "", **held, "held, plain": ".1%", "reach": ".1f"}, named),
        "alike": table(
            {"outcome and factors": "", "true difference": "+.3f", **held, "held, by one who knows": ".1%"},
            list(_remaining(runs)),
        ),
        **together(nothing, named),
    }


def of_many_rows(runs: int) -> dict[str, Any]:
    """Tables without harm of which only a sample of the rows is permuted."""
    rows, lines = 50_000, []
    for kind in (one for one, words in NULLS.items() if "key" not in words):
        lines.append([kind, NULLS[kind], rows, alarms(kind, runs, rows=rows) / runs])
        print(f"many rows: {kind}", flush=True)
    return {
        "runs": runs,
        "permuted": PERMUTED_ROWS,
        "bound": int(stats.binom.ppf(0.999, runs, 0.05)),
        "alarms": table({"outcome": "", "table": "", "rows": ",", "confirmed": ".1%"}, lines),
        "all": float(np.mean([line[-1] for line in lines])),
    }


def again(runs: int) -> dict[str, Any]:
    """The designs in which fewest intervals held what remains, on tables that the study has not seen."""
    before = result_of("searched")
    columns = list(before["alike"]["columns"])
    held = columns.index("held")
    lines = []
    for design, true, *_ in (row for row in before["alike"]["rows"] if row[held] < FEW_HELD):
        lines.append([design, true, *(1 - one / runs for one in missed_alike(design, runs, 2000, before["runs"]))])
        print(f"what remains, again: {design}", flush=True)
    return {"runs": runs, "alike": table(before["alike"]["columns"], lines), "few": FEW_HELD}


def together(nothing: list[list[Any]], named: list[list[Any]]) -> dict[str, Any]:
    """Of all tables of each kind."""
    confirmed = [line[-1] for line in nothing]
    groups = [int(line[1].split()[0]) for line in named]
    return {
        "least_alarms": min(confirmed),
        "most_alarms": max(confirmed),
        "all_alarms": float(np.mean(confirmed)),
        "all_held": float(np.average([line[2] for line in named], weights=groups)),
        "all_held_plain": float(np.average([line[3] for line in named], weights=groups)),
    }


def _alarms(runs: int) -> Iterator[list[Any]]:
    for kind, words in NULLS.items():
        rows = len(null_table(kind, np.random.default_rng(0)).frame)
        yield [kind, words, rows, alarms(kind, runs) / runs]
        print(f"search without harm: {kind}", flush=True)


def _named(runs: int) -> Iterator[list[Any]]:
    for design in DESIGNS:
        found = intervals(design, runs)
        held = (1 - one / max(found.named, 1) for one in (found.missed, found.missed_by_plain))
        yield [design, f"{found.named} of {runs}", *held, found.reach]
        print(f"interval of a named group: {design}", flush=True)


def _remaining(runs: int) -> Iterator[list[Any]]:
    for design in ALIKE:
        yield [design, difference_alike(design), *(1 - one / runs for one in missed_alike(design, runs, 2000))]
        print(f"what remains: {design}", flush=True)
