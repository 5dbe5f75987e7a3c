"""Label and prediction as numbers, by declared group: summaries that add up over blocks of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError
from bdt_core.fairness.coding import Threshold, column, numbers
from bdt_core.fairness.counting import code_groups
from bdt_core.fairness.counts import Group, group_order
from bdt_core.fairness.group_summaries import sums_of_group
from bdt_core.fairness.persons import persons_in
from bdt_core.inference.persons import Persons, PersonSums, PlacedSums, Steps
from bdt_core.inference.summaries import Centring, SeenValues, Summary, look, summarise
from bdt_core.metrics import NUMERIC, NumericMetric
from bdt_core.table.audit_table import KEY
from bdt_core.table.facts import holds_numbers
from bdt_core.table.source_blocks import SourceBlocks
from bdt_core.table.summaries import How, plus

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_LARGEST = 1e140
"""Beyond it, sums of squares leave what a float holds."""
_MOST_CLASSES = 20
"""More whole numbers than that are amounts."""


@dataclass(frozen=True)
class NumericColumns:
    """What is measured of whom: columns, and how far off is near enough.

    Attributes
    ----------
    groupings : tuple of tuple of str
        Columns that make groups together.
    label, prediction : str or None
    tolerance : float or None
    cuts : mapping of str to Threshold
        Numeric columns of groupings that are cut in two.
    """

    groupings: tuple[tuple[str, ...], ...]
    label: str | None
    prediction: str | None
    tolerance: float | None = None
    cuts: Mapping[str, Threshold] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not all(one and len(set(one)) == len(one) for one in self.groupings):
            raise SpecError("Expected one or more different facets.")
        if self.label is None and self.prediction is None:
            raise SpecError("Nothing to measure: name a label, a prediction or both.")
        if self.tolerance is not None and not (math.isfinite(self.tolerance) and self.tolerance > 0):
            raise SpecError(f"tolerance must be a finite number above 0; found {self.tolerance}.")
        if self.tolerance is not None and None in (self.label, self.prediction):
            raise SpecError("tolerance needs a label and a prediction.")

    @property
    def metrics(self) -> tuple[NumericMetric, ...]:
        """Those that label, prediction and tolerance allow."""
        return tuple(
            one
            for one in NUMERIC.values()
            if (self.label is not None or not one.needs_label)
            and (self.prediction is not None or not one.needs_prediction)
            and (self.tolerance is not None or not one.needs_tolerance)
        )

    @property
    def amounts(self) -> dict[str, str]:
        """Of each metric the first one that is of the same amount, under whose name it is summed."""
        of_amount: dict[object, str] = {}
        return {one.name: of_amount.setdefault(one.amount, one.name) for one in self.metrics}

    def known(self, frame: pd.DataFrame) -> tuple[NDArray[np.bool_], dict[str, Floats]]:
        """Rows whose label and prediction are finite numbers, and each amount of these rows."""
        columns = [
            None if name is None else numbers(column(frame, name), name) for name in (self.label, self.prediction)
        ]
        known = np.ones(len(frame), dtype=np.bool_)
        for name, values in zip((self.label, self.prediction), columns, strict=True):
            if values is not None:
                known &= np.isfinite(values)
                if (np.abs(values[known]) > _LARGEST).any():
                    raise DataError(f'Column "{name}" has values beyond {_LARGEST:g}. Divide it by a constant.')
        label, prediction = (None if values is None else values[known] for values in columns)
        summed = dict.fromkeys(self.amounts.values())
        return known, {
            name: np.asarray(NUMERIC[name].amount(label, prediction, self.tolerance), dtype=np.float64) + 0.0
            for name in summed
        }


@dataclass(frozen=True)
class GroupedNumbers:
    """The numbers of the groups of one grouping.

    Attributes
    ----------
    columns : tuple of str
    groups : tuple of tuple
        In the order of their values; those that a known row is in.
    first : int
        The number of the first of its groups, among those of all groupings.
    everybody : int
        The number of all of its groups together.
    rows : int
        Of the source.
    missing : dict of str to int
        Rows that lack a value, by column.
    lows : dict of str to float
        The smallest amount of any row with label and prediction.
    summaries : dict of str to tuple of Summary
        Of each group, by amount.
    persons : PersonsOfNumbers or None
        None where each row is a person.
    """

    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    first: int
    everybody: int
    rows: int
    missing: dict[str, int]
    lows: dict[str, float]
    summaries: dict[str, tuple[Summary, ...]]
    persons: PersonsOfNumbers | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Known rows of each group."""
        return tuple(one.rows for one in next(iter(self.summaries.values())))


@dataclass(frozen=True, eq=False)
class PersonsOfNumbers:
    """What persons have in the groups of a grouping.

    Attributes
    ----------
    size : int
        How many numbers of persons there are.
    steps : dict of str to Steps
        What each amount is summed in.
    cells : PlacedSums
        Rows, and the steps of each amount, at the place group * size + person.
    """

    size: int
    steps: dict[str, Steps]
    cells: PlacedSums

    def sums(self, amount: str, group: int | None) -> PersonSums:
        """What each person has in one group, or in all of them together."""
        at = 1 + list(self.steps).index(amount)
        places = self.cells.places if group is not None else self.cells.places % self.size
        cells = PlacedSums(places, self.cells.sums[[0, at]])
        if group is None:
            cells = PlacedSums.of(places, *cells.sums)
        return sums_of_group(cells, group or 0, self.size)


def hold_numbers(frame: pd.DataFrame, label: str | None, prediction: str | None) -> bool:
    """Whether label and prediction, as far as they are named, say how much, and not what.

    Examples
    --------
    >>> frame = pd.DataFrame({"paid": [1.5, 2.0, 3.5], "grade": [1, 2, 3], "granted": [0, 1, 1]})
    >>> [hold_numbers(frame, *two) for two in (("paid", "grade"), ("grade", None), ("granted", "paid"))]
    [True, False, False]
    """
    many = False
    for name in (label, prediction):
        if name is None:
            continue
        values = column(frame, name)
        if not holds_numbers(values):
            return False
        distinct = pd.unique(numbers(values, name))
        distinct = distinct[np.isfinite(distinct)]
        if distinct.size <= 2:
            return False
        many |= distinct.size > _MOST_CLASSES or bool((distinct != np.floor(distinct)).any())
    return many


def sum_numbers(source: SourceBlocks, asked: NumericColumns, *, by_person: bool = False) -> tuple[GroupedNumbers, ...]:
    """Summarise the amounts of every group of each grouping.

    Parameters
    ----------
    source : SourceBlocks
    asked : NumericColumns
    by_person : bool
        Whether blocks have `KEY`, the hash of each row's person.

    Returns
    -------
    tuple of GroupedNumbers
        One per grouping. Sums are exact, whatever the blocks and the order of the rows.

    Raises
    ------
    DataError
        A column is missing or no numbers, or no row has all of them.
    """
    looked = reduce(add, source.map_source_blocks(partial(_look, asked=asked)))
    if not looked.known:
        named = " and ".join(f'"{one}"' for one in (asked.label, asked.prediction) if one is not None)
        raise DataError(f"No row has a number in {named}. There is nothing to compare groups by.")
    how: dict[str, How] = {name: one.values for name, one in looked.seen.items() if one.values is not None}
    centrings = {name: Centring.of(one) for name, one in looked.seen.items() if one.values is None}
    if centrings:
        counts = source.map_source_blocks(partial(_count_steps, asked=asked, centrings=centrings))
        how |= {name: one.scale(sum(block[name] for block in counts)) for name, one in centrings.items()}
    orders = [tuple(sorted(groups, key=group_order)) for groups in looked.groups]
    blocks = source.map_source_blocks(partial(_summarise, asked=asked, orders=orders, how=how))
    persons: list[PersonsOfNumbers | None] = [None] * len(orders)
    if by_person:
        known = reduce(add, source.map_source_blocks(persons_in))
        steps = {name: Steps.of(one) for name, one in how.items()}
        placed = source.map_source_blocks(
            partial(_persons_in_block, asked=asked, orders=orders, persons=known, steps=steps)
        )
        persons = [
            PersonsOfNumbers(known.size, steps, reduce(add, of_grouping)) for of_grouping in zip(*placed, strict=True)
        ]
    firsts = np.cumsum([0, *map(len, orders)]).tolist()
    return tuple(
        GroupedNumbers(
            columns=columns,
            groups=groups,
            first=first,
            everybody=firsts[-1] + i,
            rows=looked.rows,
            missing={name: looked.missing[name] for name in _columns(asked, columns)},
            lows={name: one.span.low for name, one in looked.seen.items()},
            summaries={name: tuple(reduce(_plus_each, [iter(block[i][name]) for block in blocks])) for name in how},
            persons=of_persons,
        )
        for i, (columns, groups, first, of_persons) in enumerate(
            zip(asked.groupings, orders, firsts[:-1], persons, strict=True)
        )
    )


def cells_of(
    frame: pd.DataFrame, asked: NumericColumns, orders: Sequence[tuple[Group, ...]], amounts: Sequence[str]
) -> tuple[Integers, Floats]:
    """The values of some amounts by group, for their ranks.

    The cell of a group is its number, and that of all groups of a grouping together follows behind all groups. Cells of
    the second amount begin where those of the first end, and so on.
    """
    known, values = asked.known(frame)
    firsts = np.cumsum([0, *map(len, orders)])
    cells: list[Integers] = []
    held: list[Floats] = []
    for number, name in enumerate(amounts):
        before = number * cells_per_amount(orders)
        for i, places in enumerate(_places(frame, asked, orders, known)):
            inside = places >= 0
            cells += [before + firsts[i] + places[inside], np.full(inside.sum(), before + firsts[-1] + i)]
            held += [values[name][inside]] * 2
    return np.concatenate(cells).astype(np.int64), np.concatenate(held)


def cells_per_amount(orders: Sequence[tuple[Group, ...]]) -> int:
    """How many cells each amount has."""
    return sum(map(len, orders)) + len(orders)


@dataclass(frozen=True)
class _Looked:
    """The first look at a block: its rows, its groups, and its amounts."""

    rows: int
    known: int
    missing: dict[str, int]
    groups: tuple[frozenset[Group], ...]
    seen: dict[str, SeenValues]

    def __add__(self, other: _Looked) -> _Looked:
        return _Looked(
            self.rows + other.rows,
            self.known + other.known,
            {name: n + other.missing[name] for name, n in self.missing.items()},
            tuple(one | another for one, another in zip(self.groups, other.groups, strict=True)),
            {name: one + other.seen[name] for name, one in self.seen.items()},
        )


def _look(frame: pd.DataFrame, asked: NumericColumns) -> _Looked:
    known, amounts = asked.known(frame)
    missing: dict[str, int] = {}
    groups = []
    for columns in asked.groupings:
        in_block, codes, _ = code_groups(frame, columns, asked.cuts)
        present = np.unique(codes[known].astype(np.intp)).tolist()
        groups.append(frozenset(in_block[i] for i in present if None not in in_block[i]))
        for name in _columns(asked, columns):
            if name not in missing:
                values = column(frame, name)
                is_number = name in (asked.label, asked.prediction)
                lacks = ~np.isfinite(numbers(values, name)) if is_number else values.isna().to_numpy()
                missing[name] = int(lacks.sum())
    seen = {name: look(values) for name, values in amounts.items()}
    return _Looked(len(frame), int(known.sum()), missing, tuple(groups), seen)


def _columns(asked: NumericColumns, columns: tuple[str, ...]) -> list[str]:
    named = (*columns, asked.label, asked.prediction)
    return list(dict.fromkeys(one for one in named if one is not None))


def _count_steps(frame: pd.DataFrame, asked: NumericColumns, centrings: dict[str, Centring]) -> dict[str, int]:
    _, amounts = asked.known(frame)
    return {name: one.count(amounts[name]) for name, one in centrings.items()}


def _places(
    frame: pd.DataFrame, asked: NumericColumns, orders: Sequence[tuple[Group, ...]], known: NDArray[np.bool_]
) -> list[Integers]:
    """Of each grouping, which of its groups each known row is in; -1 where it lacks a value."""
    out = []
    for columns, order in zip(asked.groupings, orders, strict=True):
        groups, codes, _ = code_groups(frame, columns, asked.cuts)
        at = {group: i for i, group in enumerate(order)}
        place = np.array([at.get(group, -1) for group in groups] or [-1], dtype=np.int64)
        out.append(place[codes[known].astype(np.intp)])
    return out


def _summarise(
    frame: pd.DataFrame, asked: NumericColumns, orders: Sequence[tuple[Group, ...]], how: dict[str, How]
) -> list[dict[str, list[Summary]]]:
    known, amounts = asked.known(frame)
    grouped = []
    for order, places in zip(orders, _places(frame, asked, orders, known), strict=True):
        inside = places >= 0
        of_group = places[inside]
        grouped.append({name: summarise(amounts[name][inside], of_group, len(order), way) for name, way in how.items()})
    return grouped


def _plus_each(summaries: Iterable[Summary], others: Iterable[Summary]) -> list[Summary]:
    return [plus(one, other) for one, other in zip(summaries, others, strict=True)]


def _persons_in_block(
    frame: pd.DataFrame,
    asked: NumericColumns,
    orders: Sequence[tuple[Group, ...]],
    persons: Persons,
    steps: dict[str, Steps],
) -> list[PlacedSums]:
    known, amounts = asked.known(frame)
    who = persons.numbers(frame[KEY].to_numpy())[known]
    sums = []
    for places in _places(frame, asked, orders, known):
        inside = places >= 0
        counted = [one.count(amounts[name][inside]).astype(np.int64) for name, one in steps.items()]
        rows = np.ones(int(inside.sum()), dtype=np.int64)
        sums.append(PlacedSums.of(places[inside] * persons.size + who[inside], rows, *counted))
    return sums
