"""Clusters, feature differences and repeated splits, tested on rows that the search never saw."""

from bdt_core.significance.clusters import ClusterSignificance, ComparedCluster, compare_clusters
from bdt_core.significance.features import ColumnDifference, FeatureDifferences, LevelDifference, compare_features
from bdt_core.significance.repeats import PermutedProcedure, RepeatedSplits

__all__ = [
    "ClusterSignificance",
    "ColumnDifference",
    "ComparedCluster",
    "FeatureDifferences",
    "LevelDifference",
    "PermutedProcedure",
    "RepeatedSplits",
    "compare_clusters",
    "compare_features",
]
