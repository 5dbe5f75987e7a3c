"""A source that is left where it is, because its table would not fit into memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from bdt_core.spec import Source
from bdt_core.table.batches import open_batches

if TYPE_CHECKING:
    import pyarrow as pa

_META = b"bdt.source"


@dataclass(frozen=True)
class LargeSource:
    """Where a large table is, and what its columns are; its rows come later, batch by batch.

    Attributes
    ----------
    source : Source
    rows : int
    dtypes : dict of str to str
        Types of all columns.
    reason : str
        Why it is not in memory.
    """

    source: Source
    rows: int
    dtypes: dict[str, str]
    reason: str

    @classmethod
    def of(cls, source: Source, reason: str) -> Self:
        """Look at a source; one pass over text files, footers of Parquet files."""
        with open_batches(source) as batches:
            return cls(source, batches.rows, {name: str(one) for name, one in batches.dtypes.items()}, reason)

    def beginning(self, rows: int) -> pd.DataFrame:
        """The first rows."""
        with open_batches(self.source, batch_rows=rows) as batches:
            return next(iter(batches))

    def to_arrow(self) -> pa.Table:
        """As a table without rows, whose metadata says where the rows are."""
        import pyarrow as pa

        facts = {
            "source": self.source.model_dump(mode="json"),
            "rows": self.rows,
            "dtypes": self.dtypes,
            "reason": self.reason,
        }
        return pa.table({}).replace_schema_metadata({_META: json.dumps(facts).encode()})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Self | None:
        """Undo `to_arrow`; None for another table."""
        note = (table.schema.metadata or {}).get(_META)
        if note is None:
            return None
        facts: dict[str, Any] = json.loads(note)
        return cls(Source.model_validate(facts["source"]), facts["rows"], facts["dtypes"], facts["reason"])
