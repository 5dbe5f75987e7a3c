"""Tables and sources cut into blocks, as large ones are: what is asked of blocks has to be picklable."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bdt_core.spec import AuditSpec, parse_spec
from bdt_core.table.audit_table import BIAS_VARIABLE, RANK, AuditTable, TableColumn

T = TypeVar("T")


@dataclass(frozen=True)
class TableInBlocks:
    """`bdt_core.table.rows.Rows` over a table in memory; ``cuts`` are the first rows of all blocks but the first."""

    whole: AuditTable
    cuts: tuple[int, ...]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("frame", "y", "X", "audited"):
            raise AttributeError(f"{name} needs all rows at once")
        return getattr(self.whole, name)

    def in_memory(self) -> AuditTable:
        assert not self.whole.is_large, "the rows of a large table are not to be held at once"
        return self.whole

    def map_blocks(self, function: Callable[[AuditTable], T], columns: Sequence[str] | None = None) -> list[T]:
        asked = pickle.loads(pickle.dumps(function))
        whole = self.whole.frame
        wanted = [name for name in whole.columns if columns is None or name in columns]
        frames = cut(whole[wanted], self.cuts)
        return [pickle.loads(pickle.dumps(asked(replace(self.whole, frame=frame)))) for frame in frames]


@dataclass(frozen=True)
class SourceInBlocks:
    """The source's rows in blocks, as groups are counted on."""

    frame: pd.DataFrame
    cuts: tuple[int, ...]

    def map_source_blocks(self, function: Callable[[pd.DataFrame], T]) -> list[T]:
        asked = pickle.loads(pickle.dumps(function))
        return [pickle.loads(pickle.dumps(asked(frame))) for frame in cut(self.frame, self.cuts)]


def cut(frame: pd.DataFrame, cuts: tuple[int, ...]) -> list[pd.DataFrame]:
    """Blocks of a frame, each numbered from 0; some may have no rows."""
    ends = sorted(min(one, len(frame)) for one in cuts)
    bounds = zip([0, *ends], [*ends, len(frame)], strict=True)
    return [frame.iloc[start:stop].reset_index(drop=True) for start, stop in bounds]


def audit_table(frame: pd.DataFrame, **spec: Any) -> AuditTable:
    """A table with settled types and ranks; all columns but the bias variable are features."""
    settled: AuditSpec = parse_spec(
        {"name": "cut", "source": {"path": "(DataFrame)"}, "bias_variable": {"column": "y"}, **spec}
    )
    names = [name for name in frame.columns if name != BIAS_VARIABLE]
    columns = tuple(
        TableColumn(name, "feature", "numeric" if frame[name].dtype.kind == "f" else "categorical", 0, 0)
        for name in names
    )
    ranks = np.random.default_rng(5).permutation(len(frame)).astype(np.uint64)
    return AuditTable(frame.assign(**{RANK: ranks}), columns, settled, len(frame), (), "sha256:0")
