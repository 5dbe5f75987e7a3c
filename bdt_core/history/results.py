"""Results of a history of batches, as frozen data."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bdt_core.errors import DataError, did_you_mean
from bdt_core.fairness.comparisons import FEWEST_IN_DENOMINATOR
from bdt_core.history.change import Drift, Trend
from bdt_core.history.counted import Pair
from bdt_core.history.limits import LimitOverTime
from bdt_core.inference.sequential import SequentialComparison, compare_rates_over_time
from bdt_core.result import Plotted, Result, Shown
from bdt_core.said import Column, Text, joined
from bdt_core.spec import AuditSpec

_COLUMNS = (
    "facet", "group", "reference", "metric", "difference", "low", "high", "p_value", "discovered", "since", "drift"
)  # fmt: skip


@dataclass(frozen=True)
class SeenBatch(Result):
    """A batch of the history, without its counts."""

    id: str
    time: datetime.datetime
    content: str


@dataclass(frozen=True)
class Stream(Result):
    """One rate of one group beside its reference, batch after batch.

    Differences are the group's rate less the reference's.

    Attributes
    ----------
    facets : tuple of str
    metric, group, reference : str
    events, rows, reference_events, reference_rows : tuple of int
        Per batch: rows that count, and rows among which they are counted.
    effects : (float, float)
        Design effects of the group and of its reference, where persons have several rows (`split.key`); else 1.
    difference, low, high : float or None
        Within the batches, averaged over all of them, with its confidence sequence. None: no batch has both sides.
    e_value, p_value : float
        Evidence against "no difference" now, and the always-valid p-value.
    discovered : bool
        Whether e-BH over all streams finds a difference, on all batches together.
    alarm : int or None
        Position of the first batch after which e-BH found it.
    trend : Trend or None
    drift : Drift
    tolerated_low, tolerated_high : float or None
        The gate's limits on this difference, the tightest ones.
    ratio_limited : bool
        Whether the gate has a limit on the ratio of the two rates.
    """

    facets: tuple[str, ...]
    metric: str
    group: Text
    reference: Text
    events: tuple[int, ...]
    rows: tuple[int, ...]
    reference_events: tuple[int, ...]
    reference_rows: tuple[int, ...]
    effects: tuple[float, float]
    difference: float | None
    low: float | None
    high: float | None
    e_value: float
    p_value: float
    discovered: bool
    alarm: int | None
    trend: Trend | None
    drift: Drift
    tolerated_low: float | None
    tolerated_high: float | None
    ratio_limited: bool

    @property
    def facet(self) -> str:
        """Name of the grouping."""
        return joined([Column(one) for one in self.facets], " & ")

    @property
    def limited(self) -> bool:
        """Whether the gate has a limit on this difference, or on the ratio."""
        return self.ratio_limited or self.tolerated_low is not None or self.tolerated_high is not None

    @property
    def pair(self) -> Pair:
        """The counts as arrays."""
        counts = (self.events, self.rows, self.reference_events, self.reference_rows)
        events, rows, of_events, of_rows = (np.array(one, dtype=np.float64) for one in counts)
        return Pair(events, rows, of_events, of_rows, self.effects)

    def over_time(self, alpha: float, effect: float) -> SequentialComparison:
        """Difference so far, confidence sequence and e-value after every batch."""
        return compare_rates_over_time(*self.pair.effective(), alpha=alpha, effect=effect)


@dataclass(frozen=True)
class GroupingHistory(Result):
    """One declared grouping over all batches.

    Attributes
    ----------
    facets : tuple of str
    reference : str
        What its groups are compared with.
    groups : tuple of str
    rows : tuple of tuple of int
        Rows per batch, of each group.
    too_small : tuple of str
        Groups with too few rows in all batches together to be followed.
    streams : tuple of Stream
    """

    facets: tuple[str, ...]
    reference: Text
    groups: tuple[Text, ...]
    rows: tuple[tuple[int, ...], ...]
    too_small: tuple[Text, ...]
    streams: tuple[Stream, ...]

    @property
    def facet(self) -> str:
        """Name of the grouping."""
        return joined([Column(one) for one in self.facets], " & ")


@dataclass(frozen=True)
class SmallGroup(Result):
    """A group with fewer rows in a batch than are to be watched."""

    facets: tuple[str, ...]
    group: Text
    rows: int

    @property
    def facet(self) -> str:
        """Name of the grouping."""
        return joined([Column(one) for one in self.facets], " & ")


@dataclass(frozen=True, repr=False)
class History(Result, Shown, Plotted):
    """What all batches show together.

    Attributes
    ----------
    spec : AuditSpec
        Its `history` and `significance` sections hold the settings.
    batches : tuple of SeenBatch
        In the order of time.
    groupings : tuple of GroupingHistory
    limits : tuple of LimitOverTime
        Limits of the gate on differences and ratios of rates, held against everything counted so far.
    look_back : int
        Batches that drift and trends look back on.
    waiting : tuple of str
        Batches that say nothing yet, for want of labels (`history.labels_after`).
    notes : tuple of str
        What was not used or not followed, and why.

    Examples
    --------
    >>> import datetime
    >>> from bdt_core.fairness.declared_groups import count_groups
    >>> from bdt_core.history import batch_of, follow
    >>> spec = AuditSpec(
    ...     name="hiring", source={"path": "{partition}.csv"}, protected=["sex"],
    ...     bias_variable={"derive": "positive_prediction", "prediction": "advice"},
    ... )
    >>> frame = pd.DataFrame({"sex": list("fm") * 200, "advice": [0, 1, 1, 1] * 100})
    >>> days = [datetime.datetime(2026, 1, day, tzinfo=datetime.UTC) for day in (1, 2)]
    >>> history = follow([batch_of(count_groups(frame, spec), id=str(day.date()), time=day) for day in days], spec)
    >>> history.to_frame()[["group", "reference", "difference", "discovered"]].values.tolist()
    [['m', 'f', 0.5, True]]
    >>> history.values(history.streams[0])  # day by day
    [0.5, 0.5]
    >>> history.over_time(history.streams[0]).difference.tolist()  # of all so far
    [0.5, 0.5]
    >>> history.small_groups()
    ()
    """

    spec: AuditSpec
    batches: tuple[SeenBatch, ...]
    groupings: tuple[GroupingHistory, ...]
    limits: tuple[LimitOverTime, ...]
    look_back: int
    waiting: tuple[str, ...]
    notes: tuple[Text, ...]

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of all groupings."""
        return tuple(stream for one in self.groupings for stream in one.streams)

    def to_frame(self) -> pd.DataFrame:
        """One row per stream.

        Returns
        -------
        DataFrame
            facet, group, reference, metric, difference, low, high (a confidence sequence: valid however often one
            looks), p_value (always valid), discovered, since (the first batch after which it was), drift.
        """
        rows = [
            {
                "facet": " & ".join(one.facets),
                **{name: getattr(one, name) for name in ("group", "reference", "metric", "difference", "low", "high")},
                "p_value": one.p_value,
                "discovered": one.discovered,
                "since": None if one.alarm is None else self.batches[one.alarm].id,
                "drift": one.drift.state,
            }
            for one in self.streams
        ]
        return pd.DataFrame(rows, columns=list(_COLUMNS))

    def _glance(self) -> tuple[str, pd.DataFrame]:
        certain = [one for one in self.streams if one.discovered]
        sentence = (
            f"History of {len(self.batches)} batches: {len(certain)} of {len(self.streams)} differences are certain"
        )
        columns = ["group", "reference", "metric", "difference", "low", "high", "discovered", "since"]
        return sentence, self.to_frame()[columns].sort_values("discovered", ascending=False, kind="stable")

    def over_time(self, stream: Stream) -> SequentialComparison:
        """Difference so far, confidence sequence and e-value of a stream after every batch.

        Parameters
        ----------
        stream : Stream
            One of `streams`.

        Returns
        -------
        SequentialComparison
        """
        return stream.over_time(self.spec.significance.alpha, self.spec.history.effect)

    def values(self, stream: Stream) -> list[float | None]:
        """Difference of a stream in each batch alone.

        Parameters
        ----------
        stream : Stream
            One of `streams`.

        Returns
        -------
        list of float or None
            None where a side has too few rows to print its rate.
        """
        grouping = next(one for one in self.groupings if one.facets == stream.facets)
        rows = dict(zip(grouping.groups, np.array(grouping.rows), strict=True))
        mine = rows[stream.group]
        others = rows.get(stream.reference, np.array(grouping.rows).sum(axis=0) - mine)
        enough = np.minimum(mine, others) >= self.spec.significance.min_rows
        pair = stream.pair
        enough &= np.minimum(pair.rows, pair.reference_rows) >= FEWEST_IN_DENOMINATOR
        with np.errstate(divide="ignore", invalid="ignore"):
            differences = pair.events / pair.rows - pair.reference_events / pair.reference_rows
        return [
            value if printed else None for value, printed in zip(differences.tolist(), enough.tolist(), strict=True)
        ]

    def small_groups(self, batch: str | None = None) -> tuple[SmallGroup, ...]:
        """Groups with fewer rows in a batch than `history.min_rows`.

        Parameters
        ----------
        batch : str, optional
            Name of the batch; by default the latest.

        Returns
        -------
        tuple of SmallGroup

        Raises
        ------
        DataError
            The history has no such batch.
        """
        if not self.batches or batch in self.waiting:
            return ()
        ids = [one.id for one in self.batches]
        if batch is not None and batch not in ids:
            raise DataError(f'The history has no batch "{batch}". {did_you_mean(batch, ids)}')
        at = -1 if batch is None else ids.index(batch)
        return tuple(
            SmallGroup(one.facets, group, rows[at])
            for one in self.groupings
            for group, rows in zip(one.groups, one.rows, strict=True)
            if rows[at] < self.spec.history.min_rows
        )
