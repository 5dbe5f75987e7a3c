"""The assets of an audit, in the order of its stages."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.history import bias_history
from bdt_pipeline.assets.report import bias_report
from bdt_pipeline.assets.results import result_asset
from bdt_pipeline.assets.tables import raw_data, train_and_test_data, validated_data

__all__ = ["AuditAssets", "build_assets"]


def build_assets(audit: AuditAssets) -> Sequence[dg.AssetsDefinition]:
    """All assets of an audit: its tables, a result per stage of the list, the history of its groups, the report."""
    return [
        raw_data(audit),
        validated_data(audit),
        train_and_test_data(audit),
        *(result_asset(audit, one) for one in audit.asked),
        *([bias_history(audit)] if audit.has_groups else []),
        bias_report(audit),
    ]
