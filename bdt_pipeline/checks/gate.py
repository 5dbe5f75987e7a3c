"""The fairness gate: a blocking check on the report.

The report is written whatever the verdict; what stands downstream of it runs only when the gate lets it.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets, Context
from bdt_pipeline.assets.views import gate_metadata
from bdt_pipeline.resources.run_log import in_check, log_verdict
from bdt_pipeline.resources.step_process import spare_process_of_step

GATE = "bias_gate"


def bias_gate(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """The gate of an audit.

    A failed limit is an ERROR and stops what is downstream. When the data cannot tell, the check does not pass
    either, but as a WARN, which stops nothing, unless the limit says ``inconclusive: block``.
    """

    @dg.multi_asset_check(
        name=audit.op(f"bias_report_{GATE}"), specs=[gate_spec(audit)], ins=audit.inputs("bias_report")
    )
    def check(context: dg.AssetCheckExecutionContext, bias_report: dict[str, Any]) -> Iterator[dg.AssetCheckResult]:
        spare_process_of_step()
        yield judged_gate(context, audit, bias_report)

    return check


def gate_spec(audit: AuditAssets) -> dg.AssetCheckSpec:
    """What Dagster knows of the gate."""
    return dg.AssetCheckSpec(
        GATE,
        asset=audit.key("bias_report"),
        blocking=True,
        partitions_def=audit.partitions,
        description=audit.say(
            "Does every limit of the gate hold? A failure stops everything downstream of the report. An inconclusive "
            'verdict only warns, unless the limit says "inconclusive: block".'
        ),
    )


def judged_gate(context: Context, audit: AuditAssets, document: dict[str, Any]) -> dg.AssetCheckResult:
    """What the gate says of a report."""
    from bdt_core.sentences import with_sentences

    verdict = with_sentences(document)["verdict"]
    log_verdict(context, audit.spec.name, verdict, audit.say)
    return dg.AssetCheckResult(
        check_name=GATE,
        passed=verdict["verdict"] in ("pass", "no_limit"),
        severity=dg.AssetCheckSeverity.ERROR if verdict["blocks"] else dg.AssetCheckSeverity.WARN,
        **in_check(verdict["sentence"], gate_metadata(document), audit.say),
    )
