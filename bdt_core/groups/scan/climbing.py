"""The climb to the group of the best score, on given rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.scan.language import MAX_CONDITIONS, Language
from bdt_core.groups.scan.rows import FEW_ROWS, NO_MARKS, Floats, Numbers, ScanRows, Scored, scored

_NO_REACH, _EACH_ALONE = np.zeros((3, 1)), np.empty(0)
_STATES, _NUMBERS = 1_000, 4_000_000
"""States that are remembered, and their sums, at most."""


@dataclass(frozen=True, eq=False)
class ScoredGroup:
    """A group of the language, and its score; minus infinity, and everybody, where no group has one."""

    score: float
    state: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Memory:
    """Sums over rows that climbs came by, for others over the same rows and columns.

    Attributes
    ----------
    rows : ScanRows
    keys : ndarray of uint64, shape (m,)
    known : ndarray of float64, shape (m, cells, 4)
    remembered : ndarray of int64, shape (1,)
    """

    rows: ScanRows
    keys: NDArray[np.uint64]
    known: Floats
    remembered: Numbers

    @classmethod
    def of(cls, climb: Climb) -> Memory:
        """Empty, with room for as many states as is sensible."""
        cells = int(climb.language.offsets[-1])
        return cls._with_room(climb.rows, min(_STATES, _NUMBERS // (4 * cells)), cells)

    @classmethod
    def none(cls, climb: Climb) -> Memory:
        """Without room."""
        return cls._with_room(climb.rows, 0, int(climb.language.offsets[-1]))

    @classmethod
    def _with_room(cls, rows: ScanRows, room: int, cells: int) -> Memory:
        return cls(rows, np.empty(room, np.uint64), np.empty((room, cells, 4)), np.zeros(1, np.int64))


@dataclass(frozen=True, eq=False)
class Climb:
    """Rows, and the language whose groups are looked at.

    Attributes
    ----------
    rows : ScanRows
    language : Language
    fewest : tuple of float
        People of a group, and outside of it; see `ScanRows.people`.
    max_conditions : int
        Most conditions of a group.
    singles : int
        Single conditions that are started from, each the best of its column.
    expected : ndarray of float64, shape (rows of the table,), or None
        Of outcomes that are 0 or 1: the chance of harm that was foretold of each row. Groups are held against it, then,
        and not against everybody else.
    """

    rows: ScanRows
    language: Language
    fewest: tuple[float, float]
    max_conditions: int = MAX_CONDITIONS
    singles: int = 10
    expected: Floats | None = None

    def drawn(self, most: int, number: int) -> Climb:
        """The same search on so many rows at most: others in each search, by its number."""
        return self.on(self.rows.drawn(most, number))

    def on(self, rows: ScanRows) -> Climb:
        """The same search on a part of the rows."""
        inside, outside = (max(2, round(people * rows.rows / self.rows.rows)) for people in self.fewest)
        return replace(self, rows=rows, fewest=(inside, outside))

    def with_harm(self, harm: NDArray[np.float64]) -> Climb:
        """The same search for other outcomes."""
        return replace(self, rows=self.rows.with_harm(harm))

    def started_from(self, state: NDArray[np.uint8]) -> Climb:
        """The same search, from one state alone."""
        return replace(self, language=replace(self.language, starts=state[None]), singles=0)

    def scored(self) -> Scored:
        """What is added up of each row for the log likelihood ratio."""
        if self.expected is None:
            return scored(self.rows)
        return Scored(self.rows.harm, self.expected[self.rows.places], is_rate=True)

    def from_singles(self) -> Climb:
        """The same search, from single conditions alone: quicker, and blind where none of them shows anything."""
        return replace(self, language=replace(self.language, starts=self.language.starts[:0]))

    def best(self, scores: Scored, memory: Memory | None = None) -> ScoredGroup:
        """The group of the best score."""
        from bdt_core.groups.scan import kernels  # the compiler takes a third of a second to import

        return self._climb(scores, kernels.RATE if self.rows.is_rate else kernels.MEAN, self.language.prices, memory)

    def assured(self, group: ScoredGroup, scores: Scored) -> float:
        """The score that a group of `best` keeps where the smaller side lacks those few who fare best, or worst.

        Among n people there may be none of the 1/n of all who fare best: of skewed amounts their mean is too bad by
        what these have. So a group counts one person more, who fares as these do on average; where everybody else are
        the fewer, they count one who fares as the worst do. What few of all have, the larger side shows. Bounds of a
        mean that hold for any shape add the end of its range in this way (Gaffke 2005). Rates, and amounts whose
        variance is known, show all that there is of their shape.
        """
        if scores.is_rate or scores.is_known or not np.isfinite(group.score):
            return group.score
        inside, harm, people = self.rows.inside(group.state), scores.harm, self.rows.people
        apart = float(harm[inside].mean() - harm[~inside].mean())
        is_smaller = people[inside].sum() <= people[~inside].sum()
        side = inside if is_smaller else ~inside
        number = float(people[side].sum())
        few, ordered = max(round(harm.size / number), 1), np.sort(harm)
        extreme = ordered[:few] if is_smaller else ordered[-few:]
        unseen = abs(float(harm[side].mean() - extreme.mean())) / (number + 1.0)
        price = self.language.price(group.state)
        return (group.score + price) * (max(apart - unseen, 0.0) / apart) ** 2 - price

    def best_bound(self, scores: Scored, reach: Floats, memory: Memory | None = None) -> ScoredGroup:
        """The group whose difference, or gap from what was expected, has the highest upper bound; conditions are
        free."""
        from bdt_core.groups.scan import kernels

        free = np.zeros_like(self.language.prices)
        objective = kernels.RATE_BOUND if self.rows.is_rate else kernels.MEAN_BOUND
        if self.expected is not None:
            objective = kernels.GAP_BOUND
        return self._climb(scores, objective, free, memory, reach)

    def _climb(
        self, scores: Scored, objective: int, prices: Floats, memory: Memory | None, reach: Floats = _NO_REACH
    ) -> ScoredGroup:
        from bdt_core.groups.scan import kernels

        if memory is None or memory.rows is not self.rows:
            memory = Memory.none(self)
        people = _EACH_ALONE if self.rows.persons is None else self.rows.people
        marks = None
        if scores.is_rate and self.expected is None and (self.singles or self.rows.rows <= FEW_ROWS):
            marks = self.rows.marks  # which a single climb over many rows would not repay
        marks = NO_MARKS if marks is None else marks
        state = np.empty(int(self.language.offsets[-1]), dtype=np.uint8)
        score = kernels.climb(
            self.rows.cells, scores.harm, scores.expected, people, self.language.offsets,
            self.language.ordered, prices, self.language.starts, objective, reach,
            np.array(self.fewest, dtype=np.float64), self.max_conditions, self.singles,
            memory.keys, memory.known, memory.remembered,
            marks.of_cells, marks.slots, marks.firsts, scores.expected[marks.one_of_each], state,
        )  # fmt: skip
        return ScoredGroup(float(score), state)
