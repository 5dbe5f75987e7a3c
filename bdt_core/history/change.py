"""Changes from batch to batch: the trend over the look-back, and the latest batch against its past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR
from bdt_core.history.counted import Counts, Pair
from bdt_core.inference import difference_limits, newcombe_interval
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, say

_FEWEST_BATCHES = 3

DriftState = Literal["drift", "moved", "steady", "not_testable"]


@dataclass(frozen=True)
class Trend(Result):
    """How the difference, or the ratio, changes over the look-back.

    Attributes
    ----------
    slope, low, high : float
        Change of it per batch, and its interval for this stream alone.
    batches : int
        Batches that the line goes through.
    """

    slope: float
    low: float
    high: float
    batches: int


@dataclass(frozen=True)
class Drift(Result):
    """The latest batch against the batches before it, taken together.

    Attributes
    ----------
    state : {"drift", "moved", "steady", "not_testable"}
        drift: the change is beyond the limit for certain, its whole interval being so. moved: only the value is,
        which chance alone may do. steady: the value is within.
    change, low, high : float or None
        Difference in the latest batch less difference before; the interval holds for all streams at once.
    reason : str or None
        Why nothing could be tested.
    """

    state: DriftState
    change: float | None
    low: float | None
    high: float | None
    reason: Text | None


def trend_of(pair: Pair, look_back: int, alpha: float, *, of_ratio: bool = False) -> Trend | None:
    """Weighted least squares on the differences (or the ratios) of the last batches.

    Parameters
    ----------
    pair : Pair
    look_back : int
        Batches; those in which a side has nobody are passed over, but count as time.
    alpha : float
    of_ratio : bool
        Whether the line goes through the ratios of both rates.

    Returns
    -------
    Trend or None
        None with fewer than three batches.

    Notes
    -----
    A batch weighs by one over the variance of its difference, from the rates of all these batches taken together,
    so that its weight does not depend on its own outcome; that of a ratio is by the delta method. Where values scatter
    more than counts do, the variance between batches is added to each (the moment estimate of DerSimonian & Laird 1986
    for a line), and what is left of the excess widens the interval; the critical value is Student's with batches - 2
    degrees of freedom (Knapp & Hartung 2003).

    Examples
    --------
    >>> rows = np.full(5, 10_000.0)
    >>> rising = Pair(np.array([3000.0, 3200, 3400, 3600, 3800]), rows, np.full(5, 3000.0), rows)
    >>> trend = trend_of(rising, 30, 0.05)
    >>> round(trend.slope, 6), trend.low > 0
    (0.02, True)
    >>> round(trend_of(rising, 30, 0.05, of_ratio=True).slope, 4)
    0.0667
    """
    if look_back < _FEWEST_BATCHES:
        return None
    last = pair.of(slice(-look_back, None))
    used = (last.rows > 0) & (last.reference_rows > 0)
    if of_ratio:
        used &= last.reference_events > 0
    events, rows = last.events[used], last.rows[used]
    other_events, other_rows = last.reference_events[used], last.reference_rows[used]
    batches = rows.size
    if batches < _FEWEST_BATCHES:
        return None
    x = np.flatnonzero(used).astype(np.float64)
    y, other = events / rows, other_events / other_rows
    mine, others = pair.effects
    variance = mine * _pooled_variance(events, rows)
    of_other = others * _pooled_variance(other_events, other_rows)
    if of_ratio:
        level = (other_events.sum() + 0.5) / (other_rows.sum() + 1.0)
        ratio = (events.sum() + 0.5) / (rows.sum() + 1.0) / level
        y, variance = y / other, (variance + ratio**2 * of_other) / level**2
    else:
        y, variance = y - other, variance + of_other
    between = max(_line(x, y, variance).excess(batches), 0.0)
    line = _line(x, y, variance + between)
    slope, scale = line.slope, max(1.0, line.chi_squared / (batches - 2))
    half = float(stdtrit(batches - 2, 1.0 - alpha / 2.0)) * (scale / line.spread) ** 0.5
    return Trend(slope, slope - half, slope + half, batches)


class _Line(NamedTuple):
    """A line through points that weigh by one over their variance."""

    slope: float
    spread: float
    chi_squared: float
    freedom: float

    def excess(self, points: int) -> float:
        """Variance between the points, beside their own."""
        return (self.chi_squared - (points - 2)) / self.freedom


def _line(x: Counts, y: Counts, variance: Counts) -> _Line:
    weight = 1.0 / variance
    x, y = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    spread = float(np.sum(weight * x * x))
    slope = float(np.sum(weight * x * y)) / spread
    # What an added variance of 1 would add to the expected chi-squared.
    freedom = float(weight.sum() - np.sum(weight**2) / weight.sum() - np.sum((weight * x) ** 2) / spread)
    return _Line(slope, spread, float(np.sum(weight * (y - slope * x) ** 2)), freedom)


def drifts_of(pairs: Sequence[Pair], rows: Sequence[tuple[float, float]], *, limit: float, look_back: int,
              min_rows: int, alpha: float) -> list[Drift]:  # fmt: skip
    """The latest batch of every stream against the batches before it, each group being compared within its batch.

    Parameters
    ----------
    pairs : sequence of Pair
    rows : sequence of (float, float)
        Rows of both groups in the latest batch.
    limit : float
        Change that is tolerated, either way.
    look_back : int
        Batches before the latest that make up the past.
    min_rows : int
        Rows that each group must have in the latest batch.
    alpha : float
        Chance that any of the intervals misses.

    Notes
    -----
    The interval of the change of a difference joins Newcombe's intervals of the two differences by MOVER, each
    stream at alpha / streams (Bonferroni).

    Examples
    --------
    >>> hundred = np.full(3, 1000.0)
    >>> jumped = Pair(np.array([300.0, 300, 500]), hundred, np.full(3, 300.0), hundred)
    >>> drifts_of([jumped], [(1000, 1000)], limit=0.05, look_back=30, min_rows=100, alpha=0.05)[0].state
    'drift'
    """
    reasons = [_too_few(pair, *both, look_back, min_rows) for pair, both in zip(pairs, rows, strict=True)]
    tested = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    changes = iter(_changes(tested, look_back, alpha))
    drifts = []
    for reason in reasons:
        if reason is not None:
            drifts.append(Drift("not_testable", None, None, None, reason))
            continue
        change, low, high = next(changes)
        state: DriftState = "steady"
        if abs(change) > limit:
            state = "drift" if low > limit or high < -limit else "moved"
        drifts.append(Drift(state, change, low, high, None))
    return drifts


def _too_few(pair: Pair, rows: float, other_rows: float, look_back: int, min_rows: int) -> str | None:
    if pair.rows.size < 2:
        return say("there is no batch before this one")
    if min(rows, other_rows) < min_rows:
        return say("fewer than {N} rows in this batch", N=Numeral(str(min_rows)))
    past = slice(-look_back - 1, -1)
    too_few = (
        (slice(-1, None), "fewer than {N} rows to take the rate of, in this batch"),
        (past, "fewer than {N} rows to take the rate of, in the batches before"),
    )
    for batches, message in too_few:
        _, n, _, m = pair.of(batches).alike()
        if min(n, m) < FEWEST_IN_DENOMINATOR:
            return say(message, N=Numeral(str(FEWEST_IN_DENOMINATOR)))
    return None


def _changes(pairs: Sequence[Pair], look_back: int, alpha: float) -> list[tuple[float, float, float]]:
    """Change and its interval, pair by pair."""
    if not pairs:
        return []
    confidence = 1.0 - alpha / len(pairs)
    x, n, y, m = _sides(pairs, slice(-1, None))
    x0, n0, y0, m0 = _sides(pairs, slice(-look_back - 1, -1))
    d, (low, high) = x / n - y / m, newcombe_interval(x, n, y, m, confidence)
    d0, (low0, high0) = x0 / n0 - y0 / m0, newcombe_interval(x0, n0, y0, m0, confidence)
    lower, upper = difference_limits(d, low, high, d0, low0, high0)
    return list(zip((d - d0).tolist(), lower.tolist(), upper.tolist(), strict=True))


def _sides(pairs: Sequence[Pair], when: slice) -> Counts:
    """Events and rows of both sides within some batches, shape (4, pairs)."""
    return np.array([pair.of(when).alike() for pair in pairs]).T


def _pooled_variance(events: Counts, rows: Counts) -> Counts:
    rate = (events.sum() + 0.5) / (rows.sum() + 1.0)
    return np.asarray(rate * (1.0 - rate) / rows)
