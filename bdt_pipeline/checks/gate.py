"""The fairness gate: a blocking check on the report.

The report is written whatever the verdict; what stands downstream of it runs only when the gate lets it.
"""

from typing import Any

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.views import gate_metadata
from bdt_pipeline.resources.run_log import in_check, log_verdict

GATE = "bias_gate"


def bias_gate(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """The gate of an audit.

    A failed limit is an ERROR and stops what is downstream. When the data cannot tell, the check does not pass
    either, but as a WARN, which stops nothing, unless the limit says ``inconclusive: block``.
    """

    @dg.asset_check(
        name=GATE,
        asset=audit.key("bias_report"),
        blocking=True,
        partitions_def=audit.partitions,
        description=audit.say(
            "Does every limit of the gate hold? A failure stops everything downstream of the report. An inconclusive "
            'verdict only warns, unless the limit says "inconclusive: block".'
        ),
    )
    def check(context: dg.AssetCheckExecutionContext, bias_report: dict[str, Any]) -> dg.AssetCheckResult:
        from bdt_core.sentences import with_sentences

        verdict = with_sentences(bias_report)["verdict"]
        log_verdict(context, audit.spec.name, verdict, audit.say)
        return dg.AssetCheckResult(
            passed=verdict["verdict"] in ("pass", "no_limit"),
            severity=dg.AssetCheckSeverity.ERROR if verdict["blocks"] else dg.AssetCheckSeverity.WARN,
            **in_check(verdict["sentence"], gate_metadata(bias_report), audit.say),
        )

    return check
