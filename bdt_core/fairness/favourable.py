"""Favourable values of a label or a prediction."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Level, Threshold, Value, is_same, values_of
from bdt_core.fairness.counts import CountTable

Positive = Value | Iterable[Value] | Threshold
"""The favourable value, several of them, or a threshold that favourable values exceed."""
_SHOWN = 5


def favourable(levels: tuple[Level, ...], positive: Positive) -> NDArray[np.bool_]:
    """Which levels are favourable; numbers are also the texts that write them.

    Examples
    --------
    >>> favourable((0, 1, "yes"), [1, "yes"]).tolist(), favourable(("<= 5", "> 5"), Threshold(5)).tolist()
    ([False, True, True], [False, True])
    """
    values = (positive.above,) if isinstance(positive, Threshold) else values_of(positive)
    return np.array([any(is_same(level, one) for one in values) for level in levels], dtype=bool)


def refuse_absent(table: CountTable, positive: Positive, positive_prediction: Positive, keys: tuple[str, str]) -> None:
    """Refuse favourable values that no row has: all rates would be 0, and every limit on a difference held.

    Parameters
    ----------
    table : CountTable
        Of all rows.
    positive, positive_prediction : value, values or Threshold
        Favourable values of the label and of the prediction.
    keys : tuple of str
        Where these two stand, for the message.

    Raises
    ------
    DataError
        No row of the label or of the prediction has any of its favourable values. A prediction that never is, though
        some label of the same values is, favours nobody, and is none; and the other way round.
    """
    label, prediction = (
        tuple(one for one in several if one is not None) for several in (table.labels, table.predictions)
    )
    for name, levels, others, good, key in (
        (table.label, label, prediction, positive, keys[0]),
        (table.prediction, prediction, label, positive_prediction, keys[1]),
    ):
        if name is None or not levels or favourable(levels, good).any():
            continue
        alike = set(levels) <= set(others) or {*levels, *others} <= {0, 1}
        if alike and favourable(others, good).any():
            continue
        asked = [good.above] if isinstance(good, Threshold) else [repr(one) for one in values_of(good)]
        shown = [str(one) if isinstance(good, Threshold) else repr(one) for one in levels[:_SHOWN]]
        mend = (
            "Set a lower threshold."
            if isinstance(good, Threshold)
            else "Name one that it has, or list one for each of label and prediction."
        )
        raise DataError(
            f'{key}: no row of "{name}" has the favourable value {", ".join(asked)}; the values there are: '
            f"{', '.join(shown)}{', ...' if len(levels) > _SHOWN else ''}. {mend}"
        )
