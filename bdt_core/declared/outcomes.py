"""Outcomes of declared groups: each group's mean or rate, with its interval and its difference from everybody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bdt_core.groups.conditions import GroupCondition
from bdt_core.metrics import harm_sign
from bdt_core.result import Result, Shown
from bdt_core.said import Text
from bdt_core.spec.audit_spec import Better

if TYPE_CHECKING:
    import pandas as pd

Value = bool | int | float | str


@dataclass(frozen=True)
class DeclaredGroup:
    """A declared group by the bias variable, in the variable's own units and direction.

    Attributes
    ----------
    group : str
    values : tuple
        One per column of the grouping; of a column that is cut in two the side's name.
    conditions : tuple of GroupCondition
        Who is in it.
    rows : int
    share : float
        Of the audited rows.
    persons : int or None
        Whose rows these are, where persons may have several.
    mean, low, high : float or None
        Mean or rate with its interval for this group alone; None where the group has too few rows, or persons.
    mean_others : float or None
        Of everybody else; None, like what follows, where either side has too few rows.
    difference, difference_low, difference_high : float or None
        The group's mean less that of everybody else. The interval holds for all groups of the result at once.
    p_adjusted : float or None
        Corrected by Holm over all groups of the result.
    significant : bool or None
        Whether the corrected p-value is at most alpha. The interval is wider than Holm's last steps need, so that it
        may have 0 inside all the same.
    """

    group: str
    values: tuple[Value, ...]
    conditions: tuple[GroupCondition, ...]
    rows: int
    share: float
    persons: int | None = None
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    mean_others: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p_adjusted: float | None = None
    significant: bool | None = None


@dataclass(frozen=True)
class DeclaredFacet:
    """A declared grouping.

    Attributes
    ----------
    columns : tuple of str
    groups : tuple of DeclaredGroup
        In the order of their values; those with too few rows have no numbers but their rows. Empty where there is a
        reason.
    unknown : int
        Audited rows that lack a value of some column; they are among everybody else.
    reason : str or None
        Why there are no groups.
    """

    columns: tuple[str, ...]
    groups: tuple[DeclaredGroup, ...]
    unknown: int = 0
    reason: Text | None = None

    @property
    def facet(self) -> str:
        """Its name."""
        return " & ".join(self.columns)

    @property
    def small(self) -> tuple[DeclaredGroup, ...]:
        """The groups that have too few rows for a rate."""
        return tuple(one for one in self.groups if one.mean is None)


@dataclass(frozen=True)
class DeclaredOutcomes(Result, Shown):
    """The bias variable of every declared group, on all rows, train and test alike: nothing here was searched for.

    Attributes
    ----------
    measured : str
        Name of the bias variable.
    is_rate : bool
        Whether means are rates: the bias variable is 0 or 1.
    better : {"lower", "higher"}
        Which way of the bias variable is good for people.
    alpha : float
        Chance of any difference being called significant where there is none.
    min_rows : int
        Of a group with fewer rows, or fewer persons, no numbers are told.
    key : str or None
        What tells persons apart, where they may have several rows.
    mean : float
        Of all audited rows.
    rows : int
        Audited rows.
    comparisons : int
        Groups that were compared with everybody else; p-values and intervals of differences allow for them.
    facets : tuple of DeclaredFacet

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"sex": ["f", "m"] * 200, "fined": [1, 0, 0, 0, 1, 1, 0, 0] * 50})
    >>> frame["age"] = range(400)
    >>> result = audit(
    ...     frame, outcome="fined", protected=["sex"], worst_groups=None, slices=None, clustering={"stability": 0}
    ... )
    >>> result.declared.to_frame()[["group", "rows", "mean", "difference"]].values.tolist()
    [['f', 200, 0.5, 0.25], ['m', 200, 0.25, -0.25]]

    One grouping, and how much worse its first group fares:

    >>> women = result.declared.facet("sex").groups[0]
    >>> women.group, result.declared.harm(women)
    ('f', 0.25)
    """

    measured: Text
    is_rate: bool
    better: Better
    alpha: float
    min_rows: int
    key: str | None
    mean: float
    rows: int
    comparisons: int
    facets: tuple[DeclaredFacet, ...]

    __repr__ = Shown.__repr__

    def facet(self, *columns: str) -> DeclaredFacet:
        """The grouping by some columns, in any order.

        Parameters
        ----------
        *columns : str

        Returns
        -------
        DeclaredFacet

        Raises
        ------
        KeyError
            There is none.
        """
        for facet in self.facets:
            if set(facet.columns) == set(columns):
                return facet
        raise KeyError(columns)

    def harm(self, group: DeclaredGroup) -> float | None:
        """How much worse a group fares than everybody else.

        Parameters
        ----------
        group : DeclaredGroup

        Returns
        -------
        float or None
            Above 0: worse. None where it was not compared.
        """
        return None if group.difference is None else harm_sign(self.better) * group.difference

    @property
    def worst(self) -> tuple[DeclaredFacet, DeclaredGroup] | None:
        """The compared group that fares worst beside everybody else, with its grouping; None where none does."""
        behind = [
            (facet, one) for facet in self.facets for one in facet.groups if (harm := self.harm(one)) and harm > 0.0
        ]
        return max(behind, key=lambda pair: self.harm(pair[1]) or 0.0, default=None)

    def to_frame(self) -> pd.DataFrame:
        """One row per group.

        Returns
        -------
        DataFrame
            "facet", "group", "rows", "persons", "share", "mean", "low", "high", "mean_others", "difference",
            "difference_low", "difference_high", "p_adjusted" and "significant"; no numbers of groups with too few rows.
        """
        import pandas as pd  # not needed to load definitions

        return pd.DataFrame(list(self._records()), columns=list(_COLUMNS))

    def _records(self) -> Iterator[dict[str, Any]]:
        for facet in self.facets:
            for group in facet.groups:
                yield {"facet": facet.facet} | {name: getattr(group, name) for name in _COLUMNS[1:]}

    def _glance(self) -> tuple[str, pd.DataFrame]:
        differ = sum(bool(one.significant) for facet in self.facets for one in facet.groups)
        sentence = (
            f"DeclaredOutcomes: {self.measured}, {len(self.to_frame())} declared groups, {differ} of which differ "
            "significantly from everybody else"
        )
        shown = ["facet", "group", "rows", "mean", "difference", "difference_low", "difference_high", "p_adjusted"]
        return sentence, self.to_frame()[shown]


_COLUMNS = (
    "facet", "group", "rows", "persons", "share", "mean", "low", "high", "mean_others", "difference", "difference_low",
    "difference_high", "p_adjusted", "significant",
)  # fmt: skip
