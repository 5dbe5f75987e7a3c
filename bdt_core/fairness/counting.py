"""Count the rows of a table: one pass over integer codes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness.coding import Coded, Threshold, code_column, column, level_order, numbers, smallest_unsigned
from bdt_core.fairness.counts import FIXED_POINT, NO_SCORE, OUTSIDE, SCORE_BINS, CountTable, Group, group_order
from bdt_core.table.frames import AnyTable, handed_over

MAX_CELLS = 20_000_000
TOO_MANY = (
    "Group the values of columns with text. Cut columns with numbers at a threshold; or, where label and prediction "
    "are numbers, ask for means and errors instead: groups.numbers: true, or tolerance= of bias_metrics."
)
MAX_WEIGHT = 1024.0
_FEW_CELLS = 4096  # combinations of facet values for which there is room, whether they occur or not
_COUNTING_BLOCK = 1 << 20
_WORTH_PAIRING = 1 << 17
_BLOCK = 1 << 16  # sums of fixed-point numbers stay exact in float64 over a block of this many rows


def count_rows(
    frame: AnyTable,
    facets: str | Sequence[str],
    *,
    label: str | None = None,
    prediction: str | None = None,
    stratum: str | None = None,
    score: str | None = None,
    weight: str | None = None,
    thresholds: Mapping[str, Threshold] | None = None,
) -> CountTable:
    """Count rows over facet cells x stratum x label x prediction.

    Parameters
    ----------
    frame : DataFrame, Arrow table or dict of columns, n rows
    facets : str or sequence of str
        Facet columns; several make intersections, of which those that occur are kept.
    label, prediction : str, optional
        What really happened, and what the algorithm said; at least one of them.
    stratum : str, optional
        Column within whose values the conditional metrics compare.
    score : str, optional
        Numeric column with the predicted probability of a positive label.
    weight : str, optional
        Numeric column with the weight of each row, 0 to 1024.
    thresholds : mapping of column to Threshold, optional
        Numeric columns that are cut in two.

    Returns
    -------
    CountTable

    Raises
    ------
    DataError
        A column is missing or not numeric where it must be, there are more than 20 million cells, or a weight is
        missing or out of range.
    SpecError
        No facet, a facet named twice, or neither label nor prediction.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": ["f", "f", "m"], "hired": [1, 0, 1], "advice": [0, 0, 1]})
    >>> count_rows(frame, "sex", label="hired", prediction="advice").to_frame()
      sex  hired  advice  counts
    0   f      0       0       1
    1   f      1       0       1
    2   m      1       1       1
    """
    names = (facets,) if isinstance(facets, str) else tuple(facets)
    if not names or len(set(names)) < len(names):
        raise SpecError(f"Expected one or more different facets; found {', '.join(names) or 'none'}.")
    if label is None and prediction is None:
        raise SpecError("Nothing to count: name a label, a prediction or both.")
    frame, cuts = handed_over(frame), dict(thresholds or {})
    groups, group_codes, declared = code_groups(frame, names, cuts)
    others = [
        Coded(np.zeros(0, dtype=np.uint8), (None,)) if name is None else code_column(frame, name, cuts.get(name))
        for name in (stratum, label, prediction)
    ]
    binned, scores = _binned(frame, score)
    shape = (len(groups), *(len(one.levels) for one in others), SCORE_BINS + 2 if score is not None else 1)
    if math.prod(shape) > MAX_CELLS:
        raise DataError(
            f"{' x '.join(map(str, shape))} combinations of {', '.join(names)} and the other columns are too many to "
            f"count. {TOO_MANY}"
        )
    codes = [group_codes, *(one.codes for one in others), binned]
    sums = _sums(codes, shape, len(frame), _weights(frame, weight), scores)
    return _ordered(
        CountTable(
            facets=names,
            groups=groups,
            stratum=stratum,
            strata=others[0].levels,
            label=label,
            labels=others[1].levels,
            prediction=prediction,
            predictions=others[2].levels,
            score=score,
            weight=weight,
            **sums,
        ),
        keep_groups=declared,
    )


def code_groups(
    frame: pd.DataFrame, facets: Sequence[str], thresholds: Mapping[str, Threshold] | None = None
) -> tuple[tuple[Group, ...], NDArray[Any], bool]:
    """Find the facet cells that occur (unsorted), the cell of each row, and whether cells without rows stay.

    They stay when a single facet's column names them, as a categorical column does.
    """
    cuts = thresholds or {}
    coded = [code_column(frame, name, cuts.get(name)) for name in facets]
    if len(coded) == 1:
        return tuple((level,) for level in coded[0].levels), coded[0].codes, coded[0].declared
    return *_intersections(facets, coded), False


def _intersections(names: Sequence[str], coded: Sequence[Coded]) -> tuple[tuple[Group, ...], NDArray[Any]]:
    """Cells and the cell of each row; those that occur are looked for unless all combinations are few."""
    sizes = [len(one.levels) for one in coded]
    if math.prod(sizes) > 2**62:
        raise DataError(f"{', '.join(names)} have too many combinations of values to count.")
    combined = _combined([one.codes for one in coded], sizes, coded[0].codes.size)
    if math.prod(sizes) <= _FEW_CELLS:
        return tuple(itertools.product(*(one.levels for one in coded))), combined
    if math.prod(sizes) <= combined.size // 16:
        occurring = np.flatnonzero(np.bincount(combined, minlength=math.prod(sizes)))
        back = np.zeros(math.prod(sizes), dtype=smallest_unsigned(max(occurring.size, 1)))
        back[occurring] = np.arange(occurring.size)
        combined = back[combined]
    else:
        occurring, combined = np.unique(combined, return_inverse=True)
    where = np.unravel_index(occurring, sizes)
    cells = zip(*([one.levels[i] for i in codes] for one, codes in zip(coded, where, strict=True)), strict=True)
    return tuple(cells), combined


def _sums(
    codes: Sequence[NDArray[Any]],
    shape: tuple[int, ...],
    rows: int,
    weights: NDArray[np.float64] | None,
    scores: NDArray[np.float64] | None,
) -> dict[str, Any]:
    """Add up counts and sums per cell, block by block."""
    cells = math.prod(shape)
    out: dict[str, NDArray[np.int64]] = {"counts": np.zeros(cells, dtype=np.int64)}
    if weights is not None:
        out |= {name: np.zeros(cells, dtype=np.int64) for name in ("weights", "squared_weights")}
    if scores is not None:
        out |= {name: np.zeros(cells, dtype=np.int64) for name in ("scores", "squared_scores")}
    varying = [i for i, size in enumerate(shape) if size > 1]
    sizes = [shape[i] for i in varying]
    # Sums must be exact, so blocks are short with them; counts alone may take long ones.
    length = _BLOCK if weights is not None or scores is not None else max(_COUNTING_BLOCK, cells)
    for start in range(0, rows, length):
        block = slice(start, min(start + length, rows))
        cell = _combined([codes[i][block] for i in varying], sizes, block.stop - start)
        out["counts"] += _counted(cell, cells)
        if weights is None and scores is None:
            continue
        place, weight = cell.astype(np.intp), 1.0 if weights is None else weights[block]
        if weights is not None:
            _add(out["weights"], place, weight)
            _add(out["squared_weights"], place, weight * weight / MAX_WEIGHT)
        if scores is not None:
            _add(out["scores"], place, weight * scores[block])
            _add(out["squared_scores"], place, weight * scores[block] ** 2)
    return {name: array.reshape(shape) for name, array in out.items()}


def _combined(codes: Sequence[NDArray[Any]], sizes: Sequence[int], rows: int) -> NDArray[Any]:
    """Cell of each row, computed in the smallest integers that hold it: that is several times faster."""
    kind: type[np.integer[Any]] = smallest_unsigned(math.prod(sizes))
    if np.dtype(kind).itemsize > 2:
        kind = np.intp  # what a count needs in the end
    if not codes:
        return np.zeros(rows, dtype=kind)
    cell = codes[0].astype(kind)
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        np.multiply(cell, kind(size), out=cell)
        np.add(cell, code, out=cell, casting="unsafe")
    return cell


def _counted(cell: NDArray[Any], cells: int) -> NDArray[np.int64]:
    """How often each cell occurs. Cells of one byte are counted in pairs, as numbers of two bytes: half the steps."""
    if cell.dtype != np.uint8 or cell.size < _WORTH_PAIRING:
        return np.bincount(cell, minlength=cells)
    paired = cell.size - cell.size % 2
    pairs = np.bincount(cell[:paired].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    counts: NDArray[np.int64] = pairs.sum(axis=0) + pairs.sum(axis=1) + np.bincount(cell[paired:], minlength=256)
    return counts[:cells]


def _add(to: NDArray[np.int64], cell: NDArray[np.intp], values: Any) -> None:
    fixed = np.rint(values * FIXED_POINT)
    to += np.bincount(cell, weights=fixed, minlength=to.size).astype(np.int64)


def _binned(frame: pd.DataFrame, score: str | None) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """Bin of each score, and the scores with 0 for those that do not count."""
    if score is None:
        return np.zeros(0, dtype=np.uint8), None
    values = numbers(column(frame, score), score)
    missing = np.isnan(values)
    outside = (values < 0.0) | (values > 1.0)
    usable = np.where(missing | outside, 0.0, values)
    bins = np.minimum((usable * SCORE_BINS).astype(np.uint8), SCORE_BINS - 1)
    bins[missing], bins[outside] = NO_SCORE, OUTSIDE
    return bins, usable


def _weights(frame: pd.DataFrame, weight: str | None) -> NDArray[np.float64] | None:
    if weight is None:
        return None
    values = numbers(column(frame, weight), weight)
    bad = int(np.count_nonzero(~((values >= 0.0) & (values <= MAX_WEIGHT))))
    if bad:
        raise DataError(
            f'{bad} of {len(values)} weights in column "{weight}" are missing or outside 0 to {MAX_WEIGHT:.0f}. '
            "Fill them, or divide all weights by their mean."
        )
    return values


def _ordered(table: CountTable, keep_groups: bool) -> CountTable:
    """Sort the levels of every axis and drop those without rows."""
    counts = table.counts
    kept: dict[str, Any] = {}
    orders = []
    for axis, name in enumerate(("groups", "strata", "labels", "predictions")):
        levels = getattr(table, name)
        others = tuple(i for i in range(counts.ndim) if i != axis)
        used = counts.sum(axis=others) > 0
        if len(levels) == 1 and levels[0] is None and name != "groups":  # no such column
            used[:] = True
        if name == "groups" and keep_groups:
            used |= np.array([None not in group for group in levels])
        key: Any = group_order if name == "groups" else level_order
        order = sorted(np.flatnonzero(used).tolist(), key=lambda i: key(levels[i]))
        orders.append(order)
        kept[name] = tuple(levels[i] for i in order)
    where = np.ix_(*orders, range(counts.shape[-1]))
    sums = table.each_sum(lambda array: np.ascontiguousarray(array[where]))
    return replace(table, **kept, **sums)
