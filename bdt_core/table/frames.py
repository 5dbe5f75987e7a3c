"""Tables of any make become pandas frames with text column names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from bdt_core.errors import DataError, SourceError, UnreachableError, did_you_mean

Kind = Literal["numeric", "categorical"]

_TABLE = "a DataFrame (pandas or Polars), an Arrow table or the path of a file"


def as_frame(table: Any, names: tuple[str, ...] | None = None) -> pd.DataFrame:
    """A pandas frame with text column names, whatever the table came as.

    Parameters
    ----------
    table : DataFrame, object with ``__arrow_c_stream__`` (polars, pyarrow, DuckDB), or 2-d array
        Columns of an array are called x0, x1, ...
    names : tuple of str, optional
        The columns that must be there; the frame comes back with these and in this order.

    Raises
    ------
    DataError
        When it is not a table, has no rows or columns, has two columns of one name, or other columns than
        ``names``.
    """
    frame, named = _frame(table)
    rows, width = frame.shape
    if names is not None and width != len(names) and not (named and set(names) - set(frame.columns)):
        surplus = [one for one in frame.columns if one not in names] if named else []
        raise DataError(
            f"X has {width} features, but HBAC is expecting {len(names)} features as input."
            + (f" Not expected: {_quoted(surplus)}." if surplus else "")
        )
    if width == 0:
        raise DataError(f"The table has 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required.")
    if rows == 0:
        raise DataError(f"The table has 0 sample(s) (shape=(0, {width})) while a minimum of 1 is required.")
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"Columns have the same name: {_quoted(twice.unique())}. Rename one of each.")
    if names is None:
        return frame
    if not named:
        return frame.set_axis(list(names), axis=1)
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise DataError(
            "The feature names should match those that were passed during fit. "
            f"Missing: {_quoted(lacking)}. {did_you_mean(lacking[0], frame.columns)}"
        )
    return frame[list(names)]


def handed_over(table: Any) -> pd.DataFrame:
    """A table that is in memory already, as a DataFrame.

    Parameters
    ----------
    table : DataFrame, Arrow table, Polars frame, or anything else with the Arrow PyCapsule interface

    Raises
    ------
    SourceError
        It is none of these.
    UnreachableError
        It is None, or several tables by the names of their parts.
    """
    if isinstance(table, pd.DataFrame):
        return table
    _refuse_none_or_several(table)
    if hasattr(table, "collect"):  # a lazy frame of Polars
        table = table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        import pyarrow as pa

        with suppress(pa.ArrowInvalid):  # one column alone has the interface, too
            frame: pd.DataFrame = pa.table(table).to_pandas()
            return frame
    raise SourceError(f"A {type(table).__name__} is not a table. Expected {_TABLE}.")


def _refuse_none_or_several(table: Any) -> None:
    """What other code hands over when there is no table, or one per part; nothing is wrong with the tables."""
    if table is None or (isinstance(table, Mapping) and not table):
        raise UnreachableError(
            f"{table} was handed over in place of a table. Expected {_TABLE}: let what makes the table return one of "
            "these, and run it first, for the same part if it has parts."
        )
    if isinstance(table, Mapping) and all(map(_is_table, table.values())):
        names = ", ".join([str(one) for one in table][:3]) + (", ..." if len(table) > 3 else "")
        raise UnreachableError(
            f"Tables by parts ({names}) were handed over, and an audit takes one table. Audit part by part: set "
            "partition_by (of build_bias_gate_checks: partitions_def) like the partitions of the asset that makes "
            "them, and launch a run per part; or make one table of them."
        )


def _is_table(value: Any) -> bool:
    return isinstance(value, str | Path) or hasattr(type(value), "columns")


def column_kind(column: pd.Series[Any]) -> Kind:
    """Numeric for integers and floats; categorical for text, booleans, categories and objects.

    Raises
    ------
    DataError
        For dates, durations and complex numbers.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "categorical"
    if pd.api.types.is_complex_dtype(dtype):
        raise DataError(f'Complex data not supported: column "{column.name}". Use its real and imaginary parts.')
    if pd.api.types.is_numeric_dtype(dtype):
        return "numeric"
    if pd.api.types.is_object_dtype(dtype) or pd.api.types.is_string_dtype(dtype):
        return "categorical"
    raise DataError(
        f'Column "{column.name}" is {dtype}, neither a number nor a category. '
        "Turn it into a number (such as years) or text, or leave it out of the features."
    )


def _frame(table: Any) -> tuple[pd.DataFrame, bool]:
    """The table as a frame, and whether its columns came with names."""
    if isinstance(table, pd.DataFrame) or hasattr(table, "__arrow_c_stream__"):
        frame = handed_over(table)
    else:
        if hasattr(table, "toarray"):
            raise TypeError("Sparse data is not supported: X must be a dense table; convert with .toarray().")
        array = np.asarray(table)
        if array.ndim != 2:
            raise DataError(
                f"Expected a table (2-d array), got a {array.ndim}-d array instead. Reshape your data: "
                "array.reshape(-1, 1) if it has one column, array.reshape(1, -1) if it is one row."
            )
        frame = pd.DataFrame(array, columns=[f"x{index}" for index in range(array.shape[1])], copy=False)
        if array.dtype == object:
            frame = frame.infer_objects()
        return frame, False
    if not all(type(name) is str for name in frame.columns):
        frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    return frame, True


def _quoted(names: Any) -> str:
    return ", ".join(f'"{name}"' for name in names)
