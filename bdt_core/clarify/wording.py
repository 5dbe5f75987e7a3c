"""How Clarify's metrics are read: their value without bias, which side is worse, and what stands where."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from bdt_core import words
from bdt_core.clarify.analysis import ClarifyAnalysis
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.metric_results import BiasMetrics, Metric, group_name

GROUPS_SHOWN = 20
Side = Literal["worse", "better", "untold", "undefined"]


class Reading(NamedTuple):
    """How a metric is read: its value without bias, the side on which d is worse off, and what that side means."""

    no_bias: float
    worse: int
    means: str


_DISTANCE = Reading(0.0, 0, "distance between the label distributions of d and a; it has no direction")
READINGS = {
    "CI": Reading(0.0, 0, "above 0: d is the smaller part of the rows"),
    "DPL": Reading(0.0, 1, "above 0: d has the favourable label less often"),
    "CDDL": Reading(0.0, 1, "above 0: within the strata, d has more of the unfavourable labels than of the others"),
    "KL": _DISTANCE,
    "JS": _DISTANCE,
    "LP": _DISTANCE,
    "TVD": _DISTANCE,
    "KS": _DISTANCE,
    "DPPL": Reading(0.0, 1, "above 0: d gets a favourable prediction less often"),
    "DI": Reading(1.0, -1, "below 1: d gets a favourable prediction less often; below 0.8 breaks the 4/5 rule"),
    "CDDPL": Reading(0.0, 1, "above 0: within the strata, d has more of the unfavourable predictions"),
    "FT": Reading(0.0, 1, "above 0: d is predicted unfavourable where similar rows of a are predicted favourable"),
    "AD": Reading(0.0, 1, "above 0: predictions for d are right less often"),
    "RD": Reading(0.0, 1, "above 0: favourable labels in d are missed more often"),
    "DCA": Reading(0.0, -1, "below 0: d gets fewer favourable predictions per favourable label than a"),
    "DAR": Reading(0.0, 0, "above 0: favourable predictions for d are wrong more often"),
    "SD": Reading(0.0, 0, "above 0: unfavourable labels in d are recognised more often"),
    "DCR": Reading(0.0, -1, "below 0: d gets more unfavourable predictions per unfavourable label than a"),
    "DRR": Reading(0.0, -1, "below 0: unfavourable predictions for d are wrong more often"),
    "TE": Reading(0.0, 1, "above 0: per undeserved favourable prediction, d has more missed favourable labels"),
    "GE": Reading(0.0, 0, "above 0: errors benefit some and cost others; no facet enters it"),
}
_UNSIGNED = ("KL", "JS", "LP", "TVD", "KS", "DI", "GE")
TABLES = (
    ("Labels, before training", ("CI", "DPL", "CDDL", "KL", "JS", "LP", "TVD", "KS")),
    ("Who gets favourable predictions", ("DPPL", "DI", "CDDPL", "FT")),
    ("How well predictions fit", ("AD", "RD", "DCA", "DAR", "SD", "DCR", "DRR", "TE", "GE")),
)
_SIDES: dict[Side, str] = {
    "worse": "worse off by",
    "better": "better off by",
    "untold": "cannot be told:",
    "undefined": "undefined:",
}


def wanted_metrics(analysis: ClarifyAnalysis) -> list[str]:
    """Names of the metrics that were asked for, in the order of the report."""
    found = {
        metric["name"]
        for section in ("pre_training_bias_metrics", "post_training_bias_metrics")
        for entries in analysis.analysis.get(section, {"facets": {}})["facets"].values()
        for entry in entries
        for metric in entry["metrics"]
    }
    return [name for _, names in TABLES for name in names if name in found]


def summary_lines(analysis: ClarifyAnalysis) -> list[str]:
    """For each d: by which metrics it is worse off, interval and all, and by which better."""
    wanted = wanted_metrics(analysis)
    lines = []
    for found in analysis.metrics.values():
        groups = largest(found)
        for i in groups:
            told = "; ".join(_answers(found, wanted, i, analysis.signs)) or "no metric with a direction was asked for"
            lines.append(f"{who(found, i)}: {told}.")
        if len(groups) < len(found["CI"].values):
            lines.append(f"{len(found['CI'].values) - len(groups)} smaller groups stand in metrics.csv only.")
    return lines


def _answers(found: BiasMetrics, wanted: Sequence[str], i: int, signs: Sign) -> Iterator[str]:
    sides: dict[Side, list[str]] = {side: [] for side in _SIDES}
    for name in wanted:
        if name != "GE" and (READINGS[name].worse or found[name].estimate[i] is None):
            sides[side_of(found[name], i, signs)].append(name)
    for side, names in sides.items():
        if names:
            yield f"{_SIDES[side]} {', '.join(names)}"


def who(found: BiasMetrics, i: int) -> str:
    """One d with its facet."""
    value = group_name(found["CI"].values[i])
    return f"{found.facet} {value}" if value.startswith((">", "<=")) else f"{found.facet} = {value}"


def side_of(metric: Metric, i: int, signs: Sign) -> Side:
    """On which side of no bias the whole interval lies."""
    low, high, reading = metric.low[i], metric.high[i], READINGS[metric.name]
    worse = -reading.worse if metric.name == "FT" and signs == "smclarify" else reading.worse
    if metric.estimate[i] is None:
        return "undefined"
    if low is None or high is None or not worse or low <= reading.no_bias <= high:
        return "untold"
    return "worse" if (low > reading.no_bias) == (worse > 0) else "better"


def meaning(name: str, signs: Sign) -> str:
    """What a metric says on the side that is worse for d."""
    means = READINGS[name].means
    return means.replace("above 0", "below 0") if name == "FT" and signs == "smclarify" else means


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
    return f"{words.MINUS if x < 0 else '' if name in _UNSIGNED else '+'}{size}"


def largest(found: BiasMetrics) -> list[int]:
    """Places of the largest d's, at most so many as a page can hold, in their own order."""
    n = found["CI"].n
    return sorted(sorted(range(len(n)), key=lambda i: -n[i])[:GROUPS_SHOWN])
