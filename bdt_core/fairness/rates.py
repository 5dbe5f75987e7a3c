"""Rates of groups from their counts, and the intervals of rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from bdt_core.fairness.confusion import Cells, Confusion, Floats, coefficients, kish_rows
from bdt_core.inference import rate_interval
from bdt_core.metrics import Proportion


class CountedRate(NamedTuple):
    """A rate per group: events and rows as counted, the (weighted) estimate, and effective counts for intervals.

    `size` is the number of persons among whom events are counted, which are the rows unless persons have several. The
    groups are the last axis; several rates evaluated at once have the rates as the first.
    """

    events: Floats
    n: Floats
    estimate: Floats
    effective_events: Floats
    effective_n: Floats
    size: Floats

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Wilson's interval, Jeffreys' below 40 rows."""
        low, high = rate_interval(self.effective_events, self.effective_n, confidence)
        return np.asarray(low), np.asarray(high)


def evaluate(proportion: Proportion, cells: Cells) -> CountedRate:
    """Evaluate a rate for every group; 0/0 is NaN."""
    return _evaluated(cells, proportion.events, proportion.among)


def evaluate_all(proportions: Sequence[Proportion], cells: Cells) -> CountedRate:
    """Evaluate several rates at once: every part has shape (rates, groups)."""
    return _evaluated(
        cells,
        lambda c: np.array([one.events(c) for one in proportions]),
        lambda c: np.array([one.among(c) for one in proportions]),
    )


def _evaluated(
    cells: Cells, events_of: Callable[[Confusion], Floats], among_of: Callable[[Confusion], Floats]
) -> CountedRate:
    events, n = events_of(cells.rows), among_of(cells.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        if cells.persons is not None:
            of_rows, of_events = coefficients(among_of), coefficients(events_of)
            shrink = cells.persons.shrink(n, of_rows, of_events, events)
            return CountedRate(events, n, events / n, events / shrink, n / shrink, cells.persons.number(of_rows))
        if not cells.weighted:
            return CountedRate(events, n, events / n, events, n, n)
        weight, squares = among_of(cells.weights), among_of(cells.squares)
        estimate = np.clip(events_of(cells.weights) / weight, 0.0, 1.0)
    effective = kish_rows(n, weight, squares)
    return CountedRate(events, n, estimate, np.where(weight > 0, estimate * effective, 0.0), effective, n)
