"""A bound on the work of the search: of a wide table, which combinations of columns are counted.

The number of combinations grows with the third power of the number of columns, and more where slices may have more
conditions. A table within the bound is counted whole. Of a wider one, columns are combined one more at a time:

- only where all parts of a combination have a slice with enough rows, without which it has none itself (Apriori);
- if these are still too many, only those of the columns whose slices have the strongest evidence of harm so far, of
  as many columns as the bound admits.

The bound is a number of combinations, and evidence that of the train rows: which slices are searched depends neither
on the machine nor on the rows that they are tested on.

References
----------
Agrawal, R., Srikant, R. (1994). Fast algorithms for mining association rules. VLDB 20, 487-499.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bdt_core.groups.slices.contrasts import contrasts, places_of_parts
from bdt_core.groups.slices.counting import NO_ITEM, Combination, SliceCounts, all_combinations, in_order
from bdt_core.groups.slices.part import CodedPart

ORDINARY = 30
"""So many columns are always combined in full."""
FEWEST_COMBINATIONS = 20_000
"""Of any number of conditions so many combinations of columns may be counted: the pairs of 200 columns, and the
triples of 50."""


def most_combinations(conditions: int) -> int:
    """How many combinations of so many columns are counted at most.

    Examples
    --------
    >>> [most_combinations(k) for k in (2, 3, 4, 5)]
    [20000, 20000, 27405, 142506]
    """
    return max(FEWEST_COMBINATIONS, math.comb(ORDINARY, conditions))


def is_bounded(columns: int, conditions: int) -> bool:
    """Whether there are more combinations of so many columns than are counted at most.

    Examples
    --------
    >>> is_bounded(50, 3), is_bounded(51, 3), is_bounded(51, 2)
    (False, True, False)
    """
    return math.comb(columns, conditions) > most_combinations(conditions)


@dataclass(frozen=True)
class Combined:
    """The columns whose combinations were counted, of a number of conditions of which not all were.

    Attributes
    ----------
    conditions : int
    columns : tuple of int
        Those with the strongest evidence first.
    """

    conditions: int
    columns: tuple[int, ...]


def count_within_bound(
    train: CodedPart, max_conditions: int, min_rows: int
) -> tuple[SliceCounts, tuple[Combined, ...]]:
    """Count every slice with enough rows, over as many combinations of columns as the bound admits.

    Returns
    -------
    counted : SliceCounts
    combined : tuple of Combined
        Per number of conditions of which combinations were left out that may have slices with enough rows.
    """
    most = min(max_conditions, train.columns)
    if not any(is_bounded(train.columns, size) for size in range(1, most + 1)):
        return train.count(all_combinations(train.columns, most), max_conditions, min_rows), ()
    counted = train.count(all_combinations(train.columns, 1), max_conditions, min_rows)
    combined: list[Combined] = []
    left = set(range(train.columns))
    for size in range(2, most + 1):
        order = [one for one in by_evidence(train, counted) if one in left]
        chosen, columns = promising(order, _columns_of(train, counted, size - 1), size, most_combinations(size))
        if combined or len(columns) < len(order):
            combined.append(Combined(size, columns))
            left = set(columns)
        if not chosen:
            break
        new = train.count(chosen, max_conditions, min_rows)
        both = (np.concatenate([vars(one)[name] for one in (counted, new)]) for name in ("items", "totals"))
        counted = in_order(SliceCounts(*both))
    return counted, tuple(combined)


def by_evidence(train: CodedPart, counted: SliceCounts) -> list[int]:
    """Columns with a slice, the one with the strongest evidence of harm first.

    A slice's evidence is what its last condition adds, whichever is put last: the least of its distances, in standard
    errors, from the rest of each slice with one condition less. A column that goes together with a harmed group by
    chance has none.
    """
    places = places_of_parts(counted.items)
    z = np.full(places.shape, np.inf)
    for j, place in enumerate(places.T):
        is_one = counted.items[:, j] != NO_ITEM
        around = np.where((place == NO_ITEM)[:, None], train.whole, counted.totals[place])
        z[is_one, j] = contrasts(
            train.outcome, train.measure.harm_sign, counted.totals, train.whole, train.design_effect, around=around
        ).z[is_one]
    evidence = np.nan_to_num(z.min(axis=1), nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    best = np.full(train.columns, -np.inf)
    column = np.searchsorted(train.coding.offsets, counted.items, side="right") - 1
    for j in range(counted.items.shape[1]):
        is_one = counted.items[:, j] != NO_ITEM
        np.maximum.at(best, column[is_one, j], evidence[is_one])
    shown = np.zeros(train.columns, dtype=bool)
    shown[column[counted.items != NO_ITEM]] = True
    return [one for one in np.argsort(-best, kind="stable").tolist() if shown[one]]


def promising(
    order: Sequence[int], parts: set[Combination], size: int, most: int
) -> tuple[list[Combination], tuple[int, ...]]:
    """Combinations of which all parts are there, of as many columns as give no more than a number of them.

    Parameters
    ----------
    order : sequence of int
        Columns, the most promising first.
    parts : set of tuple of int
        Combinations of one column less, ascending.
    size : int
    most : int

    Returns
    -------
    combinations : list of tuple of int
    columns : tuple of int
        The first ones of `order` that were combined.

    Examples
    --------
    >>> promising([2, 0, 1, 3], {(0, 1), (0, 2), (1, 2), (0, 3), (2, 3)}, size=3, most=1)
    ([(0, 1, 2)], (2, 0, 1))
    """
    rank = {column: i for i, column in enumerate(order)}
    ranked = {tuple(sorted(rank[one] for one in part)) for part in parts if all(one in rank for one in part)}
    by_prefix: dict[Combination, list[int]] = {}
    by_last: dict[int, list[Combination]] = {}
    for part in sorted(ranked):
        by_prefix.setdefault(part[:-1], []).append(part[-1])
        by_last.setdefault(part[-1], []).append(part[:-1])
    chosen: list[Combination] = []
    for last in range(len(order)):
        new = [
            (*prefix, other, last)
            for prefix in by_last.get(last, ())
            for other in by_prefix[prefix]
            if other < last and ranked.issuperset(combinations((*prefix, other, last), size - 1))
        ]
        if len(chosen) + len(new) > most:
            return _named(chosen, order), tuple(order[:last])
        chosen += new
    return _named(chosen, order), tuple(order)


def _named(chosen: Sequence[Combination], order: Sequence[int]) -> list[Combination]:
    return sorted(tuple(sorted(order[i] for i in one)) for one in chosen)


def _columns_of(train: CodedPart, counted: SliceCounts, size: int) -> set[Combination]:
    """The combinations of so many columns that have a slice."""
    items = counted.items[(counted.items != NO_ITEM).sum(axis=1) == size, :size]
    columns = np.searchsorted(train.coding.offsets, items, side="right") - 1
    return {tuple(one) for one in np.unique(columns, axis=0).tolist()}
