"""Small groups, estimated with help of the others: which are shown, and how they are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core import words

if TYPE_CHECKING:
    from bdt_core.fairness.pooled_groups import PooledGroup, PooledGroups
    from bdt_core.report.document import Document


def small_groups(found: PooledGroups) -> list[tuple[tuple[str, ...], PooledGroup]]:
    """Groups of which nothing else is said, each with its columns; those that fare worst come first."""
    small = [(grouping.columns, one) for grouping in found.groupings for one in grouping.small]
    sign = 1.0 if found.better == "lower" else -1.0
    return sorted(small, key=lambda pair: -sign * pair[1].estimate)


def who(document: Document, columns: tuple[str, ...], group: PooledGroup) -> str:
    """A group in words; of a column that was cut in two the side stands behind its name."""
    cut = document.spec["groups"]["thresholds"]
    return words.all_of(
        [
            f"{column} {value}" if column in cut else words.value_condition(column, value)
            for column, value in zip(columns, group.values, strict=True)
        ]
    )


def told(x: float, found: PooledGroups) -> str:
    """An estimate or a limit; rates are whole percentages."""
    return f"{round(100 * x)} %" if found.is_rate else words.number(x)
