"""The rows that mitigation works on: group, score, label and present decision, with nothing missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.errors import DataError
from bdt_core.fairness.coding import Coded, code_column, column, numbers
from bdt_core.fairness.counting import code_groups
from bdt_core.fairness.favourable import favourable
from bdt_core.fairness.metric_results import group_name
from bdt_core.inference.persons import person_sums, shrink_of_mean
from bdt_core.mitigation.checks import persons_of_rows
from bdt_core.mitigation.curves import gains, group_curves
from bdt_core.mitigation.results import MitigationSettings
from bdt_core.said import Column, Numeral, of_ours, say


@dataclass(frozen=True, eq=False)
class Decisions:
    """Rows without missing values, in the order of their content.

    Attributes
    ----------
    group : ndarray of str, shape (n,)
    score : ndarray of float64
    label : ndarray of bool
    selected : ndarray of bool or None
        Present decisions, where a prediction column says them.
    missing : dict of str to int
        Rows left out, per column.
    person : ndarray of int64 or None
        The number of each row's person, where one may have several rows.
    """

    group: NDArray[Any]
    score: NDArray[np.float64]
    label: NDArray[np.bool_]
    selected: NDArray[np.bool_] | None
    missing: dict[str, int]
    person: NDArray[np.int64] | None = None

    def of(self, groups: list[str]) -> Decisions:
        """The rows of some groups."""
        return self.at(np.isin(self.group, groups))

    def at(self, rows: NDArray[Any]) -> Decisions:
        """Some rows: a mask of them, or their positions in a new order."""
        return replace(
            self,
            group=self.group[rows],
            score=self.score[rows],
            label=self.label[rows],
            selected=None if self.selected is None else self.selected[rows],
            person=None if self.person is None else self.person[rows],
        )

    def sizes(self, rows: NDArray[np.bool_] | None = None) -> Counter[str]:
        """How many each group has, of all rows or some: persons, or rows where these are persons."""
        chosen = self if rows is None else self.at(rows)
        if chosen.person is None:
            return Counter(chosen.group.tolist())
        return Counter(group for group, _ in set(zip(chosen.group.tolist(), chosen.person.tolist(), strict=True)))

    @property
    def unit(self) -> str:
        """What minimum sizes count."""
        return "rows" if self.person is None else "persons"

    def shrink(self, values: NDArray[np.int64], alpha: float) -> float:
        """What rows are divided by to be effective counts of the mean of a value of 0, 1 or -1."""
        if self.person is None or not values.size:
            return 1.0
        sums = person_sums(values.astype(np.float64), self.person, int(self.person.max()) + 1)
        return shrink_of_mean(sums, int(np.abs(values).sum()), alpha)


def read_decisions(frame: pd.DataFrame, settings: MitigationSettings) -> Decisions:
    """Take the columns out of a table.

    Raises
    ------
    DataError
        A column that does not exist, a score that is not numeric or is infinite, or a label or prediction in which
        no value is positive.
    """
    score = numbers(column(frame, settings.score), settings.score)
    infinite = int(np.isinf(score).sum())
    if infinite:
        raise DataError(f'{infinite} of {score.size} scores in column "{settings.score}" are infinite. Fill them.')
    label = code_column(frame, settings.label)
    is_positive = favourable(label.levels, settings.positive)
    if score.size and not is_positive.any():
        positive = " or ".join(map(str, settings.positive))
        raise DataError(f'No row has a positive label: column "{settings.label}" never is {positive}.')
    prediction = None if settings.prediction is None else code_column(frame, settings.prediction)
    groups, codes, _ = code_groups(frame, settings.group)
    known_group = np.array([None not in group for group in groups], dtype=bool)
    known = {
        settings.facet: known_group[codes],
        settings.score: ~np.isnan(score),
        settings.label: _known(label),
    }
    if prediction is not None and settings.prediction is not None:
        known[settings.prediction] = _known(prediction)
    kept = np.logical_and.reduce(list(known.values()))
    names = np.array([group_name(group) for group in groups], dtype=object)[codes][kept].astype(str)
    selected = None
    if prediction is not None:
        of_prediction = settings.positive if settings.positive_prediction is None else settings.positive_prediction
        selected = favourable(prediction.levels, of_prediction)[prediction.codes][kept]
    rows = Decisions(
        names,
        score[kept],
        is_positive[label.codes][kept],
        selected,
        {name: int((~one).sum()) for name, one in known.items() if not one.all()},
        None if settings.person is None else persons_of_rows(frame, settings.person)[kept],
    )
    return _in_order(rows)


def present_thresholds(train: Decisions, settings: MitigationSettings) -> tuple[float | None, str]:
    """The single threshold that is in use, and what the present decision is in words.

    With a prediction column it is the lowest selected score, if nobody at or above it is rejected; otherwise None.
    """
    if settings.prediction is not None:
        selected = train.selected
        assert selected is not None
        threshold = _threshold_of(train.score, selected)
        columns = {"as_is": Column(settings.prediction), "as_is2": Column(settings.score)}
        if threshold is None:
            return None, say('the column "{as_is}" (no single threshold on {as_is2})', **columns)
        message = 'the column "{as_is}" ({as_is2} at or above {N}, for everybody)'
        return threshold, say(message, **columns, N=Numeral(number_text(threshold)))
    if settings.threshold is not None:
        return settings.threshold, _at_or_above(settings.score, settings.threshold)
    everybody = Coded(np.zeros(train.score.size, dtype=np.int64), ("everybody",))
    curves = group_curves(train.score, train.label, everybody)
    best = float(curves[0].thresholds[int(gains(curves, settings.objective)[0].argmax())])
    note = say(
        "{decision} (the single threshold with the best {objective} on the train rows)",
        decision=_at_or_above(settings.score, best),
        objective=of_ours(settings.objective),
    )
    return best, note


def _at_or_above(score: str, threshold: float) -> str:
    return say("{as_is} at or above {N}, for everybody", as_is=Column(score), N=Numeral(number_text(threshold)))


def number_text(x: float) -> str:
    """A threshold as text, to six digits.

    Examples
    --------
    >>> number_text(5.0), number_text(0.42971234)
    ('5', '0.429712')
    """
    return f"{x:.6g}"


def _threshold_of(score: NDArray[np.float64], selected: NDArray[np.bool_]) -> float | None:
    if not selected.any():
        return float("inf")
    lowest = float(score[selected].min())
    return None if (score[~selected] >= lowest).any() else lowest


def _in_order(rows: Decisions) -> Decisions:
    """Sorted by content: lots are then drawn for the same rows whatever their order was."""
    keys = [rows.label, rows.score, rows.group]
    return rows.at(np.lexsort(keys if rows.selected is None else [rows.selected, *keys]))


def _known(coded: Coded) -> NDArray[np.bool_]:
    is_known = np.array([one is not None for one in coded.levels], dtype=np.bool_)
    return np.asarray(is_known[coded.codes])
