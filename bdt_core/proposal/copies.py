"""Columns that say the same as others: equal content, the same in other codes, or what follows from a group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_MOST_LEVELS = 50
_ROWS_PER_LEVEL = 5
Codes = NDArray[np.intp]


def copies(sample: pd.DataFrame, order: Iterable[str]) -> dict[str, str]:
    """Columns that are another one again, and which.

    Parameters
    ----------
    sample : DataFrame
    order : iterable of str
        The columns to look at; of several that say the same the first one stays.

    Returns
    -------
    dict of str to str
        Equal to it, or the same in other codes (male and female, 1 and 2), where values have
        several rows each.

    Examples
    --------
    >>> table = pd.DataFrame({"sex": ["m", "f"] * 10, "male": [1, 0] * 10, "age": range(20), "years": range(20)})
    >>> copies(table, table.columns)
    {'male': 'sex', 'years': 'age'}
    """
    first: dict[bytes, list[str]] = {}
    copied: dict[str, str] = {}
    for name in order:
        codes, levels = _coded(sample[name])
        if levels < 2:
            continue
        key = codes.tobytes()
        alike = [
            other
            for other in first.get(key, [])
            if levels * _ROWS_PER_LEVEL <= len(codes) or _are_equal(sample[name], sample[other])
        ]
        if alike:
            copied[name] = alike[0]
        else:
            first.setdefault(key, []).append(name)
    return copied


def followers(sample: pd.DataFrame, groups: Iterable[str], columns: Iterable[str]) -> dict[str, str]:
    """Columns that follow from a column of groups: its coarser forms, and whether somebody is of one group.

    Parameters
    ----------
    sample : DataFrame
    groups : iterable of str
        Columns of few values.
    columns : iterable of str
        Those that may follow.

    Examples
    --------
    >>> table = pd.DataFrame({"race": [1, 2, 3, 4] * 10, "asian": [0, 1, 0, 0] * 10, "x": [0, 1] * 10 + [1, 0] * 10})
    >>> followers(table, ["race"], ["asian", "x"])
    {'asian': 'race'}
    """
    coded: Mapping[str, tuple[Codes, int]] = {name: _coded(sample[name]) for name in (*groups, *columns)}
    following: dict[str, str] = {}
    for name in columns:
        codes, levels = coded[name]
        for group in groups:
            of_group, of_groups = coded[group]
            if group == name or not 2 <= levels <= of_groups <= _MOST_LEVELS:
                continue
            known = (codes >= 0) & (of_group >= 0)
            pairs = np.unique(of_group[known] * levels + codes[known])
            if known.sum() >= _ROWS_PER_LEVEL * of_groups and len(pairs) == len(np.unique(of_group[known])) > 1:
                following[name] = group
                break
    return following


def _coded(column: pd.Series) -> tuple[Codes, int]:
    try:
        codes, levels = pd.factorize(column)
    except TypeError:  # lists and the like
        return np.zeros(len(column), dtype=np.intp), 1
    return np.asarray(codes, dtype=np.intp), len(levels)


def _are_equal(values: pd.Series, other: pd.Series) -> bool:
    """Whether two columns of the same codes have the same values."""
    if pd.api.types.is_numeric_dtype(values.dtype) and pd.api.types.is_numeric_dtype(other.dtype):
        x, y = (column.to_numpy(dtype=np.float64, na_value=np.nan) for column in (values, other))
        return bool(np.array_equal(x, y, equal_nan=True))
    return (
        values.astype(object).where(values.notna(), None).tolist()
        == other.astype(object).where(other.notna(), None).tolist()
    )
