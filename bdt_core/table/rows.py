"""Rows of a table as every stage takes them: in memory, in shards on disk or on other machines.

Every table is blocks of rows: one in memory is one block, a long one several, and one in shards has a block for each.
A stage asks each block and adds up the answers, whole numbers only, so that neither the blocks nor their order matter.
What needs single rows takes a sample of a large table, of more than ``large_rows`` rows
(`bdt_core.table.summaries.rows_at_hand`). Whether a table is large depends on the number of rows alone, never on where
they are: the report is the same to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

if TYPE_CHECKING:
    from bdt_core.spec import AuditSpec
    from bdt_core.table.audit_table import AuditTable, LeftOut, Role, TableColumn
    from bdt_core.table.people import PeopleFingerprint

T = TypeVar("T")


class Rows(Protocol):
    """The validated rows of an audit, or its train or test part.

    Attributes
    ----------
    columns, spec, rows, left_out, fingerprint, warnings, part, notes, people
        As in `bdt_core.table.audit_table.AuditTable`.
    """

    @property
    def columns(self) -> tuple[TableColumn, ...]: ...
    @property
    def spec(self) -> AuditSpec: ...
    @property
    def rows(self) -> int: ...
    @property
    def left_out(self) -> tuple[LeftOut, ...]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def people(self) -> PeopleFingerprint | None: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def part(self) -> Literal["all", "train", "test"]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def is_large(self) -> bool:
        """Whether the source has more than ``large_rows`` rows; the same for all its parts."""

    @property
    def audited_rows(self) -> int:
        """Rows of this part that have a bias variable."""

    def names(self, role: Role) -> list[str]:
        """Names of the columns that play a role."""

    def in_memory(self) -> AuditTable:
        """All rows of this part as one table in memory; not for large tables that are not there already."""

    def map_blocks(self, function: Callable[[AuditTable], T], columns: Sequence[str] | None = None) -> list[T]:
        """Apply a function to each block of rows, wherever it is; results in the order of the blocks.

        The function should be a pure one that can be pickled (a function of a module, or a `functools.partial` of
        one), and what it returns should be small. ``columns`` names those that the function looks at, where these are
        few: others need not be read.
        """

    def sample(self, rows: int) -> AuditTable:
        """At most so many rows of this part, drawn by their hash: the same ones in memory and in shards."""
