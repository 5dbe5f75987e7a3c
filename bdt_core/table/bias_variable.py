"""The bias variable: what is measured per person, as it stands or made from label and prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.spec import BiasVariable
from bdt_core.table.audit_table import LeftOut

_NUMERIC_DERIVATIONS = ("absolute_error", "squared_error")


@dataclass(frozen=True)
class Wording:
    """How the bias variable is named in print."""

    name: str
    short: str
    description: str


def bias_variable(frame: pd.DataFrame, settings: BiasVariable) -> tuple[NDArray[np.float64], list[LeftOut]]:
    """Compute the bias variable of every row.

    Parameters
    ----------
    frame : DataFrame
        The source; the named columns exist.
    settings : BiasVariable

    Returns
    -------
    y : ndarray of shape (n_rows,)
        NaN where the row is not audited: the value is missing, or the row is outside the denominator
        (a positive label for ``false_positive_rate``, a negative one for ``false_negative_rate``).
    left_out : list of LeftOut
        Why and how many.

    Raises
    ------
    DataError
        When a column is not numeric, not two-valued, infinite, or leaves nothing that varies.

    Examples
    --------
    >>> frame = pd.DataFrame({"reoffended": [0, 0, 1, 1], "high_risk": [1, 0, 1, 0]})
    >>> settings = BiasVariable(derive="false_positive_rate", label="reoffended", prediction="high_risk")
    >>> bias_variable(frame, settings)[0].tolist()
    [1.0, 0.0, nan, nan]
    """
    left_out: list[LeftOut] = []
    if settings.column is not None:
        y = _numbers(frame, settings.column, "bias_variable.column")
    elif settings.derive in _NUMERIC_DERIVATIONS:
        assert settings.label is not None  # the specification checked it
        assert settings.prediction is not None
        error = _numbers(frame, settings.prediction, "bias_variable.prediction") - _numbers(
            frame, settings.label, "bias_variable.label"
        )
        y = np.abs(error) if settings.derive == "absolute_error" else error**2
    else:
        y, left_out = _from_confusion(frame, settings)
    missing = int(np.isnan(y).sum()) - sum(one.rows for one in left_out)
    if missing:
        left_out.append(LeftOut(f"the bias variable ({wording(settings).name}) is missing", missing))
    _refuse_useless(y, settings)
    return y, left_out


def wording(settings: BiasVariable) -> Wording:
    """Name, short name and description of the bias variable, for people."""
    label, prediction = settings.label, settings.prediction
    match settings.derive:
        case None:
            return Wording(str(settings.column), str(settings.column), f"mean of {settings.column}")
        case "error":
            return Wording("error rate", "error rate", f"share of people for whom {prediction} differs from {label}")
        case "false_positive":
            return Wording(
                "false positives",
                "false positives",
                f"share of all people for whom {prediction} is positive and {label} negative",
            )
        case "false_negative":
            return Wording(
                "false negatives",
                "false negatives",
                f"share of all people for whom {prediction} is negative and {label} positive",
            )
        case "false_positive_rate":
            return Wording(
                "false positive rate",
                "FPR",
                f"share of people with a negative {label} for whom {prediction} is positive",
            )
        case "false_negative_rate":
            return Wording(
                "false negative rate",
                "FNR",
                f"share of people with a positive {label} for whom {prediction} is negative",
            )
        case "positive_prediction":
            return Wording("selection rate", "selection rate", f"share of people for whom {prediction} is positive")
        case "absolute_error":
            return Wording("absolute error", "abs. error", f"mean absolute difference of {prediction} and {label}")
        case "squared_error":
            return Wording("squared error", "sq. error", f"mean squared difference of {prediction} and {label}")


def _from_confusion(frame: pd.DataFrame, settings: BiasVariable) -> tuple[NDArray[np.float64], list[LeftOut]]:
    assert settings.prediction is not None
    predicted = _is_positive(frame, settings.prediction, settings, "bias_variable.prediction")
    if settings.derive == "positive_prediction":
        return predicted, []
    assert settings.label is not None
    observed = _is_positive(frame, settings.label, settings, "bias_variable.label")
    known = ~np.isnan(predicted) & ~np.isnan(observed)
    left_out: list[LeftOut] = []
    outside = np.zeros(len(frame), dtype=bool)
    match settings.derive:
        case "error":
            wrong = predicted != observed
        case "false_positive" | "false_positive_rate":
            wrong = (predicted == 1) & (observed == 0)
        case _:
            wrong = (predicted == 0) & (observed == 1)
    if settings.derive == "false_positive_rate":
        outside = known & (observed == 1)
        left_out = [LeftOut(f"{settings.label} is positive: outside the false positive rate", int(outside.sum()))]
    elif settings.derive == "false_negative_rate":
        outside = known & (observed == 0)
        left_out = [LeftOut(f"{settings.label} is negative: outside the false negative rate", int(outside.sum()))]
    return np.where(known & ~outside, wrong.astype(np.float64), np.nan), [one for one in left_out if one.rows]


def _is_positive(frame: pd.DataFrame, name: str, settings: BiasVariable, key: str) -> NDArray[np.float64]:
    """1 where the value counts as positive, 0 where not, NaN where missing."""
    column = frame[name]
    missing = column.isna().to_numpy()
    if settings.positive is None:
        values = set(column[~missing].unique())
        if not values <= {0, 1}:
            shown = ", ".join(sorted(repr(one) for one in map(_plain, values))[:4])
            more = ", ..." if len(values) > 4 else ""
            raise DataError(
                f'Column "{name}" ({key}) has {len(values)} values ({shown}{more}) where two are needed, 0 and 1. '
                'Say which value counts as positive with "bias_variable.positive".'
            )
        positive = column.eq(1).to_numpy(dtype=bool, na_value=False)
    else:
        wanted = (
            settings.positive
            if isinstance(settings.positive, Sequence) and not isinstance(settings.positive, str)
            else [settings.positive]
        )
        positive = column.isin(wanted).to_numpy(dtype=bool)
        if not positive.any():
            raise DataError(
                f'Column "{name}" ({key}) never has the positive value {", ".join(map(repr, wanted))} '
                'of "bias_variable.positive". Correct the value, or list one for each of label and prediction.'
            )
    return np.where(missing, np.nan, positive.astype(np.float64))


def _numbers(frame: pd.DataFrame, name: str, key: str) -> NDArray[np.float64]:
    column = frame[name]
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        converted = pd.to_numeric(column, errors="coerce")
        bad = int((converted.isna() & column.notna()).sum())
        if bad:
            raise DataError(
                f'Column "{name}" ({key}) must be numeric, but {bad:,} of {len(column):,} values are not numbers. '
                'Name a numeric column, or make one with "bias_variable.derive".'
            )
        values = converted.to_numpy(dtype=np.float64)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise DataError(f'Column "{name}" ({key}) holds {infinite:,} infinite values. Replace or remove them.')
    return values


def _refuse_useless(y: NDArray[np.float64], settings: BiasVariable) -> None:
    known = y[~np.isnan(y)]
    name = wording(settings).name
    if known.size == 0:
        raise DataError(f"The bias variable ({name}) is missing in all {len(y):,} rows. There is nothing to audit.")
    if known.min() == known.max():
        raise DataError(
            f"The bias variable ({name}) is constant: all {known.size:,} rows have the same value, so no group can be "
            "worse off. Name another column or derivation."
        )


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
