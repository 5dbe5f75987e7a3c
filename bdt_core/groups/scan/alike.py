"""People alike in legitimate factors, and in the groups that were named before: strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import smallest_unsigned
from bdt_core.groups.cells import CodedColumn
from bdt_core.groups.conditions import GroupCondition, members
from bdt_core.groups.scan.columns import fit_column

_ROWS_PER_STRATUM = 40
_MOST_CLASSES, _FEWEST_CLASSES = 20, 5


@dataclass(frozen=True)
class Alike:
    """How people are divided into strata: quantile classes of numbers, values of categories, groups, all crossed.

    Attributes
    ----------
    factors : tuple of CodedColumn
    groups : tuple of tuple of GroupCondition
    """

    factors: tuple[CodedColumn, ...] = ()
    groups: tuple[tuple[GroupCondition, ...], ...] = ()

    @property
    def strata(self) -> int:
        """How many there can be."""
        return math.prod(one.cells for one in self.factors) << len(self.groups)

    @property
    def columns(self) -> list[str]:
        """Columns that strata are made of."""
        return [*(one.name for one in self.factors), *(one.column for group in self.groups for one in group)]

    def within(self, group: tuple[GroupCondition, ...]) -> Alike:
        """The same, where those in a group are alike among themselves only."""
        return replace(self, groups=(*self.groups, group))

    def of(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Stratum of each row, in the smallest type that holds twice as many."""
        strata: NDArray[Any] = np.zeros(len(frame), dtype=smallest_unsigned(2 * self.strata + 1))
        for factor in self.factors:
            strata = strata * factor.cells + factor.codes(frame)
        for group in self.groups:
            strata = 2 * strata + members(frame, group)
        return strata


def fit_strata(sample: pd.DataFrame, names: Sequence[str]) -> Alike:
    """Strata as fine as the rows allow: forty rows each, about.

    Raises
    ------
    DataError
        A factor that cannot be divided into classes.
    """
    classes = round((len(sample) / _ROWS_PER_STRATUM) ** (1.0 / max(len(names), 1)))
    factors = []
    for name in names:
        fitted = fit_column(sample, name, bins=min(max(classes, _FEWEST_CLASSES), _MOST_CLASSES))
        if isinstance(fitted, str):
            raise DataError(f'Column "{name}" cannot be a legitimate factor: {fitted}.')
        factors.append(fitted)
    return Alike(tuple(factors))
