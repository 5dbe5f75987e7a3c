"""A finding: some people who fare worse than everybody else, whichever search it was that found them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from bdt_core import words
from bdt_core.errors import DataError
from bdt_core.harmless import harmless
from bdt_core.inference.alike import AlikeComparison
from bdt_core.local_bias.topics import FeatureDifference
from bdt_core.result import InAudit, Plotted, Result, Shown
from bdt_core.scan.conditions import GroupCondition, members
from bdt_core.spec import FoundBy
from bdt_core.table.summaries import Drawn

Members = Callable[[pd.DataFrame], NDArray[np.bool_]]


@dataclass(frozen=True, repr=False)
class Finding:
    """People who fare worse than everybody else.

    Differences are those of the harm: above 0 is worse, whichever way the bias variable points.

    Attributes
    ----------
    who : str
        What they have in common, in words.
    found_by : {"worst_groups", "groups", "clusters", "slices", "local_bias"}
    rows : int
        How many of the audited people they are; of a large table reckoned from the rows drawn.
    share : float
    measured : str
        What is measured: the bias variable, or of local bias its metric.
    mean_inside, mean_outside : float
        Of them, and of everybody else (of local bias: of the group that it is compared with).
    difference, low, high : float
        How much worse, with an interval that allows for how they were found.
    p_value : float
        Corrected for everything that this search looked at, and for how many searches there were.
    people_harmed : float or None
        How many more of them were harmed than would have been at the rate of the others, of those who have people alike
        where there are legitimate factors; None for what is no rate.
    remaining : AlikeComparison or None
        What of the difference remains among people alike in the legitimate factors; None without any.
    groups_before : int
        How many groups the same search had found before: people are compared with people alike in those, too.
    also : tuple of str
        Weaker findings that are no worse off than this one says, where most people of the smaller one are in both.
    conditions : tuple of GroupCondition
        Of whom they are, where conditions say it.
    described : tuple of GroupCondition
        Where conditions do not say it: what describes a cluster best, or the group that is behind in a place.
    compared_with : tuple of GroupCondition
        Of local bias: the group of the same place that it is compared with.
    place : tuple of FeatureDifference
        Of local bias: what sets the place apart from all others most.

    Examples
    --------
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(
    ...     frame, outcome="error", slices=None, clustering={"stability": 0}, worst_groups={"permutations": 39}
    ... )
    >>> first = result.findings[0]
    >>> first.who, first.difference, first.at_least > 0.5
    ('age up to 29', 0.66, True)
    >>> int(first.members(frame).sum()) == first.rows
    True
    """

    who: str
    found_by: FoundBy
    rows: int
    share: float
    measured: str
    mean_inside: float
    mean_outside: float
    difference: float
    low: float
    high: float
    p_value: float
    people_harmed: float | None
    remaining: AlikeComparison | None = None
    groups_before: int = 0
    also: tuple[str, ...] = ()
    conditions: tuple[GroupCondition, ...] = ()
    described: tuple[GroupCondition, ...] = ()
    compared_with: tuple[GroupCondition, ...] = ()
    place: tuple[FeatureDifference, ...] = ()
    places: Annotated[Members | None, Field(exclude=True)] = field(default=None, repr=False, compare=False)
    """Of a finding that is a cluster: who belongs to it. It is not kept with the data."""
    reach: Annotated[float, Field(exclude=True)] = field(default=0.0, repr=False, compare=False)
    """How many standard errors an interval must reach after such a search. It is not kept with the data."""
    on_test_rows: Annotated[bool, Field(exclude=True)] = field(default=False, repr=False, compare=False)
    """Whether it was measured on the test rows, as it was found on the others. It is not kept with the data."""

    def __repr__(self) -> str:
        people = f"{self.rows:,} rows, {words.percent(self.share)}"
        told = f"{self.measured} {words.number(self.mean_inside)}, others {words.number(self.mean_outside)}"
        least = f"worse by {words.number(self.as_found)}, at least {words.number(self.at_least)}"
        return harmless(f"Finding({self.who!r}: {people}; {told}; {least}; {self.found_by})")

    @property
    def at_least(self) -> float:
        """How much worse they fare at least; among people alike, where there are legitimate factors."""
        return self.low if self.remaining is None else self.remaining.remaining_low

    @property
    def as_found(self) -> float:
        """How much worse they were found to fare; among people alike, where there are legitimate factors."""
        return self.difference if self.remaining is None else self.remaining.remaining

    @property
    def harm_at_least(self) -> float:
        """How bad for how many at least: `at_least` times the people, of whom those count who have people alike."""
        return self.at_least * self._counted

    @property
    def harm_as_found(self) -> float:
        """How bad for how many, as found."""
        return self.as_found * self._counted

    @property
    def _counted(self) -> float:
        if self.remaining is None:
            return float(self.rows)
        return self.rows * self.remaining.overlap if self.remaining.has_people_alike else 0.0

    def members(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows of a table belong to them.

        Parameters
        ----------
        frame : DataFrame
            With the columns that the audit used.

        Returns
        -------
        ndarray of bool, shape (rows,)

        Raises
        ------
        DataError
            A column is missing; or it is a cluster that was read back from a file, which has its words only.
        """
        if self.places is not None:
            return self.places(frame)
        if not self.conditions:
            raise DataError(f'"{self.who}" was read back from a file, which does not keep clusters: audit again.')
        return members(frame, self.conditions)


class FindingList(Shown, Plotted, tuple[Finding, ...]):
    """The findings of an audit, in order, as a tuple that can be looked at.

    Attributes
    ----------
    audit : InAudit or None
        The audit that they are of.

    Examples
    --------
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> result = audit(
    ...     frame, outcome="error", slices=None, clustering={"stability": 0}, worst_groups={"permutations": 39}
    ... )
    >>> result.findings.to_frame()[["who", "rows", "found_by"]].values.tolist()
    [['age up to 29', 100, 'worst_groups']]
    >>> result.findings.members(frame).sum().to_dict()
    {'finding 1: age up to 29': 100}
    """

    audit: InAudit | None = None

    @classmethod
    def of(cls, findings: Iterable[Finding], audit: InAudit) -> FindingList:
        """The findings of an audit.

        :meta private:
        """
        made = cls(findings)
        made.audit = audit
        return made

    def to_frame(self) -> pd.DataFrame:
        """One row per finding, those first that harm most people at least.

        Returns
        -------
        DataFrame
            who, found_by, rows, share, measured, mean_inside, mean_outside, difference, low, high (harm counted as
            positive), p_value, people_harmed; remaining and remaining_low, which are what is left among people alike in
            the legitimate factors; also.
        """
        names = (
            "who", "found_by", "rows", "share", "measured", "mean_inside", "mean_outside", "difference", "low", "high",
            "p_value", "people_harmed",
        )  # fmt: skip
        alike = [one.remaining for one in self]
        return pd.DataFrame(
            {
                **{name: [getattr(one, name) for one in self] for name in names},
                "remaining": [None if one is None else one.remaining for one in alike],
                "remaining_low": [None if one is None else one.remaining_low for one in alike],
                "also": [one.also for one in self],
            }
        )

    def members(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Which rows of a table belong to each finding.

        Parameters
        ----------
        frame : DataFrame
            With the columns that the audit used: the table that was audited, or other people.

        Returns
        -------
        DataFrame of bool
            With the index of `frame`, and a column per finding: ``finding 1: age up to 30``.

        Raises
        ------
        DataError
            A column is missing, or holds something else than in the audit.
        """
        typed = frame if self.audit is None else self.audit.typed(frame)
        inside = {f"finding {number}: {one.who}": one.members(typed) for number, one in enumerate(self, 1)}
        return pd.DataFrame(inside, index=frame.index)

    def _glance(self) -> tuple[str, pd.DataFrame]:
        columns = ["who", "rows", "mean_inside", "mean_outside", "low", "found_by"]
        told = f"Findings: {len(self)}" if self else "Findings: nobody is confirmed to fare worse"
        return told, self.to_frame()[columns]


@dataclass(frozen=True)
class Findings(Result):
    """All findings of an audit, those first that harm most people at least.

    Attributes
    ----------
    findings : tuple of Finding
    searches : dict of str to float
        Which searches there were, and the share of the error rate that each has.
    alpha : float
        Chance of any finding at all where nobody fares worse than others.
    legitimate : tuple of str
    counted : {"people", "rows"}
        What `Finding.rows` are: rows, where one person may have several.
    drawn : Drawn or None
        Rows of which it was told who overlaps and what remains, where these are not all.
    """

    findings: tuple[Finding, ...]
    searches: dict[FoundBy, float]
    alpha: float
    legitimate: tuple[str, ...]
    counted: Literal["people", "rows"] = "people"
    drawn: Drawn | None = None

    @property
    def first(self) -> Finding | None:
        """The one that harms most people at least."""
        return next(iter(self.findings), None)
