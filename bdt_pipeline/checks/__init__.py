"""The checks of an audit: data quality, group metrics, the history of batches, intersections, and the fairness gate."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.checks.depth import local_bias_check, slices_check
from bdt_pipeline.checks.gate import bias_gate
from bdt_pipeline.checks.groups import check_names, metric_checks
from bdt_pipeline.checks.history import history_checks
from bdt_pipeline.checks.quality import quality_checks

__all__ = ["build_checks"]


def build_checks(audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
    """All checks of an audit."""
    limits = [metric_checks(audit)] if check_names(audit.spec.gate) else []
    history = [history_checks(audit)] if audit.has_groups else []
    depth = [*([slices_check(audit)] if audit.spec.slices is not None else []),
             *([local_bias_check(audit)] if audit.spec.local_bias is not None else [])]  # fmt: skip
    return [*quality_checks(audit), *limits, *history, *depth, bias_gate(audit)]
