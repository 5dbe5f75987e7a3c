"""Profiling characteristics: what is said of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bdt_core.fairness.characteristics import Burden, CharacteristicLevel, Characteristics

SHOWN = 30


def burdened(level: CharacteristicLevel) -> Sequence[Burden]:
    """Groups whose people have a characteristic significantly more often than others, the most so first."""
    return [one for one in level.burdens if one.relation.significant and one.relation.difference > 0]


def without_use(characteristics: Characteristics) -> list[str]:
    """Characteristics that burden some group and are not shown to find what they should."""
    strongest = [(one.column, one.strongest) for one in characteristics.characteristics]
    return [
        column
        for column, level in strongest
        if burdened(level) and level.found is not None and not (level.found.significant and level.found.difference > 0)
    ]
