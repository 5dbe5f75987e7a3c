"""Intervals of single comparisons, widened so that they hold for many comparisons at once (Bonferroni)."""

from __future__ import annotations

from scipy import special

from bdt_core.inference.comparison import Comparison
from bdt_core.inference.persons import EXACT_BY_PERSONS
from bdt_core.inference.proportions import newcombe_interval


def interval_at_once(comparison: Comparison, comparisons: int) -> tuple[float, float] | None:
    """The interval of a difference that holds for so many comparisons at once, from the one that holds for it alone.

    Parameters
    ----------
    comparison : Comparison
    comparisons : int
        How many were made.

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
    persons = comparison.persons
    if comparison.test in ("exact mid-p", EXACT_BY_PERSONS) and events_a is not None and events_b is not None:

        def alone_at(level: float) -> tuple[float, float]:
            counts = (float(events_a), float(comparison.n_a), float(events_b), float(comparison.n_b))
            if persons is not None:
                counts = persons.effective(comparison, level)
            return newcombe_interval(*counts, confidence=1.0 - level)

        alone, widened = alone_at(alpha), alone_at(alpha / comparisons)
        unit = (high - low) / (alone[1] - alone[0])  # of a variable whose two values are not 0 and 1
        return unit * widened[0], unit * widened[1]
    df = min(comparison.n_a, comparison.n_b) - 1 if persons is None or persons.df is None else persons.df
    far, near = (float(special.stdtrit(df, 1.0 - 0.5 * one)) for one in (alpha / comparisons, alpha))
    return difference - far / near * (difference - low), difference + far / near * (high - difference)
