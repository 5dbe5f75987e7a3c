"""Columns of a Clarify analysis: by name or position, with their values as the column writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from bdt_core.clarify.config import ClarifyConfig
from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import Threshold, Value, column

Kind = Literal["continuous", "values"]

_MOST_TEXTS = 100
_TRUTH: dict[str, Value] = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


def with_headers(frame: pd.DataFrame, config: ClarifyConfig) -> pd.DataFrame:
    """The frame with the configuration's names, if it has any."""
    if config.headers is None or list(frame.columns) == list(config.headers):
        return frame.rename(columns=str)
    if len(config.headers) != frame.shape[1]:
        raise SpecError(f"headers names {len(config.headers)} columns; the data has {frame.shape[1]}.")
    return frame.set_axis(list(config.headers), axis=1)


def named_column(given: str | int, frame: pd.DataFrame, key: str) -> str:
    """The column that a key of the configuration names."""
    if isinstance(given, int):
        if not 0 <= given < frame.shape[1]:
            raise SpecError(f"{key}: there is no column {given}: the data has {frame.shape[1]}, counted from 0.")
        return str(frame.columns[given])
    if given not in frame.columns:
        raise DataError(f'{key}: there is no column "{given}". {did_you_mean(given, map(str, frame.columns))}')
    return given


def optional_column(given: str | int | None, frame: pd.DataFrame, key: str) -> str | None:
    """The column that a key names, if it is given."""
    return None if given is None else named_column(given, frame, key)


def kind_of(series: pd.Series[Any], name: str, kinds: Mapping[str, Kind]) -> Kind:
    """Whether a threshold or values pick from a column: as declared, else by its type."""
    return kinds.get(name, "continuous" if _is_continuous(series) else "values")


def asked_values(
    frame: pd.DataFrame,
    name: str,
    given: tuple[Value, ...],
    kinds: Mapping[str, Kind],
    remarks: list[str],
    key: str,
) -> tuple[Value, ...] | Threshold:
    """The values that are asked for, as the column writes them, or the threshold."""
    series = column(frame, name)
    if pd.api.types.is_bool_dtype(series.dtype):
        return tuple(_TRUTH.get(str(one).lower(), one) for one in given)
    if kind_of(series, name, kinds) == "continuous":
        if len(given) != 1:
            raise SpecError(f'{key}: "{name}" is continuous and needs one threshold; found {len(given)} values.')
        return Threshold(_number(given[0], name, key))
    if not pd.api.types.is_numeric_dtype(series.dtype):
        return tuple(str(one) for one in given)
    whole = tuple(_number(one, name, key) for one in given)
    if name not in kinds and not set(series.dropna().unique()) <= {0, 1}:
        remarks.append(
            f'{key}: "{name}" holds whole numbers: {", ".join(map(str, given))} is taken as a value, not as a '
            f"threshold. Declare the column continuous (--continuous {name}) to cut it there."
        )
    return whole


def with_predictions(
    frame: pd.DataFrame,
    label: str,
    name: str,
    positive: tuple[Value, ...] | Threshold,
    config: ClarifyConfig,
    remarks: list[str],
) -> tuple[pd.DataFrame, tuple[Value, ...] | Threshold]:
    """The frame with scores turned into 0 and 1, as Clarify does, and the favourable values of the prediction."""
    series, threshold = column(frame, name), config.probability_threshold
    if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        if threshold is not None:
            remarks.append(f'probability_threshold: not used, "{name}" holds labels and no numbers.')
        return frame, positive
    if isinstance(positive, Threshold):
        return frame, positive if threshold is None else Threshold(threshold)
    continuous = _is_continuous(series)
    labels = {*column(frame, label).dropna().unique(), 0, 1}
    if not continuous and (threshold is None or set(series.dropna().unique()) <= labels):
        if threshold is not None and not set(series.dropna().unique()) <= {0, 1}:
            remarks.append(f'probability_threshold: not used, "{name}" holds labels and no probabilities.')
        return frame, positive
    if threshold is None:
        threshold = 0.5
        remarks.append(f'"{name}" holds probabilities and no probability_threshold is given: .5 is taken.')
    binary = (series > threshold).astype("Int8").mask(series.isna())
    favourable = tuple(one for one in positive if one in (0, 1))
    if not favourable:
        remarks.append(f'"{name}" is taken as the probability of a favourable label: favourable above {threshold:g}.')
    return frame.assign(**{name: binary}), favourable or (1,)


def flip_features(frame: pd.DataFrame, taken: set[str | None], remarks: list[str]) -> list[str]:
    """Columns that make rows similar: those without another role that differ between rows."""
    features = []
    for name in frame.columns:
        if name in taken:
            continue
        try:
            different = frame[name].nunique()
        except TypeError:
            raise DataError(f'"{name}" holds lists or objects. Name it in excluded_columns.') from None
        if different > _MOST_TEXTS and not pd.api.types.is_numeric_dtype(frame[name].dtype):
            remarks.append(f'"{name}" holds {different:,} different texts and is left out of the flip test.')
        elif different > 1:
            features.append(name)
    return features


def spoken_values(frame: pd.DataFrame, name: str, values: tuple[Value, ...] | Threshold) -> str:
    """Values or threshold as Clarify writes them."""
    if isinstance(values, Threshold):
        return f"({values.value:.12g}, {float(column(frame, name).max()):.12g}]"
    return ",".join(str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in values)


def _is_continuous(series: pd.Series[Any]) -> bool:
    """By type: floats that are not all whole."""
    if not pd.api.types.is_float_dtype(series.dtype):
        return False
    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    values = values[np.isfinite(values)]
    return bool((values != np.floor(values)).any())


def _number(value: Value, name: str, key: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise SpecError(f'{key}: "{name}" is numeric; expected a number, found the text "{value}".') from None
