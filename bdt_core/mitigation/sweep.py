"""The best choice of one threshold per group, among all whose rates differ by no more than a tolerance; and what each
tolerance costs."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bdt_core.fairness.coding import Level
from bdt_core.mitigation.curves import Curve, Floats, Objective, objective_value

TOLERANCES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
_ROUNDING = 1e-12
"""Differences of rates up to this size are rounding, not differences."""
_SAME_GAP = 1e-9


class Choice(NamedTuple):
    """One point per group.

    `gain` is the sum of their gains, `gap` the largest difference of a constrained rate between two groups.
    """

    gain: float
    gap: float
    points: tuple[int, ...]


class ThresholdSearch(Protocol):
    """Finds the best choice within a tolerance."""

    def best(self, tolerance: float) -> Choice | None:
        """The choice with the largest gain whose rates differ by at most the tolerance; None when there is none.

        Of equally good ones that with the smallest gap, then with the lowest rates, then the highest thresholds.
        """
        ...

    def smallest_gap(self) -> float:
        """The smallest gap of any choice."""
        ...


class OneRate:
    """The sweep for a constraint on a single rate.

    A choice is within the tolerance when all its rates lie in a window [x, x + tolerance], and x can be taken as
    the smallest of them. So for every rate x that some group attains, each group's best point inside the window is
    looked up, and the x with the largest sum wins: exact, in O(n log n) for a given number of groups.

    Parameters
    ----------
    rates, gains : sequence of ndarray
        Per group, over its points; NaN where the rate is undefined. Such points cannot be chosen.

    Examples
    --------
    >>> import numpy as np
    >>> search = OneRate([np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.6, 1.0])], [np.array([0.0, 3, 1])] * 2)
    >>> search.best(0.05), search.best(0.2)
    (Choice(gain=2.0, gap=0.0, points=(2, 2)), Choice(gain=6.0, gap=0.09999999999999998, points=(1, 1)))
    """

    def __init__(self, rates: Sequence[Floats], gains: Sequence[Floats]) -> None:
        self._steps = [_best_per_rate(rate, gain) for rate, gain in zip(rates, gains, strict=True)]
        lows = np.unique(np.concatenate([step.rate for step in self._steps]))
        highest = min((step.rate[-1] if step.rate.size else -np.inf) for step in self._steps)
        self._lows = lows[lows <= highest]
        self._first = [np.searchsorted(step.rate, self._lows, side="left") for step in self._steps]

    def best(self, tolerance: float) -> Choice | None:
        """See `Search.best`."""
        limit = tolerance + _ROUNDING
        total = np.zeros(self._lows.size)
        for step, first in zip(self._steps, self._first, strict=True):
            stop = np.searchsorted(step.rate, self._lows + limit, side="right")
            total += window_maximum(step.gain, first, stop)
        if not (total > -np.inf).any():
            return None
        return self._closest(np.flatnonzero(total == total.max()), limit)

    def smallest_gap(self) -> float:
        """The smallest difference that can be had; infinite when a group has no defined rate at all."""
        if not self._lows.size:
            return float("inf")
        highest = np.full(self._lows.size, -np.inf)
        for step, first in zip(self._steps, self._first, strict=True):
            np.maximum(highest, step.rate[first], out=highest)
        return float((highest - self._lows).min())

    def _closest(self, windows: NDArray[np.intp], limit: float) -> Choice:
        """Of equally good windows, the choice with the smallest gap.

        In each group the lowest rate with the best gain counts. These points stay the same in every equally good
        window that holds them all, so that the search goes on behind the lowest.
        """
        best: Choice | None = None
        lows = self._lows[windows]
        at = 0
        while at < lows.size:
            chosen, lowest = self._chosen(int(windows[at]), lows[at] + limit)
            if best is None or chosen.gap < best.gap - _ROUNDING:
                best = chosen
            at = int(np.searchsorted(lows, lowest, side="right"))
        assert best is not None
        return best

    def _chosen(self, low: int, high: float) -> tuple[Choice, float]:
        """The best points of one window, and the lowest of their rates."""
        points, rates, gain = [], [], 0.0
        for step, all_first in zip(self._steps, self._first, strict=True):
            first, stop = int(all_first[low]), int(np.searchsorted(step.rate, high, side="right"))
            at = first + int(step.gain[first:stop].argmax())
            points.append(int(step.point[at]))
            rates.append(float(step.rate[at]))
            gain += float(step.gain[at])
        return Choice(gain, max(rates) - min(rates), tuple(points)), min(rates)


class TwoRates:
    """The search for a constraint on two rates, both of which rise as the threshold falls.

    Branch and bound over the lower corner (x, y) of the window. For a box of corners, every group's best point in
    the union of their windows bounds the gain from above. The box with the largest bound is looked at first: when
    its points are within the tolerance they are the optimum, otherwise it is cut so that both halves lose one of
    the two points that lie too far apart. Exact; fast where the bound is tight, which is the rule.

    Parameters
    ----------
    rates : sequence of pairs of ndarray
        Per group: two rates, both rising.
    gains : sequence of ndarray
    """

    def __init__(self, rates: Sequence[tuple[Floats, Floats]], gains: Sequence[Floats]) -> None:
        self._rates, self._gains = rates, gains
        self._corners = [np.unique(np.concatenate([pair[axis] for pair in rates])) for axis in (0, 1)]

    def best(self, tolerance: float) -> Choice | None:
        """See `Search.best`; the smallest gap is found to 1e-9."""
        best = self._largest(tolerance + _ROUNDING)
        closer = self._largest(best.gap - 2 * _ROUNDING) if best else None
        if best is None or closer is None or closer.gain < best.gain:
            return best
        best, too_strict = closer, 0.0
        while best.gap - too_strict > _SAME_GAP:
            middle = 0.5 * (too_strict + best.gap)
            closer = self._largest(middle)
            if closer is not None and closer.gain >= best.gain:
                best = closer
            else:
                too_strict = middle
        return best

    def smallest_gap(self) -> float:
        """Always 0: nobody, or everybody, is selected in every group."""
        return 0.0

    def _largest(self, limit: float) -> Choice | None:
        """A choice with the largest gain within the limit."""
        if limit < 0.0:
            return None
        tie = itertools.count()
        heap: list[tuple[float, int, _Box, tuple[int, ...]]] = []

        def push(box: _Box) -> None:
            points = self._best_points(box, limit)
            if points is not None:
                bound = math.fsum(float(gain[i]) for gain, i in zip(self._gains, points, strict=True))
                heapq.heappush(heap, (-bound, next(tie), box, points))

        push(_Box((0, 0), (self._corners[0].size - 1, self._corners[1].size - 1)))
        while heap:
            negative, _, box, points = heapq.heappop(heap)
            at = [np.array([pair[axis][i] for pair, i in zip(self._rates, points, strict=True)]) for axis in (0, 1)]
            spread = [float(one.max() - one.min()) for one in at]
            open_axes = [axis for axis in (0, 1) if spread[axis] > limit and box.first[axis] < box.last[axis]]
            if not open_axes:
                return Choice(-negative, max(spread), points)
            axis = max(open_axes, key=lambda axis: spread[axis])
            between = 0.5 * (float(at[axis].min()) + float(at[axis].max()) - limit)
            for half in box.halves(axis, int(np.searchsorted(self._corners[axis], between, side="right")) - 1):
                push(half)
        return None

    def _best_points(self, box: _Box, limit: float) -> tuple[int, ...] | None:
        points = []
        low = [self._corners[axis][box.first[axis]] for axis in (0, 1)]
        high = [self._corners[axis][box.last[axis]] + limit for axis in (0, 1)]
        for pair, gain in zip(self._rates, self._gains, strict=True):
            first = max(int(np.searchsorted(pair[axis], low[axis], side="left")) for axis in (0, 1))
            stop = min(int(np.searchsorted(pair[axis], high[axis], side="right")) for axis in (0, 1))
            if first >= stop:
                return None
            points.append(first + int(gain[first:stop].argmax()))
        return tuple(points)


@dataclass(frozen=True)
class FrontierPoint:
    """The best thresholds at one tolerance.

    Attributes
    ----------
    tolerance : float
        Asked for; 1 where the groups' thresholds are free.
    gap, objective : float
        On the rows of the fit.
    thresholds : dict of group to float
    """

    tolerance: float
    gap: float
    objective: float
    thresholds: dict[Level, float]


def frontier_points(
    curves: list[Curve], search: ThresholdSearch, objective: Objective, tolerances: tuple[float, ...]
) -> list[FrontierPoint]:
    """The exact optimum at each tolerance, from free thresholds on.

    Parameters
    ----------
    curves : list of Curve
    search : ThresholdSearch
        Over these curves.
    objective : str or callable
        See `GroupThresholds`.
    tolerances : tuple of float
        One that an earlier point keeps already gives no point, nor does one that cannot be met.

    Returns
    -------
    list of FrontierPoint
        By falling gap.
    """
    points: list[tuple[float, Choice]] = []
    for tolerance in (1.0, *sorted(tolerances, reverse=True)):
        if points and tolerance >= points[-1][1].gap - _ROUNDING:
            continue
        point = search.best(tolerance)
        if point is None:
            break
        points.append((tolerance, point))
    return [
        FrontierPoint(
            tolerance,
            choice.gap,
            objective_value(curves, objective, choice.gain),
            {one.group: float(one.thresholds[i]) for one, i in zip(curves, choice.points, strict=True)},
        )
        for tolerance, choice in points
    ]


@dataclass(frozen=True)
class _Box:
    """Corners from `first` to `last` of both axes, both included."""

    first: tuple[int, int]
    last: tuple[int, int]

    def halves(self, axis: int, at: int) -> tuple[_Box, _Box]:
        """Cut behind position `at` of an axis, or as near as leaves both parts something."""
        at = min(max(at, self.first[axis]), self.last[axis] - 1)
        if axis == 0:
            return _Box(self.first, (at, self.last[1])), _Box((at + 1, self.first[1]), self.last)
        return _Box(self.first, (self.last[0], at)), _Box((self.first[0], at + 1), self.last)


class _Steps(NamedTuple):
    """Distinct rates of a group, rising, the best gain at each, and the point that has it."""

    rate: Floats
    gain: Floats
    point: NDArray[np.intp]


def _best_per_rate(rate: Floats, gain: Floats) -> _Steps:
    defined = np.flatnonzero(~np.isnan(rate))
    # Rising rate, then falling gain; points are in the order of falling thresholds and the sort is stable.
    order = defined[np.lexsort((-gain[defined], rate[defined]))]
    sorted_rate = rate[order]
    first = np.append(True, sorted_rate[1:] != sorted_rate[:-1])[: order.size]
    order = order[first]
    return _Steps(rate[order], gain[order], order)


def window_maximum(values: Floats, first: NDArray[np.intp], stop: NDArray[np.intp]) -> Floats:
    """Largest of ``values[first:stop]`` for many windows; minus infinity for empty ones.

    Maxima over stretches of 1, 2, 4, ... entries are made one after the other; a window is covered by two stretches
    of the largest length that fits.

    Examples
    --------
    >>> window_maximum(np.array([3.0, 1, 2, 5]), np.array([0, 1, 1]), np.array([2, 3, 1])).tolist()
    [3.0, 2.0, -inf]
    """
    length = stop - first
    out = np.full(first.size, -np.inf)
    stretch, covered = 1, values
    # Windows of 1, of 2 to 3, of 4 to 7 entries, ...
    level = np.frexp(np.maximum(length, 0).astype(np.float64))[1]  # 0 for empty windows
    by_level = np.argsort(level, kind="stable")
    ends = np.cumsum(np.bincount(level, minlength=1))
    for k in range(1, ends.size):
        windows = by_level[ends[k - 1] : ends[k]]
        if windows.size:
            out[windows] = np.maximum(covered[first[windows]], covered[stop[windows] - stretch])
        if k + 1 < ends.size:
            covered = np.maximum(covered[:-stretch], covered[stretch:])
            stretch *= 2
    return out
