"""The audit's stage for profiling characteristics: does each find what it should, and whom does it burden.

A profiling characteristic is a column by which an algorithm selects people, such as a risk factor. It is suitable if
those who have it have the true label more often; it burdens a group whose people have it more often than others.
All rows are used, train and test alike: where columns are cut does not depend on any outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.coding import Threshold, code_column, level_order
from bdt_core.fairness.declared_groups import favourable_values
from bdt_core.fairness.favourable import Positive, favourable
from bdt_core.inference import Comparison, adjust_p_values, corrected_interval
from bdt_core.inference.comparison import compare_count_arrays
from bdt_core.inference.persons import Persons, compare_persons, person_sums
from bdt_core.result import Result
from bdt_core.said import Text, say
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import KEY, AuditTable
from bdt_core.table.cuts import roundest
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Drawn, rows_at_hand

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_UNNAMED = 30
"""So many features are looked at without being named."""
MOST_LEVELS = 20
_FEW_VALUES = 5
_QUARTERS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Relation:
    """A share of some people against that of all others.

    Attributes
    ----------
    share, share_others : float
    difference, low, high : float
        Of the shares, with an interval that allows for all relations of its kind.
    p_adjusted : float
        Corrected by Holm over all relations of its kind.
    significant : bool
    """

    share: float
    share_others: float
    difference: float
    low: float
    high: float
    p_adjusted: float
    significant: bool


@dataclass(frozen=True)
class Burden:
    """How much more often people of a protected group have a characteristic than all others do.

    Attributes
    ----------
    column, group : str
    relation : Relation
        Shares with the characteristic among people of the group, and among all others.
    """

    column: str
    group: Text
    relation: Relation


@dataclass(frozen=True)
class CharacteristicLevel:
    """A value, or an interval of values, of a characteristic.

    Attributes
    ----------
    words : str
    rows : int
        Who has it.
    found : Relation or None
        Share with the true label among those who have it, and among all others; None without a label, or where too few
        rows have one. A difference above 0: it finds what it should.
    selected : Relation or None
        Share that the prediction selects, likewise.
    burdens : tuple of Burden
        Largest difference first.
    """

    words: Text
    rows: int
    found: Relation | None
    selected: Relation | None
    burdens: tuple[Burden, ...]

    @property
    def raised(self) -> float:
        """By how much those who have it are selected more often, or have the true label where nothing selects."""
        relation = self.selected or self.found
        return relation.difference if relation else 0.0


@dataclass(frozen=True)
class Characteristic:
    """A column by which people are selected; its levels in the order of how much more often they are."""

    column: str
    levels: tuple[CharacteristicLevel, ...]

    @property
    def strongest(self) -> CharacteristicLevel:
        """The level that raises selection most."""
        return self.levels[0]


@dataclass(frozen=True)
class Characteristics(Result):
    """Every profiling characteristic; no limit looks at these.

    Attributes
    ----------
    label, prediction : str or None
        What really happened, and what the algorithm said.
    confidence : float
    min_rows : int
        A level that fewer have, or fewer have not, is left out.
    key : str or None
        What tells persons apart, where they may have several rows.
    characteristics : tuple of Characteristic
        In the order of how much they raise selection.
    left_out : tuple of str
        Columns of which no level has enough rows.
    reason : str or None
        Why none was looked at.
    drawn : Drawn or None
        Rows that were drawn of a large table.
    """

    label: str | None
    prediction: str | None
    confidence: float
    min_rows: int
    key: str | None
    characteristics: tuple[Characteristic, ...]
    left_out: tuple[str, ...] = ()
    reason: Text | None = None
    drawn: Drawn | None = None


def judge_characteristics(table: Rows, spec: AuditSpec) -> Characteristics:
    """Hold every profiling characteristic against the true label, the prediction and the protected columns.

    Parameters
    ----------
    table : Rows
        All rows; also those that have no bias variable.
    spec : AuditSpec
        ``characteristics``, label and prediction of ``groups`` or ``bias_variable``, ``protected``, ``significance``.

    Returns
    -------
    Characteristics
        Categories by level, numbers of more than five values by quarters of the rows; each against all others. Mid-p
        tests, Holm's correction within each of three kinds of relation, Newcombe's intervals that allow for it.
    """
    names = table.names("feature") if spec.characteristics is None else spec.characteristics
    if spec.characteristics is None and len(names) > MOST_UNNAMED:
        reason = say("there are {N} features; name those that select people", N=words.count(len(names)))
        return _result(spec, reason=reason)
    rows = rows_at_hand(table)
    people = _People.of(rows, spec)
    happened, selects = (
        None if name is None else _outcome(rows.frame, name, positive, spec)
        for name, positive in zip(spec.group_columns(), favourable_values(spec), strict=True)
    )
    levels = [
        (name, side) for name in names for side in people.one_of_two(_sides(rows.frame, name, spec, people), selects)
    ]
    protected = [name for name in _protected(table, spec) if name not in names]
    groups = {name: _sides(rows.frame, name, spec, people) for name in protected}
    burdened = [
        [(column, group) for column, several in groups.items() for group in people.one_of_two(several, side)]
        for _, side in levels
    ]
    alpha = spec.significance.alpha
    of_labels, selected = (
        [None] * len(levels) if one is None else _relations(people.compare([(side, one) for _, side in levels]), alpha)
        for one in (happened, selects)
    )
    pairs = [(group, side) for (_, side), several in zip(levels, burdened, strict=True) for _, group in several]
    burdens = iter(_relations(people.compare(pairs), alpha))
    listed: dict[str, list[CharacteristicLevel]] = {}
    for (name, side), of_label, of_prediction, pairs_of_level in zip(
        levels, of_labels, selected, burdened, strict=True
    ):
        weighed = [
            Burden(column, group.words, relation)
            for column, group in pairs_of_level
            if (relation := next(burdens)) is not None
        ]
        weighed.sort(key=lambda one: -one.relation.difference)
        level = CharacteristicLevel(side.words, int(side.inside.sum()), of_label, of_prediction, tuple(weighed))
        listed.setdefault(name, []).append(level)
    characteristics = [
        Characteristic(name, tuple(sorted(several, key=lambda one: -one.raised))) for name, several in listed.items()
    ]
    return _result(
        spec,
        characteristics=tuple(sorted(characteristics, key=lambda one: -one.strongest.raised)),
        left_out=tuple(name for name in names if name not in listed),
        drawn=Drawn(len(rows.frame), table.rows) if len(rows.frame) < table.rows and table.is_large else None,
    )


def _result(spec: AuditSpec, **members: Any) -> Characteristics:
    label, prediction = spec.group_columns()
    given: dict[str, Any] = {"characteristics": ()} | members
    return Characteristics(
        label=label,
        prediction=prediction,
        confidence=1.0 - spec.significance.alpha,
        min_rows=spec.significance.min_rows,
        key=spec.split.key,
        **given,
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """Rows that have something, among those of which it is known."""

    words: str
    inside: Mask
    known: Mask

    def rate_in(self, side: _Side) -> float:
        """Its share of those who are on a side."""
        among = side.inside & self.known
        return float((self.inside & among).sum() / max(among.sum(), 1))


@dataclass(frozen=True, eq=False)
class _People:
    """How rows are compared: as people, or as what persons have in several."""

    alpha: float
    min_rows: int
    persons: Persons | None
    who: Numbers | None

    @classmethod
    def of(cls, rows: AuditTable, spec: AuditSpec) -> _People:
        settings = spec.significance
        if spec.split.key is None:
            return cls(settings.alpha, settings.min_rows, None, None)
        hashes = rows.frame[KEY].to_numpy(dtype=np.uint64)
        persons = Persons.of(hashes)
        return cls(settings.alpha, settings.min_rows, persons, persons.numbers(hashes))

    def are_enough(self, side: _Side) -> bool:
        """Whether a side and the rest both have rows to be compared."""
        inside = int(side.inside.sum())
        return self.min_rows <= inside <= int(side.known.sum()) - self.min_rows

    def compare(self, pairs: Sequence[tuple[_Side, _Side]]) -> list[Comparison]:
        """The share of each first side that has the second, against that of all others."""
        if not pairs:
            return []
        split = [
            (side.inside & among, ~side.inside & among, outcome.inside)
            for side, outcome in pairs
            for among in (side.known & outcome.known,)
        ]
        counts = np.array(
            [[np.count_nonzero(x) for one in (a, b) for x in (has & one, one)] for a, b, has in split], dtype=np.int64
        )
        comparisons = compare_count_arrays(*counts.T, alpha=self.alpha, min_rows=self.min_rows)
        if self.persons is None or self.who is None:
            return comparisons
        of_persons = []
        for comparison, (a, b, has) in zip(comparisons, split, strict=True):
            first, other = (
                person_sums(has[one].astype(np.float64), self.who[one], self.persons.size) for one in (a, b)
            )
            of_persons.append(compare_persons(comparison, first, other, min_rows=self.min_rows))
        return of_persons

    def one_of_two(self, sides: Sequence[_Side], outcome: _Side | None) -> Sequence[_Side]:
        """Of a column with two sides one, as against each other both say the same.

        It is the one that has more of the outcome; without an outcome the one whose value is higher.
        """
        if len(sides) != 2:
            return sides
        return [sides[1] if outcome is None else max(sides, key=outcome.rate_in)]


def _outcome(frame: pd.DataFrame, name: str, positive: Positive, spec: AuditSpec) -> _Side:
    """Who has the positive value of label or prediction."""
    coded = code_column(frame, name, _cut(name, spec))
    known = np.array([one is not None for one in coded.levels], dtype=np.bool_)[coded.codes]
    return _Side(name, favourable(coded.levels, positive)[coded.codes] & known, known)


def _cut(name: str, spec: AuditSpec) -> Threshold | None:
    return Threshold(spec.groups.thresholds[name]) if name in spec.groups.thresholds else None


def _sides(frame: pd.DataFrame, name: str, spec: AuditSpec, people: _People) -> list[_Side]:
    """What a column may say of people: a level, or a quarter of its numbers, that enough have and have not."""
    column = frame[name]
    if pd.api.types.is_numeric_dtype(column.dtype) and name not in spec.groups.thresholds:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        known = ~np.isnan(values)
        if np.unique(values[known]).size > _FEW_VALUES:
            return [one for one in _quarters(name, values, known) if people.are_enough(one)]
    coded = code_column(frame, name, _cut(name, spec))
    known = np.array([one is not None for one in coded.levels], dtype=np.bool_)[coded.codes]
    rows = np.bincount(coded.codes, minlength=len(coded.levels))
    most = sorted(range(len(coded.levels)), key=lambda i: (-rows[i], level_order(coded.levels[i])))
    sides = []
    for i in sorted(
        (i for i in most[:MOST_LEVELS] if coded.levels[i] is not None), key=lambda i: level_order(coded.levels[i])
    ):
        level = coded.levels[i]
        text = f"{name} {level}" if name in spec.groups.thresholds else words.value_condition(name, level)
        sides.append(_Side(text, coded.codes == i, known))
    return [one for one in sides if people.are_enough(one)]


def _quarters(name: str, values: Floats, known: Mask) -> Iterator[_Side]:
    """Intervals that hold about a quarter of the numbers each."""
    distinct = np.unique(values[known])
    whole = bool((distinct == np.floor(distinct)).all())
    ends = np.unique(np.quantile(values[known], _QUARTERS, method="inverted_cdf"))
    ends = ends[ends < distinct[-1]]
    if not whole:  # the number with the fewest digits that parts the same rows
        following = distinct[np.searchsorted(distinct, ends, side="right")]
        rounded = np.array([roundest(*pair) for pair in zip(ends.tolist(), following.tolist(), strict=True)])
        ends = np.where(rounded < following, rounded, ends)
    place = np.searchsorted(ends, values, side="left")
    for i in range(ends.size + 1):
        above = float(ends[i - 1]) if i else None
        up_to = float(ends[i]) if i < ends.size else None
        yield _Side(words.interval_condition(name, above, up_to, whole=whole), (place == i) & known, known)


def _protected(table: Rows, spec: AuditSpec) -> list[str]:
    """Protected columns with groups: numbers have some where they are cut in two."""
    return [
        one.name
        for one in table.columns
        if one.role == "protected" and (one.kind == "categorical" or one.name in spec.groups.thresholds)
    ]


def _relations(comparisons: Sequence[Comparison], alpha: float) -> list[Relation | None]:
    """Relations of one kind, corrected for how many there are."""
    p_values = [one.p_value for one in comparisons]
    adjusted = adjust_p_values(p_values, "holm")
    tests, rejected = sum(one is not None for one in p_values), int((adjusted <= alpha).sum())
    relations: list[Relation | None] = []
    for comparison, p_value in zip(comparisons, adjusted.tolist(), strict=True):
        if np.isnan(p_value) or comparison.mean_a is None or comparison.mean_b is None or comparison.difference is None:
            relations.append(None)
            continue
        interval = corrected_interval(comparison, p_value, correction="holm", tests=tests, rejected=rejected)
        assert interval is not None
        relations.append(
            Relation(comparison.mean_a, comparison.mean_b, comparison.difference, *interval, p_value, p_value <= alpha)
        )
    return relations
