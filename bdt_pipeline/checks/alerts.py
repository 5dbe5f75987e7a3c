"""Whether those whom the specification names can be told of problems."""

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.resources.notifier import cannot_tell

ALERTS = "alerts"


def alerts_check(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """An ERROR on the report where messages cannot be sent; it stops nothing."""

    @dg.asset_check(
        name=ALERTS,
        asset=audit.key("bias_report"),
        blocking=False,
        partitions_def=audit.partitions,
        description=audit.say("Can problems be reported to those whom the specification names?"),
    )
    def check() -> dg.AssetCheckResult:
        problem = cannot_tell()
        return dg.AssetCheckResult(passed=problem is None, severity=dg.AssetCheckSeverity.ERROR, description=problem)

    return check
