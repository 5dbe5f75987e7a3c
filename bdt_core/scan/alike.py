"""People alike in legitimate factors: strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.scan.columns import ScannedColumn, fit_column

_ROWS_PER_STRATUM = 40
_MOST_CLASSES, _FEWEST_CLASSES = 20, 5


@dataclass(frozen=True)
class Alike:
    """How people are divided into strata: quantile classes of numbers, values of categories, crossed.

    Attributes
    ----------
    factors : tuple of ScannedColumn
    """

    factors: tuple[ScannedColumn, ...] = ()

    @property
    def strata(self) -> int:
        """How many there can be."""
        return math.prod(one.cells for one in self.factors)

    def of(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Stratum of each row."""
        strata = np.zeros(len(frame), dtype=np.int64)
        for one in self.factors:
            strata = strata * one.cells + one.codes(frame)
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
