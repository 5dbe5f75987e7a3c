"""Data of a Clarify analysis in JSON: a document, or an object on each line.

Of JMESPath, in which Clarify's configurations say where features and labels are, those forms are read that records
need: names, paths, ``[*]`` and ``[]`` for every record, and names in brackets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bdt_core.clarify.config import ClarifyConfig
from bdt_core.errors import SourceError, SpecError

if TYPE_CHECKING:
    from upath import UPath

_NAME = r'(?:[A-Za-z_][\w-]*|"[^"]+")'
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*")
_STEP = re.compile(rf"\.?({_NAME})|(\[\*?\])|\.?\[([^\[\]]+)\]")
_MISSING = object()


def read_json(text: str, path: Path | UPath, config: ClarifyConfig) -> tuple[pd.DataFrame, ClarifyConfig]:
    """Read one JSON document of all records.

    Parameters
    ----------
    text : str
    path : Path
        Named in messages.
    config : ClarifyConfig
        Its ``features``, ``label`` and ``predicted_label`` are expressions on the whole document, such as
        ``records[*].features``; without ``features`` the document is a list of flat objects, and they are names.

    Returns
    -------
    frame : DataFrame
    config : ClarifyConfig
        The same, with label and predicted label named as the columns are.

    Raises
    ------
    SourceError, SpecError
        The document is no valid JSON, or an expression finds nothing in it.
    """
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise SourceError(f"{path}: no valid JSON ({problem}).") from None
    if config.features is None:
        if not isinstance(document, list) or not all(isinstance(one, dict) for one in document) or not document:
            raise SpecError(
                f'{path} is no list of records. Name the place of the features in "features", and of the labels in '
                '"label", such as "features": "records[*].features", "label": "records[*].label".'
            )
        return _flat(document, path), config
    matrix = _found("features", config.features, document, path)
    if not all(isinstance(row, list) for row in matrix):
        raise SourceError(
            f'{path}: "{config.features}" of the key "features" gives no list for each record, as '
            '"records[*].features" or "[*].[age, sex]" do.'
        )
    outcomes = {key: getattr(config, key) for key in ("label", "predicted_label")}
    lists = {key: _found(key, one, document, path) for key, one in outcomes.items() if one is not None}
    for key, values in lists.items():
        if len(values) != len(matrix):
            raise SourceError(
                f'{path}: "{outcomes[key]}" of the key "{key}" gives {len(values)} values for {len(matrix)} records.'
            )
    rows: list[list[Any]] = []
    for number, parts in enumerate(zip(matrix, *lists.values(), strict=True), 1):
        row = [*parts[0], *parts[1:]]
        if _MISSING in row:
            raise SourceError(f"{path}, record {number}: not everything is there that features and labels name.")
        if rows and len(row) != len(rows[0]):
            raise SourceError(
                f"{path}, record {number}: {len(parts[0])} features; the first record has {len(rows[0]) - len(lists)}."
            )
        rows.append(row)
    if not rows:
        raise SourceError(f"{path} holds no records.")
    named = {key: str(outcomes[key]) for key in lists}
    return _with_names(rows, named, config.features, path, config)


def _found(key: str, expression: Any, document: Any, path: Path | UPath) -> list[Any]:
    """The list that an expression finds in the document, an entry per record."""
    steps = _steps(expression) if isinstance(expression, str) else None
    if steps is None:
        raise SpecError(
            f'{key}: {json.dumps(expression)} is not understood. Expected a path such as "records[*].features", or '
            '"[*].[age, sex]".'
        )
    value = _evaluated(document, steps)
    if not isinstance(value, list):
        raise SourceError(f'{path}: "{expression}" of the key "{key}" is not there, or gives no list.')
    return value


def _steps(expression: str) -> list[str | list[list[Any]] | None] | None:
    """An expression as steps: a name, None for every entry of a list, or several expressions beside each other."""
    steps: list[str | list[list[Any]] | None] = []
    place = 0
    for match in _STEP.finditer(expression):
        if match.start() != place:
            return None
        place = match.end()
        if match[1] is not None:
            steps.append(match[1].strip('"'))
        elif match[2] is not None:
            steps.append(None)
        else:
            alternatives = [_steps(part.strip()) for part in match[3].split(",")]
            if any(part is None for part in alternatives):
                return None
            steps.append([part for part in alternatives if part is not None])
    return steps if steps and place == len(expression) else None


def _evaluated(value: Any, steps: list[Any]) -> Any:
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if first is None:
        return [_evaluated(one, rest) for one in value] if isinstance(value, list) else _MISSING
    if isinstance(first, list):
        return _evaluated([_evaluated(value, one) for one in first], rest)
    return _evaluated(value[first], rest) if isinstance(value, dict) and first in value else _MISSING


def read_json_lines(text: str, path: Path | UPath, config: ClarifyConfig) -> tuple[pd.DataFrame, ClarifyConfig]:
    """Read an object from each line; see `read_json`, but that expressions are on a line's object."""
    records = list(_records(text, path))
    if config.features is None:
        return _flat([one for _, one in records], path), config
    take = _features(config.features)
    outcomes = {key: _outcome(key, getattr(config, key)) for key in ("label", "predicted_label")}
    paths = [one for one in outcomes.values() if one is not None]
    rows: list[list[Any]] = []
    for number, record in records:
        row = [*take(record, f"{path}, line {number}"), *(_follow(record, one) for one in paths)]
        if _MISSING in row:
            absent = paths[row[len(row) - len(paths) :].index(_MISSING)]
            raise SourceError(f'{path}, line {number}: there is no "{absent}".')
        if rows and len(row) != len(rows[0]):
            raise SourceError(
                f"{path}, line {number}: {len(row) - len(paths)} features; the first line has "
                f"{len(rows[0]) - len(paths)}."
            )
        rows.append(row)
    named = {key: one for key, one in outcomes.items() if one is not None}
    return _with_names(rows, named, config.features, path, config)


def _flat(records: list[dict[str, Any]], path: Path | UPath) -> pd.DataFrame:
    """Records as a table."""
    frame = pd.DataFrame(records)
    nested = [name for name in frame.columns if frame[name].map(lambda one: isinstance(one, list | dict)).any()]
    if nested:
        raise SpecError(
            f'"{nested[0]}" in {path} holds lists or objects. Name the place of the features in "features", such '
            f'as "features": "{nested[0]}".'
        )
    return frame


def _with_names(
    rows: list[list[Any]], outcomes: dict[str, str], features: str, path: Path | UPath, config: ClarifyConfig
) -> tuple[pd.DataFrame, ClarifyConfig]:
    """Features and outcomes, in this order in each row, as a table, and the configuration with its columns' names."""
    width, paths = len(rows[0]), list(outcomes.values())
    names = config.headers or (*_placeholders(features, width - len(paths)), *map(_last_name, paths))
    if len(names) != width:
        raise SpecError(
            f"headers names {len(names)} columns; {path} has {width - len(paths)} features and {len(paths)} labels. "
            "Name the features, then the label, then the predicted label."
        )
    columns = dict(zip(outcomes, names[width - len(paths) :], strict=True))
    frame = pd.DataFrame(rows, columns=list(names))
    return frame, replace(config, headers=names, **columns)  # type: ignore[arg-type]


def _last_name(path: str) -> str:
    """What a path of every record is called: ``label`` of ``records[*].label``; a path within one stays whole."""
    return path if _PATH.fullmatch(path) else re.split(r"\]\.?", path)[-1].replace('"', "")


def _records(text: str, path: Path | UPath) -> list[tuple[int, dict[str, Any]]]:
    records = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as problem:
            raise SourceError(f"{path}, line {number}: no valid JSON ({problem}).") from None
        if not isinstance(record, dict):
            raise SourceError(f"{path}, line {number}: expected a JSON object, one on each line.")
        records.append((number, record))
    return records


def _features(expression: str) -> Callable[[dict[str, Any], str], list[Any]]:
    """What takes the features out of a record."""
    expressions = _several(expression)
    if expressions is None and not _PATH.fullmatch(expression):
        raise SpecError(
            f'features: "{expression}" is not understood. Expected a name such as "features", a path such as '
            '"data.features", or names in brackets such as "[age, sex]".'
        )

    def take(record: dict[str, Any], where: str) -> list[Any]:
        values = [_follow(record, one) for one in expressions] if expressions else _follow(record, expression)
        if not isinstance(values, list) or _MISSING in values:
            raise SourceError(f'{where}: "{expression}" of the key "features" is not there, or is no list.')
        return values

    return take


def _several(expression: str) -> list[str] | None:
    inside = re.fullmatch(r"(?:.*\[\*?\]\.)?\[\s*([^*\[\]]+?)\s*\]", expression)
    parts = [one.strip() for one in inside[1].split(",")] if inside else []
    return parts if parts and all(_PATH.fullmatch(one) for one in parts) else None


def _placeholders(expression: str, size: int) -> list[str]:
    named = _several(expression)
    return [one.replace('"', "") for one in named] if named else [f"column_{i}" for i in range(size)]


def _outcome(key: str, given: str | int | None) -> str | None:
    if given is None or (isinstance(given, str) and _PATH.fullmatch(given)):
        return given
    raise SpecError(f'{key}: in JSON lines it must be a name such as "label", or a path; found {json.dumps(given)}.')


def _follow(record: Any, path: str) -> Any:
    for part in re.findall(_NAME, path):
        record = record.get(part.strip('"'), _MISSING) if isinstance(record, dict) else _MISSING
    return record


def decoded(raw: bytes, path: Path | UPath) -> str:
    """The text of a file.

    Raises
    ------
    SourceError
        It is not UTF-8, or blank.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise SourceError(f"{path}, line {line}: not valid UTF-8. Save the file as UTF-8.") from None
    if not text.strip():
        raise SourceError(f"{path} holds only blank lines. Expected rows of data.")
    return text
