"""The checks of an audit: data quality before it, the fairness gate after it."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.checks.gate import bias_gate
from bdt_pipeline.checks.quality import quality_checks

__all__ = ["build_checks"]


def build_checks(audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
    """All checks of an audit."""
    return [*quality_checks(audit), bias_gate(audit)]
