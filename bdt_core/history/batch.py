"""One batch: the counts of its rows, and when and under which name they came."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bdt_core.errors import DataError
from bdt_core.fairness.declared_groups import GroupCounts

SCHEMA = 1


@dataclass(frozen=True)
class Batch:
    """The counts of one batch of rows.

    Attributes
    ----------
    id : str
        Name of the part of the data; another batch of the same name replaces this one.
    time : datetime
        Where the batch stands in time, with its time zone: the start of its part of the data, else when it was
        first seen.
    content : str
        Hash of the counts: two batches with the same counts have the same.
    counts : GroupCounts
    """

    id: str
    time: datetime.datetime
    content: str
    counts: GroupCounts

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "time": self.time.isoformat(),
            "content": self.content,
            "counts": self.counts.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Batch:
        """Undo `to_dict`.

        Raises
        ------
        DataError
            The data is no batch of this schema.
        """
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            found = data.get("schema") if isinstance(data, dict) else type(data).__name__
            raise DataError(f"Expected a batch of schema {SCHEMA}; found {found!r}.")
        counts = GroupCounts.from_dict(data["counts"])
        return cls(data["id"], datetime.datetime.fromisoformat(data["time"]), data["content"], counts)


def batch_of(counts: GroupCounts, *, id: str, time: datetime.datetime) -> Batch:  # noqa: A002 - the batch's own word
    """Make a batch of counts.

    Parameters
    ----------
    counts : GroupCounts
    id : str
        Name of the part of the data.
    time : datetime
        With a time zone.

    Returns
    -------
    Batch

    Raises
    ------
    DataError
        No name, or a time without a time zone.

    Examples
    --------
    >>> from bdt_core.spec import AuditSpec
    >>> spec = AuditSpec(name="loans", source={"path": "a.csv"}, bias_variable={"column": "y"})
    >>> midnight = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)
    >>> batch_of(GroupCounts(spec, (), ()), id="2026-01-31", time=midnight).content
    'sha256:4f53cda18c2baa0c'
    """
    if not id:
        raise DataError("A batch needs a name, such as the key of its partition.")
    if time.tzinfo is None:
        raise DataError(f'The time of batch "{id}" has no time zone; batches are put in order by time.')
    written = json.dumps([one.to_dict() for one in counts.tables], sort_keys=True, ensure_ascii=False)
    content = f"sha256:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return Batch(id, time.astimezone(datetime.UTC), content, counts)


def in_order(batches: Iterable[Batch]) -> list[Batch]:
    """Batches by time (then by name); of several with one name, the last one given.

    Examples
    --------
    >>> in_order([])
    []
    """
    by_id = {one.id: one for one in batches}
    return sorted(by_id.values(), key=lambda one: (one.time, one.id))
