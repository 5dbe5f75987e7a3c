"""Whether a score is right for everybody: what was foretold of people, and what happened to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.results import OfConditions
from bdt_core.groups.scan.results import Certificate, certificate_from
from bdt_core.result import Result, Shown
from bdt_core.said import Text
from bdt_core.table.summaries import Drawn

if TYPE_CHECKING:
    import pandas as pd

Way = Literal["too low", "too high"]


@dataclass(frozen=True)
class CalibrationBin:
    """Rows whose scores are near each other.

    Attributes
    ----------
    rows : int
    mean_score : float
    share_positive : float
        What happened to them: the share with a positive label.
    low, high : float
        Wilson's interval of that share, for this bin alone.
    """

    rows: int
    mean_score: float
    share_positive: float
    low: float
    high: float


@dataclass(frozen=True)
class CalibratedGroup(OfConditions):
    """People, what the score says of them on average, and how often it comes true.

    Attributes
    ----------
    conditions : tuple of GroupCondition
        All hold for each of them; none hold for everybody.
    rows : int
        With a label and a score.
    share : float
        Of all such rows.
    mean_score, share_positive : float or None
        None, like what follows, where a declared group has too few rows.
    gap : float or None
        Share of positives less mean score: above 0 the score is too low for them, below 0 it is too high.
    low, high : float or None
        Its interval. Of a group that was searched for it allows for that; of declared groups it holds for all groups of
        the grouping at once.
    p_value : float or None
        Chance that the same search finds as much where nobody's score is farther off than others'; None where nothing
        was searched.
    bins : tuple of CalibrationBin
        Of declared groups: ten bins of equal width, without those that have too few rows.
    """

    conditions: tuple[GroupCondition, ...]
    rows: int
    share: float
    mean_score: float | None
    share_positive: float | None
    gap: float | None
    low: float | None
    high: float | None
    p_value: float | None = None
    bins: tuple[CalibrationBin, ...] = ()

    @property
    def way(self) -> Way | None:
        """Which way the score is off for sure; None where it may be right."""
        if self.low is None or self.high is None or self.low <= 0.0 <= self.high:
            return None
        return "too low" if self.low > 0.0 else "too high"

    @property
    def at_least(self) -> float:
        """By how much it is off at least, either way; 0 where it may be right."""
        if self.low is None or self.high is None:
            return 0.0
        return max(self.low, -self.high, 0.0)


@dataclass(frozen=True)
class CalibratedFacet:
    """A declared grouping.

    Attributes
    ----------
    columns : tuple of str
    groups : tuple of CalibratedGroup
        In the order of their values.
    """

    columns: tuple[str, ...]
    groups: tuple[CalibratedGroup, ...]

    @property
    def facet(self) -> str:
        """Its name."""
        return " & ".join(self.columns)


@dataclass(frozen=True, repr=False)
class Calibration(Result, Shown):
    """Whether a score, taken as the chance of a positive label, is right for everybody.

    Attributes
    ----------
    score, label : str
        Columns.
    rows : int
        With a label and a score.
    left_out : int
        Rows without either.
    everybody : CalibratedGroup or None
        All of them together; None where there is nobody.
    groups : tuple of CalibratedGroup
        For whom the score is too low or too high for sure, found by the search for the worst-treated group, with label
        less score as the outcome: once where it is high and once where it is low. Those first for whom it is off by
        most at least. Who differs from everybody else only as others are off is none of them.
    ruled_out : tuple of Certificate
        For no group of at least some share of the people the score is off by more, either way; the smallest share
        first. Differences in these are gaps.
    facets : tuple of CalibratedFacet
        Declared groups.
    alpha : float
        Intervals have confidence 1 - alpha; either search has half of it.
    min_share : float
    min_rows : int
        Fewest rows of a group, of a declared one, and of a bin.
    key : str or None
        Column that says which rows are the same person.
    reason : str or None
        Why nothing was searched.
    drawn : Drawn or None
        Rows that were searched, where these are not all.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bdt_core import find_miscalibrated_groups
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"age": rng.integers(18, 80, 4000), "score": rng.uniform(0.2, 0.6, 4000)})
    >>> frame["repaid"] = (rng.random(4000) < frame.score + np.where(frame.age < 31, 0.25, 0.0)).astype(int)
    >>> found = find_miscalibrated_groups(frame, label="repaid", score="score", permutations=39)
    >>> first = found.groups[0]
    >>> first.words, first.way
    ('age up to 30', 'too low')
    >>> round(first.mean_score, 2), round(first.share_positive, 2)
    (0.4, 0.67)
    >>> found.to_frame()["by"].tolist(), found.certificate(0.1).largest_difference > first.at_least
    (['everybody', 'search'], True)
    """

    score: str
    label: str
    rows: int
    left_out: int
    everybody: CalibratedGroup | None
    groups: tuple[CalibratedGroup, ...]
    ruled_out: tuple[Certificate, ...]
    facets: tuple[CalibratedFacet, ...]
    alpha: float
    min_share: float
    min_rows: int
    key: str | None = None
    reason: Text | None = None
    drawn: Drawn | None = None

    def certificate(self, min_share: float) -> Certificate | None:
        """What is ruled out for groups of at least some share: that of the largest share up to it.

        Parameters
        ----------
        min_share : float
            Of the people.

        Returns
        -------
        Certificate or None
            None where nothing could be searched.
        """
        return certificate_from(self.ruled_out, min_share) if self.ruled_out else None

    def to_frame(self) -> pd.DataFrame:
        """One row per group: everybody, those that were found, and the declared ones.

        Returns
        -------
        DataFrame
            who, by ("everybody", "search" or the grouping), rows, share, mean_score, share_positive, gap, low, high,
            p_value.
        """
        import pandas as pd  # not needed to load definitions

        return pd.DataFrame(list(self._records()), columns=list(_COLUMNS))

    def _records(self) -> Iterator[dict[str, Any]]:
        everybody = () if self.everybody is None else (self.everybody,)
        of_all = {"everybody": everybody, "search": self.groups, **{one.facet: one.groups for one in self.facets}}
        for by, groups in of_all.items():
            for group in groups:
                yield {"who": group.words, "by": by} | {name: getattr(group, name) for name in _COLUMNS[2:]}

    def _glance(self) -> tuple[str, pd.DataFrame]:
        what = self.reason or f"off for sure for {len(self.groups)} groups that the search found"
        shown = ["who", "by", "rows", "mean_score", "share_positive", "low", "high"]
        return f"Calibration of {self.score}: {what}, {self.rows:,} rows", self.to_frame()[shown]


_COLUMNS = ("who", "by", "rows", "share", "mean_score", "share_positive", "gap", "low", "high", "p_value")
