"""Rows of Python values, as databases and JSON give them: a part of them becomes the frame that the whole would."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.table.column_types import ColumnType, Dtype, types_of

Record = Any
"""A row: a tuple of values, or a dict of them by column."""


class ValuesSeen:
    """What was seen of one column, part by part: an example of each sort of value.

    The whole column gets the type that pandas gives the examples.
    """

    def __init__(self) -> None:
        self._examples: dict[Hashable, Any] = {}

    def see(self, values: Sequence[Any]) -> None:
        """Take in the values of some rows."""
        for kind in set(map(type, values)):
            its: list[Any] = [value for value in values if type(value) is kind]
            if kind is int:
                known = [self._examples[end] for end in ("lowest", "highest") if end in self._examples]
                self._examples |= {"lowest": min(*known, *its, its[0]), "highest": max(*known, *its, its[0])}
            elif kind is float:
                any_number = any(value == value for value in its)  # NaN alone goes with texts, too
                self._examples |= {"fraction": 0.5} if any_number else {"nan": np.nan}
            elif kind is dt.datetime:
                times: Sequence[dt.datetime] = its
                self._examples |= {("time in", one.tzinfo): one for one in times}
            else:
                self._examples.setdefault(kind, its[0])

    def type(self, coerce_float: bool) -> ColumnType:
        """The type of the whole column, whose exact decimals are floats if wanted."""
        rows = [(value,) for value in self._examples.values()]
        frame = pd.DataFrame.from_records(rows, columns=["x"], coerce_float=coerce_float)
        return types_of(frame)["x"]


def typed_frame(
    records: Sequence[Record],
    dtypes: Mapping[str, Dtype],
    value: Callable[[Record, str], Any],
    coerce_float: bool = False,
) -> pd.DataFrame:
    """A frame of some rows with the types of the whole column.

    Parameters
    ----------
    records : sequence of tuple or dict
    dtypes : dict of str to dtype
        All columns of the whole, in order.
    value : callable
        The value of a record in a column.
    coerce_float : bool, default False
        Exact decimals become floats.
    """
    frame = pd.DataFrame.from_records(records, columns=list(dtypes), coerce_float=coerce_float)
    changed = {}
    for name, dtype in dtypes.items():
        column = frame[name]
        if column.dtype == dtype:
            continue
        if dtype == np.dtype(object):
            changed[name] = pd.Series([value(record, name) for record in records], dtype=object)
        elif column.isna().all():
            changed[name] = pd.Series(index=column.index, dtype=dtype)
        else:
            changed[name] = column.astype(dtype)
    return frame.assign(**changed) if changed else frame
