"""An attacker with integer programming: what everything that is printed, taken together, leaves possible of a count.

The unknowns are how many people of each sex and race, and of each town where findings are attacked, have which label
and prediction. The attacker knows which levels there are, how the form for publication is made, which levels "a small
group" stands for, and all numbers of the report, of two editions where there are two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from bdt_core.fairness.confusion import Confusion
from bdt_core.metrics import RATES
from bdt_core.report.noise import DEVIATION
from bdt_core.report.publication import BASE, SMALL
from tests.privacy.tables import RACES, SEXES, TOWNS

MINIMUM = 30
REACH = BASE / 2 + 5 * DEVIATION
"""So far at most a count that is told lies from the exact one: half a ten, and noise of five standard deviations."""
KINDS = ((1, 1), (0, 1), (1, 0), (0, 0))
"""Label and prediction of true and false positives, false and true negatives."""
_EACH = Confusion(*np.eye(4))
_OF = {name: (metric.events(_EACH) > 0, metric.among(_EACH) > 0) for name, metric in RATES.items()}
"""Which of these four are the events of a rate, and among which it is."""

Cells = NDArray[np.bool_]


@dataclass(frozen=True)
class People:
    """Who is told apart.

    Attributes
    ----------
    levels : tuple of tuple of str
        By column.
    of : tuple of str
        The columns.
    """

    of: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @cached_property
    def cells(self) -> list[tuple[Any, ...]]:
        """Their values, label and prediction."""
        return list(itertools.product(*self.levels, (0, 1), (0, 1)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a cell."""
        return (*self.of, "repaid", "granted")

    def where(self, holds: Callable[[Mapping[str, Any]], bool]) -> NDArray[np.int64]:
        """Which cells are those of some people."""
        told = (dict(zip(self.columns, one, strict=True)) for one in self.cells)
        return np.flatnonzero([holds(one) for one in told])


DECLARED = People(("sex", "race"), (SEXES, RACES))
WITH_TOWNS = People(("sex", "race", "town"), (SEXES, RACES, TOWNS))


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


def truth(frame: pd.DataFrame, people: People) -> NDArray[np.int64]:
    """The counts that the attacker is after, in the order of the cells."""
    counts = frame.groupby(list(people.columns)).size()
    return np.array([counts.get(cell, 0) for cell in people.cells])


def learn(
    system: System, report: Mapping[str, Any], people: People, owners: Mapping[str, Any] | None = None
) -> NDArray[np.int64]:
    """Everything that a report says of the counts; returns where they stand in the system.

    Of the owner's report it is only looked up what "a small group" stands for.
    """
    cells = system.unknowns(len(people.cells))
    published = report.get("publication") is not None
    errors = _total(system, cells, report, people, published=published)
    parts: list[_Part] = []
    known: dict[tuple[str, ...], dict[tuple[Any, ...], _Part]] = {}
    for facet in sorted(report["groups"]["facets"], key=lambda one: -len(one["columns"])):
        named = {tuple(one["values"]): one for one in facet["groups"]}
        finer, parts = parts, []
        for values in itertools.product(*({"sex": SEXES, "race": RACES}[one] for one in facet["columns"])):
            group = named.get(values)
            members = _members(cells, dict(zip(facet["columns"], values, strict=True)), people)
            if not published:
                _owners(system, members, group)
            elif group is None:
                # Fewer than the minimum, or told to be fewer: two tens at most, and what each count may be off besides.
                system.say(dict.fromkeys(members.ravel(), 1.0), 0.0, MINIMUM - BASE + 4 * REACH)
            else:
                within = [one for one in finer if set(one.members.ravel()) <= set(members.ravel())]
                parts.append(_published(system, members, group, within))
                known.setdefault(tuple(facet["columns"]), {})[values] = parts[-1]
        if len(facet["columns"]) == 1:
            parts = finer  # of which the other column's groups are made, too
        if not published:
            _overall(system, cells, facet, people)
    _rules(system, cells, report, known, people, published=published)
    if published:
        for one in (report["findings"] or {"findings": ()})["findings"]:
            _finding(system, cells, one, report, owners or report, people, errors)
    return cells


@dataclass(frozen=True)
class _Part:
    """A group that is published: its cells, the tens they are rounded to by kind, those of its parts, and its rows."""

    members: NDArray[np.int64]
    tens: NDArray[np.int64]
    rows: int
    all_tens: NDArray[np.int64]


def _members(cells: NDArray[np.int64], values: Mapping[str, str], people: People) -> NDArray[np.int64]:
    """Where a group's cells stand, by kind."""
    found = [
        cells[i]
        for kind in KINDS
        for i, cell in enumerate(people.cells)
        if cell[-2:] == kind and all(cell[people.columns.index(column)] == value for column, value in values.items())
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
    """Of a group of the form for publication each of four counts has noise and was rounded; sums are of these.

    Its counts are those of its parts that are published, and those of the rest, if they are enough people.
    """
    told = sum(one.rows for one in within)
    rest = np.array([[i for i in some if not any(i in one.members for one in within)] for some in members])
    tens = system.unknowns(4)
    if rest.size and (group["rows"] > told or not within):
        system.say(dict.fromkeys(rest.ravel(), 1.0), MINIMUM, np.inf)
        for ten, some in zip(tens, rest, strict=True):
            system.say({**dict.fromkeys(some, 1.0), ten: -10.0}, -REACH, REACH)
    else:  # fewer than the minimum, or told to be nobody
        system.say(dict.fromkeys(rest.ravel(), 1.0), 0.0, 4 * REACH)
        system.say(dict.fromkeys(tens, 1.0), 0.0, 0.0)
    all_tens = np.array([tens, *(one.tens for one in within)])  # part, kind
    system.say(dict.fromkeys(all_tens.ravel(), 10.0), group["rows"], group["rows"])
    for name, rate in group["rates"].items():
        events, among = _OF[name]
        system.say(dict.fromkeys(all_tens[:, among].ravel(), 10.0), rate["n"], rate["n"])
        if rate["events"] is not None:
            system.say(dict.fromkeys(all_tens[:, events].ravel(), 10.0), rate["events"], rate["events"])
    return _Part(members, tens, group["rows"], all_tens)


def _rules(
    system: System,
    cells: NDArray[np.int64],
    report: Mapping[str, Any],
    known: Mapping[tuple[str, ...], Mapping[tuple[Any, ...], _Part]],
    people: People,
    *,
    published: bool,
) -> None:
    """Tables of Local Law 144 and of the four-fifths rule: people and selected, exact or rounded as groups are."""
    found = report.get("selection_rules") or {"ll144": (), "four_fifths": ()}
    told = [
        *((one["columns"], each["category"], each["n"], each["selected"]) for one in found["ll144"]
          for each in one["categories"]),
        *((one["columns"], each["group"].split(" & "), each["applicants"], each["selected"])
          for one in found["four_fifths"] for each in one["rule"]["groups"]),
    ]  # fmt: skip
    for columns, values, n, selected in told:
        if published:
            part = known[tuple(columns)][tuple(values)]
            system.say(dict.fromkeys(part.all_tens.ravel(), 10.0), n, n)
            system.say(dict.fromkeys(part.all_tens[:, :2].ravel(), 10.0), selected, selected)
        else:
            members = _members(cells, dict(zip(columns, values, strict=True)), people)
            _exactly(system, members, n)
            _exactly(system, members[:2], selected)


def _finding(
    system: System,
    cells: NDArray[np.int64],
    one: Mapping[str, Any],
    report: Mapping[str, Any],
    owners: Mapping[str, Any],
    people: People,
    errors: NDArray[np.int64],
) -> None:
    """Of people whom conditions name, how many they are and how many of them and of all others got a wrong result.

    Those of declared groups are made of the groups' tens, which say it already. Of a finding on the test rows alone
    only the number of people is used.
    """
    conditions = _spelt_out(one, owners)
    if conditions is None or not conditions or {each["column"] for each in conditions} <= set(DECLARED.of):
        return
    if not all(each["kind"] == "values" and each["column"] in people.of for each in conditions):
        return
    inside = cells[
        people.where(
            lambda cell: all((cell[each["column"]] in each["values"]) != each["excluded"] for each in conditions)
        )
    ]
    rows, total = one["rows"], report["data"]["rows_audited"]
    system.say(dict.fromkeys(inside, 1.0), rows - REACH, rows + REACH)
    if one["found_by"] in ("clusters", "slices"):
        return
    told = [(np.intersect1d(inside, errors), one["mean_inside"], rows, rows)]
    if not one["groups_before"]:  # else others are people alike in the groups found before
        told.append(
            (np.setdiff1d(errors, inside), one["mean_outside"], total - rows - 4 * REACH, total - rows + 4 * REACH)
        )
    for members, mean, least, most in told:
        [tens] = system.unknowns(1)
        system.say({int(tens): 10.0}, (mean - 0.00501) * least, (mean + 0.00501) * most)
        system.say({**dict.fromkeys(members, 1.0), int(tens): -10.0}, -REACH, REACH)


def _spelt_out(one: Mapping[str, Any], owners: Mapping[str, Any]) -> list[Any] | None:
    """The conditions of a finding, with the levels that "a small group" stands for; None if there are several such."""
    if not any(SMALL in each["values"] for each in one["conditions"]):
        return list(one["conditions"])
    columns = [(each["column"], each["kind"], each["excluded"]) for each in one["conditions"]]
    alike = [
        other["conditions"]
        for other in owners["findings"]["findings"]
        if other["found_by"] == one["found_by"]
        and [(each["column"], each["kind"], each["excluded"]) for each in other["conditions"]] == columns
        and abs(other["rows"] - one["rows"]) <= REACH
        and all(
            set(told["values"]) - {SMALL} <= set(each["values"])
            for told, each in zip(one["conditions"], other["conditions"], strict=True)
        )
    ]
    return alike[0] if len(alike) == 1 else None


def _total(
    system: System, cells: NDArray[np.int64], report: Mapping[str, Any], people: People, *, published: bool
) -> NDArray[np.int64]:
    """How many there are, and how many got a wrong result; returns where these stand."""
    data, means, split = report["data"], report["bias_variable"], report["split"]
    errors = cells[people.where(lambda cell: cell["repaid"] != cell["granted"])]
    for rows in (data["rows"], data["rows_audited"]):
        system.say(dict.fromkeys(cells, 1.0), rows - REACH * published, rows + REACH * published)
    wrong = [means[f"{part}_mean"] * split[f"{part}_rows"] for part in ("train", "test")]
    within = sum(REACH + 0.0051 * split[f"{part}_rows"] for part in ("train", "test")) if published else 1e-4
    system.say(dict.fromkeys(errors, 1.0), sum(wrong) - within, sum(wrong) + within)
    return errors


def _overall(system: System, cells: NDArray[np.int64], facet: Mapping[str, Any], people: People) -> None:
    """Rates of everybody: exact, so that what is hidden is the rest."""
    for name, rate in facet["overall"].items():
        events, among = (dict(zip(KINDS, one, strict=True)) for one in _OF[name])
        row = {
            i: float(events[cell[-2:]]) - rate * float(among[cell[-2:]])
            for i, cell in zip(cells, people.cells, strict=True)
        }
        system.say(row, -1e-4, 1e-4)


def _exactly(system: System, members: NDArray[np.int64], n: float) -> None:
    system.say(dict.fromkeys(members.ravel(), 1.0), n, n)


def small_counts(counts: NDArray[np.int64], people: People) -> Iterator[tuple[str, list[int]]]:
    """Counts of people, labels, predictions, and of both, under the minimum and not nought: where they stand."""
    groupings = [some for many in (1, 2) for some in itertools.combinations(people.of, many)]
    for columns in groupings:
        for asked in ((), ("repaid",), ("granted",), ("repaid", "granted")):
            of = (*columns, *asked)
            seen: dict[tuple[Any, ...], list[int]] = {}
            for i, cell in enumerate(people.cells):
                seen.setdefault(tuple(cell[people.columns.index(one)] for one in of), []).append(i)
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


@dataclass(frozen=True)
class Edition:
    """A table, what is printed of it, and what its owner has."""

    frame: pd.DataFrame
    printed: Mapping[str, Any]
    owners: Mapping[str, Any]


def attack(
    editions: Sequence[Edition], most: int, seed: int = 0, people: People = DECLARED
) -> list[Attacked]:  # fmt: skip
    """Attack so many small counts of a report; of two editions counts of each, and of who came in between.

    The second edition's table is the first one's with more people.
    """
    system = System()
    learnt = [
        (truth(one.frame, people), learn(system, one.printed, people, one.owners)) for one in editions
    ]  # fmt: skip
    for (_, first), (_, second) in itertools.pairwise(learnt):
        for i, j in zip(first, second, strict=True):
            system.say({j: 1.0, i: -1.0}, 0.0, np.inf)
    _check_truth(system, learnt)
    found: list[tuple[str, int, dict[int, float]]] = []
    for edition, (counts, cells) in enumerate(learnt):
        found += [
            (f"{name} in edition {edition}", int(counts[places].sum()), dict.fromkeys(cells[places], 1.0))
            for name, places in small_counts(counts, people)
        ]
    for (counts, cells), (later, others) in itertools.pairwise(learnt):
        found += [
            (
                f"{name} who came",
                int((later - counts)[places].sum()),
                dict.fromkeys(others[places], 1.0) | dict.fromkeys(cells[places], -1.0),
            )
            for name, places in small_counts(later - counts, people)
        ]
    chosen = np.random.default_rng(seed).permutation(len(found))[:most]
    return [Attacked(*found[i][:2], *system.range_of(found[i][2])) for i in chosen]


def _check_truth(system: System, learnt: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> None:
    """Whatever is said of the counts alone has to hold for the true ones."""
    values = {int(i): float(x) for counts, cells in learnt for i, x in zip(cells, counts, strict=True)}
    for row, low, high in system.rows:
        if all(int(i) in values for i in row):
            assert low - 1e-6 <= sum(values[int(i)] * x for i, x in row.items()) <= high + 1e-6, (row, low, high)
