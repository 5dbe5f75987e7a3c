"""The rows for the two metrics that counts cannot give: all of them, or what a large table has in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.confusion import Positive
from bdt_core.fairness.counts import CountTable
from bdt_core.fairness.drawn_rows import draw_rows
from bdt_core.fairness.from_blocks import (
    FLIP_ROWS,
    ScoreCounts,
    auc_of_counts,
    count_scores,
    flip_columns,
    flip_tests_on,
)
from bdt_core.fairness.from_rows import measured_from_rows
from bdt_core.fairness.measured import Measured
from bdt_core.spec import AuditSpec
from bdt_core.table.source_blocks import SourceBlocks, in_blocks, in_one_frame
from bdt_core.table.summaries import Drawn


@dataclass(frozen=True)
class MeasuredRows:
    """Where AUC and the flip test come from.

    Attributes
    ----------
    frame : DataFrame
        All rows; of a large table those that were drawn for the flip test.
    blocks : SourceBlocks or None
        All rows of a large table.
    flips_on : Drawn or None
        How many rows were drawn.
    """

    frame: pd.DataFrame
    blocks: SourceBlocks | None = None
    flips_on: Drawn | None = None
    _scores: dict[tuple[str, ...], list[ScoreCounts]] = field(default_factory=dict)

    def measured(
        self,
        table: CountTable,
        *,
        positive: Positive,
        positive_prediction: Positive,
        features: Sequence[str],
        alpha: float,
        thresholds: Mapping[str, Threshold],
    ) -> dict[str, Measured]:
        """AUC and the flip test of one grouping; see `bdt_core.fairness.from_rows.measured_from_rows`."""
        if self.blocks is None:
            return measured_from_rows(
                self.frame,
                table,
                positive=positive,
                positive_prediction=positive_prediction,
                features=features,
                alpha=alpha,
                thresholds=thresholds,
            )
        found: dict[str, Measured] = {}
        known = table.known()
        if table.score is not None and table.label is not None:
            if table.facets not in self._scores:  # they are asked for at several alphas
                counted = count_scores(self.blocks, known, positive=positive, thresholds=thresholds)
                self._scores[table.facets] = counted
            found["auc"] = auc_of_counts(self._scores[table.facets], alpha)
        if self.flips_on is not None:
            found |= flip_tests_on(
                self.frame, known, features, positive=positive_prediction, alpha=alpha, thresholds=thresholds
            )
        return found


def rows_to_measure(
    source: pd.DataFrame | SourceBlocks | None, tables: Sequence[CountTable], spec: AuditSpec
) -> MeasuredRows | None:
    """The rows that were counted, if they are at hand; of more than `large_rows` some are drawn."""
    if source is None or not tables:
        return None
    if max(one.rows for one in tables) <= spec.large_rows:
        return MeasuredRows(in_one_frame(source))
    blocks = in_blocks(source)
    if not spec.groups.similar_by or tables[0].prediction is None:
        return MeasuredRows(pd.DataFrame(), blocks)
    names = [name for table in tables for name in flip_columns(table, spec.groups.similar_by)]
    drawn, rows = draw_rows(blocks, names, min(FLIP_ROWS, spec.large_rows))
    return MeasuredRows(drawn, blocks, Drawn(len(drawn), rows))
