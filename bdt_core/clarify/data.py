"""The data of a Clarify analysis: CSV with or without a header line, JSON and JSON lines, Parquet.

Columns are found by name or position, with their values as the column writes them.
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bdt_core.clarify.config import ClarifyConfig
from bdt_core.clarify.json_data import decoded, read_json, read_json_lines
from bdt_core.errors import DataError, SourceError, SpecError, did_you_mean, without_rows
from bdt_core.fairness.coding import Threshold, Value, canonical, code_column, column, is_same
from bdt_core.table.facts import holds_numbers
from bdt_core.table.files import located, read_bytes, read_files
from bdt_core.table.roles import refuse_rounded
from bdt_core.table.text_files import read_text, swallows_rows

if TYPE_CHECKING:
    from upath import UPath

Kind = Literal["continuous", "values"]

_MOST_TEXTS = 100
_UNIQUE = 0.05
"""Clarify takes whole numbers for continuous where this share of the rows, or more, holds different ones."""
_TRUTH: dict[str, Value] = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_FORMS = {
    "text/csv": "csv",
    "application/jsonlines": "json lines",
    "application/json": "json",
    "application/x-parquet": "parquet",
}
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def read_clarify_data(config: ClarifyConfig, data: str | Path) -> tuple[pd.DataFrame, ClarifyConfig]:
    """Read the data as Clarify does.

    Parameters
    ----------
    config : ClarifyConfig
    data : str or Path
        A CSV file (UTF-8, commas), a file of JSON or of JSON lines, a Parquet file or a folder of them, a URL that
        fsspec knows, or ``demo:NAME``. The file's ending says which; where it says nothing, the configuration's
        dataset_type does.

    Returns
    -------
    frame : DataFrame
        With named columns: by the configuration's headers, else by the file's header line, else column_0, column_1,
        and so on.
    config : ClarifyConfig
        The same, its remarks completed. For JSON, label and predicted label are named as columns are.

    Raises
    ------
    SourceError
        The file is missing or cannot be read in its form; the message names file and line.
    SpecError
        Headers that do not fit the data, or a dataset_type that is not supported.

    Notes
    -----
    The first line of a CSV file is its header if it holds the configuration's headers, or a column that the
    configuration names, or no number at all while the line below has one. All other first lines are data.
    """
    if str(data).startswith("demo:"):
        return read_files(str(data)), config
    file = located(str(data))
    form = _form(file, config)
    if form == "parquet":
        return read_files(str(data)), config
    if file.is_dir():
        raise SourceError(f"{file} is a folder. Name one file; only folders of Parquet files are read as a whole.")
    if form == "csv":
        return _read_csv(file, config)
    text = decoded(read_bytes(file), file)
    return (read_json if form == "json" else read_json_lines)(text, file, config)


def _form(path: Path | UPath, config: ClarifyConfig) -> str:
    if path.is_dir() and any(path.rglob("*.parquet")):
        return "parquet"
    declared = None if config.dataset_type is None else _FORMS.get(config.dataset_type.lower())
    form = _SUFFIXES.get(path.suffix.lower(), declared)
    if declared is not None and {form, declared} == {"json", "json lines"}:
        form = declared  # files of lines are called .json, too
    if form is None and config.dataset_type is not None:
        raise SpecError(f'dataset_type: "{config.dataset_type}" is not supported. Expected one of {", ".join(_FORMS)}.')
    return form or "csv"


def _read_csv(path: Path | UPath, config: ClarifyConfig) -> tuple[pd.DataFrame, ClarifyConfig]:
    raw = read_bytes(path)
    text = decoded(raw, path)
    rows = (row for _, _, row in _rows(text, path))
    first, second = ([one.strip() for one in next(rows, [])] for _ in range(2))
    has_header = _is_header(first, second, config)
    alone = len(first) == 1 and not set(first[0]) & set(";|\t")  # predictions may stand alone in a file
    if config.headers is None and has_header and not alone:
        return _with_rows(read_text(raw, str(path)), path), config
    names = config.headers or (tuple(first) if has_header else tuple(f"column_{i}" for i in range(len(first))))
    if len(first) != len(names):
        raise SpecError(
            f"headers names {len(names)} columns; {path} has {len(first)} on its first line. Name every column of the "
            "file, in its order, separated by commas in the file."
        )
    remarks = list(config.remarks)
    if config.headers is None and not has_header:
        remarks.append(f"headers: not given, and the first line holds data; columns are named {names[0]}, ...")
    elif config.headers is not None and has_header and tuple(first) != names:
        remarks.append("headers: the file has a header line of its own; the configuration's names take its place.")
    frame = _parsed(text, names, skip=int(has_header), path=path)
    return frame, replace(config, headers=names, remarks=tuple(remarks))


def _is_header(first: list[str], second: list[str], config: ClarifyConfig) -> bool:
    if config.headers is not None and first == list(config.headers):
        return True
    named = [config.label, config.predicted_label, config.group_variable, *(one.name_or_index for one in config.facets)]
    if config.headers is None and any(one in first for one in named):
        return True
    no_number = not any(map(_is_number, first))
    return no_number and (config.headers is None or any(map(_is_number, second)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(text: str, path: Path | UPath) -> Iterator[tuple[int, int, list[str]]]:
    """Rows that are not blank, each with the numbers of its first and its last line."""
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    number = 1
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                yield number, reader.line_num, row
            number = reader.line_num + 1
    except csv.Error as error:
        raise SourceError(f"{path}, line {number}: cannot be read as CSV: {error}.") from None


def _refuse_ragged(text: str, columns: int, *, path: Path | UPath) -> None:
    """Refuse rows that are too short, which would be filled up, too long, or swallowed by quotation marks."""
    for first, last, row in _rows(text, path):
        if len(row) != columns:
            mend = "Put quotes around values that hold a comma." if len(row) > columns else "Write the row whole."
            raise SourceError(
                f"{path}, line {first}: {len(row)} column{'s' * (len(row) != 1)} where {columns} are expected. {mend}"
            )
        if last > first and any(swallows_rows(one, ",", columns) for one in row if "\n" in one or "\r" in one):
            raise SourceError(
                f"{path}, line {first}: a quotation mark is closed on line {last} only, and what stands between looks "
                "like rows. Remove the stray mark, or close it on its own line."
            )


def _parsed(text: str, names: tuple[str, ...], *, skip: int, path: Path | UPath) -> pd.DataFrame:
    _refuse_ragged(text, len(names), path=path)
    frame: pd.DataFrame
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(io.StringIO(text), header=None, names=list(names), skiprows=skip, index_col=False,
                                skipinitialspace=True, low_memory=False)  # fmt: skip
    except pd.errors.EmptyDataError:
        raise SourceError(without_rows(str(path), is_file=True)) from None
    except pd.errors.ParserWarning:
        raise SourceError(f"{path}: rows have more than {len(names)} columns. Put quotes around commas.") from None
    except pd.errors.ParserError as error:
        where = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        reason = f", line {where[2]}: {where[3]} columns where {where[1]} are expected" if where else f": {error}"
        raise SourceError(f"{path}{reason}. Put quotes around values that hold a comma.") from None
    return _with_rows(frame, path)


def _with_rows(frame: pd.DataFrame, path: Path | UPath) -> pd.DataFrame:
    if frame.empty:
        raise SourceError(without_rows(str(path), is_file=True))
    return frame


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
        levels = code_column(frame, name).levels
        known = [one for one in levels if one is not None]
        return tuple(next((has for has in known if is_same(has, canonical(one))), str(one)) for one in given)
    numbers = [_number(one, name, key) for one in given]
    if len(numbers) == 1 and name not in kinds and _is_cut(series, name, numbers[0], remarks, key):
        return Threshold(numbers[0])
    refuse_rounded(series, name)
    return tuple(one if type(one) is int else number for one, number in zip(given, numbers, strict=True))


def _is_cut(series: pd.Series[Any], name: str, number: float, remarks: list[str], key: str) -> bool:
    """Whether one number for a column of whole numbers is a threshold; what else it might be is said."""
    known = series.dropna()
    shown = f"{number:g}"
    if not number.is_integer():
        remarks.append(f'{key}: {shown} is no value of "{name}", whose numbers are whole, and taken as a threshold.')
        return True
    is_float = pd.api.types.is_float_dtype(series.dtype)
    if set(known.unique()) <= {0, 1}:
        if is_float and number == 0 and key.startswith("facet"):
            remarks.append(
                f'{key}: "{name}" holds 0 and 1, and 0 is taken as a value. Clarify takes it for a threshold where '
                f"they are written 0.0 and 1.0: --continuous {name} does, too."
            )
        return False
    cut = key.startswith("facet") and (is_float or known.nunique() >= _UNIQUE * len(known))
    why = "are floats" if is_float else f"differ in {known.nunique():,} of {len(known):,} rows"
    if cut:
        remarks.append(
            f'{key}: {shown} is taken as a threshold, as Clarify does, since the numbers of "{name}" {why}. Declare '
            f"it to hold values (--values {name}) to compare the rows that are {shown} with all others."
        )
    else:
        remarks.append(
            f'{key}: "{name}" holds whole numbers: {shown} is taken as a value, not as a threshold. Declare the column '
            f"continuous (--continuous {name}) to cut it there."
        )
    return cut


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
    if not holds_numbers(series):
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


def spoken_values(
    frame: pd.DataFrame, name: str, values: tuple[Value, ...] | Threshold, given: tuple[Value, ...]
) -> str:
    """Values or threshold as Clarify writes them: an interval has decimals where column or threshold has.

    Parameters
    ----------
    frame : DataFrame
    name : str
    values : tuple or Threshold
        As `asked_values` reads them.
    given : tuple
        As the configuration has them.
    """
    if isinstance(values, Threshold):
        series = column(frame, name)
        are_whole = pd.api.types.is_integer_dtype(series.dtype) and isinstance(given[0], int)
        low, high = ((int if are_whole else float)(one) for one in (values.value, series.max()))
        return f"({low}, {high}]"
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
        number = float(value)
    except ValueError:
        raise SpecError(f'{key}: "{name}" is numeric; expected a number, found the text "{value}".') from None
    if not math.isfinite(number):
        raise SpecError(f'{key}: "{name}" is numeric; expected a finite number, found {number}.')
    return number
