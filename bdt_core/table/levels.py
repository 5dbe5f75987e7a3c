"""Levels that differ only in how they are written: spaces, capitals, what is not seen, how letters are composed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from bdt_core.said import AsItIs, Column, say
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.words import count

_MOST_LEVELS = 5_000
"""Of more, nobody would read what is alike."""
_SHOWN = 3


def spellings(levels: Iterable[object]) -> list[tuple[str, ...]]:
    """Levels that are one but for how they are written, each with all of its spellings, sorted.

    Examples
    --------
    >>> spellings(["north", "north ", "VROUW", "vrouw", "south", "so\u200buth"])
    [('VROUW', 'vrouw'), ('north', 'north '), ('south', 'so\u200buth')]
    """
    alike: dict[str, list[str]] = {}
    texts = [one for one in levels if isinstance(one, str)]
    for text in texts if len(texts) <= _MOST_LEVELS else ():
        alike.setdefault(_bare(text), []).append(text)
    return sorted(tuple(sorted(these)) for these in alike.values() if len(these) > 1)


def warn_of_spellings(name: str, levels: Iterable[object]) -> list[str]:
    """What to say of a column with levels that differ only in how they are written."""
    alike = spellings(levels)
    if not alike:
        return []
    shown = "; ".join(" / ".join(map(_quoted, one)) for one in alike[:_SHOWN]) + ("; ..." if alike[_SHOWN:] else "")
    return [
        say(
            'Column "{as_is}" has levels that differ only in spaces, capitals, unseen signs or how letters are '
            'composed: {as_is2}. Set "source.clean" to true if they are one.',
            as_is=Column(name),
            as_is2=AsItIs(shown),
        )
    ]


def chosen_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """The most frequent spelling for each other one of the same level.

    Parameters
    ----------
    counts : dict of str to int
        Rows of each level.

    Examples
    --------
    >>> chosen_spellings({"vrouw": 9, "VROUW": 2, "man": 5})
    {'VROUW': 'vrouw'}
    """
    chosen: dict[str, str] = {}
    for alike in spellings(counts):
        best = max(alike, key=lambda one: (counts[one], one))
        chosen |= {one: best for one in alike if one != best}
    return chosen


def level_counts(column: pd.Series) -> dict[str, int]:
    """Rows of each text of a column; of none where it holds something else, or more than can be read."""
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return {}
    try:
        counted = column.value_counts()
    except TypeError:  # lists and the like
        return {}
    return {str(level): int(rows) for level, rows in counted.items() if isinstance(level, str)}


def respelled(column: pd.Series, chosen: Mapping[str, str]) -> pd.Series:
    """The column with one spelling of each level."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        old = column.cat.categories
        new = pd.Index([chosen.get(one, one) for one in old])
        kept = new.unique()
        codes = np.append(kept.get_indexer(new), -1)[column.cat.codes.to_numpy()]
        dtype = pd.CategoricalDtype(kept, column.dtype.ordered)
        return pd.Series(pd.Categorical.from_codes(codes, dtype=dtype), index=column.index, name=column.name)
    changed = column.isin(list(chosen))
    return column.where(~changed, column.map(dict(chosen))).astype(column.dtype) if changed.any() else column


def cleaned(frame: pd.DataFrame) -> pd.DataFrame:
    """A table in memory with one spelling of each level."""
    counted = {str(name): chosen_spellings(level_counts(frame[name])) for name in frame.columns}
    chosen = {name: one for name, one in counted.items() if one}
    merged = frame.assign(**{name: respelled(frame[name], one) for name, one in chosen.items()})
    merged.attrs = (ReadingNotes.of(frame.attrs) + merged_spellings(chosen)).beside(frame.attrs)
    return merged


def merged_spellings(chosen: Mapping[str, Mapping[str, str]]) -> ReadingNotes:
    """What is to be said of spellings of each column that became others."""
    return ReadingNotes(
        remarks=tuple(
            say(
                'Column "{column}": {N} spelling of levels merged into others ("source.clean").'
                if len(one) == 1
                else 'Column "{column}": {N} spellings of levels merged into others ("source.clean").',
                column=Column(name),
                N=count(len(one)),
            )
            for name, one in chosen.items()
        )
    )


def _quoted(level: str) -> str:
    """A level in quotes; letters that are composed of several are spelled out, for they look the same."""
    return repr(level) if unicodedata.is_normalized("NFC", level) else ascii(level)


def _bare(level: str) -> str:
    seen = "".join(one for one in level if unicodedata.category(one) != "Cf")  # what joins or divides, and is not seen
    return unicodedata.normalize("NFC", " ".join(seen.split()).casefold())
