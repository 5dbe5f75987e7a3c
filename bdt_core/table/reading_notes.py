"""Notes on what reading a table has done beyond taking it as it stands, so that a report can say it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from bdt_core.said import Column, Said, Text

READING = "bdt_reading"
"""Key in ``DataFrame.attrs`` of the notes on a table."""


@dataclass(frozen=True)
class ReadingNotes:
    """What was done while a table was read; the same for each block of it.

    Attributes
    ----------
    left_out : dict of str to int
        Lines of the source that are no rows of the table, by reason.
    remarks : tuple of str
        Sentences on how the table was understood.
    questions : dict of str to str
        Columns that can be read in two ways, and what is to be said so that they are read in the right one.
    """

    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[Text, ...] = ()
    questions: Mapping[str, Text] = field(default_factory=dict)

    @property
    def lines_left_out(self) -> int:
        """Lines of the source that are no rows of the table."""
        return sum(self.left_out.values())

    def __add__(self, other: ReadingNotes) -> ReadingNotes:
        """Of several files."""
        left_out = dict(self.left_out)
        for reason, count in other.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
        sentences = tuple(dict.fromkeys((*self.remarks, *other.remarks)))
        return ReadingNotes(left_out, sentences, {**other.questions, **self.questions})

    def remarks_on(self, columns: Collection[str]) -> list[Text]:
        """The remarks, without those on other columns."""

        def is_on_another(remark: Text) -> bool:
            values = remark.values.values() if isinstance(remark, Said) else ()
            return any(isinstance(one, Column) and one not in columns for one in values)

        return [one for one in self.remarks if not is_on_another(one)]

    def beside(self, attrs: Mapping[Any, Any]) -> dict[Any, Any]:
        """The attributes of a frame, these notes among them if they say anything."""
        return {**attrs, READING: asdict(self)} if self.left_out or self.remarks or self.questions else dict(attrs)

    @classmethod
    def of(cls, attrs: Mapping[Any, Any]) -> Self:
        """Those of a frame, by its attributes."""
        known: dict[str, Any] = attrs.get(READING) or {}
        return cls(known.get("left_out", {}), tuple(known.get("remarks", ())), known.get("questions", {}))


NO_NOTES = ReadingNotes()
