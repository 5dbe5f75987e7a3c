"""The assets beside clusters and declared groups: intersections, local bias, mitigation."""

from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_pipeline.assets import views_depth as views
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.config import clear_failures, effective_spec
from bdt_pipeline.assets.values import AuditTable


def bias_slices(audit: AuditAssets) -> dg.AssetsDefinition:
    """Intersections in which people fare worse."""

    @audit.asset(
        "bias_slices",
        description=(
            "Every intersection of up to three conditions with enough people: found on the train rows, tested on the "
            "test rows, with the share of false discoveries under control."
        ),
        kinds={"numpy", "json"},
        takes=["train_data", "test_data"],
        config=["slices"],
    )
    def asset(
        context: dg.AssetExecutionContext, train_data: AuditTable, test_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = _spec_of(audit, context, "slices").slices
            assert settings is not None
            slices = audit.stages.find_slices(train_data, test_data, settings)
        return dg.MaterializeResult(value=slices, metadata=views.slices(slices, train_data.spec))

    return asset


def local_bias(audit: AuditAssets) -> dg.AssetsDefinition:
    """Places in the data where groups are treated differently."""

    @audit.asset(
        "local_bias",
        description=(
            "Clusters in which the algorithm treats groups differently (LOGAN), with the gaps that held-out rows "
            "confirm, beside what chance and plain k-means give."
        ),
        kinds={"numpy", "json"},
        takes=["train_data", "test_data"],
        config=["local_bias"],
    )
    def asset(
        context: dg.AssetExecutionContext, train_data: AuditTable, test_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = _spec_of(audit, context, "local_bias").local_bias
            assert settings is not None
            found = audit.stages.find_local_bias(train_data, test_data, settings)
        return dg.MaterializeResult(value=found, metadata=views.local_bias(found))

    return asset


def mitigation(audit: AuditAssets) -> dg.AssetsDefinition:
    """Thresholds per group, and what they would change."""

    @audit.asset(
        "mitigation",
        description=(
            "Thresholds per group that hold a rate equal: chosen on the train rows; what they change, and what they "
            "cost, is measured on the test rows."
        ),
        kinds={"numpy", "json"},
        takes=["train_data", "test_data"],
        config=["mitigation"],
    )
    def asset(
        context: dg.AssetExecutionContext, train_data: AuditTable, test_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = _spec_of(audit, context, "mitigation").mitigation
            assert settings is not None
            found = audit.stages.mitigate(train_data, test_data, settings)
        return dg.MaterializeResult(value=found, metadata=views.mitigation(found))

    return asset


def _spec_of(audit: AuditAssets, context: dg.AssetExecutionContext, key: str) -> AuditSpec:
    """The run's specification; a section that the asset exists for cannot be switched off in the launchpad."""
    config = dict(context.op_execution_context.op_config)
    return effective_spec(audit.spec, config if config.get(key) is not None else {})
