"""The table as it walks through the audit: typed columns, roles and what was left out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.said import Text
from bdt_core.sentences import restored, sentences_of
from bdt_core.spec import AuditSpec, Kind
from bdt_core.table.people import PeopleFingerprint
from bdt_core.table.pool import blocks_of, mapped
from bdt_core.table.ranks import lowest

if TYPE_CHECKING:
    import pyarrow as pa

BIAS_VARIABLE = "(bias variable)"
ROW = "(row)"
"""Column with the number of the row in the source, where something beside the table is read by it."""
KEY = "(key)"
"""Column with the hash (uint64) of what names the person, where all rows of a person stay together."""
LIST = "(list)"
"""Column with the hash (uint64) of what names the list of a row, where people are measured within lists."""
RANK = "(rank)"
"""Column with the uniform random number (uint64) by which the rows of a table that is divided by hash are drawn."""
T = TypeVar("T")
Role = Literal["feature", "protected", "label", "prediction", "bias_variable", "unused"]


@dataclass(frozen=True)
class TableColumn:
    """One column of the source and the part it plays."""

    name: str
    role: Role
    kind: Kind | None
    missing: int | None
    """None of a column at which the audit does not look."""
    distinct: int | None
    """None when there are more than 65,536 different values, too."""


@dataclass(frozen=True)
class LeftOut:
    """Rows that are not audited, and why."""

    reason: Text
    rows: int


@dataclass(frozen=True)
class AuditTable:
    """Validated rows.

    Attributes
    ----------
    frame : DataFrame
        Features, protected columns, label and prediction with settled types (float64 or text), and the bias
        variable in the column ``(bias variable)``: NaN where a row is outside its denominator.
    columns : tuple of TableColumn
        Every column of the source.
    spec : AuditSpec
        The specification so far.
    rows : int
        Rows of the source.
    left_out : tuple of LeftOut
        Rows of the source that are not audited.
    fingerprint : str
        Content hash of the used columns; the same for the same rows in any order.
    warnings : tuple of str
        What a person should know.
    part : str
        ``all``, ``train`` or ``test``.
    notes : tuple of str
        How the source was read.
    people : PeopleFingerprint or None
        By what the people of all parts are known again; None in a file of an earlier version.
    """

    frame: pd.DataFrame = field(repr=False)
    columns: tuple[TableColumn, ...]
    spec: AuditSpec
    rows: int
    left_out: tuple[LeftOut, ...]
    fingerprint: str
    warnings: tuple[Text, ...] = ()
    part: Literal["all", "train", "test"] = "all"
    notes: tuple[Text, ...] = ()
    people: PeopleFingerprint | None = None

    @property
    def used(self) -> list[str]:
        """Columns that the method uses; the others are only carried along for stages that read them."""
        roles = {one.name for one in self.columns if one.role != "unused"}
        return [name for name in self.frame.columns if name in roles or name == BIAS_VARIABLE]

    def names(self, role: Role) -> list[str]:
        """Names of the columns that play a role."""
        return [one.name for one in self.columns if one.role == role]

    @property
    def audited(self) -> pd.DataFrame:
        """The rows that have a bias variable."""
        return self._audited(list(self.frame.columns))

    @property
    def X(self) -> pd.DataFrame:
        """Features of the audited rows."""
        return self._audited(self.names("feature"))

    @property
    def y(self) -> NDArray[np.float64]:
        """Bias variable of the audited rows."""
        values: NDArray[np.float64] = self.frame[BIAS_VARIABLE].to_numpy(dtype=np.float64)
        return values[~np.isnan(values)]

    @property
    def is_large(self) -> bool:
        """Whether the source has more than ``large_rows`` rows; the same for all its parts."""
        return self.rows > self.spec.large_rows

    @property
    def audited_rows(self) -> int:
        """Rows of this part that have a bias variable."""
        return int(self.frame[BIAS_VARIABLE].notna().sum())

    def in_memory(self) -> AuditTable:
        """Itself; see `bdt_core.table.rows.Rows`."""
        return self

    def map_blocks(
        self,
        function: Callable[[AuditTable], T],
        columns: Sequence[str] | None = None,  # noqa: ARG002 - all are at hand
    ) -> list[T]:
        """Apply a function to each block of rows: here each is for a thread; see `bdt_core.table.rows.Rows`."""
        blocks = blocks_of(len(self.frame))
        return [function(self)] if len(blocks) < 2 else mapped(lambda rows: function(self._block(rows)), blocks)

    def _block(self, rows: slice) -> AuditTable:
        """Some rows that follow one another; no copy."""
        return replace(self, frame=self.frame.iloc[rows].reset_index(drop=True))

    def sample(self, rows: int) -> AuditTable:
        """At most so many rows of this part, drawn by their hash, in an order of their own.

        A table that is not divided by hash gives its first rows, which are in the order of their content.
        """
        if len(self.frame) <= rows:
            return self
        if RANK not in self.frame.columns:
            return replace(self, frame=self.frame.iloc[:rows])
        drawn = taken(self.frame, lowest(self.frame[RANK].to_numpy(), rows))
        return replace(self, frame=tidy(drawn))

    def to_arrow(self) -> pa.Table:
        """As an Arrow table; what is not a row stands in the schema's metadata."""
        import pyarrow as pa

        facts = {
            "columns": [asdict(one) for one in self.columns],
            "spec": self.spec.to_dict(),
            "rows": self.rows,
            "left_out": [asdict(one) for one in self.left_out],
            "fingerprint": self.fingerprint,
            "warnings": list(self.warnings),
            "part": self.part,
            "notes": list(self.notes),
            "people": None if self.people is None else self.people.to_dict(),
        }
        facts["sentences"] = sentences_of(facts)
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        return table.replace_schema_metadata({**(table.schema.metadata or {}), b"bdt": json.dumps(facts).encode()})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> AuditTable:
        """Undo :meth:`to_arrow`."""
        stored: dict[str, Any] = json.loads(table.schema.metadata[b"bdt"])
        facts = restored(stored, stored.get("sentences", ()))  # a file of an earlier version has none
        return cls(
            frame=table.to_pandas(),
            columns=tuple(TableColumn(**one) for one in facts["columns"]),
            spec=AuditSpec.model_validate(facts["spec"]),
            rows=facts["rows"],
            left_out=tuple(LeftOut(**one) for one in facts["left_out"]),
            fingerprint=facts["fingerprint"],
            warnings=tuple(facts["warnings"]),
            part=facts["part"],
            notes=tuple(facts["notes"]),
            people=PeopleFingerprint.from_dict(people) if (people := facts.get("people")) else None,
        )

    def joined(self, other: AuditTable) -> AuditTable:
        """This part of a table and the other one, together again."""
        frame = pd.concat([self.frame, other.frame], ignore_index=True)
        return replace(self, frame=frame, part="all")

    def _audited(self, names: list[str]) -> pd.DataFrame:
        """Some columns of the rows that have a bias variable; no copy where all have."""
        kept = self.frame[BIAS_VARIABLE].notna().to_numpy()
        columns = self.frame[names]
        return (columns if kept.all() else columns[kept]).reset_index(drop=True)

    def with_rows(self, frame: pd.DataFrame, part: Literal["train", "test"], spec: AuditSpec) -> AuditTable:
        """The same table with some of its rows."""
        return replace(self, frame=frame.reset_index(drop=True), part=part, spec=spec)


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with just those categories that occur, in the order of the alphabet."""
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype) and not _is_tidy(column.array):
            used = column.cat.remove_unused_categories()
            column = used.cat.reorder_categories(sorted(used.cat.categories))
        columns[name] = column
    return pd.DataFrame(columns, copy=False)


def _is_tidy(column: pd.Categorical) -> bool:
    """Whether all categories occur, and are in order: to make sure of it takes less time than to make it so."""
    occurs = np.zeros(len(column.categories) + 1, dtype=np.bool_)
    occurs[column.codes] = True  # missing, -1, is the last one
    return bool(occurs[:-1].all()) and list(column.categories) == sorted(column.categories)


def taken(frame: pd.DataFrame, rows: NDArray[np.intp]) -> pd.DataFrame:
    """Some rows of a frame, by their places; as `DataFrame.take`, a column for each thread."""
    columns = mapped(lambda name: frame[name].array.take(rows), list(frame.columns))
    return pd.DataFrame(dict(zip(frame.columns, columns, strict=True)), copy=False)
