"""Say in a few words who is in a cluster: a short rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.groups.conditions import GroupCondition, members

Counts = NDArray[np.int64]

_MAX_COLUMNS = 3
_MAX_BOUNDS = 5
_LEAST_GAIN = 0.01
_SAMPLE_ROWS = 20_000


@dataclass(frozen=True)
class Rule:
    """Conditions that must all hold; none at all means everybody."""

    conditions: tuple[GroupCondition, ...]

    def precision_and_recall(self, frame: pd.DataFrame, inside: NDArray[np.bool_]) -> tuple[float | None, float | None]:
        """Share of the rule's rows that are in the cluster, and share of the cluster's rows that the rule meets."""
        return precision_and_recall(*self.count(frame, inside))

    def count(self, frame: pd.DataFrame, inside: NDArray[np.bool_]) -> tuple[int, int, int]:
        """Rows that the rule meets, those of them in the cluster, and rows of the cluster; they add up over blocks."""
        met = members(frame, self.conditions)
        return int(met.sum()), int((met & inside).sum()), int(inside.sum())

    def __str__(self) -> str:
        return words.all_of([one.words for one in self.conditions])


def precision_and_recall(met: int, both: int, inside: int) -> tuple[float | None, float | None]:
    """From the rows that a rule meets, those of them in the cluster, and the rows of the cluster.

    Examples
    --------
    >>> precision_and_recall(10, 5, 20)
    (0.5, 0.25)
    """
    return both / met if met else None, both / inside if inside else None


def find_rules(X: pd.DataFrame, labels: NDArray[np.int64], n_clusters: int) -> list[Rule]:
    """For every cluster, a conjunction of conditions on at most three columns that comes near to it.

    Each step adds the condition (a bound on a number, a level, all but a level, or a value that is missing) that most
    raises the F1 score of the rule as a description of the cluster, then chooses the earlier ones anew; it stops when a
    further one gains less than a hundredth.

    Parameters
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Float and categorical columns; the order of rows must not depend on the source's, as only the first 20,000 are
        looked at.
    labels : ndarray of int, shape (n_rows,)
        The cluster of each row, from 0.
    n_clusters : int

    Examples
    --------
    >>> X = pd.DataFrame({"age": [20.0, 21.0, 22.0, 50.0, 51.0, 52.0]})
    >>> [str(one) for one in find_rules(X, np.repeat([0, 1], 3), 2)]
    ['age up to 22', 'age from 23']
    """
    X, labels = X.iloc[:_SAMPLE_ROWS], labels[:_SAMPLE_ROWS]
    columns = [_Column.of(X[name]) for name in X.columns]
    return [_rule(columns, labels == label) for label in range(n_clusters)]


@dataclass(frozen=True)
class _Column:
    """One column in codes: positions in the sorted values of a number, or levels, of which the first is missing."""

    name: str
    codes: NDArray[np.intp]
    values: NDArray[np.float64] | None
    levels: tuple[str | None, ...]

    @classmethod
    def of(cls, column: pd.Series) -> _Column:
        if not pd.api.types.is_numeric_dtype(column.dtype):
            categories = column.astype("category").cat
            codes = categories.codes.to_numpy().astype(np.intp) + 1
            return cls(str(column.name), codes, None, (None, *map(str, categories.categories)))
        x = column.to_numpy(dtype=np.float64, na_value=np.nan)
        values, codes = np.unique(x, return_inverse=True)  # a missing number comes last
        return cls(str(column.name), codes, values[~np.isnan(values)], ())

    @property
    def is_whole(self) -> bool:
        return self.values is not None and bool((self.values == np.round(self.values)).all())

    def conditions(self) -> int:
        return len(self.levels) if self.values is None else len(self.values)

    def holds(self, condition: GroupCondition) -> NDArray[np.bool_]:
        """Whether each row meets a condition on this column, which names one level at most."""
        if condition.kind == "interval":
            assert self.values is not None
            low = 0 if condition.low is None else np.searchsorted(self.values, condition.low, side="right")
            high = len(self.values) if condition.high is None else np.searchsorted(self.values, condition.high, "right")
            return (self.codes >= low) & (self.codes < high)
        level = next(iter(condition.values), None)
        code = len(self.values) if self.values is not None else self.levels.index(level)
        met: NDArray[np.bool_] = (self.codes == code) != _is_negated(condition)
        return met

    def best(self, inside: NDArray[np.bool_], met: NDArray[np.bool_]) -> tuple[float, GroupCondition | None]:
        """The condition that makes the best rule together with those already met, and its F1 score."""
        size = max(self.conditions(), int(self.codes.max(initial=0)) + 1)
        rows = np.bincount(self.codes[met], minlength=size)
        hits = np.bincount(self.codes[met & inside], minlength=size)
        cluster_rows = int(inside.sum())
        if self.values is None:
            return self._best_level(rows, hits, cluster_rows)
        known = slice(len(self.values))
        bound = self._best_bound(rows[known], hits[known], cluster_rows)
        return max(bound, self._best_missing(rows, hits, cluster_rows), key=lambda one: one[0])

    def _best_missing(self, rows: Counts, hits: Counts, cluster_rows: int) -> tuple[float, GroupCondition | None]:
        """Whether a number is missing, or not."""
        assert self.values is not None
        missing, all_rows, all_hits = len(self.values), int(rows.sum()), int(hits.sum())
        if not 0 < rows[missing:].sum() < all_rows:
            return 0.0, None
        without, hit = int(rows[missing]), int(hits[missing])
        is_missing, is_known = _f1(without, hit, cluster_rows), _f1(all_rows - without, all_hits - hit, cluster_rows)
        return float(max(is_missing, is_known)), _of_level(self.name, None, negated=bool(is_known > is_missing))

    def _best_bound(self, rows: Counts, hits: Counts, cluster_rows: int) -> tuple[float, GroupCondition | None]:
        assert self.values is not None
        if np.count_nonzero(rows) < 2:
            return 0.0, None
        rows, hits = np.cumsum(rows), np.cumsum(hits)
        up_to = _f1(rows[:-1], hits[:-1], cluster_rows)
        above = _f1(rows[-1] - rows[:-1], hits[-1] - hits[:-1], cluster_rows)
        if up_to.max() >= above.max():
            at = int(up_to.argmax())
            return float(up_to[at]), GroupCondition(self.name, "interval", high=self._bound(at), whole=self.is_whole)
        at = int(above.argmax())
        return float(above[at]), GroupCondition(self.name, "interval", low=self._bound(at), whole=self.is_whole)

    def _bound(self, at: int) -> float:
        """The shortest number that divides a value from the next one, so that words and rows agree to the digit."""
        assert self.values is not None
        value, following = float(self.values[at]), float(self.values[at + 1])
        for digits in range(3, 12) if np.isfinite([value, following]).all() else ():
            short = float(f"{value:.{digits}g}")
            if value <= short < following:
                return short
        return value

    def _best_level(self, rows: Counts, hits: Counts, cluster_rows: int) -> tuple[float, GroupCondition | None]:
        is_level = _f1(rows, hits, cluster_rows)
        is_not = _f1(rows.sum() - rows, hits.sum() - hits, cluster_rows)
        negated = bool(is_not.max() > is_level.max())
        scores = is_not if negated else is_level
        at = int(scores.argmax())
        return float(scores[at]), _of_level(self.name, self.levels[at], negated=negated)


def _of_level(name: str, level: str | None, *, negated: bool) -> GroupCondition:
    """That a column has a level, or has another; of others a missing value is one."""
    condition = GroupCondition.of_level(name, level)
    if not negated:
        return condition
    return replace(condition, missing=False) if level is None else replace(condition, excluded=True, missing=True)


def _is_negated(condition: GroupCondition) -> bool:
    return condition.excluded or (condition.kind == "missing" and not condition.missing)


def _rule(columns: list[_Column], inside: NDArray[np.bool_]) -> Rule:
    if inside.all() or not inside.any():
        return Rule(())
    by_name = {one.name: one for one in columns}

    @cache  # the last look at each condition asks again what an earlier one asked
    def best(others: frozenset[GroupCondition]) -> tuple[float, GroupCondition | None]:
        met = np.ones(len(inside), dtype=bool)
        for condition in others:
            met &= by_name[condition.column].holds(condition)
        return max((column.best(inside, met) for column in columns), key=lambda pair: pair[0])

    score = float(_f1(len(inside), inside.sum(), inside.sum()))
    chosen: list[GroupCondition] = []
    while len(chosen) < _MAX_BOUNDS:
        grown, better = _improve(best, [*chosen, None], score)
        if better < score + _LEAST_GAIN or len({one.column for one in grown}) > _MAX_COLUMNS:
            break
        chosen, score = grown, better
    return _merged(chosen, columns)


def _improve(
    best: Callable[[frozenset[GroupCondition]], tuple[float, GroupCondition | None]],
    slots: Sequence[GroupCondition | None],
    score: float,
) -> tuple[list[GroupCondition], float]:
    """Fill the empty slot, then choose each condition anew given the others, until none gets better."""
    improved = True
    while improved:
        improved = False
        for slot in reversed(range(len(slots))):
            others = frozenset(one for i, one in enumerate(slots) if i != slot and one is not None)
            reached, condition = best(others)
            if condition is not None and reached > score + 1e-12:
                slots = [condition if i == slot else one for i, one in enumerate(slots)]
                score, improved = reached, True
    return [one for one in slots if one is not None], score


def _merged(conditions: list[GroupCondition], columns: list[_Column]) -> Rule:
    """Join bounds of a column, and levels that it must not have; a required level makes the latter superfluous."""
    required = {one.column for one in conditions if not _is_negated(one)}
    merged: dict[tuple[str, bool] | GroupCondition, GroupCondition] = {}
    for condition in conditions:
        negated = _is_negated(condition)
        if negated and condition.column in required:
            continue
        key = condition if condition.kind != "interval" and not negated else (condition.column, negated)
        merged[key] = _joined(merged[key], condition) if key in merged else condition
    by_name = {one.name: one for one in columns}
    return Rule(tuple(_positively(one, by_name[one.column]) for one in merged.values()))


def _joined(first: GroupCondition, other: GroupCondition) -> GroupCondition:
    """Two intervals of a column, or two sides of what it must not be, as a condition that holds where both do."""
    if first.kind == "interval":
        lows, highs = (
            [x for x in pair if x is not None] for pair in ((first.low, other.low), (first.high, other.high))
        )
        return replace(first, low=max(lows, default=None), high=min(highs, default=None))
    values = tuple(dict.fromkeys([*first.values, *other.values]))
    return replace(first if first.values else other, values=values, missing=first.missing and other.missing)


def _positively(condition: GroupCondition, column: _Column) -> GroupCondition:
    """Of two levels, "is not F" is "is M"."""
    if not _is_negated(condition) or not column.levels:
        return condition
    excluded = {*condition.values, *([] if condition.missing else [None])}
    others = {column.levels[code] for code in np.unique(column.codes)} - excluded
    if len(others) != 1 or None in others:
        return condition
    return GroupCondition.of_level(condition.column, others.pop())


def _f1(rows: Any, hits: Any, cluster_rows: Any) -> Any:
    """F1 score of a rule that holds for ``rows`` rows, ``hits`` of them among the ``cluster_rows`` of the cluster."""
    return 2 * hits / (rows + cluster_rows)
