"""The audit's stages for declared groups: count them, compare them, score them.

All rows are used, train and test alike: nothing here was searched for, so there is nothing to hold back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add, eq
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from bdt_core import words
from bdt_core.errors import DataError, SpecError, did_you_mean
from bdt_core.fairness.coding import Threshold, Value, code_column, values_of
from bdt_core.fairness.composite_score import bias_score
from bdt_core.fairness.counting import MAX_CELLS, TOO_MANY, count_rows
from bdt_core.fairness.counts import CountTable, Group
from bdt_core.fairness.drawn_rows import draw_rows
from bdt_core.fairness.favourable import Positive, refuse_absent
from bdt_core.fairness.from_counts import EVERYBODY_ELSE, LARGEST, metrics_from_counts
from bdt_core.fairness.from_rows import MeasuredRows
from bdt_core.fairness.metric_results import BiasMetrics, DeclaredTest, Metric, declared_tests, group_name
from bdt_core.fairness.persons import KeyedBlocks, PersonCells, PersonMoments, count_persons_of, persons_in
from bdt_core.fairness.score_parts import BiasScore
from bdt_core.inference.persons import Persons
from bdt_core.metrics import CRITERIA
from bdt_core.result import AuditPart, Result
from bdt_core.said import AsItIs, Column, Text, joined, say
from bdt_core.spec import AuditSpec, Significance, parse_spec
from bdt_core.table.audit_table import KEY
from bdt_core.table.facts import holds_numbers
from bdt_core.table.frames import AnyTable, handed_over
from bdt_core.table.source_blocks import SourceBlocks, in_blocks, in_one_frame
from bdt_core.table.summaries import Drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PERSONS_KEPT = 256
_GLANCE_COLUMNS = 8
FLIP_ROWS = 50_000
"""The flip test of a large table is made on so many rows: its time grows with more than their number."""


@dataclass(frozen=True)
class GroupCounts:
    """Counts of every declared grouping; counts of other rows can be added.

    Attributes
    ----------
    spec : AuditSpec
    tables : tuple of CountTable
        One per grouping, in the order of the specification.
    notes : tuple of str
        What was not counted, and why.
    persons : tuple of PersonMoments, optional
        Of the known rows of each table, where persons may have several.
    some_persons : tuple of int
        32 bits of the `PERSONS_KEPT` lowest hashes of persons: whether persons come back in other rows is seen by
        them, and not who they are.
    """

    spec: AuditSpec
    tables: tuple[CountTable, ...]
    notes: tuple[Text, ...]
    persons: tuple[PersonMoments, ...] | None = None
    some_persons: tuple[int, ...] = ()

    @property
    def tables_and_persons(self) -> list[tuple[CountTable, PersonMoments | None]]:
        """Each table with its persons; None where each row is a person."""
        return list(zip(self.tables, self.persons or (None,) * len(self.tables), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        tables = [one.to_dict() for one in self.tables]
        persons: dict[str, Any] = {}
        if self.persons is not None:
            persons = {"persons": [one.to_dict() for one in self.persons], "some_persons": list(self.some_persons)}
        return {"spec": self.spec.to_dict(), "tables": tables, "notes": list(self.notes), **persons}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GroupCounts:
        """Undo `to_dict`."""
        tables = tuple(CountTable.from_dict(one) for one in data["tables"])
        persons = tuple(PersonMoments.from_dict(one) for one in data["persons"]) if "persons" in data else None
        some = tuple(data.get("some_persons", ()))
        return cls(parse_spec(data["spec"]), tables, tuple(data["notes"]), persons, some)


@dataclass(frozen=True)
class FacetMetrics(Result):
    """All metrics of one grouping.

    Attributes
    ----------
    metrics : BiasMetrics
        Each interval for a group alone; the limits "together" hold for all groups at once.
    groups : tuple of tuple
    rows : tuple of int
        Rows per group; groups with fewer than `significance.min_rows` are not judged, and not printed with rates.
    persons : tuple of int or None
        Persons per group where they may have several rows; these are then what must not be fewer.
    """

    metrics: BiasMetrics
    groups: tuple[Group, ...]
    rows: tuple[int, ...]
    persons: tuple[int, ...] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Persons per group, which are the rows unless persons have several."""
        return self.rows if self.persons is None else self.persons

    @property
    def unit(self) -> Literal["rows", "persons"]:
        """What the sizes count."""
        return "rows" if self.persons is None else "persons"


@dataclass(frozen=True, repr=False)
class GroupMetrics(AuditPart):
    """All metrics of all declared groupings.

    Attributes
    ----------
    spec : AuditSpec
    facets : tuple of FacetMetrics
    tests : tuple of DeclaredTest
        Of equal rates in all groups, corrected by Holm over all groupings and criteria.
    notes : tuple of str
    drawn : Drawn or None
        Rows of the flip test, where it was not made on all.

    Examples
    --------
    >>> from bdt_core import audit
    >>> frame = pd.DataFrame({"age": [*range(20, 60)] * 10, "sex": ["f", "f", "m", "m"] * 100})
    >>> frame["repaid"], frame["granted"] = frame.index % 2, (frame["sex"] == "m") * 1
    >>> groups = audit(
    ...     frame, label="repaid", prediction="granted", protected=["sex"], columns=["age"], slices=None,
    ...     worst_groups=None, clustering={"stability": 0},
    ... ).groups
    >>> groups.to_frame()[["group", "rows", "selection_rate"]].values.tolist()
    [['f', 200, 0.0], ['m', 200, 1.0]]
    >>> groups["sex"]["demographic_parity_difference"].only.estimate
    1.0
    >>> groups.members(frame).sum().to_dict()
    {'sex is f': 200, 'sex is m': 200}
    >>> axes = groups.plot(facet="sex")
    """

    spec: AuditSpec
    facets: tuple[FacetMetrics, ...]
    tests: tuple[DeclaredTest, ...]
    notes: tuple[Text, ...]
    drawn: Drawn | None = None

    def __getitem__(self, facet: str | tuple[str, ...]) -> BiasMetrics:
        """All metrics of one grouping, by its column, or its columns."""
        columns = (facet,) if isinstance(facet, str) else tuple(facet)
        for grouping in self.facets:
            if grouping.metrics.facets == columns:
                return grouping.metrics
        known = [one.metrics.facet for one in self.facets]
        raise SpecError(f'No grouping is by "{" & ".join(columns)}". {did_you_mean(" & ".join(columns), known)}')

    def to_frame(self) -> pd.DataFrame:
        """One row per group of each grouping.

        Returns
        -------
        DataFrame
            facet, group, rows, and a column per rate: missing where it is undefined, and of groups smaller than
            `significance.min_rows`, as in the report. `self[facet]` has all metrics, with intervals.
        """
        if not self.facets:
            return pd.DataFrame(columns=["facet", "group", "rows"])
        parts = []
        for grouping in self.facets:
            rates = grouping.metrics.by_group
            rates[np.array(grouping.sizes) < self.spec.significance.min_rows] = np.nan
            names = [group_name(group) for group in grouping.groups]
            parts.append(rates.assign(facet=grouping.metrics.facet, group=names, rows=grouping.rows))
        whole = pd.concat(parts, ignore_index=True)
        first = ["facet", "group", "rows"]
        return whole[[*first, *(name for name in whole.columns if name not in first)]]

    def plot(self, ax: Axes | None = None, *, facet: str | tuple[str, ...] | None = None) -> Axes:
        """Draw one grouping as the report does.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw it; by default in a figure of its own.
        facet : str or tuple of str, optional
            The column of the grouping, or its columns; by default the first.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        SpecError
            There is no such grouping.
        DataError
            There is nothing to be drawn.
        """
        if not self.facets:
            return super().plot(ax)
        return replace(self[facet or self.facets[0].metrics.facets], audit=self.audit).plot(ax)

    def members(self, frame: AnyTable) -> pd.DataFrame:
        """Which rows of a table belong to each group.

        Parameters
        ----------
        frame : DataFrame, Arrow table or dict of columns
            With the columns of the facets.

        Returns
        -------
        DataFrame of bool
            With the index of `frame`, and a column per group of each grouping.

        Raises
        ------
        DataError
            A column is missing.
        """
        cuts = {name: Threshold(one) for name, one in self.spec.groups.thresholds.items()}
        frame = handed_over(frame)
        named = frame.set_axis([str(one) for one in frame.columns], axis="columns")
        coded = {
            name: code_column(named, name, cuts.get(name))
            for name in dict.fromkeys(name for one in self.facets for name in one.metrics.facets)
        }
        members = {}
        for grouping in self.facets:
            for group in grouping.groups:
                inside = np.ones(len(frame), dtype=bool)
                for name, level in zip(grouping.metrics.facets, group, strict=True):
                    inside &= coded[name].rows_with(partial(eq, level))
                who = [
                    words.value_condition(name, level)
                    for name, level in zip(grouping.metrics.facets, group, strict=True)
                ]
                members[words.all_of(who)] = inside
        return pd.DataFrame(members, index=frame.index)

    def _glance(self) -> tuple[str, pd.DataFrame]:
        frame = self.to_frame()
        sentence = (
            f"Declared groups: {len(frame)} by {words.listing([one.metrics.facet for one in self.facets] or ['none'])}"
        )
        return sentence, frame[list(frame.columns[:_GLANCE_COLUMNS])]


@dataclass(frozen=True)
class FacetScore(Result):
    """The composite score of one grouping."""

    facets: tuple[str, ...]
    score: BiasScore


@dataclass(frozen=True)
class GroupScores(Result):
    """The composite score of every grouping."""

    spec: AuditSpec
    scores: tuple[FacetScore, ...]


def count_groups(source: pd.DataFrame | SourceBlocks, spec: AuditSpec) -> GroupCounts:
    """Count every declared grouping x label x prediction.

    Parameters
    ----------
    source : DataFrame or SourceBlocks
        The source as it was read, or blocks of it; the counts are the same.
    spec : AuditSpec
        Its `facets` are counted.

    Returns
    -------
    GroupCounts
        Rows without a facet, label or prediction are counted apart.

    Raises
    ------
    DataError
        A column that does not exist or cannot be counted.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": list("fm") * 50, "hired": [1, 1, 0, 1] * 25, "advice": [0, 1, 0, 1] * 25})
    >>> spec = parse_spec({
    ...     "name": "hiring", "source": {"path": "hiring.csv"}, "protected": ["sex"],
    ...     "bias_variable": {"derive": "error", "label": "hired", "prediction": "advice"},
    ... })
    >>> counts = count_groups(frame, spec)
    >>> compare_groups(counts, spec.significance).facets[0].metrics["DI"]["f"].estimate
    0.0
    """
    blocks = in_blocks(source).map_source_blocks(partial(_count_block, spec=spec))
    tables, notes = [], []
    for facets, of_blocks in zip(spec.facets, zip(*blocks, strict=True), strict=True):
        counted = [one for one in of_blocks if one is not None]
        if len(counted) < len(of_blocks):
            notes.append(note_of_numbers(facets))
            continue
        tables.append(_merged(counted))
    return GroupCounts(spec, tuple(tables), tuple(notes), *_count_persons(in_blocks(source), tables, spec))


def compare_groups(
    counts: GroupCounts, settings: Significance, source: pd.DataFrame | SourceBlocks | None = None
) -> GroupMetrics:
    """Compute every metric of every grouping, each with its interval or the reason why it is undefined.

    Parameters
    ----------
    counts : GroupCounts
    settings : Significance
        Intervals are at 1 - `alpha`; groups with fewer than `min_rows` rows are not judged.
    source : DataFrame or SourceBlocks, optional
        The rows, for the two metrics that counts cannot give: AUC (with a score) and the flip test (with
        `groups.similar_by`). Of more than `large_rows` rows the scores are rounded for AUC (see
        `bdt_core.fairness.area_under_curve.count_scores`), and the flip test is made on rows drawn by a hash of the
        columns that it reads.

    Returns
    -------
    GroupMetrics

    Raises
    ------
    SpecError
        `groups.reference` names no group of any grouping.
    DataError
        No row has the favourable value.
    """
    _check_favourable(counts)
    spec = counts.spec.model_copy(update={"significance": settings})
    check_reference([group for table in counts.tables for group in table.groups], spec)
    rows = _rows_to_measure(source, counts.tables, spec)
    facets = tuple(_facet_metrics(table, persons, spec, rows) for table, persons in counts.tables_and_persons)
    criteria = [metric.name for metric in facets[0].metrics.metrics if _has_test(metric)] if facets else []
    tests = declared_tests([one.metrics for one in facets], criteria, alpha=settings.alpha)
    return GroupMetrics(spec, facets, tests, counts.notes, None if rows is None else rows.drawn)


def score_groups(counts: GroupCounts, settings: Significance) -> GroupScores:
    """Compute the composite score of every grouping; none without a label or a prediction.

    Parameters
    ----------
    counts : GroupCounts
    settings : Significance

    Returns
    -------
    GroupScores
    """
    positive, positive_prediction = favourable_values(counts.spec)
    scores = tuple(
        FacetScore(
            table.facets,
            bias_score(
                table,
                positive=positive,
                positive_prediction=positive_prediction,
                alpha=settings.alpha,
                min_rows=settings.min_rows,
                random_state=counts.spec.split.random_state,
                persons=persons,
            ),
        )
        for table, persons in counts.tables_and_persons
        if table.label is not None and table.prediction is not None
    )
    return GroupScores(counts.spec.model_copy(update={"significance": settings}), scores)


def favourable_values(spec: AuditSpec) -> tuple[Positive, Positive]:
    """Favourable values of the label and of the prediction."""
    declared = spec.groups.positive if spec.groups.positive is not None else spec.bias_variable.positive
    value: Positive = 1 if declared is None else tuple(declared) if isinstance(declared, list) else declared
    label, prediction = spec.group_columns()
    cuts = cuts_of(spec)
    return cuts.get(label or "", value), cuts.get(prediction or "", value)


def _check_favourable(counts: GroupCounts) -> None:
    spec = counts.spec
    of_groups, of_bias = spec.groups.positive is not None, spec.bias_variable.positive is not None
    key = "bias_variable.positive" if of_bias and not of_groups else "groups.positive"
    label, prediction = (
        f"groups.thresholds.{name}" if name in spec.groups.thresholds else key for name in spec.group_columns()
    )
    for table in counts.tables:
        if not (of_groups or of_bias) and _are_zero_or_one(table):
            continue  # the values of such columns are known, whether rows have both or not
        refuse_absent(table, *favourable_values(spec), (label, prediction))


def _are_zero_or_one(table: CountTable) -> bool:
    return {*table.labels, *table.predictions} <= {0, 1, None}


def _rows_to_measure(
    source: pd.DataFrame | SourceBlocks | None, tables: Sequence[CountTable], spec: AuditSpec
) -> MeasuredRows | None:
    """The rows that were counted, if they are at hand.

    Of more than `large_rows` the scores are rounded, and the flip test is made on rows that are drawn.
    """
    if source is None or not tables:
        return None
    blocks, features, persons = in_blocks(source), tuple(spec.groups.similar_by), None
    if spec.split.key is not None:
        blocks = KeyedBlocks(blocks, spec)
        persons = reduce(add, blocks.map_source_blocks(persons_in))
    large = max(one.rows for one in tables) > spec.large_rows
    if not features or tables[0].prediction is None:
        return MeasuredRows(blocks, large, persons=persons)
    if not large:
        return MeasuredRows(blocks, large, in_one_frame(blocks), features, persons=persons)
    named = [(*one.facets, one.label, one.prediction, *features) for one in tables]
    names = [name for several in named for name in several if name is not None]
    names += [] if persons is None else [KEY]
    similar, rows = draw_rows(blocks, names, min(FLIP_ROWS, spec.large_rows))
    return MeasuredRows(blocks, large, similar, features, Drawn(len(similar), rows), persons)


def _facet_metrics(
    table: CountTable, persons: PersonMoments | None, spec: AuditSpec, measured_rows: MeasuredRows | None
) -> FacetMetrics:
    known = table.known()
    rows = tuple(known.counts.sum(axis=(1, 2, 3, 4)).tolist())
    alpha, min_rows = spec.significance.alpha, spec.significance.min_rows
    numbers = None if persons is None else tuple(persons.number().astype(int).tolist())
    judged = max(sum(n >= min_rows for n in numbers or rows), 1)
    alone = _metrics(table, persons, spec, measured_rows, alpha)
    if judged == 1:
        return FacetMetrics(alone, known.groups, rows, numbers)
    # Bonferroni: at alpha / groups each, the limits hold for all groups at once. Ranges and comparisons with a
    # reference have sharper ones of their own.
    strict = _metrics(table, persons, spec, measured_rows, alpha / judged)
    return FacetMetrics(
        replace(
            alone,
            metrics=tuple(
                replace(one, together_low=other.low, together_high=other.high)
                if one.kind in ("rate", "clarify") and len(one.values) > 1
                else one
                for one, other in zip(alone.metrics, strict.metrics, strict=True)
            ),
        ),
        known.groups,
        rows,
        numbers,
    )


def _metrics(
    table: CountTable,
    persons: PersonMoments | None,
    spec: AuditSpec,
    measured_rows: MeasuredRows | None,
    alpha: float,
) -> BiasMetrics:
    positive, positive_prediction = favourable_values(spec)
    from_rows = None
    if measured_rows is not None:
        from_rows = measured_rows.measured(
            table,
            positive=positive,
            positive_prediction=positive_prediction,
            alpha=alpha,
            thresholds=cuts_of(spec),
        )
    return metrics_from_counts(
        table,
        positive=positive,
        positive_prediction=positive_prediction,
        reference=reference_among(table.groups, spec.groups.reference),
        alpha=alpha,
        min_rows=spec.significance.min_rows,
        from_rows=from_rows,
        favourable_outcome=spec.favourable_outcome or "positive",
        persons=persons,
    )


def makes_no_groups(frame: pd.DataFrame, facets: tuple[str, ...], spec: AuditSpec) -> bool:
    """Whether a grouping is a lone number, which makes no groups unless it was named.

    Raises
    ------
    DataError
        A column is missing.
    """
    _check_columns(frame, facets)
    numeric = any(holds_numbers(frame[name]) and name not in spec.groups.thresholds for name in facets)
    return numeric and spec.groups.facets is None and facets in [(one,) for one in spec.protected]


def note_of_numbers(facets: tuple[str, ...]) -> str:
    """That a number makes no groups, and how it could."""
    return joined(
        [
            say('"{as_is}" is numeric and makes no groups by itself.', as_is=Column(facets[0])),
            say(
                "Cut it in two with groups.thresholds: {as_is}, or name it in groups.facets to take each value.",
                as_is=AsItIs(f"{{{facets[0]}: VALUE}}"),
            ),
        ],
        " ",
    )


def _count_block(frame: pd.DataFrame, spec: AuditSpec) -> list[CountTable | None]:
    """Every grouping of a block; None for a lone number, which makes no groups unless it was named."""
    label, prediction = spec.group_columns()
    tables: list[CountTable | None] = []
    for facets in spec.facets:
        if makes_no_groups(frame, facets, spec):
            tables.append(None)
            continue
        tables.append(
            count_rows(
                frame,
                facets,
                label=label,
                prediction=prediction,
                stratum=spec.groups.stratum,
                score=spec.groups.score,
                thresholds=cuts_of(spec),
            )
        )
    return tables


def _count_persons(
    source: SourceBlocks, tables: Sequence[CountTable], spec: AuditSpec
) -> tuple[tuple[PersonMoments, ...] | None, tuple[int, ...]]:
    """What persons have in the groups of each table, and some of their hashes; None where each row is a person."""
    if spec.split.key is None:
        return None, ()
    source = KeyedBlocks(source, spec)
    persons = reduce(add, source.map_source_blocks(persons_in))
    known = [one.known() for one in tables]
    blocks = source.map_source_blocks(partial(_count_persons_in_block, spec=spec, persons=persons, tables=known))
    together = [reduce(add, of_table) for of_table in zip(*blocks, strict=True)]
    moments = tuple(one.moments(len(table.groups)) for one, table in zip(together, known, strict=True))
    return moments, tuple((persons.hashes[:PERSONS_KEPT] >> np.uint64(32)).tolist())


def _count_persons_in_block(
    frame: pd.DataFrame, spec: AuditSpec, persons: Persons, tables: Sequence[CountTable]
) -> list[PersonCells]:
    numbers, positives, cuts = persons.numbers(frame[KEY].to_numpy()), favourable_values(spec), cuts_of(spec)
    return [count_persons_of(frame, numbers, one, positives, cuts) for one in tables]


def _merged(tables: Sequence[CountTable]) -> CountTable:
    """Counts of all blocks; each has not too many cells, and they must not have them together."""
    merged = tables[0]
    for table in tables[1:]:
        merged = merged + table
        if merged.counts.size > MAX_CELLS:
            raise DataError(
                f"There are more than {MAX_CELLS:,} combinations of {', '.join(merged.facets)} and the other columns, "
                f"which are too many to count. {TOO_MANY}"
            )
    return merged


def check_reference(groups: Sequence[Group], spec: AuditSpec) -> None:
    """Raise SpecError where `groups.reference` names none of the groups of any grouping."""
    known = [group_name(group) for group in groups]
    asked = _as_text(spec.groups.reference)
    if known and asked not in (LARGEST, EVERYBODY_ELSE, *known):
        raise SpecError(
            f'groups.reference: no grouping has a group "{asked}". '
            f"{did_you_mean(asked, [*known, LARGEST, EVERYBODY_ELSE])}"
        )


def reference_among(groups: tuple[Group, ...], named: Value | list[Value]) -> Value | tuple[Value, ...]:
    """The reference of a grouping; its largest group where the one that was named belongs to another."""
    if _as_text(named) in (LARGEST, EVERYBODY_ELSE, *map(group_name, groups)):
        return tuple(named) if isinstance(named, list) else named
    return LARGEST


def _as_text(group: Value | list[Value]) -> str:
    return group_name(values_of(group))


def _has_test(metric: Metric) -> bool:
    """Whether it is the range of one rate; the test of several is made of theirs."""
    name = metric.name.removesuffix("_difference")
    return metric.kind == "range" and name in CRITERIA and len(CRITERIA[name].of) == 1


def cuts_of(spec: AuditSpec) -> Mapping[str, Threshold]:
    """Numeric columns that are cut in two."""
    return {name: Threshold(value) for name, value in spec.groups.thresholds.items()}


def _check_columns(frame: pd.DataFrame, facets: tuple[str, ...]) -> None:
    for name in facets:
        if name not in frame.columns:
            raise DataError(f'There is no column "{name}" for groups. {did_you_mean(name, map(str, frame.columns))}')
