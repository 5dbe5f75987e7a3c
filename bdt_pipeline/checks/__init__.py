"""The checks of an audit: data quality, one per limit, the history of batches, and the fairness gate."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.checks.alerts import alerts_check
from bdt_pipeline.checks.gate import bias_gate
from bdt_pipeline.checks.history import history_checks
from bdt_pipeline.checks.limits import limit_checks
from bdt_pipeline.checks.quality import quality_checks
from bdt_pipeline.resources.notifier import cannot_tell

__all__ = ["build_alerts_check", "build_checks"]


def build_checks(audit: AuditAssets) -> Sequence[dg.AssetChecksDefinition]:
    """All checks of an audit."""
    history = [history_checks(audit)] if audit.has_groups else []
    return [*quality_checks(audit), *limit_checks(audit), *history, bias_gate(audit), *build_alerts_check(audit)]


def build_alerts_check(audit: AuditAssets) -> list[dg.AssetChecksDefinition]:
    """The check that says that nobody can be told of problems; none where they can, or nobody is to be."""
    return [alerts_check(audit)] if audit.spec.notify and cannot_tell() else []
