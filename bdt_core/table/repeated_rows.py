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
from bdt_core.said import Column, joined, say
from bdt_core.table.audit_table import BIAS_VARIABLE, KEY, RANK, AuditTable
from bdt_core.table.ranks import Hashes, begins_run, mixed, row_hashes
from bdt_core.table.repeats_said import (
    COUNTED_AS_MANY,
    NEARLY,
    NEARLY_OF_SOME,
    ONE_OF_EACH,
    REPEATED,
    REPEATED_OF_SOME,
)
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
_NEAR = 0.05
"""Two values of a column are near if so small a share of all pairs of rows is as near."""
_NEARER, _BY_CHANCE = 3.0, 0.1
"""Copies are near so many times as often; what else is near may have so small a share of what is beyond chance."""
_LEAST_VALUES = 200
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
    within : float or None
        How far copies are apart at most, where rows that agree in the other columns are not all copies.
    """

    rows: int
    of: int
    apart: tuple[str, ...]
    within: float | None = None


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
    all_numbers = [tuple(by_values)] if len(by_values) > 2 else []
    for apart in ((), *singles, *pairs, *all_numbers):
        kept = {name: one for name, one in hashes.items() if name not in apart}
        rows = _copies(kept, _COPIED if not apart else _NEARLY_COPIED)
        if rows:
            return Repeats(rows, len(sample), apart)
    for name in by_values[:_NOISY]:
        others = {each: one for each, one in hashes.items() if each != name}
        rows, within = _neighbours(sample[name].to_numpy(dtype=np.float64), others)
        if rows:
            return Repeats(rows, len(sample), (name,), within)
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


def _neighbours(values: NDArray[np.float64], others: dict[str, Hashes]) -> tuple[int, float]:
    """Rows that have a neighbour in one column among those that agree in all others, and how far these are apart at
    most; 0 where that may be no copying.

    Where the others are of few values, rows agree in them by chance, and are then near in the one column as often as
    any two. Of copies to which noise was added more pairs are near, and of rows that agree in all others but one no
    more are, whichever it is: if they are near too, the others say something of the column, and nobody was copied.
    """
    known = np.isfinite(values)
    if not others or known.sum() < len(values) / 2 or len(np.unique(values[known])) < _LEAST_VALUES:
        return 0, 0.0
    values, others = values[known], {name: one[known] for name, one in others.items()}
    rng = np.random.default_rng(0)
    order = rng.permutation(len(values))
    near = float(np.quantile(np.abs(values - values[order]), _NEAR))
    same = _near_pairs(values, reduce(add, others.values()), near, order)
    if same is None or same[0] < _NEARER * _NEAR:
        return 0, near
    for name in others:
        rest = [one for each, one in others.items() if each != name]
        if not rest:
            return 0, near
        unlike = _near_pairs(values, reduce(add, rest), near, order, others[name])
        if unlike is None or unlike[0] - _NEAR > _BY_CHANCE * (same[0] - _NEAR):
            return 0, near
    return same[1], near


def _near_pairs(
    values: NDArray[np.float64], cells: Hashes, near: float, order: NDArray[np.intp], unlike: Hashes | None = None
) -> tuple[float, int] | None:
    """Share of near pairs among rows that follow each other in their cell, and the rows in pairs that are near.

    Equal values are no noise, and do not count as near. With `unlike`, pairs that agree in it are passed over.
    """
    by_cell = order[np.argsort(cells[order], kind="stable")]
    first, second = by_cell[:-1], by_cell[1:]
    pairs = cells[first] == cells[second]
    if unlike is not None:
        pairs &= unlike[first] != unlike[second]
    if pairs.sum() < max(_LEAST_PAIRS, _LEAST_SHARE * len(values)):
        return None
    apart = np.abs(values[first] - values[second])[pairs]
    is_near = (apart > 0.0) & (apart <= near)
    rows = np.unique(np.concatenate([first[pairs][is_near], second[pairs][is_near]]))
    return float(is_near.mean()), len(rows)


def warn_of_repeats(table: Rows, repeats: Repeats | None) -> list[str]:
    """What to say where many rows are copies of others."""
    if repeats is None:
        return []
    counts = {"N": words.count(repeats.rows), "Nall": words.count(repeats.of)}
    of_some = repeats.of < table.rows
    if not repeats.apart:
        return [
            joined(
                [
                    say(REPEATED_OF_SOME if of_some else REPEATED, **counts),
                    say(_MEND),
                ],
                " ",
            )
        ]
    what = words.all_of([say('"{as_is}"', as_is=Column(name)) for name in repeats.apart])
    return [
        joined(
            [
                say(NEARLY_OF_SOME if of_some else NEARLY, **counts, list=what),
                say(COUNTED_AS_MANY if table.is_large else ONE_OF_EACH),
                say(_MEND),
            ],
            " ",
        )
    ]


def without_near_copies(frame: pd.DataFrame, used: list[str], repeats: Repeats) -> NDArray[np.bool_]:
    """Which rows stay if one of each set of near copies does: one that has an outcome, with the lowest rank.

    Parameters
    ----------
    frame : DataFrame
        With ranks.
    used : list of str
        Features and protected columns.
    repeats : Repeats
        In which columns copies differ.
    """
    content = row_hashes(frame[[name for name in used if name not in repeats.apart]])
    if repeats.within is not None:
        content = mixed(content + _places(content, frame[repeats.apart[0]].to_numpy(dtype=np.float64), repeats.within))
    order = np.lexsort((frame[RANK].to_numpy(), frame[BIAS_VARIABLE].isna().to_numpy(), content))
    kept = np.zeros(len(frame), dtype=np.bool_)
    kept[order[begins_run(content[order])]] = True
    return kept


def _places(content: Hashes, values: NDArray[np.float64], within: float) -> Hashes:
    """Numbers of runs of near values among rows of one content; a missing value is a run of its own."""
    order = np.lexsort((values, content))
    gaps = np.diff(values[order])
    begins = np.concatenate([[True], (np.diff(content[order]) != 0) | ~(gaps <= within)])[: len(order)]
    places = np.empty(len(order), dtype=np.uint64)
    places[order] = np.cumsum(begins).astype(np.uint64)
    return places


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
