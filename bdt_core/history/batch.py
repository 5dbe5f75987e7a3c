"""One batch: the counts of its rows, and when and under which name they came."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bdt_core import words
from bdt_core.errors import BDTError, DataError
from bdt_core.fairness.declared_groups import PERSONS_KEPT, GroupCounts
from bdt_core.fairness.metric_results import group_in_words
from bdt_core.said import AsItIs, joined, say
from bdt_core.spec.production import duration

SCHEMA = 1
_NAMED = 5
_MORE_LATE, _MORE_BACK = 0.05, 0.01


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
    counted : datetime or None
        When it was counted, where labels may come late.
    """

    id: str
    time: datetime.datetime
    content: str
    counts: GroupCounts
    counted: datetime.datetime | None = None

    def is_settled(self, labels_after: str | None) -> bool:
        """Whether it was counted when its labels were there, so long after its time (None: always)."""
        if labels_after is None:
            return True
        return self.counted is not None and self.counted - self.time >= duration(labels_after)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "time": self.time.isoformat(),
            "content": self.content,
            "counts": self.counts.to_dict(),
            **({} if self.counted is None else {"counted": self.counted.isoformat()}),
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
            schema = data.get("schema") if isinstance(data, dict) else type(data).__name__
            raise DataError(f"Expected a batch of schema {SCHEMA}; found {schema!r}.")
        try:
            return cls._of(data)
        except BDTError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise DataError(f"The data is no batch: {type(error).__name__}.") from None

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Batch:
        if data["content"] != _content(data["counts"]["tables"]):
            raise DataError("The counts of the batch are not those that were recorded: they were changed or damaged.")
        counted = data.get("counted")
        times = [datetime.datetime.fromisoformat(one) for one in (data["time"], counted) if one is not None]
        if not all(one.tzinfo is not None for one in times) or not isinstance(data["id"], str):
            raise DataError("A batch has a name, and times with a time zone.")
        return cls(data["id"], times[0], data["content"], GroupCounts.from_dict(data["counts"]), *times[1:])


def batch_of(
    counts: GroupCounts,
    *,
    id: str,  # noqa: A002 - the batch's own word
    time: datetime.datetime,
    counted: datetime.datetime | None = None,
) -> Batch:
    """Make a batch of counts.

    Parameters
    ----------
    counts : GroupCounts
    id : str
        Name of the part of the data.
    time : datetime
        With a time zone.
    counted : datetime, optional
        When it was counted, with a time zone, where labels may come late (`history.labels_after`).

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
    content = _content([one.to_dict() for one in counts.tables])
    return Batch(id, time.astimezone(datetime.UTC), content, counts, counted)


def _content(tables: list[Any]) -> str:
    """Hash of count tables, as they are stored."""
    written = json.dumps(tables, sort_keys=True, ensure_ascii=False)
    return f"sha256:{hashlib.sha256(written.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def doubtful(batches: Sequence[Batch], least: int) -> list[str]:
    """Notes on batches that may hold the same rows as another, of at least so many rows, or wait for labels.

    Parameters
    ----------
    batches : sequence of Batch
        In their order.
    least : int
    """
    same: dict[str, list[str]] = {}
    for batch in batches:
        if max((table.rows for table in batch.counts.tables), default=0) >= least:
            same.setdefault(batch.content, []).append(batch.id)
    notes: list[str] = [
        say(
            "Batches {list} have the same counts in every group. If they are the same rows under several names, they "
            "count several times, and differences look surer than they are: remove all but one from the history.",
            list=batches_in_words(names),
        )
        for names in same.values()
        if len(names) > 1
    ]
    return notes + _who_came_back(batches) + (_late_labels(batches[-1], least) if batches else [])


def _who_came_back(batches: Sequence[Batch]) -> list[str]:
    """A note on persons in several batches, by those with the lowest hashes, of whom every batch tells."""
    samples = [one.counts.some_persons for one in batches if one.counts.some_persons]
    if len(samples) < 2:
        return []
    known_to = min(max(one) if len(one) == PERSONS_KEPT else 1 << 32 for one in samples)
    times = Counter(who for one in samples for who in one if who <= known_to)
    share = sum(n > 1 for n in times.values()) / len(times)
    if share <= _MORE_BACK:
        return []
    return [
        say(
            "About {share} of the persons (split.key) come back in several batches. Within a batch persons are "
            "counted; those who come back count as new ones, so that differences look surer than they are: take longer "
            "batches, or one decision per person.",
            share=words.percent(share),
        )
    ]


def _late_labels(batch: Batch, least: int) -> list[str]:
    """A note for each grouping in which one group lacks labels far more often than another."""
    notes: list[str] = []
    for table in batch.counts.tables:
        if table.label is None or None not in table.labels:
            continue
        rows = table.counts.sum(axis=(1, 2, 3, 4))
        lacks = table.counts[:, :, table.labels.index(None)].sum(axis=(1, 2, 3))
        shares = {group: lacks[i] / rows[i] for i, group in enumerate(table.groups) if rows[i] >= least}
        if not shares or max(shares.values()) - min(shares.values()) <= _MORE_LATE:
            continue
        most, fewest = max(shares, key=lambda one: shares[one]), min(shares, key=lambda one: shares[one])
        notes.append(
            say(
                "In batch {batch}, {most} of {group} have no label (yet), and {fewest} of {other}. Rates that need the "
                "label are of those who have one: where a good or a bad outcome is known sooner, that alone makes a "
                "difference. Audit parts again when their labels are there, and set history.labels_after so that "
                "nothing is said of them before.",
                batch=AsItIs(batch.id),
                most=words.percent(shares[most]),
                group=group_in_words(table.facets, most),
                fewest=words.percent(shares[fewest]),
                other=group_in_words(table.facets, fewest),
            )
        )
    return notes


def batches_in_words(names: Sequence[str]) -> str:
    """Names of batches within a sentence, of which no language changes any; the first few of many."""
    return joined([AsItIs(one) for one in [*names[:_NAMED], *(["..."] if len(names) > _NAMED else [])]], ", ")


def in_order(batches: Iterable[Batch]) -> list[Batch]:
    """Batches by time (then by name); of several with one name, the last one given.

    Examples
    --------
    >>> in_order([])
    []
    """
    by_id = {one.id: one for one in batches}
    return sorted(by_id.values(), key=lambda one: (one.time, one.id))
