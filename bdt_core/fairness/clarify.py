"""A way over from SageMaker Clarify: its analysis_config.json in, an analysis.json in its shape out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from bdt_core.errors import OutputError, SourceError, SpecError, did_you_mean
from bdt_core.fairness.coding import Threshold, Value, column
from bdt_core.fairness.flips import Sign
from bdt_core.fairness.from_counts import POST_TRAINING, PRE_TRAINING
from bdt_core.fairness.from_rows import bias_metrics
from bdt_core.fairness.metric_results import BiasMetrics, group_name
from bdt_core.result import Result

Kind = Literal["continuous", "values"]

DESCRIPTIONS = {
    "AD": "Accuracy Difference (AD)",
    "CDDL": "Conditional Demographic Disparity in Labels (CDDL)",
    "CDDPL": "Conditional Demographic Disparity in Predicted Labels (CDDPL)",
    "CI": "Class Imbalance (CI)",
    "DAR": "Difference in Acceptance Rates (DAR)",
    "DCA": "Difference in Conditional Acceptance (DCA)",
    "DCR": "Difference in Conditional Rejection (DCR)",
    "DI": "Disparate Impact (DI)",
    "DPL": "Difference in Positive Proportions in Labels (DPL)",
    "DPPL": "Difference in Positive Proportions in Predicted Labels (DPPL)",
    "DRR": "Difference in Rejection Rates (DRR)",
    "FT": "Flip Test (FT)",
    "GE": "Generalized Entropy (GE)",
    "JS": "Jensen-Shannon Divergence (JS)",
    "KL": "Kullback-Leibler Divergence (KL)",
    "KS": "Kolmogorov-Smirnov Distance (KS)",
    "LP": "L-p Norm (LP)",
    "RD": "Recall Difference (RD)",
    "SD": "Specificity Difference (SD)",
    "TE": "Treatment Equality (TE)",
    "TVD": "Total Variation Distance (TVD)",
}

_KEYS = {
    "label",
    "label_values_or_threshold",
    "predicted_label",
    "probability_threshold",
    "facet",
    "group_variable",
    "excluded_columns",
    "headers",
    "methods",
}
_HARMLESS = {"version", "dataset_type", "dataset_uri"}
_UNSUPPORTED = {
    "predictor": "no model is called; bring the predictions as a column and name it in predicted_label",
    "predicted_label_dataset_uri": "predictions must be a column of the data",
    "predicted_label_headers": "predictions must be a column of the data",
    "facet_dataset_uri": "facets must be columns of the data",
    "facet_headers": "facets must be columns of the data",
    "joinsource_name_or_index": "all columns must be in one table",
    "features": "features are the columns that have no other role",
    "time_series_data_config": "time series are not supported",
    "time_series_predictor": "time series are not supported",
}


@dataclass(frozen=True)
class ClarifyFacet:
    """One facet of the configuration: a column by name or position, and the values or threshold that make up d."""

    name_or_index: str | int
    value_or_threshold: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class ClarifyConfig(Result):
    """What an analysis_config.json asks for.

    Attributes
    ----------
    label, predicted_label, group_variable : str, int or None
        Columns by name or position.
    label_values_or_threshold : tuple
        Favourable values, or one threshold for a continuous label.
    probability_threshold : float or None
        Predictions above it are favourable.
    facets : tuple of ClarifyFacet
    excluded_columns : tuple
    headers : tuple of str or None
        Names of the columns, for a file without a header line.
    pre_training, post_training : tuple of str
        Metrics asked for; empty when the method is not.
    remarks : tuple of str
        Every key that is unknown or not supported, and what to do about it.
    """

    label: str | int
    label_values_or_threshold: tuple[Value, ...]
    facets: tuple[ClarifyFacet, ...]
    predicted_label: str | int | None = None
    probability_threshold: float | None = None
    group_variable: str | int | None = None
    excluded_columns: tuple[str | int, ...] = ()
    headers: tuple[str, ...] | None = None
    pre_training: tuple[str, ...] = ()
    post_training: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClarifyAnalysis:
    """The metrics, per facet.

    Attributes
    ----------
    analysis : dict
        The document in Clarify's shape.
    metrics : dict of str to BiasMetrics
        The same with intervals, per facet.
    remarks : tuple of str
        What was read differently, or could not be used.
    """

    analysis: dict[str, Any]
    metrics: dict[str, BiasMetrics] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def read_analysis_config(source: str | Path | Mapping[str, Any]) -> ClarifyConfig:
    """Read Clarify's bias configuration.

    Parameters
    ----------
    source : path or mapping
        An analysis_config.json, or what is in it.

    Returns
    -------
    ClarifyConfig

    Raises
    ------
    SourceError
        The file cannot be read as JSON.
    SpecError
        Label, its values or the facet are missing, or a method or metric does not exist.

    Examples
    --------
    >>> config = read_analysis_config({"label": "y", "label_values_or_threshold": [1],
    ...     "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    ...     "methods": {"pre_training_bias": {"methods": ["CI", "DPL"]}, "shap": {}}})
    >>> config.pre_training, config.remarks
    (('CI', 'DPL'), ('methods.shap: not supported, only bias metrics are computed.',))
    """
    data = dict(source) if isinstance(source, Mapping) else _json(Path(source))
    missing = [key for key in ("label", "label_values_or_threshold", "facet", "methods") if key not in data]
    if missing:
        raise SpecError(f"The analysis configuration lacks {', '.join(missing)}.")
    remarks = []
    for key in data:
        if key in _UNSUPPORTED:
            remarks.append(f"{key}: not supported; {_UNSUPPORTED[key]}.")
        elif key not in _KEYS | _HARMLESS:
            remarks.append(f"{key}: unknown, not used. {did_you_mean(key, _KEYS)}")
    facets = data["facet"] if isinstance(data["facet"], list) else [data["facet"]]
    return ClarifyConfig(
        label=data["label"],
        label_values_or_threshold=tuple(_as_list(data["label_values_or_threshold"])),
        facets=tuple(_facet(one, remarks) for one in facets),
        predicted_label=data.get("predicted_label"),
        probability_threshold=data.get("probability_threshold"),
        group_variable=data.get("group_variable"),
        excluded_columns=tuple(_as_list(data.get("excluded_columns", []))),
        headers=tuple(data["headers"]) if data.get("headers") else None,
        **_methods(data["methods"], remarks),
        remarks=tuple(remarks),
    )


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
        A column that does not exist, or headers that do not fit.
    """
    frame = _with_headers(frame, config)
    remarks = list(config.remarks)
    label = _name(config.label, frame)
    prediction = None if config.predicted_label is None else _name(config.predicted_label, frame)
    group = None if config.group_variable is None else _name(config.group_variable, frame)
    chosen = dict(kinds or {})
    positive = _values(frame, label, config.label_values_or_threshold, chosen, remarks)
    of_prediction = None
    if prediction is not None:
        of_prediction = _favourable_prediction(frame, prediction, positive, config, remarks)
    elif config.post_training:
        remarks.append("post_training_bias: needs predicted_label; its metrics are undefined.")
    taken = {label, prediction, group} | {_name(one, frame) for one in config.excluded_columns}
    results: dict[str, BiasMetrics] = {}
    spoken: dict[str, str | None] = {}
    for one in config.facets:
        facet = _name(one.name_or_index, frame)
        values = None
        if one.value_or_threshold is not None:
            values = _values(frame, facet, one.value_or_threshold, chosen, remarks)
        features = [str(name) for name in frame.columns if name not in taken | {facet}]
        wants_flip = prediction is not None and "FT" in config.post_training and features
        results[facet] = bias_metrics(
            frame,
            facet=facet,
            label=label,
            prediction=prediction,
            positive=positive,
            positive_prediction=of_prediction,
            group=group,
            facet_values=values,
            features=features if wants_flip else None,
            flip_sign=signs,
            alpha=alpha,
        )
        spoken[facet] = None if values is None else _spoken(frame, facet, values)
        remarks += [f"{facet}: {note}" for note in results[facet].notes]
    document: dict[str, Any] = {"version": "1.0"}
    for section, wanted in (("pre_training", config.pre_training), ("post_training", config.post_training)):
        if wanted:
            document[f"{section}_bias_metrics"] = {
                "label": label,
                "facets": {facet: _entries(result, wanted, spoken[facet]) for facet, result in results.items()},
                "label_value_or_threshold": _spoken(frame, label, positive),
            }
    return ClarifyAnalysis(document, results, tuple(dict.fromkeys(remarks)))


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
            one: dict[str, Any] = {"name": name, "description": DESCRIPTIONS[name], "value": _json_value(value)}
            metrics.append(one if reason is None else {**one, "error": reason})
        entries.append({"value_or_threshold": spoken or group_name(group), "metrics": metrics})
    return entries


def _json_value(value: float | None) -> float | str | None:
    if value is not None and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _facet(given: Any, remarks: list[str]) -> ClarifyFacet:
    if not isinstance(given, Mapping) or "name_or_index" not in given:
        raise SpecError('Every facet needs "name_or_index".')
    remarks += [
        f"facet.{key}: unknown, not used." for key in given if key not in ("name_or_index", "value_or_threshold")
    ]
    values = given.get("value_or_threshold")
    return ClarifyFacet(given["name_or_index"], None if values in (None, []) else tuple(_as_list(values)))


def _methods(given: Any, remarks: list[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise SpecError('"methods" must be a mapping of methods, such as pre_training_bias.')
    found = {}
    for key, section in given.items():
        known = {"pre_training_bias": PRE_TRAINING, "post_training_bias": POST_TRAINING}.get(key)
        if known is None:
            if key != "report":
                remarks.append(f"methods.{key}: not supported, only bias metrics are computed.")
            continue
        asked = (section or {}).get("methods", "all")
        wanted = known if asked == "all" else tuple(_as_list(asked))
        for name in wanted:
            if name not in known:
                raise SpecError(f'methods.{key} has no metric "{name}". {did_you_mean(str(name), known)}')
        found[key.removesuffix("_bias")] = tuple(wanted)
    if not found:
        raise SpecError('"methods" asks for neither pre_training_bias nor post_training_bias.')
    return found


def _values(
    frame: pd.DataFrame, name: str, given: tuple[Value, ...], kinds: Mapping[str, Kind], remarks: list[str]
) -> tuple[Value, ...] | Threshold:
    series = column(frame, name)
    numeric = pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype)
    if kinds.get(name, "continuous" if _is_continuous(series) else "values") == "continuous":
        if len(given) != 1:
            raise SpecError(f'"{name}" is continuous and needs one threshold; found {len(given)} values.')
        return Threshold(_number(given[0], name))
    if numeric:
        whole = tuple(_number(one, name) for one in given)
        if name not in kinds and not set(series.dropna().unique()) <= {0, 1}:
            shown = ", ".join(map(str, given))
            remarks.append(f'"{name}" holds whole numbers: {shown} is taken as a value, not as a threshold.')
        return whole
    return tuple(one if isinstance(one, str | bool) else str(one) for one in given)


def _favourable_prediction(
    frame: pd.DataFrame, name: str, positive: tuple[Value, ...] | Threshold, config: ClarifyConfig, remarks: list[str]
) -> tuple[Value, ...] | Threshold:
    if config.probability_threshold is not None:
        return Threshold(config.probability_threshold)
    if isinstance(positive, Threshold) or not _is_continuous(column(frame, name)):
        return positive
    remarks.append(f'"{name}" holds probabilities and no probability_threshold is given: .5 is taken.')
    return Threshold(0.5)


def _is_continuous(series: pd.Series[Any]) -> bool:
    """By type: floats that are not all whole."""
    if not pd.api.types.is_float_dtype(series.dtype):
        return False
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    return bool((values != np.floor(values)).any())


def _spoken(frame: pd.DataFrame, name: str, values: tuple[Value, ...] | Threshold) -> str:
    """Values or threshold as Clarify writes them."""
    if isinstance(values, Threshold):
        return f"({values.value:.12g}, {float(column(frame, name).max()):.12g}]"
    return ",".join(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in values)


def _number(value: Value, name: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise SpecError(f'"{name}" is numeric; expected a number, found the text "{value}".') from None


def _with_headers(frame: pd.DataFrame, config: ClarifyConfig) -> pd.DataFrame:
    if config.headers is None or list(frame.columns) == list(config.headers):
        return frame
    if len(config.headers) != frame.shape[1]:
        raise SpecError(f"headers names {len(config.headers)} columns; the data has {frame.shape[1]}.")
    return frame.set_axis(list(config.headers), axis=1)


def _name(given: str | int, frame: pd.DataFrame) -> str:
    if isinstance(given, int) and given not in frame.columns:
        if not 0 <= given < frame.shape[1]:
            raise SpecError(f"There is no column {given}: the data has {frame.shape[1]}, counted from 0.")
        return str(frame.columns[given])
    return str(column(frame, str(given)).name) if isinstance(given, str) else str(given)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise SourceError(f"{path} cannot be read: {problem.strerror}.") from None
    except ValueError as problem:
        raise SourceError(f"{path} is no valid JSON: {problem}.") from None
    if not isinstance(data, dict):
        raise SourceError(f"{path} must hold a JSON object.")
    return data


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
