"""Requests of an analysis_config.json of SageMaker Clarify."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from bdt_core.errors import SourceError, SpecError, did_you_mean, repeated_names
from bdt_core.fairness.coding import Value
from bdt_core.metrics import of_stage
from bdt_core.result import Result

_REQUIRED = ("label", "label_values_or_threshold", "facet")
_KEYS = {
    *_REQUIRED,
    "methods",
    "predicted_label",
    "probability_threshold",
    "group_variable",
    "excluded_columns",
    "joinsource_name_or_index",
    "headers",
    "features",
    "dataset_type",
    "dataset_uri",
    "predicted_label_dataset_uri",
    "predicted_label_headers",
    "facet_dataset_uri",
    "facet_headers",
    "segment_config",
    "version",
}
_UNSUPPORTED = {
    "predictor": "no model is called; bring the predictions as a column (predicted_label) or a file (--predictions)",
    "time_series_data_config": "time series are not supported",
    "time_series_predictor": "time series are not supported",
}
_METHODS: dict[str, Literal["pre_training", "post_training"]] = {
    "pre_training_bias": "pre_training",
    "post_training_bias": "post_training",
}
_ALL_METHODS: dict[str, dict[str, str]] = {one: {"methods": "all"} for one in _METHODS}


@dataclass(frozen=True)
class ClarifyFacet:
    """One facet of the configuration: a column by name or position, and the values or threshold that make up d."""

    name_or_index: str | int
    value_or_threshold: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class ClarifySegments:
    """Parts of the data that are analysed one by one.

    Attributes
    ----------
    name_or_index : str or int
        The column whose values make the parts.
    segments : tuple of tuple
        Values of each part; for numbers also intervals, such as "[1, 4]" or "(2, 5]".
    config_name : str or None
    display_aliases : tuple of str
        Names of the parts, as many as there are, or one more for the rest; none: as their values say.
    """

    name_or_index: str | int
    segments: tuple[tuple[Value, ...], ...]
    config_name: str | None = None
    display_aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClarifyConfig(Result):
    """What an analysis_config.json asks for.

    Attributes
    ----------
    label, predicted_label, group_variable, joinsource : str, int or None
        Columns by name or position; `joinsource` is an identifier and nothing else.
    label_values_or_threshold : tuple
        Favourable values, or one threshold for a continuous label.
    probability_threshold : float or None
        Predictions above it count as 1, the others as 0.
    facets : tuple of ClarifyFacet
    excluded_columns : tuple
    headers : tuple of str or None
        Names of the columns, for a file without a header line.
    features : str or None
        Where the features are in a line of JSON.
    dataset_type, dataset_uri : str or None
    predicted_label_dataset_uri, facet_dataset_uri : str or None
        Files of their own for predictions and facets.
    predicted_label_headers, facet_headers : tuple of str or None
        Names of their columns, for files without a header line.
    segments : tuple of ClarifySegments
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
    joinsource: str | int | None = None
    excluded_columns: tuple[str | int, ...] = ()
    headers: tuple[str, ...] | None = None
    features: str | None = None
    dataset_type: str | None = None
    dataset_uri: str | None = None
    predicted_label_dataset_uri: str | None = None
    predicted_label_headers: tuple[str, ...] | None = None
    facet_dataset_uri: str | None = None
    facet_headers: tuple[str, ...] | None = None
    segments: tuple[ClarifySegments, ...] = ()
    pre_training: tuple[str, ...] = ()
    post_training: tuple[str, ...] = ()
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
        Label, its values or the facet are missing, a key holds what it cannot hold, or a method or
        metric does not exist.

    Examples
    --------
    >>> config = read_analysis_config({"label": "y", "label_values_or_threshold": [1],
    ...     "facet": [{"name_or_index": "sex", "value_or_threshold": ["f"]}],
    ...     "methods": {"pre_training_bias": {"methods": ["CI", "DPL"]}, "shap": {}}})
    >>> config.pre_training, config.remarks
    (('CI', 'DPL'), ('methods.shap: not supported, only bias metrics are computed.',))
    """
    given = dict(source) if isinstance(source, Mapping) else _json(Path(source))
    data = {key: value for key, value in given.items() if value is not None}
    missing = [key for key in _REQUIRED if key not in data]
    if missing:
        raise SpecError(
            f"The analysis configuration lacks {', '.join(missing)}. A bias analysis needs {', '.join(_REQUIRED)}."
        )
    remarks = [_remark(key) for key in given if key not in _KEYS]
    if data.get("version", "1.0") != "1.0":
        remarks.append(f'version: read as "1.0", the version that is known; found {_shown(data["version"])}.')
    if "methods" not in data:
        remarks.append("methods: not given, as in configurations of Model Monitor; all bias metrics are computed.")
    label = _column("label", data["label"])
    favourable = _values("label_values_or_threshold", data["label_values_or_threshold"])
    if not favourable:
        raise SpecError("label_values_or_threshold is empty. Name the favourable values of the label, such as [1].")
    assert label is not None
    return ClarifyConfig(
        label=label,
        label_values_or_threshold=favourable,
        facets=_facets(data["facet"], remarks),
        predicted_label=_column("predicted_label", data.get("predicted_label")),
        probability_threshold=_threshold(data.get("probability_threshold")),
        group_variable=_column("group_variable", data.get("group_variable")),
        joinsource=_column("joinsource_name_or_index", data.get("joinsource_name_or_index")),
        excluded_columns=_columns("excluded_columns", data.get("excluded_columns", [])),
        headers=_headers("headers", data.get("headers")),
        features=_text("features", data.get("features")),
        dataset_type=_text("dataset_type", data.get("dataset_type")),
        dataset_uri=_text("dataset_uri", data.get("dataset_uri")),
        predicted_label_dataset_uri=_text("predicted_label_dataset_uri", data.get("predicted_label_dataset_uri")),
        predicted_label_headers=_headers("predicted_label_headers", data.get("predicted_label_headers")),
        facet_dataset_uri=_text("facet_dataset_uri", data.get("facet_dataset_uri")),
        facet_headers=_headers("facet_headers", data.get("facet_headers")),
        segments=_segments(data.get("segment_config", [])),
        **_methods(data.get("methods", _ALL_METHODS), remarks),
        remarks=tuple(remarks),
    )


def _remark(key: str) -> str:
    if key in _UNSUPPORTED:
        return f"{key}: not supported; {_UNSUPPORTED[key]}."
    return f"{key}: unknown, not used. {did_you_mean(key, sorted(_KEYS))}"


def _facets(given: Any, remarks: list[str]) -> tuple[ClarifyFacet, ...]:
    facets = tuple(_facet(one, remarks) for one in _as_list(given))
    if not facets:
        raise SpecError('facet is empty. Name a column to compare by, such as [{"name_or_index": "sex"}].')
    return facets


def _facet(given: Any, remarks: list[str]) -> ClarifyFacet:
    name = _column("facet.name_or_index", given.get("name_or_index")) if isinstance(given, Mapping) else None
    if name is None:
        raise SpecError('Every facet needs "name_or_index", such as {"name_or_index": "sex"}.')
    known = ("name_or_index", "value_or_threshold")
    remarks += [f"facet.{key}: unknown, not used. {did_you_mean(key, known)}" for key in given if key not in known]
    values = given.get("value_or_threshold")
    return ClarifyFacet(name, _values("facet.value_or_threshold", values) or None if values is not None else None)


def _methods(given: Any, remarks: list[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise SpecError('"methods" must be a mapping of methods, such as {"pre_training_bias": {"methods": "all"}}.')
    methods: dict[str, Any] = {}
    for key, section in given.items():
        stage = _METHODS.get(key)
        if stage is None:
            if key != "report":  # a report is written in any case
                remarks.append(f"methods.{key}: not supported, only bias metrics are computed.")
            continue
        if not isinstance(section, Mapping | None):
            raise SpecError(f'methods.{key} must be a mapping, such as {{"methods": "all"}}; found {_shown(section)}.')
        remarks += [f"methods.{key}.{one}: unknown, not used." for one in section or () if one != "methods"]
        asked = (section or {}).get("methods", "all")
        known = of_stage(stage)
        names = known if asked == "all" else tuple(_as_list(asked))
        for name in names:
            if name not in known:
                raise SpecError(f'methods.{key} has no metric "{name}". {did_you_mean(str(name), known)}')
        methods[stage] = tuple(dict.fromkeys(names))
    if not methods:
        raise SpecError('"methods" asks for neither pre_training_bias nor post_training_bias.')
    return methods


def _column(key: str, value: Any) -> str | int | None:
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise SpecError(f"{key} must be the name of a column, or its position counted from 0; found {_shown(value)}.")


def _columns(key: str, given: Any) -> tuple[str | int, ...]:
    columns = [_column(key, one) for one in _as_list(given)]
    return tuple(one for one in columns if one is not None)


def _values(key: str, given: Any) -> tuple[Value, ...]:
    values = _as_list(given)
    wrong = [one for one in values if not isinstance(one, str | int | float)]
    if wrong:
        raise SpecError(f"{key} must list values, such as [1], or give one threshold; found {_shown(wrong[0])}.")
    return tuple(values)


def _threshold(value: Any) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)):
        return value
    raise SpecError(f"probability_threshold must be a number, such as 0.5; found {_shown(value)}.")


def _segments(given: Any) -> tuple[ClarifySegments, ...]:
    return tuple(_segment_config(one) for one in _as_list(given))


def _segment_config(given: Any) -> ClarifySegments:
    example = '{"name_or_index": "age", "segments": [["[18, 40]"], ["(40, 65]"]]}'
    if not isinstance(given, Mapping) or given.get("name_or_index") is None or not given.get("segments"):
        raise SpecError(f"Every segment_config needs name_or_index and segments, such as {example}.")
    name, segments = _column("segment_config.name_or_index", given["name_or_index"]), given["segments"]
    if not isinstance(segments, list | tuple) or not all(isinstance(one, list | tuple) and one for one in segments):
        raise SpecError(f"segment_config.segments must list the values of each segment, such as {example}.")
    aliases = tuple(given.get("display_aliases") or ())
    if aliases and (len(aliases) - len(segments) not in (0, 1) or not all(isinstance(one, str) for one in aliases)):
        raise SpecError(
            f"segment_config.display_aliases has {len(aliases)} entries for {len(segments)} segments. Give each "
            "segment a name, and the rest of the rows one too if you like."
        )
    assert name is not None
    return ClarifySegments(
        name,
        tuple(_values("segment_config.segments", one) for one in segments),
        _text("segment_config.config_name", given.get("config_name")),
        aliases,
    )


def _headers(key: str, given: Any) -> tuple[str, ...] | None:
    if given is None or given == []:
        return None
    if not isinstance(given, list | tuple) or not all(isinstance(one, str) for one in given):
        raise SpecError(f'{key} must list the names of all columns, such as ["age", "sex"]; found {_shown(given)}.')
    repeated = sorted({one for one in given if list(given).count(one) > 1})
    if repeated:
        raise SpecError(f"{key} names {', '.join(map(_shown, repeated[:5]))} more than once. Column names must differ.")
    return tuple(given)


def _text(key: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise SpecError(f"{key} must be text; found {_shown(value)}.")


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=partial(_each_key_once, path))
    except OSError as problem:
        raise SourceError(f"{path} cannot be read: {problem.strerror}.") from None
    except SpecError:
        raise
    except ValueError as problem:
        raise SourceError(f"{path} is no valid JSON: {problem}.") from None
    except RecursionError:
        raise SourceError(f"{path} is nested too deeply for a configuration.") from None
    if not isinstance(data, dict):
        raise SourceError(f'{path} must hold a JSON object, such as {{"label": ..., "facet": [...], "methods": ...}}.')
    return data


def _each_key_once(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a key that stands in it twice the second would win without a word."""
    members = dict(pairs)
    if len(members) < len(pairs):
        repeated = repeated_names(name for name, _ in pairs)[0]
        raise SpecError(f'{path}: the key "{repeated}" stands twice in one object; keep one of them.')
    return members


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _shown(value: Any) -> str:
    """What stands in the configuration, cut short."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
