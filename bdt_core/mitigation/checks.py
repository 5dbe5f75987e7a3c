"""Checks of the input of this package: labels 0 and 1, groups without gaps, columns of equal length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Coded, code_column, column, level_order
from bdt_core.said import Numeral, joined, say

_NAMED = 20


def zero_or_one(labels: ArrayLike) -> NDArray[np.bool_]:
    """Which labels are 1.

    Raises
    ------
    DataError
        Missing labels, or other values than 0 and 1 (False and True).
    """
    given = np.asarray(labels)
    if given.ndim != 1:
        raise DataError(f"Labels must be one-dimensional; found shape {given.shape}.")
    missing = int(pd.isna(given).sum())
    if missing:
        raise DataError(f"{missing} of {given.size} labels are missing. Leave those rows out.")
    positive = np.asarray(given == 1)
    if not bool((positive | (given == 0)).all()):
        raise DataError(
            f"Labels must be 0 and 1; found {len(pd.unique(given))} different values of type {given.dtype}. Say which "
            "value is positive, as in labels == value."
        )
    return positive


def coded(values: ArrayLike, what: str) -> Coded:
    """Codes of the values that occur.

    Raises
    ------
    DataError
        Missing values, or none at all.
    """
    series: pd.Series[Any] = pd.Series(values)
    if not series.size:
        raise DataError(f"There are no {what}: no rows were given.")
    missing = int(series.isna().sum())
    if missing:
        raise DataError(
            f"{missing} of {series.size} {what} are missing. Leave those rows out, or name a value for them."
        )
    codes = code_column(pd.DataFrame({what: series.array}), what)
    used = np.flatnonzero(np.bincount(codes.codes, minlength=len(codes.levels)))
    back = np.zeros(len(codes.levels), dtype=np.int64)
    back[used] = np.arange(used.size)
    return Coded(back[codes.codes], tuple(codes.levels[i] for i in used))


def in_order(codes: Coded) -> Coded:
    """The same column with its levels in order, numbers before text: what is made of it then does not depend on the
    order of the rows.
    """
    order = sorted(range(len(codes.levels)), key=lambda i: level_order(codes.levels[i]))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Coded(place[codes.codes], tuple(codes.levels[i] for i in order))


def same_length(**lengths: int) -> None:
    """Refuse arrays of different rows.

    Raises
    ------
    DataError
    """
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{n} {name}" for name, n in lengths.items())
        raise DataError(f"All must be of the same rows; found {counted}.")


def quoted(names: list[str]) -> str:
    """Names for a message; the first 20."""
    shown = joined([say('"{as_is}"', as_is=name) for name in names[:_NAMED]], ", ")
    if len(names) <= _NAMED:
        return shown
    return joined([shown, say("and {N} more", N=Numeral(len(names) - _NAMED))], " ")


def persons_of_rows(frame: pd.DataFrame, name: str) -> NDArray[np.int64]:
    """The number of each row's person, in the order of what names them; rows without a name are one person."""
    codes, _ = pd.factorize(column(frame, name), sort=True, use_na_sentinel=False)
    return np.asarray(codes, dtype=np.int64)
