"""The history of batches: counts per batch, and what they show together, however often one looks."""

from bdt_core.history.batch import Batch, batch_of
from bdt_core.history.change import Drift, Trend
from bdt_core.history.findings import (
    HistoryFinding,
    difference_finding,
    drift_finding,
    volume_finding,
)
from bdt_core.history.history import follow
from bdt_core.history.limits import LimitOverTime
from bdt_core.history.results import GroupingHistory, History, SeenBatch, SmallGroup, Stream

__all__ = [
    "Batch",
    "Drift",
    "GroupingHistory",
    "History",
    "HistoryFinding",
    "LimitOverTime",
    "SeenBatch",
    "SmallGroup",
    "Stream",
    "Trend",
    "batch_of",
    "difference_finding",
    "drift_finding",
    "follow",
    "volume_finding",
]
