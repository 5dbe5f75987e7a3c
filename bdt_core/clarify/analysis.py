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
from bdt_core.clarify.segments import segments_of
from bdt_core.errors import DataError, OutputError, SpecError
from bdt_core.fairness.coding import Threshold, Value
from bdt_core.fairness.counting import count_rows
from bdt_core.fairness.favourable import refuse_absent
from bdt_core.fairness.flips import Distance, Sign
from bdt_core.fairness.from_rows import bias_metrics
from bdt_core.fairness.metric_results import BiasMetrics, group_name
from bdt_core.metrics import CLARIFY
from bdt_core.table.frames import AnyTable, handed_over


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
    flip_distance : {"standardised", "raw"}
        Its units.
    segments : dict of str to ClarifyAnalysis
        The same for each segment that is asked for, by its name.
    """

    analysis: dict[str, Any]
    metrics: dict[str, BiasMetrics] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    signs: Sign = "paper"
    flip_distance: Distance = "standardised"
    segments: dict[str, ClarifyAnalysis] = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """All estimates of all facets with their intervals, one per line; see `BiasMetrics.table`.

        With segments, their lines come after those of all rows, and the first column names them.
        """
        table = pd.concat([one.table() for one in self.metrics.values()], ignore_index=True)
        if not self.segments:
            return table
        table.insert(0, "segment", None)
        of_segments = [one.table() for one in self.segments.values()]
        for metrics, name in zip(of_segments, self.segments, strict=True):
            metrics.insert(0, "segment", name)
        return pd.concat([table.astype({"segment": object}), *of_segments], ignore_index=True)


def clarify_analysis(
    config: ClarifyConfig,
    frame: AnyTable,
    *,
    signs: Sign = "paper",
    flip_distance: Distance = "standardised",
    kinds: Mapping[str, Kind] | None = None,
    alpha: float = 0.05,
) -> ClarifyAnalysis:
    """Compute what the configuration asks for.

    Parameters
    ----------
    config : ClarifyConfig
    frame : DataFrame, Arrow table or dict of columns
        The data; columns are renamed to the configuration's headers when it has some.
    signs : {"paper", "smclarify"}
        Sign of the flip test.
    flip_distance : {"standardised", "raw"}
        Units of the flip test: those of the columns ("raw") are Clarify's.
    kinds : mapping of column to {"continuous", "values"}, optional
        Whether `value_or_threshold` is a threshold for that column. By default it is one for columns of floats that
        are not all whole, and where it is no whole number. One whole number for a facet is read as Clarify reads it: a
        threshold for floats, and for whole numbers of which at least 5 % differ, but a value of 0 and 1.
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
    frame = with_headers(handed_over(frame), config)
    remarks = list(config.remarks)
    chosen = dict(kinds or {})
    for name in chosen:
        named_column(name, frame, "kinds (--continuous, --values)")
    frame, asked = _asked(frame, config, chosen, remarks)
    options: dict[str, Any] = {"flip_sign": signs, "flip_distance": flip_distance, "alpha": alpha}
    document, results = _measured(frame, asked, config, options, remarks)
    segments: dict[str, ClarifyAnalysis] = {}
    listed: list[dict[str, Any]] = []
    for segment in segments_of(frame, config, remarks):
        entry: dict[str, Any] = {
            "config_name": segment.config,
            "name_or_index": segment.column,
            "segment": segment.name,
        }
        entry["rows"] = int(segment.rows.sum())
        remarked: list[str] = []
        try:
            measured, of_segment = _measured(frame[segment.rows], asked, config, options, remarked)
        except DataError as problem:  # a segment that cannot be compared does not cost the report of the others
            remarks.append(f"{segment.column} {segment.name}: {problem}")
            listed.append(entry | {"error": str(problem)})
            continue
        listed.append(entry | measured)
        segments[f"{segment.config}: {segment.name}"] = ClarifyAnalysis(
            measured, of_segment, tuple(remarked), signs, flip_distance
        )
    document = {"version": "1.0", **document, **({"segments": listed} if listed else {})}
    return ClarifyAnalysis(document, results, tuple(dict.fromkeys(remarks)), signs, flip_distance, segments)


@dataclass(frozen=True)
class _Asked:
    """What a configuration asks of the data, once its columns are known.

    Attributes
    ----------
    label, prediction, group : str or None
    positive, of_prediction : values or Threshold
    facets : tuple of (column, values or Threshold or None, how they are written, features of the flip test)
    favourable : str
        Favourable labels as they are written.
    """

    label: str
    prediction: str | None
    group: str | None
    positive: tuple[Value, ...] | Threshold
    of_prediction: tuple[Value, ...] | Threshold | None
    facets: tuple[tuple[str, tuple[Value, ...] | Threshold | None, str | None, list[str]], ...]
    favourable: str


def _asked(
    frame: pd.DataFrame, config: ClarifyConfig, chosen: Mapping[str, Kind], remarks: list[str]
) -> tuple[pd.DataFrame, _Asked]:
    """Settle columns and values on all rows; with the frame, whose scores are 0 and 1 then."""
    label = named_column(config.label, frame, "label")
    prediction = optional_column(config.predicted_label, frame, "predicted_label")
    group = optional_column(config.group_variable, frame, "group_variable")
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
        optional_column(config.joinsource, frame, "joinsource_name_or_index"),
    }
    facets = []
    for of_column in config.facets:
        facet = named_column(of_column.name_or_index, frame, "facet.name_or_index")
        given = of_column.value_or_threshold
        if given is None and kind_of(frame[facet], facet, chosen) == "continuous":
            raise SpecError(f'facet.value_or_threshold: "{facet}" is continuous and needs a threshold, such as [40.5].')
        values = spoken = None
        if given is not None:
            values = asked_values(frame, facet, given, chosen, remarks, "facet.value_or_threshold")
            spoken = spoken_values(frame, facet, values, given)
        wants_flip = prediction is not None and "FT" in config.post_training
        features = flip_features(frame, taken | {facet}, remarks) if wants_flip else []
        facets.append((facet, values, spoken, features))
    favourable = spoken_values(frame, label, positive, config.label_values_or_threshold)
    return frame, _Asked(label, prediction, group, positive, of_prediction, tuple(facets), favourable)


def _measured(
    frame: pd.DataFrame, asked: _Asked, config: ClarifyConfig, options: dict[str, Any], remarks: list[str]
) -> tuple[dict[str, Any], dict[str, BiasMetrics]]:
    """The metrics of some rows: in Clarify's shape, and with intervals, per facet."""
    results: dict[str, BiasMetrics] = {}
    entries: dict[str, dict[str, list[dict[str, Any]]]] = {"pre_training": {}, "post_training": {}}
    for facet, values, spoken, features in asked.facets:
        metrics = bias_metrics(
            frame,
            facet=facet,
            label=asked.label,
            prediction=asked.prediction,
            positive=asked.positive,
            positive_prediction=asked.of_prediction,
            group=asked.group,
            facet_values=values,
            features=features or None,
            **options,
        )
        results[facet if facet not in results else f"{facet} = {spoken or 'each value'}"] = metrics
        for section, methods in (("pre_training", config.pre_training), ("post_training", config.post_training)):
            entries[section].setdefault(facet, []).extend(_entries(metrics, methods, spoken))
        remarks += [f"{facet}: {note}" for note in metrics.notes]
    document: dict[str, Any] = {}
    for section, methods in (("pre_training", config.pre_training), ("post_training", config.post_training)):
        if methods:
            document[f"{section}_bias_metrics"] = {
                "label": asked.label,
                "facets": entries[section],
                "label_value_or_threshold": asked.favourable,
            }
    return document, results


def _check_favourable(
    frame: pd.DataFrame,
    label: str,
    prediction: str | None,
    positive: tuple[Value, ...] | Threshold,
    of_prediction: tuple[Value, ...] | Threshold | None,
) -> None:
    """Refuse favourable values that no row has, by the configuration's own keys."""
    positives = ((label, positive), (prediction, of_prediction))
    cuts = {name: one for name, one in positives if name is not None and isinstance(one, Threshold)}
    table = count_rows(frame, label, label=label, prediction=prediction, thresholds=cuts)
    key = "label_values_or_threshold"
    made = of_prediction is not None and of_prediction is not positive  # of probabilities
    refuse_absent(table, positive, of_prediction or positive, (key, "probability_threshold" if made else key))


def write_analysis(analysis: ClarifyAnalysis, folder: str | Path) -> Path:
    """Write analysis.json into a folder, which is made if need be.

    Parameters
    ----------
    analysis : ClarifyAnalysis
    folder : str or Path

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    OutputError
        The folder cannot be written to.

    Examples
    --------
    >>> import tempfile
    >>> from bdt_core.clarify import read_analysis_config
    >>> config = read_analysis_config({"label": "y", "label_values_or_threshold": [1],
    ...                                "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    ...                                "methods": {"pre_training_bias": {"methods": ["CI"]}}})
    >>> found = clarify_analysis(config, pd.DataFrame({"y": [0, 0, 1, 1] * 9, "sex": list("ffmm") * 9}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_analysis(found, folder).name
    'analysis.json'
    """
    path = Path(folder) / "analysis.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(analysis.analysis, indent=4, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as problem:
        raise OutputError(f"{path} cannot be written: {problem.strerror}.") from None
    return path


def _entries(result: BiasMetrics, methods: tuple[str, ...], spoken: str | None) -> list[dict[str, Any]]:
    """One entry per d of a facet, its metrics sorted by name."""
    entries = []
    for i, group in enumerate(result["CI"].values):
        metrics = []
        for name in sorted(methods):
            metric = result[name]
            at = 0 if name == "GE" else i  # no facet enters GE: it stands in every entry
            value, reason = metric.estimate[at], metric.undefined_reason[at]
            entry: dict[str, Any] = {
                "name": name,
                "description": f"{CLARIFY[name].title} ({name})",
                "value": _json_value(value),
            }
            metrics.append(entry if reason is None else {**entry, "error": reason})
        entries.append({"value_or_threshold": spoken or group_name(group), "metrics": metrics})
    return entries


def _json_value(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
