"""The assets that are results: one factory makes them from the list of stages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from bdt_core.spec import AuditSpec
from bdt_core.stages import Stage, StepProgress
from bdt_pipeline.assets import views, views_depth, views_groups
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.large_tables import source_rows, work_metadata
from bdt_pipeline.resources.config import clear_failures
from bdt_pipeline.resources.run_log import log


@dataclass(frozen=True)
class ShownAsset:
    """How the UI shows the result of a stage.

    Attributes
    ----------
    metadata : callable
        Makes the metadata of the result, and where `has_amounts` takes the unit of the bias variable, too.
    kinds : set of str
        Symbols on the asset.
    is_long : bool
        Whether it takes long enough to stand in the audit's pool, and its work in the metadata.
    has_amounts : bool
        Whether it says differences of the bias variable, and does not know itself whether that is a rate.
    """

    metadata: Callable[..., views.Metadata]
    kinds: set[str]
    is_long: bool = False
    has_amounts: bool = False

    def of(self, result: Any, results: Mapping[str, Any]) -> views.Metadata:
        """The metadata of a result that was made from others."""
        if not self.has_amounts:
            return self.metadata(result)
        from bdt_core.table.measured import MeasuredOutcome  # not when definitions load

        rows = next(results[name] for name in ("table", "test", "train") if name in results)
        return self.metadata(result, MeasuredOutcome.of(rows).unit)


_SHOWN = {
    "hbac_clusters": ShownAsset(views.clusters, {"numpy", "json"}, is_long=True, has_amounts=True),
    "cluster_significance": ShownAsset(views.significance, {"scipy", "json"}),
    "feature_differences": ShownAsset(views.differences, {"scipy", "json"}),
    "worst_groups": ShownAsset(views_depth.worst_groups, {"numpy", "json"}, is_long=True),
    "findings": ShownAsset(views_depth.findings, {"scipy", "json"}, has_amounts=True),
    "declared_outcomes": ShownAsset(views_groups.declared, {"scipy", "json"}),
    "group_counts": ShownAsset(views_groups.counts, {"numpy", "json"}),
    "group_metrics": ShownAsset(views_groups.metrics, {"scipy", "json"}),
    "calibration": ShownAsset(views_groups.calibration, {"numpy", "json"}, is_long=True),
    "numeric_metrics": ShownAsset(views_groups.numeric, {"scipy", "json"}),
    "bias_score": ShownAsset(views_groups.scores, {"scipy", "json"}),
    "pooled_groups": ShownAsset(views_groups.pooled, {"scipy", "json"}),
    "class_outcomes": ShownAsset(views_groups.classes, {"scipy", "json"}),
    "selection_rules": ShownAsset(views_groups.selection_rules, {"scipy", "json"}),
    "profiling_characteristics": ShownAsset(views_groups.characteristics, {"scipy", "json"}),
    "bias_slices": ShownAsset(views_depth.slices, {"numpy", "json"}, has_amounts=True),
    "local_bias": ShownAsset(views_depth.local_bias, {"numpy", "json"}),
    "blanks": ShownAsset(views_depth.blanks, {"scipy", "json"}, has_amounts=True),
    "mitigation": ShownAsset(views_depth.mitigation, {"numpy", "json"}),
}
_UNKNOWN = ShownAsset(lambda _: {}, {"json"})

TABLES = {"table": "validated_data", "train": "train_data", "test": "test_data"}
"""Assets of the results that stand before the list's."""
_SOURCE = ("raw_data", "validated_data")
"""Assets that hold the rows of the source."""


def assets_of(results: Sequence[str], stages: Sequence[Stage]) -> dict[str, str]:
    """The assets of some results, by the name of the result."""
    names = TABLES | {one.result: one.asset for one in stages}
    return {one: names[one] for one in results if one in names}


def result_asset(audit: AuditAssets, stage: Stage) -> dg.AssetsDefinition:
    """The asset of a stage: it takes what the stage takes, and its form is the stage's section."""
    shown = _SHOWN.get(stage.asset, _UNKNOWN)
    taken = assets_of(stage.takes, audit.asked)
    rows_of_source = _SOURCE if "source" in stage.takes else ()

    @audit.asset(
        stage.asset,
        description=stage.description,
        kinds=shown.kinds,
        made_by=stage.keys,
        takes=[*taken.values(), *rows_of_source],
        pool=audit.spec.pool if shown.is_long else None,
    )
    def asset(context: dg.AssetExecutionContext, **inputs: Any) -> dg.MaterializeResult[Any]:
        with clear_failures():
            spec = audit.spec_of_run(context, *inputs)
            of_part = _with_source_of(inputs, spec)
            results = {result: inputs[name] for result, name in taken.items()}
            if rows_of_source:
                results["source"] = source_rows(inputs["raw_data"], inputs["validated_data"], of_part)
            result = carried_out(context, audit, stage, results, of_part)
        work = work_metadata(results.get("train", results.get("table"))) if shown.is_long else {}
        return audit.made(result, shown.of(result, results) | work, spec)

    return asset


def carried_out(
    context: dg.AssetExecutionContext, audit: AuditAssets, stage: Stage, results: Mapping[str, Any], spec: AuditSpec
) -> Any:
    """The result of a stage, of which the log says how far it is."""
    if said := stage.said_before(audit.stages, results, spec):
        log(context, said)
    return stage.run(audit.stages, results, spec, _progress(context, stage, results))


def _with_source_of(inputs: Mapping[str, Any], spec: AuditSpec) -> AuditSpec:
    """The specification with the source as it was read: of the part of the data that the run is about."""
    before = inputs.get("group_counts", inputs.get("validated_data"))
    return spec if before is None else spec.model_copy(update={"source": before.spec.source})


def _progress(context: dg.AssetExecutionContext, stage: Stage, results: Mapping[str, Any]) -> StepProgress | None:
    """Steps go to the log; those of a small table are over sooner than they would be written there."""
    train = results.get("train")
    if train is None or not train.is_large:
        return None
    return lambda done, total: log(context, f"{stage.title}: step {done} of {total}")
