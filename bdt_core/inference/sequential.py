"""Tests and intervals that stay valid however often one looks: for monitoring batch after batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError

Floats = NDArray[np.float64]

SOONEST = 100.0
"""Starts of later batches are weighted as if about so many batches were to come; more of them cost its logarithm."""
FROM_THE_FIRST = 0.5
"""Share of the error that is spent on a difference that has been there from the first batch on."""
_SIZES = 2.0 ** np.arange(-4, 4)
"""Differences that are bet on, as multiples of the effect; each doubling or halving has half the weight."""
_EVERY_AGE, _STEP = 30, 1.2


@dataclass(frozen=True)
class SequentialComparison:
    """Two rates compared after each batch, within the batches counted so far.

    Attributes
    ----------
    difference : ndarray of float64, shape (batches,)
        Rate of a less rate of b within each batch, averaged over all batches so far by n_a n_b / (n_a + n_b); NaN until
        a batch has rows of both.
    low, high : ndarray of float64, shape (batches,)
        Confidence sequence of that average.
    at_least, at_most : ndarray of float64, shape (batches,)
        The average difference was at least (at most) so much over all batches, or over those from some batch on until
        this one. With probability 1 - alpha these and `low` and `high` hold at all times, all at once.
    e_value : ndarray of float64, shape (batches,)
        Evidence against "no difference within any batch"; 1 at the start. The probability that it ever reaches
        1 / alpha, whenever and however often one looks, is at most alpha.
    """

    difference: Floats
    low: Floats
    high: Floats
    at_least: Floats
    at_most: Floats
    e_value: Floats

    @property
    def p_value(self) -> Floats:
        """Always-valid p-value after each batch: it never rises again."""
        return np.minimum(1.0, 1.0 / np.maximum.accumulate(np.maximum(self.e_value, 1.0)))


def compare_rates_over_time(
    events_a: ArrayLike,
    n_a: ArrayLike,
    events_b: ArrayLike,
    n_b: ArrayLike,
    *,
    alpha: float = 0.05,
    effect: float = 0.02,
) -> SequentialComparison:
    """Compare two rates within every batch, without an error that grows with the number of looks.

    Parameters
    ----------
    events_a, n_a, events_b, n_b : array-like of float, shape (batches,)
        Events and rows of each batch (not added up); effective ones, where rows belong together.
    alpha : float
        Error over all looks together.
    effect : float
        Difference for which the test is sharpest.

    Returns
    -------
    SequentialComparison

    Raises
    ------
    DataError
        Counts that are negative, or more events than rows; an alpha or effect out of range.

    Notes
    -----
    Each batch is a stratum, as in the test of Mantel & Haenszel (1959): events of a are compared with those that the
    batch's own rate lets expect, (O - E) with the hypergeometric variance V. So rates that rise and fall together,
    while the shares of the groups change, are no difference.

    The e-value is a mixture of bets exp(s (O - E) - V (exp(s) - 1 - s)), multiplied up over the batches. O is a sum of
    independent events (Vatutin & Mikhailov 1982), so that each factor is 1 or less on average whatever the counts
    (Bennett 1962), small ones too. The stakes s = log(1 + d / (p (1 - p))), p being the rate of both sides so far, are
    best at differences d of 1/16 to 8 times `effect`, either way.

    Bets begin at every batch, with weights that add up to 1: `FROM_THE_FIRST` at the first, the rest spread as
    1 / ((i + h) (i + h + 1)) with h = `SOONEST`. That is a Shiryaev-Roberts sum with weights (e-detectors: Shin, Ramdas
    & Rinaldo 2022), which makes it an e-process: the probability of ever alarming is at most alpha, and the delay of a
    difference that begins late grows with the logarithm of the number of batches before it only.

    The confidence sequences are those of the normal mixture (Robbins 1970; Howard, Ramdas, McAuliffe & Sekhon 2021):
    half-width^2 = V (V + tau^2) / tau^2 (2 log(1 / a) + log(1 + tau^2 / V)), with tau = `effect`, and with the alpha of
    every start in proportion to its weight. V is that of the weighted average, with each side's rate taken as one over
    the batches, which is never too small where it moves, and with log(1 / a) events and as many others more, the
    sequential form of what Wilson's interval adds (z^2 / 2, with z^2 = 2 log(1 / a)).

    Examples
    --------
    >>> found = compare_rates_over_time([30] * 20, [100] * 20, [20] * 20, [100] * 20)
    >>> bool(found.e_value[0] < 20), bool(found.e_value[-1] >= 20)
    (True, True)
    """
    counts = [np.asarray(one, dtype=np.float64) for one in (events_a, n_a, events_b, n_b)]
    if any((one < 0).any() for one in counts) or (counts[0] > counts[1]).any() or (counts[2] > counts[3]).any():
        raise DataError("Counts must not be negative, and events must not be more than rows.")
    if not 0.0 < alpha < 1.0 or not effect > 0.0:
        raise DataError(f"alpha must lie between 0 and 1, and effect above 0; found {alpha} and {effect}.")
    x_a, rows_a, x_b, rows_b = counts
    sums = _Sums.of(x_a, rows_a, x_b, rows_b)
    weights = _start_weights(len(rows_a))
    low, high = sums.sequences(alpha * weights, effect**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.cumsum(sums.difference) / np.cumsum(sums.weight)
    e_value = _e_value(x_a, rows_a, x_b, rows_b, weights, effect)
    return SequentialComparison(
        difference, low[0], high[0], np.fmax.reduce(low, axis=0), np.fmin.reduce(high, axis=0), e_value
    )


def difference_within(events_a: ArrayLike, n_a: ArrayLike, events_b: ArrayLike, n_b: ArrayLike) -> float:
    """Rate of a less rate of b within each batch, averaged by n_a n_b / (n_a + n_b); NaN where no batch has both.

    Examples
    --------
    >>> round(difference_within([30, 10], [100, 20], [20, 30], [100, 60]), 3)  # .1 in the first batch, 0 in the second
    0.077
    """
    sums = _Sums.of(*(np.asarray(one, dtype=np.float64) for one in (events_a, n_a, events_b, n_b)))
    total = float(sums.weight.sum())
    return float(sums.difference.sum()) / total if total else math.nan


def discoveries(e_values: Sequence[float], alpha: float = 0.05) -> tuple[bool, ...]:
    """Which of many streams show a difference, with the false discovery rate at most alpha (e-BH).

    Parameters
    ----------
    e_values : sequence of float
        One per stream, in any dependence; NaN for a stream without evidence yet.
    alpha : float

    Returns
    -------
    tuple of bool

    Notes
    -----
    Wang & Ramdas (2022): reject the k largest, for the largest k with e_(k) >= m / (k alpha).

    Examples
    --------
    >>> discoveries([100.0, 45.0, 1.0])
    (True, True, False)
    """
    values = np.nan_to_num(np.asarray(e_values, dtype=np.float64), nan=0.0)
    m = values.size
    ranked = np.sort(values)[::-1]
    enough = np.flatnonzero(ranked * np.arange(1, m + 1) * alpha >= m)
    if not enough.size:
        return (False,) * m
    least = ranked[enough[-1]]
    return tuple(bool(one >= least) for one in values)


@dataclass(frozen=True)
class _Sums:
    """What adds up over batches, for the weighted average of their differences: one entry per batch.

    The variance of a side is the sum of weight^2 rate (1 - rate) / rows, over the square of the sum of weights.
    """

    weight: Floats
    difference: Floats
    spread: tuple[Floats, Floats]
    events: tuple[Floats, Floats]

    @classmethod
    def of(cls, x_a: Floats, rows_a: Floats, x_b: Floats, rows_b: Floats) -> _Sums:
        both = (rows_a > 0) & (rows_b > 0)
        a, b = np.where(both, rows_a, 1.0), np.where(both, rows_b, 1.0)
        weight = np.where(both, a * b / (a + b), 0.0)
        spread = weight**2 / a, weight**2 / b
        return cls(weight, weight * (x_a / a - x_b / b), spread, (spread[0] * x_a / a, spread[1] * x_b / b))

    def sequences(self, alpha: Floats, tau2: float) -> tuple[Floats, Floats]:
        """Limits of the average over all batches, and over those from later ones on: shape (stretches, batches).

        `alpha` is what each first batch of a stretch has; limits that are unknown are NaN.
        """
        batches = self.weight.size
        now = np.arange(batches)
        first = np.stack([np.zeros_like(now), *(now - age + 1 for age in _ages(batches - 1))])
        first[1:][first[1:] < 1] = batches  # no such stretch yet
        level = np.append(alpha, np.nan)[first]
        first = np.minimum(first, now)

        def total(values: Floats) -> Floats:
            so_far = np.concatenate([[0.0], np.cumsum(values)])
            return np.asarray(so_far[now + 1] - so_far[first])

        more = np.log(1.0 / level)
        weight, variance = total(self.weight), np.zeros(level.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            for spread, events in zip(self.spread, self.events, strict=True):
                u = total(spread)
                rate, rows = np.clip(total(events) / u, 0.0, 1.0), weight**2 / u
                smooth = (rate * rows + more) / (rows + 2.0 * more)
                variance += smooth * (1.0 - smooth) / rows
            middle = total(self.difference) / weight
            half = np.sqrt(variance * (variance + tau2) / tau2 * (2.0 * more + np.log((variance + tau2) / variance)))
        return np.maximum(middle - half, -1.0), np.minimum(middle + half, 1.0)


def _start_weights(batches: int) -> Floats:
    """Share of the error per batch at which a difference may begin; the shares of all batches to come add up to 1."""
    at = SOONEST + np.arange(batches)
    weights = (1.0 - FROM_THE_FIRST) * SOONEST / (at * (at + 1.0))
    weights[:1] += FROM_THE_FIRST
    return weights


def _ages(most: int) -> list[int]:
    """Lengths of the stretches up to now that are looked at: each of the short ones, and ever fewer of the long ones.

    Leaving some out makes the limits wider, never narrower.
    """
    ages = list(range(1, min(_EVERY_AGE, most) + 1))
    while ages and ages[-1] < most:
        ages.append(min(most, math.ceil(ages[-1] * _STEP)))
    return ages


def _e_value(x_a: Floats, rows_a: Floats, x_b: Floats, rows_b: Floats, weights: Floats, effect: float) -> Floats:
    rows, events = rows_a + rows_b, x_a + x_b
    several = (np.minimum(rows_a, rows_b) > 0) & (rows > 1.0)
    n = np.where(several, rows, 2.0)
    surplus = np.where(several, x_a - rows_a * events / n, 0.0)
    variance = np.where(several, rows_a * rows_b * events * (n - events) / (n * n * (n - 1.0)), 0.0)
    rate = (np.cumsum(events) + 0.5) / (np.cumsum(rows) + 1.0)
    stake = np.log1p(effect * _SIZES / (rate * (1.0 - rate))[:, None])
    price = variance[:, None] * (np.expm1(stake) - stake)
    gains = np.concatenate([stake * surplus[:, None] - price, -stake * surplus[:, None] - price], axis=1)
    shares = np.minimum(_SIZES, 1.0 / _SIZES)
    shares = np.log(np.tile(shares / shares.sum() / 2.0, 2))
    gained = np.cumsum(gains, axis=0)
    # What has begun at any batch until now: its weight, and what it gained since.
    logs = gained + np.logaddexp.accumulate(np.log(weights)[:, None] - gained + gains, axis=0)
    to_come = 1.0 - np.cumsum(weights)
    return np.asarray(np.exp(np.minimum(logs + shares, 700.0)).sum(axis=1) + to_come)
