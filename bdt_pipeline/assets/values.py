"""Types of the assets' values, for annotations.

Dagster evaluates annotations when definitions load; the real types would pull in the whole method then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

    from bdt_core.calibration import Calibration
    from bdt_core.clustering.clusters import Clusters
    from bdt_core.declared import DeclaredOutcomes
    from bdt_core.fairness.characteristics import Characteristics
    from bdt_core.fairness.class_outcomes import ClassOutcomes
    from bdt_core.fairness.declared_groups import GroupCounts, GroupMetrics, GroupScores
    from bdt_core.fairness.pooled_groups import PooledGroups
    from bdt_core.fairness.selection_rules import SelectionRules
    from bdt_core.groups.scan.blanks import Blanks
    from bdt_core.groups.scan.results import WorstGroups
    from bdt_core.groups.slices import Slices
    from bdt_core.history import History
    from bdt_core.local_bias.results import LocalBias
    from bdt_core.mitigation import Mitigation
    from bdt_core.ranking import Findings
    from bdt_core.significance.clusters import ClusterSignificance
    from bdt_core.significance.features import FeatureDifferences
    from bdt_core.table.audit_table import AuditTable
else:
    AuditTable = Clusters = ClusterSignificance = DataFrame = FeatureDifferences = Any
    Blanks = Calibration = LocalBias = Mitigation = Slices = WorstGroups = Findings = DeclaredOutcomes = Any
    Characteristics = GroupCounts = GroupMetrics = GroupScores = PooledGroups = SelectionRules = History = Any
    ClassOutcomes = Any

__all__ = [
    "AuditTable",
    "Blanks",
    "Calibration",
    "Characteristics",
    "ClassOutcomes",
    "ClusterSignificance",
    "Clusters",
    "DataFrame",
    "DeclaredOutcomes",
    "FeatureDifferences",
    "Findings",
    "GroupCounts",
    "GroupMetrics",
    "GroupScores",
    "History",
    "LocalBias",
    "Mitigation",
    "PooledGroups",
    "SelectionRules",
    "Slices",
    "WorstGroups",
]
