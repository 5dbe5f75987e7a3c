"""A finding: some people who fare worse than everybody else, whichever search it was that found them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from bdt_core import words
from bdt_core.errors import DataError
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.harmless import harmless
from bdt_core.inference.alike import AlikeComparison
from bdt_core.local_bias.topics import FeatureDifference
from bdt_core.ranking.profiles import FeatureOfFinding
from bdt_core.result import InAudit, Plotted, Result, Shown
from bdt_core.said import Text
from bdt_core.spec import FoundBy
from bdt_core.table.frames import AnyTable, handed_over
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
        Of exactly these people, and of everybody else, as they are: nothing is adjusted (of local bias: of them, and of
        the group that they are compared with, all in the place). Not what the difference was tested on, where that is
        the test rows alone, or people alike.
    difference, low, high : float
        How much worse, as tested, with an interval that allows for how they were found.
    p_value : float
        Corrected for everything that this search looked at, and for how many searches there were.
    people_harmed : float or None
        How many more of them were harmed than would have been at the rate of the others, by the difference as tested,
        of those who have people alike where there are legitimate factors; None for what is no rate.
    remaining : AlikeComparison or None
        What of the difference remains among people alike in the legitimate factors; None without any.
    groups_before : int
        How many groups the same search had found before: people are compared with people alike in those, too.
    mean_alike : float or None
        The mean that they would have if they fared as people alike do, in the legitimate factors and in the groups
        before: adjusted, the mean of nobody. None where they are compared with everybody else, or nobody is like them.
    only_among_alike : bool
        Whether they are for certain worse off than people alike in the legitimate factors, and not at first sight: a
        factor that the outcome has caused makes such findings.
    on_test_rows : bool
        Whether the difference was tested on the test rows, as it was found on the others.
    at_floor : bool
        Whether the p-value is the smallest that the search could give, so that they may be surer than it says.
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
    place_words : tuple of str
        Of local bias of rows with texts: the words that the place has most above all others.
    profile : tuple of FeatureOfFinding
        Each feature and protected column of them beside everybody else, on all audited rows and as it is: those that
        differ most first, 30 at most. Empty of what is no finding of the list, and of places among embeddings.

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

    who: Text
    found_by: FoundBy
    rows: int
    share: float
    measured: Text
    mean_inside: float
    mean_outside: float
    difference: float
    low: float
    high: float
    p_value: float
    people_harmed: float | None
    remaining: AlikeComparison | None = None
    groups_before: int = 0
    mean_alike: float | None = None
    only_among_alike: bool = False
    on_test_rows: bool = False
    at_floor: bool = False
    also: tuple[Text, ...] = ()
    conditions: tuple[GroupCondition, ...] = ()
    described: tuple[GroupCondition, ...] = ()
    compared_with: tuple[GroupCondition, ...] = ()
    place: tuple[FeatureDifference, ...] = ()
    place_words: tuple[str, ...] = ()
    profile: tuple[FeatureOfFinding, ...] = ()
    places: Annotated[Members | None, Field(exclude=True)] = field(default=None, repr=False, compare=False)
    """Of a finding that is a cluster: who belongs to it. It is not kept with the data."""
    reach: Annotated[float, Field(exclude=True)] = field(default=0.0, repr=False, compare=False)
    """How many standard errors an interval must reach after such a search. It is not kept with the data."""
    embeddings: Annotated[str | None, Field(exclude=True)] = field(default=None, repr=False, compare=False)
    """Of a place among embeddings in a file: the file, without which nobody can say who is there. It is not kept."""

    def __repr__(self) -> str:
        people = f"{self.rows:,} rows, {words.percent(self.share)}"
        means = f"{self.measured} {words.number(self.mean_inside)}, others {words.number(self.mean_outside)}"
        least = f"worse by {words.number(self.as_found)}, at least {words.number(self.at_least)}"
        return harmless(f"Finding({self.who!r}: {people}; {means}; {least}; {self.found_by})")

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

    def members(self, frame: AnyTable) -> NDArray[np.bool_]:
        """Which rows of a table belong to them.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            With the columns that the audit used.

        Returns
        -------
        ndarray of bool, shape (rows,)

        Raises
        ------
        DataError
            A column is missing; it is a cluster that was read back from a file, which has its words only; or a place
            among embeddings in a file, which the table does not tell.
        """
        frame = handed_over(frame)
        if self.embeddings is not None:
            raise DataError(
                f'"{self.who}" is a place among the embeddings in {self.embeddings}, which no column tells: '
                "`local_bias.predict(embeddings)` of the audit's result gives the place of each row of such a file."
            )
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

    def members(self, frame: AnyTable) -> pd.DataFrame:
        """Which rows of a table belong to each finding.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            With the columns that the audit used: the table that was audited, or other people.

        Returns
        -------
        DataFrame of bool
            With the index of `frame`, and a column per finding: ``finding 1: age up to 30``. Findings that are places
            among embeddings in a file have none.

        Raises
        ------
        DataError
            A column is missing, or holds something else than in the audit.
        """
        frame = handed_over(frame)
        typed = frame if self.audit is None else self.audit.typed(frame)
        inside = {
            f"finding {number}: {one.who}": one.members(typed)
            for number, one in enumerate(self, 1)
            if one.embeddings is None
        }
        return pd.DataFrame(inside, index=typed.index)

    def _glance(self) -> tuple[str, pd.DataFrame]:
        columns = ["who", "rows", "mean_inside", "mean_outside", "low", "found_by"]
        sentence = f"Findings: {len(self)}" if self else "Findings: nobody is confirmed to fare worse"
        return sentence, self.to_frame()[columns]


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
    at_first_sight : tuple of Finding
        With legitimate factors: people who are for certain worse off than everybody else, alike or not, those first of
        whom most are harmed at least so. `difference`, `low` and `people_harmed` are of that, under an error control of
        its own; `remaining` says what is left among people alike, and so do `as_found` and `at_least`.
    confirmed : tuple of Finding
        Every confirmed finding, those first that harm most people at least, before any was folded into another and
        before the list was cut. It is stored with the result and is not in the report.
    """

    findings: tuple[Finding, ...]
    searches: dict[FoundBy, float]
    alpha: float
    legitimate: tuple[str, ...]
    counted: Literal["people", "rows"] = "people"
    drawn: Drawn | None = None
    at_first_sight: tuple[Finding, ...] = ()
    confirmed: Annotated[tuple[Finding, ...], Field(exclude=True)] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data, with `confirmed`, which whoever judges later needs; a report that has these leaves it."""
        return {**super().to_dict(), **_Confirmed(self.confirmed).to_dict()}

    @property
    def first(self) -> Finding | None:
        """The one that harms most people at least."""
        return next(iter(self.findings), None)


@dataclass(frozen=True)
class _Confirmed(Result):
    """What the report leaves out of the findings, and a stored result keeps."""

    confirmed: tuple[Finding, ...]
