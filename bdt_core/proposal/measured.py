"""Candidates to measure per person: outcomes, decisions, errors and scores, the likeliest first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bdt_core.derivations import Derivation
from bdt_core.proposal.looks import FEW, Glance, SeenColumn
from bdt_core.said import Column, Text, say
from bdt_core.spec import BiasVariable
from bdt_core.spec.direction import implied_better
from bdt_core.vocabulary import UNKNOWN, Topic, is_called, plain, speaks_of

_LEAST_ROWS = 20
"""Rows with a known value, below which nothing can be found and tested."""
_RARE_SHARE, _RARE_ROWS, _ROWS_ENOUGH = 0.005, 5, 50
"""Of the rarer of two values; below the share and the rows hardly anything can be said of any group."""
_MOSTLY_MISSING = 0.5

_POSITIVE_BY: tuple[Topic, ...] = ("better", "worse", "yes")
Level = bool | int | float | str


@dataclass(frozen=True)
class Measured:
    """A bias variable that the table could have.

    Attributes
    ----------
    settings : BiasVariable
        As the specification has it.
    why : str
        What makes it likely.
    is_guess : bool
        Whether nothing but its place in the table speaks for it.
    """

    settings: BiasVariable
    why: Text
    is_guess: bool = False

    @property
    def is_better_sure(self) -> bool:
        """Whether a person or words say which way is better for people."""
        return self.settings.better_by != "guessed"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is made of."""
        names = (self.settings.column, self.settings.label, self.settings.prediction)
        return tuple(one for one in names if one is not None)


def could_be_measured(glance: Glance, protected: Sequence[str]) -> list[Measured]:
    """Everything that could be measured, the likeliest first; empty where nothing can.

    Parameters
    ----------
    glance : Glance
    protected : sequence of str
        Columns that are measured only where there are no others.
    """
    everything = list(glance.columns.values())
    outcomes = [one for one in everything if one.name not in protected]
    candidates = [*_pairs(outcomes, glance), *_named(outcomes, glance)]
    if any(not one.is_guess for one in candidates):
        return candidates
    return [*(_guessed(outcomes, glance) or _guessed(everything, glance)), *candidates]


def chosen(settings: BiasVariable) -> Measured:
    """What a person wants to be measured.

    Parameters
    ----------
    settings : BiasVariable
        Which way is better follows from its words, unless it says that.
    """
    return Measured(settings, "You chose it")


def outcome_of(settings: BiasVariable) -> dict[str, Any]:
    """What is measured, whichever way is better."""
    return settings.model_dump(mode="json", exclude={"better", "better_by"}, exclude_none=True)


def is_named_like_an_outcome(seen: SeenColumn) -> bool:
    """Whether a column that is not measured says what happened, was decided or was predicted, and is no trait."""
    if speaks_of(seen.name, "error"):
        return False  # which may be a trait, such as the number of mistakes
    if speaks_of(seen.name, "amount") and seen.look != "two-valued":
        return False
    topics: tuple[Topic, ...] = ("outcome", "prediction", "score")
    return is_called(seen.name, "outcome alone") or any(speaks_of(seen.name, one) for one in topics)


def positive_level(seen: SeenColumn) -> Level | None:
    """The value that counts as positive: the good one of two, else yes, else the last; None where 1 is it."""
    every = [as_value(one) for one in seen.levels]
    levels = [one for one in every if plain(str(one)) not in UNKNOWN] or every
    if set(levels) <= {0, 1}:
        return None
    for topic in _POSITIVE_BY:
        said = [one for one in levels if isinstance(one, str) and speaks_of(one, topic)]
        if len(said) == 1:
            return said[0]
    return levels[-1]


def _pairs(columns: list[SeenColumn], glance: Glance) -> Iterator[Measured]:
    """Errors of a prediction, and the decision alone where what happened and what was decided look different ways."""
    two = [one for one in columns if one.look == "two-valued" and _usable(one, glance)]
    numbers = [one for one in columns if one.look == "numeric" and one.is_number and _usable(one, glance)]
    both: tuple[tuple[list[SeenColumn], Derivation], ...] = ((two, "error"), (numbers, "absolute_error"))
    for candidates, derive in both:
        for prediction in [one for one in candidates if speaks_of(one.name, "prediction")][:1]:
            label = _label(prediction, candidates)
            if label is None or (derive == "error" and not _look_alike(label, prediction)):
                continue
            positive = _positives(label, prediction) if derive == "error" else []
            settings = _settings(derive, label.name, prediction.name, positive)
            if _differs(settings, glance.sample):
                why = say(
                    '"{prediction}" is named like a prediction, "{label}" like what happened',
                    prediction=Column(prediction.name),
                    label=Column(label.name),
                )
                yield Measured(settings, why)


def _label(prediction: SeenColumn, candidates: Sequence[SeenColumn]) -> SeenColumn | None:
    """The outcome that a prediction is about: what it is named after, else the last that is named like an outcome."""
    others = [one for one in candidates if one is not prediction and not speaks_of(one.name, "prediction")]
    words = set(plain(prediction.name).split("_"))
    namesakes = [one for one in others if plain(one.name) and set(plain(one.name).split("_")) <= words]
    named = [one for one in others if speaks_of(one.name, "outcome") or is_called(one.name, "outcome alone")]
    return next(reversed(namesakes or named), None)


def _look_alike(label: SeenColumn, prediction: SeenColumn) -> bool:
    """Whether what happened and what was predicted are positive in one sense: repaid and granted, and not default."""
    ways = {implied_better(None, one.name, positive_level(one)) for one in (label, prediction)} - {None}
    if len(ways) > 1:
        return False
    positives = _positives(label, prediction)
    for column in (label, prediction):
        if positives and sum(level in positives for level in map(as_value, column.levels)) != 1:
            return False
    return True


def _positives(*columns: SeenColumn) -> list[Level]:
    levels = [positive_level(one) for one in columns]
    if all(one is None for one in levels):
        return []
    return list(dict.fromkeys(1 if one is None else one for one in levels))


def _named(columns: list[SeenColumn], glance: Glance) -> Iterator[Measured]:
    """What is named like something to be measured, the likeliest first."""
    ranked: list[tuple[tuple[float, ...], SeenColumn, str]] = []
    for place, column in enumerate(columns):
        named = _why(column)
        if named is not None and _can_be_measured(column):
            form = 0 if _is_nought_and_one(column) else 1 if column.look == "two-valued" else 2
            doubtful = not _usable(column, glance)
            ranked.append(((doubtful, _has_several_texts(column), named[0], form, -place), column, named[1]))
    for order, column, why in sorted(ranked, key=lambda entry: entry[0]):
        yield _alone(column, why, is_guess=bool(order[0]))


def _why(seen: SeenColumn) -> tuple[int, str] | None:
    """How likely a name makes it that a column is to be measured, and why; None where it says nothing."""
    two, name = seen.look == "two-valued", Column(seen.name)
    if speaks_of(seen.name, "error"):
        return 0, say('"{column}" is named like an error', column=name)
    if is_called(seen.name, "outcome alone"):
        return 1, say('"{column}" is named like an outcome', column=name)
    if speaks_of(seen.name, "amount") and not two:
        return None
    if two and speaks_of(seen.name, "prediction"):
        return 2, say('"{column}" is named like a decision', column=name)
    if speaks_of(seen.name, "outcome"):
        return 3, say('"{column}" is named like an outcome', column=name)
    if speaks_of(seen.name, "score") or speaks_of(seen.name, "prediction"):
        return 4, say('"{column}" is named like a score', column=name)
    return None


def _guessed(columns: list[SeenColumn], glance: Glance) -> list[Measured]:
    """What nothing speaks for: the last column of two values or of numbers; else a code, or texts of few values."""
    tests: tuple[Callable[[SeenColumn], bool], ...] = (
        lambda one: one.look in ("two-valued", "numeric") and _usable(one, glance) and not speaks_of(one.name, "age"),
        lambda one: one.look in ("two-valued", "numeric"),
        lambda one: one.look in ("two-valued", "numeric", "code", "categorical"),
    )
    fitting = [one for one in reversed(columns) if _can_be_measured(one)]
    for test in tests:
        for column in filter(test, fitting):
            why = say('"{column}" is the last column that could be an outcome', column=Column(column.name))
            return [_alone(column, why, is_guess=True)]
    return []


def _alone(seen: SeenColumn, why: str, *, is_guess: bool) -> Measured:
    """A column that is measured by itself: as it stands, or the share of people who have its positive value."""
    positive = positive_level(seen) if seen.look == "two-valued" or _has_several_texts(seen) else None
    is_decision = positive is not None or speaks_of(seen.name, "prediction") or not seen.is_number
    decided = seen.look == "two-valued" and is_decision
    if decided or _has_several_texts(seen):
        settings = _settings("positive_prediction", None, seen.name, [] if positive is None else [positive])
    else:
        settings = BiasVariable(column=seen.name)
    return Measured(settings, why, is_guess)


def _settings(derive: Derivation, label: str | None, prediction: str, positive: list[Level]) -> BiasVariable:
    values = positive[0] if positive and label is None else positive or None
    given = {"derive": derive, "label": label, "prediction": prediction, "positive": values}
    return BiasVariable.model_validate({key: value for key, value in given.items() if value is not None})


def _differs(settings: BiasVariable, sample: pd.DataFrame) -> bool:
    """Whether a prediction errs for some people and not for others, where both are known."""
    frame = sample[[settings.label, settings.prediction]].dropna()
    if len(frame) < _LEAST_ROWS:
        return False
    label, prediction = frame[settings.label], frame[settings.prediction]
    if settings.derive == "error":
        positive = 1 if settings.positive is None else settings.positive
        positives = positive if isinstance(positive, list) else [positive]
        wrong = label.isin(positives).to_numpy(bool) != prediction.isin(positives).to_numpy(bool)
        return bool(min(wrong.sum(), (~wrong).sum()) >= 1)
    error = np.abs(prediction.to_numpy(np.float64) - label.to_numpy(np.float64))
    return bool(error.min() < error.max())


def _can_be_measured(seen: SeenColumn) -> bool:
    if not _is_known_enough(seen):
        return False
    if seen.look == "two-valued":
        values = seen.facts.values or ()
        plain_levels = all(isinstance(as_value(one), bool | int | float | str) for one in values)
        numbers = [float(one) for one in values if isinstance(one, int | float)]
        return len(values) == 2 and plain_levels and all(map(math.isfinite, numbers)) and _can_be_told_apart(seen)
    return (
        (seen.look == "numeric" and seen.is_number)
        or _has_several_texts(seen)
        or (seen.look == "code" and seen.is_number)
    )


def _can_be_told_apart(seen: SeenColumn) -> bool:
    """Two values of which one can be written into a specification and found again."""
    kinds = {type(as_value(one)) for one in seen.facts.values or ()}
    return kinds <= {bool} or kinds <= {int, float} or kinds <= {str}


def _has_several_texts(seen: SeenColumn) -> bool:
    values = seen.facts.values
    return (
        seen.look == "categorical"
        and values is not None
        and len(values) <= FEW
        and all(isinstance(one, str) for one in values)
    )


def _is_nought_and_one(seen: SeenColumn) -> bool:
    values = list(seen.facts.values or ())
    return seen.look == "two-valued" and set(values) == {0, 1} and not any(isinstance(one, bool) for one in values)


def _is_known_enough(seen: SeenColumn) -> bool:
    return seen.facts.rows - seen.facts.missing >= _LEAST_ROWS


def _usable(seen: SeenColumn, glance: Glance) -> bool:
    """Whether it is known of most people, and says the same of nearly nobody or nearly everybody."""
    column = glance.sample[seen.name]
    unknown = column.isna()
    if _has_several_texts(seen):
        unknown |= column.map(lambda one: isinstance(one, str) and plain(one) in UNKNOWN)
    known = column[~unknown]
    if len(known) < max(_LEAST_ROWS, (1 - _MOSTLY_MISSING) * len(column)):
        return False
    most = int(known.value_counts().iloc[0])
    return len(known) - most >= max(_RARE_ROWS, min(_ROWS_ENOUGH, _RARE_SHARE * len(known)))


def as_value(level: object) -> Level:
    """A value as a specification has it."""
    plain_level = level.item() if isinstance(level, np.generic) else level
    if isinstance(plain_level, float) and plain_level.is_integer() and abs(plain_level) < 2**53:
        return int(plain_level)
    return plain_level  # type: ignore[return-value]
