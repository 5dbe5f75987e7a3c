"""The assets that are results: clusters, their significance, and what sets the worst one apart."""

from typing import Any

import dagster as dg

from bdt_pipeline.assets import views
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.large_tables import work_metadata
from bdt_pipeline.assets.values import AuditTable, Clusters
from bdt_pipeline.resources.config import clear_failures, effective_spec


def hbac_clusters(audit: AuditAssets) -> dg.AssetsDefinition:
    """Clusters of train rows whose bias variable deviates."""

    @audit.asset(
        "hbac_clusters",
        description=(
            "Groups of similar people whose bias variable deviates, found by hierarchical bias-aware clustering "
            "(HBAC) on the train rows. Cluster 0 deviates most in the harmful direction."
        ),
        kinds={"numpy", "json"},
        takes=["train_data"],
        config=["clustering"],
        pool=audit.spec.pool,
    )
    def asset(context: dg.AssetExecutionContext, train_data: AuditTable) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = effective_spec(audit.spec, context.op_execution_context.op_config).clustering
            say = context.log.info if train_data.is_large else context.log.debug  # of a small table it is over at once
            clusters = audit.stages.find_clusters(
                train_data, settings, lambda done, total: say(f"split {done} of {total}")
            )
        return dg.MaterializeResult(value=clusters, metadata=views.clusters(clusters) | work_metadata(train_data))

    return asset


def cluster_significance(audit: AuditAssets) -> dg.AssetsDefinition:
    """Every cluster against everybody else, on the test rows."""

    @audit.asset(
        "cluster_significance",
        description=(
            "Each cluster against everybody else, on rows that the search has not seen: difference, interval, p-value."
        ),
        kinds={"scipy", "json"},
        takes=["hbac_clusters", "train_data", "test_data"],
        config=["significance"],
    )
    def asset(
        context: dg.AssetExecutionContext, hbac_clusters: Clusters, train_data: AuditTable, test_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = effective_spec(audit.spec, context.op_execution_context.op_config).significance
            significance = audit.stages.compare_clusters(hbac_clusters, train_data, test_data, settings)
        return dg.MaterializeResult(value=significance, metadata=views.significance(significance))

    return asset


def feature_differences(audit: AuditAssets) -> dg.AssetsDefinition:
    """What sets the most deviating cluster apart."""

    @audit.asset(
        "feature_differences",
        description=(
            "In which columns the most deviating cluster differs from everybody else, protected ones included."
        ),
        kinds={"scipy", "json"},
        takes=["hbac_clusters", "test_data"],
        config=["significance"],
    )
    def asset(
        context: dg.AssetExecutionContext, hbac_clusters: Clusters, test_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = effective_spec(audit.spec, context.op_execution_context.op_config).significance
            differences = audit.stages.compare_features(hbac_clusters, test_data, settings)
        return dg.MaterializeResult(value=differences, metadata=views.differences(differences))

    return asset
