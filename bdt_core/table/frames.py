"""Tables of any make become pandas frames with text column names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from bdt_core.errors import DataError, SourceError, UnreachableError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["numeric", "categorical"]

_TABLE = "a DataFrame (pandas or Polars), an Arrow table, a dict of columns or the path of a file"

AnyTable: TypeAlias = Any
"""What every entrance takes: a DataFrame of pandas or Polars, an Arrow table, anything else with the Arrow PyCapsule
interface (such as a relation of DuckDB), or a dict of columns. `handed_over` makes a DataFrame of it."""


def as_frame(table: Any, names: tuple[str, ...] | None = None) -> pd.DataFrame:
    """A pandas frame with text column names, whatever the table came as.

    Parameters
    ----------
    table : AnyTable, or 2-d array
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


def handed_over(table: AnyTable) -> pd.DataFrame:
    """A table that is in memory already, as a DataFrame.

    Parameters
    ----------
    table : DataFrame, Arrow table, Polars frame, anything else with the Arrow PyCapsule interface, or dict of columns

    Raises
    ------
    SourceError
        It is none of these.
    UnreachableError
        It is None, or several tables by the names of their parts.
    DataError
        It has a column of complex numbers.
    """
    if isinstance(table, pd.DataFrame):
        _refuse_complex_numbers(table)
        return _without_foreign_types(table)
    _refuse_none_or_several(table)
    if isinstance(table, Mapping):
        return _of_columns(table)
    if hasattr(table, "collect"):  # a lazy frame of Polars
        table = table.collect()
    if _is_arrow(table):
        import pyarrow as pa

        with suppress(pa.ArrowInvalid, TypeError):  # one column alone has the interface, too
            return frame_of_arrow(pa.table(table), "the table")
    raise SourceError(f"A {type(table).__name__} is not a table. Expected {_TABLE}.")


def frame_of_arrow(table: pa.Table | pa.RecordBatch, where: str) -> pd.DataFrame:
    """Rows of Arrow as a DataFrame; `where` says for messages which.

    Raises
    ------
    SourceError
        A column holds what Python has no value for.
    """
    import pyarrow as pa

    try:
        frame: pd.DataFrame = table.to_pandas()
    except pa.ArrowInvalid:
        name = next((one.name for one in table.schema if one.type == pa.time64("ns")), "")
        raise SourceError(
            f'{where}: column "{name}" holds times of day with parts of a microsecond, which Python does not know. '
            "Round them to microseconds, or write them as texts."
        ) from None
    return frame


def is_table(value: Any) -> bool:
    """Whether something has named columns: `handed_over` takes it, or says what is wrong with it.

    Examples
    --------
    >>> is_table(pd.DataFrame({"a": [1]})), is_table({"a": [1]}), is_table(pd.Series([1])), is_table(np.ones((2, 2)))
    (True, True, False, False)
    """
    if hasattr(value, "toarray"):  # some sparse matrices are dicts
        return False
    is_stream = hasattr(value, "__arrow_c_stream__") and not hasattr(value, "__len__")  # as a column alone is none
    return isinstance(value, Mapping) or hasattr(type(value), "columns") or is_stream


def one_dimensional(values: Any, name: str) -> Any:
    """A column without the index that it may have: rows belong together by their order.

    Raises
    ------
    DataError
        It has not one dimension.
    """
    if isinstance(values, pd.Series):
        return values.reset_index(drop=True).array
    if isinstance(values, pd.api.extensions.ExtensionArray):
        return values
    if _is_arrow(values) and not is_table(values):
        import pyarrow as pa

        chunked = hasattr(values, "__arrow_c_stream__")
        return (pa.chunked_array(values) if chunked else pa.array(values)).to_pandas().array
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(f"{name} must have one value per row; its shape is {array.shape}.")
    return array


def refuse_lengths(columns: Mapping[str, Any], what: str) -> None:
    """Raise DataError where columns differ in their rows."""
    if len({len(values) for values in columns.values()}) > 1:
        listed = ", ".join(f"{name} {len(values):,}" for name, values in columns.items())
        raise DataError(f"{what} must have one value per row, and these differ in length: {listed}.")


def plain_column(column: pd.Series[Any]) -> pd.Series[Any]:
    """The type that NumPy has for numbers and truth values, where pandas has others of its own or of Arrow."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) or not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
        return column
    if not column.hasnans:
        return pd.Series(column.to_numpy(), index=column.index, name=column.name)
    if pd.api.types.is_bool_dtype(dtype):
        return column.astype(object).where(column.notna(), None)
    return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index, name=column.name)


def _refuse_complex_numbers(frame: pd.DataFrame) -> None:
    """They have no order, and would lose a half of themselves where other code takes them for numbers."""
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if pd.api.types.is_complex_dtype(dtype):
            raise DataError(f'Complex data not supported: column "{name}". Use its real and imaginary parts.')


def _without_foreign_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Dates, categories, decimals and lists that pandas holds as Arrow does become what a table of Arrow becomes.

    Numbers, truth values and texts of Arrow are read as they are, whoever holds them; but pandas cannot count half
    floats.
    """
    arrow = {place: dtype for place, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.ArrowDtype)}
    halves = [place for place, dtype in arrow.items() if dtype.pyarrow_dtype == "halffloat"]
    foreign = [place for place, dtype in arrow.items() if dtype.kind not in [*"biufU"]]
    if not halves and not foreign:
        return frame
    import pyarrow as pa

    frame = frame.copy(deep=False)  # the owner's stays as it is
    for place in halves:
        frame.isetitem(place, frame.iloc[:, place].to_numpy(np.float64, na_value=np.nan))
    for place in foreign:
        table = pa.table({str(frame.columns[place]): pa.array(frame.iloc[:, place].array)})
        column: Any = frame_of_arrow(table, "the table").iloc[:, 0].array
        frame.isetitem(place, column)
    return frame


def _of_columns(columns: Mapping[Any, Any]) -> pd.DataFrame:
    """Columns by name as a table; lists and arrays of objects get the type that their values have."""
    made = {str(name): one_dimensional(values, f'Column "{name}"') for name, values in columns.items()}
    refuse_lengths(made, "Columns")
    plain = {name: [None if v is pd.NA else v for v in x] if x.dtype == object else x for name, x in made.items()}
    return pd.DataFrame(plain)


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


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
        For dates and durations.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return "categorical"
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
    if is_table(table) or _is_arrow(table):
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
