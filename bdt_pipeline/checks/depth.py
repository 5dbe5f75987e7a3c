"""Checks on intersections and local bias: they report; only the gate on ``bias_report`` stops anything."""

from typing import Any

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.values import AuditTable, LocalBias, Slices
from bdt_pipeline.assets.views import numbers
from bdt_pipeline.checks.quality import spec_of_run
from bdt_pipeline.resources.config import clear_failures


def slices_check(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """Is the worst intersection within its limit?"""

    @dg.asset_check(
        name="worst_slice",
        asset=audit.key("bias_slices"),
        additional_ins=audit.inputs("test_data"),
        partitions_def=audit.partitions,
        description="Does no intersection fare worse than everybody else by more than slices.max_difference?",
    )
    def check(
        context: dg.AssetCheckExecutionContext, bias_slices: Slices, test_data: AuditTable
    ) -> dg.AssetCheckResult:
        from bdt_core.slices.stage import judge_slices

        with clear_failures():
            settings = spec_of_run(context, audit).slices
            found = judge_slices(bias_slices, test_data, None if settings is None else settings.max_difference)
        return _result(found)

    return check


def local_bias_check(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """Is every confirmed local gap within its limit?"""

    @dg.asset_check(
        name="local_gaps",
        asset=audit.key("local_bias"),
        partitions_def=audit.partitions,
        description="Is no gap between groups within a cluster confirmed on test rows and beyond local_bias.max_gap?",
    )
    def check(local_bias: LocalBias) -> dg.AssetCheckResult:
        from bdt_core.local_bias.stage import judge_local_bias

        return _result(judge_local_bias(local_bias))

    return check


def _result(found: Any) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=bool(found.verdict == "pass"),
        severity=dg.AssetCheckSeverity.ERROR if found.verdict == "fail" else dg.AssetCheckSeverity.WARN,
        description=found.sentence,
        metadata={
            "verdict": found.verdict,
            "severity": found.severity or "none",
            **numbers(limit=found.limit, difference=found.difference, low=found.low, high=found.high),
        },
    )
