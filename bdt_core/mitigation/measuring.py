"""Effects of decisions on rows that did not choose them: group metrics, accuracy, and its change on the same rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from bdt_core.fairness import BiasMetrics, Estimate, count_rows, metrics_from_counts
from bdt_core.fairness.persons import count_persons_of
from bdt_core.inference import rate_interval
from bdt_core.mitigation.decisions import Decisions
from bdt_core.mitigation.results import MitigationSettings

_HALVINGS = 60


def group_metrics(rows: Decisions, selected: NDArray[np.bool_], settings: MitigationSettings) -> BiasMetrics:
    """Every metric of the groups under these decisions."""
    frame = pd.DataFrame(
        {"group": rows.group, "label": rows.label.astype(np.int64), "prediction": selected.astype(np.int64)}
    )
    table = count_rows(frame, "group", label="label", prediction="prediction")
    persons = None
    if rows.person is not None:
        cells = count_persons_of(frame, rows.person, table, (1, 1), {})
        persons = cells.moments(len(table.groups))
    return metrics_from_counts(
        table,
        alpha=settings.alpha,
        min_rows=settings.min_rows,
        favourable_outcome=settings.favourable or "positive",
        persons=persons,
    )


def accuracy(rows: Decisions, selected: NDArray[np.bool_], settings: MitigationSettings) -> Estimate:
    """Share of decisions that agree with the label, with Wilson's interval (Jeffreys' below 40 rows)."""
    is_right = selected == rows.label
    right, n = int(is_right.sum()), rows.label.size
    shrink = rows.shrink(is_right.astype(np.int64), settings.alpha)
    low, high = rate_interval(right / shrink, n / shrink, 1.0 - settings.alpha)
    return Estimate(right / n, low, high, None, n, right)


def paired_change(before: NDArray[np.bool_], after: NDArray[np.bool_], alpha: float, shrink: float = 1.0) -> Estimate:
    """Difference of two shares of the same rows, after less before, with Tango's score interval.

    Parameters
    ----------
    before, after : ndarray of bool, shape (n,)
        n of 1 or more.
    alpha : float
        The interval has confidence 1 - alpha.
    shrink : float, default 1
        What rows are divided by to be effective counts, where persons have several.

    Returns
    -------
    Estimate
        In [-1, 1]; `events` are the rows that differ.

    References
    ----------
    Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design. Statistics in Medicine 17, 891-908.

    Examples
    --------
    >>> before, after = np.repeat([1, 1, 0, 0], [53, 8, 16, 9]) == 1, np.repeat([1, 0, 1, 0], [53, 8, 16, 9]) == 1
    >>> found = paired_change(before, after, 0.05)
    >>> round(found.estimate, 4), round(found.low, 4), round(found.high, 4)
    (0.093, -0.0197, 0.2069)
    """
    n = before.size
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    z = float(special.ndtri(1.0 - 0.5 * alpha))
    estimate = (gained - lost) / n
    counts = gained / shrink, lost / shrink, n / shrink
    low, high = (_limit(*counts, z, estimate, outside) for outside in (-1.0, 1.0))
    return Estimate(estimate, low, high, None, n, gained + lost)


def _limit(gained: float, lost: float, n: float, z: float, inside: float, outside: float) -> float:
    """The difference between the estimate and an end of the range at which the score reaches the quantile."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        if abs(_score(gained, lost, n, middle)) < z:
            inside = middle
        else:
            outside = middle
    return 0.5 * (inside + outside)


def _score(gained: float, lost: float, n: float, difference: float) -> float:
    """Tango's statistic of the hypothesis that the shares differ by this much."""
    # The share of lost rows under the hypothesis is the larger root of a x^2 + b x + c = 0.
    a, b = 2.0 * n, -gained - lost + (2.0 * n - gained + lost) * difference
    c = -lost * difference * (1.0 - difference)
    share = (math.sqrt(max(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)
    variance = n * (2.0 * share + difference * (1.0 - difference))
    distance = gained - lost - n * difference
    if variance <= 0.0:
        return 0.0 if distance == 0.0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)
