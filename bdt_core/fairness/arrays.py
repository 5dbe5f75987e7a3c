"""Arrays, as other libraries take them, as a table of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.errors import DataError
from bdt_core.table.frames import handed_over, is_table, one_dimensional, refuse_lengths

Y_TRUE, Y_PRED, SCORE, WEIGHT = "y_true", "y_pred", "score", "weight"
GROUP, CONTROL = "group", "control"
"""What groups and control features are called that have no name."""


def table_of_arrays(
    y_true: Any, y_pred: Any, groups: Any, *, control: Any = None, score: Any = None, weight: Any = None
) -> tuple[pd.DataFrame, tuple[str, ...], tuple[str, ...], dict[str, str]]:
    """Set arrays beside each other.

    Parameters
    ----------
    y_true, y_pred, score, weight : array of shape (n,), optional
    groups, control : array or Series of shape (n,), array of shape (n, k), table or mapping of arrays
        Protected attributes, and those within whose values people are compared.

    Returns
    -------
    frame : DataFrame
    facet, control : tuple of str
        Names of the columns with groups, and of those that are controlled for.
    columns : dict of str to str
        Names of the other arrays that were given; they step aside where groups are called the same.

    Raises
    ------
    DataError
        Arrays differ in length or have more than one dimension.

    Examples
    --------
    >>> frame, facet, _, columns = table_of_arrays([1, 0], None, pd.Series(["f", "m"], name="sex"))
    >>> list(frame.columns), facet, columns
    (['sex', 'y_true'], ('sex',), {'y_true': 'y_true'})
    """
    named = _named(groups, GROUP)
    controlled = {} if control is None else _named(control, CONTROL)
    facet = tuple(named)
    if twice := named.keys() & controlled.keys():
        raise DataError(f"{min(twice)} is both a group and a control feature. Leave it out of one.")
    named |= controlled
    columns: dict[str, str] = {}
    for name, values in ((Y_TRUE, y_true), (Y_PRED, y_pred), (SCORE, score), (WEIGHT, weight)):
        if values is None:
            continue
        columns[name] = name
        while columns[name] in named:
            columns[name] += "_"
        named[columns[name]] = one_dimensional(values, name)
    refuse_lengths(named, "Arrays")
    return pd.DataFrame(named), facet, tuple(controlled), columns


def _named(groups: Any, unnamed: str) -> dict[str, Any]:
    """Groups by name, without an index."""
    if isinstance(groups, Mapping):
        return {str(name): one_dimensional(values, str(name)) for name, values in groups.items()}
    if is_table(groups):
        frame = handed_over(groups)
        return {str(name): one_dimensional(frame[name], str(name)) for name in frame.columns}
    name = getattr(groups, "name", None)
    if np.ndim(groups) == 2:
        whole = np.asarray(groups)
        return {f"{unnamed}_{i + 1}": whole[:, i] for i in range(whole.shape[1])}
    return {unnamed if name is None else str(name): one_dimensional(groups, unnamed)}
