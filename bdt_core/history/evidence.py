"""Evidence on one pair of groups that stays valid however often one looks."""

from __future__ import annotations

from bdt_core.history.counted import Pair
from bdt_core.inference.sequential import (
    SequentialComparison,
    SequentialRatio,
    compare_rates_over_time,
    ratio_over_time,
)


def evidence(pair: Pair, *, alpha: float, effect: float) -> SequentialComparison:
    """Compare a rate on both sides within each batch, on everything counted so far.

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
    return compare_rates_over_time(*pair.effective(), alpha=alpha, effect=effect)


def evidence_of_ratio(pair: Pair, *, alpha: float, effect: float) -> SequentialRatio:
    """The ratio of a rate on both sides, with the parameters of `evidence`."""
    return ratio_over_time(*pair.effective(), alpha=alpha, effect=effect)
