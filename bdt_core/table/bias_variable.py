"""The bias variable: what is measured per person, as it stands or made from label and prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.derivations import Derived, derived
from bdt_core.errors import DataError
from bdt_core.said import Column, say
from bdt_core.spec import BiasVariable
from bdt_core.spec.wording import named
from bdt_core.table.audit_table import LeftOut
from bdt_core.table.facts import holds_dates
from bdt_core.words import count, values_in_words

Floats = NDArray[np.float64]

_DECIMALS = 12
"""A value less the mean of its list is the same in all lists in which it should be."""
_LARGEST = 1e140
"""Beyond it, sums of squares leave what a float holds; and below its inverse."""


@dataclass(frozen=True)
class Outcome:
    """The bias variable of some rows.

    Attributes
    ----------
    y : float64 ndarray of shape (n,)
        NaN where the row is not audited.
    facts : OutcomeFacts
    """

    y: NDArray[np.float64]
    facts: OutcomeFacts


@dataclass(frozen=True)
class OutcomeFacts:
    """What is to be known of the bias variable; facts of parts of a table add up to those of the whole.

    Attributes
    ----------
    rows, known : int
    low, high : float
        The smallest and the largest known value; not finite without any.
    left_out : tuple of LeftOut
        Why rows are not audited, and how many.
    never_positive : frozenset of (str, str)
        Columns, and their keys in the specification, that never have the positive value.
    """

    rows: int
    known: int
    low: float
    high: float
    left_out: tuple[LeftOut, ...]
    never_positive: frozenset[tuple[str, str]]

    def __add__(self, other: OutcomeFacts) -> OutcomeFacts:
        reasons = dict.fromkeys(one.reason for one in (*self.left_out, *other.left_out))
        return OutcomeFacts(
            self.rows + other.rows,
            self.known + other.known,
            min(self.low, other.low),
            max(self.high, other.high),
            tuple(
                LeftOut(reason, sum(one.rows for one in (*self.left_out, *other.left_out) if one.reason == reason))
                for reason in reasons
            ),
            self.never_positive & other.never_positive,
        )

    def refuse_useless(self, settings: BiasVariable) -> None:
        """Raise DataError where nothing can be audited."""
        for column, key in sorted(self.never_positive):
            positives = _positives(settings)
            quoted = ' YAML takes yes, no, on and off for true and false: write "yes" in quotes.'
            raise DataError(
                f'Column "{column}" ({key}) never has the positive value {", ".join(map(repr, positives))} '
                'of "bias_variable.positive". Correct the value, or list one for each of label and prediction.'
                + quoted
                * any(isinstance(one, bool) for one in positives)
            )
        name = named(settings)
        if self.known == 0:
            raise DataError(
                say(
                    "The bias variable ({name}) is missing in all {N} rows. There is nothing to audit.",
                    name=name,
                    N=count(self.rows),
                )
            )
        largest = max(abs(self.low), abs(self.high))
        if largest > _LARGEST:
            raise DataError(f"The bias variable ({name}) has values beyond {_LARGEST:g}. Divide it by a constant.")
        if 0 < largest < 1 / _LARGEST:
            raise DataError(
                f"The bias variable ({name}) has no value beyond {1 / _LARGEST:g}, too small to be squared. "
                "Multiply it by a constant."
            )
        if self.low == self.high:
            raise DataError(
                say(
                    "The bias variable ({name}) is constant: all {N} rows have the same value, so no group can be "
                    "worse off. Name another column or derivation.",
                    name=name,
                    N=count(self.known),
                )
            )


def bias_variable(frame: pd.DataFrame, settings: BiasVariable) -> Outcome:
    """Compute the bias variable of every row.

    Parameters
    ----------
    frame : DataFrame
        The source, or some rows of it; the named columns exist.
    settings : BiasVariable

    Returns
    -------
    Outcome
        With NaN where the row is not audited: the value is missing, or the row is outside the denominator
        (a positive label for ``false_positive_rate``, a negative one for ``false_negative_rate``).

    Raises
    ------
    DataError
        When a column is not numeric, not two-valued, or infinite.

    Examples
    --------
    >>> frame = pd.DataFrame({"reoffended": [0, 0, 1, 1], "high_risk": [1, 0, 1, 0]})
    >>> settings = BiasVariable(derive="false_positive_rate", label="reoffended", prediction="high_risk")
    >>> bias_variable(frame, settings).y.tolist()
    [1.0, 0.0, nan, nan]
    """
    left_out: list[LeftOut] = []
    never_positive: frozenset[tuple[str, str]] = frozenset()
    made = derived(settings.derive)
    if made is None:
        assert settings.column is not None  # the specification checked it
        y = _numbers(frame, settings.column, "bias_variable.column")
    elif made.of_rank is not None:
        y, left_out = _from_places(frame, settings, made.of_rank)
    elif made.amount is not None:
        assert settings.label is not None
        assert settings.prediction is not None
        error = _numbers(frame, settings.prediction, "bias_variable.prediction") - _numbers(
            frame, settings.label, "bias_variable.label"
        )
        y = made.amount(error, settings.quantile)
    else:
        y, left_out, never_positive = _from_confusion(frame, settings, made)
    is_missing = np.isnan(y)
    known = y[~is_missing] if is_missing.any() else y
    missing = len(y) - len(known) - sum(one.rows for one in left_out)
    if missing:
        left_out.append(LeftOut(say("the bias variable ({name}) is missing", name=named(settings)), missing))
    low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
    return Outcome(y, OutcomeFacts(len(y), len(known), low, high, tuple(left_out), never_positive))


def _from_places(
    frame: pd.DataFrame, settings: BiasVariable, of_rank: Callable[[Floats, int | None], Floats]
) -> tuple[Floats, list[LeftOut]]:
    """What the place of each row in its list is worth; less the mean of its list where a column names lists.

    Equal predictions have the mean of the places that they take together: what is expected if chance orders them.
    """
    assert settings.prediction is not None
    score = _numbers(frame, settings.prediction, "bias_variable.prediction")
    if settings.ranked == "highest_first":
        score = -score
    lists = np.zeros(len(frame), dtype=np.int64)
    if settings.query is not None:
        lists = pd.factorize(frame[settings.query])[0].astype(np.int64)
    standing = ~np.isnan(score)
    nowhere = standing & (lists < 0)
    order = np.lexsort((score, lists))
    order = order[(standing & ~nowhere)[order]]
    lists, score = lists[order], score[order]
    list_starts = _starts(lists)
    sizes = _sizes(list_starts, order.size)
    place = (np.arange(order.size) - np.repeat(list_starts, sizes) + 1).astype(np.float64)
    values = _means(of_rank(place, settings.k), _starts(lists, score))
    left_out: list[LeftOut] = []
    if settings.query is not None:
        alone = np.repeat(sizes == 1, sizes)
        values = np.where(alone, np.nan, np.round(values - _means(values, list_starts), _DECIMALS))
        query = Column(settings.query)
        left_out = [
            LeftOut(say("{query} is missing, so that their list is not known", query=query), int(nowhere.sum())),
            LeftOut(say("nobody else is in their list by {query}", query=query), int(alone.sum())),
        ]
    y = np.full(len(frame), np.nan)
    y[order] = values
    return y, [one for one in left_out if one.rows]


def _starts(*sorted_columns: NDArray[Any]) -> NDArray[np.intp]:
    """Where other values begin than before."""
    other = np.zeros(sorted_columns[0].size, dtype=bool)
    for column in sorted_columns:
        other[1:] |= column[1:] != column[:-1]
    other[:1] = True
    return np.flatnonzero(other)


def _sizes(starts: NDArray[np.intp], rows: int) -> NDArray[np.intp]:
    return np.diff(starts, append=rows)


def _means(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """For each row the mean of the rows that it is among."""
    sizes = _sizes(starts, values.size)
    return np.repeat(np.add.reduceat(values, starts) / sizes, sizes) if values.size else values


_OUTSIDE = {
    "negative": "{label} is positive: outside the {rate}",
    "positive": "{label} is negative: outside the {rate}",
}
"""Why rows are in no denominator of a rate, by the label of those who are."""


def _from_confusion(
    frame: pd.DataFrame, settings: BiasVariable, made: Derived
) -> tuple[NDArray[np.float64], list[LeftOut], frozenset[tuple[str, str]]]:
    assert settings.prediction is not None
    key = "bias_variable.prediction"
    predicted = _is_positive(frame, settings.prediction, settings, key)
    absent = _never_positive(settings.prediction, predicted, settings, key)
    if made.event is None:
        return predicted, [], absent
    assert settings.label is not None
    key = "bias_variable.label"
    observed = _is_positive(frame, settings.label, settings, key)
    absent |= _never_positive(settings.label, observed, settings, key)
    known = ~np.isnan(predicted) & ~np.isnan(observed)
    left_out: list[LeftOut] = []
    outside = np.zeros(len(frame), dtype=bool)
    if made.among is not None:
        outside = known & (observed != (made.among == "positive"))
        reason = say(_OUTSIDE[made.among], label=Column(settings.label), rate=named(settings))
        left_out = [LeftOut(reason, int(outside.sum()))]
    y = np.where(known & ~outside, made.event(predicted, observed).astype(np.float64), np.nan)
    return y, [one for one in left_out if one.rows], absent


def _is_positive(frame: pd.DataFrame, name: str, settings: BiasVariable, key: str) -> NDArray[np.float64]:
    """1 where the value counts as positive, 0 where not, NaN where missing."""
    column = frame[name]
    missing = column.isna().to_numpy()
    if settings.positive is None:
        values = _values(column[~missing], key)
        if not values <= {0, 1}:
            shown = values_in_words(sorted(map(_plain, values), key=repr))
            raise DataError(
                f'Column "{name}" ({key}) has {shown} where two are needed, 0 and 1. Say which value counts as '
                'positive with "bias_variable.positive".'
            )
        positive = column.eq(1).to_numpy(dtype=bool, na_value=False)
    else:
        positive = column.isin(_positives(settings)).to_numpy(dtype=bool)
    return np.where(missing, np.nan, positive.astype(np.float64))


def _values(known: pd.Series, key: str) -> set[object]:
    """The distinct values of a column."""
    try:
        return set(known.unique())
    except TypeError:
        raise DataError(
            f'Column "{known.name}" ({key}) holds lists or other containers, of which none is positive. Name a column '
            "of single values."
        ) from None


def _positives(settings: BiasVariable) -> list[object]:
    """The values that count as positive."""
    positive = settings.positive
    return list(positive) if isinstance(positive, Sequence) and not isinstance(positive, str) else [positive]


def _never_positive(
    name: str, positive: NDArray[np.float64], settings: BiasVariable, key: str
) -> frozenset[tuple[str, str]]:
    nowhere = settings.positive is not None and not (positive == 1.0).any()
    return frozenset({(name, key)}) if nowhere else frozenset()


def _numbers(frame: pd.DataFrame, name: str, key: str) -> NDArray[np.float64]:
    column = frame[name]
    if holds_dates(column):
        raise DataError(f'Column "{name}" ({key}) must be numeric, but holds dates. Name a column of numbers.')
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        converted = pd.to_numeric(column, errors="coerce")
        bad = int((converted.isna() & column.notna()).sum())
        if bad:
            raise DataError(
                f'Column "{name}" ({key}) must be numeric, but {bad:,} of {len(column):,} values are not numbers. '
                'Name a numeric column, or make one with "bias_variable.derive".'
            )
        values = converted.to_numpy(dtype=np.float64)
    infinite = int(np.isinf(values).sum())
    if infinite:
        raise DataError(f'Column "{name}" ({key}) holds {infinite:,} infinite values. Replace or remove them.')
    return values


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
