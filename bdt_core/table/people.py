"""Fingerprint of the people of a table, by which they are known again, and from which nobody can be told.

A row is known by the values of its columns, whatever these are called, in whichever order, read from whichever kind of
file. Of all rows 512 minima of hashes are kept, a byte of each: so many bytes agree as there are people in common
(b-bit minwise hashing), and a byte says nothing of anybody. Besides the fingerprint by the columns that tell most
people apart there is one without each of these: where one was left out or changed, another fingerprint agrees.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.table.pool import mapped
from bdt_core.table.ranks import WORDS, Hashes, fingerprint, hashable, hashed_together

BUCKETS = 512
_BITS = 9
_TELLING = 6
"""So many columns, those with the most values, tell people apart."""
_IN_BUCKET = 16
"""Candidates for the minimum of a bucket, on average: so many that none is left without one by chance."""
_NONE = np.uint64(2**64 - 1)

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Minima:
    """The least hash of each bucket, of some rows, and how many rows have it.

    Attributes
    ----------
    least : ndarray of uint64, shape (512,)
    rows : ndarray of int64, shape (512,)
    """

    least: Hashes
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, hashes: Hashes, without: Hashes, among: int) -> Minima:
        """Of the mixed differences of hashes of some rows, which may be a part of so many."""
        from bdt_core.table.sketch_kernels import least_hashes

        least, rows = np.full(BUCKETS, _NONE), np.zeros(BUCKETS, np.int64)
        enough = BUCKETS * _IN_BUCKET
        most = _NONE if among <= enough else np.uint64(2**64 // among * enough - 1)
        least_hashes(hashes, without, most, least, rows)
        return cls(least, rows)

    def __add__(self, other: Minima) -> Minima:
        least = np.minimum(self.least, other.least)
        rows = self.rows * (self.least == least) + other.rows * (other.least == least)
        return Minima(least, rows)


@dataclass(frozen=True)
class Sketch:
    """People as some columns tell them.

    Attributes
    ----------
    bytes : bytes
        Of each bucket's least hash the last byte but 0, which stands for a bucket without rows.
    people : float
        How many the columns tell apart, about.
    seen : float
        The chance that another person of the same kind has the values of one of them: how little they tell (Good,
        1953).
    """

    bytes: bytes
    people: float
    seen: float

    @classmethod
    def of(cls, minima: Minima, rows: int) -> Sketch:
        """Of so many rows."""
        counts = minima.rows[minima.rows > 0]
        each = counts.mean() if counts.size else 1.0
        alone = float((counts == 1).sum() / counts.sum()) if counts.size else 1.0
        last = (minima.least % np.uint64(255)).astype(np.uint8) + np.uint8(1)
        return cls(
            np.where(minima.rows > 0, last, 0).astype(np.uint8).tobytes(),
            round(rows / float(each), 1),
            round(1.0 - alone, 4),
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        coded = base64.b64encode(self.bytes).decode("ascii")
        return {"bytes": coded, "people": self.people, "seen": self.seen}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sketch:
        """Undo `to_dict`."""
        return cls(base64.b64decode(data["bytes"]), float(data["people"]), float(data["seen"]))


@dataclass(frozen=True)
class PeopleFingerprint:
    """By what the people of a table are known again.

    Attributes
    ----------
    rows : int
    content : str
        Hash of all rows, in any order, of all features and protected columns, whatever these are called.
    sketches : tuple of Sketch
        By the columns that tell most apart, and without each of these.
    persons : Sketch or None
        By the column that names persons.
    """

    rows: int
    content: str
    sketches: tuple[Sketch, ...]
    persons: Sketch | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "rows": self.rows,
            "content": self.content,
            "sketches": [one.to_dict() for one in self.sketches],
            "persons": None if self.persons is None else self.persons.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PeopleFingerprint:
        """Undo `to_dict`."""
        persons = data["persons"]
        return cls(
            int(data["rows"]),
            str(data["content"]),
            tuple(Sketch.from_dict(one) for one in data["sketches"]),
            None if persons is None else Sketch.from_dict(persons),
        )


@dataclass(frozen=True, eq=False)
class SketchedRows:
    """What of some rows goes into the fingerprint; that of several parts is their sum.

    Attributes
    ----------
    sums : tuple of int
        See `bdt_core.table.ranks.content_sums`.
    minima : tuple of Minima
    persons : Minima or None
    """

    sums: tuple[int, ...]
    minima: tuple[Minima, ...]
    persons: Minima | None

    def __add__(self, other: SketchedRows) -> SketchedRows:
        sums = tuple((one + more) % 2**64 for one, more in zip(self.sums, other.sums, strict=True))
        minima = tuple(one + more for one, more in zip(self.minima, other.minima, strict=True))
        persons = None if self.persons is None or other.persons is None else self.persons + other.persons
        return SketchedRows(sums, minima, persons)

    @property
    def fingerprint(self) -> PeopleFingerprint:
        """Of all of them."""
        rows = self.sums[0]
        persons = None if self.persons is None else Sketch.of(self.persons, rows)
        return PeopleFingerprint(
            rows, fingerprint(self.sums), tuple(Sketch.of(one, rows) for one in self.minima), persons
        )


def telling_columns(distinct: Mapping[str, int | None]) -> list[str]:
    """The columns that tell most people apart: those with the most values; None is more than were counted."""

    def order(name: str) -> tuple[float, str]:
        values = distinct[name]
        return (-np.inf if values is None else -float(values)), name

    return sorted(distinct, key=order)[:_TELLING]


def sketched_rows(
    frame: pd.DataFrame, columns: Sequence[str], telling: Sequence[str], persons: Hashes | None = None
) -> SketchedRows:
    """Sketch some rows.

    Parameters
    ----------
    frame : DataFrame
        With settled types.
    columns : sequence of str
        Features and protected columns.
    telling : sequence of str
        See `telling_columns`.
    persons : ndarray of uint64, optional
        Hashes of the column that names persons.
    """

    from bdt_core.table.sketch_kernels import content_words, hash_column

    def of_stretch(rows: slice) -> SketchedRows:
        every, nothing = (np.zeros(rows.stop - rows.start, np.uint64) for _ in range(2))
        of_column = {}
        for name in columns:
            hashes = np.empty_like(every)
            hash_column(*hashable(frame[name].iloc[rows]), hashes, every)
            if name in telling:
                of_column[name] = hashes
        apart = nothing.copy()
        for hashes in of_column.values():
            apart += hashes
        without = [nothing, *(of_column.values() if len(of_column) > 1 else ())]
        minima = tuple(Minima.of(apart, one, len(frame)) for one in without)
        words = np.zeros(WORDS, np.uint64)
        content_words(every, words)
        of_persons = None if persons is None else Minima.of(persons[rows], nothing, len(frame))
        return SketchedRows((len(every), *map(int, words)), minima, of_persons)

    parts = mapped(of_stretch, hashed_together(frame[list(columns)]) or [slice(0, 0)])
    return reduce(add, parts)
