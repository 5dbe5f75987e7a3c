"""An attacker with integer programming: what everything that is printed, taken together, leaves possible of a count.

The unknowns are how many people of each sex and race have which label and prediction. The attacker knows which levels
there are, how the form for publication is made, and all numbers of the report, of two editions where there are two.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from bdt_core.fairness.confusion import Confusion
from bdt_core.metrics import RATES
from tests.privacy.tables import RACES, SEXES

MINIMUM = 30
CELLS = [(sex, race, *kind) for sex in SEXES for race in RACES for kind in itertools.product((0, 1), repeat=2)]
"""Sex, race, label and prediction."""
KINDS = ((1, 1), (0, 1), (1, 0), (0, 0))
"""Label and prediction of true and false positives, false and true negatives."""
COLUMNS = ("sex", "race", "repaid", "granted")
_EACH = Confusion(*np.eye(4))
_OF = {name: (metric.events(_EACH) > 0, metric.among(_EACH) > 0) for name, metric in RATES.items()}
"""Which of these four are the events of a rate, and among which it is."""

Cells = NDArray[np.bool_]


@dataclass
class System:
    """Integer unknowns, not below nought, and rows of ``low <= coefficients @ unknowns <= high``."""

    size: int = 0
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)

    def unknowns(self, several: int) -> NDArray[np.int64]:
        """So many new ones."""
        self.size += several
        return np.arange(self.size - several, self.size)

    def say(self, row: Mapping[int, float], low: float, high: float) -> None:
        """Add a row."""
        self.rows.append((dict(row), low, high))

    def range_of(self, row: Mapping[int, float]) -> tuple[float, float]:
        """Smallest and largest value of a sum of unknowns."""
        coefficients = [x for one, _, _ in self.rows for x in one.values()]
        columns = [i for one, _, _ in self.rows for i in one]
        lines = [line for line, (one, _, _) in enumerate(self.rows) for _ in one]
        matrix = csr_array((coefficients, (lines, columns)), shape=(len(self.rows), self.size))
        limits = LinearConstraint(matrix, [one[1] for one in self.rows], [one[2] for one in self.rows])
        cost = np.zeros(self.size)
        for i, x in row.items():
            cost[i] += x
        ends = []
        for sign in (1.0, -1.0):
            found = milp(
                sign * cost, integrality=np.ones(self.size), bounds=Bounds(0.0, np.inf), constraints=limits,
                options={"mip_rel_gap": 0.0},
            )  # fmt: skip
            assert found.success, found.message
            ends.append(round(sign * found.fun))
        return ends[0], ends[1]


def truth(frame: pd.DataFrame) -> NDArray[np.int64]:
    """The counts that the attacker is after, in the order of `CELLS`."""
    counts = frame.groupby(list(COLUMNS)).size()
    return np.array([counts.get(cell, 0) for cell in CELLS])


def learn(system: System, report: Mapping[str, Any]) -> NDArray[np.int64]:
    """Everything that a report says of the counts; returns where they stand in the system."""
    cells = system.unknowns(len(CELLS))
    published = report.get("publication") is not None
    _total(system, cells, report, published=published)
    parts: list[_Part] = []
    for facet in sorted(report["groups"]["facets"], key=lambda one: -len(one["columns"])):
        named = {tuple(one["values"]): one for one in facet["groups"]}
        finer, parts = parts, []
        for values in itertools.product(*({"sex": SEXES, "race": RACES}[one] for one in facet["columns"])):
            group = named.get(values)
            members = _members(cells, dict(zip(facet["columns"], values, strict=True)))
            if not published:
                _owners(system, members, group)
            elif group is None:
                # Fewer than the minimum, or rounded to fewer: two tens at most, and four in each cell besides.
                system.say(dict.fromkeys(members.ravel(), 1.0), 0.0, max(MINIMUM - 1, 20 + 4 * 4))
            else:
                within = [one for one in finer if set(one.members.ravel()) <= set(members.ravel())]
                parts.append(_published(system, members, group, within))
        if len(facet["columns"]) == 1:
            parts = finer  # of which the other column's groups are made, too
        if not published:
            _overall(system, cells, facet)
    return cells


@dataclass(frozen=True)
class _Part:
    """A group of the finest grouping that is published: its cells, the tens they are rounded to, and its rows."""

    members: NDArray[np.int64]
    tens: NDArray[np.int64]
    rows: int


def _members(cells: NDArray[np.int64], values: Mapping[str, str]) -> NDArray[np.int64]:
    """Where a group's cells stand, by kind."""
    found = [
        cells[i]
        for kind in KINDS
        for i, cell in enumerate(CELLS)
        if cell[2:] == kind and all(cell[COLUMNS.index(column)] == value for column, value in values.items())
    ]
    return np.array(found).reshape(4, -1)


def _owners(system: System, members: NDArray[np.int64], group: Mapping[str, Any] | None) -> None:
    """Of a group of the owner's report all numbers are exact; one that is not there has no people."""
    _exactly(system, members, 0 if group is None else group["rows"])
    for name, rate in ((group or {}).get("rates") or {}).items():
        if name in _OF:
            events, among = _OF[name]
            _exactly(system, members[among], rate["n"])
            if rate["events"] is not None:
                _exactly(system, members[events], rate["events"])


def _published(
    system: System, members: NDArray[np.int64], group: Mapping[str, Any], within: Sequence[_Part]
) -> _Part:  # fmt: skip
    """Of a group of the form for publication each of four counts was rounded; sums are of these.

    Its counts are those of its parts that are published, and those of the rest, if they are enough people.
    """
    told = sum(one.rows for one in within)
    rest = np.array([[i for i in some if not any(i in one.members for one in within)] for some in members])
    tens = system.unknowns(4)
    if rest.size and (group["rows"] > told or not within):
        system.say(dict.fromkeys(rest.ravel(), 1.0), MINIMUM, np.inf)
        for ten, some in zip(tens, rest, strict=True):
            system.say({**dict.fromkeys(some, 1.0), ten: -10.0}, -5.0, 4.0)
    else:  # fewer than the minimum, or rounded away
        system.say(dict.fromkeys(rest.ravel(), 1.0), 0.0, MINIMUM - 1)
        system.say(dict.fromkeys(tens, 1.0), 0.0, 0.0)
    all_tens = np.array([tens, *(one.tens for one in within)])  # part, kind
    system.say(dict.fromkeys(all_tens.ravel(), 10.0), group["rows"], group["rows"])
    for name, rate in group["rates"].items():
        events, among = _OF[name]
        system.say(dict.fromkeys(all_tens[:, among].ravel(), 10.0), rate["n"], rate["n"])
        if rate["events"] is not None:
            system.say(dict.fromkeys(all_tens[:, events].ravel(), 10.0), rate["events"], rate["events"])
    return _Part(members, tens, group["rows"])


def _total(system: System, cells: NDArray[np.int64], report: Mapping[str, Any], *, published: bool) -> None:
    data, means, split = report["data"], report["bias_variable"], report["split"]
    errors = [i for i, cell in zip(cells, CELLS, strict=True) if cell[2] != cell[3]]
    for rows in (data["rows"], data["rows_audited"]):
        system.say(dict.fromkeys(cells, 1.0), rows - 5 * published, rows + 4 * published)
    wrong = [means[f"{part}_mean"] * split[f"{part}_rows"] for part in ("train", "test")]
    within = sum(5 + 0.0051 * split[f"{part}_rows"] for part in ("train", "test")) if published else 1e-4
    system.say(dict.fromkeys(errors, 1.0), sum(wrong) - within, sum(wrong) + within)


def _overall(system: System, cells: NDArray[np.int64], facet: Mapping[str, Any]) -> None:
    """Rates of everybody: exact, so that what is hidden is the rest."""
    for name, rate in facet["overall"].items():
        events, among = (dict(zip(KINDS, one, strict=True)) for one in _OF[name])
        row = {i: float(events[cell[2:]]) - rate * float(among[cell[2:]]) for i, cell in zip(cells, CELLS, strict=True)}
        system.say(row, -1e-4, 1e-4)


def _exactly(system: System, members: NDArray[np.int64], n: float) -> None:
    system.say(dict.fromkeys(members.ravel(), 1.0), n, n)


def small_counts(counts: NDArray[np.int64]) -> Iterator[tuple[str, list[int]]]:
    """Counts of people, labels, predictions, and of both, under the minimum and not nought: where they stand."""
    for columns in (("sex",), ("race",), ("sex", "race")):
        for asked in ((), ("repaid",), ("granted",), ("repaid", "granted")):
            of = (*columns, *asked)
            seen: dict[tuple[Any, ...], list[int]] = {}
            for i, cell in enumerate(CELLS):
                seen.setdefault(tuple(cell[COLUMNS.index(one)] for one in of), []).append(i)
            for values, places in seen.items():
                if 0 < counts[places].sum() < MINIMUM:
                    yield " ".join(f"{one}={value}" for one, value in zip(of, values, strict=True)), places


@dataclass(frozen=True)
class Attacked:
    """What the attacker knows of one count."""

    count: str
    true: int
    low: float
    high: float

    @property
    def width(self) -> float:
        """How many more than one are possible."""
        return self.high - self.low


def attack(
    editions: Sequence[tuple[pd.DataFrame, Mapping[str, Any]]], most: int, seed: int = 0
) -> list[Attacked]:  # fmt: skip
    """Attack so many small counts of a report; of two editions counts of each, and of who came in between.

    The second edition's table is the first one's with more people.
    """
    system = System()
    learnt = [(truth(frame), learn(system, report)) for frame, report in editions]
    for (_, first), (_, second) in itertools.pairwise(learnt):
        for i, j in zip(first, second, strict=True):
            system.say({j: 1.0, i: -1.0}, 0.0, np.inf)
    _check_truth(system, learnt)
    found: list[tuple[str, int, dict[int, float]]] = []
    for edition, (counts, cells) in enumerate(learnt):
        found += [
            (f"{name} in edition {edition}", int(counts[places].sum()), dict.fromkeys(cells[places], 1.0))
            for name, places in small_counts(counts)
        ]
    for (counts, cells), (later, others) in itertools.pairwise(learnt):
        found += [
            (
                f"{name} who came",
                int((later - counts)[places].sum()),
                dict.fromkeys(others[places], 1.0) | dict.fromkeys(cells[places], -1.0),
            )
            for name, places in small_counts(later - counts)
        ]
    chosen = np.random.default_rng(seed).permutation(len(found))[:most]
    return [Attacked(*found[i][:2], *system.range_of(found[i][2])) for i in chosen]


def _check_truth(system: System, learnt: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> None:
    """Whatever is said of the counts alone has to hold for the true ones."""
    values = {int(i): float(x) for counts, cells in learnt for i, x in zip(cells, counts, strict=True)}
    for row, low, high in system.rows:
        if all(int(i) in values for i in row):
            assert low - 1e-6 <= sum(values[int(i)] * x for i, x in row.items()) <= high + 1e-6, (row, low, high)
