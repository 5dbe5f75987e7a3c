"""The audit's stage for rules of selection: Local Law 144, and the four-fifths rule.

All rows are used, those without a label as well: the rules ask who was selected among all who applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import combinations
from operator import add

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bdt_core.fairness.coding import Threshold, Value, column, numbers
from bdt_core.fairness.counting import count_rows
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.declared_groups import GroupCounts, favourable_values
from bdt_core.fairness.favourable import favourable
from bdt_core.fairness.local_law_144 import CategoryImpact, ImpactTable, impact_table
from bdt_core.fairness.medians import median_of
from bdt_core.fairness.metric_results import group_name
from bdt_core.fairness.uniform_guidelines import FourFifths, GroupImpact, four_fifths
from bdt_core.metrics import Favourable
from bdt_core.result import Result
from bdt_core.spec import AuditSpec
from bdt_core.table.source_blocks import SourceBlocks, in_blocks

SMALL_SHARE = 0.02
"""A category under this share of the applicants may be left out, by either rule."""
Columns = tuple[str, ...]


@dataclass(frozen=True)
class FourFifthsTable:
    """The four-fifths rule for one declared grouping.

    Attributes
    ----------
    columns : tuple of str
    unknown : int
        Applicants without a value in one of the columns; they are in no group.
    too_few : tuple of str
        Groups with fewer rows than are judged.
    rule : FourFifths
        For all other groups.
    """

    columns: Columns
    unknown: int
    too_few: tuple[str, ...]
    rule: FourFifths


@dataclass(frozen=True)
class SelectionRules(Result):
    """What rules of selection ask for.

    Attributes
    ----------
    prediction : str or None
        The column that says who is selected.
    selected : tuple
        Its values that count as selected: those that people want.
    without_prediction : int
        Rows without one; they are in no table of selection rates.
    score : str or None
    without_score : int
        Rows without one; they are in no table of scoring rates.
    favourable : {"positive", "negative"}
        positive: scores above the median count; negative: those below it, since people want a low one.
    confidence : float
        Of the intervals of all groups of a table at once.
    small_share, min_rows : float, int
        Below the first a category is left out of the ratios; of fewer rows than the second the four-fifths rule makes
        no group.
    key : str or None
        What tells persons apart, where they may have several rows: then nothing is tested, for rows are counted.
    ll144 : tuple of ImpactTable
        Of each declared column, each pair of them, and each declared grouping of more; selection rates, then scoring
        rates.
    four_fifths : tuple of FourFifthsTable
        Of each declared grouping.
    rows : int
        Of the source; 0 in a form for publication, and where no prediction says who is selected.
    """

    prediction: str | None
    selected: tuple[Value, ...]
    without_prediction: int
    score: str | None
    without_score: int
    favourable: Favourable
    confidence: float
    small_share: float
    min_rows: int
    key: str | None
    ll144: tuple[ImpactTable, ...]
    four_fifths: tuple[FourFifthsTable, ...]
    rows: int = 0


def apply_selection_rules(counts: GroupCounts, source: pd.DataFrame | SourceBlocks, spec: AuditSpec) -> SelectionRules:
    """Make the tables that the specification asks for.

    Parameters
    ----------
    counts : GroupCounts
        They say which columns make groups.
    source : DataFrame or SourceBlocks
        The source as it was read, or blocks of it.
    spec : AuditSpec
        Its `selection_rules` are applied.
    """
    blocks, rules, alpha = in_blocks(source), spec.selection_rules, spec.significance.alpha
    declared = [one.facets for one in counts.tables]
    groupings = _with_pairs(declared) if "ll144" in rules else declared
    prediction, score = spec.group_columns()[1], spec.groups.score if "ll144" in rules else None
    decided = {} if prediction is None else _counted(blocks, groupings, spec)
    median = None if score is None else median_of(blocks, score)
    scored = {} if median is None else _counted(blocks, groupings, spec, median)
    ratios = [
        *(impact_table(one, _selected(one, spec), exclude_below=SMALL_SHARE, alpha=alpha) for one in decided.values()),
        *(
            impact_table(one, _is_good(one, median, spec), exclude_below=SMALL_SHARE, median=median, alpha=alpha)
            for one in scored.values()
            if median is not None
        ),
    ]
    rule = [_four_fifths(decided[one], spec) for one in declared] if "four_fifths" in rules else []
    table = next(iter(decided.values()), None)
    return SelectionRules(
        prediction=prediction,
        selected=() if table is None else _levels(table, _selected(table, spec)),
        without_prediction=_without(decided, prediction),
        score=score,
        without_score=_without(scored, score),
        favourable=spec.favourable_outcome or "positive",
        confidence=1.0 - alpha,
        small_share=SMALL_SHARE,
        min_rows=spec.significance.min_rows,
        key=spec.split.key,
        ll144=() if "ll144" not in rules else tuple(map(_untested_ratios, ratios) if spec.split.key else ratios),
        four_fifths=tuple(map(_untested_rule, rule) if spec.split.key else rule),
        rows=0 if table is None else int(table.counts.sum()),
    )


def _with_pairs(declared: Sequence[Columns]) -> list[Columns]:
    """Each declared column, each pair of them, and the declared groupings of more; in the order of the columns."""
    columns = list(dict.fromkeys(name for one in declared for name in one))
    groupings = [*((name,) for name in columns), *combinations(columns, 2), *(one for one in declared if len(one) > 2)]
    written = {frozenset(one): one for one in declared}
    return list(dict.fromkeys(written.get(frozenset(one), one) for one in groupings))


def _counted(
    source: SourceBlocks,
    groupings: Iterable[Columns],
    spec: AuditSpec,
    median: float | None = None,
) -> dict[Columns, CountTable]:
    """Applicants by group, and by the prediction, or by the side of the median that the score is on."""
    listed = list(groupings)
    blocks = source.map_source_blocks(partial(_count, groupings=listed, spec=spec, median=median))
    return {one: reduce(add, tables) for one, *tables in zip(listed, *blocks, strict=True)}


def _count(
    frame: pd.DataFrame, groupings: Sequence[Columns], spec: AuditSpec, median: float | None
) -> list[CountTable]:
    cuts = {name: Threshold(value) for name, value in spec.groups.thresholds.items()}
    outcome, score = spec.group_columns()[1], spec.groups.score
    if median is not None and score is not None:
        values = numbers(column(frame, score), score) * _sign(spec)
        frame, outcome = frame.assign(**{score: np.where(np.isfinite(values), values, np.nan)}), score
        cuts[score] = _good_side(median, spec)
    return [count_rows(frame, one, prediction=outcome, thresholds=cuts) for one in groupings]


def _sign(spec: AuditSpec) -> float:
    """1 where a high score is what people want, -1 where it is a low one."""
    return -1.0 if spec.favourable_outcome == "negative" else 1.0


def _good_side(median: float, spec: AuditSpec) -> Threshold:
    """What scores on the good side of the median exceed, once those of which people want a low one are turned."""
    return Threshold(median * _sign(spec))


def _selected(table: CountTable, spec: AuditSpec) -> NDArray[np.bool_]:
    """Which predictions are those that people want."""
    known = np.array([one is not None for one in table.predictions], dtype=bool)
    positive = favourable(table.predictions, favourable_values(spec)[1])
    return known & (~positive if spec.favourable_outcome == "negative" else positive)


def _is_good(table: CountTable, median: float, spec: AuditSpec) -> NDArray[np.bool_]:
    """Which side of the median is the one that people want."""
    return np.array([one == _good_side(median, spec).above for one in table.predictions], dtype=bool)


def _levels(table: CountTable, mask: NDArray[np.bool_]) -> tuple[Value, ...]:
    return tuple(one for one, is_in in zip(table.predictions, mask, strict=True) if is_in and one is not None)


def _without(tables: dict[Columns, CountTable], name: str | None) -> int:
    """Rows without a prediction or a score; each table counts all rows."""
    table = next(iter(tables.values()), None)
    return 0 if table is None or name is None else table.missing()[name]


def _four_fifths(table: CountTable, spec: AuditSpec) -> FourFifthsTable:
    known = table.known()
    counts = known.counts.sum(axis=(1, 2, 4))
    chosen = _selected(known, spec)
    names = [group_name(one) for one in known.groups]
    rows = dict(zip(names, counts.sum(axis=1).tolist(), strict=True))
    hired = dict(zip(names, counts[:, chosen].sum(axis=1).tolist(), strict=True))
    judged = [name for name in names if rows[name] >= spec.significance.min_rows]
    rule = four_fifths(
        {name: hired[name] for name in judged},
        {name: rows[name] for name in judged},
        alpha=spec.significance.alpha,
        small_share=SMALL_SHARE,
    )
    unknown = [None in group for group in table.groups]
    answered = [one is not None for one in table.predictions]
    return FourFifthsTable(
        columns=table.facets,
        unknown=int(table.counts[unknown][:, :, :, answered].sum()),
        too_few=tuple(name for name in names if 0 < rows[name] < spec.significance.min_rows),
        rule=rule,
    )


def _untested_ratios(table: ImpactTable) -> ImpactTable:
    """Without intervals and tests: several rows of one person do not say as much as those of several persons."""

    def bare(category: CategoryImpact) -> CategoryImpact:
        return replace(category, low=None, high=None, p_value=None)

    return replace(table, categories=tuple(map(bare, table.categories)))


def _untested_rule(table: FourFifthsTable) -> FourFifthsTable:
    def bare(group: GroupImpact) -> GroupImpact:
        return replace(group, low=None, high=None, p_value=None)

    return replace(table, rule=replace(table.rule, groups=tuple(map(bare, table.rule.groups))))
