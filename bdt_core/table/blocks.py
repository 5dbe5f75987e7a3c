"""What a search asks of rows, wherever they are: blocks, and a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.table.audit_table import BIAS_VARIABLE

T = TypeVar("T")
OUTCOME = BIAS_VARIABLE
"""Column with the outcome of every row: NaN where it is not known."""


class Block(Protocol):
    """Some rows."""

    @property
    def frame(self) -> pd.DataFrame:
        """The columns that are searched, and `OUTCOME`."""


class Blocks(Protocol):
    """What `bdt_core.table.rows.Rows` and `OneBlock` have in common."""

    def map_blocks(self, function: Callable[[Block], T], columns: Sequence[str] | None = None) -> list[T]: ...
    def sample(self, rows: int) -> Block: ...


@dataclass(frozen=True, eq=False)
class OneBlock:
    """Rows at hand: a single block, and a sample that holds all of them."""

    frame: pd.DataFrame = field(repr=False)

    def map_blocks(
        self,
        function: Callable[[Block], T],
        columns: Sequence[str] | None = None,  # noqa: ARG002 - all are at hand
    ) -> list[T]:
        """See `bdt_core.table.rows.Rows`."""
        return [function(self)]

    def sample(self, rows: int) -> OneBlock:  # noqa: ARG002 - it is given out whole
        """Itself."""
        return self


def known_rows(block: Block) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """The rows of a block whose outcome is known, and their outcomes."""
    values = block.frame[OUTCOME].to_numpy(dtype=np.float64)
    known = ~np.isnan(values)
    return (block.frame, values) if known.all() else (block.frame[known], values[known])
