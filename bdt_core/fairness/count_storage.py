"""Storage of a count table: the levels of its axes, and one line of codes and sums per cell that has rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bdt_core.errors import DataError

SCHEMA = 1
CODES = ("group", "stratum", "label", "prediction", "score_bin")

IntArray = NDArray[np.int64]


def to_dict(head: dict[str, Any], codes: tuple[IntArray, ...], sums: dict[str, IntArray]) -> dict[str, Any]:
    """Put columns, levels and cells together as JSON knows them.

    Parameters
    ----------
    head : dict
        Names of columns, and levels.
    codes : tuple of five arrays of shape (cells,)
        Position of each cell on the five axes.
    sums : dict of arrays of shape (cells,)
    """
    cells = np.stack([*codes, *sums.values()], axis=1).tolist()
    return {"schema": SCHEMA, **{name: _listed(one) for name, one in head.items()}, "sums": list(sums), "cells": cells}


def head_of(data: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Columns and levels of what `to_dict` made.

    Raises
    ------
    DataError
        The data is not a count table of this schema.
    """
    if data.get("schema") != SCHEMA:
        raise DataError(f"Expected a count table of schema {SCHEMA}; found {data.get('schema')!r}.")
    head = {name: tuple(one) if isinstance(one, list) else one for name, one in data.items() if name in names}
    head["groups"] = tuple(tuple(group) for group in head["groups"])
    return head


def sums_of(data: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Sums of what `to_dict` made, as arrays of this shape."""
    cells = _cells(data)
    sums = {name: np.zeros(shape, dtype=np.int64) for name in data["sums"]}
    for position, array in enumerate(sums.values(), start=len(CODES)):
        array[tuple(cells[:, : len(CODES)].T)] = cells[:, position]
    return sums


def _cells(data: dict[str, Any]) -> IntArray:
    return np.array(data["cells"], dtype=np.int64).reshape(-1, len(CODES) + len(data["sums"]))


def _listed(value: Any) -> Any:
    return [_listed(one) for one in value] if isinstance(value, tuple) else value
