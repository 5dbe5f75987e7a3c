"""Many slices against their complements at once: differences, their spread, shrinkage, and what repeats what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.groups.slices.counting import NO_ITEM, slice_keys
from bdt_core.groups.slices.outcome import CountedOutcome, Outcome
from bdt_core.inference import newcombe_interval, welch_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Contrasts:
    """Slices against their complements.

    Attributes
    ----------
    n, n_rest : ndarray of shape (slices,)
        Rows in the metric's denominator.
    value, difference : ndarray of shape (slices,)
        In the slice, and slice minus complement, in the outcome's units; NaN without rows.
    error : ndarray of shape (slices,)
        Standard error of the difference if the slice did not differ: sqrt(V (1 / n + 1 / n_rest)), where V is the
        variance over all rows.
    harm : ndarray of shape (slices,)
        The difference, positive where the slice fares worse.
    """

    n: Floats
    n_rest: Floats
    value: Floats
    difference: Floats
    error: Floats
    harm: Floats

    def __getitem__(self, which: Any) -> Contrasts:
        parts = (self.n, self.n_rest, self.value, self.difference, self.error, self.harm)
        return Contrasts(*(one[which] for one in parts))

    @property
    def z(self) -> Floats:
        """Harm in standard errors."""
        return self.harm / self.error


def contrasts(
    outcome: Outcome,
    harm_sign: float,
    totals: NDArray[Any],
    whole: NDArray[Any],
    design_effect: float | Floats = 1.0,
    around: NDArray[Any] | None = None,
) -> Contrasts:
    """Compare slices with their complements.

    Parameters
    ----------
    outcome : Outcome
        Gives the units.
    harm_sign : float
        1 when higher is worse, -1 when lower is.
    totals : ndarray of shape (slices, numbers)
    whole : ndarray of shape (numbers,)
        The same over all rows.
    design_effect : float or ndarray of shape (slices,)
        Where persons have several rows: how many times the variance of as many rows of different persons theirs is.
    around : ndarray of shape (slices, numbers), optional
        What each slice is compared with the rest of; by default all rows.
    """
    sums, n = outcome.sums_and_rows(totals)
    all_sums, all_n = outcome.sums_and_rows(whole if around is None else around)
    variance = outcome.variance(whole)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside, rest = sums / n, (all_sums - sums) / (all_n - n)
        error = np.sqrt(design_effect * variance * (1.0 / n + 1.0 / (all_n - n))) * outcome.step
    difference = (inside - rest) * outcome.step
    value = outcome.zero + outcome.step * inside
    return Contrasts(n, all_n - n, value, difference, error, harm_sign * difference)


@dataclass(frozen=True)
class Prior:
    """Mean and variance of the true differences of many slices."""

    mean: float
    variance: float


def prior(slices: Contrasts) -> Prior:
    """How true differences are spread over slices: the mean, and the mean of (difference - mean)^2 - error^2.

    Of slices that the rows at hand did not choose, these are estimates of moments (Hedges and Olkin), and what is
    known of one slice given them is not biased by choosing the largest (Efron 2011). Each slice counts once, so that
    large slices, in which a small group's harm is thin, do not decide how much that group's own slice is shrunk.

    References
    ----------
    Hedges, L. V., Olkin, I. (1985). Statistical Methods for Meta-Analysis, chapter 9. Efron, B., Morris, C. (1975).
    Data analysis using Stein's estimator and its generalizations. JASA 70, 311-319. Efron, B. (2011). Tweedie's
    formula and selection bias. JASA 106, 1602-1614.
    """
    usable = np.isfinite(slices.difference) & np.isfinite(slices.error)
    if not usable.any():
        return Prior(0.0, 0.0)
    difference, error = slices.difference[usable], slices.error[usable]
    mean = float(np.mean(difference))
    return Prior(mean, max(0.0, float(np.mean((difference - mean) ** 2 - error**2))))


def shrunken(slices: Contrasts, prior: Prior) -> Floats:
    """Differences shrunk towards the prior mean: the mean of both, weighted by the inverse of their variances."""
    with np.errstate(invalid="ignore"):
        kept = prior.variance / (prior.variance + slices.error**2) if prior.variance > 0.0 else 0.0 * slices.error
        return prior.mean + (slices.difference - prior.mean) * kept


def places_of_parts(items: NDArray[np.int32]) -> NDArray[np.intp]:
    """Where the slices with one condition less are.

    Parameters
    ----------
    items : ndarray of int32, shape (slices, width)
        Ascending, -1 where there is none; with every slice, the slices of its parts are there too.

    Returns
    -------
    ndarray of shape (slices, width)
        The position of the slice without the j-th condition; -1 where there is no such condition, or no other.
    """
    base = int(items.max(initial=0)) + 2
    keys = slice_keys(items, base)
    order = np.argsort(keys)
    places = np.full(items.shape, NO_ITEM, dtype=np.intp)
    for j in range(items.shape[1]):
        part = np.full_like(items, NO_ITEM)
        part[:, :-1] = np.delete(items, j, axis=1)
        place = order[np.searchsorted(keys, slice_keys(part, base), sorter=order).clip(max=len(order) - 1)]
        is_part = (items[:, j] != NO_ITEM) & (part[:, 0] != NO_ITEM)
        places[is_part, j] = place[is_part]
    return places


def repeats_a_part(items: NDArray[np.int32], rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which slices have the same rows as they have with one condition less.

    Parameters
    ----------
    items : ndarray of int32, shape (slices, width)
        As in `places_of_parts`.
    rows : ndarray of shape (slices,)
    """
    places = places_of_parts(items)
    repeats: NDArray[np.bool_] = ((places != NO_ITEM) & (rows[places] == rows[:, None])).any(axis=1)
    return repeats


def adds_to(
    outcome: Outcome,
    harm_sign: float,
    part: NDArray[Any],
    parent: NDArray[Any],
    alpha: float,
    shrink: float = 1.0,
) -> bool:
    """Whether a slice fares worse than the rest of a slice that holds it: its interval at 1 - alpha excludes 0.

    Parameters
    ----------
    outcome, harm_sign
        As in `contrasts`.
    part, parent : ndarray of shape (numbers,)
        Totals; all rows of `part` are in `parent`.
    shrink : float
        What rows are divided by where persons have several (`bdt_core.inference.comparison.PersonsCompared.shrink`).
    """
    both = np.stack([part, parent - part])
    (sum_in, sum_rest), (n_in, n_rest) = outcome.sums_and_rows(both)
    few = min(n_in, n_rest)
    if isinstance(outcome, CountedOutcome):
        if few < 1:
            return False
        low, high = newcombe_interval(sum_in / shrink, n_in / shrink, sum_rest / shrink, n_rest / shrink, 1.0 - alpha)
    else:
        if few < 2:
            return False
        (mean_in, mean_rest), (variance_in, variance_rest), _ = moments(both[:, 1], both[:, 2], both[:, 0])
        inside, rest = (mean_in, shrink * variance_in, n_in), (mean_rest, shrink * variance_rest, n_rest)
        low, high = welch_interval(*inside, *rest, confidence=1.0 - alpha)
    return bool(low > 0.0) if harm_sign > 0 else bool(high < 0.0)


def moments(sums: Floats, squares: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, sample variance and rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = sums / n
        return mean, np.maximum(squares - n * mean * mean, 0.0) / (n - 1.0), n
