"""The assets of an audit, one per stage."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.depth import bias_slices, local_bias, mitigation
from bdt_pipeline.assets.groups import bias_score, group_counts, group_metrics
from bdt_pipeline.assets.history import bias_history
from bdt_pipeline.assets.report import bias_report
from bdt_pipeline.assets.results import cluster_significance, feature_differences, hbac_clusters
from bdt_pipeline.assets.tables import raw_data, train_and_test_data, validated_data

__all__ = ["AuditAssets", "build_assets"]

_DEPTH = {"bias_slices": bias_slices, "local_bias": local_bias, "mitigation": mitigation}


def build_assets(audit: AuditAssets) -> Sequence[dg.AssetsDefinition]:
    """All assets of an audit, in the order of the stages."""
    return [
        raw_data(audit),
        validated_data(audit),
        train_and_test_data(audit),
        hbac_clusters(audit),
        cluster_significance(audit),
        feature_differences(audit),
        *(
            [group_counts(audit), group_metrics(audit), bias_score(audit), bias_history(audit)]
            if audit.has_groups
            else []
        ),
        *(_DEPTH[name](audit) for name in audit.depth),
        bias_report(audit),
    ]
