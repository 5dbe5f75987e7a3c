"""Profiles of findings: each feature of their people beside everybody else's, as it is; nothing is tested."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bdt_core.significance.features import MIN_LEVEL_ROWS
from bdt_core.table.audit_table import AuditTable
from bdt_core.table.summaries import Groupwise, audited, group_column, mean_and_sd, ways

FEATURES_KEPT = 30
"""Of each finding; with more of them nobody would find a way in the table."""


@dataclass(frozen=True)
class FeatureOfFinding:
    """A feature of a finding's people beside everybody else's: means of a number, or shares of a level of a category.

    The level is that whose share differs most, among those of at least 10 rows; of fewer known numbers on either side
    there is no mean.
    """

    column: str
    level: str | None
    inside: float
    outside: float


def profiles_of(rows: AuditTable) -> Callable[[NDArray[np.bool_]], tuple[FeatureOfFinding, ...]]:
    """Profiles of groups of some rows, by who is inside: the features and protected columns that differ most.

    Differences are compared in standard deviations over all rows, that of a level as a number that is 0 or 1.
    """
    columns = [one for one in rows.columns if one.role in ("feature", "protected")]
    how = ways(rows, [one.name for one in columns if one.kind == "numeric"])

    def profile(inside: NDArray[np.bool_]) -> tuple[FeatureOfFinding, ...]:
        sides = (~inside).astype(np.int64)
        differing = []
        for column in columns:
            summary = group_column(audited(rows, column.name), sides, 2, how.get(column.name))
            feature = _mean(column.name, summary) if summary.levels is None else _share(column.name, summary.levels)
            if feature is not None:
                differing.append(feature)
        differing.sort(key=lambda pair: -pair[0])  # columns as far apart as another stay in the table's order
        return tuple(feature for _, feature in differing[:FEATURES_KEPT])

    return profile


def _mean(column: str, summary: Groupwise) -> tuple[float, FeatureOfFinding] | None:
    """How far apart two means are, and what they are."""
    inside, outside = summary.numbers
    if min(inside.rows, outside.rows) < MIN_LEVEL_ROWS:
        return None
    _, spread = mean_and_sd(summary.group([0, 1]))
    feature = FeatureOfFinding(column, None, inside.mean, outside.mean)
    if not math.isfinite(inside.mean + outside.mean + spread):
        return None
    return abs(inside.mean - outside.mean) / spread if spread else 0.0, feature


def _share(column: str, levels: dict[str, NDArray[np.int64]]) -> tuple[float, FeatureOfFinding] | None:
    """How far apart the shares of a level are, and what they are, of that whose shares differ most."""
    rows = np.sum(list(levels.values()), axis=0)
    known = sorted(level for level, counts in levels.items() if counts.sum() >= MIN_LEVEL_ROWS)
    if not known or not rows.all():
        return None
    shares = {level: levels[level] / rows for level in known}
    level = max(known, key=lambda one: abs(shares[one][0] - shares[one][1]))
    inside, outside = map(float, shares[level])
    in_all = float(levels[level].sum() / rows.sum())
    spread = math.sqrt(in_all * (1.0 - in_all))
    return abs(inside - outside) / spread if spread else 0.0, FeatureOfFinding(column, level, inside, outside)
