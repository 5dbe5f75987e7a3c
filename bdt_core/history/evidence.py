"""Evidence on one pair of groups that stays valid however often one looks."""

from __future__ import annotations

from bdt_core.history.counted import Pair
from bdt_core.inference.sequential import SequentialComparison, compare_rates_over_time


def evidence(pair: Pair, *, alpha: float, effect: float) -> SequentialComparison:
    """Compare a rate on both sides after every batch, on everything counted so far.

    Parameters
    ----------
    pair : Pair
    alpha : float
        Error over all looks together.
    effect : float
        Difference for which the test is sharpest.

    Returns
    -------
    SequentialComparison
    """
    return compare_rates_over_time(
        pair.events, pair.rows, pair.reference_events, pair.reference_rows, alpha=alpha, effect=effect
    )
