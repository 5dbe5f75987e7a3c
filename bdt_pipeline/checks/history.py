"""Checks on the history: drift, rows per group, and differences over time. They tell; only the gate stops."""

from collections.abc import Iterator

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets, Context
from bdt_pipeline.assets.values import History
from bdt_pipeline.assets.views_history import finding as finding_metadata
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import in_check
from bdt_pipeline.resources.step_process import spare_process_of_step

DRIFT, VOLUME, DIFFERENCE = "no_drift", "enough_volume", "no_difference_over_time"
_DESCRIPTIONS = {
    DRIFT: (
        "Has no difference between groups moved by more than history.drift in the latest batch, against the batches "
        "of the look-back? Chance alone is ruled out."
    ),
    VOLUME: "Does every group have at least history.min_rows rows in this batch?",
    DIFFERENCE: (
        "Do all batches together show no difference between groups? ERROR when a limit of the gate on a difference "
        "was certainly broken at any time, WARN when there is a certain difference without a limit; valid however "
        "often one looks."
    ),
}


def history_checks(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """Non-blocking checks on ``bias_history``, each with a severity and a recommendation."""

    @dg.multi_asset_check(
        name=audit.op("history"),
        specs=history_specs(audit),
        can_subset=True,
        ins=audit.inputs("bias_history"),
    )
    def check(context: dg.AssetCheckExecutionContext, bias_history: History) -> Iterator[dg.AssetCheckResult]:
        spare_process_of_step()
        yield from judged_history(context, audit, bias_history)

    return check


def history_specs(audit: AuditAssets) -> list[dg.AssetCheckSpec]:
    """What Dagster knows of these checks."""
    asset = audit.key_of_checks("bias_history")
    return [
        dg.AssetCheckSpec(
            name, asset=asset, blocking=False, description=audit.say(asked), partitions_def=audit.partitions
        )
        for name, asked in _DESCRIPTIONS.items()
    ]


def judged_history(context: Context, audit: AuditAssets, history: History) -> Iterator[dg.AssetCheckResult]:
    """What the batches so far say of a run's."""
    from bdt_core.history import difference_finding, drift_finding, volume_finding

    asset = audit.key_of_checks("bias_history")
    batch = context.partition_key if context.has_partition_key else None
    with clear_failures():
        findings = {
            DRIFT: drift_finding(history),
            VOLUME: volume_finding(history, batch),
            DIFFERENCE: difference_finding(history),
        }
    for name, finding in findings.items():
        if dg.AssetCheckKey(asset, name) not in context.op_execution_context.selected_asset_check_keys:
            continue
        yield dg.AssetCheckResult(
            asset_key=asset,
            check_name=name,
            passed=finding.passed,
            severity=dg.AssetCheckSeverity.ERROR if finding.broken else dg.AssetCheckSeverity.WARN,
            **in_check(finding.sentence, finding_metadata(finding), audit.say),
        )
