"""Check LOGAN's input: features, groups, labels, predictions and scores, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.local_bias.metrics import Floats, LocalOutcome
from bdt_core.metrics import LOCAL_METRICS
from bdt_core.table.encoding import level_name
from bdt_core.table.frames import handed_over, is_table

_LARGEST = {"float32": 1e15, "float64": 1e140}


def outcome_of(
    metric: str, rows: int, *, correct: Any = None, y_true: Any = None, y_pred: Any = None, y_score: Any = None
) -> LocalOutcome:
    """Turn labels and predictions into what a metric counts; parameters are those of `LOGAN.fit`.

    Raises
    ------
    SpecError
        An unknown metric.
    DataError
        An array that the metric needs is not given, has another length or holds something else than 0 and 1.

    Examples
    --------
    >>> outcome_of("tpr", 4, y_true=[1, 1, 0, 0], y_pred=[1, 0, 1, 0]).value.tolist()
    [1, 0, -1, -1]
    """
    if metric not in LOCAL_METRICS:
        raise SpecError(
            f"There is no metric {metric!r} of local bias. {did_you_mean(str(metric), tuple(LOCAL_METRICS))}"
        )
    entry = LOCAL_METRICS[metric]
    of_all = entry.among is None and not entry.is_area
    if of_all and correct is not None:
        return LocalOutcome(metric, _binary(correct, "correct", rows))
    label = _binary(y_true, "y_true", rows, needed_by=metric)
    if entry.is_area:
        return LocalOutcome(metric, label, _scores(y_score, rows))
    prediction = _binary(y_pred, "y_pred", rows, needed_by=metric)
    if of_all:
        return LocalOutcome(metric, (label == prediction).astype(np.int8))
    return LocalOutcome(metric, np.where(label == entry.among, prediction, -1).astype(np.int8))


def group_codes(group: Any, rows: int) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Names of the groups, sorted, and the position of each row's group among them.

    DataError when a group is missing, there is only one, or there is not one per row.
    """
    if group is None:
        raise DataError("group is not given: LOGAN compares groups and needs the group of each row.")
    values = np.asarray(group, dtype=object)
    _one_per_row(values, "group", rows)
    missing = sum(one is None or one != one for one in values)
    if missing:
        raise DataError(f"group is missing in {missing:,} rows. Leave these rows out, or give them a group.")
    if rows == 1:
        raise DataError("There is 1 sample only: a gap needs rows of at least two groups.")
    names, codes = np.unique(np.array([level_name(one) for one in values], dtype=str), return_inverse=True)
    if len(names) < 2:
        raise DataError(
            f'All {rows:,} rows are of one group ("{names[0]}"): a gap needs at least two. '
            "Name another column, or bring rows of other groups."
        )
    return tuple(names.tolist()), codes.astype(np.int32)


def checked_matrix(X: Any, dtype: str | None = None) -> tuple[npt.NDArray[np.floating[Any]], tuple[str, ...] | None]:
    """X in float32 or float64, and the names of its columns; without a dtype float32 stays and all else is float64.

    DataError for what is not two-dimensional, empty, not numeric, or has values that are missing, infinite or too large
    to square.
    """
    X = handed_over(X) if is_table(X) else X
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    if scipy.sparse.issparse(X):
        raise DataError("X is sparse, and sparse input is not supported. Use X.toarray() where it fits into memory.")
    array = np.asarray(X)
    if np.iscomplexobj(array):
        raise DataError("Complex data not supported: X must hold real numbers.")
    if array.ndim == 1:
        raise DataError(
            f"X must be a table with rows and columns (2-d array), found the shape {array.shape}. Reshape your data: "
            "X.reshape(1, -1) is one row, X.reshape(-1, 1) one column."
        )
    if array.ndim == 2 and array.shape[1] == 0:
        raise DataError(f"X has 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"X must be a table with rows and columns (2-d array), found the shape {array.shape}.")
    if dtype is None:
        dtype = "float32" if array.dtype == np.float32 else "float64"
    try:
        matrix = array.astype(dtype, copy=False)
    except (TypeError, ValueError):
        raise DataError(
            "X must hold numbers only. Turn categories into columns of 0 and 1 first, or use find_local_bias, which "
            "encodes tables."
        ) from None
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(matrix) <= _LARGEST[dtype])
    if bad.any():
        columns = np.flatnonzero(bad.any(axis=0))
        shown = ", ".join(f'"{names[i]}"' if names else str(i) for i in columns[:5]) + (
            ", ..." if len(columns) > 5 else ""
        )
        raise DataError(
            f"X has {int(bad.sum()):,} values that are missing, infinite or beyond {_LARGEST[dtype]:g}, in "
            f"{int(bad.any(axis=1).sum()):,} rows and {len(columns):,} columns ({shown}). "
            "Fill or drop them."
        )
    return matrix, names


def _binary(values: Any, name: str, rows: int, needed_by: str | None = None) -> npt.NDArray[np.int8]:
    if values is None:
        raise DataError(
            f'{name} is not given: metric "{needed_by}" needs it, one 0 or 1 per row.'
            if needed_by != "accuracy"
            else 'Metric "accuracy" needs correct, or y_true and y_pred: one 0 or 1 per row.'
        )
    array = np.asarray(values)
    _one_per_row(array, name, rows)
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError):
        numbers = np.full(rows, np.nan)
    strange = int(np.count_nonzero((numbers != 0.0) & (numbers != 1.0)))
    if strange:
        raise DataError(
            f"{name} must be 0 or 1 (or False and True); {strange:,} of {rows:,} rows hold something else or nothing. "
            "Say which values are positive, and leave out rows without a value."
        )
    return numbers.astype(np.int8)


def _scores(values: Any, rows: int) -> Floats:
    if values is None:
        raise DataError('y_score is not given: metric "auc" needs it, one number per row.')
    try:
        scores = np.asarray(values).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("y_score must hold numbers, one per row, none missing.") from None
    _one_per_row(scores, "y_score", rows)
    bad = int(np.count_nonzero(~np.isfinite(scores)))
    if bad:
        raise DataError(f"y_score is missing or infinite in {bad:,} of {rows:,} rows. Leave these rows out.")
    return scores


def _one_per_row(values: npt.NDArray[Any], name: str, rows: int) -> None:
    if values.ndim != 1 or len(values) != rows:
        raise DataError(f"X has {rows:,} rows and {name} has the shape {values.shape}: one value per row is needed.")
