"""The assets beside clusters and declared groups: intersections, local bias, mitigation."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from bdt_pipeline.assets import views_depth as views
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.values import AuditTable
from bdt_pipeline.resources.config import clear_failures, effective_spec


def bias_slices(audit: AuditAssets) -> dg.AssetsDefinition:
    """Intersections in which people fare worse."""
    return _found_and_judged(
        audit,
        "bias_slices",
        "slices",
        audit.stages.find_slices,
        views.slices,
        "Every intersection of a few conditions with enough people: found on the train rows, tested on the test rows, "
        "with the share of false discoveries under control.",
    )


def local_bias(audit: AuditAssets) -> dg.AssetsDefinition:
    """Places in the data where groups are treated differently."""
    return _found_and_judged(
        audit,
        "local_bias",
        "local_bias",
        audit.stages.find_local_bias,
        views.local_bias,
        "Clusters in which the algorithm treats groups differently (LOGAN), with the gaps that held-out rows confirm, "
        "beside what chance and plain k-means give.",
    )


def mitigation(audit: AuditAssets) -> dg.AssetsDefinition:
    """Thresholds per group, and what they would change."""
    return _found_and_judged(
        audit,
        "mitigation",
        "mitigation",
        audit.stages.mitigate,
        views.mitigation,
        "Thresholds per group that hold a rate equal: chosen on the train rows; what they change, and what they cost, "
        "is measured on the test rows.",
    )


def _found_and_judged(
    audit: AuditAssets,
    name: str,
    key: str,
    stage: Callable[[AuditTable, AuditTable, Any], Any],
    view: Callable[[Any], dict[str, Any]],
    description: str,
) -> dg.AssetsDefinition:
    """An asset that a section of the specification asks for: found on the train rows, judged on the test rows."""

    @audit.asset(
        name, description=description, kinds={"numpy", "json"}, takes=["train_data", "test_data"], config=[key]
    )
    def asset(
        context: dg.AssetExecutionContext, train_data: AuditTable, test_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        config = dict(context.op_execution_context.op_config)
        with clear_failures():  # the asset exists for the section: the launchpad cannot switch it off
            spec = effective_spec(audit.spec, config if config[key] is not None else {})
            found = stage(train_data, test_data, getattr(spec, key))
        return dg.MaterializeResult(value=found, metadata=view(found))

    return asset
