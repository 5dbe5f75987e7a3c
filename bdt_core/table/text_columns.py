"""What the columns of a text hold, so that a part of the rows is understood as the whole would be."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.table.column_types import FLAGS, NUMBERS, TEXTS, ColumnType, Dtype

_LARGEST = np.iinfo(np.int64).max
_DECIMAL_COMMA = r"-?\d+,\d+|-?\d+"
_MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
"""What pandas takes for a missing value."""


class TextColumn:
    """What was seen of one column, chunk by chunk.

    Numbers are numbers as long as all values are; whole numbers that 64 bits do not hold are texts, as identifiers
    are. The order of the rows plays no part.
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def see(self, values: pd.Series[Any], decimal: str) -> None:
        """Take in the values of some rows, as nullable types of pandas."""
        present = values.dropna()
        if len(present) < len(values):
            self._seen.add("missing")
        if present.empty:
            return
        if pd.api.types.is_bool_dtype(values.dtype):
            self._seen.add("flags")
        elif pd.api.types.is_integer_dtype(values.dtype):
            self._seen.add("whole")
            if int(present.min()) < 0:
                self._seen.add("negative")
            if int(present.max()) > _LARGEST:
                self._seen.add("beyond")
        elif pd.api.types.is_float_dtype(values.dtype):
            self._seen.add("fraction")
        else:
            self._seen.add(_of_texts(present, decimal))
            if present.isin(_MISSING).any():
                self._seen.add("missing")

    @property
    def parsed(self) -> Dtype | None:
        """The type that the parser is to be told; None where it finds the right one by itself."""
        return {id(_TEXT): str, id(_FRACTION): np.float64}.get(id(self.type))

    @property
    def type(self) -> ColumnType:
        """The type of the column when the whole text is read."""
        seen = self._seen
        has_numbers = bool(seen & {"whole", "fraction", "long"})
        if "texts" in seen or ("flags" in seen and has_numbers):
            return _TEXT
        if "fraction" in seen:
            return _FRACTION
        if "long" in seen or ("beyond" in seen and seen & {"missing", "negative"}):
            return _TEXT
        if "whole" in seen:
            missing, beyond = "missing" in seen, "beyond" in seen
            return ColumnType(np.dtype(np.float64 if missing else np.uint64 if beyond else np.int64), NUMBERS)
        if "flags" in seen:
            return ColumnType(np.dtype(object if "missing" in seen else bool), FLAGS)
        return ColumnType(np.dtype(np.float64), NUMBERS, filled=False)


_TEXT = ColumnType(pd.Series(["x"]).dtype, TEXTS)
_FRACTION = ColumnType(np.dtype(np.float64), NUMBERS)


def has_decimal_commas(frames: Iterable[pd.DataFrame]) -> bool:
    """Whether a column holds nothing but numbers, some with a decimal comma. The frames are parts of one table.

    Examples
    --------
    >>> has_decimal_commas([pd.DataFrame({"a": ["0,5", None]}), pd.DataFrame({"a": ["1", "x"]})])
    False
    """
    commas: dict[Hashable, bool] = {}
    others: set[Hashable] = set()
    for frame in frames:
        for name, column in frame.select_dtypes(exclude="number").items():
            if name in others:
                continue
            filled = column.dropna().astype(str)
            if not filled.str.fullmatch(_DECIMAL_COMMA).all():
                others.add(name)
            elif filled.str.contains(",", regex=False).any():
                commas[name] = True
        if len(others) == frame.shape[1]:
            break
    return any(name not in others for name in commas)


def parsed_again(frame: pd.DataFrame, decimal: str) -> dict[Hashable, Any]:
    """Columns of a whole text whose type would depend on the order of the rows, and what they are.

    Whole numbers that 64 bits do not hold are texts by themselves, and floats beside fractions. Where they are texts,
    the parser takes missing values beside them for texts, too.
    """
    again: dict[Hashable, Any] = {}
    for name, column in frame.select_dtypes(exclude=["number", "bool"]).items():
        present = column.dropna()
        if column.dtype == object and pd.api.types.infer_dtype(present) == "integer":
            again[name] = str
            continue
        found = _of_texts(present, decimal)
        if found != "texts" or present.isin(_MISSING).any():
            again[name] = np.float64 if found == "fraction" else str
    return again


def _of_texts(present: pd.Series[Any], decimal: str) -> str:
    """Whether texts are numbers after all, which 64 bits do not hold: ``long`` or ``fraction``; else ``texts``."""
    point = re.escape(decimal)
    number = re.compile(rf"\s*(?:[+-]?(?:\d+{point}?\d*|{point}\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:inf|infinity))\s*")
    whole = re.compile(r"\s*[+-]?\d+\s*")
    found = "texts"
    for value in present.astype(str):  # of most columns, the first value says it
        if value not in _MISSING:
            if not number.fullmatch(value):
                return "texts"
            found = "long" if found != "fraction" and whole.fullmatch(value) else "fraction"
    return found
