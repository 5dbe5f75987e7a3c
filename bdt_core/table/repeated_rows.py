"""Rows that repeat although no column says whom they belong to: one person, perhaps, many times."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from bdt_core.table.audit_table import KEY, AuditTable, row_hashes
from bdt_core.table.ranks import Hashes, mixed

ROWS_LOOKED_AT = 50_000
_LEAST_SHARE = 0.05
_LEAST_PAIRS = 20
_COLUMNS = 8
_TELLING = 0.1
"""A column tells copies if no more pairs of rows than this share agree in it."""
_COPIED = 0.25


def warn_of_repeats(table: AuditTable) -> list[str]:
    """What to say where many rows are copies of others, beyond what chance makes of their columns.

    Parameters
    ----------
    table : AuditTable
        Its first `ROWS_LOOKED_AT` rows are looked at; features and protected columns make the content of a row.

    Notes
    -----
    Rows of few values are alike by chance. Then most pairs of rows that agree in all columns but one of many values
    differ in that one. Of copies, a large share of the pairs that agree in all columns but one agrees in that one too,
    whichever it is. That is asked of the columns with the most values; one that another one determines, in rows that
    are no copies, says nothing and is left out.
    """
    if table.spec.split.key is not None:
        return []
    sample = table.sample(ROWS_LOOKED_AT).frame
    names = [name for role in ("feature", "protected") for name in table.names(role)]
    hashes = {name: mixed(row_hashes(sample[[name]])) for name in names}
    content = reduce(add, hashes.values())
    if _repeated(content) < max(_LEAST_SHARE * len(sample), 2):
        return []
    pairs = {name: _pairs(one) for name, one in hashes.items()}
    _, first = np.unique(content, return_index=True)
    once = {name: one[first] for name, one in hashes.items()}
    asked: list[str] = []
    for name in sorted(names, key=lambda one: (pairs[one], one))[:_COLUMNS]:
        if any(0 < _pairs(once[one]) == _pairs(mixed(once[one]) + once[name]) for one in asked):
            del hashes[name]
        else:
            asked.append(name)
    content = reduce(add, hashes.values())
    alike, repeated = _pairs(content), _repeated(content)
    every = len(sample) * (len(sample) - 1) / 2
    telling = [name for name in asked if pairs[name] <= _TELLING * every]
    if alike < _LEAST_PAIRS or not telling:
        return []
    if any(alike < _COPIED * _pairs(content - hashes[name]) for name in telling):
        return []
    of = "" if len(sample) == len(table.frame) else " looked at"
    return [
        f"{repeated:,} of {len(sample):,} rows{of} are the same as another one in every column, far more than chance "
        "would make so: they may be one person many times, and are then counted as if they were many. If so, name the "
        'column that says so in "split.key": tests, intervals and minimum sizes then count persons.'
    ]


def one_each(table: AuditTable) -> AuditTable:
    """One row of each person or, where no column names persons, of each content: the one with the lowest hash."""
    content = row_hashes(table.frame[table.used])
    owner = content if table.spec.split.key is None else table.frame[KEY].to_numpy()
    order = np.lexsort((content, owner))
    first = order[np.flatnonzero(np.diff(owner[order], prepend=owner[order][:1] + np.uint64(1)))]
    return replace(table, frame=table.frame.take(np.sort(first)).reset_index(drop=True))


def _repeated(hashes: Hashes) -> int:
    """Rows that are not alone."""
    counts = _counts(hashes)
    return int(counts[counts > 1].sum())


def _pairs(hashes: Hashes) -> int:
    """Pairs of rows that are alike."""
    counts = _counts(hashes)
    return int((counts * (counts - 1) // 2).sum())


def _counts(hashes: Hashes) -> NDArray[np.int64]:
    return np.unique(hashes, return_counts=True)[1].astype(np.int64)
