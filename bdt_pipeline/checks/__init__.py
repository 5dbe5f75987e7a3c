"""The checks of an audit: data quality before it, limits on group metrics, the fairness gate after it."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.checks.gate import bias_gate
from bdt_pipeline.checks.groups import check_names, metric_checks
from bdt_pipeline.checks.quality import quality_checks

__all__ = ["build_checks"]


def build_checks(audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
    """All checks of an audit."""
    limits = [metric_checks(audit)] if check_names(audit.spec.gate) else []
    return [*quality_checks(audit), *limits, bias_gate(audit)]
