"""Members of the results of every search: who is in a group, and in each that was confirmed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.result import AuditPart
from bdt_core.table.frames import AnyTable, handed_over


class OfConditions:
    """People for whom some conditions hold.

    Examples
    --------
    >>> from bdt_core import find_worst_groups
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10})
    >>> frame["error"] = ((frame["age"] < 30) & (frame.index % 3 > 0)).astype(int)
    >>> group = find_worst_groups(frame, outcome="error", better="lower", permutations=39).worst
    >>> group.words, int(group.members(frame).sum())
    ('age up to 29', 100)
    """

    conditions: tuple[GroupCondition, ...]

    @property
    def words(self) -> str:
        """The conditions, readable."""
        return words.all_of([one.words for one in self.conditions])

    def members(self, frame: AnyTable) -> NDArray[np.bool_]:
        """Which rows of a table belong to the group.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            With the columns of the conditions.

        Returns
        -------
        ndarray of bool, shape (rows,)

        Raises
        ------
        DataError
            A column is missing, or not numeric where it was.
        """
        return members(handed_over(frame), self.conditions)


class GroupsFound(AuditPart):
    """What a search for groups has found."""

    @property
    def _confirmed(self) -> Sequence[OfConditions]:
        """Groups that fare worse for sure, as they are told."""
        raise NotImplementedError

    def members(self, frame: AnyTable) -> pd.DataFrame:
        """Which rows of a table belong to each confirmed group.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            With the columns that were searched.

        Returns
        -------
        DataFrame of bool
            With the index of `frame`, and a column per group, the first that is told first.

        Raises
        ------
        DataError
            A column is missing, or not numeric where it was.
        """
        typed = self._typed(handed_over(frame))
        return pd.DataFrame({one.words: one.members(typed) for one in self._confirmed}, index=typed.index)
