"""Rows as a search takes them, wherever they are: blocks, and a sample."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError, SpecError
from bdt_core.inference.summaries import Centring, Scale, SeenValues, look
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.frames import AnyTable, handed_over

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


def frame_at_hand(frame: AnyTable, what: str) -> pd.DataFrame:
    """A table that somebody hands over to be searched, its columns called by texts."""
    table = handed_over(frame)
    if not len(table):
        raise DataError(f"{what} has no rows.")
    return table.rename(columns=str)


def refuse_text(names: Sequence[str] | None, what: str) -> None:
    """Names of columns are a list."""
    if isinstance(names, str):
        raise SpecError(f'{what} must be a list of names; found the text "{names}".')


def refuse_taken(names: Collection[str], outcomes: Collection[str]) -> None:
    """No column may have the name of `OUTCOME` but the outcome itself."""
    if OUTCOME in names and OUTCOME not in outcomes:
        raise DataError(f'The name "{OUTCOME}" is taken: rename that column.')


def refuse_outcomes(every: Sequence[NDArray[np.float64]], name: str) -> None:
    """Outcomes, in one table or several, must be finite, and known somewhere."""
    infinite = sum(int(np.isinf(values).sum()) for values in every)
    if infinite:
        raise DataError(f'Column "{name}" (outcome) holds {infinite:,} infinite values. Replace or remove them.')
    if all(np.isnan(values).all() for values in every):
        raise DataError(f'Column "{name}" (outcome) is missing in every row. There is nothing to search.')


def known_rows(block: Block) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """The rows of a block whose outcome is known, and their outcomes."""
    values = block.frame[OUTCOME].to_numpy(dtype=np.float64)
    known = ~np.isnan(values)
    return (block.frame, values) if known.all() else (block.frame[known], values[known])


def seen_outcomes(table: Blocks) -> list[SeenValues]:
    """The known outcomes of each block, at a first look."""
    return table.map_blocks(_look, [OUTCOME])


def scale_of(table: Blocks, seen: SeenValues) -> Scale:
    """The scale on which outcomes are summed up whose values are too many to be counted."""
    centring = Centring.of(seen)
    return centring.scale(sum(table.map_blocks(partial(_steps, centring=centring), [OUTCOME])))


def _look(block: Block) -> SeenValues:
    return look(known_rows(block)[1])


def _steps(block: Block, centring: Centring) -> int:
    return centring.count(known_rows(block)[1])
