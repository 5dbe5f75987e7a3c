"""Follow the declared groups over batches: differences, evidence, trend, drift and the gate's limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bdt_core.history.batch import Batch, batches_in_words, doubtful, in_order
from bdt_core.history.change import Drift, drifts_of, trend_of
from bdt_core.history.counted import Counted, Pair, count_batches, metrics_of
from bdt_core.history.limits import has_ratio_limit, judge_limits, tolerated
from bdt_core.history.look_back import batches_back
from bdt_core.history.results import GroupingHistory, History, SeenBatch, Stream
from bdt_core.inference.sequential import SequentialComparison, compare_rates_over_time, discoveries
from bdt_core.metrics import RATES
from bdt_core.said import AsItIs, Numeral, say
from bdt_core.spec import AuditSpec


def follow(batches: Iterable[Batch], spec: AuditSpec) -> History:
    """Say what all batches show together.

    Parameters
    ----------
    batches : iterable of Batch
        In any order. Of several with one name the last one given counts, so that a corrected batch replaces the
        earlier one. Batches must hold different rows: a row that is in two of them is counted twice.
    spec : AuditSpec
        Its groupings are followed, under its `history` and `significance` settings and the limits of its gate.

    Returns
    -------
    History
        The same for the same batches, in whichever order they come.

    Notes
    -----
    Per grouping, rate and group against the reference there is one stream. Groups are compared within each batch, so
    that nothing is made of rates that move together while one group grows. A stream's e-value and confidence sequence
    hold at all batches at once (`bdt_core.inference.sequential`); e-BH over all streams after each batch keeps the
    false discovery rate at `significance.alpha` whenever one looks, and so the chance of any alarm at any time when
    no group differs. That needs rates that do not depend on which batches come late or are corrected.

    Examples
    --------
    >>> import datetime
    >>> import pandas as pd
    >>> from bdt_core.fairness.declared_groups import count_groups
    >>> from bdt_core.history import batch_of
    >>> spec = AuditSpec(
    ...     name="hiring", source={"path": "{partition}.csv"}, protected=["sex"],
    ...     bias_variable={"derive": "positive_prediction", "prediction": "advice"},
    ... )
    >>> frame = pd.DataFrame({"sex": list("fm") * 200, "advice": [0, 1, 1, 1] * 100})
    >>> days = [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (1, 2, 3)]
    >>> history = follow([batch_of(count_groups(frame, spec), id=str(day.date()), time=day) for day in days], spec)
    >>> history.streams[0].difference, history.streams[0].discovered
    (0.5, True)
    >>> history.to_frame()[["group", "reference", "since"]].values.tolist()
    [['m', 'f', '2026-01-01']]
    """
    every = in_order(batches)
    ordered = [one for one in every if one.is_settled(spec.history.labels_after)]
    waiting = tuple(one.id for one in every if not one.is_settled(spec.history.labels_after))
    look_back = batches_back([one.time for one in ordered], spec.history.look_back)
    counted, notes = count_batches(ordered, spec)
    followed = [_followed(one, spec) for one in counted]
    openings = [opening for one in followed for opening in one]
    comparisons = [
        compare_rates_over_time(*one.pair.effective(), alpha=spec.significance.alpha, effect=spec.history.effect)
        for one in openings
    ]
    discovered, alarms = _discoveries_over_time(comparisons, spec.significance.alpha)
    drifts = drifts_of(
        [one.pair for one in openings],
        [one.rows_now for one in openings],
        limit=spec.history.drift,
        look_back=look_back,
        min_rows=spec.history.min_rows,
        alpha=spec.significance.alpha,
    )
    streams = [
        _stream(*parts, spec, look_back)
        for parts in zip(openings, comparisons, discovered, alarms, drifts, strict=True)
    ]
    limits, unfollowed = judge_limits(counted, spec, [one.id for one in ordered], look_back)
    groupings, start = [], 0
    for grouping, its in zip(counted, followed, strict=True):
        groupings.append(_grouping(grouping, streams[start : start + len(its)], spec))
        start += len(its)
    return History(
        spec,
        tuple(SeenBatch(one.id, one.time, one.content) for one in ordered),
        tuple(groupings),
        limits,
        look_back,
        waiting,
        (*_waiting(waiting, spec), *doubtful(ordered, spec.significance.min_rows), *notes, *unfollowed),
    )


def _waiting(batches: Sequence[str], spec: AuditSpec) -> list[str]:
    if not batches:
        return []
    message = (
        "Left out: {N} batch that was counted before history.labels_after ({labels_after}) had passed; audit them "
        "again when it has: {list}."
        if len(batches) == 1
        else "Left out: {N} batches that were counted before history.labels_after ({labels_after}) had passed; audit "
        "them again when it has: {list}."
    )
    return [
        say(
            message,
            N=Numeral(str(len(batches))),
            labels_after=AsItIs(str(spec.history.labels_after)),
            list=batches_in_words(batches),
        )
    ]


@dataclass(frozen=True)
class _Opening:
    """A stream before it is judged."""

    counted: Counted
    metric: str
    group: int
    pair: Pair

    @property
    def rows_now(self) -> tuple[float, float]:
        """Rows of both sides in the latest batch."""
        rows, at = self.counted.rows[-1], self.counted.reference
        mine = float(rows[self.group])
        return mine, float(rows.sum()) - mine if at is None else float(rows[at])


def _followed(counted: Counted, spec: AuditSpec) -> list[_Opening]:
    """Every rate of every group that is large enough, against the reference."""
    enough = counted.sizes >= spec.significance.min_rows
    at = counted.reference
    if at is not None and not enough[at]:
        return []
    groups = [i for i in range(len(counted.groups)) if enough[i] and i != at]
    if at is None and len(counted.groups) < 2:
        return []
    return [
        _Opening(counted, metric, group, counted.pair(RATES[metric], group, at))
        for metric in metrics_of(spec)
        for group in groups
    ]


def _discoveries_over_time(
    comparisons: Sequence[SequentialComparison], alpha: float
) -> tuple[list[bool], list[int | None]]:  # fmt: skip
    """What e-BH finds on all batches together, and after which batch it first found it."""
    first: list[int | None] = [None] * len(comparisons)
    now = [False] * len(comparisons)
    if not comparisons:
        return now, first
    for look, e_values in enumerate(np.stack([one.e_value for one in comparisons], axis=1)):
        now = list(discoveries(e_values.tolist(), alpha))
        first = [look if at is None and seen else at for at, seen in zip(first, now, strict=True)]
    return now, first


def _stream(
    opening: _Opening,
    comparison: SequentialComparison,
    discovered: bool,
    alarm: int | None,
    drift: Drift,
    spec: AuditSpec,
    look_back: int,
) -> Stream:
    counted, pair = opening.counted, opening.pair
    tolerated_low, tolerated_high = tolerated(opening.metric, counted, spec)
    return Stream(
        facets=counted.facets,
        metric=opening.metric,
        group=counted.names[opening.group],
        reference=counted.reference_name,
        events=_whole(pair.events),
        rows=_whole(pair.rows),
        reference_events=_whole(pair.reference_events),
        reference_rows=_whole(pair.reference_rows),
        effects=pair.effects,
        difference=_known(comparison.difference[-1]),
        low=_known(comparison.low[-1]),
        high=_known(comparison.high[-1]),
        e_value=float(comparison.e_value[-1]),
        p_value=float(comparison.p_value[-1]),
        discovered=discovered,
        alarm=alarm,
        trend=trend_of(pair, look_back, spec.significance.alpha),
        drift=drift,
        tolerated_low=tolerated_low,
        tolerated_high=tolerated_high,
        ratio_limited=has_ratio_limit(opening.metric, counted, spec),
    )


def _grouping(counted: Counted, streams: Sequence[Stream], spec: AuditSpec) -> GroupingHistory:
    return GroupingHistory(
        facets=counted.facets,
        reference=counted.reference_name,
        groups=counted.names,
        rows=tuple(_whole(column) for column in counted.rows.T),
        too_small=tuple(
            name for name, size in zip(counted.names, counted.sizes, strict=True) if size < spec.significance.min_rows
        ),
        streams=tuple(streams),
    )


def _whole(counts: np.ndarray) -> tuple[int, ...]:
    return tuple(counts.astype(np.int64).tolist())


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
