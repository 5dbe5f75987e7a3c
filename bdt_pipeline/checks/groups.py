"""One check per limit on a group metric: it says what is wrong where it is; only the gate stops anything."""

import re
from collections.abc import Iterable, Iterator

import dagster as dg

from bdt_core.spec import AnyLimit, MetricLimit
from bdt_pipeline.assets.common import AuditAssets
from bdt_pipeline.assets.values import GroupMetrics, GroupScores
from bdt_pipeline.assets.views_groups import limit as limit_metadata
from bdt_pipeline.checks.quality import spec_of_run
from bdt_pipeline.resources.config import clear_failures


def metric_checks(audit: AuditAssets) -> dg.AssetChecksDefinition:
    """A check on ``group_metrics`` per limit: ERROR where it fails, WARN where the data cannot tell."""
    asset = audit.key("group_metrics")
    declared = check_names(audit.spec.gate)

    @dg.multi_asset_check(
        name=f"{audit.spec.name}__group_limits",
        specs=[
            dg.AssetCheckSpec(
                name,
                asset=asset,
                blocking=False,
                description=_description(one),
                additional_deps=[audit.key("bias_score")],
                partitions_def=audit.partitions,
            )
            for name, one in declared.items()
        ],
        can_subset=True,
        ins=audit.inputs("group_metrics", "bias_score"),
    )
    def check(
        context: dg.AssetCheckExecutionContext, group_metrics: GroupMetrics, bias_score: GroupScores
    ) -> Iterator[dg.AssetCheckResult]:
        from bdt_core.verdict import judge_metric

        with clear_failures():
            of_run = check_names(spec_of_run(context, audit).gate)
        for name, default in declared.items():
            if dg.AssetCheckKey(asset, name) not in context.op_execution_context.selected_asset_check_keys:
                continue
            with clear_failures():
                found = judge_metric(of_run.get(name, default), group_metrics, bias_score)
            yield dg.AssetCheckResult(
                asset_key=asset,
                check_name=name,
                passed=found.verdict == "pass",
                severity=dg.AssetCheckSeverity.ERROR if found.verdict == "fail" else dg.AssetCheckSeverity.WARN,
                description=found.sentence,
                metadata=limit_metadata(found),
            )

    return check


def check_names(limits: Iterable[AnyLimit]) -> dict[str, MetricLimit]:
    """The limits on metrics by the name of their check.

    Examples
    --------
    >>> list(check_names([MetricLimit(metric="disparate_impact", facet=["race", "sex"], min=0.8)]))
    ['disparate_impact_by_race_and_sex']
    """
    named: dict[str, MetricLimit] = {}
    for one in limits:
        if not isinstance(one, MetricLimit):
            continue
        base = re.sub(r"\W+", "_", f"{one.metric}_by_{'_and_'.join(one.facets)}", flags=re.ASCII).strip("_")
        name = next(x for x in (base, *(f"{base}_{i}" for i in range(2, 1000))) if x not in named)
        named[name] = one
    return named


def _description(limit: MetricLimit) -> str:
    allowed = " and ".join(
        f"{word} {value:g}" for word, value in (("at least", limit.min), ("at most", limit.max)) if value is not None
    )
    return f"Is {limit.metric} by {' & '.join(limit.facets)} {allowed}? Reports only; the gate on bias_report stops."
