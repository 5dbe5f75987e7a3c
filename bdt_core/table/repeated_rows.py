"""Rows that repeat, exactly or nearly, although no column says whom they belong to: one person, perhaps, many times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, RANK, AuditTable, row_hashes
from bdt_core.table.ranks import Hashes, mixed
from bdt_core.table.rows import Rows

ROWS_LOOKED_AT = 50_000
_LEAST_SHARE = 0.05
_LEAST_PAIRS = 20
_COLUMNS = 8
_TELLING = 0.1
"""A column tells copies if no more pairs of rows than this share agree in it."""
_COPIED = 0.25
_NEARLY_COPIED = 0.5
"""Beyond so large a share near copies are left out, which is more than to name them."""
_NOISY, _NOISY_PAIRS = 10, 6
LEFT_OUT = "nearly the same as another row"
_MEND = 'If so, name the column that says so in "split.key": tests, intervals and minimum sizes then count persons.'


@dataclass(frozen=True)
class Repeats:
    """Rows that are copies of others, beyond what chance makes of their columns.

    Attributes
    ----------
    rows, of : int
        Those that are not alone, and all that were looked at.
    apart : tuple of str
        Columns in which copies differ; without any they are exact.
    """

    rows: int
    of: int
    apart: tuple[str, ...]


def find_repeats(table: AuditTable) -> Repeats | None:
    """Rows that are copies of others in all columns, or in all but one or two numeric ones.

    Parameters
    ----------
    table : AuditTable
        At most `ROWS_LOOKED_AT` rows are looked at; features and protected columns make the content of a row.

    Notes
    -----
    Rows of few values are alike by chance. Then most pairs of rows that agree in all columns but one of many values
    differ in that one. Of copies, a large share of the pairs that agree in all columns but one agrees in that one too,
    whichever it is. That is asked of the columns with the most values; one that another one determines, in rows that
    are no copies, says nothing and is left out. Copies to which noise was added are found by leaving out each numeric
    column, each pair, and all of them, of those that have the most values.
    """
    if table.spec.split.key is not None:
        return None
    sample = table.sample(ROWS_LOOKED_AT).frame
    names = [name for role in ("feature", "protected") for name in table.names(role)]
    hashes = {name: mixed(row_hashes(sample[[name]])) for name in names}
    numeric = {one.name for one in table.columns if one.kind == "numeric"} & set(names)
    by_values = sorted(numeric, key=lambda name: (_pairs(hashes[name]), name))
    singles, pairs = [(name,) for name in by_values[:_NOISY]], list(combinations(by_values[:_NOISY_PAIRS], 2))
    several = [tuple(by_values)] if len(by_values) > 2 else []
    for apart in ((), *singles, *pairs, *several):
        kept = {name: one for name, one in hashes.items() if name not in apart}
        rows = _copies(kept, _COPIED if not apart else _NEARLY_COPIED)
        if rows:
            return Repeats(rows, len(sample), apart)
    return None


def _copies(hashes: dict[str, Hashes], copied: float) -> int:
    """Rows that are not alone, by the hashes of some columns; 0 where chance may have made them so."""
    if not hashes:
        return 0
    content = reduce(add, hashes.values())
    repeated = _repeated(content)
    if repeated < max(_LEAST_SHARE * len(content), 2):
        return 0
    pairs = {name: _pairs(one) for name, one in hashes.items()}
    _, first = np.unique(content, return_index=True)
    once = {name: one[first] for name, one in hashes.items()}
    asked: list[str] = []
    for name in sorted(pairs, key=lambda one: (pairs[one], one))[:_COLUMNS]:
        if any(0 < _pairs(once[one]) == _pairs(mixed(once[one]) + once[name]) for one in asked):
            del hashes[name]
        else:
            asked.append(name)
    content = reduce(add, hashes.values())
    alike, repeated = _pairs(content), _repeated(content)
    every = len(content) * (len(content) - 1) / 2
    telling = [name for name in asked if pairs[name] <= _TELLING * every]
    if alike < _LEAST_PAIRS or not telling:
        return 0
    return 0 if any(alike < copied * _pairs(content - hashes[name]) for name in telling) else repeated


def warn_of_repeats(table: Rows, found: Repeats | None) -> list[str]:
    """What to say where many rows are copies of others."""
    if found is None:
        return []
    of = "" if found.of >= table.rows else " looked at"
    if not found.apart:
        return [
            f"{found.rows:,} of {found.of:,} rows{of} are the same as another one in every column, far more than "
            "chance would make so: they may be one person many times, and are then counted as if they were many. "
            f"{_MEND}"
        ]
    what = words.all_of([f'"{name}"' for name in found.apart])
    done = (
        "They are counted as if they were many, for the table is large: what is sure of them may not be."
        if table.is_large
        else "One of each is audited, and the others are left out, so that they make nothing surer."
    )
    return [
        f"{found.rows:,} of {found.of:,} rows{of} are nearly the same as another one, in all but {what}, far more than "
        f"chance would make so: they may be one person many times, or be made from one another. {done} {_MEND}"
    ]


def without_near_copies(frame: pd.DataFrame, used: list[str], apart: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which rows stay if one of each set of near copies does: one that has an outcome, with the lowest rank.

    Parameters
    ----------
    frame : DataFrame
        With ranks.
    used : list of str
        Features and protected columns.
    apart : tuple of str
        Columns in which copies differ.
    """
    content = row_hashes(frame[[name for name in used if name not in apart]])
    order = np.lexsort((frame[RANK].to_numpy(), frame[BIAS_VARIABLE].isna().to_numpy(), content))
    first = np.concatenate([[True], np.diff(content[order]) != 0])[: len(order)]
    kept = np.zeros(len(frame), dtype=np.bool_)
    kept[order[first]] = True
    return kept


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
