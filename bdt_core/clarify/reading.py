"""Reading metrics of a Clarify analysis: who is meant, on which side a value lies, and how it is written."""

from __future__ import annotations

import math
from typing import Literal

from bdt_core import words
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.metric_results import BiasMetrics, Metric, group_name
from bdt_core.metrics import CLARIFY

GROUPS_SHOWN = 20
Side = Literal["worse", "better", "untold", "undefined"]


def who(measured: BiasMetrics, i: int) -> str:
    """One d with its facet."""
    value = group_name(measured["CI"].values[i])
    return (
        f"{measured.facet} {value}" if value.startswith((">", "<=")) else words.value_condition(measured.facet, value)
    )


def side_of(metric: Metric, i: int, signs: Sign) -> Side:
    """On which side of no bias the whole interval lies."""
    low, high, reading = metric.low[i], metric.high[i], CLARIFY[metric.name]
    worse = -reading.worse if metric.name == "FT" and signs == "smclarify" else reading.worse
    if metric.estimate[i] is None:
        return "undefined"
    if low is None or high is None or not worse or low <= reading.no_bias <= high:
        return "untold"
    return "worse" if (low > reading.no_bias) == (worse > 0) else "better"


def meaning(name: str, signs: Sign) -> str:
    """What a metric says on the side that is worse for d."""
    means = CLARIFY[name].means
    return means.replace("above 0", "below 0") if name == "FT" and signs == "smclarify" else means


def span(name: str) -> str:
    """Between which values a metric lies by its formula.

    Examples
    --------
    >>> span("DPL"), span("DI"), span("DCA")
    ('−1 to +1', '0 or more', 'any number')
    """
    low, high = CLARIFY[name].lowest, CLARIFY[name].highest
    if math.isinf(low):
        return "any number"
    if math.isinf(high):
        return f"{low:g} or more"
    return f"{low:g} to {'+' if low < 0 else ''}{high:.4g}".replace("-", words.MINUS)


def figure(x: float | None, name: str) -> str:
    """A metric's value with the digits that are compared with Clarify's; signed where the sign means something.

    Examples
    --------
    >>> figure(0.200158, "DPL"), figure(-0.0074, "DAR"), figure(0.32939, "DI"), figure(math.inf, "TE")
    ('+0.2002', '−0.0074', '0.3294', 'infinite')
    """
    if x is None or not math.isfinite(x):
        return words.number(x)
    size = f"{abs(x):.4f}" if abs(x) < 1000 else words.number(abs(x))
    if float(size.replace(",", "")) == 0.0:
        return size
    return f"{words.MINUS if x < 0 else '+' if CLARIFY[name].signed else ''}{size}"


def largest(measured: BiasMetrics) -> list[int]:
    """Places of the largest d's, at most so many as a page can hold, in their own order."""
    n = measured["CI"].n
    return sorted(sorted(range(len(n)), key=lambda i: -n[i])[:GROUPS_SHOWN])
