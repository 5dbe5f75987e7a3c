"""The bias audit as a Dagster plugin: each stage an asset, data quality and the fairness gate as checks.

In YAML: ``type: bdt_pipeline.BiasAudit`` with the audit specification as ``attributes``. In Python:
:func:`bias_audit_definitions`. Dagster is imported when one of them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bdt_core.stages import Stages
    from bdt_pipeline.automation.alert_sensor import build_gate_alert_sensor
    from bdt_pipeline.checks.foreign import build_bias_gate_checks
    from bdt_pipeline.components.bias_audit import BiasAudit, bias_audit_definitions
    from bdt_pipeline.components.neighbours import load_audits

__all__ = [
    "BiasAudit",
    "Stages",
    "bias_audit_definitions",
    "build_bias_gate_checks",
    "build_gate_alert_sensor",
    "load_audits",
]


def __getattr__(name: str) -> Any:
    if name == "Stages":
        from bdt_core.stages import Stages

        return Stages
    if name == "build_bias_gate_checks":
        from bdt_pipeline.checks.foreign import build_bias_gate_checks

        return build_bias_gate_checks
    if name == "build_gate_alert_sensor":
        from bdt_pipeline.automation.alert_sensor import build_gate_alert_sensor

        return build_gate_alert_sensor
    if name == "load_audits":
        from bdt_pipeline.components.neighbours import load_audits

        return load_audits
    if name in __all__:
        from bdt_pipeline.components import bias_audit

        return getattr(bias_audit, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names that Dagster's registry looks through, those above included."""
    return sorted([*globals(), *__all__])
