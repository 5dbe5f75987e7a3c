"""What the columns of a text hold, so that a part of the rows is understood as the whole would be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bdt_core.table.column_types import FLAGS, NUMBERS, TEXTS, ColumnType

if TYPE_CHECKING:
    import pyarrow as pa

MISSING = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"}
    | {"NULL", "NaN", "None", "n/a", "nan", "null"}
)
"""What stands for a missing value."""

_FLAG = r"^(?i:true|false)$"
_DECIMAL_COMMA = r"^(?:-?[0-9]+,[0-9]+|-?[0-9]+)$"
_NUMBER = {
    point: rf"^\s*(?:[+-]?(?:[0-9]+{re.escape(point)}?[0-9]*|{re.escape(point)}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[+-]?(?i:inf|infinity))\s*$"
    for point in ".,"
}


class TextColumn:
    """What was seen of one column, part by part.

    Numbers are numbers as long as all values are; whole numbers that 64 bits do not hold are texts, as identifiers
    are. The order of the rows plays no part.

    Parameters
    ----------
    point : {".", ","}
        What stands before the decimals.
    """

    def __init__(self, point: str) -> None:
        self._point = point
        self._seen: set[str] = set()

    def see(self, values: pa.Array) -> None:
        """Take in the values of some rows, as texts."""
        if values.null_count:
            self._seen.add("missing")
        if "texts" not in self._seen and values.null_count < len(values):
            self._seen |= _sorts(values.drop_null(), self._point)

    @property
    def type(self) -> ColumnType:
        """The type of the column when the whole text is read."""
        seen = self._seen
        has_numbers = bool(seen & {"whole", "fraction", "long"})
        if "texts" in seen or ("flags" in seen and has_numbers):
            return _TEXT
        if "fraction" in seen:
            return ColumnType(np.dtype(np.float64), NUMBERS)
        if "long" in seen or ("beyond" in seen and seen & {"missing", "negative"}):
            return _TEXT
        if "whole" in seen:
            missing, beyond = "missing" in seen, "beyond" in seen
            return ColumnType(np.dtype(np.float64 if missing else np.uint64 if beyond else np.int64), NUMBERS)
        if "flags" in seen:
            return ColumnType(np.dtype(object if "missing" in seen else bool), FLAGS)
        return ColumnType(np.dtype(np.float64), NUMBERS, filled=False)


_TEXT = ColumnType(pd.Series(["x"]).dtype, TEXTS)


def typed_values(values: pa.Array, type_: ColumnType, point: str) -> pd.Series[Any]:
    """Texts as values of the type that their column has.

    Parameters
    ----------
    values : pyarrow.Array
        Texts.
    type_ : ColumnType
        As `TextColumn.type` gives it.
    point : {".", ","}
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if type_.holds == NUMBERS:
        wanted = pa.from_numpy_dtype(type_.dtype)
        numbers = _cast(values, wanted) if point == "." else None
        values = _as_arrow_writes_them(values, point).cast(wanted) if numbers is None else numbers
    if type_.holds == FLAGS:
        values = pc.equal(pc.utf8_lower(values), "true")
    column: pd.Series[Any] = values.to_pandas()
    if type_.dtype == object and type_.holds == FLAGS:
        column = column.map({True: True, False: False})  # a gap is no None, as pandas has it
    return column.astype(type_.dtype)


def decimal_point(batches: Iterable[pa.RecordBatch]) -> str:
    """A comma if a column holds nothing but numbers, some with a decimal comma; else a point.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        Texts; parts of one table.

    Examples
    --------
    >>> import pyarrow as pa
    >>> parts = [pa.record_batch({"a": ["0,5", None]}), pa.record_batch({"a": ["1", "x"]})]
    >>> decimal_point(parts), decimal_point(parts[:1])
    ('.', ',')
    """
    commas, others = set[int](), set[int]()
    for batch in batches:
        for place, column in enumerate(batch.columns):
            present = column.drop_null()
            if place in others or not len(present):
                continue
            if not _all_match(present, _DECIMAL_COMMA):
                others.add(place)
            elif not _all_match(present, "^[^,]*$"):
                commas.add(place)
        if len(others) == batch.num_columns:
            break
    return "," if commas - others else "."


def _sorts(present: pa.Array, point: str) -> set[str]:
    """What sorts of values these are, of which none is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if _all_match(present, _FLAG):
        return {"flags"}
    whole = _cast(present, pa.int64())
    if whole is None or any(pc.any(pc.match_substring(present, one)).as_py() for one in "xX"):  # 0x1F is a text
        numbers = _as_arrow_writes_them(present, point)
        if numbers is None:
            return {"texts"}
        whole = _cast(numbers, pa.int64())
    if whole is not None:
        return {"whole", "negative"} if pc.min(whole).as_py() < 0 else {"whole"}
    if not _all_match(numbers, "^[^.eEiI]*$"):
        return {"fraction"}
    return {"whole", "beyond"} if _cast(numbers, pa.uint64()) is not None else {"long"}


def _as_arrow_writes_them(values: pa.Array, point: str) -> Any:
    """Numbers without a plus or spaces, with a decimal point; None if one of the texts is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if point == ".":
        numbers = _cast(values, pa.float64())
        is_plain = numbers is not None and not pc.any(pc.is_nan(numbers)).as_py()  # "NAN" is a text
        if is_plain and not pc.any(pc.starts_with(values, "+")).as_py():
            return values
    if not _all_match(values, _NUMBER[point]):
        return None
    return pc.replace_substring(pc.utf8_ltrim(pc.utf8_trim_whitespace(values), "+"), point, ".")


def _cast(values: pa.Array, type_: pa.DataType) -> Any:
    """The values as numbers; None if one of them is not written as such."""
    import pyarrow as pa

    try:
        values.slice(0, 1).cast(type_)  # a cast that fails goes through all values
        return values.cast(type_)
    except pa.ArrowInvalid:
        return None


def _all_match(values: pa.Array, pattern: str) -> bool:
    """Whether all texts match; of most columns, the first one says it."""
    import pyarrow.compute as pc

    first = pc.match_substring_regex(values.slice(0, 1), pattern)
    rest = pc.match_substring_regex(values, pattern) if pc.all(first, min_count=0).as_py() else first
    return bool(pc.all(rest, min_count=0).as_py())
