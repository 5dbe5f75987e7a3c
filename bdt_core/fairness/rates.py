"""Rates of a group: what they count, and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bdt_core.errors import SpecError, did_you_mean
from bdt_core.fairness.confusion import Cells, Confusion, Floats, kish_rows
from bdt_core.inference import rate_interval


@dataclass(frozen=True)
class RateDefinition:
    """A rate: events among some rows.

    Attributes
    ----------
    name : str
    events, among : callable
        From confusion counts to the numerator and the denominator.
    nobody : str
        What is missing when the denominator is 0.
    needs_label, needs_prediction : bool
    """

    name: str
    events: Callable[[Confusion], Floats]
    among: Callable[[Confusion], Floats]
    nobody: str
    needs_label: bool = True
    needs_prediction: bool = True


class Rate(NamedTuple):
    """A rate per group: events and rows as counted, the (weighted) estimate, and effective counts for intervals.

    The groups are the last axis; several rates evaluated at once have the rates as the first.
    """

    events: Floats
    n: Floats
    estimate: Floats
    effective_events: Floats
    effective_n: Floats

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Wilson's interval, Jeffreys' below 40 rows."""
        low, high = rate_interval(self.effective_events, self.effective_n, confidence)
        return np.asarray(low), np.asarray(high)


_PLABEL, _NLABEL = "nobody with a positive label", "nobody with a negative label"
_PPRED, _NPRED = "nobody with a positive prediction", "nobody with a negative prediction"

RATES = {
    one.name: one
    for one in (
        RateDefinition("selection_rate", lambda c: c.predicted_positives, lambda c: c.n, "no rows", needs_label=False),
        RateDefinition("true_positive_rate", lambda c: c.tp, lambda c: c.positives, _PLABEL),
        RateDefinition("false_positive_rate", lambda c: c.fp, lambda c: c.negatives, _NLABEL),
        RateDefinition("true_negative_rate", lambda c: c.tn, lambda c: c.negatives, _NLABEL),
        RateDefinition("false_negative_rate", lambda c: c.fn, lambda c: c.positives, _PLABEL),
        RateDefinition("positive_predictive_value", lambda c: c.tp, lambda c: c.predicted_positives, _PPRED),
        RateDefinition("negative_predictive_value", lambda c: c.tn, lambda c: c.predicted_negatives, _NPRED),
        RateDefinition("false_discovery_rate", lambda c: c.fp, lambda c: c.predicted_positives, _PPRED),
        RateDefinition("false_omission_rate", lambda c: c.fn, lambda c: c.predicted_negatives, _NPRED),
        RateDefinition("accuracy", lambda c: c.tp + c.tn, lambda c: c.n, "no rows"),
        RateDefinition("prevalence", lambda c: c.positives, lambda c: c.n, "no rows", needs_prediction=False),
    )
}
"""The rates, by name. Which way is worse depends on what a positive prediction means to the person."""

# F1 = 2 J / (1 + J), where J = TP / (TP + FP + FN) is a proportion: its interval carries over.
JACCARD = RateDefinition(
    "jaccard", lambda c: c.tp, lambda c: c.tp + c.fp + c.fn, "nobody with a positive label or prediction"
)
# FN / FP = p / (1 - p), where p = FN / (FN + FP) is a proportion.
FALSE_NEGATIVE_SHARE = RateDefinition("false_negative_share", lambda c: c.fn, lambda c: c.fn + c.fp, "no errors")

SHORT_NAMES = {
    "tpr": "true_positive_rate",
    "fpr": "false_positive_rate",
    "tnr": "true_negative_rate",
    "fnr": "false_negative_rate",
    "ppv": "positive_predictive_value",
    "npv": "negative_predictive_value",
    "fdr": "false_discovery_rate",
    "for": "false_omission_rate",
    "recall": "true_positive_rate",
    "specificity": "true_negative_rate",
    "precision": "positive_predictive_value",
    "f1": "f1_score",
    "brier": "brier_score",
}


def rate_definition(name: str) -> RateDefinition:
    """Return the rate of a name or a usual abbreviation.

    Raises
    ------
    SpecError
        Unknown name.

    Examples
    --------
    >>> rate_definition("fpr").name
    'false_positive_rate'
    """
    full = SHORT_NAMES.get(name.lower(), name)
    if full not in RATES:
        raise SpecError(f'Unknown rate "{name}". {did_you_mean(name, [*RATES, *SHORT_NAMES])}')
    return RATES[full]


def evaluate(definition: RateDefinition, cells: Cells) -> Rate:
    """Evaluate a rate for every group; 0/0 is NaN."""
    return _evaluated(cells, definition.events, definition.among)


def evaluate_all(definitions: Sequence[RateDefinition], cells: Cells) -> Rate:
    """Evaluate several rates at once: every part has shape (rates, groups)."""
    return _evaluated(
        cells,
        lambda c: np.array([one.events(c) for one in definitions]),
        lambda c: np.array([one.among(c) for one in definitions]),
    )


def _evaluated(cells: Cells, events_of: Callable[[Confusion], Floats], among_of: Callable[[Confusion], Floats]) -> Rate:
    events, n = events_of(cells.rows), among_of(cells.rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        if not cells.weighted:
            return Rate(events, n, events / n, events, n)
        weight, squares = among_of(cells.weights), among_of(cells.squares)
        estimate = np.clip(events_of(cells.weights) / weight, 0.0, 1.0)
    effective = kish_rows(n, weight, squares)
    return Rate(events, n, estimate, np.where(weight > 0, estimate * effective, 0.0), effective)
