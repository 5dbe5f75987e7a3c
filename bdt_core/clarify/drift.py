"""Drift of bias metrics against those of an earlier analysis, and the file in which Model Monitor lists it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bdt_core.clarify.analysis import ClarifyAnalysis
from bdt_core.errors import SourceError
from bdt_core.metrics import CLARIFY
from bdt_core.verdict.comparable import json_of

_SECTIONS = ("pre_training_bias_metrics", "post_training_bias_metrics")
_MEND = "Name an analysis.json that bdt clarify or SageMaker Clarify wrote."
Baseline = Mapping[tuple[str, str, str], float]
"""Values of an earlier analysis by facet, value of the facet and metric."""


@dataclass(frozen=True)
class MetricDrift:
    """A metric then and now.

    Attributes
    ----------
    facet, facet_value, metric : str
        As they stand in analysis.json.
    then, now : float
        May be infinite.
    low, high : float or None
        Interval of the value now.
    """

    facet: str
    facet_value: str
    metric: str
    then: float
    now: float
    low: float | None
    high: float | None

    @property
    def is_violation(self) -> bool:
        """Whether the value now is farther from no bias than that of then."""
        no_bias = CLARIFY[self.metric].no_bias
        return abs(self.now - no_bias) > abs(self.then - no_bias)

    @property
    def may_be_chance(self) -> bool | None:
        """Whether the interval now holds the value of then; None where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= self.then <= self.high


def read_baseline(file: str | Path) -> Baseline:
    """Read the values of an earlier analysis.json, which Model Monitor takes as its constraints.

    Parameters
    ----------
    file : str or Path

    Returns
    -------
    mapping of (str, str, str) to float
        By facet, value of the facet, and metric; without those that have no value.

    Raises
    ------
    SourceError
        It is missing, no JSON, or no analysis.
    """
    document = json_of(Path(file), str(file), _MEND)
    try:
        values = dict(_values(document))
    except (AttributeError, KeyError, TypeError, ValueError):
        values = {}
    if not values:
        raise SourceError(f"{file} has no bias metrics. {_MEND}")
    return values


def _values(document: Any) -> Iterator[tuple[tuple[str, str, str], float]]:
    for section in _SECTIONS:
        for facet, entries in document.get(section, {"facets": {}})["facets"].items():
            for entry in entries:
                for metric in entry["metrics"]:
                    value = math.nan if metric["value"] is None else float(metric["value"])
                    if not math.isnan(value) and metric["name"] in CLARIFY:
                        yield (facet, str(entry["value_or_threshold"]), metric["name"]), value


def drift_of(analysis: ClarifyAnalysis, baseline: Baseline) -> tuple[MetricDrift, ...]:
    """Compare an analysis with an earlier one.

    Parameters
    ----------
    analysis : ClarifyAnalysis
    baseline : mapping
        Of `read_baseline`.

    Returns
    -------
    tuple of MetricDrift
        Metrics that have a value then and now, in the order of analysis.json.

    Raises
    ------
    SourceError
        There is none.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core.clarify import clarify_analysis, read_analysis_config
    >>> config = read_analysis_config({"label": "y", "label_values_or_threshold": [1],
    ...     "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    ...     "methods": {"pre_training_bias": {"methods": ["DPL"]}}})
    >>> found = clarify_analysis(config, pd.DataFrame({"y": [0, 0, 1, 1] * 9, "sex": list("ffmm") * 9}))
    >>> (drift,) = drift_of(found, {("sex", "f", "DPL"): 0.4})
    >>> drift.now, drift.is_violation, drift.may_be_chance
    (1.0, True, False)
    """
    intervals = {}
    for section in _SECTIONS:
        for facet, entries in analysis.analysis.get(section, {"facets": {}})["facets"].items():
            measured = [one for one in analysis.metrics.values() if one.facet == facet]
            places = [(one, i) for one in measured for i in range(len(one["CI"].values))]
            for entry, (of, i) in zip(entries, places, strict=True):
                for metric in entry["metrics"]:
                    name = metric["name"]
                    at = 0 if name == "GE" else i
                    key = facet, str(entry["value_or_threshold"]), name
                    intervals[key] = of[name].low[at], of[name].high[at]
    now = dict(_values(analysis.analysis))
    drifts = tuple(MetricDrift(*key, baseline[key], x, *intervals[key]) for key, x in now.items() if key in baseline)
    if not drifts:
        raise SourceError("The baseline has no metric of these facets and values: there is nothing to compare.")
    return drifts


def constraint_violations(drifts: tuple[MetricDrift, ...]) -> dict[str, Any]:
    """The violations in the shape of SageMaker Model Monitor's constraint_violations.json of bias drift.

    The shape is that of the page "Bias Drift Violations" of the Amazon SageMaker AI Developer Guide,
    docs.aws.amazon.com/sagemaker/latest/dg/clarify-model-monitor-bias-drift-violations.html: a violation is a metric
    that is farther from no bias than in the baseline. There no bias is 0 for every metric; here it is 1 for DI.

    Parameters
    ----------
    drifts : tuple of MetricDrift

    Returns
    -------
    dict

    Examples
    --------
    >>> constraint_violations((MetricDrift("sex", "f", "DPPL", 0.2, 0.1, 0.05, 0.15),))
    {'version': '1.0', 'violations': []}
    >>> worse = constraint_violations((MetricDrift("sex", "f", "DPPL", 0.2, -0.3, -0.4, -0.2),))
    >>> worse["violations"][0]["description"]
    'Value -0.3 does not meet the constraint requirement'
    """
    return {
        "version": "1.0",
        "violations": [
            {
                "facet": one.facet,
                "facet_value": one.facet_value,
                "metric_name": one.metric,
                "constraint_check_type": "bias_drift_check",
                "description": f"Value {_number(one.now)} does not meet the constraint requirement",
            }
            for one in drifts
            if one.is_violation
        ],
    }


def _number(x: float) -> str:
    return repr(x) if math.isfinite(x) else "Infinity" if x > 0 else "-Infinity"
