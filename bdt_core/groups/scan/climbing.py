"""The climb to the group of the best score, on given rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.scan.language import MAX_CONDITIONS, Language
from bdt_core.groups.scan.rows import Floats, ScanRows, Scored, stratum_means

_NO_REACH = np.zeros((3, 1))


@dataclass(frozen=True, eq=False)
class Found:
    """A group of the language, and its score; minus infinity, and everybody, where no group has one."""

    score: float
    state: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Climb:
    """Rows, and the language whose groups are looked at.

    Attributes
    ----------
    rows : ScanRows
    language : Language
    min_people : float
        Fewest people of a group, and outside of it; see `ScanRows.people`.
    max_conditions : int
        Most conditions of a group.
    singles : int
        Single conditions that are started from, each the best of its column.
    """

    rows: ScanRows
    language: Language
    min_people: float
    max_conditions: int = MAX_CONDITIONS
    singles: int = 10

    def drawn(self, most: int, number: int) -> Climb:
        """The same search on so many rows at most: others in each search, by its number."""
        rows = self.rows.drawn(most, number)
        return replace(self, rows=rows, min_people=max(2, round(self.min_people * rows.rows / self.rows.rows)))

    def with_harm(self, harm: NDArray[np.float64]) -> Climb:
        """The same search for other outcomes."""
        return replace(self, rows=replace(self.rows, harm=harm))

    def started_from(self, found: Found) -> Climb:
        """The same search, from one group alone."""
        return replace(self, language=replace(self.language, starts=found.state[None]), singles=0)

    def best(self, scores: Scored) -> Found:
        """The group of the best score."""
        from bdt_core.groups.scan import kernels  # the compiler takes a third of a second to import

        return self._climb(scores, kernels.RATE if self.rows.is_rate else kernels.MEAN, self.language.prices)

    def best_bound(self, reach: Floats) -> Found:
        """The group whose difference has the highest upper bound; conditions are free."""
        from bdt_core.groups.scan import kernels

        harm, means = self.rows.harm, stratum_means(self.rows.harm, self.rows.strata)[self.rows.strata]
        free = np.zeros_like(self.language.prices)
        if self.rows.is_rate:
            return self._climb(Scored(harm, means, is_rate=True), kernels.RATE_BOUND, free, reach)
        apart = harm - means
        return self._climb(Scored(apart, apart * apart, is_rate=False), kernels.MEAN_BOUND, free, reach)

    def _climb(self, scores: Scored, objective: int, prices: Floats, reach: Floats = _NO_REACH) -> Found:
        from bdt_core.groups.scan import kernels

        state = np.empty(int(self.language.offsets[-1]), dtype=np.uint8)
        score = kernels.climb(
            self.rows.cells, scores.harm, scores.expected, self.rows.people, self.language.offsets,
            self.language.ordered, prices, self.language.starts, objective, reach, self.min_people,
            self.max_conditions, self.singles, state,
        )  # fmt: skip
        return Found(float(score), state)
