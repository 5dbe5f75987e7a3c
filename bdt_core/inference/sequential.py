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
_HALVINGS = 25


@dataclass(frozen=True)
class SequentialComparison:
    """Two rates compared after each batch, within the batches counted so far; arrays of shape (batches,).

    `difference` is the rate of a less that of b within each batch, averaged over all batches so far by n_a n_b / (n_a +
    n_b), NaN until a batch has rows of both; `low` and `high` are the confidence sequence of that average. It was
    `at_least` (`at_most`) so much over all batches, or over those from some batch on until this one. With probability 1
    - alpha all four hold at all times, all at once.

    `e_value` is the evidence against "no difference within any batch"; 1 at the start. The probability that it ever
    reaches 1 / alpha, whenever and however often one looks, is at most alpha.
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


@dataclass(frozen=True)
class SequentialRatio:
    """The ratio of two rates after each batch, within the batches counted so far; arrays of shape (batches,).

    `ratio` is that of Mantel & Haenszel: events of a over those of b, each batch's by n_b and n_a over n_a + n_b; NaN
    until a batch has rows of both and any of them an event. `low` and `high` are its confidence sequence, infinite
    where nothing bounds it from above; `at_least` and `at_most` as those of `SequentialComparison`.
    """

    ratio: Floats
    low: Floats
    high: Floats
    at_least: Floats
    at_most: Floats


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

    Events and rows are of each batch (not added up); effective ones, where rows belong together. `alpha` is the error
    over all looks together, `effect` the difference for which the test is sharpest. Counts that are negative, more
    events than rows, and an alpha or effect out of range are a DataError.

    Each batch is a stratum, as in the test of Mantel & Haenszel (1959): events of a are compared with those that the
    batch's own rate lets expect, (O - E) with the hypergeometric variance V. So rates that rise and fall together,
    while the shares of the groups change, are no difference.

    The e-value is a mixture of bets exp(s (O - E) - V (exp(s) - 1 - s)), multiplied up over the batches. O is a sum of
    independent events (Vatutin & Mikhailov 1982), so that each factor is 1 or less on average whatever the counts
    (Bennett 1962), small ones too. The stakes s = log(1 + d / (p (1 - p))), p being the rate of both sides so far, are
    best at differences d of 1/16 to 8 times `effect`, either way.

    Bets begin at every batch, with weights that add up to 1: `FROM_THE_FIRST` at the first, the rest spread as 1 / ((i
    + h) (i + h + 1)) with h = `SOONEST`. That is a Shiryaev-Roberts sum with weights (e-detectors: Shin, Ramdas &
    Rinaldo 2022), which makes it an e-process: the probability of ever alarming is at most alpha, and the delay of a
    difference that begins late grows with the logarithm of the number of batches before it only.

    The confidence sequences are those of the normal mixture (Robbins 1970; Howard, Ramdas, McAuliffe & Sekhon 2021):
    half-width^2 = V (V + tau^2) / tau^2 (2 log(1 / a) + log(1 + tau^2 / V)), with tau = `effect`, and with the alpha of
    every start in proportion to its weight. V is that of the weighted average, with each side's rate taken as one over
    the batches, which is never too small where it moves, and with log(1 / a) events and as many others more, the
    sequential form of what Wilson's interval adds (z^2 / 2, with z^2 = 2 log(1 / a)).
    """
    x_a, rows_a, x_b, rows_b = counts = _checked(events_a, n_a, events_b, n_b, alpha, effect)
    weights = _start_weights(len(rows_a))
    sides = _Sums.of(*counts).sides(alpha * weights)
    difference, half = sides.rate_a - sides.rate_b, sides.half_width(1.0, 1.0, effect)
    low, high = np.maximum(difference - half, -1.0), np.minimum(difference + half, 1.0)
    e_value = _e_value(x_a, rows_a, x_b, rows_b, weights, effect)
    return SequentialComparison(
        difference[0], low[0], high[0], np.fmax.reduce(low, axis=0), np.fmin.reduce(high, axis=0), e_value
    )


def ratio_over_time(
    events_a: ArrayLike,
    n_a: ArrayLike,
    events_b: ArrayLike,
    n_b: ArrayLike,
    *,
    alpha: float = 0.05,
    effect: float = 0.02,
) -> SequentialRatio:
    """The ratio of two rates within every batch, with limits that hold however often one looks.

    Parameters and errors are those of `compare_rates_over_time`. The ratios r at which the sequence of rate a - r rate
    b (of rate a / r - rate b above 1) holds 0: Fieller's (1954) way, which needs no logarithm of a rate that may be 0.
    """
    counts = _checked(events_a, n_a, events_b, n_b, alpha, effect)
    sides = _Sums.of(*counts).sides(alpha * _start_weights(len(counts[0])))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sides.rate_a / sides.rate_b
        place = np.where(ratio > 1.0, 2.0 - sides.rate_b / sides.rate_a, ratio)
    place = np.where(np.isnan(place), 1.0, place)
    low = sides.farthest_accepted(place, np.zeros_like(place), effect)
    high = sides.farthest_accepted(place, np.full_like(place, 2.0), effect)
    low, high = (np.where(np.isnan(sides.rate_a + sides.more), np.nan, _ratio_at(one)) for one in (low, high))
    return SequentialRatio(ratio[0], low[0], high[0], np.fmax.reduce(low, axis=0), np.fmin.reduce(high, axis=0))


def discoveries(e_values: Sequence[float], alpha: float = 0.05) -> tuple[bool, ...]:
    """Which of many streams show a difference, with the false discovery rate at most alpha (e-BH).

    The e-values are one per stream, in any dependence; NaN for a stream without evidence yet. Wang & Ramdas (2022):
    reject the k largest, for the largest k with e_(k) >= m / (k alpha).
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
    """What adds up over batches, for the rates of both sides, weighted alike: one entry per batch.

    The variance of a side is the sum of weight^2 rate (1 - rate) / rows, over the square of the sum of weights.
    """

    weight: Floats
    events: tuple[Floats, Floats]
    spread: tuple[Floats, Floats]
    spread_events: tuple[Floats, Floats]

    @classmethod
    def of(cls, x_a: Floats, rows_a: Floats, x_b: Floats, rows_b: Floats) -> _Sums:
        both = (rows_a > 0) & (rows_b > 0)
        a, b = np.where(both, rows_a, 1.0), np.where(both, rows_b, 1.0)
        weight, rates = np.where(both, a * b / (a + b), 0.0), (x_a / a, x_b / b)
        spread = weight**2 / a, weight**2 / b
        return cls(
            weight,
            (weight * rates[0], weight * rates[1]),
            spread,
            (spread[0] * rates[0], spread[1] * rates[1]),
        )

    def sides(self, alpha: Floats) -> _Sides:
        """Both rates over all batches, and over those from later ones on; `alpha` is what each first batch has."""
        batches = self.weight.size
        now = np.arange(batches)
        first = np.stack([np.zeros_like(now), *(now - age + 1 for age in _ages(batches - 1))])
        first[1:][first[1:] < 1] = batches  # no such stretch yet
        more = np.log(1.0 / np.append(alpha, np.nan)[first])
        first = np.minimum(first, now)

        def total(values: Floats) -> Floats:
            so_far = np.concatenate([[0.0], np.cumsum(values)])
            return np.asarray(so_far[now + 1] - so_far[first])

        weight = total(self.weight)
        variances = []
        with np.errstate(divide="ignore", invalid="ignore"):
            for spread, events in zip(self.spread, self.spread_events, strict=True):
                u = total(spread)
                rate, rows = np.clip(total(events) / u, 0.0, 1.0), weight**2 / u
                smooth = (rate * rows + more) / (rows + 2.0 * more)
                variances.append(smooth * (1.0 - smooth) / rows)
            rates = [total(one) / weight for one in self.events]
        return _Sides(rates[0], rates[1], variances[0], variances[1], more)


@dataclass(frozen=True)
class _Sides:
    """Both rates, weighted alike over the batches of each stretch, with their variances: shape (stretches, batches)."""

    rate_a: Floats
    rate_b: Floats
    variance_a: Floats
    variance_b: Floats
    more: Floats

    def half_width(self, a: Floats | float, b: Floats | float, effect: float) -> Floats:
        """Half-width of the sequence of a times one rate less b times the other."""
        v, tau2 = a**2 * self.variance_a + b**2 * self.variance_b, effect**2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.sqrt(v * (v + tau2) / tau2 * (2.0 * self.more + np.log((v + tau2) / v))))

    def farthest_accepted(self, inside: Floats, end: Floats, effect: float) -> Floats:
        """Where the ratios end that are not rejected, by bisection between one that is not and the end of all.

        A ratio r stands at r up to 1, at 2 - 1 / r above.
        """
        accepted, rejected = inside, end
        for step in range(_HALVINGS):
            tried = (accepted + rejected) / 2.0 if step else end
            a, b = np.minimum(1.0, 2.0 - tried), np.minimum(1.0, tried)
            holds = np.abs(a * self.rate_a - b * self.rate_b) <= self.half_width(a, b, effect)
            accepted, rejected = np.where(holds, tried, accepted), np.where(holds, rejected, tried)
        return accepted


def _ratio_at(place: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(place > 1.0, 1.0 / (2.0 - place), place)


def _checked(
    events_a: ArrayLike, n_a: ArrayLike, events_b: ArrayLike, n_b: ArrayLike, alpha: float, effect: float
) -> list[Floats]:
    counts = [np.asarray(one, dtype=np.float64) for one in (events_a, n_a, events_b, n_b)]
    if any((one < 0).any() for one in counts) or (counts[0] > counts[1]).any() or (counts[2] > counts[3]).any():
        raise DataError("Counts must not be negative, and events must not be more than rows.")
    if not 0.0 < alpha < 1.0 or not effect > 0.0:
        raise DataError(f"alpha must lie between 0 and 1, and effect above 0; found {alpha} and {effect}.")
    return counts


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
    comparable = (np.minimum(rows_a, rows_b) > 0) & (rows > 1.0)
    n = np.where(comparable, rows, 2.0)
    surplus = np.where(comparable, x_a - rows_a * events / n, 0.0)
    variance = np.where(comparable, rows_a * rows_b * events * (n - events) / (n * n * (n - 1.0)), 0.0)
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
