"""Small groups, estimated with help of the others: which are shown, and how they are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words
from bdt_core.metrics import harm_sign

if TYPE_CHECKING:
    from bdt_core.fairness.pooled_groups import PooledGroup, PooledGroups
    from bdt_core.report.document import Document


Small = list[tuple[tuple[str, ...], "PooledGroup"]]


def small_groups(document: Document) -> tuple[Small, int]:
    """Groups of which nothing else is said, each with its columns, and how many are not named.

    Those that fare worst come first. A value that only a handful of rows have, and that no table of declared groups
    has, is not printed: it may be a slip of the pen, or tell who somebody is.
    """
    pooled = document.pooled_groups
    assert pooled is not None
    declared = document.groups.facets if document.groups else ()
    printed = {(one.facet, group.group) for one in declared for group in one.groups}
    small = [(grouping.columns, one) for grouping in pooled.groupings for one in grouping.small]
    rare = {
        (*grouping.columns, *one.values)
        for grouping in pooled.groupings
        if len(grouping.columns) == 1
        for one in grouping.groups
        if one.size is None and (*grouping.columns, one.group) not in printed
    }
    named = [(columns, one) for columns, one in small if rare.isdisjoint(zip(columns, one.values, strict=True))]
    sign = harm_sign(pooled.better)
    return sorted(named, key=lambda pair: -sign * pair[1].estimate), len(small) - len(named)


def who(document: Document, columns: tuple[str, ...], group: PooledGroup) -> str:
    """A group in words; of a column that was cut in two the side stands behind its name."""
    cut = document.spec["groups"]["thresholds"]
    return words.all_of(
        [
            f"{column} {value}" if column in cut else words.value_condition(column, value)
            for column, value in zip(columns, group.values, strict=True)
        ]
    )


def told(x: float, pooled: PooledGroups) -> str:
    """An estimate or a limit; rates are whole percentages."""
    return f"{round(100 * x)} %" if pooled.is_rate else words.number(x)
