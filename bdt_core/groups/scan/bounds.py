"""The highest upper bound that any group has which conditions describe.

The search's cuts are twenty of each number; a group whose ends lie between them is in it only in part. So the values
around the ends of the groups with the highest bounds become cuts, and the bound is climbed to again, until it rises no
more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness import coding
from bdt_core.groups.cells import OrderedColumn, known_numbers
from bdt_core.groups.scan.climbing import Climb, Memory, ScoredGroup
from bdt_core.groups.scan.columns import cut_at
from bdt_core.groups.scan.language import Language
from bdt_core.groups.scan.rows import Floats, ScanRows, Scored
from bdt_core.table.pool import mapped, width_for

_NEAR = 32
"""Of so many values around an end each becomes a cut; of more, as many of them, and then those around the best."""
_ROUNDS = 20
STARTED_ON = 20_000
"""Of a larger table so many rows say where climbs on all of them start: most of the random starts lead nowhere."""
_STARTS = 3
_LEAST_GAIN = 1e-9

Cells = NDArray[np.bool_]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Highest:
    """The group with the highest bound, and the rows and the language among whose groups it is.

    Attributes
    ----------
    climb : Climb
    group : ScoredGroup
    """

    climb: Climb
    group: ScoredGroup

    @property
    def people(self) -> float:
        """How many people the group has."""
        rows = self.climb.rows
        return float(rows.people[rows.inside(self.group.state)].sum())


def highest_bounds(climb: Climb, frame: pd.DataFrame, reach: Floats, fewest: Sequence[int]) -> list[Highest | None]:
    """The highest upper bound of how much worse a group fares, by how many people a group has at least.

    Upper bounds are highest of the fewest people that a group may have, and a step from those to others finds too few.
    So the climb starts, besides, from the group that is most likely to fare worse at all.

    Parameters
    ----------
    climb : Climb
        Of groups of as many conditions as are looked at here, and of as many people outside.
    frame : DataFrame
        What its rows are made of.
    reach : ndarray
        See `bdt_core.groups.scan.reach.reach_of_bounds`.
    fewest : sequence of int
        Ever more people.

    Returns
    -------
    list of Highest or None
        None where no group has enough people.
    """
    climbs = [replace(climb, fewest=(people, climb.fewest[1])) for people in fewest]
    width = width_for(climb.rows.rows)
    refining = _Refining(frame, climb, reach)
    # Climbs write down sums for each other without a lock: each thread has its own.
    other = _Refining(frame, climb, reach) if width > 1 else refining
    ways = [partial(_bounds_from_anywhere, refining), partial(_bounds_from_likely, other)]
    reached = mapped(lambda way: way(climbs), ways, width)
    highest: Highest | None = None  # of more people; those of fewer are no lower
    bounds: list[Highest | None] = []
    for of_people in zip(*(reversed(of_way) for of_way in reached), strict=True):
        known = [one for one in (highest, *of_people) if one is not None]
        highest = max(known, key=lambda one: one.group.score, default=None)
        bounds.append(highest)
    return bounds[::-1]


def _bounds_from_anywhere(refining: _Refining, climbs: Sequence[Climb]) -> list[Highest | None]:
    """The highest bounds that climbs from their own starts reach."""
    return [refining.refined(of, _bound) for of in climbs]


def _bounds_from_likely(refining: _Refining, climbs: Sequence[Climb]) -> list[Highest | None]:
    """Those that are reached from the group that is most likely to fare worse."""
    bounds: list[Highest | None] = []
    likely: Highest | None = None
    for of in climbs:
        if likely is None or likely.people < of.fewest[0]:
            likely = refining.refined(of, _likelihood)
        start = None if likely is None else likely.climb.started_from(likely.group.state)
        bounds.append(None if start is None else refining.refined(replace(start, fewest=of.fewest), _bound))
    return bounds


@dataclass(frozen=True, eq=False)
class _Searched:
    """Rows, what climbs add up of each, how far bounds reach on them, and the sums that climbs over them came by."""

    rows: ScanRows
    scores: Scored
    reach: Floats
    memory: Memory

    @classmethod
    def of(cls, climb: Climb, reach: Floats) -> _Searched:
        return cls(climb.rows, climb.scored(), reach, Memory.of(climb))


def _bound(climb: Climb, on: _Searched) -> ScoredGroup:
    return climb.best_bound(on.scores, on.reach, on.memory)


def _likelihood(climb: Climb, on: _Searched) -> ScoredGroup:
    return climb.best(on.scores, on.memory)


class _Refining:
    """Makes cuts around the ends of groups of a table."""

    def __init__(self, frame: pd.DataFrame, climb: Climb, reach: Floats) -> None:
        self.frame = frame
        self.numbers: dict[str, _Numbers] = {}
        few = climb.drawn(STARTED_ON, 0)
        part = few.rows.rows / climb.rows.rows
        self.all = _Searched.of(climb, reach)
        self.few = _Searched.of(few, _reach_of_part(reach, part)) if part < 1.0 else self.all

    def _started(self, climb: Climb, search: Callable[[Climb, _Searched], ScoredGroup]) -> Climb:
        """The same climb; of many rows, from the best single conditions and the best groups among a part of them."""
        if climb.rows is not self.all.rows or self.few is self.all:
            return climb
        few = climb.on(self.few.rows)
        groups = [search(few.started_from(state), self.few) for state in climb.language.starts]
        groups.sort(key=lambda group: -group.score)
        best = {group.state.tobytes(): group.state for group in groups if np.isfinite(group.score)}
        starts = np.array([*best.values()][:_STARTS], dtype=np.uint8).reshape(-1, few.language.offsets[-1])
        return replace(climb, language=replace(climb.language, starts=starts))

    def refined(self, climb: Climb, search: Callable[[Climb, _Searched], ScoredGroup]) -> Highest | None:
        """The best group of a climb; and of the next one, with cuts around its ends, until nothing changes."""
        climb = self._started(climb, search)
        highest = Highest(climb, search(climb, self.all))
        if not np.isfinite(highest.group.score):
            return None
        for _ in range(_ROUNDS):
            nearer = self._near(highest)
            nearer = replace(nearer, group=search(nearer.climb, self.all))
            if nearer.group.score <= highest.group.score + _LEAST_GAIN:
                break
            highest = nearer
        return highest

    def _near(self, highest: Highest) -> Highest:
        """The same group, in a language of its own columns, with cuts around its ends."""
        columns, start, codes = [], [], []
        rows, before = highest.climb.rows, highest.climb.language
        for place, (column, inside) in enumerate(before.cells(highest.group.state)):
            if inside.all():
                continue
            if isinstance(column, OrderedColumn):
                of_column = self._numbers(column.name)
                column, inside, ends = _cut_around(column, inside, of_column.known)
                codes.append(of_column.codes(ends))
            else:
                codes.append(rows.cells[:, place] - before.offsets[place])
            columns.append(column)
            start.append(inside)
        if not columns:
            return highest
        state = np.concatenate(start).astype(np.uint8)
        language = Language.free(columns, state)
        cells = np.empty((rows.rows, len(codes)), dtype=rows.cells.dtype)
        for j, code in enumerate(codes):
            cells[:, j] = code + np.uint16(language.offsets[j])
        rows = replace(rows, cells=cells)
        return Highest(
            replace(highest.climb, rows=rows, language=language, singles=0), replace(highest.group, state=state)
        )

    def _numbers(self, name: str) -> _Numbers:
        if name not in self.numbers:
            self.numbers[name] = _Numbers.of(self.frame, name, self.all.rows.places)
        return self.numbers[name]


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The numbers of a column, sorted, and where each row's is among them; the missing ones come last."""

    known: Floats
    places: Places

    @classmethod
    def of(cls, frame: pd.DataFrame, name: str, rows: Places) -> _Numbers:
        known = known_numbers(frame, name)
        values = coding.numbers(coding.column(frame, name), name)
        order = np.argsort(values)  # missing ones last; quicker than a search for each
        begins = np.flatnonzero(np.concatenate([[True], known[1:] != known[:-1]])[: known.size])
        sizes = np.diff(begins, append=known.size)
        places = np.empty(values.size, dtype=np.intp)
        places[order[: known.size]] = np.repeat(begins, sizes)
        places[order[known.size :]] = known.size
        return cls(known, places[rows])

    def codes(self, ends: Places) -> NDArray[np.uint16]:
        """Cell of each row, where these are the ends of all intervals but the last."""
        sizes = np.diff(ends, prepend=-1, append=self.known.size - 1)
        of_place = np.repeat(np.arange(sizes.size + 1, dtype=np.uint16), [*sizes, 1])
        return of_place[self.places]


def _reach_of_part(reach: Floats, part: float) -> Floats:
    """What bounds reach on a part of the rows to be as far from the mean as on all of them."""
    sizes = np.arange(reach.shape[1]) - math.log2(part)  # of the same group among all rows
    among_all = np.array([np.interp(sizes, np.arange(reach.shape[1]), of) for of in reach])
    return np.asarray(among_all * [[math.sqrt(part)], [math.sqrt(part)], [1.0]])


def _cut_around(column: OrderedColumn, inside: Cells, known: Floats) -> tuple[OrderedColumn, Cells, Places]:
    """A column with cuts around the ends of an interval; the interval, in its cells; and where its intervals end."""
    cells = np.flatnonzero(inside[:-1])
    last = np.searchsorted(known, column.edges, side="right") - 1  # where each interval ends
    if cells.size in (0, inside.size - 1):
        return column, inside, last  # it says no more than "missing", or "not missing"
    bounds = np.concatenate([[-1], last, [known.size - 1]])
    ends = [end for end in (cells[0], cells[-1] + 1) if 0 < end < bounds.size - 1]
    cuts = np.unique(np.concatenate([_near(known, bounds[end - 1], bounds[end + 1], bounds[end]) for end in ends]))
    finer = cut_at(column.name, known, cuts)
    begin, end = np.searchsorted(cuts, [bounds[cells[0]], bounds[cells[-1] + 1]])
    of_finer = np.zeros(finer.cells, dtype=bool)
    of_finer[begin + (cells[0] > 0) : end + 1] = True
    of_finer[-1] = inside[-1]
    return finer, of_finer, cuts


def _near(known: Floats, after: int, before: int, end: int) -> Places:
    """Places where an interval may end, from one place to another: all, or as many as are looked at, and the end."""
    between = known[after + 1 : before + 1]
    places = after + 1 + np.flatnonzero(between[1:] != between[:-1])
    if places.size > _NEAR:
        places = places[np.linspace(0, places.size - 1, _NEAR).astype(np.intp)]
    outer = [place for place in (after, before) if 0 <= place < known.size - 1]
    return np.concatenate([places, [end], outer]).astype(np.intp)
