"""The assets of declared groups: their counts, their metrics and their composite score."""

from typing import Any

import dagster as dg

from bdt_pipeline.assets import views_groups as views
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.large_tables import source_rows
from bdt_pipeline.assets.values import AuditTable, DataFrame, GroupCounts
from bdt_pipeline.resources.config import clear_failures, effective_spec


def group_counts(audit: AuditAssets) -> dg.AssetsDefinition:
    """How many rows of each group have which label and prediction."""

    @audit.asset(
        "group_counts",
        description=(
            "Rows of each declared group, by label and prediction. Every group metric is computed from these counts; "
            "counts of several tables can be added."
        ),
        kinds={"numpy", "json"},
        takes=["raw_data", "validated_data"],
        config=["groups"],
    )
    def asset(
        context: dg.AssetExecutionContext, raw_data: DataFrame, validated_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            spec = effective_spec(validated_data.spec, context.op_execution_context.op_config)
            counts = audit.stages.count_groups(source_rows(raw_data, validated_data, spec), spec)
        return dg.MaterializeResult(value=counts, metadata=views.counts(counts))

    return asset


def group_metrics(audit: AuditAssets) -> dg.AssetsDefinition:
    """Every group metric of every declared grouping."""

    @audit.asset(
        "group_metrics",
        description=(
            "Rates of the declared groups, the 21 metrics, differences and ratios between the groups: each with its "
            "interval, or the reason why it has none."
        ),
        kinds={"scipy", "json"},
        takes=["group_counts", "raw_data", "validated_data"],
        config=["significance"],
    )
    def asset(
        context: dg.AssetExecutionContext, group_counts: GroupCounts, raw_data: DataFrame, validated_data: AuditTable
    ) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = effective_spec(audit.spec, context.op_execution_context.op_config).significance
            rows = source_rows(raw_data, validated_data, group_counts.spec)
            metrics = audit.stages.compare_groups(group_counts, settings, rows)
        return dg.MaterializeResult(value=metrics, metadata=views.metrics(metrics))

    return asset


def bias_score(audit: AuditAssets) -> dg.AssetsDefinition:
    """The composite Bias Detection Score of every declared grouping."""

    @audit.asset(
        "bias_score",
        description=(
            "One number per grouping, 0 when all groups have the same rates: with its interval, and the score that "
            "chance alone would give."
        ),
        kinds={"scipy", "json"},
        takes=["group_counts"],
        config=["significance"],
    )
    def asset(context: dg.AssetExecutionContext, group_counts: GroupCounts) -> dg.MaterializeResult[Any]:
        with clear_failures():
            settings = effective_spec(audit.spec, context.op_execution_context.op_config).significance
            scores = audit.stages.score_groups(group_counts, settings)
        return dg.MaterializeResult(value=scores, metadata=views.scores(scores))

    return asset
