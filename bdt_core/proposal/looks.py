"""Kinds of the columns of a table: their content decides, their names where it leaves that open."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from bdt_core.errors import DataError, without_rows
from bdt_core.said import Text
from bdt_core.spec.audit_spec import MOST_FEATURES
from bdt_core.table.batches import Batches
from bdt_core.table.column_types import stacked
from bdt_core.table.facts import ColumnFacts, facts_of, holds_dates, holds_numbers
from bdt_core.table.notation import looks_like_date
from bdt_core.table.reading_notes import ReadingNotes
from bdt_core.table.roles import kind_of, looks_like_identifier, settle_type
from bdt_core.table.validate import with_text_names
from bdt_core.vocabulary import Topic, class_order, speaks_of

Look = Literal[
    "unreadable", "constant", "date", "identifier", "free text", "two-valued", "code", "numeric", "categorical"
]

FEW = 20
"""Values of a code, such as race 1 to 8, or of texts that may be an outcome."""
_PARTS: tuple[Topic, ...] = ("protected", "one group", "outcome", "outcome alone", "prediction", "score")
_SAMPLE = 50_000
_SEED = 42
_TEXTS = 200
_MOSTLY = 0.9
_ENOUGH_TO_COUNT = 20
_SENTENCE = 4
"""Words, on average, of a text that is no name of a category."""
_LARGEST = 1e140
_YEARS = (1800, 2200)


@dataclass(frozen=True)
class SeenColumn:
    """A column, as it was seen.

    Attributes
    ----------
    name : str
    look : Look
    facts : ColumnFacts
        Of all rows.
    low, high : float
        The smallest and the largest number; not finite without any, or where one is infinite.
    why : str
        Of an unreadable column: what is wrong with it.
    """

    name: str
    look: Look
    facts: ColumnFacts
    low: float = math.inf
    high: float = -math.inf
    why: Text = ""

    @property
    def is_number(self) -> bool:
        """Whether it can be measured as it stands."""
        largest = max(abs(self.low), abs(self.high))
        return self.low < self.high and 1 / _LARGEST < largest < _LARGEST

    @property
    def levels(self) -> list[Hashable]:
        """The different values, in the order of their texts, classes as 9-17 and 18+ by their numbers.

        None where there are too many to be counted.
        """
        return sorted(
            self.facts.values or (),
            key=lambda one: (str(type(one)), one) if _is_real(one) else ("", *class_order(str(one))),
        )


@dataclass(frozen=True)
class Glance:
    """What one pass over a table has shown.

    Attributes
    ----------
    columns : dict of str to SeenColumn
    sample : DataFrame
        Some rows of all parts of the table; all rows of a small one.
    rows : int
    unseen : int
        Columns at which nobody looked, because there are too many.
    """

    columns: dict[str, SeenColumn]
    sample: pd.DataFrame
    rows: int
    unseen: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the sample is the table."""
        return len(self.sample) == self.rows


@dataclass(frozen=True)
class _Gathered:
    """A column of some rows; those of parts add up to that of the whole."""

    facts: ColumnFacts
    low: float
    high: float
    problem: Text

    def __add__(self, other: _Gathered) -> _Gathered:
        return _Gathered(
            self.facts + other.facts,
            float(np.minimum(self.low, other.low)),  # NaN stays
            float(np.maximum(self.high, other.high)),
            self.problem or other.problem,
        )


def glance(batches: Batches) -> Glance:
    """Look at a table once.

    Parameters
    ----------
    batches : Batches
        Distinct values, bounds and what cannot be read are those of all rows; the rest is seen in a sample.

    Raises
    ------
    DataError
        No row, or column names that are not different.
    """
    if batches.rows == 0:  # handed over; a source without rows is not opened
        raise DataError(without_rows())
    step = max(1, math.ceil(batches.rows / _SAMPLE))
    draw = np.random.default_rng(_SEED)
    gathered: dict[str, _Gathered] = {}
    parts: list[pd.DataFrame] = []
    notes = ReadingNotes()
    for batch in batches:
        frame = with_text_names(batch)
        notes = ReadingNotes.of(frame.attrs)
        for name in frame.columns:
            seen = _gathered(frame[name])
            gathered[name] = gathered[name] + seen if name in gathered else seen
        first = np.arange(0, len(frame), step)  # a table in which something recurs shows all of it
        parts.append(frame.iloc[np.minimum(first + draw.integers(0, step, len(first)), len(frame) - 1)])
    sample = stacked(parts).reset_index(drop=True)
    sample.attrs = notes.beside({})
    columns = {name: _seen(sample[name], one, notes.questions.get(name, "")) for name, one in gathered.items()}
    return Glance(columns, sample, batches.rows, len(batches.names) - len(columns))


def worth_a_look(names: Sequence[str], also: Collection[str] = (), at_most: int = MOST_FEATURES) -> list[str] | None:
    """Which columns are looked at, by the names of all; None for all of them.

    Parameters
    ----------
    names : sequence of str
        Of many, twice as many as can be features, since some of them will not do; those whose names say what they are;
        and the last one, which often is the outcome.
    also : collection of str
        These, too.
    at_most : int
        So many features, as ``features.at_most`` has it.

    Examples
    --------
    >>> found = worth_a_look(["nr", *map(str, range(600)), "sex", "more", "y"], also=["more", "not there"])
    >>> len(found), found[-4:]
    (503, ['498', 'sex', 'more', 'y'])
    """
    first = 2 * max(at_most, MOST_FEATURES)
    if len(names) <= first:
        return None
    seen = {*names[:first], names[-1], *also}
    return [name for name in names if name in seen or any(speaks_of(name, topic) for topic in _PARTS)]


def _gathered(column: pd.Series) -> _Gathered:
    facts = facts_of(column)
    low, high = math.inf, -math.inf
    problem = ""
    try:
        kind = kind_of(column, None)
        settle_type(column, kind)
        dtype = column.dtype
        if (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)) and facts.missing < len(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
    except (DataError, TypeError, ValueError, OverflowError) as error:
        problem = error.sentence if isinstance(error, DataError) else f'Column "{column.name}" cannot be read.'
        low = high = math.nan
    return _Gathered(facts, low, high, problem)


def _seen(column: pd.Series, gathered: _Gathered, question: str) -> SeenColumn:
    facts, name = gathered.facts, str(column.name)
    problem = gathered.problem or question
    look = "unreadable" if problem and not facts.is_constant else _look(column, gathered, name)
    return SeenColumn(name, look, facts, gathered.low, gathered.high, problem)


def _look(column: pd.Series, gathered: _Gathered, name: str) -> Look:
    facts = gathered.facts
    levels, rows = facts.distinct, facts.rows
    numeric = holds_numbers(column)
    if facts.is_constant or (numeric and gathered.low == gathered.high and not facts.missing):
        return "constant"
    if facts.is_date or holds_dates(column) or (not numeric and _are_dates(column, facts)):
        return "date"
    if levels is not None and levels <= 2:
        return "two-valued"
    if not numeric:
        if levels is None or looks_like_identifier(levels, rows):
            return "free text" if _are_sentences(column) else "identifier"
        return "categorical"
    if _are_whole(column):
        if _number_the_rows(column, gathered, name):
            return "identifier"
        if speaks_of(name, "code"):
            return "identifier" if levels is None or looks_like_identifier(levels, rows) else "code"
        few = levels is not None and levels <= FEW
        if few and (speaks_of(name, "category") or speaks_of(name, "protected") or _are_codes(column)):
            return "code"
    return "numeric"


def _are_dates(column: pd.Series, facts: ColumnFacts) -> bool:
    """Whether texts are dates: all of some, or most of all, which an audit leaves out."""
    texts = column.dropna().head(_TEXTS)
    if not len(texts) or not all(isinstance(one, str) for one in texts):
        return False
    return all(map(looks_like_date, texts)) or facts.distinct_dates >= _MOSTLY * (facts.distinct or math.inf)


def _are_sentences(column: pd.Series) -> bool:
    texts = column.dropna().head(_TEXTS).astype(str)
    return len(texts) > 0 and float(np.mean([len(one.split()) for one in texts])) >= _SENTENCE


def _are_whole(column: pd.Series) -> bool:
    known = column.dropna().to_numpy(dtype=np.float64)
    return bool((known == np.floor(known)).all())


def _are_codes(column: pd.Series) -> bool:
    """Whether few whole numbers are those of a list of codes, such as 111, 112, 120 and 131.

    All have as many digits, three or more; some between them are missing; and they are no round amounts, nor years.
    """
    known = np.unique(column.dropna().to_numpy(dtype=np.float64)).astype(np.int64)
    low, high = int(known[0]), int(known[-1])
    if low < 100 or len(str(low)) != len(str(high)) or _YEARS[0] <= low <= high <= _YEARS[1]:
        return False
    steps = np.diff(known)
    return len(known) <= high - low and int(np.gcd.reduce(steps)) == 1


def _number_the_rows(column: pd.Series, gathered: _Gathered, name: str) -> bool:
    """Whether whole numbers name people: they count the rows, or are hardly ever the same and are called so."""
    facts = gathered.facts
    if speaks_of(name, "age") or facts.missing > facts.rows / 2:
        return False
    all_differ = facts.distinct is None or facts.distinct >= facts.rows - facts.missing
    all_differ = all_differ and column.dropna().is_unique
    span = gathered.high - gathered.low + 1
    counts = all_differ and facts.rows >= _ENOUGH_TO_COUNT and span < 10 * facts.rows and not facts.missing
    many = facts.distinct is None or facts.distinct > max(FEW, facts.rows / 2)
    return counts or (many and speaks_of(name, "identifier"))


def _is_real(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
