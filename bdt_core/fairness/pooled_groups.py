"""The audit's stage for small groups: every intersection of declared columns, estimated with help of the others.

What is estimated is the bias variable. All rows are used, train and test alike: nothing here was searched for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bdt_core import words
from bdt_core.fairness.coding import Threshold, Value, level_order
from bdt_core.fairness.group_summaries import Counted, PersonsByGroup, persons_by_group, summaries_by_group
from bdt_core.fairness.metric_results import group_name
from bdt_core.inference.persons import PlacedSums
from bdt_core.inference.pooled import pool_means, pool_rates
from bdt_core.inference.summaries import Scale, Summary
from bdt_core.result import Result
from bdt_core.said import Numeral, Text, say
from bdt_core.spec import AuditSpec
from bdt_core.spec.audit_spec import Better
from bdt_core.table.audit_table import BIAS_VARIABLE
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import How, mean_and_sd, summarise_bias_variable, ways

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

MOST_GROUPS = 2_000


@dataclass(frozen=True)
class PooledGroup:
    """A group, estimated with help of the others.

    Attributes
    ----------
    group : str
    values : tuple
        One per column.
    size : int or None
        Rows, or persons with ``split.key``; None where they are fewer than may be looked at.
    estimate, low, high : float
        The mean of the bias variable and its limits, in steps coarse enough that no single person shows.
    has_own_rows : bool
        Whether the group's own rows were looked at; if not, this is what all others predict for it, and holds as far
        as it is like them.
    has_few_rows : bool
        Whether it is smaller than ``significance.min_rows``, so that nothing else is said of it.
    """

    group: str
    values: tuple[Value, ...]
    size: int | None
    estimate: float
    low: float
    high: float
    has_own_rows: bool
    has_few_rows: bool


@dataclass(frozen=True)
class PooledGrouping:
    """All groups that have rows, of one column or of several together.

    Attributes
    ----------
    columns : tuple of str
    groups : tuple of PooledGroup
        In the order of their values; empty where there is a reason.
    reason : str or None
        Why they are not estimated.
    """

    columns: tuple[str, ...]
    groups: tuple[PooledGroup, ...]
    reason: Text | None = None

    @property
    def small(self) -> tuple[PooledGroup, ...]:
        """The groups that are too small for anything else to be said of them."""
        return tuple(one for one in self.groups if one.has_few_rows)


@dataclass(frozen=True)
class PooledGroups(Result):
    """Intersections of the declared columns, each estimated with help of the others; no limit looks at them.

    Attributes
    ----------
    better : {"lower", "higher"}
    is_rate : bool
        Whether estimates are rates.
    confidence : float
    mean : float
        Of all rows.
    pooled_from : int
        Of a smaller group nothing of its own is looked at, and no size is told.
    min_rows : int
    key : str or None
        What tells persons apart, where they may have several rows.
    groupings : tuple of PooledGrouping
    """

    better: Better
    is_rate: bool
    confidence: float
    mean: float
    pooled_from: int
    min_rows: int
    key: str | None
    groupings: tuple[PooledGrouping, ...]

    def grouping(self, *columns: str) -> PooledGrouping:
        """The grouping by some columns, in any order.

        Raises
        ------
        KeyError
            There is none.
        """
        for grouping in self.groupings:
            if set(grouping.columns) == set(columns):
                return grouping
        raise KeyError(columns)


def pool_groups(table: Rows, spec: AuditSpec) -> PooledGroups:
    """Estimate the bias variable of every intersection of declared columns, each with help of the others.

    Parameters
    ----------
    table : Rows
        All rows, train and test.
    spec : AuditSpec
        ``groups.pooled_from``, ``groups.thresholds``, ``protected``, ``groups.facets``, ``significance`` and
        ``split.key``.

    Returns
    -------
    PooledGroups
        Numeric columns make groups where they are cut in two or named in ``groups.facets``.

    References
    ----------
    `bdt_core.inference.pooled` has the model.
    """
    fewest = spec.groups.pooled_from
    assert fewest is not None
    asked = _usable(table, spec)
    how, everybody = ways(table, [BIAS_VARIABLE])[BIAS_VARIABLE], summarise_bias_variable(table)
    cuts = {name: Threshold(value) for name, value in spec.groups.thresholds.items()}
    counted = [one.groups for one in summaries_by_group(table, asked, cuts, how)]
    sizes = _sizes(table, asked, cuts, how, counted)
    two = _two_values(how)
    pool = partial(_pooled, fewest=fewest, spec=spec, two=two, step=_step(everybody, is_rate=two == (0.0, 1.0)))
    return PooledGroups(
        better=spec.bias_variable.better,
        is_rate=two == (0.0, 1.0),
        confidence=1.0 - spec.significance.alpha,
        mean=everybody.mean,
        pooled_from=fewest,
        min_rows=spec.significance.min_rows,
        key=spec.split.key,
        groupings=tuple(map(pool, asked, counted, sizes)),
    )


def _usable(table: Rows, spec: AuditSpec) -> list[tuple[str, ...]]:
    """Groupings whose columns make groups: a number does where it is cut in two, or was named among the facets."""
    named = {name for facets in spec.facets if facets not in [(one,) for one in spec.protected] for name in facets}
    makes_groups = {
        one.name
        for one in table.columns
        if one.role in ("feature", "protected")
        and (one.kind == "categorical" or one.name in spec.groups.thresholds or one.name in named)
    }
    return [one for one in spec.pooled_groupings if makes_groups.issuperset(one)]


@dataclass(frozen=True)
class _Sizes:
    """How many are in each group, and as how many rows of different people its rows count."""

    number: Numbers
    effective: Floats


def _sizes(
    table: Rows,
    groupings: Sequence[tuple[str, ...]],
    cuts: Mapping[str, Threshold],
    how: How,
    counted: Sequence[Counted],
) -> list[_Sizes]:
    """Rows of each group; where persons may have several, persons, and rows as far as they are not alike."""
    rows = [np.array([one.rows for one in groups.values()], dtype=np.int64) for groups in counted]
    persons = persons_by_group(table, groupings, cuts, how, [list(groups) for groups in counted])
    if persons is None:
        return [_Sizes(one, one.astype(np.float64)) for one in rows]
    return [
        _sizes_of_persons(one, list(groups.values()), persons)
        for one, groups in zip(persons.cells, counted, strict=True)
    ]


def _sizes_of_persons(cells: PlacedSums, summaries: Sequence[Summary], persons: PersonsByGroup) -> _Sizes:
    """Persons of each group, and its rows divided by their design effect.

    How alike a person's rows are is learnt from all groups together, as one says little about it.
    """
    group, (of_rows, of_steps) = cells.places // persons.size, cells.sums
    size = len(summaries)
    number = np.bincount(group, minlength=size)
    rows = np.bincount(group, of_rows, size)
    squares = np.bincount(group, np.square(of_rows), size)
    mean = np.bincount(group, of_steps, size) / np.maximum(rows, 1.0)
    off = of_steps - mean[group] * of_rows
    between = np.bincount(group, np.square(off), size) * number / np.maximum(number - 1, 1)
    variance = np.array([one.mean_and_variance()[1] * (one.unit / persons.steps.length) ** 2 for one in summaries])
    of_several = number > 1
    pairs = float((variance * (squares - rows))[of_several].sum())
    alike = float((between - variance * rows)[of_several].sum()) / pairs if pairs > 0.0 else 1.0
    effect = 1.0 + min(max(alike, 0.0), 1.0) * (squares / np.maximum(rows, 1.0) - 1.0)
    return _Sizes(number, rows / effect)


def _two_values(how: How) -> tuple[float, float] | None:
    """The two values that there are; 0 and 1 where there is one of them."""
    if isinstance(how, Scale) or how.size > 2:
        return None
    if np.isin(how, (0.0, 1.0)).all():
        return 0.0, 1.0
    return (float(how[0]), float(how[1])) if how.size == 2 else None


def _step(everybody: Summary, *, is_rate: bool) -> float:
    """Whole points of a rate; of other numbers the power of ten that is next below a tenth of a standard deviation."""
    sd = mean_and_sd(everybody)[1]
    return 0.01 if is_rate or sd <= 0.0 else 10.0 ** math.floor(math.log10(0.1 * sd))


def _pooled(
    columns: tuple[str, ...],
    counted: Counted,
    sizes: _Sizes,
    *,
    fewest: int,
    spec: AuditSpec,
    two: tuple[float, float] | None,
    step: float,
) -> PooledGrouping:
    """Every group of a grouping."""
    settings, groups = spec.significance, list(counted)
    own = sizes.number >= min(fewest, settings.min_rows)
    if len(groups) > MOST_GROUPS:
        return PooledGrouping(columns, (), say("there are more than {N} groups", N=words.count(MOST_GROUPS)))
    if not own.any():
        least = Numeral(min(fewest, settings.min_rows))
        return PooledGrouping(columns, (), say("no group has {N} people or more", N=least))
    levels = [
        np.unique([str(level_order(one)) for one in of], return_inverse=True)[1] for of in zip(*groups, strict=True)
    ]
    mean = np.array([one.mean for one in counted.values()])
    if two is not None:
        low, length = two[0], two[1] - two[0]
        share = np.clip((mean - low) / length, 0.0, 1.0)
        pooled = pool_rates(share * sizes.effective, sizes.effective, levels, own, confidence=1.0 - settings.alpha)
        estimate, bottom, top = (low + length * one for one in (pooled.estimate, pooled.low, pooled.high))
    else:
        variance = np.array([one.mean_and_variance()[1] * one.unit**2 for one in counted.values()])
        pooled = pool_means(mean, variance, sizes.effective, levels, own, confidence=1.0 - settings.alpha)
        estimate, bottom, top = pooled.estimate, pooled.low, pooled.high
    listed = tuple(
        PooledGroup(
            group=group_name(group),
            values=tuple(one for one in group if one is not None),
            size=int(number) if looked_at else None,
            estimate=_in_steps(round(value / step), step),
            low=_in_steps(math.floor(below / step + 1e-9), step),
            high=_in_steps(math.ceil(above / step - 1e-9), step),
            has_own_rows=bool(looked_at),
            has_few_rows=bool(number < settings.min_rows),
        )
        for group, number, looked_at, value, below, above in zip(
            groups, sizes.number, own, estimate, bottom, top, strict=True
        )
    )
    return PooledGrouping(columns, listed)


def _in_steps(steps: int, step: float) -> float:
    """So many steps, without digits that come from the step's not being a power of two."""
    return float(f"{steps * step:.12g}")
