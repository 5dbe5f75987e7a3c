"""Amounts: is nobody named whose mean is the same, whatever the shape, and are those found whose mean differs?

``python -m benchmarks amounts`` takes an hour; ``--example=FOLDER`` makes the worked example alone, from
credit-card-clients.csv.gz.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator

from bdt_core import audit, words
from bdt_core.groups.scan import find_worst_groups
from bdt_core.metrics import Better
from benchmarks.planted import Bools, Floats, jaccard, people
from benchmarks.tables import record, table

SIZES = (1_000, 5_000)
RUNS, RUNS_OF_OTHER = 50, 20
"""Tables of each design and size, in which no mean differs, and in which one does."""
LIMIT = 20_000
"""New Taiwan dollars that limits of credit may differ among people alike."""
Draw = Callable[[Generator, int], Floats]


def normal(mean: float, spread: float) -> Draw:
    """Normal amounts."""
    return lambda rng, n: rng.normal(mean, spread, n)


def exponential(rng: Generator, n: int) -> Floats:
    """Skewed amounts with a mean of 1."""
    return rng.exponential(size=n)


def lognormal(spread: float) -> Draw:
    """Amounts with a heavy tail and a mean of 1."""
    return lambda rng, n: rng.lognormal(-(spread**2) / 2.0, spread, n)


def zeros(rng: Generator, n: int) -> Floats:
    """Half of them 0, with a mean of 1."""
    return (rng.random(n) < 0.5) * rng.exponential(2.0, n)


@dataclass(frozen=True)
class Shapes:
    """How amounts are drawn in a group, and for everybody else.

    Attributes
    ----------
    inside, outside : callable
    better : {"lower", "higher"}
    more, times : float
        What the amounts inside are changed by.
    """

    inside: Draw
    outside: Draw
    better: Better = "lower"
    more: float = 0.0
    times: float = 1.0


EQUAL = {
    "normal, spread 3 among 1": Shapes(normal(0, 3), normal(0, 1)),
    "normal, spread 1 among 3": Shapes(normal(0, 1), normal(0, 3)),
    "exponential among normal": Shapes(exponential, normal(1, 1)),
    "exponential among normal, more is better": Shapes(exponential, normal(1, 1), "higher"),
    "lognormal, sigma 1 among .5": Shapes(lognormal(1.0), lognormal(0.5)),
    "lognormal, sigma 1 among .5, more is better": Shapes(lognormal(1.0), lognormal(0.5), "higher"),
    "half zeros among exponential": Shapes(zeros, exponential),
    "half zeros among exponential, more is better": Shapes(zeros, exponential, "higher"),
}
"""Means are the same; the group has about 4, 11 or 30 % of the people, by turns."""
OTHER = {
    "normal, +.6": Shapes(normal(0, 1), normal(0, 1), more=0.6),
    "normal, spread 3 among 1, +1.5": Shapes(normal(0, 3), normal(0, 1), more=1.5),
    "exponential among normal, +.6": Shapes(exponential, normal(1, 1), more=0.6),
    "lognormal, sigma 1, doubled": Shapes(lognormal(1.0), lognormal(1.0), times=2.0),
    "lognormal, sigma 1, halved, more is better": Shapes(lognormal(1.0), lognormal(1.0), "higher", times=0.5),
    "half zeros, +.6": Shapes(zeros, zeros, more=0.6),
}
"""The mean is another; the group has 11 % of the people."""


def members(frame: pd.DataFrame, kind: int) -> Bools:
    """About 11, 30 or 4 % of the people."""
    groups = (frame.c1 == "b") & (frame.age < 40), frame.c1 == "b", (frame.c1 == "c") & (frame.age < 30)
    return np.asarray(groups[kind], dtype=bool)


def trial(name: str, rows: int, run: int) -> dict[str, Any]:
    """One table: whether anybody is named, and how like the group the first is."""
    shapes = (EQUAL | OTHER)[name]
    rng = np.random.default_rng([27, list(EQUAL | OTHER).index(name), rows, run])
    frame = people(rng, rows)
    group = members(frame, run % 3 if name in EQUAL else 0)
    inside, outside = shapes.inside(rng, rows) * shapes.times + shapes.more, shapes.outside(rng, rows)
    found = find_worst_groups(
        frame.assign(y=np.where(group, inside, outside)), outcome="y", better=shapes.better, max_groups=1
    )
    like = jaccard(found.worst.members(frame), group) if found.worst else 0.0
    spread = found.spread is not None and jaccard(found.spread.members(frame), group) >= 0.5
    return {"name": name, "rows": rows, "alarm": bool(found.groups), "like": like, "spread": spread}


def run(runs: str = "", only: str = "", example: str = "") -> None:
    """Search all tables, and write down what came of it."""
    if example:
        record("credit_limits", credit_limits(pd.read_csv(f"{example}/credit-card-clients.csv.gz")))
        return
    trials = [
        trial(name, rows, number)
        for name in (EQUAL | OTHER)
        if only in name
        for rows in SIZES
        for number in range(int(runs) if runs else RUNS if name in EQUAL else RUNS_OF_OTHER)
    ]
    record("amounts", studied(pd.DataFrame(trials)), keep=not only and not runs)


def studied(trials: pd.DataFrame) -> dict[str, Any]:
    """What came of all trials."""
    trials = trials.assign(found=trials.like >= 0.5)
    equal, other = (trials[trials.name.isin(list(names))] for names in (EQUAL, OTHER))
    return {
        "equal": _grid(equal, {"alarm": "named", "spread": "spread named"}),
        "other": _grid(other, {"alarm": "anybody named", "found": "found"}),
        "tables": len(equal),
        **{f"alarms_{rows}": float(of_size.alarm.mean()) for rows, of_size in equal.groupby("rows")},
    }


def _grid(trials: pd.DataFrame, figures: dict[str, str]) -> dict[str, Any]:
    columns = {f"{title}, {rows:,} rows": (rows, name) for name, title in figures.items() for rows in SIZES}
    lines = []
    for name, of_name in trials.groupby("name", sort=False):
        shares = (of_name.loc[of_name["rows"] == rows, what] for rows, what in columns.values())
        lines.append([name, *(f"{int(one.sum())} of {one.size}" for one in shares)])
    return table(dict.fromkeys(("amounts", *columns), ""), lines)


def credit_limits(clients: pd.DataFrame) -> dict[str, Any]:
    """Whose limit is lower than that of clients who paid as late in the last month."""
    schooling, family = {1: "graduate school", 2: "university", 3: "high school"}, {1: "married", 2: "single"}
    frame = pd.DataFrame(
        {
            "limit": clients["LIMIT_BAL"],
            "sex": clients["SEX"].map({1: "man", 2: "woman"}),
            "schooling": clients["EDUCATION"].map(schooling).fillna("other"),
            "family": clients["MARRIAGE"].map(family).fillna("other"),
            "age": clients["AGE"],
            "late": clients["PAY_0"],
        }
    )
    limit = {"check": "worst_group", "max_difference": LIMIT}
    result = audit(
        frame, outcome="limit", better="higher", protected=["sex"], legitimate=["late"], gate=[limit],
        clustering=None, slices=None,
    )  # fmt: skip
    lines = [
        [one.who, one.rows, one.mean_inside, one.mean_outside, one.remaining.remaining, one.remaining.remaining_low]
        for one in result.findings
        if one.remaining is not None
    ]
    assert result.declared is not None
    assert result.worst_groups is not None
    women = next(one for one in result.declared.facet("sex").groups if one.group == "woman")
    assert women.mean is not None
    assert women.mean_others is not None
    structure = result.worst_groups.structure
    assert structure is not None
    return {
        "clients": len(frame),
        "groups": table(
            {
                "who": "", "clients": ",", "limit": ",.0f", "elsewhere": ",.0f", "less than people alike": ",.0f",
                "at least": ",.0f",
            },
            lines,
        ),
        "women": round(women.mean, -3),
        "men": round(women.mean_others, -3),
        "beyond": round(structure.at_least, -3),
        "beyond_p": words.p_value(structure.p_value),
        "gate": [f"{one['verdict']}: {one['sentence']}" for one in result.document["gate"]],
    }  # fmt: skip
