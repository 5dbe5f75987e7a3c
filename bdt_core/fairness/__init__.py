"""Group fairness from counts: count once, then every metric, interval and test comes from the counts."""

from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.count_rows import count_rows
from bdt_core.fairness.counts import CountTable, merge

__all__ = ["CountTable", "Threshold", "count_rows", "merge"]
