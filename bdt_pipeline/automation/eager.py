"""Sensor that sees whether an audit is due, where its specification says ``automation: eager``."""

from __future__ import annotations

import dagster as dg

from bdt_pipeline.assets.common import AuditAssets


def build_automation_sensor(audit: AuditAssets) -> dg.AutomationConditionSensorDefinition | None:
    """The sensor that evaluates the conditions of the audit's assets; None without automation.

    It runs from the start; Dagster's own, which takes the assets that no other has, only when somebody starts it.
    """
    if audit.spec.automation == "off":
        return None
    return dg.AutomationConditionSensorDefinition(
        name=f"{audit.spec.name}_automation",
        target=dg.AssetSelection.key_prefixes(list(audit.under)),
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Audits {audit.spec.name} whenever its table is new and has passed its blocking checks.",
    )
