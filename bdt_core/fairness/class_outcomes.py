"""Each class of label and prediction against the rest, by declared group: from the counts of the group metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bdt_core.fairness.coding import level_order
from bdt_core.fairness.counts import CountTable, IntArray
from bdt_core.fairness.declared_groups import GroupCounts
from bdt_core.fairness.metric_results import group_name
from bdt_core.inference import adjust_p_values, compare_count_arrays, interval_at_once
from bdt_core.result import Result, Shown
from bdt_core.said import Column, Numeral, Text, say
from bdt_core.spec import Significance

if TYPE_CHECKING:
    import pandas as pd

Value = bool | int | float | str
ClassMeasure = Literal["predicted", "observed", "recall", "precision"]
FEWEST_CLASSES, MOST_CLASSES = 3, 20
"""Of two classes the group metrics say everything; more are no classes, but numbers or names."""


@dataclass(frozen=True)
class ClassFigure:
    """One class in a group, against all other classes; and the group against everybody else.

    Attributes
    ----------
    level : value
        The class.
    measure : {"predicted", "observed", "recall", "precision"}
        The share of people of whom it is predicted, or with whom it is so; of people with whom it is so, for how many
        it is predicted; of people for whom it is predicted, with how many it is so.
    events : int or None
    rows : int
        Of the group; the value is their ratio. Of too few rows no events are told, from which it could be computed.
    events_others : int or None
    rows_others : int
        Of everybody else.
    value, value_others : float or None
        None where that side has too few rows.
    difference, low, high : float or None
        The group's value less that of everybody else, with an interval that holds for all figures of the result at
        once. None, like what follows, where nothing was compared.
    p_adjusted : float or None
        Corrected by Holm over all figures of the result.
    significant : bool or None
    """

    level: Value
    measure: ClassMeasure
    events: int | None
    rows: int
    events_others: int | None
    rows_others: int
    value: float | None = None
    value_others: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_adjusted: float | None = None
    significant: bool | None = None

    @property
    def deficit(self) -> float | None:
        """How much lower the group's recall or precision is at least; None where it is not lower for sure.

        Of the share of a class nobody can say which way is worse.
        """
        if self.measure not in ("recall", "precision") or not self.significant or self.high is None:
            return None
        return -self.high if self.difference is not None and self.difference < 0.0 else None


@dataclass(frozen=True)
class ClassGroup:
    """The classes of one declared group.

    Attributes
    ----------
    group : str
    values : tuple
        One per column of the grouping.
    rows : int
        With a known label and prediction.
    figures : tuple of ClassFigure
        Empty where the group has too few rows.
    confusion : tuple of (tuple of int or None), or None
        Rows by class of the label and of the prediction, in the order of the result's ``labels`` and ``predictions``;
        None for a label that too few of the group's rows have, and where the group has too few rows.
    worst : value or None
        The class that is recognised least well in this group beside everybody else: that of the largest certain deficit
        in recall. None where none is certain.
    """

    group: str
    values: tuple[Value, ...]
    rows: int
    figures: tuple[ClassFigure, ...] = ()
    confusion: tuple[tuple[int, ...] | None, ...] | None = None
    worst: Value | None = None

    @property
    def worst_figure(self) -> ClassFigure | None:
        """The recall of the class that is recognised least well beside everybody else."""
        return max(
            (one for one in self.figures if one.measure == "recall" and one.deficit is not None),
            key=lambda one: one.deficit or 0.0,
            default=None,
        )


@dataclass(frozen=True)
class ClassFacet:
    """The classes by one declared grouping.

    Attributes
    ----------
    columns : tuple of str
    groups : tuple of ClassGroup
    """

    columns: tuple[str, ...]
    groups: tuple[ClassGroup, ...]

    @property
    def facet(self) -> str:
        """Its name."""
        return " & ".join(self.columns)

    @property
    def worst(self) -> ClassGroup | None:
        """The group with the largest certain deficit in recall; None where none is certain."""
        behind = [(figure.deficit, one) for one in self.groups if (figure := one.worst_figure) is not None]
        return max(behind, key=lambda pair: pair[0] or 0.0)[1] if behind else None


@dataclass(frozen=True)
class ClassOutcomes(Result, Shown):
    """Each of three classes and more against the rest, by declared group; empty where there are but two.

    Attributes
    ----------
    label, prediction : str or None
    labels, predictions : tuple
        The classes of each that rows have.
    alpha : float
        Chance of any figure being called significant where no group differs.
    min_rows : int
        What a group, and what is counted of it, has at least.
    key : str or None
        What tells persons apart; where they may have several rows, nothing is tested.
    comparisons : int
        Figures that were compared with everybody else.
    facets : tuple of ClassFacet
    reason : str or None
        Why there is nothing; None also where there are two classes.

    Examples
    --------
    >>> import pandas as pd
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"sex": ["f", "m"] * 150, "grade": ["low", "low", "mid", "mid", "high", "high"] * 50})
    >>> frame["given"] = frame["grade"].mask((frame["sex"] == "f") & (frame["grade"] == "high"), "mid")
    >>> result = audit(
    ...     frame, label="grade", prediction="given", positive="high", protected=["sex"], characteristics=[],
    ...     clustering=None, worst_groups=None, slices=None,
    ... )
    >>> women = result.class_outcomes.facets[0].worst
    >>> women.group, women.worst, women.worst_figure.value, women.worst_figure.value_others
    ('f', 'high', 0.0, 1.0)

    As a table, one row per group, class and measure:

    >>> table = result.class_outcomes.to_frame()
    >>> table[table["measure"] == "recall"][["group", "level", "value"]].values.tolist()[:3]
    [['f', 'high', 0.0], ['f', 'low', 1.0], ['f', 'mid', 1.0]]
    """

    label: str | None
    prediction: str | None
    labels: tuple[Value, ...]
    predictions: tuple[Value, ...]
    alpha: float
    min_rows: int
    key: str | None
    comparisons: int
    facets: tuple[ClassFacet, ...]
    reason: Text | None = None

    __repr__ = Shown.__repr__

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be said: there are two classes at most."""
        return not self.facets and self.reason is None

    def to_frame(self) -> pd.DataFrame:
        """One row per group, class and measure.

        Returns
        -------
        DataFrame
            "facet", "group", and the attributes of `ClassFigure`.
        """
        import pandas as pd  # not needed to load definitions

        names = list(ClassFigure.__dataclass_fields__)
        rows = [
            [facet.facet, group.group, *(getattr(one, name) for name in names)]
            for facet in self.facets
            for group in facet.groups
            for one in group.figures
        ]
        return pd.DataFrame(rows, columns=["facet", "group", *names])

    def _glance(self) -> tuple[str, pd.DataFrame]:
        frame = self.to_frame()
        differ = int(frame["significant"].eq(True).sum())
        sentence = (
            f"ClassOutcomes: {len({*self.labels, *self.predictions})} classes, {len(frame)} figures of groups, "
            f"{differ} of which differ significantly from everybody else"
        )
        shown = ["facet", "group", "level", "measure", "value", "value_others", "difference", "p_adjusted"]
        return sentence, frame[shown]


def compare_classes(counts: GroupCounts, settings: Significance) -> ClassOutcomes:
    """Compare each class of label and prediction between declared groups.

    Parameters
    ----------
    counts : GroupCounts
    settings : Significance
        ``alpha`` and ``min_rows``.

    Returns
    -------
    ClassOutcomes
        Each group against everybody else, rows without a value of the grouping among these, by exact mid-p with
        Newcombe's interval. Recall and precision are those of one class against the rest (as in scikit-learn's
        ``precision_recall_fscore_support``); there are none where label and prediction have no class in common.
    """
    spec = counts.spec
    label, prediction = spec.group_columns()
    empty = ClassOutcomes(
        label, prediction, (), (), settings.alpha, settings.min_rows, spec.split.key, comparisons=0, facets=()
    )  # fmt: skip
    if not counts.tables:
        return empty
    labels, predictions = (_known(levels) for levels in (counts.tables[0].labels, counts.tables[0].predictions))
    if max(len(labels), len(predictions)) < FEWEST_CLASSES:
        return empty
    for column, levels in ((label, labels), (prediction, predictions)):
        if column is not None and len(levels) > MOST_CLASSES:
            reason = say(
                "{name} has more than {N} values, which are not compared one by one",
                name=Column(column),
                N=Numeral(str(MOST_CLASSES)),
            )
            return replace(empty, reason=reason)
    facets = [
        ClassFacet(one.facets, tuple(_groups(one, labels, predictions, settings.min_rows))) for one in counts.tables
    ]
    if spec.split.key is not None:
        return replace(empty, labels=labels, predictions=predictions, facets=tuple(facets))
    return _tested(replace(empty, labels=labels, predictions=predictions, facets=tuple(facets)))


def _known(levels: tuple[Any, ...]) -> tuple[Value, ...]:
    return tuple(one for one in levels if one is not None)


def _groups(
    table: CountTable, labels: tuple[Value, ...], predictions: tuple[Value, ...], min_rows: int
) -> Iterator[ClassGroup]:
    """The groups of a table, with what is counted of each."""
    known_labels, known_predictions = (
        np.array([one is not None or name is None for one in levels], dtype=bool)
        for name, levels in ((table.label, table.labels), (table.prediction, table.predictions))
    )
    confusions = table.counts.sum(axis=(1, 4))[:, known_labels][:, :, known_predictions]
    everybody = confusions.sum(axis=0)
    for group, confusion in zip(table.groups, confusions, strict=True):
        if None in group:
            continue
        rows, values = int(confusion.sum()), _known(group)
        if rows < min_rows:
            yield ClassGroup(group_name(group), values, rows)
            continue
        of_group, of_others = (_counted(one, labels, predictions) for one in (confusion, everybody - confusion))
        figures = tuple(
            _figure(*named, own, others, min_rows)
            for (named, own), others in zip(of_group.items(), of_others.values(), strict=True)
        )
        both = table.label is not None and table.prediction is not None
        yield ClassGroup(
            group_name(group),
            values,
            rows,
            figures,
            tuple(tuple(row.tolist()) if row.sum() >= min_rows else None for row in confusion) if both else None,
        )


def _figure(
    level: Value, measure: ClassMeasure, own: tuple[int, int], others: tuple[int, int], min_rows: int
) -> ClassFigure:
    events, events_others = (events if rows >= min_rows else None for events, rows in (own, others))
    value, value_others = (
        None if count is None else count / rows for count, (_, rows) in ((events, own), (events_others, others))
    )
    return ClassFigure(level, measure, events, own[1], events_others, others[1], value, value_others)


def _counted(
    confusion: IntArray, labels: tuple[Value, ...], predictions: tuple[Value, ...]
) -> dict[tuple[Value, ClassMeasure], tuple[int, int]]:
    """Events and rows of each class and measure."""
    rows = int(confusion.sum())
    have_common = not set(labels).isdisjoint(predictions)
    counted: dict[tuple[Value, ClassMeasure], tuple[int, int]] = {}
    for level in sorted({*labels, *predictions}, key=level_order):
        is_label, is_prediction = (np.array([one == level for one in of]) for of in (labels, predictions))
        observed = int(confusion[is_label].sum()) if labels else 0
        predicted = int(confusion[:, is_prediction].sum()) if predictions else 0
        if predictions:
            counted[level, "predicted"] = predicted, rows
        if labels:
            counted[level, "observed"] = observed, rows
        if have_common:
            right = int(confusion[np.ix_(is_label, is_prediction)].sum())
            counted[level, "recall"] = right, observed
            counted[level, "precision"] = right, predicted
    return counted


def _tested(outcomes: ClassOutcomes) -> ClassOutcomes:
    """With each figure against everybody else, and one correction for all."""
    counted = [
        (one, (one.events, one.rows, one.events_others, one.rows_others))
        for facet in outcomes.facets
        for group in facet.groups
        for one in group.figures
        if one.events is not None and one.events_others is not None
    ]
    figures, counts = [one for one, _ in counted], [list(of) for of in zip(*(of for _, of in counted), strict=True)]
    compared = compare_count_arrays(*counts, alpha=outcomes.alpha, min_rows=outcomes.min_rows) if counts else []
    p_values = adjust_p_values([one.p_value for one in compared], "holm").tolist() if compared else []
    judged = {}
    for figure, comparison, p in zip(figures, compared, p_values, strict=True):
        low, high = interval_at_once(comparison, len(compared)) or (None, None)
        judged[id(figure)] = replace(
            figure, difference=comparison.difference, low=low, high=high, p_adjusted=p, significant=p <= outcomes.alpha
        )

    def with_tests(group: ClassGroup) -> ClassGroup:
        tested = replace(group, figures=tuple(judged.get(id(one), one) for one in group.figures))
        worst = tested.worst_figure
        return tested if worst is None else replace(tested, worst=worst.level)

    facets = tuple(replace(one, groups=tuple(map(with_tests, one.groups))) for one in outcomes.facets)
    return replace(outcomes, comparisons=len(compared), facets=facets)
