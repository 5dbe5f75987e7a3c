"""A way over from SageMaker Clarify: its analysis_config.json in, an analysis.json in its shape out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bdt_core.clarify.config import ClarifyConfig
from bdt_core.clarify.data import (
    Kind,
    asked_values,
    flip_features,
    kind_of,
    named_column,
    optional_column,
    spoken_values,
    with_headers,
    with_predictions,
)
from bdt_core.errors import OutputError, SpecError
from bdt_core.fairness.coding import Threshold, Value
from bdt_core.fairness.confusion import refuse_absent
from bdt_core.fairness.counting import count_rows
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.from_rows import bias_metrics
from bdt_core.fairness.metric_results import BiasMetrics, group_name
from bdt_core.metrics import CLARIFY


@dataclass(frozen=True)
class ClarifyAnalysis:
    """The metrics, per facet.

    Attributes
    ----------
    analysis : dict
        The document in Clarify's shape.
    metrics : dict of str to BiasMetrics
        The same with intervals, per facet; a facet that is asked for twice has "facet = values" as its second name.
    remarks : tuple of str
        What was read differently, or could not be used.
    signs : {"paper", "smclarify"}
        Sign of the flip test.
    """

    analysis: dict[str, Any]
    metrics: dict[str, BiasMetrics] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    signs: Sign = "paper"

    def table(self) -> pd.DataFrame:
        """All estimates of all facets with their intervals, one per line; see `BiasMetrics.table`."""
        return pd.concat([one.table() for one in self.metrics.values()], ignore_index=True)


def clarify_analysis(
    config: ClarifyConfig,
    frame: pd.DataFrame,
    *,
    signs: Sign = "paper",
    kinds: Mapping[str, Kind] | None = None,
    alpha: float = 0.05,
) -> ClarifyAnalysis:
    """Compute what the configuration asks for.

    Parameters
    ----------
    config : ClarifyConfig
    frame : DataFrame
        The data; columns are renamed to the configuration's headers when it has some.
    signs : {"paper", "smclarify"}
        Sign of the flip test.
    kinds : mapping of column to {"continuous", "values"}, optional
        Whether `value_or_threshold` is a threshold for that column. By default it is one for columns of floats that
        are not all whole, never by the number of distinct values.
    alpha : float
        Intervals in `metrics` have confidence 1 - alpha.

    Returns
    -------
    ClarifyAnalysis

    Raises
    ------
    SpecError, DataError
        A column that does not exist, headers or values that do not fit, a favourable value that no row has, or rows
        that cannot be compared.

    Examples
    --------
    >>> from bdt_core.clarify import read_analysis_config
    >>> config = read_analysis_config({"label": "y", "label_values_or_threshold": [1],
    ...     "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    ...     "methods": {"pre_training_bias": {"methods": ["DPL"]}}})
    >>> found = clarify_analysis(config, pd.DataFrame({"y": [0, 0, 1, 1] * 9, "sex": list("ffmm") * 9}))
    >>> found.analysis["pre_training_bias_metrics"]["facets"]["sex"][0]["metrics"][0]["value"]
    1.0
    """
    frame = with_headers(frame, config)
    remarks = list(config.remarks)
    label = named_column(config.label, frame, "label")
    prediction = optional_column(config.predicted_label, frame, "predicted_label")
    group = optional_column(config.group_variable, frame, "group_variable")
    chosen = dict(kinds or {})
    for name in chosen:
        named_column(name, frame, "kinds (--continuous)")
    positive = asked_values(
        frame, label, config.label_values_or_threshold, chosen, remarks, "label_values_or_threshold"
    )
    of_prediction = None
    if prediction is not None:
        frame, of_prediction = with_predictions(frame, label, prediction, positive, config, remarks)
    elif config.post_training:
        remarks.append("post_training_bias: needs predicted_label; its metrics are undefined.")
    _check_favourable(frame, label, prediction, positive, of_prediction)
    taken = {
        label,
        prediction,
        group,
        *(named_column(one, frame, "excluded_columns") for one in config.excluded_columns),
    }
    taken.add(optional_column(config.joinsource, frame, "joinsource_name_or_index"))
    results: dict[str, BiasMetrics] = {}
    entries: dict[str, dict[str, list[dict[str, Any]]]] = {"pre_training": {}, "post_training": {}}
    for one in config.facets:
        facet = named_column(one.name_or_index, frame, "facet.name_or_index")
        values = None
        if one.value_or_threshold is None and kind_of(frame[facet], facet, chosen) == "continuous":
            raise SpecError(f'facet.value_or_threshold: "{facet}" is continuous and needs a threshold, such as [40.5].')
        if one.value_or_threshold is not None:
            values = asked_values(frame, facet, one.value_or_threshold, chosen, remarks, "facet.value_or_threshold")
        wants_flip = prediction is not None and "FT" in config.post_training
        features = flip_features(frame, taken | {facet}, remarks) if wants_flip else []
        found = bias_metrics(
            frame,
            facet=facet,
            label=label,
            prediction=prediction,
            positive=positive,
            positive_prediction=of_prediction,
            group=group,
            facet_values=values,
            features=features or None,
            flip_sign=signs,
            alpha=alpha,
        )
        spoken = None if values is None else spoken_values(frame, facet, values)
        results[facet if facet not in results else f"{facet} = {spoken or 'each value'}"] = found
        for section, wanted in (("pre_training", config.pre_training), ("post_training", config.post_training)):
            entries[section].setdefault(facet, []).extend(_entries(found, wanted, spoken))
        remarks += [f"{facet}: {note}" for note in found.notes]
    document: dict[str, Any] = {"version": "1.0"}
    for section, wanted in (("pre_training", config.pre_training), ("post_training", config.post_training)):
        if wanted:
            document[f"{section}_bias_metrics"] = {
                "label": label,
                "facets": entries[section],
                "label_value_or_threshold": spoken_values(frame, label, positive),
            }
    return ClarifyAnalysis(document, results, tuple(dict.fromkeys(remarks)), signs)


def _check_favourable(
    frame: pd.DataFrame,
    label: str,
    prediction: str | None,
    positive: tuple[Value, ...] | Threshold,
    of_prediction: tuple[Value, ...] | Threshold | None,
) -> None:
    """Refuse favourable values that no row has, by the configuration's own keys."""
    wanted = ((label, positive), (prediction, of_prediction))
    cuts = {name: one for name, one in wanted if name is not None and isinstance(one, Threshold)}
    table = count_rows(frame, label, label=label, prediction=prediction, thresholds=cuts)
    key = "label_values_or_threshold"
    made = of_prediction is not None and of_prediction is not positive  # of probabilities
    refuse_absent(table, positive, of_prediction or positive, (key, "probability_threshold" if made else key))


def write_analysis(analysis: ClarifyAnalysis, folder: str | Path) -> Path:
    """Write analysis.json into a folder, which is made if need be.

    Raises
    ------
    OutputError
        The folder cannot be written to.
    """
    path = Path(folder) / "analysis.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(analysis.analysis, indent=4, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror}.") from None
    return path


def _entries(result: BiasMetrics, wanted: tuple[str, ...], spoken: str | None) -> list[dict[str, Any]]:
    """One entry per d of a facet, its metrics sorted by name."""
    entries = []
    for i, group in enumerate(result["CI"].values):
        metrics = []
        for name in sorted(wanted):
            metric = result[name]
            at = 0 if name == "GE" else i  # no facet enters GE: it stands in every entry
            value, reason = metric.estimate[at], metric.undefined_reason[at]
            one: dict[str, Any] = {
                "name": name,
                "description": f"{CLARIFY[name].title} ({name})",
                "value": _json_value(value),
            }
            metrics.append(one if reason is None else {**one, "error": reason})
        entries.append({"value_or_threshold": spoken or group_name(group), "metrics": metrics})
    return entries


def _json_value(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
