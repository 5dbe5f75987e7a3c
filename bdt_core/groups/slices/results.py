"""Results of the slice search: slices, and the parts of the first one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from bdt_core.groups.cells import LeftOutColumn
from bdt_core.groups.results import GroupsFound, OfConditions
from bdt_core.groups.slices.columns import SlicedColumn
from bdt_core.groups.written import WrittenCondition
from bdt_core.inference import Comparison
from bdt_core.metrics import Better
from bdt_core.said import Text
from bdt_core.table.summaries import Drawn


def comparisons_of_selected(weight: float | None, tests: int, selected: int) -> float:
    """How many comparisons a slice that was selected with others stands for, at least 1.

    Parameters
    ----------
    weight : float or None
        Its share of the error budget, 1 on average.
    tests : int
        From among which slices were selected.
    selected : int
        How many were.

    Examples
    --------
    >>> comparisons_of_selected(2.0, 60, 3), comparisons_of_selected(20.0, 60, 3)
    (10.0, 1.0)
    """
    return max(1.0, tests / ((1.0 if weight is None else weight) * max(selected, 1)))


@dataclass(frozen=True)
class Slice(OfConditions):
    """One conjunction of conditions against everybody else.

    Attributes
    ----------
    name : str
        The conditions in words, joined by "and".
    conditions : tuple of GroupCondition
    train_rows, test_rows : int
        Rows that meet all conditions.
    train_support, test_support : float
        The same as a share of the rows.
    train_value, train_difference : float
        The metric in the slice and its difference from everybody else, on the rows it was found on: too extreme,
        because it was chosen for it.
    comparison : Comparison
        Slice (a) against its complement (b) on the test rows: values, difference with interval, p-value. Rows are
        those in the metric's denominator. The interval holds for this slice alone, had it not been selected.
    ratio_to_overall : float or None
        Value in the slice over the value of all test rows; None where that is 0 or a mean can be negative.
    shrunken_difference : float or None
        The difference on the test rows, shrunk towards that of all tested slices by how much these differ among each
        other (empirical Bayes), and never more harmful than what was measured: what is to be expected of new rows. It
        ranks.
    worse : bool or None
        Whether the slice fares worse than everybody else on the test rows.
    weight : float or None
        Share of the error budget, 1 on average: slices with stronger evidence on the train rows have more.
    p_adjusted : float or None
        Of the one-sided test for harm, weighted and corrected over everything tested.
    significant : bool or None
    parent : str or None
        Name of a reported slice that holds this one and is no less affected.
    low, high : float or None
        Interval of the true difference. That of a significant slice allows for its selection; that of any other is the
        comparison's own. None also in reports that were written before there was one.

    Examples
    --------
    >>> from bdt_core import find_slices
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> one = find_slices(frame, outcome="error", better="lower").worst
    >>> one.name, one.status, int(one.members(frame).sum())
    ('age up to 28', 'tested', 90)
    """

    name: Text
    conditions: tuple[WrittenCondition, ...]
    train_rows: int
    train_support: float
    train_value: float
    train_difference: float
    test_rows: int
    test_support: float
    comparison: Comparison
    ratio_to_overall: float | None
    shrunken_difference: float | None
    worse: bool | None
    weight: float | None
    p_adjusted: float | None
    significant: bool | None
    parent: Text | None = None
    low: float | None = None
    high: float | None = None

    @property
    def status(self) -> Literal["tested", "not_testable"]:
        """Whether it could be tested; the reason is in the comparison."""
        return self.comparison.status


@dataclass(frozen=True)
class LatticeNode:
    """A part of the worst slice's conditions, or all of them, against everybody else on the test rows."""

    name: Text
    conditions: tuple[WrittenCondition, ...]
    rows: int
    support: float
    comparison: Comparison


@dataclass(frozen=True)
class Bounded:
    """Intersections of a number of conditions, of which a wide table has too many for all to be searched.

    Attributes
    ----------
    conditions : int
    combinations : int
        Combinations of so many columns that there are.
    columns : tuple of str
        Only combinations of these were searched: those of the strongest evidence of harm on the train rows, in slices
        of fewer conditions, the strongest first.
    """

    conditions: int
    combinations: int
    columns: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Slices(GroupsFound):
    """All slices that were tested, the worst first.

    Attributes
    ----------
    metric : str
        "mean" or the name of a rate.
    metric_name : str
        The same for people.
    better : {"lower", "higher"}
        Whether people are better off with a lower or a higher value.
    label, prediction, outcome : str or None
        Columns.
    in_sample : bool
        Whether the slices were searched for and tested on the same rows.
    train_rows, test_rows : int
        Rows with a known outcome; the same rows when `in_sample`.
    left_out : int
        Rows without one.
    train_value, test_value : float or None
        The metric over all rows; None without rows in its denominator.
    columns : tuple of SlicedColumn
    excluded : tuple of LeftOutColumn
    bins, max_conditions, min_rows, min_support, max_tests
        Settings; `min_rows` holds in both parts and for denominators.
    min_train_rows : int
        What `min_support` and `min_rows` demand of the train rows.
    searched : int
        Slices with enough rows, without those that have the same rows as a slice of fewer conditions.
    tests : int
        Tests made on the test rows; the correction counts them all.
    correction : {"bh", "max-t"}
        Benjamini-Hochberg with weights from the train rows, or permutation of the largest statistic.
    fdr : float
        A slice is significant when its adjusted p-value is at most this.
    alpha : float
        Intervals have confidence 1 - alpha.
    prior_mean, prior_sd : float
        Mean and standard deviation of the true differences between a tested slice and everybody else, estimated on
        the rows that they were tested on. A mean of 0 in reports that were written before there was one.
    slices : tuple of Slice
        Reported slices, then those that are listed under one of them, then those that are not significant; each by
        the shrunken difference.
    lattice : tuple of LatticeNode
        All parts of the conditions of the first slice, those with the fewest conditions first.
    reason : str or None
        Why nothing was tested.
    warnings : tuple of str
    cut_on : Drawn or None
        Train rows whose quantiles numbers were cut at, where these are not all.
    permuted_on : Drawn or None
        Test rows that permutations were drawn from, where these are not all.
    test_persons : int or None
        Who is in the test rows, where persons may have several: tests, intervals and `min_rows` then count persons.
    bounded : tuple of Bounded or None
        Of a wide table: what was not searched whole.

    Examples
    --------
    >>> from bdt_core import find_slices
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> slices = find_slices(frame, outcome="error", better="lower")
    >>> slices.to_frame()[["slice", "significant"]].values.tolist()
    [['age up to 28', True]]
    >>> slices.members(frame).sum().to_dict()
    {'age up to 28': 90}
    """

    metric: str
    metric_name: str
    better: Better
    label: str | None
    prediction: str | None
    outcome: Text | None
    in_sample: bool
    train_rows: int
    test_rows: int
    left_out: int
    train_value: float | None
    test_value: float | None
    columns: tuple[SlicedColumn, ...]
    excluded: tuple[LeftOutColumn, ...]
    bins: int
    max_conditions: int
    min_rows: int
    min_support: float
    min_train_rows: int
    max_tests: int
    searched: int
    tests: int
    correction: Literal["bh", "max-t"]
    fdr: float
    alpha: float
    prior_sd: float
    slices: tuple[Slice, ...]
    lattice: tuple[LatticeNode, ...]
    reason: Text | None
    warnings: tuple[Text, ...]
    cut_on: Drawn | None = None
    permuted_on: Drawn | None = None
    prior_mean: float = 0.0
    test_persons: int | None = None
    bounded: tuple[Bounded, ...] | None = None

    @property
    def measured(self) -> str:
        """What people are compared by, for people: the outcome, or a rate."""
        return self.metric_name if self.outcome is None else self.outcome

    @property
    def reported(self) -> tuple[Slice, ...]:
        """Slices that fare significantly worse and are not listed under another."""
        return tuple(one for one in self.slices if one.significant and one.parent is None)

    @property
    def worst(self) -> Slice | None:
        """The first reported slice."""
        return next(iter(self.reported), None)

    @property
    def _confirmed(self) -> tuple[Slice, ...]:
        return self.reported

    def _glance(self) -> tuple[str, pd.DataFrame]:
        what = self.reason or f"{len(self.reported)} worse off, of {self.tests:,} intersections tested"
        measure = f"{self.metric_name}, {self.better} is better"
        columns = ["slice", "test_rows", "value", "rest", "low", "high", "p_adjusted"]
        frame = self.to_frame() if self.slices else pd.DataFrame(columns=columns)
        return f"Slices: {what} ({measure})", frame[columns]

    def to_frame(self) -> pd.DataFrame:
        """One row per slice.

        Returns
        -------
        DataFrame
            slice, conditions, train_rows, test_rows, test_support, value, rest, difference, low, high,
            ratio_to_overall, shrunken_difference, p_value, weight, p_adjusted, significant, parent, status, reason.
        """
        return pd.DataFrame(
            [
                {
                    "slice": one.name,
                    "conditions": len(one.conditions),
                    "train_rows": one.train_rows,
                    "test_rows": one.test_rows,
                    "test_support": one.test_support,
                    "value": one.comparison.mean_a,
                    "rest": one.comparison.mean_b,
                    "difference": one.comparison.difference,
                    "low": one.low,
                    "high": one.high,
                    "ratio_to_overall": one.ratio_to_overall,
                    "shrunken_difference": one.shrunken_difference,
                    "p_value": one.comparison.p_value,
                    "weight": one.weight,
                    "p_adjusted": one.p_adjusted,
                    "significant": one.significant,
                    "parent": one.parent,
                    "status": one.comparison.status,
                    "reason": one.comparison.reason,
                }
                for one in self.slices
            ]
        )
