"""Results of the scan: confirmed groups, and what is ruled out for all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from bdt_core import words
from bdt_core.groups.cells import CodedColumn, LeftOutColumn, OrderedColumn
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.results import GroupsFound, OfConditions
from bdt_core.inference.alike import AlikeComparison
from bdt_core.inference.settled import about
from bdt_core.metrics import Better, Directed
from bdt_core.said import Text, say
from bdt_core.table.summaries import Drawn

_MOST_TIMES = 1_000


@dataclass(frozen=True)
class WorstGroup(OfConditions):
    """People who fare worse than everybody else, and what holds for them.

    Attributes
    ----------
    conditions : tuple of GroupCondition
        All hold for each of them; no two are of the same column.
    rows : int
    share : float
        Of the rows with a known outcome.
    mean_inside, mean_outside : float
        Mean outcome of the group, and of everybody else, alike or not.
    difference : float
        Mean inside less mean outside; above 0 is worse where lower is better, below 0 where higher is. With legitimate
        factors, and of a group after the first, it is the mean of that difference over strata, weighted by how much
        each tells (Mantel-Haenszel): people alike in the factors, and in whether they are in a group named before, are
        compared. As found, which is too large: the group was chosen for it.
    low, high : float or None
        Interval of the true difference of this group, which allows for its having been searched for. None where the
        group was not confirmed, or nobody like its people is left outside of it.
    p_value : float
        Chance that the same search finds a group with so large a score where nobody fares worse than others alike.
    score : float
        Of a rate the log likelihood ratio of "they fare worse" against "they do not", of a mean half the square of the
        studentised difference, less the price of the conditions.
    people_harmed : float or None
        How many more of them were harmed than would have been at the rate of the others; None for an outcome of more
        than two values.
    reach : float or None
        Standard errors from the difference to the end of the interval that is nearer to none.
    among_alike : AlikeComparison or None
        In an audit with legitimate factors: the difference in all, and what remains of it among people alike in them
        and in the groups before; harm counts as positive.

    Examples
    --------
    >>> from bdt_core import find_worst_groups
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> found = find_worst_groups(frame, outcome="error", better="lower", permutations=39)
    >>> found.worst.words, found.worst.difference
    ('age up to 29', 0.66)
    >>> int(found.worst.members(frame).sum()) == found.worst.rows
    True
    """

    conditions: tuple[GroupCondition, ...]
    rows: int
    share: float
    mean_inside: float
    mean_outside: float
    difference: float
    low: float | None
    high: float | None
    p_value: float
    score: float
    people_harmed: float | None
    reach: float | None = None
    among_alike: AlikeComparison | None = None


@dataclass(frozen=True)
class SpreadGroup(OfConditions):
    """People whose amounts lie farther apart than those of everybody else, though no difference of the mean is seen.

    Some of them fare worse than others do, and some better. They are no finding, and no limit is held against them.

    Attributes
    ----------
    conditions : tuple of GroupCondition
        All hold for each of them.
    rows : int
    share : float
        Of the rows with a known outcome.
    spread_inside, spread_outside : float
        Mean distance of the outcome from the median of people alike, in the group and among everybody else who is
        alike, in the rows that were searched.
    difference : float
        Mean outcome inside less mean outside, among people alike in factors and in the confirmed groups.
    low, high : float
        Its interval, which holds 0.
    p_value : float
        Chance that the same search finds a group with as much more spread where outcomes are exchanged among people
        alike.

    Examples
    --------
    >>> import numpy as np
    >>> from bdt_core import find_worst_groups
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"town": rng.choice(["a", "b", "c"], 900)})
    >>> frame["amount"] = rng.normal(100, np.where(frame["town"] == "a", 30, 10))
    >>> found = find_worst_groups(frame, outcome="amount", better="lower")
    >>> found.worst is None, found.spread.words
    (True, 'town is a')
    >>> round(found.spread.spread_inside), round(found.spread.spread_outside)
    (24, 8)
    """

    conditions: tuple[GroupCondition, ...]
    rows: int
    share: float
    spread_inside: float
    spread_outside: float
    difference: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Certificate:
    """How large a difference is ruled out for every group of the kind that was searched.

    Attributes
    ----------
    largest_difference : float
        With this confidence no group of `min_share` to `max_share` of the people fares worse than everybody else by
        more, in the outcome's unit.
    min_share : float
        What was asked for, or what the fewest people of a group are of all, where that is more.
    max_share : float
        Nothing is said of groups of more: their difference hangs on the few who are not in them.
    confidence : float
    rows : int
    words : str
        Of the group that could still be so much worse.
    confirmed_difference : float
        How much worse the worst confirmed group is at least, in the harmful direction; 0 without one.
    found_difference : float
        How much worse it was found to be.
    max_conditions : int
        Most conditions of the groups that it is about. Every interval of a number is among them, every set of values,
        and "missing"; two opposite corners, a ring and what else takes "or" between columns is not.

    Examples
    --------
    >>> from bdt_core import find_worst_groups
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> found = find_worst_groups(frame, outcome="error", better="lower", permutations=39)
    >>> round(found.certificate.largest_difference, 2), found.certificate.found_difference
    (0.74, 0.66)
    >>> found.certificate.rows_to_settle(limit=0.7)  # a limit above what was found passes with more rows
    1600
    """

    largest_difference: float
    min_share: float
    confidence: float
    rows: int
    words: Text
    confirmed_difference: float
    found_difference: float
    max_conditions: int = 3  # of reports of before there were four
    max_share: float = 0.9  # those reports said it of larger groups, too

    def beside(self, groups: Sequence[WorstGroup], sign: float) -> Certificate:
        """The same with the worst of some confirmed groups; `sign` is 1 where a higher outcome is worse, else -1.

        :meta private:
        """
        at_least = (one.low if sign > 0 else one.high for one in groups)
        return replace(
            self,
            confirmed_difference=max([0.0, *(sign * one for one in at_least if one is not None)]),
            found_difference=max([0.0, *(sign * one.difference for one in groups)]),
        )

    def rows_to_settle(self, limit: float) -> int | None:
        """How many rows it will take, about, until a limit on the difference passes or fails.

        Bounds come closer to what was found with the root of the number of rows.

        Parameters
        ----------
        limit : float
            Largest difference that is tolerated, in the outcome's unit.

        Returns
        -------
        int or None
            To two digits, for it is no more certain than that. The rows that there are where the limit is settled
            already; None where what was found is so near the limit that more than a thousand times as many would do.
        """
        if limit >= self.largest_difference or limit < self.confirmed_difference:
            return self.rows
        difference = self.found_difference
        bound = self.largest_difference if limit > difference else self.confirmed_difference
        times = math.inf if limit == difference else max(1.0, ((bound - difference) / (limit - difference)) ** 2)
        if times > _MOST_TIMES:
            return None
        return about(math.ceil(self.rows * times - 1e-6))


def certificate_from(certificates: Sequence[Certificate], min_share: float) -> Certificate:
    """The one for the largest share up to a given one, of some in the order of their shares; else the first."""
    return [certificates[0], *(one for one in certificates if one.min_share <= min_share)][-1]


@dataclass(frozen=True)
class Structure:
    """Whether columns tell who fares worse beyond the confirmed groups, though no few conditions may describe how.

    Attributes
    ----------
    p_value : float
        Chance that trees boosted on some people expect as well how others fare, where nobody fares worse than people
        alike in the factors and in the confirmed groups.
    confirmed : bool
        Whether it is at most a fifth of the level of the search.
    rows : int
        Of the people of whom something was expected, and who were not fitted to.
    share : float
        Of them, those of whom most harm was expected: about a tenth.
    difference : float
        How much worse these fare than people alike among the others, in the outcome's unit.
    at_least : float
        Its lower bound.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from bdt_core import find_worst_groups
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.random((4000, 2)), columns=["x", "y"])
    >>> harmed = np.hypot(frame["x"] - 0.5, frame["y"] - 0.5) < 0.2  # a disc, which no two intervals are
    >>> frame["error"] = (rng.random(4000) < np.where(harmed, 0.5, 0.1)).astype(int)
    >>> found = find_worst_groups(frame, outcome="error", better="lower", permutations=39, max_groups=1)
    >>> found.structure.confirmed
    True
    """

    p_value: float
    confirmed: bool
    rows: int
    share: float
    difference: float
    at_least: float


@dataclass(frozen=True)
class SearchedColumn:
    """A column that the search used.

    Attributes
    ----------
    name : str
    kind : {"ordered", "values"}
        Intervals of numbers, or sets of values.
    bins : int
        Intervals or values told apart, "missing" not counted.
    """

    name: str
    kind: Literal["ordered", "values"]
    bins: int

    @classmethod
    def of(cls, column: CodedColumn) -> SearchedColumn:
        """What is said of a column in cells."""
        if isinstance(column, OrderedColumn):
            return cls(column.name, "ordered", len(column.edges) + 1)
        return cls(column.name, "values", len(column.levels) - (None in column.levels))


@dataclass(frozen=True)
class Searched:
    """What kind of group was looked for.

    Attributes
    ----------
    columns : tuple of SearchedColumn
    left_out : tuple of LeftOutColumn
    max_conditions : int
        Most conditions of a group.
    starts : int
        Pairs of random conditions that each search started from, besides the best single ones. Of wide tables these are
        few beside all pairs: a group whose conditions show nothing one by one may be missed there.
    """

    columns: tuple[SearchedColumn, ...]
    left_out: tuple[LeftOutColumn, ...]
    max_conditions: int
    starts: int


@dataclass(frozen=True, repr=False)
class WorstGroups(GroupsFound, Directed):
    """The groups that were confirmed, in the order in which they were found, and what can be ruled out.

    Attributes
    ----------
    groups : tuple of WorstGroup
        Each with a p-value of at most `level`. The second was searched for among what the first does not explain, and
        so on.
    unconfirmed : WorstGroup or None
        The best group of the last search, which chance explains; None where nothing was left to find.
    certificate : Certificate or None
        None where nothing could be searched.
    limited : tuple of Certificate
        For groups of 2, 5, 10, 20 and 50 of 100 people, and of shares that limits name, the smallest share first.
    searched : Searched
    outcome : str
    better : {"lower", "higher"}
    is_rate : bool
        Whether the outcome is 0 or 1, so that its differences are points.
    rows : int
        Rows with a known outcome.
    left_out : int
        Rows without one.
    min_share : float
    min_rows : int
        Fewest rows of a group, and outside of it; with `key` fewest persons, each of whom counts by the share of their
        rows that is in it.
    legitimate : tuple of str
        Columns that the outcome may depend on: people are compared with people alike in them.
    strata : int
        Kinds of people alike in them; 1 without any.
    key : str or None
        Column that says which rows are the same person.
    permutations : int
        Of each search, unless it could no longer be significant.
    alpha : float
        Intervals have confidence 1 - alpha.
    level : float
        The largest p-value of a confirmed group: alpha, or its share of it where there are other searches.
    random_state : int
        From which everything is drawn: the same in every search.
    reason : str or None
        Why nothing was searched.
    searched_on : Drawn or None
        Rows that were searched, where these are not all. What is said about a group is of all rows.
    permuted_on : Drawn or None
        Rows that were permuted, where these are not all.
    structure : Structure or None
        Whether columns tell more of who fares worse than the confirmed groups say; None of too few people.
    spread : SpreadGroup or None
        Of an outcome of more than two values: people whose amounts lie farther apart than everybody else's without a
        difference of the mean, where a search of its own confirms any.
    raw : WorstGroups or None
        In an audit with legitimate factors: the same search without them, in which everybody is compared with everybody
        else, and factors are searched like other columns. It has groups and a certificate of its own.

    Examples
    --------
    >>> from bdt_core import find_worst_groups
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> found = find_worst_groups(frame, outcome="error", better="lower", permutations=39)
    >>> found.to_frame()[["who", "rows", "confirmed"]].values.tolist()[0]
    ['age up to 29', 100, True]
    >>> found.members(frame).sum().to_dict()
    {'age up to 29': 100}
    >>> round(found.at_least(found.worst), 2), found.others(found.worst)
    (0.57, 'everybody else')
    >>> found.ruled_out(min_share=0.005) == found.certificate  # no smaller groups were searched
    True
    """

    groups: tuple[WorstGroup, ...]
    unconfirmed: WorstGroup | None
    certificate: Certificate | None
    searched: Searched
    outcome: Text
    better: Better
    is_rate: bool
    rows: int
    left_out: int
    min_share: float
    min_rows: int
    legitimate: tuple[str, ...]
    strata: int
    key: str | None
    permutations: int
    alpha: float
    level: float
    random_state: int
    reason: Text | None = None
    searched_on: Drawn | None = None
    permuted_on: Drawn | None = None
    limited: tuple[Certificate, ...] = ()
    structure: Structure | None = None
    spread: SpreadGroup | None = None
    raw: WorstGroups | None = None

    def __post_init__(self) -> None:
        if self.raw is not None and self.raw.audit is not self.audit:  # it is a part of the same audit
            object.__setattr__(self, "raw", replace(self.raw, audit=self.audit))

    def to_frame(self) -> pd.DataFrame:
        """One row per group: the confirmed ones as they were found, then the one that chance explains.

        Returns
        -------
        DataFrame
            who, rows, share, mean_inside, mean_outside, difference, low, high, p_value, people_harmed, confirmed.
        """
        columns = (
            "rows", "share", "mean_inside", "mean_outside", "difference", "low", "high", "p_value", "people_harmed"
        )  # fmt: skip
        groups = [*self.groups, *([] if self.unconfirmed is None else [self.unconfirmed])]
        return pd.DataFrame(
            {
                "who": [group.words for group in groups],
                **{name: [getattr(group, name) for group in groups] for name in columns},
                "confirmed": [group in self.groups for group in groups],
            }
        )

    @property
    def _confirmed(self) -> tuple[WorstGroup, ...]:
        return self.groups

    def _glance(self) -> tuple[str, pd.DataFrame]:
        what = self.reason or f"{len(self.groups)} confirmed among {self.rows:,} rows"
        measure = f"{self.outcome}, {self.better} is better"
        columns = ["who", "rows", "mean_inside", "mean_outside", "low", "high", "p_value", "confirmed"]
        return f"Worst groups: {what} ({measure})", self.to_frame()[columns]

    @property
    def worst(self) -> WorstGroup | None:
        """The first confirmed group."""
        return next(iter(self.groups), None)

    def at_least(self, group: WorstGroup) -> float | None:
        """How much worse a group fares at least.

        Parameters
        ----------
        group : WorstGroup

        Returns
        -------
        float or None
            In the outcome's unit, harm counted as positive; None where nobody like them is left.
        """
        if group.low is None or group.high is None:
            return None
        return group.low if self.harm_sign > 0 else -group.high

    def others(self, group: WorstGroup) -> str:
        """Whom a group is compared with: from the second on people alike in the groups before, without factors.

        Parameters
        ----------
        group : WorstGroup
            A confirmed one.

        Returns
        -------
        str
            In words.
        """
        before = self.groups.index(group)
        if self.legitimate:
            return say("people like them")
        return words.people_alike_in_groups(before) if before else say("everybody else")

    @property
    def unproven(self) -> tuple[WorstGroup, ...]:
        """Groups that more was found of than chance finds, and of which nothing remains for sure among people alike."""
        return tuple(one for one in self.groups if (low := self.at_least(one)) is not None and low <= 0.0)

    def beside(self, groups: Sequence[WorstGroup]) -> WorstGroups:
        """The same with other confirmed groups.

        :meta private:
        """
        certificate = self.certificate and self.certificate.beside(groups, self.harm_sign)
        limited = (
            one.beside([group for group in groups if group.share >= one.min_share], self.harm_sign)
            for one in self.limited
        )
        return replace(self, groups=tuple(groups), certificate=certificate, limited=tuple(limited))

    def ruled_out(self, min_share: float) -> Certificate | None:
        """What is ruled out for groups of at least some share: the certificate for the largest share up to it.

        Parameters
        ----------
        min_share : float
            Of the people.

        Returns
        -------
        Certificate or None
            None where nothing could be searched.
        """
        return None if self.certificate is None else certificate_from((self.certificate, *self.limited), min_share)
