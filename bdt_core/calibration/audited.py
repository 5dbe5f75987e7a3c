"""The audit's stage on the score: for whom it is off, searched for on all rows, and how it fits declared groups."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bdt_core.calibration.results import CalibratedFacet, CalibratedGroup, Calibration, CalibrationBin
from bdt_core.calibration.scored_rows import EITHER_WAY, ScoredRows
from bdt_core.fairness.coding import code_column, column, numbers
from bdt_core.fairness.counts import FIXED_POINT, SCORE_BINS, CountTable
from bdt_core.fairness.declared_groups import FacetMetrics, GroupCounts, GroupMetrics, cuts_of, favourable_values
from bdt_core.fairness.favourable import favourable
from bdt_core.groups.conditions import GroupCondition
from bdt_core.groups.scan.audited import audited_settings
from bdt_core.groups.settings import searched_columns
from bdt_core.inference import wilson_interval
from bdt_core.spec import AuditSpec, WorstGroupSearch
from bdt_core.table.audit_table import KEY
from bdt_core.table.rows import Rows
from bdt_core.table.summaries import Drawn, rows_at_hand


def measure_calibration(
    table: Rows, counts: GroupCounts | None, metrics: GroupMetrics | None, spec: AuditSpec
) -> Calibration:
    """Say for whom the score is too low or too high, by any conditions and by declared group.

    Legitimate factors do not enter: a score is to be right for people whatever it is made of, and who is given a higher
    one for a good reason has a positive label more often, too.

    Parameters
    ----------
    table : Rows
        All rows, train and test; of a large table ``large_rows`` are searched.
    counts, metrics : optional
        Of declared groups, where there are any.
    spec : AuditSpec
        ``groups.score``, a label, ``worst_groups`` and ``significance``.
    """
    asked, (label, _), score = spec.worst_groups or WorstGroupSearch(), spec.group_columns(), spec.groups.score
    assert label is not None
    assert score is not None
    at_hand = rows_at_hand(table)
    frame = at_hand.frame
    coded = code_column(frame, label, cuts_of(spec).get(label))
    scores = numbers(column(frame, score), score)
    known = coded.rows_with(lambda level: level is not None) & ~np.isnan(scores)
    happened = favourable(coded.levels, favourable_values(spec)[0])[coded.codes].astype(np.float64)
    columns = tuple(one for one in searched_columns(at_hand, asked.columns) if one not in (label, score))
    key = KEY if spec.split.key else None
    used = [*columns, *([] if key is None else [key])]
    rows = ScoredRows(frame.loc[known, used].reset_index(drop=True), happened[known], scores[known], columns, key)
    settings = audited_settings(spec, EITHER_WAY)
    empty = Calibration(
        score=score, label=label, rows=int(known.sum()), left_out=int((~known).sum()), everybody=None, groups=(),
        ruled_out=(), facets=tuple(_facets(counts, metrics)), alpha=settings.alpha, min_share=settings.min_share,
        min_rows=settings.min_rows, key=spec.split.key,
        drawn=Drawn.where_fewer(len(frame), table.rows) if table.is_large else None,
    )  # fmt: skip
    return rows.searched(empty, settings)


def _facets(counts: GroupCounts | None, metrics: GroupMetrics | None) -> Iterator[CalibratedFacet]:
    """Declared groupings, from the counts that their metrics are of."""
    if counts is None or metrics is None:
        return
    spec = counts.spec
    for table, facet in zip(counts.tables, metrics.facets, strict=True):
        known = table.known()
        bins = _bins(known, favourable(known.labels, favourable_values(spec)[0]), spec)
        places = [known.groups.index(group) for group in facet.groups]
        yield CalibratedFacet(known.facets, tuple(_of_facet(known, facet, spec, [bins[i] for i in places])))


def _of_facet(
    known: CountTable, facet: FacetMetrics, spec: AuditSpec, bins: list[tuple[CalibrationBin, ...]]
) -> Iterator[CalibratedGroup]:
    gaps, scores = facet.metrics["calibration_gap"], facet.metrics["mean_score"]
    rows = known.counts[..., :SCORE_BINS].sum(axis=(1, 2, 3, 4))
    for i, group in enumerate(facet.groups):
        place = gaps.values.index(group)
        gap, mean = gaps.estimate[place], scores.estimate[place]
        few = facet.sizes[i] < spec.significance.min_rows or gap is None or mean is None
        low, high = (
            own[place] if together is None else together[place]
            for own, together in ((gaps.low, gaps.together_low), (gaps.high, gaps.together_high))
        )
        conditions = (
            GroupCondition.of_level(name, value, cuts_of(spec).get(name))
            for name, value in zip(known.facets, group, strict=True)
        )
        n = int(rows[known.groups.index(group)])
        yield CalibratedGroup(
            conditions=tuple(conditions),
            rows=n,
            share=n / max(int(rows.sum()), 1),
            mean_score=None if few else mean,
            share_positive=None if few or gap is None or mean is None else gap + mean,
            gap=None if few else gap,
            low=None if few else low,
            high=None if few else high,
            bins=() if few else bins[i],
        )


def _bins(known: CountTable, good: NDArray[np.bool_], spec: AuditSpec) -> list[tuple[CalibrationBin, ...]]:
    """Ten bins of equal width of each group of a table, as far as they have rows enough."""
    assert known.scores is not None
    rows = known.counts[..., :SCORE_BINS].sum(axis=(1, 3))
    sums = known.scores[..., :SCORE_BINS].sum(axis=(1, 2, 3)) / FIXED_POINT
    n, positives = rows.sum(axis=1), rows[:, good].sum(axis=1)
    settings = spec.significance

    def one(group: int, place: int) -> CalibrationBin:
        in_bin, events = int(n[group, place]), int(positives[group, place])
        low, high = wilson_interval(events, in_bin, 1.0 - settings.alpha)
        return CalibrationBin(in_bin, float(sums[group, place]) / in_bin, events / in_bin, float(low), float(high))

    return [
        tuple(one(group, place) for place in range(SCORE_BINS) if n[group, place] >= settings.min_rows)
        for group in range(len(known.groups))
    ]
