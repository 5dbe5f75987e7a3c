"""Persons to whom the rows of a part belong, where ``split.key`` names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
import pandas as pd

from bdt_core.inference.persons import Hashes, Numbers, Persons
from bdt_core.spec import AuditSpec
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, AuditTable
from bdt_core.table.ranks import row_hashes
from bdt_core.table.roles import settle_type
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import audited

T = TypeVar("T")

MOST_CELLS_HELD = 1 << 25
"""So many sums of persons in all blocks are held at a time."""


def person_hashes(frame: pd.DataFrame, spec: AuditSpec) -> Hashes:
    """Hash of each row's person, from the column of the source that ``split.key`` names, or as it was kept."""
    if KEY in frame.columns:
        return np.asarray(frame[KEY].to_numpy(), dtype=np.uint64)
    assert spec.split.key is not None
    return hashes_of(frame[spec.split.key])


def hashes_of(column: pd.Series) -> Hashes:
    """Hash of each value of a column of names."""
    return row_hashes(settle_type(column, "categorical").to_frame())


def persons_of(table: Rows) -> tuple[Persons, int] | None:
    """Who is in the audited rows of a part, and in how many blocks these are; None where rows are persons.

    Returns
    -------
    (Persons, int) or None
    """
    if table.spec.split.key is None:
        return None
    blocks = table.map_blocks(_persons, [KEY, BIAS_VARIABLE])
    return reduce(add, blocks), len(blocks)


def count_persons(table: Rows) -> int | None:
    """How many persons are in the audited rows of a part; None where rows are persons."""
    counted = persons_of(table)
    return None if counted is None else counted[0].number


def numbers_of(persons: Persons, block: AuditTable) -> Numbers:
    """The number of the person of each audited row of a block."""
    return persons.numbers(audited(block, KEY).to_numpy())


def portions(work: Sequence[T], persons: Persons, blocks: int) -> Iterator[Sequence[T]]:
    """Work in portions, one for each pass over the rows: the sums of all blocks are held at the same time."""
    size = max(1, MOST_CELLS_HELD // max(2 * persons.size * blocks, 1))
    return (work[start : start + size] for start in range(0, len(work), size))


def _persons(block: AuditTable) -> Persons:
    return Persons.of(audited(block, KEY).to_numpy())
