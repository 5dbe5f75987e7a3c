"""Whether the people of two tables are the same ones, from their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtrc

from bdt_core.table.people import PeopleFingerprint, Sketch

if TYPE_CHECKING:
    import pandas as pd

_BY_CHANCE = 1.0 / 255.0
"""Two bytes of unlike hashes agree so often."""
_MOST_SEEN = 0.5
"""Where more of other people have the same values, columns do not tell people apart."""
_MORE, _MORE_PEOPLE = 1.25, 0.01
"""What is to be expected is an estimate itself, from 512 people at most: times and shares by which it may be more."""
_LEVEL = 1e-8
"""An overlap is what other people of the same kind would not have in so many comparisons: a ledger has thousands."""


@dataclass(frozen=True)
class Overlap:
    """How many people two tables have in common.

    Attributes
    ----------
    of_these : float
        Share of the people of the one table who are in the other.
    of_those : float
        Share of the people of the other who are in the one.
    """

    of_these: float
    of_those: float

    @property
    def is_any(self) -> bool:
        """Whether some are in both."""
        return self.of_these > 0.0


def overlap(these: PeopleFingerprint, those: PeopleFingerprint) -> Overlap | None:
    """How many people two tables have in common.

    Other people of the same kind have some values in common by chance: an overlap is what lies above that.

    Returns
    -------
    Overlap or None
        None where the columns tell people too little apart to say it, and the tables are not the same.
    """
    if these.content == those.content:
        return Overlap(1.0, 1.0)
    if these.persons is not None and those.persons is not None:
        return _of_sketches(these.persons, those.persons, 0.0)
    pairs = [pair for pair in product(these.sketches, those.sketches) if min(_seen(pair)) <= _MOST_SEEN]
    if not pairs:
        return None
    overlaps = [_of_sketches(*pair, _in_common_by_chance(*pair)) for pair in pairs]
    return max(overlaps, key=lambda one: one.of_these + one.of_those)


def _seen(pair: tuple[Sketch, Sketch]) -> tuple[float, float]:
    return pair[0].seen, pair[1].seen


def _in_common_by_chance(these: Sketch, those: Sketch) -> float:
    """How many would be in both if these were other people of the same kind."""
    expected = min(those.seen * these.people, these.seen * those.people)
    return float(_MORE * expected + 2.0 * np.sqrt(expected) + _MORE_PEOPLE * min(these.people, those.people))


def _of_sketches(these: Sketch, those: Sketch, by_chance: float) -> Overlap:
    ours, theirs = (np.frombuffer(sketch.bytes, np.uint8) for sketch in (these, those))
    filled = (ours > 0) | (theirs > 0)
    buckets, agree = int(filled.sum()), int(((ours == theirs) & filled).sum())
    both = these.people + those.people
    share_by_chance = by_chance / max(both - by_chance, 1.0)
    expected = _BY_CHANCE + (1.0 - _BY_CHANCE) * share_by_chance
    if agree == 0 or bdtrc(agree - 1, buckets, expected) > _LEVEL:
        return Overlap(0.0, 0.0)
    jaccard = min((agree / buckets - _BY_CHANCE) / (1.0 - _BY_CHANCE), 1.0)
    common = jaccard / (1.0 + jaccard) * both
    of_these, of_those = (
        min((common - by_chance) / max(sketch.people - by_chance, 1.0), 1.0) for sketch in (these, those)
    )
    return Overlap(float(of_these), float(of_those))


def fingerprint_of(frame: pd.DataFrame, columns: Sequence[str], key: str | None = None) -> PeopleFingerprint:
    """The fingerprint of a table of which nothing else was read than its features and protected columns.

    Parameters
    ----------
    frame : DataFrame
        As the source was read.
    columns : sequence of str
    key : str, optional
        Column that names persons.
    """
    from bdt_core.table.facts import facts_of
    from bdt_core.table.people import sketched_rows, telling_columns
    from bdt_core.table.persons import hashes_of
    from bdt_core.table.roles import kind_of, settle_type

    typed = {name: settle_type(frame[name], kind_of(frame[name], None)) for name in columns}
    telling = telling_columns({name: facts_of(frame[name]).distinct for name in columns})
    persons = None if key is None else hashes_of(frame[key])
    return sketched_rows(frame.assign(**typed), columns, telling, persons).fingerprint
