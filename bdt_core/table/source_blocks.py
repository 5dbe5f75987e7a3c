"""The source's rows as groups are counted on: in one frame, or block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import pandas as pd

from bdt_core.spec import AuditSpec

T = TypeVar("T")


class SourceBlocks(Protocol):
    """The columns that groups need, as they were in the source, in blocks of rows."""

    def map_source_blocks(self, function: Callable[[pd.DataFrame], T]) -> list[T]:
        """Apply a function that can be pickled to each block; results in the order of the blocks."""


class FrameBlock:
    """A frame as one block."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def map_source_blocks(self, function: Callable[[pd.DataFrame], T]) -> list[T]:
        """Apply a function to the frame."""
        return [function(self.frame)]


def in_blocks(source: pd.DataFrame | SourceBlocks) -> SourceBlocks:
    """The source, whatever it is, in blocks."""
    return FrameBlock(source) if isinstance(source, pd.DataFrame) else source


def in_one_frame(source: pd.DataFrame | SourceBlocks) -> pd.DataFrame:
    """The source, which must not be large, in one frame."""
    if isinstance(source, pd.DataFrame):
        return source
    if isinstance(source, FrameBlock):
        return source.frame
    return pd.concat(source.map_source_blocks(_itself), ignore_index=True)


def group_columns(spec: AuditSpec) -> set[str]:
    """Columns of the source that are counted for declared groups."""
    named: list[str | None] = [name for facets in (*spec.facets, *spec.numeric_facets) for name in facets]
    if spec.facets:
        named += [*spec.group_columns(), spec.groups.score, spec.groups.stratum, *spec.groups.similar_by]
    if spec.numeric_facets:
        named += spec.numeric_columns()
    return {name for name in named if name is not None}


def _itself(frame: pd.DataFrame) -> pd.DataFrame:
    return frame
