"""The bias audit as a Dagster plugin: each stage an asset, data quality and the fairness gate as checks.

In YAML: ``type: bdt_pipeline.BiasAudit`` with the audit specification as ``attributes``. In Python:
:func:`bias_audit_definitions`. Dagster is imported when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bdt_core.on_demand import loader

if TYPE_CHECKING:
    from bdt_core.stages import Stages
    from bdt_pipeline.assets.bundle import AuditBundle
    from bdt_pipeline.assets.overview import build_overview_asset
    from bdt_pipeline.automation.alert_sensor import build_gate_alert_sensor
    from bdt_pipeline.checks.foreign import build_bias_gate_checks
    from bdt_pipeline.components.bias_audit import BiasAudit, bias_audit_definitions
    from bdt_pipeline.components.neighbours import load_audits

__all__ = [
    "AuditBundle",
    "BiasAudit",
    "Stages",
    "bias_audit_definitions",
    "build_bias_gate_checks",
    "build_gate_alert_sensor",
    "build_overview_asset",
    "load_audits",
]

_HOMES = {
    "AuditBundle": ".assets.bundle",
    "BiasAudit": ".components.bias_audit",
    "Stages": "bdt_core.stages",
    "bias_audit_definitions": ".components.bias_audit",
    "build_bias_gate_checks": ".checks.foreign",
    "build_gate_alert_sensor": ".automation.alert_sensor",
    "build_overview_asset": ".assets.overview",
    "load_audits": ".components.neighbours",
}
__getattr__ = loader(__name__, _HOMES)


def __dir__() -> list[str]:
    """Names that Dagster's registry looks through, those above included."""
    return sorted([*globals(), *__all__])
