"""Intervals of single comparisons, widened so that they hold for many comparisons at once (Bonferroni)."""

from __future__ import annotations

import math

from scipy import special

from bdt_core.inference.comparison import DETECTION_POWER, EXACT, Comparison
from bdt_core.inference.multiplicity import Correction
from bdt_core.inference.persons import EXACT_BY_PERSONS
from bdt_core.inference.power import rate_difference_beyond
from bdt_core.inference.proportions import newcombe_interval


def corrected_interval(
    comparison: Comparison, p_adjusted: float | None, *, correction: Correction, tests: int, rejected: int
) -> tuple[float, float] | None:
    """The interval that belongs beside a corrected p-value, so that the two never say different things.

    Parameters
    ----------
    comparison : Comparison
    p_adjusted : float or None
        Of the comparison, over its family.
    correction : {"holm", "bonferroni", "bh", "none"}
    tests : int
        Tests in the family.
    rejected : int
        How many of them are significant.

    Returns
    -------
    low, high : float, or None
        None where nothing was tested. It has 0 inside just when the corrected p-value exceeds alpha.

    Notes
    -----
    Holm and Bonferroni: at 1 - alpha / tests, so that all hold at once; of what only Holm's steps reject, the direction
    is known and no more (Guilbaud, Biometrical Journal 50, 2008). Benjamini-Hochberg: at 1 - rejected alpha / tests,
    so that of the reported intervals a share of alpha is wrong on average (Benjamini and Yekutieli, JASA 100, 2005).

    Examples
    --------
    >>> from bdt_core.inference import compare_counts
    >>> one = compare_counts(56, 70, 48, 80)
    >>> told = [corrected_interval(one, p, correction="holm", tests=10, rejected=3) for p in (0.04, 0.1)]
    >>> [[round(x, 4) for x in interval] for interval in told]
    [[0.0, 0.3855], [-0.0122, 0.3855]]
    """
    if p_adjusted is None:
        return None
    of = {"none": 1.0, "bh": tests / max(rejected, 1)}.get(correction, float(tests))
    interval = interval_at_once(comparison, of)
    if interval is None:
        return None
    low, high = interval
    if p_adjusted > 1.0 - comparison.confidence + 1e-12:
        return min(low, 0.0), max(high, 0.0)
    return (max(low, 0.0), high) if (comparison.difference or 0.0) > 0 else (low, min(high, 0.0))


def interval_at_once(comparison: Comparison, comparisons: float) -> tuple[float, float] | None:
    """The interval of a difference that holds for so many comparisons at once, from the one that holds for it alone.

    Parameters
    ----------
    comparison : Comparison
    comparisons : float
        How many were made, or how many this one stands for.

    Returns
    -------
    low, high : float, or None
        In the variable's units, positive when a has the higher mean; None where nothing was compared.

    Notes
    -----
    Each interval is taken at 1 - alpha / comparisons. Rates: Newcombe's interval from the same counts, to the digit.
    Means: the arms are stretched by the ratio of the quantiles of t. Welch's degrees of freedom lie between those of
    the smaller group and those of both; with the fewest of them the stretch is largest, so the interval is never too
    short. Where the critical values were permuted, the same stretch stands in for values farther out.

    Examples
    --------
    >>> from bdt_core.inference import compare_counts
    >>> one = compare_counts(56, 70, 48, 80)
    >>> [round(x, 4) for x in interval_at_once(one, 1)], [round(x, 4) for x in interval_at_once(one, 10)]
    ([0.0524, 0.3339], [-0.0122, 0.3855])
    """
    difference, low, high = comparison.difference, comparison.low, comparison.high
    if difference is None or low is None or high is None:
        return None
    if comparisons <= 1:
        return low, high
    alpha = 1.0 - comparison.confidence
    events_a, events_b = comparison.events_a, comparison.events_b
    if comparison.test in (EXACT, EXACT_BY_PERSONS) and events_a is not None and events_b is not None:
        alone, widened = (
            newcombe_interval(*_counts(comparison, one), confidence=1.0 - one) for one in (alpha, alpha / comparisons)
        )
        unit = (high - low) / (alone[1] - alone[0])  # of a variable whose two values are not 0 and 1
        return unit * widened[0], unit * widened[1]
    df = _fewest_df(comparison)
    far, near = (float(special.stdtrit(df, 1.0 - 0.5 * one)) for one in (alpha / comparisons, alpha))
    return difference - far / near * (difference - low), difference + far / near * (high - difference)


def interval_of_selected(comparison: Comparison, comparisons: float, *, harm_is_up: bool) -> tuple[float, float] | None:
    """The interval of a difference that was selected because it is harmful enough.

    Selection pushes differences towards harm and never away from it. So the end that is nearer to no difference is the
    one of an interval for all `comparisons` that this one stands for; the other end is that of this one alone, which
    covers no less often among the selected than among all.

    Parameters
    ----------
    comparison : Comparison
    comparisons : float
        1: it was not selected, and has its own interval.
    harm_is_up : bool
        Whether a positive difference is harm.

    Returns
    -------
    low, high : float, or None
        As in `interval_at_once`.

    Examples
    --------
    >>> from bdt_core.inference import compare_counts
    >>> one = compare_counts(56, 70, 48, 80)
    >>> [round(x, 4) for x in interval_of_selected(one, 10, harm_is_up=True)]
    [-0.0122, 0.3339]
    """
    alone, widened = interval_at_once(comparison, 1.0), interval_at_once(comparison, comparisons)
    if alone is None or widened is None:
        return None
    return (widened[0], alone[1]) if harm_is_up else (alone[0], widened[1])


def difference_found_beyond(
    comparison: Comparison, limit: float, comparisons: float, *, harm_is_up: bool, power: float = DETECTION_POWER
) -> float | None:
    """The smallest true harm whose interval, for so many comparisons at once, lies beyond a limit with 80 % power.

    Parameters
    ----------
    comparison : Comparison
        Its rows, the rate or spread of b, and the length of its interval say how much can be seen.
    limit : float
        Harm that is tolerated, 0 or more, in the variable's units.
    comparisons : float
        How many were made, or how many this one stands for.
    harm_is_up : bool
        Whether a positive difference is harm.
    power : float

    Returns
    -------
    float or None
        Harm, above the limit; None where nothing was compared or no harm would be found.

    Examples
    --------
    >>> from bdt_core.inference import compare_counts
    >>> one = compare_counts(14, 100, 200, 2000)
    >>> [round(difference_found_beyond(one, x, k, harm_is_up=True), 3) for x, k in ((0.0, 1), (0.05, 1), (0.05, 10))]
    [0.094, 0.159, 0.191]
    """
    difference, low, high = comparison.difference, comparison.low, comparison.high
    if difference is None or low is None or high is None:
        return None
    alpha = 1.0 - comparison.confidence
    each = alpha / max(comparisons, 1.0)
    events_a, events_b = comparison.events_a, comparison.events_b
    if comparison.test in (EXACT, EXACT_BY_PERSONS) and events_a is not None and events_b is not None:
        alone = newcombe_interval(*_counts(comparison, alpha), confidence=1.0 - alpha)
        unit = (high - low) / (alone[1] - alone[0])
        step = (
            1.0 if comparison.mean_a == events_a / comparison.n_a else unit
        )  # of a variable whose two values are not 0 and 1
        _, n_a, of_b, n_b = _counts(comparison, each)
        base = (of_b + 1.0) / (n_b + 2.0)  # so that a rate of 0 has a variance, too
        base = base if harm_is_up else 1.0 - base
        beyond = step * rate_difference_beyond(
            limit / step, n_a, n_b, base_rate=base, alpha=each, power=power, inflation=unit / step
        )
        return beyond if math.isfinite(beyond) else None
    df = _fewest_df(comparison)
    far, near = (float(special.stdtrit(df, 1.0 - 0.5 * one)) for one in (each, alpha))
    return limit + (far + float(special.stdtrit(df, power))) * (high - low) / (2.0 * near)


def _counts(comparison: Comparison, alpha: float) -> tuple[float, float, float, float]:
    """Events and rows of a, then of b; effective ones at level alpha where persons have several rows."""
    assert comparison.events_a is not None
    assert comparison.events_b is not None
    if comparison.persons is not None:
        return comparison.persons.effective(comparison, alpha)
    return comparison.events_a, comparison.n_a, comparison.events_b, comparison.n_b


def _fewest_df(comparison: Comparison) -> float:
    """Degrees of freedom of the smaller group, or by persons."""
    persons = comparison.persons
    return min(comparison.n_a, comparison.n_b) - 1 if persons is None or persons.df is None else persons.df
