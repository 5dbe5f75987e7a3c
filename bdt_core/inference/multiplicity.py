"""Many tests at once: corrections of p-values, and the combination of repeated splits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError

Correction = Literal["holm", "bonferroni", "bh", "none"]


def adjust_p_values(
    p_values: Iterable[float | None] | NDArray[Any], method: Correction = "holm"
) -> NDArray[np.float64]:
    """Adjust the p-values of one family of tests.

    Parameters
    ----------
    p_values : iterable of float or None, shape (m,)
        None and NaN stand for tests that could not be made: they stay NaN and do not count in the family.
    method : {"holm", "bonferroni", "bh", "none"}, default "holm"
        "holm" and "bonferroni" control the chance of any false alarm under any dependence, "bh"
        (Benjamini-Hochberg) the expected share of false alarms among the findings.

    Returns
    -------
    ndarray of float64, shape (m,)
        Adjusted p-values, in the given order, at most 1 and never below the raw ones.

    Raises
    ------
    SpecError
        Unknown method.
    DataError
        A p-value outside [0, 1].

    References
    ----------
    Holm, S. (1979). Scandinavian Journal of Statistics 6, 65-70. Benjamini, Y., Hochberg, Y. (1995). JRSS B
    57, 289-300.

    Examples
    --------
    >>> adjust_p_values([0.01, None, 0.04, 0.03]).tolist()
    [0.03, nan, 0.06, 0.06]
    """
    if method not in get_args(Correction):
        raise SpecError(f"Unknown correction {method!r}. Known: {', '.join(get_args(Correction))}.")
    adjusted = _p_array(p_values)
    tested = ~np.isnan(adjusted)
    raw = adjusted[tested]
    m = raw.size
    if m == 0 or method == "none":
        return adjusted
    if method == "bonferroni":
        adjusted[tested] = np.minimum(raw * m, 1.0)
        return adjusted
    order = np.argsort(raw, kind="stable")
    if method == "holm":
        stepped = np.maximum.accumulate(raw[order] * np.arange(m, 0, -1))
    else:
        stepped = np.minimum.accumulate((raw[order] * m / np.arange(1, m + 1))[::-1])[::-1]
    back = np.empty(m)
    # m * p / m may round below p: never report less than the raw value.
    back[order] = np.maximum(np.minimum(stepped, 1.0), raw[order])
    adjusted[tested] = back
    return adjusted


def _p_array(p_values: Iterable[float | None] | NDArray[Any]) -> NDArray[np.float64]:
    values = np.array([np.nan if p is None else p for p in p_values], dtype=np.float64)
    if ((values < 0.0) | (values > 1.0)).any():
        raise DataError("p-values must lie between 0 and 1.")
    return values
