"""Group fairness from counts: count once, then every metric, interval and test comes from the counts."""

from bdt_core.fairness.coding import Threshold
from bdt_core.fairness.composite_score import bias_score
from bdt_core.fairness.counting import count_rows
from bdt_core.fairness.counts import CountTable, merge
from bdt_core.fairness.flips import FlipTest, flip_test
from bdt_core.fairness.from_counts import metrics_from_counts
from bdt_core.fairness.from_rows import bias_metrics
from bdt_core.fairness.local_law_144 import ImpactTable
from bdt_core.fairness.metric_results import (
    BiasMetrics,
    ControlledMetrics,
    DeclaredTest,
    Estimate,
    Metric,
    declared_tests,
)
from bdt_core.fairness.score_calculator import bias_score_from_rates
from bdt_core.fairness.score_parts import BiasScore
from bdt_core.fairness.uniform_guidelines import FourFifths, four_fifths
from bdt_core.on_demand import loader

__all__ = [
    "BiasMetrics",
    "BiasScore",
    "ControlledMetrics",
    "CountTable",
    "DeclaredTest",
    "Estimate",
    "FlipTest",
    "FourFifths",
    "ImpactTable",
    "Metric",
    "Threshold",
    "bias_metrics",
    "bias_score",
    "bias_score_from_rates",
    "count_rows",
    "declared_tests",
    "flip_test",
    "four_fifths",
    "merge",
    "metrics_from_counts",
]

__getattr__ = loader(__name__, {})  # what the top of the package lends: Clarify was here until it had its own room
